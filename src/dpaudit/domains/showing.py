"""A value as text: exactly, to tell values apart, or short, to show them; tables by their columns.

Structured arrays, pandas and polars frames are taken apart and built again. Nothing is imported to
recognise a frame: whoever passes one has its library.
"""

from __future__ import annotations

import hashlib
import importlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_SHOWN = 12  # records of a dataset; a longer one is elided in the middle
MAX_WIDTH = 80  # characters of a value in one line
POLARS = {"float": "Float64", "int": "Int64", "bool": "Boolean"}  # its types, by kind of value
POLARS |= {"text": "String", "date": "Date", "object": "Object"}


def canonical(value: Any) -> str:
    """A text that two values share only if no mechanism could tell them apart.

    >>> canonical({"b": 0.1, "a": [1, True]})
    "{'a': [1, True], 'b': 0.1}"
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufcUS":
        return repr(value.item())
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        numbers = value.dtype.kind in "biuf" and value.size <= 1000
        inside = repr(value.tolist()) if numbers else hashlib.sha256(value.tobytes()).hexdigest()
        return f"array({value.dtype.str}, {value.shape}, {inside})"
    if type(value) is np.ndarray and value.dtype.names is None:  # of objects
        inside = ", ".join(map(canonical, value.ravel().tolist()))
        return f"array(O, {value.shape}, [{inside}])"
    if type(value) in (bool, int, float, complex, str, bytes, type(None)):
        return repr(value)
    if type(value) is list:
        return f"[{', '.join(map(canonical, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(canonical, value))},)"
    if type(value) is dict:
        items = sorted((canonical(name), canonical(entry)) for name, entry in value.items())
        return f"{{{', '.join(f'{name}: {entry}' for name, entry in items)}}}"
    if type(value) in (set, frozenset):
        return f"{type(value).__name__}({', '.join(sorted(map(canonical, value)))})"
    if (frame := frame_of(value)) is not None:
        columns = [f"{name} {kind} {canonical(cells)}" for name, kind, cells in frame.columns]
        return f"{frame.library}({frame.size}, {', '.join(columns)})"
    try:
        digest = hashlib.sha256(pickle.dumps(value)).hexdigest()
    except Exception:  # not every object can be pickled: then only itself is equal to it
        digest = f"at {id(value)}"
    return f"{type(value).__qualname__}({digest})"


def shown(value: Any) -> str:
    """The value in one line, long ones elided in the middle.

    >>> shown(np.arange(100.0))
    '[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, ..., 94.0, 95.0, 96.0, 97.0, 98.0, 99.0]'
    """
    if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0:
        value = value.item()
    if (frame := frame_of(value)) is not None:
        value = frame.rows()
    if isinstance(value, (list, tuple, np.ndarray)):
        half = MAX_SHOWN // 2 if len(value) > MAX_SHOWN else len(value)
        tail = ["...", *map(shown, value[-half:])] if half < len(value) else []
        return f"[{', '.join([*map(shown, value[:half]), *tail])}]"
    if isinstance(value, dict) and len(value) <= MAX_SHOWN:
        return f"{{{', '.join(f'{name!r}: {shown(entry)}' for name, entry in value.items())}}}"
    text = " ".join(repr(value).splitlines())
    return text if len(text) <= MAX_WIDTH else f"{text[:38]} ... {text[-38:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A table by its columns: name, type, entries (an array, or a list for polars)."""

    library: str
    size: int
    columns: tuple[tuple[str, str, Any], ...]

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain values."""
        cells = {name: list(map(_cell, entries)) for name, _, entries in self.columns}
        return [{name: entries[row] for name, entries in cells.items()} for row in range(self.size)]


def frame_of(value: Any) -> Frame | None:
    """The columns of a table; None if the value is no table.

    >>> table = np.array([(31, "Ulm")], dtype=[("age", "i8"), ("city", "U4")])
    >>> frame_of(table).rows(), frame_of([1, 2])
    ([{'age': 31, 'city': 'Ulm'}], None)
    """
    if type(value) is np.ndarray and value.dtype.names is not None and value.ndim == 1:
        fields = [(name, value.dtype[name].base.str, value[name]) for name in value.dtype.names]
        return Frame(library="numpy", size=len(value), columns=tuple(fields))
    library = type(value).__module__.partition(".")[0]
    if library not in ("pandas", "polars") or type(value).__name__ != "DataFrame":
        return None
    if library == "pandas":
        plain = all(isinstance(name, str) for name in value.columns)
        if not plain or list(value.index) != list(range(len(value))):
            return None  # a mechanism may see names and an index that the columns do not show
        found = [(name, str(value[name].dtype), value[name].to_numpy()) for name in value.columns]
    else:
        found = [(series.name, str(series.dtype), series.to_list()) for series in value]
    return Frame(library=library, size=len(value), columns=tuple(found))


def can_be_built(frame: Frame) -> bool:
    """Whether `built` gives the table back."""
    return frame.library != "polars" or all(kind in POLARS.values() for _, kind, _ in frame.columns)


def built(frame: Frame) -> Any:
    """The table of a frame; ImportError if its library is missing.

    >>> table = np.array([(0.5, 1)], dtype=[("x", "f8"), ("n", "i8")])
    >>> built(frame_of(table)) == table
    array([ True])
    """
    if frame.library == "numpy":
        fields = [(name, kind, np.shape(cells)[1:]) for name, kind, cells in frame.columns]
        table = np.empty(frame.size, dtype=fields)
        for name, _, cells in frame.columns:
            table[name] = cells
        return table
    library = importlib.import_module(frame.library)
    if frame.library == "pandas":
        return library.DataFrame(
            {name: library.Series(cells, dtype=kind) for name, kind, cells in frame.columns}
        )
    return library.DataFrame(
        [library.Series(name, cells, getattr(library, kind)) for name, kind, cells in frame.columns]
    )


def objects(entries: Sequence[Any]) -> NDArray[Any]:
    """An array of these objects; numpy alone would look inside lists for more axes."""
    array = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        array[place] = entry
    return array


def plain(value: Any) -> Any:
    """The Python value of a numpy scalar; any other value as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _cell(entry: Any) -> Any:
    return entry.astype("M8[D]").item() if isinstance(entry, np.datetime64) else plain(entry)
