"""Outputs in cells: bins of every column, or whole outputs, made from outputs to learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index
from dpaudit.guessing import LabelledRows, row_keys
from dpaudit.outputs import Table

Keys: TypeAlias = npt.NDArray[np.uint64]

_OFTEN = 0.01  # a value that holds so much of a column is a cell of its own, however few the bins
_SINGLE = (2, 4, 8, 16, 32, 64, 128, 512)  # numbers of bins tried for one column
_FINE = 64  # from so many bins on, the tails are cut finer
_RAREST = 8  # outputs in the outermost cell of a tail
# Numbers of columns and bins of each that are tried for vectors; None: all columns.
_SEVERAL = (
    (1, 8),
    (1, 32),
    (2, 4),
    (2, 8),
    (3, 4),
    (4, 2),
    (8, 2),
    (None, 2),
    (None, 4),
    (None, 8),
)
_REPEATED = 3  # times that a whole output was seen which is a cell
_CROWDED = 4  # training outputs in a cell, at least, on average
_RANKED_ROWS = 20_000  # outputs by which columns are ranked
_WIDEST = 32  # columns of a grid


class Cells:
    """A partition of the outputs; those unlike all learned from share the last cell.

    >>> from dpaudit.outputs import Encoder
    >>> encoder = Encoder()
    >>> cells = Cells(Encoder().encode(np.arange(100.0)), grid(columns=(0,), bins=4))
    >>> np.bincount(cells.index(encoder.encode(np.arange(100.0)))).tolist(), cells.count
    ([25, 25, 25, 25], 5)
    """

    def __init__(self, table: Table, key_maker: KeyMaker) -> None:
        self._keys_of = key_maker(table)
        keys, counts = np.unique(self._keys_of(table), return_counts=True)
        self._keys = keys[counts >= (_REPEATED if key_maker is whole else 1)]
        self.count = len(self._keys) + 1

    def index(self, table: Table) -> Index:
        """The cell of every output."""
        if len(self._keys) == 0:
            return np.zeros(len(table), dtype=np.intp)
        keys = self._keys_of(table)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, place, len(self._keys))


KeyMaker: TypeAlias = Callable[[Table], Callable[[Table], Keys]]


def whole(_: Table) -> Callable[[Table], Keys]:
    """Whole outputs that repeat as cells."""
    return row_keys


def grid(*, columns: tuple[int, ...], bins: int) -> KeyMaker:
    """Products of bins: of equal weight for numbers, one for every word and repeated value."""

    def make(table: Table) -> Callable[[Table], Keys]:
        edges = [_edges(_numbers(table, column), bins) for column in columns]

        def keys(table: Table) -> Keys:
            places = np.empty((len(table), len(columns)))
            for at, column in enumerate(columns):
                places[:, at] = np.searchsorted(edges[at], table.numbers[:, column], side="right")
                if table.atoms is not None:
                    codes = table.atoms[:, column]
                    places[:, at] = np.where(codes < 0, places[:, at], -1.0 - codes)
            return row_keys(Table(places, None))

        return keys

    return make


def candidates(train: LabelledRows, bins: int | Literal["auto", "atoms"]) -> Iterator[Cells]:
    """The partitions to choose from: one if it is given, several, coarse ones first, if not."""
    table = train.table
    if bins == "atoms":
        yield Cells(table, whole)
    elif bins != "auto":
        yield Cells(table, grid(columns=tuple(range(table.columns)), bins=bins))
    else:
        for key_maker in _automatic(train):
            cells = Cells(table, key_maker)
            if cells.count <= max(2, len(table) // _CROWDED):
                yield cells


def _automatic(train: LabelledRows) -> Iterator[KeyMaker]:
    if train.table.columns == 1:
        for bins in _SINGLE:
            yield grid(columns=(0,), bins=bins)
    else:
        ordered = _telling_columns(train)
        shapes = {(min(wide or _WIDEST, len(ordered)), bins) for wide, bins in _SEVERAL}
        for columns, bins in sorted(shapes, key=lambda shape: shape[1] ** shape[0]):
            yield grid(columns=tuple(ordered[:columns]), bins=bins)
    yield whole


def _telling_columns(train: LabelledRows) -> list[int]:
    """Columns in the order of how far the sides differ in each alone: by a chi-squared distance."""
    some = train.take(slice(_RANKED_ROWS))
    told = []
    for column in range(some.table.columns):
        cells = Cells(some.table, grid(columns=(column,), bins=8))
        index = cells.index(some.table)
        ones, zeros = (
            np.bincount(index[some.labels == side], minlength=cells.count) for side in (True, False)
        )
        p, q = ones / max(ones.sum(), 1), zeros / max(zeros.sum(), 1)
        told.append(float(((p - q) ** 2 / np.maximum(p + q, 1e-300)).sum()))
    return sorted(range(len(told)), key=lambda column: -told[column])


def _numbers(table: Table, column: int) -> Floats:
    numbers = table.numbers[:, column]
    return np.sort(numbers if table.atoms is None else numbers[table.atoms[:, column] < 0])


def _edges(ordered: Floats, bins: int) -> Floats:
    """Edges of the cells `[edge, next edge)`: quantiles, and on both sides of what repeats."""
    if len(ordered) == 0:
        return np.empty(0)
    values, counts = np.unique(ordered, return_counts=True)
    heavy = counts >= max(4.0, min(_OFTEN, 0.25 / bins) * len(ordered))
    often = values[heavy | (counts >= 8.0 * max(len(ordered) / len(values), 1.0))]
    rest = ordered[~np.isin(ordered, often)] if len(often) else ordered
    cuts = rest[_cuts(len(rest), bins)] if len(rest) else rest
    return np.unique(np.concatenate([cuts, often, np.nextafter(often, np.inf)]))


def _cuts(size: int, bins: int) -> Index:
    """Positions of the cuts in so many ordered values: even, and doubling in the tails if fine."""
    even = (np.arange(1, bins) * size) // bins
    if bins < _FINE:
        return np.unique(even)
    doubling = _RAREST * 2 ** np.arange(max(int(np.log2(max(size / bins / _RAREST, 1.0))), 0) + 1)
    doubling = doubling[doubling < size]
    return np.unique(np.concatenate([even, doubling, size - doubling]))
