"""Datasets as JSON, exact to the last bit: arrays with their dtype, tuples, NaN, None and the rest.

What JSON has (text, whole numbers, finite floats, lists, true, false, null) stays as it is.
Everything else is an object with one key that begins with a dollar sign: `{"$tuple": [1, 2]}`.
"""

from __future__ import annotations

import base64
import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains.showing import Frame, built, can_be_built, frame_of, objects
from dpaudit.errors import InvalidAuditFile, printable

TEXT_KINDS = "biuU"  # dtypes whose entries JSON can hold, beside ordinary floats
BYTE_KINDS = "biufcUSmM"  # dtypes whose bytes are their value
NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
MAX_DEPTH = 60  # lists in lists: what is deeper is saved by its repr
MAX_PADDED_BYTES = 2**26  # of an array of texts, which takes more than its saved entries
MAX_EMPTY_ROWS = 10**6  # of an array or a table with nothing in it
MAX_ROWS = 10**12  # of a table
_DTYPE = re.compile(r"[<>|=]?([biufcUSmMO])(\d{0,9})(\[\d{0,9}[a-zA-Zμ]{1,7}\])?")
_LONG_NUMBER = re.compile(r"\d{4}")

# What reading raises at values that `encoded` did not write.
UNREADABLE: tuple[type[Exception], ...] = (ArithmeticError, AttributeError, LookupError)
UNREADABLE += (MemoryError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, repr=False)
class Unsaved:
    """A value of a kind that cannot be saved: all that came back is its repr.

    >>> decoded(encoded(object)), decoded(encoded(object)) == decoded(encoded(object))
    (<class 'object'>, True)
    """

    text: str

    def __repr__(self) -> str:
        return self.text


def is_whole(value: Any) -> bool:
    """Whether all of a value came back: nothing in it is `Unsaved`.

    >>> is_whole(decoded(encoded([1.0, {"a": None}]))), is_whole(decoded(encoded([1.0, object])))
    (True, False)
    """
    waiting, seen = [value], set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, Unsaved):
            return False
        if id(part) not in seen:  # a value may contain itself
            seen.add(id(part))
            waiting += _parts(part)
    return True


