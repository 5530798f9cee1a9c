"""What is to be tested: where it is imported from, how it is called, and what it says of itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import load_object
from dpaudit.mechanism import RNG_NAMES, SIZE_NAMES
from dpaudit.outputs import short

ROLES = {
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
class Setting:
    """A parameter whose name says what it is for, and its default, if it has one."""

    name: str
    role: str
    default: object
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function or class: its import, its parameters by what they are for, and its docstring.

    `file` is where it was found, if a file was named; `data` is the parameter of the dataset,
    `draws_many` says whether a call can give many outputs, and `unknown` are required parameters
    that no name explains.
    """

    module: str
    file: str | None
    attribute: str
    is_class: bool
    data: inspect.Parameter
    draws_many: bool
    settings: tuple[Setting, ...]
    unknown: tuple[str, ...]
    words: str

    def setting(self, role: str) -> Setting | None:
        """The parameter for something, if there is one."""
        return next((each for each in self.settings if each.role == role), None)


def read_signature(target: str) -> Signature:
    """Read what `pkg.module:function` or `path/to/file.py:function` says of itself.

    >>> signature = read_signature("dpaudit.zoo:ClippedSum")
    >>> signature.is_class, signature.draws_many, [each.name for each in signature.settings]
    (True, True, ['epsilon'])
    """
    found = load_object(target)
    if not callable(found):
        raise InvalidMechanism(f"{target} is not callable: it is {short(found)}.")
    place, _, attribute = target.rpartition(":")
    called = _parameters(found.__call__ if inspect.isclass(found) else found, target)
    if inspect.isclass(found):
        called, built = called[1:], _parameters(found, target)  # without self
    else:
        built = called[1:]
    if not called:
        raise InvalidMechanism(f"{target} takes no data: a mechanism is f(data, ...).")
    if _role(called[0].name) is not None:
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
        settings=tuple(_settings(built)),
        unknown=tuple(_unknown([*called[1:], *built])),
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


def _settings(parameters: list[inspect.Parameter]) -> Iterator[Setting]:
    for each in parameters:
        role = _role(each.name)
        if role is not None:
            required = each.default is each.empty
            yield Setting(name=each.name, role=role, default=each.default, required=required)


def _unknown(parameters: list[inspect.Parameter]) -> list[str]:
    """Required parameters that are neither settings nor what an audit passes; each once."""
    passed = SIZE_NAMES | RNG_NAMES
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = (
        each.name
        for each in parameters
        if each.default is each.empty and each.kind not in open_ended
        if each.name not in passed and _role(each.name) is None
    )
    return list(dict.fromkeys(found))


def _role(name: str) -> str | None:
    return next((role for role, names in ROLES.items() if name.lower() in names), None)


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
