"""What a mechanism is called: its own name with its parameters, and the text that imports it."""

from __future__ import annotations

import inspect
import reprlib
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

_MAX_VALUE = 40  # characters of a parameter in a name
_MAX_PARAMETERS = 100  # characters of all of them
_ADDRESS = " at 0x"
_UNSAID = frozenset({"rng", "random_state", "accountant"})  # they change while draws are made
_NOTHING = object()

_REPR = reprlib.Repr()
_REPR.maxlist = _REPR.maxtuple = _REPR.maxset = _REPR.maxdict = 8
_REPR.maxstring = _REPR.maxlong = _MAX_VALUE
_REPR.maxother = 10_000  # cut later: an address must not be cut out of sight


def name_of(function: object) -> str:
    """Give a callable's own name, or that of the function it wraps, or its class.

    >>> name_of(name_of)
    'name_of'
    """
    for attribute in ("name", "__name__"):
        name = getattr(function, attribute, None)
        if isinstance(name, str):
            return name
    wrapped = getattr(function, "func", None)  # functools.partial
    return type(function).__name__ if wrapped is None else name_of(wrapped)


def name_with_parameters(function: object) -> str:
    """Give a callable's name, and the parameters that make it another one than its like.

    Those of dataclasses, of objects whose attributes are named as the parameters of their class, of
    `functools.partial`, and of the object that a method belongs to. A parameter at its default is
    left out, and so is one whose text would differ from run to run.

    >>> from functools import partial
    >>> from dpaudit.zoo import LaplaceCount
    >>> name_with_parameters(LaplaceCount(0.5)), name_with_parameters(LaplaceCount())
    ('LaplaceCount(epsilon=0.5)', 'LaplaceCount')
    >>> name_with_parameters(partial(max, default=0))
    'max(default=0)'
    """
    if isinstance(function, partial):
        own = vars(function).get("__name__")
        name = own if isinstance(own, str) else name_with_parameters(function.func)
        places = [_text(value) or "..." for value in function.args]
        return name + _in_brackets([*places, *_named(function.keywords.items())])
    name = name_of(function)
    if isinstance(function, MethodType):
        owner, own = function.__self__, f".{function.__name__}"
        of_class = inspect.isclass(owner)
        parameters = "" if of_class else _in_brackets(_named(_parameters_of(owner)))
        return f"{name_of(owner)}{parameters}{own}" if parameters else name
    given = isinstance(getattr(function, "name", None), str) and not _is_of_class(function)
    if given or isinstance(getattr(function, "__name__", None), str):
        return name
    return name + _in_brackets(_named(_parameters_of(function)))


def _is_of_class(thing: object) -> bool:
    """Whether `name` is said by the class, so that it does not tell objects apart."""
    return isinstance(inspect.getattr_static(type(thing), "name", None), str)


def _in_brackets(parameters: list[str]) -> str:
    said = ", ".join(parameters)
    if len(said) > _MAX_PARAMETERS:
        said = f"{said[: _MAX_PARAMETERS - 3]}..."
    return f"({said})" if said else ""


def _named(parameters: Any) -> list[str]:
    said = ((name, _text(value)) for name, value in parameters if name not in _UNSAID)
    return [f"{name}={text}" for name, text in said if text is not None]


def _parameters_of(thing: object) -> Iterator[tuple[str, Any]]:
    """The parameters that an object was made with, as far as it keeps them, if not the defaults."""
    if is_dataclass(thing):
        shown = {each.name for each in fields(thing) if each.init and each.repr}
    else:
        shown = None
    try:
        parameters = inspect.signature(type(thing)).parameters.values()
    except (TypeError, ValueError):  # compiled
        return
    for parameter in parameters:
        if parameter.name == "name" or (shown is not None and parameter.name not in shown):
            continue
        value = _attribute(thing, parameter.name)
        if value is not _NOTHING and not _same(value, parameter.default):
            yield parameter.name, value


def _attribute(thing: object, name: str) -> Any:
    try:
        return getattr(thing, name, _NOTHING)
    except Exception:  # a property that computes
        return _NOTHING


def _same(value: Any, default: Any) -> bool:
    try:
        return value is default or (type(value) is type(default) and bool(value == default))
    except Exception:  # arrays: more than one answer
        return False


def _text(value: Any) -> str | None:
    """A parameter as a short text; None if it says nothing, or would differ from run to run."""
    if isinstance(value, np.generic):
        value = value.item()
    own = getattr(value, "__name__", None)
    if callable(value) and isinstance(own, str):
        return None if own == "<lambda>" else own
    try:
        text = " ".join(_REPR.repr(value).split())
        text.encode("utf-8")
    except Exception:  # the repr of others
        return None
    if _ADDRESS in text:
        return None
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 3]}..."


def target_of(function: object) -> str | None:
    """Give the text that imports a callable again, `pkg.module:function`.

    A lambda, a closure, a method of an instance and anything of `__main__` have none.

    >>> target_of(target_of)
    'dpaudit.mechanism.naming:target_of'
    >>> print(target_of(lambda data, size: data))
    None
    """
    home = getattr(getattr(function, "func", function), "__module__", None)
    module = sys.modules.get(home) if isinstance(home, str) and home != "__main__" else None
    if module is None or getattr(module, "__spec__", None) is None:
        return None
    own = getattr(function, "__qualname__", None)
    names = [own] if isinstance(own, str) else []
    names += [name for name, value in vars(module).items() if value is function]
    for name in names:
        found: object = module
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is function:
            return f"{module.__name__}:{name}"
    return None
