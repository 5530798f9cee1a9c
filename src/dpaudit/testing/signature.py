"""What a mechanism's code says: its import, its parameters by what they are for, its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import load_object
from dpaudit.mechanism import RNG_NAMES, SIZE_NAMES
from dpaudit.outputs import short

ROLES = {  # what a parameter is for, by the names it may have
    "epsilon": {"epsilon", "eps"},
    "delta": {"delta"},
    "rho": {"rho"},
    "mu": {"mu"},
    "order": {"order"},
    "sensitivity": {"sensitivity"},
    "lower": {"lower", "low", "lower_bound", "min_value", "minimum"},
    "upper": {"upper", "high", "upper_bound", "max_value", "maximum"},
    "bounds": {"bounds", "value_range"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """How a function or class is imported and called, and its docstring.

    `file` is where it was found, if a file was named; `data` is the parameter of the dataset,
    `draws_many` says whether a call can give many outputs, `settings` are parameters with what they
    are for, and `unknown` are required parameters that no name explains.
    """

    module: str
    file: str | None
    attribute: str
    is_class: bool
    data: inspect.Parameter
    draws_many: bool
    settings: tuple[tuple[str, inspect.Parameter], ...]
    unknown: tuple[str, ...]
    words: str


def read_signature(target: str) -> Signature:
    """Read the signature and docstring of `pkg.module:function` or `path/to/file.py:function`.

    >>> signature = read_signature("dpaudit.zoo:ClippedSum")
    >>> signature.is_class, signature.draws_many, [role for role, _ in signature.settings]
    (True, True, ['epsilon'])
    """
    found = load_object(target)
    if not callable(found):
        raise InvalidMechanism(f"{target} is not callable: it is {short(found)}.")
    place, _, attribute = target.rpartition(":")
    if inspect.isclass(found):
        called = _parameters(found.__call__, target)[1:]  # without self
        built = _parameters(found, target)
    else:
        called = _parameters(found, target)
        built = called[1:]
    if not called:
        raise InvalidMechanism(f"{target} takes no data: a mechanism is f(data, ...).")
    if _role(called[0]) is not None:
        raise InvalidMechanism(
            f"the first parameter of {target} is {called[0].name}, where the data should be. "
            f"Write a function of the data that calls it, and name that one."
        )
    return Signature(
        file=place if place.endswith(".py") else None,
        module=_module_name(Path(place)) if place.endswith(".py") else place,
        attribute=attribute,
        is_class=inspect.isclass(found),
        data=called[0],
        draws_many=any(each.name in SIZE_NAMES for each in called[1:]),
        settings=tuple((role, each) for each in built if (role := _role(each)) is not None),
        unknown=tuple(dict.fromkeys(each.name for each in (*called[1:], *built) if _unknown(each))),
        words=_words(found),
    )


def _parameters(function: Callable[..., Any], target: str) -> list[inspect.Parameter]:
    try:
        try:
            found = inspect.signature(function, eval_str=True)
        except NameError:  # an annotation that only type checkers can read
            found = inspect.signature(function)
        return list(found.parameters.values())
    except (TypeError, ValueError) as error:
        raise InvalidMechanism(f"{target} does not say which arguments it takes.") from error


def is_required(parameter: inspect.Parameter) -> bool:
    """Whether a call must give it."""
    return parameter.default is parameter.empty


def _unknown(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is required, and neither a setting nor passed by an audit."""
    open_ended = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    known = _role(parameter) is not None or parameter.name in SIZE_NAMES | RNG_NAMES
    return is_required(parameter) and not open_ended and not known


def _role(parameter: inspect.Parameter) -> str | None:
    name = parameter.name.lower()
    return next((role for role, names in ROLES.items() if name in names), None)


def _words(found: Any) -> str:
    """The docstring of a function, or of a class and its call; not one that Python made up."""
    own = found.__doc__ or ""
    if inspect.isclass(found):
        made_up = own.startswith(f"{found.__name__}(")
        own = f"{'' if made_up else own}\n{found.__call__.__doc__ or ''}"
    return " ".join(own.split())


def _module_name(file: Path) -> str:
    """The dotted name of a file: its own, after those of the packages it lies in."""
    parts, folder = [file.stem], file.resolve().parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)
