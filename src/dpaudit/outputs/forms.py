"""The forms of an output: what can be read of it, and what is inside values of any class.

A mechanism may fill one buffer and give it back at every call, so an output is copied when it is
received. While it is copied, every part of it is looked at. A coroutine, a generator, a function or
an object that hides its fields shows nothing of what it holds: an audit that took it for a word
would find every mechanism private. So it is an error.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import enum
import functools
import math
import numbers
import types
from collections.abc import Awaitable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.errors import InvalidOutput
from dpaudit.outputs.tensors import brought_here

_FRAME_LIBRARIES = ("numpy", "pandas", "polars")  # which have more to tell than their numbers
_MAX_DEPTH = 64  # containers: a list may hold itself
_SECOND = 10**18  # attoseconds, the shortest unit that NumPy has
_ATTOSECONDS = {
    **{"W": 604_800 * _SECOND, "D": 86_400 * _SECOND, "h": 3_600 * _SECOND, "m": 60 * _SECOND},
    **{unit: 1000**power for power, unit in enumerate(("as", "fs", "ps", "ns", "us", "ms", "s"))},
}


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Raised:
    """A draw that raised: the name of the error's class, and its message.

    >>> Raised.of(KeyError("age")), Raised.of(KeyError("age")).message
    (raises KeyError, "'age'")
    """

    kind: str
    message: str

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """Keep what an error says, without the frames and objects that hang on it."""
        try:
            message = str(error)
        except Exception:  # even an error that cannot be shown is an output
            message = ""
        return cls(type(error).__qualname__, message)

    def as_error(self) -> Exception:
        """An error of the same name that says the same."""
        named: type[Exception] = type(self.kind, (RuntimeError,), {})
        return named(self.message)

    def __repr__(self) -> str:
        return f"raises {self.kind}"


@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    """A frame: the number of rows, the entries of each column, and labels of rows if any."""

    size: int
    entries: dict[Any, list[Any]]
    labels: list[Any] | None = None

    def __len__(self) -> int:
        return self.size


class Fields(dict[str, Any]):
    """An object by its public fields."""


_PLAIN = (int, float, complex, str, bytes, type(None), np.generic, enum.Enum, Raised)


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
    if depth < _MAX_DEPTH:
        if kind is list or kind is tuple:
            return kind(readable_copy(part, name, depth + 1) for part in value)
        if kind is dict:
            return {key: readable_copy(part, name, depth + 1) for key, part in value.items()}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.copy()
    if hasattr(kind, "__array__") and kind.__module__.partition(".")[0] not in _FRAME_LIBRARIES:
        return np.array(brought_here(value))  # a tensor
    reason = _why_unreadable(value)
    if reason is not None:
        article = "an" if kind.__qualname__[:1].lower() in "aeiou" else "a"
        raise InvalidOutput(f"{name} gave {article} {kind.__qualname__} as an output, {reason}")
    for part in _parts(value) if depth < _MAX_DEPTH else ():
        readable_copy(part, name, depth + 1)
    try:
        return copy.deepcopy(value)
    except Exception:  # it cannot be copied: what it is now is all there is
        return value


def _why_unreadable(value: Any) -> str | None:
    """Say why nothing of a value can be read, however it is looked at."""
    if isinstance(value, Awaitable):
        return "which has not run yet. Await it inside the mechanism and return what it gives."
    if isinstance(value, Iterator):
        return "which can be read only once. Return list(...) of it."
    if callable(value) and not isinstance(value, type):
        return "which is called to say more. Call it inside the mechanism and return the answers."
    if _hides_its_fields(value):
        hidden = ", ".join(sorted(_fields_of(value))[:3])
        return (
            f"whose fields are hidden ({hidden}). Return the released values themselves, or give "
            "the class public fields or a __repr__ that shows them."
        )
    return None


def _hides_its_fields(value: Any) -> bool:
    """Tell whether a value has a state, of which neither a field nor its repr shows anything.

    >>> class Box:
    ...     def __init__(self, content):
    ...         self._content = content
    >>> _hides_its_fields(Box(3)), _hides_its_fields(object()), _hides_its_fields({3})
    (True, False, False)
    """
    shown = isinstance(value, Mapping | Sequence | Set) or hasattr(type(value), "__array__")
    plain = not shown and _has_plain_repr(type(value))
    return plain and bool(_fields_of(value)) and not _public_fields(value)


def _has_plain_repr(kind: type) -> bool:
    """Tell whether the repr of an object says where it lies, not what it is."""
    own: object = kind.__repr__
    return own is object.__repr__


def _is_read_by_field(kind: type) -> bool:
    """Tell whether objects of a type are looked at field by field, not as one word."""
    plain = _has_plain_repr(kind) or issubclass(kind, types.SimpleNamespace)
    return plain or dataclasses.is_dataclass(kind)


def _public_fields(value: Any) -> dict[str, Any]:
    return {name: one for name, one in _fields_of(value).items() if not name.startswith("_")}


def _fields_of(value: Any) -> dict[str, Any]:
    """The fields of an object by name: of a dataclass, an instance, or its slots."""
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
    return list(_public_fields(value).values()) if _is_read_by_field(type(value)) else []


def opened(value: Any) -> Any:
    """Give what is inside a value: a list, a dict, `Columns`, `Fields` or seconds, or itself.

    >>> opened(np.array([(31, 0.5)], dtype=[("age", "i8"), ("x", "f8")])).entries
    {'age': [31], 'x': [0.5]}
    """
    kind: type = type(value)
    match _form(kind):
        case "array":
            return _opened_array(value)
        case "record" if value.dtype.names is not None:  # None: bytes without fields
            return {name: value[name] for name in value.dtype.names}
        case "DataFrame":
            return _opened_frame(value)
        case "Series":
            return _opened_series(value)
        case "duration":
            return _opened_duration(value)
        case "object":
            return Fields(_public_fields(value)) or value
    return value


def can_be_opened(kind: type) -> bool:
    """Tell whether values of a type may have something inside that `opened` shows."""
    return _form(kind) is not None


@functools.lru_cache(maxsize=256)
def _form(kind: type) -> str | None:
    if issubclass(kind, np.ndarray):
        return "array"
    if issubclass(kind, np.void):
        return "record"
    if issubclass(kind, np.timedelta64 | datetime.timedelta):
        return "duration"
    if issubclass(kind, np.generic):
        return None
    library, name = kind.__module__.partition(".")[0], kind.__name__
    if library in ("pandas", "polars") and name in ("DataFrame", "Series"):
        return name
    if hasattr(kind, "__array__"):  # a tensor: its repr leaves out digits and entries
        return "array"
    if issubclass(kind, Raised | enum.Enum | numbers.Number | Mapping | Sequence | Set):
        return None
    return "object" if _is_read_by_field(kind) else None


def _opened_array(value: Any) -> Any:
    """Lists, or the value of an array without an axis; the columns of a structured one."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype.names is not None and array.ndim == 1:
        return Columns(len(array), {name: listed(array[name]) for name in array.dtype.names})
    return listed(array) if array.ndim > 0 else opened(array[()])


