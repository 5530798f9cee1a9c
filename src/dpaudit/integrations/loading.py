"""Finding what to audit: a mechanism by its name, and objects of other libraries by their class.

A name is `pkg.module:function`, `path/to/file.py:function` or `file.py:Class(epsilon=1).method`
(`naming.py`): the mechanism's target, which audits keep. `one_at_a_time(...)` around it is for a
function that returns one output per call.
"""

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from dpaudit.claims import Claim
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations.naming import Called, parse_target
from dpaudit.mechanism import (
    ONE_AT_A_TIME,
    Mechanism,
    Subject,
    as_mechanism,
    exits_as_errors,
    name_of,
    one_at_a_time,
)
from dpaudit.outputs import short

# Which classes `dpaudit.integrations.from_<library>` accepts. A name that ends in a dot stands for
# all classes of that package.
_CLASSES = {
    "opendp": ("opendp.mod.Measurement", "opendp.mod.Odometer", "opendp.context.Query"),
    "diffprivlib": ("diffprivlib.mechanisms.base.DPMachine", "diffprivlib.models."),
    "pure_ldp": ("pure_ldp.core._freq_oracle_client.FreqOracleClient",),
    "python_dp": (
        "pydp.algorithms._algorithm.MetaAlgorithm",
        "pydp.NumericalMechanism",
        "_partition_selection.",
    ),
    "tumult": ("tmlt.core.measurements.base.Measurement",),
}


def as_subject(mechanism: Any, claim: Claim | None, neighbours: Any) -> Subject:
    """What is audited: the arguments, and what the mechanism brings where one is left out."""
    brought = brought_by(mechanism)
    if brought is not None:
        mechanism = brought.mechanism
        claim = brought.claim if claim is None else claim
        neighbours = brought.neighbours if neighbours is None else neighbours
    if claim is None or neighbours is None:
        what = "claim" if claim is None else "neighbours"
        raise TypeError(
            f"{name_of(mechanism)} brings no {what} of its own. Pass {what}=..., or a subject that "
            "has both, such as dpaudit.integrations.from_opendp(measurement)."
        )
    return Subject(mechanism=mechanism, claim=claim, neighbours=neighbours)


def brought_by(value: Any) -> Subject | None:
    """The subject that a value is, or that a library's object stands for; None if neither.

    No library is imported for this: whoever has such an object has imported its library.

    >>> print(brought_by(len))
    None
    """
    if isinstance(value, Subject):
        return value
    for ancestor in type(value).__mro__:
        full = f"{ancestor.__module__}.{ancestor.__qualname__}"
        for library, names in _CLASSES.items():
            if any(full == name or (name[-1] == "." and full.startswith(name)) for name in names):
                module = importlib.import_module(f"dpaudit.integrations.{library}")
                subject: Subject = getattr(module, f"from_{library}")(value)
                return subject
    return None


def load_mechanism(text: str) -> Mechanism:
    """Find the mechanism of this name.

    >>> load_mechanism("dpaudit.zoo:LaplaceCount").name
    'LaplaceCount'
    """
    found = load_target(text)
    return as_mechanism(found.mechanism) if isinstance(found, Subject) else found


def load_target(text: str, make: Callable[[Any], Mechanism] = as_mechanism) -> Mechanism | Subject:
    """Find the mechanism of this name, with its claim and neighbours if it brings them.

    `make` makes a mechanism of what was found.
    """
    found = _callable(text)
    with exits_as_errors(text):
        brought = brought_by(found)
    if brought is None:
        made = make(found)
        opening = ONE_AT_A_TIME.partition("{")[0]
        if (made.target or "").startswith(opening) and not text.startswith(opening):
            text = ONE_AT_A_TIME.format(text)  # as `make` took it
        return replace(made, target=text)
    return replace(brought, mechanism=replace(make(brought.mechanism), target=text))


def _callable(text: str) -> Any:
    """Find a function or subject by its name; a class is called without arguments."""
    opening, closing = ONE_AT_A_TIME.split("{}")
    if text.startswith(opening) and text.endswith(closing):
        inner = text.removeprefix(opening).removesuffix(closing)
        return one_at_a_time(_callable(inner))
    found = load_object(text)
    hint = ""
    with exits_as_errors(text):
        if inspect.isclass(found):
            kind, found = found, made_by(found, text, Called((), (), ()))
            hint = _methods_of(kind, text)
        if not (callable(found) or isinstance(found, Mechanism) or brought_by(found)):
            raise InvalidMechanism(f"{text} is not callable: it is {short(found)}.{hint}")
    return found


