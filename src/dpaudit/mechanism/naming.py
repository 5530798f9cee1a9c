"""What a callable is called: its name, and the text by which it can be imported again."""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["ONE_AT_A_TIME", "name_of", "target_of"]

ONE_AT_A_TIME = "one_at_a_time({})"  # the target of a function that gives one output a call


def name_of(function: object) -> str:
    """Give a callable's own name, or what it wraps, or its class.

    >>> name_of(name_of)
    'name_of'
    """
    for attribute in ("name", "__name__"):
        name = getattr(function, attribute, None)
        if isinstance(name, str):
            return name
    wrapped = getattr(function, "func", None)  # functools.partial
    return type(function).__name__ if wrapped is None else name_of(wrapped)


def target_of(function: object) -> str | None:
    """Say how a callable is imported again, `pkg.module:function`; None where it cannot be.

    A lambda, a closure, a method of an instance, or anything of `__main__` has no such name.

    >>> target_of(target_of)
    'dpaudit.mechanism.naming:target_of'
    >>> print(target_of(lambda data, size: data))
    None
    """
    module = _home(function)
    if module is None:
        return None
    own = getattr(function, "__qualname__", None)
    names = [own] if isinstance(own, str) else []
    names += [name for name, value in vars(module).items() if value is function]
    for name in names:
        if _at(module, name) is function:
            return f"{module.__name__}:{name}"
    return None


def _home(function: object) -> ModuleType | None:
    """The module a callable (or what it wraps) says it comes from, if it can be imported again."""
    name = getattr(getattr(function, "func", function), "__module__", None)
    module = sys.modules.get(name) if isinstance(name, str) and name != "__main__" else None
    return module if getattr(module, "__spec__", None) is not None else None


def _at(module: ModuleType, name: str) -> object:
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