def _parts(value: Any) -> list[Any]:
    """The parts of a value, if it is of a kind that can be saved."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    frame = frame_of(value)
    if frame is not None:
        return [cell for _, _, cells in frame.columns for cell in cells]
    return list(value.flat) if isinstance(value, np.ndarray) and value.dtype.hasobject else []


def encoded(value: Any) -> object:
    """The value as JSON, from which `decoded` gives an equal value of the same type.

    >>> encoded((np.array([0.5, np.inf]), "a", None))
    {'$tuple': [{'$array': {'dtype': '<f8', 'shape': [2], 'values': [0.5, {'$float': 'inf'}]}}, 'a',
     None]}
    """
    try:
        return _encoded(value, 0)
    except RecursionError:  # a value that contains itself, or is as deep as one
        return {"$unsaved": _repr(value)}


def _encoded(value: Any, depth: int) -> object:
    kind = type(value)
    if depth > MAX_DEPTH:
        raise RecursionError
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return encoded_float(value)
    if kind is list:
        return _all_encoded(value, depth)
    if kind is tuple:
        return {"$tuple": _all_encoded(value, depth)}
    if kind is dict:  # a list of items: a mechanism may see their order
        return {"$dict": [_all_encoded(item, depth) for item in value.items()]}
    if kind in (set, frozenset):  # repr of JSON values: an order that does not depend on hashes
        return {f"${kind.__name__}": sorted(_all_encoded(value, depth), key=repr)}
    if kind is bytes:
        return {"$bytes": _base64(value)}
    if kind is datetime.date:
        return {"$date": value.isoformat()}
    if kind is complex:
        return {"$complex": [encoded_float(value.real), encoded_float(value.imag)]}
    if isinstance(value, np.generic) and value.dtype.kind in BYTE_KINDS:
        return {"$scalar": _encoded_array(np.asarray(value), depth)}
    if kind is np.ndarray and value.dtype.kind in f"{BYTE_KINDS}O":
        return {"$array": _encoded_array(value, depth)}
    if (frame := frame_of(value)) is not None and can_be_built(frame):
        columns = [[name, type_, _encoded(c, depth + 1)] for name, type_, c in frame.columns]
        return {"$frame": {"library": frame.library, "size": frame.size, "columns": columns}}
    return {"$unsaved": value.text if kind is Unsaved else _repr(value)}


def _all_encoded(entries: Iterable[Any], depth: int) -> list[object]:
    return [_encoded(entry, depth + 1) for entry in entries]


def encoded_float(value: float) -> object:
    """A finite float as it is; strict JSON cannot write the others.

    >>> encoded_float(0.1), encoded_float(float("-inf"))
    (0.1, {'$float': '-inf'})
    """
    number = float(value)
    return number if math.isfinite(number) else {"$float": repr(number)}


def _encoded_array(array: NDArray[Any], depth: int) -> dict[str, object]:
    form: dict[str, object] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    if array.dtype.hasobject or _is_plain(array):
        return {**form, "values": _all_encoded(array.ravel().tolist(), depth)}
    return {**form, "bytes": _base64(array.tobytes())}


def _is_plain(array: NDArray[Any]) -> bool:
    """Whether JSON can hold the entries: no long double, and no NaN but the ordinary one."""
    if array.dtype.kind != "f":
        return array.dtype.kind in TEXT_KINDS
    if array.dtype.itemsize > 8:
        return False
    odd = np.isnan(array)
    return bool(np.full(odd.sum(), np.nan, dtype=array.dtype).tobytes() == array[odd].tobytes())


def decoded(form: object) -> Any:
    """The value that `encoded` wrote.

    >>> decoded({"$tuple": [1, {"$float": "nan"}]})
    (1, nan)
    """
    if isinstance(form, list):
        return [decoded(entry) for entry in form]
    if not isinstance(form, Mapping):
        return form
    if len(form) != 1:
        raise InvalidAuditFile(
            f"a saved value must have one key such as $tuple, got {_short(form)}."
        )
    tag, inside = next(iter(form.items()))
    if tag not in _READERS:
        raise InvalidAuditFile(
            f"unknown kind of saved value {tag!r}. Was it saved by a newer dpaudit?"
        )
    try:
        return _READERS[tag](inside)
    except InvalidAuditFile:
        raise
    except UNREADABLE as error:
        raise InvalidAuditFile(f"cannot read the saved value {_short(form)}: {error}.") from error


def _decoded_complex(inside: Any) -> complex:
    real, imaginary = _entries(inside)
    return complex(real, imaginary)


def _decoded_scalar(form: Any) -> Any:
    if form["shape"] != []:
        raise InvalidAuditFile(f"a saved number has no shape, got {_short(form)}.")
    return _decoded_array(form)[()]


def _decoded_array(form: Any) -> NDArray[Any]:
    inside = "bytes" if "bytes" in form else "values"
    if set(form) != {"dtype", "shape", inside}:
        raise InvalidAuditFile(f"a saved array needs dtype, shape and values, got {_short(form)}.")
    if inside == "bytes":
        flat = np.frombuffer(_decoded_bytes(form["bytes"]), dtype=_dtype(form["dtype"], 0))
        return flat.reshape(_shape(form["shape"], len(flat))).copy()
    values = _entries(form["values"])
    dtype, shape = _dtype(form["dtype"], len(values)), _shape(form["shape"], len(values))
    if dtype.hasobject:
        return objects(values).reshape(shape)
    flat = np.empty(len(values), dtype=dtype)
    flat[:] = values
    return flat.reshape(shape)


def _dtype(text: Any, entries: int) -> np.dtype[Any]:
    """A dtype that `_encoded_array` wrote, if this many entries of it fit into memory.

    numpy would read more from the text than such a dtype: shapes, fields, and words of any length.
    """
    found = _DTYPE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidAuditFile(f"cannot read an array of dtype {_short(text)}.")
    dtype: np.dtype[Any] = np.dtype(text)
    if dtype.kind in "US" and entries * dtype.itemsize > MAX_PADDED_BYTES:
        raise InvalidAuditFile(
            f"an array of {entries} entries of dtype {text!r} takes {entries * dtype.itemsize:,} "
            f"bytes, more than the {MAX_PADDED_BYTES:,} that a saved array may."
        )
    return dtype


def _shape(saved: Any, entries: int) -> tuple[int, ...]:
    whole = isinstance(saved, list) and all(type(side) is int and side >= 0 for side in saved)
    if not whole or len(saved) > 32 or math.prod(saved) != entries:
        raise InvalidAuditFile(f"{entries} saved entries have no shape {_short(saved)}.")
    if entries == 0 and math.prod(max(side, 1) for side in saved) > MAX_EMPTY_ROWS:
        raise InvalidAuditFile(f"an empty array cannot have the shape {_short(saved)}.")
    return tuple(saved)


def _decoded_frame(form: Any) -> Any:
    columns = [(name, kind, decoded(cells)) for name, kind, cells in form["columns"]]
    frame = Frame(library=form["library"], size=form["size"], columns=tuple(columns))
    if frame.library not in ("numpy", "pandas", "polars") or not can_be_built(frame):
        raise InvalidAuditFile(f"cannot read a table of {_short(frame.library)}.")
    _check_frame(frame)
    try:
        return built(frame)
    except ImportError:  # the audit can be read without the library of its data
        return Unsaved(f"{frame.library} {frame.rows()!r}")
    except Exception as error:  # pandas and polars have errors of their own
        raise InvalidAuditFile(f"cannot read a table of {frame.library}: {error}.") from error


def _check_frame(frame: Frame) -> None:
    """Refuse a table whose columns are not as long as it says, or whose types are not known."""
    size = frame.size
    if type(size) is not int or not 0 <= size <= (MAX_ROWS if frame.columns else MAX_EMPTY_ROWS):
        raise InvalidAuditFile(f"a table cannot have {_short(size)} rows.")
    for name, kind, cells in frame.columns:
        if not (isinstance(name, str) and isinstance(kind, str)):
            raise InvalidAuditFile(f"a column needs a name and a type, got {_short([name, kind])}.")
        if not isinstance(cells, list | np.ndarray) or np.shape(cells)[:1] != (size,):
            raise InvalidAuditFile(f"the column {_short(name)} must have {size} entries.")
        if frame.library == "numpy":
            _dtype(kind, size)
        elif len(kind) > 64 or _LONG_NUMBER.search(kind):
            raise InvalidAuditFile(f"cannot read a column of type {_short(kind)}.")


def _decoded_unsaved(text: Any) -> Unsaved:
    if not isinstance(text, str):
        raise InvalidAuditFile(f"expected text, got {_short(text)}.")
    return Unsaved(printable(text))


def _entries(inside: Any) -> list[Any]:
    if not isinstance(inside, list):
        raise InvalidAuditFile(f"expected a list of saved values, got {_short(inside)}.")
    return [decoded(entry) for entry in inside]


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _decoded_bytes(text: Any) -> bytes:
    return base64.b64decode(text, validate=True)


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # even an object that cannot be shown must not lose the audit
        return f"<{type(value).__qualname__} without a repr>"


def _short(form: object) -> str:
    text = repr(form)
    return text if len(text) <= 200 else f"{text[:197]}..."


_READERS: dict[str, Callable[[Any], Any]] = {
    "$float": NON_FINITE.__getitem__,
    "$tuple": lambda inside: tuple(_entries(inside)),
    "$dict": lambda inside: {decoded(name): decoded(entry) for name, entry in inside},
    "$set": lambda inside: set(_entries(inside)),
    "$frozenset": lambda inside: frozenset(_entries(inside)),
    "$bytes": _decoded_bytes,
    "$date": datetime.date.fromisoformat,
    "$frame": _decoded_frame,
    "$complex": _decoded_complex,
    "$scalar": _decoded_scalar,
    "$array": _decoded_array,
    "$unsaved": _decoded_unsaved,
}