def _methods_of(kind: type, text: str) -> str:
    """A hint at the methods of a class, as targets."""
    names = [name for name in dir(kind) if not name.startswith("_") and needs_an_object(kind, name)]
    return f" Name a method: {', '.join(f'{text}.{name}' for name in names[:10])}." if names else ""


def made_by(kind: Any, text: str, call: Called) -> Any:
    """What a call gives, such as an object of a class."""
    if not callable(kind):
        raise InvalidMechanism(f"{text}: {short(kind)} cannot be called. Leave out {call}.")
    try:
        return kind(*call.values, **dict(call.keywords))
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise  # an error of the code inside, not of the call
        name = getattr(kind, "__name__", type(kind).__name__)
        if call.arguments:
            raise InvalidMechanism(f"{text}: {name}{call} cannot be called ({error}).") from error
        raise InvalidMechanism(
            f"{text} is a class that cannot be called without arguments ({error}). Give them, such "
            f"as {name}(epsilon=1), or make an object of it in its module, such as "
            f"mechanism = {name}(...), and name that."
        ) from error


def load_object(text: str) -> Any:
    """Find an object in a module or a file; its name may be dotted and make calls.

    `module:Class(2).method` calls with plain values only. A method named on a class is that of an
    object made without arguments. Modules are also looked for in the current folder.

    >>> load_object("math:pi"), load_object("fractions:Fraction(3, 4).numerator")
    (3.141592653589793, 3)
    """
    target = parse_target(text)
    place = target.place
    with exits_as_errors(place):
        found: Any = load_place(place)
        for step in target.steps:
            if isinstance(step, Called):
                found = made_by(found, text, step)
            elif needs_an_object(found, step.name):
                found = getattr(made_by(found, text, Called((), (), ())), step.name)
            else:
                found = attribute_of(found, step.name, place)
        return found


def load_place(place: str) -> ModuleType:
    """The module of a name, or that in a file."""
    return _module_in_file(Path(place)) if place.endswith(".py") else _module(place)


def attribute_of(owner: Any, name: str, place: str) -> Any:
    """An attribute; an error that names those that are alike."""
    if hasattr(owner, name):
        return getattr(owner, name)
    names = [each for each in dir(owner) if not each.startswith("_")]
    close = difflib.get_close_matches(name, names, n=3) or names[:10]
    hint = f" Did you mean {', '.join(close)}?" if close else ""
    whose = getattr(owner, "__name__", f"{place}: an object of {type(owner).__name__}")
    raise InvalidMechanism(f"{whose} has no attribute {name!r}.{hint}")


def needs_an_object(owner: Any, name: str) -> bool:
    """Whether this is a method of objects, named on their class."""
    if not inspect.isclass(owner):
        return False
    return inspect.isfunction(inspect.getattr_static(owner, name, None))


def _module(name: str) -> ModuleType:
    if name.startswith(".") or not name.isprintable():
        raise InvalidMechanism(
            f"{short(name)} is no name of a module. Write pkg.module:function, or name a file: "
            "path/to/file.py:function."
        )
    _search_in(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            error.add_note(f"while importing {name}")
            raise  # the module is there; something it imports is not
        raise InvalidMechanism(
            f"no module {error.name!r} (looked in the current folder {os.getcwd()} and the "
            f"installed packages). For a file, name it: path/to/file.py:function."
        ) from error


def _module_in_file(path: Path) -> ModuleType:
    """Run a file as a module, with its own folder first on the search path."""
    try:
        found = path.is_file()
    except (OSError, ValueError) as error:  # too long, or with letters that no name has
        raise InvalidMechanism(f"{short(str(path))} is no name of a file.") from error
    if not found:
        raise InvalidMechanism(f"no file {str(path)!r} (the current folder is {os.getcwd()}).")
    path = path.resolve()
    _search_in(path.parent)
    taken = getattr(sys.modules.get(path.stem), "__file__", None)
    if taken is not None and Path(taken).resolve() == path:
        return sys.modules[path.stem]
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_in_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # it ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look it up there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        error.add_note(f"while importing {path}")
        raise
    return module


def _search_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
