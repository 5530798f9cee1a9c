"""What an audit is about: a mechanism, what it promises, and for which datasets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dpaudit.claims import Claim
from dpaudit.mechanism import Mechanism
from dpaudit.naming import name_of

# The classes that are recognised, and who makes a subject of them. A name that ends in a dot stands
# for all classes of that package.
_MAKERS = {
    "opendp.mod.Measurement": ("dpaudit.adapters.opendp", "from_opendp"),
    "opendp.mod.Odometer": ("dpaudit.adapters.opendp", "from_opendp"),
    "opendp.context.Query": ("dpaudit.adapters.opendp", "from_opendp"),
    "diffprivlib.mechanisms.base.DPMachine": ("dpaudit.adapters.diffprivlib", "from_diffprivlib"),
    "pure_ldp.core._freq_oracle_client.FreqOracleClient": (
        "dpaudit.adapters.pure_ldp",
        "from_pure_ldp",
    ),
    "pydp.algorithms._algorithm.MetaAlgorithm": ("dpaudit.adapters.python_dp", "from_python_dp"),
    "pydp.NumericalMechanism": ("dpaudit.adapters.python_dp", "from_python_dp"),
    "_partition_selection.": ("dpaudit.adapters.python_dp", "from_python_dp"),  # of python-dp
    "tmlt.core.measurements.base.Measurement": ("dpaudit.adapters.tumult", "from_tumult"),
    "diffprivlib.models.": ("dpaudit.adapters.diffprivlib", "from_diffprivlib"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A mechanism with the claim it makes and the neighbours it makes it for.

    `dpaudit.audit(subject)`, `dpaudit.assert_private(subject)` and, by its name,
    `dpaudit audit module:subject` need nothing else. What they are given besides wins over what the
    subject brings. `from_opendp` and its siblings make subjects of what other libraries offer.

    >>> import dpaudit
    >>> def count(data, size, rng):
    ...     return len(data) + rng.laplace(size=size)
    >>> subject = dpaudit.Subject(
    ...     mechanism=count,
    ...     claim=dpaudit.PureDP(1.0),
    ...     neighbours=dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=5),
    ... )
    >>> print(subject)
    count: 1-DP; add or remove one of at most 5 records of floats(0, 1)
    >>> dpaudit.audit(subject, samples=20_000, rng=7).refuted
    False
    """

    mechanism: Callable[..., object] | Mechanism
    claim: Claim
    neighbours: Any

    def __str__(self) -> str:
        describe = getattr(self.neighbours, "describe", None)
        words = describe() if callable(describe) else type(self.neighbours).__name__
        return f"{name_of(self.mechanism)}: {self.claim}; {words}"


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
            "has both, such as dpaudit.from_opendp(measurement)."
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
