"""The objects of other libraries that dpaudit knows, as subjects of an audit."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dpaudit.claims import Claim
from dpaudit.mechanism import Subject, name_of

# The classes that are recognised, and who makes a subject of them. A name that ends in a dot stands
# for all classes of that package.
_MAKERS = {
    "opendp.mod.Measurement": ("dpaudit.integrations.opendp", "from_opendp"),
    "opendp.mod.Odometer": ("dpaudit.integrations.opendp", "from_opendp"),
    "opendp.context.Query": ("dpaudit.integrations.opendp", "from_opendp"),
    "diffprivlib.mechanisms.base.DPMachine": (
        "dpaudit.integrations.diffprivlib",
        "from_diffprivlib",
    ),
    "pure_ldp.core._freq_oracle_client.FreqOracleClient": (
        "dpaudit.integrations.pure_ldp",
        "from_pure_ldp",
    ),
    "pydp.algorithms._algorithm.MetaAlgorithm": (
        "dpaudit.integrations.python_dp",
        "from_python_dp",
    ),
    "pydp.NumericalMechanism": ("dpaudit.integrations.python_dp", "from_python_dp"),
    "_partition_selection.": ("dpaudit.integrations.python_dp", "from_python_dp"),  # of python-dp
    "tmlt.core.measurements.base.Measurement": ("dpaudit.integrations.tumult", "from_tumult"),
    "diffprivlib.models.": ("dpaudit.integrations.diffprivlib", "from_diffprivlib"),
}


def as_subject(mechanism: Any, claim: Claim | None, neighbours: Any) -> Subject:
    """What is audited: the arguments, and what the first of them brings where one is left out."""
    brought = brought_by(mechanism)
    if brought is not None:
        return Subject(
            mechanism=brought.mechanism,
            claim=brought.claim if claim is None else claim,
            neighbours=brought.neighbours if neighbours is None else neighbours,
        )
    if claim is None or neighbours is None:
        what = "claim" if claim is None else "neighbours"
        raise TypeError(
            f"{name_of(mechanism)} brings no {what} of its own. Pass {what}=..., or a subject that "
            "has both, such as dpaudit.integrations.from_opendp(measurement)."
        )
    return Subject(mechanism=mechanism, claim=claim, neighbours=neighbours)


def brought_by(value: Any) -> Subject | None:
    """The subject that this is, or that a library's object stands for; None if it is neither.

    >>> print(brought_by(len))
    None
    """
    if isinstance(value, Subject):
        return value
    for ancestor in type(value).__mro__:
        full = f"{ancestor.__module__}.{ancestor.__qualname__}"
        for known, (module, maker) in _MAKERS.items():
            if full == known or (known.endswith(".") and full.startswith(known)):
                subject: Subject = getattr(import_module(module), maker)(value)
                return subject
    return None
