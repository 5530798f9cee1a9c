"""Outputs that can be read: a copy of each is kept, and one that nobody can read is an error.

A mechanism may fill one buffer and give it back at every call, so an output is copied when it is
received. While it is copied, every part of it is looked at. A coroutine, a generator, a function or
an object that hides its fields shows nothing of what it holds: an audit that took it for a word
would find every mechanism private.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import types
from collections.abc import Awaitable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from dpaudit.errors import InvalidOutput

_PLAIN = (int, float, complex, str, bytes, type(None), np.generic, enum.Enum)  # never changed
_FRAMES = ("numpy", "pandas", "polars")  # which have more to tell than their numbers
_DEEPEST = 64  # containers: a list may hold itself


def is_plain(kind: type) -> bool:
    """Tell whether values of a type are read as they are and can never change."""
    return issubclass(kind, _PLAIN) and not issubclass(kind, np.void)


def readable_copy(value: Any, name: str, depth: int = 0) -> Any:
    """Give a copy of an output of the mechanism `name`, or say which part of it cannot be read.

    >>> buffer = [1, {"count": 2}]
    >>> kept = readable_copy(buffer, "noisy_count")
    >>> buffer[1]["count"] = 3
    >>> kept
    [1, {'count': 2}]
    >>> readable_copy(iter([1, 2]), "noisy_count")
    Traceback (most recent call last):
    dpaudit.errors.InvalidOutput: noisy_count gave a list_iterator as an output, which can be read
    only once. Return list(...) of it.
    """
    kind = type(value)
    if is_plain(kind):
        return value
    if depth < _DEEPEST:
        if kind is list or kind is tuple:
            return kind(readable_copy(part, name, depth + 1) for part in value)
        if kind is dict:
            return {key: readable_copy(part, name, depth + 1) for key, part in value.items()}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.copy()
    if hasattr(kind, "__array__") and kind.__module__.partition(".")[0] not in _FRAMES:
        return np.array(value)  # a tensor
    refuse_unreadable(value, name)
    for part in _parts(value) if depth < _DEEPEST else ():
        readable_copy(part, name, depth + 1)
    try:
        return copy.deepcopy(value)
    except Exception:  # it cannot be copied: what it is now is all there is
        return value


def refuse_unreadable(value: Any, name: str) -> None:
    """Raise `InvalidOutput` if nothing of a value can be read, however it is looked at."""
    kind: type = type(value)
    reason = _why_unreadable(kind)
    if reason is None and hides_its_fields(value):
        hidden = ", ".join(sorted(_fields_of(value))[:3])
        reason = (
            f"whose fields are hidden ({hidden}). Return the released values themselves, or give "
            "the class public fields or a __repr__ that shows them."
        )
    if reason is not None:
        article = "an" if kind.__qualname__[:1].lower() in "aeiou" else "a"
        raise InvalidOutput(f"{name} gave {article} {kind.__qualname__} as an output, {reason}")


@functools.lru_cache(maxsize=256)
def _why_unreadable(kind: type) -> str | None:
    if issubclass(kind, Awaitable):
        return "which has not run yet. Await it inside the mechanism and return what it gives."
    if issubclass(kind, Iterator):
        return "which can be read only once. Return list(...) of it."
    if not issubclass(kind, type) and callable_type(kind):
        return "which is called to say more. Call it inside the mechanism and return the answers."
    return None


def callable_type(kind: type) -> bool:
    """Tell whether objects of a type can be called."""
    return any("__call__" in base.__dict__ for base in kind.__mro__)


def hides_its_fields(value: Any) -> bool:
    """Tell whether a value has a state, of which neither a field nor its repr shows anything.

    >>> class Box:
    ...     def __init__(self, content):
    ...         self._content = content
    >>> hides_its_fields(Box(3)), hides_its_fields(object()), hides_its_fields({3})
    (True, False, False)
    """
    if not has_plain_repr(type(value)):
        return False
    if isinstance(value, Mapping | Sequence | Set) or hasattr(type(value), "__array__"):
        return False
    return bool(_fields_of(value)) and not public_fields(value)


def has_plain_repr(kind: type) -> bool:
    """Tell whether the repr of an object says where it lies, not what it is."""
    own: object = kind.__repr__
    return own is object.__repr__


def is_read_by_field(kind: type) -> bool:
    """Tell whether objects of a type are looked at field by field, not as one word."""
    plain = has_plain_repr(kind) or issubclass(kind, types.SimpleNamespace)
    return plain or dataclasses.is_dataclass(kind)


def public_fields(value: Any) -> dict[str, Any]:
    """Give the public fields of an object by name: of a dataclass, an instance, or its slots."""
    return {name: one for name, one in _fields_of(value).items() if not name.startswith("_")}


def _fields_of(value: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        kind: type = type(value)
        names = sorted([*getattr(value, "__dict__", {}), *_slots(kind)])
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


@functools.lru_cache(maxsize=256)
def _slots(kind: type) -> tuple[str, ...]:
    names: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _parts(value: Any) -> list[Any]:
    """What is inside a value, to be looked at too."""
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, Set) or (isinstance(value, Sequence) and not isinstance(value, bytearray)):
        return list(value)
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else []
    if is_read_by_field(type(value)):
        return list(public_fields(value).values())
    return []
