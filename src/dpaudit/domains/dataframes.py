"""Tables of columns: structured arrays, pandas and polars frames, taken apart and built again.

Nothing is imported to recognise a frame: whoever passes one has its library.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

POLARS_TYPES = ("Boolean", "Date", "Float64", "Int64", "Object", "String")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A table by its columns: name, type, entries (an array, or a list for polars)."""

    library: str
    size: int
    columns: tuple[tuple[str, str, Any], ...]

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain values."""
        cells = {name: [_plain(entry) for entry in entries] for name, _, entries in self.columns}
        return [{name: entries[row] for name, entries in cells.items()} for row in range(self.size)]


def frame_of(value: Any) -> Frame | None:
    """The columns of a table; None if the value is none.

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
            return None  # names and places that a mechanism may see, and columns do not show
        found = [(name, str(value[name].dtype), value[name].to_numpy()) for name in value.columns]
    else:
        found = [(series.name, str(series.dtype), series.to_list()) for series in value]
    return Frame(library=library, size=len(value), columns=tuple(found))


def can_be_built(frame: Frame) -> bool:
    """Whether `built` gives the table back."""
    if frame.library == "polars":
        return all(kind in POLARS_TYPES for _, kind, _ in frame.columns)
    return True


def built(frame: Frame) -> Any:
    """The table of a frame; ImportError if its library is missing.

    >>> table = np.array([(0.5, 1)], dtype=[("x", "f8"), ("n", "i8")])
    >>> built(frame_of(table)) == table
    array([ True])
    """
    if frame.library == "numpy":
        return _structured(frame)
    library = importlib.import_module(frame.library)
    if frame.library == "pandas":
        return library.DataFrame(
            {name: library.Series(cells, dtype=kind) for name, kind, cells in frame.columns}
        )
    return library.DataFrame(
        [library.Series(name, cells, getattr(library, kind)) for name, kind, cells in frame.columns]
    )


def _structured(frame: Frame) -> NDArray[Any]:
    fields = [(name, kind, np.shape(cells)[1:]) for name, kind, cells in frame.columns]
    table = np.empty(frame.size, dtype=fields)
    for name, _, cells in frame.columns:
        table[name] = cells
    return table


def _plain(entry: Any) -> Any:
    if isinstance(entry, np.datetime64):
        return entry.astype("M8[D]").item()
    return entry.item() if isinstance(entry, np.generic) else entry
