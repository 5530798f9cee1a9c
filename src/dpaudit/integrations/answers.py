"""Pairs of query answers that `query_answers` cannot say: whole numbers, or moves all one way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.neighbours import FixedPairs, Pair, pairs

Whole = NDArray[np.int64]


def whole_answers(
    length: int, sensitivity: int, *, norm: float, low: int | None = None, high: int | None = None
) -> FixedPairs:
    """Whole numbers whose moves have a norm of at most the sensitivity: the extreme pairs.

    >>> print(next(whole_answers(2, 3, norm=1).edge_pairs()))
    data=[0, 0], neighbour=[3, 0]
    """
    return _inside(_moved(length, _moves(length, sensitivity, norm), whole=True), low, high)


def one_way_answers(
    length: int, sensitivity: float, *, low: float | None = None, high: float | None = None
) -> FixedPairs:
    """Numbers that all move up or all stay, each by at most the sensitivity (monotonic scores).

    >>> print(next(one_way_answers(2, 1.0).edge_pairs()))
    data=[0.0, 0.0], neighbour=[1.0, 1.0]
    """
    places = np.arange(length)
    shapes = [places >= 0, places == 0, places > 0, places % 2 == 0, places == length - 1]
    moves = (sensitivity * shape.astype(np.float64) for shape in shapes)
    return _inside(_moved(length, moves, whole=False), low, high)


def _moves(length: int, sensitivity: int, norm: float) -> Iterator[Whole]:
    places = np.arange(length)
    first = (places == 0).astype(np.int64)
    yield sensitivity * first
    yield -sensitivity * first[::-1]
    each = int(sensitivity / length ** (0 if np.isinf(norm) else 1 / norm))
    while np.linalg.norm(np.full(length, each), ord=norm) > sensitivity:  # a root was rounded up
        each -= 1
    for signs in (np.ones(length), np.where(places % 2 == 0, 1, -1)):
        yield each * signs.astype(np.int64)
    if norm == 1:  # what is left over goes to the first ones
        yield each + (places < sensitivity - each * length).astype(np.int64)


def _moved(length: int, moves: Iterator[NDArray[Any]], *, whole: bool) -> Iterator[Pair]:
    kind = np.int64 if whole else np.float64
    starts = [np.zeros(length, kind), np.arange(length, dtype=kind), np.full(length, 10, kind)]
    for move in list(moves):
        for start in starts:
            yield Pair(start, (start + move).astype(kind))


def _inside(found: Iterator[Pair], low: float | None, high: float | None) -> FixedPairs:
    """Those pairs whose answers lie in the range, moved to where it begins; none twice."""
    kept: dict[str, Pair] = {}
    for pair in found:
        shift = 0 if low is None else low - min(pair.data.min(), pair.neighbour.min())
        data, neighbour = (
            (side + shift).astype(side.dtype) for side in (pair.data, pair.neighbour)
        )
        fits = high is None or max(data.max(), neighbour.max()) <= high
        if fits and np.any(data != neighbour):
            moved = Pair(data, neighbour)
            kept.setdefault(moved.key(), moved)
    return pairs(kept.values())
