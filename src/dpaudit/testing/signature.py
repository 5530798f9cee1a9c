"""What a mechanism's code says: its import, its parameters by what they are for, its docstring."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import (
    Called,
    attribute_of,
    load_place,
    made_by,
    needs_an_object,
    parse_target,
)
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
OPEN_ENDED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a call needs: parameters with what they are for, and required ones no name explains."""

    settings: tuple[tuple[str, inspect.Parameter], ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """How a function, or a method of an object, is imported and called, and its docstring.

    `file` is where it was found, if a file was named; `path` is the name to import, and what
    follows it. Where an object is made, `made` is what its class needs beyond the `given` values,
    and `method` is what is called on it; empty for the object itself. `data` is the parameter of
    the dataset, `draws_many` says whether a call can give many outputs.
    """

    module: str
    file: str | None
    path: str
    method: str = ""
    made: Needs | None = None
    called: Needs
    given: tuple[tuple[str | None, Any], ...] = ()  # the name, if any, and the value
    given_names: frozenset[str] = frozenset()
    data: inspect.Parameter
    draws_many: bool
    words: str

    @property
    def is_class(self) -> bool:
        """Whether an object is made, of a class."""
        return self.made is not None

    @property
    def settings(self) -> tuple[tuple[str, inspect.Parameter], ...]:
        """The settings of the object and of the call."""
        return (*(() if self.made is None else self.made.settings), *self.called.settings)


def read_signature(target: str) -> Signature:
    """Read signature and docstring of `pkg.module:function`, `file.py:Class(epsilon=1).method`.

    A class that is not callable itself has the one method that takes data.

    >>> signature = read_signature("dpaudit.zoo:ClippedSum")
    >>> signature.is_class, signature.draws_many, [role for role, _ in signature.settings]
    (True, True, ['epsilon'])
    """
    found = _found(target)
    parameters = _parameters(found.function, target)
    called = parameters[1:] if found.kind is not None else parameters  # without self
    if not called:
        raise InvalidMechanism(f"{target} takes no data: a mechanism is f(data, ...).")
    if _role(called[0]) is not None:
        raise InvalidMechanism(
            f"the first parameter of {target} is {called[0].name}, where the data should be. "
            f"Write a function of the data that calls it, and name that one."
        )
    given = inspect.BoundArguments(inspect.Signature(), OrderedDict())
    made, call = None, found.call
    if found.kind is not None:
        if call is not None:
            given = _bound(found.kind, call, target)
        made = _needs(_with_values(_parameters(found.kind, target), given), of_an_audit=False)
    place = parse_target(target).place
    in_file = place.endswith(".py")
    return Signature(
        file=place if in_file else None,
        module=_module_name(Path(place)) if in_file else place,
        path=found.path,
        method=found.method,
        made=made,
        called=_needs(called[1:], of_an_audit=True),
        given=() if call is None else ((*((None, each) for each in call.values), *call.keywords)),
        given_names=frozenset(given.arguments),
        data=called[0],
        draws_many=any(each.name in SIZE_NAMES for each in called[1:]),
        words=_words(found),
    )


@dataclass(slots=True)
class _Found:
    """What a target names: a function, or one of the objects of a class, and its method."""

    function: Any
    path: str = ""
    kind: type | None = None
    call: Called | None = None
    method: str = ""


def _found(text: str) -> _Found:
    """Follow the names and calls of a target; no object is made for it."""
    target = parse_target(text)
    found = _Found(load_place(target.place))
    for step in target.steps:
        if isinstance(step, Called):
            if found.kind is None and inspect.isclass(found.function):
                found.kind, found.call = found.function, step
            else:
                found.function = made_by(found.function, text, step)
                found.path += str(step)
            continue
        if found.kind is None and needs_an_object(found.function, step.name):
            found.kind = found.function
        if found.method:
            raise InvalidMechanism(f"{text}: {found.method} is a method, and has no {step.name}.")
        found.function = attribute_of(found.function, step.name, target.place)
        if found.kind is None:
            found.path += f".{step.name}" if found.path else step.name
        else:
            found.method = step.name
    if inspect.isclass(found.function) and not found.method:
        found.kind = found.function
        found.method = _method_of(found.kind, text)
        found.function = getattr(found.kind, found.method or "__call__")
    if not callable(found.function):
        raise InvalidMechanism(f"{text} is not callable: it is {short(found.function)}.")
    return found


def _method_of(kind: type, text: str) -> str:
    """The method that takes data; empty where the objects of a class are callable themselves."""
    if any("__call__" in vars(each) for each in kind.__mro__):
        return ""
    names = [name for name in dir(kind) if not name.startswith("_") and needs_an_object(kind, name)]
    fitting = [name for name in names if _takes_data(getattr(kind, name))]
    if len(fitting) == 1:
        return fitting[0]
    named = ", ".join(f"{text}.{name}" for name in fitting or names)
    raise InvalidMechanism(
        f"the objects of {text} are not callable."
        + (f" Name a method: {named}." if named else " Name a function, or a class with methods.")
    )


def _takes_data(method: Callable[..., Any]) -> bool:
    parameters = [*inspect.signature(method).parameters.values()][1:]
    return bool(parameters) and _role(parameters[0]) is None


def _bound(kind: type, call: Called, target: str) -> inspect.BoundArguments:
    """Which parameters of a class are given, and their values."""
    try:
        return inspect.signature(kind).bind_partial(*call.values, **dict(call.keywords))
    except (TypeError, ValueError) as error:
        raise InvalidMechanism(
            f"{target}: {kind.__name__}{call} cannot be called ({error})."
        ) from error


def _with_values(
    parameters: list[inspect.Parameter], given: inspect.BoundArguments
) -> list[inspect.Parameter]:
    """The same parameters, with the given values in the place of defaults."""
    values = given.arguments
    return [
        each.replace(default=values[each.name])
        if each.name in values and each.kind not in OPEN_ENDED
        else each
        for each in parameters
    ]


def _needs(parameters: list[inspect.Parameter], *, of_an_audit: bool) -> Needs:
    """What these parameters need; an audit passes the size and the generator itself."""
    passed = SIZE_NAMES | RNG_NAMES if of_an_audit else frozenset()
    return Needs(
        settings=tuple((role, each) for each in parameters if (role := _role(each)) is not None),
        unknown=tuple(
            each.name
            for each in parameters
            if is_required(each)
            and each.kind not in OPEN_ENDED
            and _role(each) is None
            and each.name not in passed
        ),
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


def _role(parameter: inspect.Parameter) -> str | None:
    name = parameter.name.lower()
    return next((role for role, names in ROLES.items() if name in names), None)


def _words(found: _Found) -> str:
    """The docstring of a function, or of a class and its method; not one that Python made up."""
    own = found.function.__doc__ or ""
    if found.kind is not None:
        of_class = found.kind.__doc__ or ""
        made_up = of_class.startswith(f"{found.kind.__name__}(")
        own = f"{'' if made_up else of_class}\n{own}"
    return " ".join(own.split())


def _module_name(file: Path) -> str:
    """The dotted name of a file: its own, after those of the packages it lies in."""
    parts, folder = [file.stem], file.resolve().parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)
