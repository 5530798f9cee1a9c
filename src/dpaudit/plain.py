"""Datasets as JSON, exact to the last bit: arrays with their dtype, tuples, NaN, None and the rest.

What JSON has (text, whole numbers, finite floats, lists, true, false, null) stays as it is.
Everything else is an object with one key that begins with a dollar sign: `{"$tuple": [1, 2]}`.
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.frames import Frame, built, can_be_built, frame_of

TEXT_KINDS = "biuU"  # dtypes whose entries JSON can hold, beside ordinary floats
BYTE_KINDS = "biufcUSmM"  # dtypes whose bytes are their value
NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class InvalidAuditFile(ValueError):
    """A file or JSON value that is not an audit this version of dpaudit can read."""


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
    """Tell whether all of a value came back: nothing in it is `Unsaved`.

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
    """What a value of a kind that can be saved is made of; nothing of any other."""
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
        return _encoded(value)
    except RecursionError:  # a value that contains itself, or is as deep as one
        return {"$unsaved": _repr(value)}


def _encoded(value: Any) -> object:
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return encoded_float(value)
    if kind is list:
        return [_encoded(entry) for entry in value]
    if kind is tuple:
        return {"$tuple": [_encoded(entry) for entry in value]}
    if kind is dict:  # a list of items: a mechanism may see their order
        return {"$dict": [[_encoded(name), _encoded(entry)] for name, entry in value.items()]}
    if kind in (set, frozenset):  # repr of JSON values: an order that does not depend on hashes
        return {f"${kind.__name__}": sorted((_encoded(entry) for entry in value), key=repr)}
    if kind is bytes:
        return {"$bytes": _base64(value)}
    if kind is datetime.date:
        return {"$date": value.isoformat()}
    if kind is complex:
        return {"$complex": [encoded_float(value.real), encoded_float(value.imag)]}
    if isinstance(value, np.generic) and value.dtype.kind in BYTE_KINDS:
        return {"$scalar": _encoded_array(np.asarray(value))}
    if kind is np.ndarray and value.dtype.kind in f"{BYTE_KINDS}O":
        return {"$array": _encoded_array(value)}
    if (frame := frame_of(value)) is not None and can_be_built(frame):
        columns = [[name, type_, _encoded(cells)] for name, type_, cells in frame.columns]
        return {"$frame": {"library": frame.library, "size": frame.size, "columns": columns}}
    return {"$unsaved": value.text if kind is Unsaved else _repr(value)}


def encoded_float(value: float) -> object:
    """A finite float as it is; strict JSON has no word for the others.

    >>> encoded_float(0.1), encoded_float(float("-inf"))
    (0.1, {'$float': '-inf'})
    """
    number = float(value)
    return number if math.isfinite(number) else {"$float": repr(number)}


def _encoded_array(array: NDArray[Any]) -> dict[str, object]:
    form: dict[str, object] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    if array.dtype.hasobject:
        return {**form, "values": [_encoded(entry) for entry in array.ravel().tolist()]}
    if _is_plain(array):
        return {**form, "values": [_encoded(entry) for entry in array.ravel().tolist()]}
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
    try:
        return _decoded(tag, inside)
    except InvalidAuditFile:
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise InvalidAuditFile(f"cannot read the saved value {_short(form)}: {error}.") from error


def _decoded(tag: str, inside: Any) -> Any:
    match tag:
        case "$float":
            return NON_FINITE[inside]
        case "$tuple":
            return tuple(_entries(inside))
        case "$dict":
            return {decoded(name): decoded(entry) for name, entry in inside}
        case "$set":
            return set(_entries(inside))
        case "$frozenset":
            return frozenset(_entries(inside))
        case "$bytes":
            return base64.b64decode(inside, validate=True)
        case "$date":
            return datetime.date.fromisoformat(inside)
        case "$frame":
            return _decoded_frame(inside)
        case "$complex":
            real, imaginary = _entries(inside)
            return complex(real, imaginary)
        case "$scalar":
            return _decoded_array(inside)[()]
        case "$array":
            return _decoded_array(inside)
        case "$unsaved":
            return Unsaved(str(inside))
    raise InvalidAuditFile(f"unknown kind of saved value {tag!r}. Was it saved by a newer dpaudit?")


def _decoded_array(form: Any) -> NDArray[Any]:
    inside = "bytes" if "bytes" in form else "values"
    if set(form) != {"dtype", "shape", inside}:
        raise InvalidAuditFile(f"a saved array needs dtype, shape and values, got {_short(form)}.")
    dtype, shape = np.dtype(form["dtype"]), tuple(form["shape"])
    if dtype.kind not in f"{BYTE_KINDS}O":
        raise InvalidAuditFile(f"cannot read an array of dtype {form['dtype']!r}.")
    if inside == "bytes":
        raw = base64.b64decode(form["bytes"], validate=True)
        return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()
    values = _entries(form["values"])
    flat = np.empty(len(values), dtype=dtype)
    if dtype.hasobject:  # one by one: numpy would look inside a list for more axes
        for place, entry in enumerate(values):
            flat[place] = entry
    else:
        flat[:] = values
    return flat.reshape(shape)


def _decoded_frame(form: Any) -> Any:
    columns = [(name, kind, decoded(cells)) for name, kind, cells in form["columns"]]
    frame = Frame(library=form["library"], size=form["size"], columns=tuple(columns))
    if frame.library not in ("numpy", "pandas", "polars") or not can_be_built(frame):
        raise InvalidAuditFile(f"cannot read a table of {_short(frame.library)}.")
    try:
        return built(frame)
    except ImportError:  # the audit can be read without the library of its data
        return Unsaved(f"{frame.library} {frame.rows()!r}")


def _entries(inside: Any) -> list[Any]:
    if not isinstance(inside, list):
        raise InvalidAuditFile(f"expected a list of saved values, got {_short(inside)}.")
    return [decoded(entry) for entry in inside]


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # even an object that cannot be shown must not lose the audit
        return f"<{type(value).__qualname__} without a repr>"


def _short(form: object) -> str:
    text = repr(form)
    return text if len(text) <= 200 else f"{text[:197]}..."