def listed(array: npt.NDArray[Any]) -> list[Any]:
    """What lies along the first axis of an array."""
    # The tolist of times may give plain integers, and that of records forgets their names.
    return list(array) if array.dtype.kind in "mMV" else list(array.tolist())


def _opened_frame(frame: Any) -> Columns:
    if type(frame).__module__.startswith("polars"):
        return Columns(len(frame), {series.name: series.to_list() for series in frame})
    places = range(frame.shape[1])  # by position: two columns may have one name
    entries = {frame.columns[place]: frame.iloc[:, place].tolist() for place in places}
    return Columns(len(frame), entries, None if _counts(frame.index) else frame.index.tolist())


def _opened_series(series: Any) -> Any:
    """A list, or a dict where the entries have labels of their own, each only once."""
    values: list[Any] = series.tolist() if hasattr(series, "tolist") else series.to_list()
    index = getattr(series, "index", None)
    if index is None or _counts(index) or not index.is_unique:
        return values
    return dict(zip(index.tolist(), values, strict=True))


def _counts(index: Any) -> bool:
    """Tell whether the labels are 0, 1, 2, ..., as they are where nobody chose any."""
    return list(index) == list(range(len(index)))


def _opened_duration(value: np.timedelta64 | datetime.timedelta) -> Any:
    """The seconds of a duration; its months, if that is what it counts; NaN if it is none.

    >>> _opened_duration(np.timedelta64(90, "m")), _opened_duration(np.timedelta64(2, "Y"))
    (5400.0, {'months': 24})
    """
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if np.isnat(value):
        return math.nan
    unit, step = np.datetime_data(value.dtype)
    count = int(value.view(np.int64)) * step
    if unit in ("Y", "M"):
        return {"months": count * (12 if unit == "Y" else 1)}
    return count * _ATTOSECONDS.get(unit, _SECOND) / _SECOND  # rounded once, in whatever unit
