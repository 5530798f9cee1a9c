"""Forms of libraries and of classes, opened: arrays, records, series, frames and objects.

What comes out is a list, a dict, `Columns` (a frame), `Fields` (an object) or seconds (a duration).
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import math
import numbers
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.outputs.checked_outputs import Raised
from dpaudit.outputs.readable import is_read_by_field, public_fields

_KNOWN = (Raised, enum.Enum, numbers.Number, Mapping, Sequence, Set)  # without a look inside


@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    """A frame: so many rows, and the entries of each column. A row label is a column of its own."""

    size: int
    entries: dict[Any, list[Any]]
    labels: list[Any] | None = None

    def __len__(self) -> int:
        return self.size


class Fields(dict[str, Any]):
    """An object by its public fields."""


def opened(value: Any) -> Any:
    """Give what is inside a value; the value itself if it cannot be opened.

    >>> opened(np.array([(31, 0.5)], dtype=[("age", "i8"), ("x", "f8")])).entries
    {'age': [31], 'x': [0.5]}
    """
    kind: type = type(value)
    form = _form(kind)
    if form == "array":
        return _opened_array(value)
    if form == "record":
        names = value.dtype.names  # None: bytes without fields
        return value if names is None else {name: value[name] for name in names}
    if form == "DataFrame":
        return _opened_frame(value)
    if form == "Series":
        return _opened_series(value)
    if form == "duration":
        return _opened_duration(value)
    return Fields(public_fields(value)) or value if form == "object" else value


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
    if issubclass(kind, _KNOWN):
        return None
    return "object" if is_read_by_field(kind) else None


def _opened_array(value: Any) -> Any:
    """Lists, or the value of an array without an axis; the columns of a structured one."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype.names is not None and array.ndim == 1:
        return Columns(len(array), {name: listed(array[name]) for name in array.dtype.names})
    return listed(array) if array.ndim > 0 else opened(array[()])


def listed(array: npt.NDArray[Any]) -> list[Any]:
    """What lies along the first axis of an array."""
    if array.dtype.kind in "mMV":  # whose tolist may give plain integers, or forget names
        return list(array)
    entries: list[Any] = array.tolist()
    return entries


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


_SECOND = 10**18  # attoseconds, the shortest unit that NumPy has
_ATTOSECONDS = {
    **{"W": 604_800 * _SECOND, "D": 86_400 * _SECOND, "h": 3_600 * _SECOND, "m": 60 * _SECOND},
    **{unit: 1000**power for power, unit in enumerate(("as", "fs", "ps", "ns", "us", "ms", "s"))},
}


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
