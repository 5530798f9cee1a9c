"""Where the records of two datasets stand, and which record only one of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains import canonical, frame_of
from dpaudit.neighbours import Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """A place for every record of either dataset; `differing` is that of the one that differs."""

    count: int
    data: NDArray[np.intp]
    neighbour: NDArray[np.intp]
    differing: int | None


def places_of(pair: Pair) -> Places | None:
    """The places of a pair in which one record is added, removed or replaced; else None.

    >>> places = places_of(Pair(["a", "b", "c"], ["a", "c"]))
    >>> places.differing, places.neighbour
    (1, array([0, 2]))
    """
    ours, theirs = records_of(pair.data), records_of(pair.neighbour)
    if ours is None or theirs is None or abs(len(ours) - len(theirs)) > 1:
        return None
    longer, shorter = (ours, theirs) if len(ours) >= len(theirs) else (theirs, ours)
    first = next((i for i, (a, b) in enumerate(zip(longer, shorter, strict=False)) if a != b), None)
    every = np.arange(len(longer), dtype=np.intp)
    if len(ours) == len(theirs):
        if first is not None and longer[first + 1 :] != shorter[first + 1 :]:
            return None
        return Places(count=len(longer), data=every, neighbour=every, differing=first)
    place = len(shorter) if first is None else first
    if longer[place + 1 :] != shorter[place:]:
        return None
    rest = np.delete(every, place)
    sides = (every, rest) if longer is ours else (rest, every)
    return Places(count=len(longer), data=sides[0], neighbour=sides[1], differing=place)


def size_of(data: Any) -> int | None:
    """The number of records of a dataset; None if it is no list of them.

    >>> size_of(np.ones((3, 2))), size_of({"age": [31, 64]}), size_of(7.0)
    (3, 2, None)
    """
    if isinstance(data, np.ndarray):
        return len(data) if data.ndim else None
    if isinstance(data, (list, tuple)):
        return len(data)
    records = records_of(data)
    return None if records is None else len(records)


def records_of(data: Any) -> list[str] | None:
    """The records of a dataset, as texts that only equal ones share; None if it is no list of them.

    >>> records_of({"age": [31, 64], "city": ["Ulm", "Bonn"]})[1]
    "(64, 'Bonn',)"
    """
    if isinstance(data, np.ndarray):
        return [canonical(row) for row in data] if data.ndim else None
    frame = frame_of(data)
    if frame is not None:
        return _rows([cells for _, _, cells in frame.columns], frame.size)
    if isinstance(data, Mapping):
        columns = list(data.values())
        if not columns or not all(isinstance(each, (Sequence, np.ndarray)) for each in columns):
            return None
        return _rows(columns, len(columns[0]))
    return [canonical(record) for record in data] if isinstance(data, (list, tuple)) else None


def _rows(columns: Sequence[Any], size: int) -> list[str] | None:
    if any(len(column) != size for column in columns):
        return None
    if not columns:
        return [""] * size
    return [canonical(row) for row in zip(*columns, strict=True)]
