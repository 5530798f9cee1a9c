"""Labelled rows, which guessers learn from, and the bounded memory in which a bettor keeps them.

However many outputs are drawn, the past of a pair is a table of rows and how often each came from
either side. One column is kept in cells, discrete vectors as their distinct values, and continuous
vectors as a window of the latest draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.outputs import Table, stack

MAX_RAW_DRAWS = 2048  # up to here every draw is a row of its own
_MAX_WINDOW = 65_536  # draws of vectors in memory: the latest ones
_MAX_CELLED_DRAWS = 262_144  # draws of one column in memory, to place its cells by
_MAX_DISTINCT_VECTORS = 4_096  # with more of them, vectors are treated as continuous
_MIN_THINNED_ROWS = 256  # about
_CELLS = 512  # of the continuous part; at most three times that with tails and repeated values
_GRID_CELLS = 16_384  # of a lookup
_GRID_OUTSIDE = 0.02  # of the edges on either side of the grid
_MIN_LOOKUPS = 1_024  # numbers from which the grid is worth it
_MIN_REPEATS = 3  # times a value is seen, compared with others, to get a cell of its own


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows, and how often each came from `data` (`ones`) and from `neighbour` (`zeros`).

    A row stands for one draw (`of`), for equal outputs, or for a cell of similar ones.
    """

    table: Table
    ones: Floats
    zeros: Floats
    exact: Labels  # whether a row stands for one output, and not for a cell of similar ones
    draws: int  # outputs seen in all, also those that are no longer kept

    @staticmethod
    def of(table: Table, labels: Labels) -> LabelledRows:
        """One row for each draw; a label is true for an output of `data`."""
        ones, zeros = labels.astype(np.float64), (~labels).astype(np.float64)
        return LabelledRows(table, ones, zeros, np.ones(len(labels), np.bool_), len(labels))

    @property
    def labels(self) -> Labels:
        """The label of each row, where rows are single draws."""
        return np.asarray(self.ones > 0.0)

    @property
    def sides(self) -> tuple[Table, Table]:
        """The rows of `data` and those of `neighbour`, where rows are single draws."""
        return self.table.take(self.labels), self.table.take(~self.labels)

    def take(self, index: Any) -> LabelledRows:
        """Some of the rows, by a mask, an array of positions or a slice."""
        ones, zeros = self.ones[index], self.zeros[index]
        draws = int(ones.sum() + zeros.sum())
        return LabelledRows(self.table.take(index), ones, zeros, self.exact[index], draws)

    def thinned(self, cells: float) -> LabelledRows:
        """An even part of the rows with at most `cells` cells, for work that must end in time.

        A few hundred rows are always left. Rows that are cells are never thinned.
        """
        step = math.ceil(self.table.columns * len(self.table) / max(cells, 1.0))
        step = min(step, len(self.table) // _MIN_THINNED_ROWS)
        return self if step < 2 or not self.exact.all() else self.take(slice(None, None, step))

    def even_part(self, rows: int) -> LabelledRows:
        """As many rows at even distances, or all if there are no more."""
        size = len(self.table)
        return self if size <= rows else self.take(np.arange(rows) * size // rows)


class Past:
    """The labelled outputs of one pair so far, in bounded memory."""

    def __init__(self) -> None:
        self.draws = 0
        self._tables: list[Table] = []
        self._labels: list[Labels] = []
        self._rows: Table | None = None
        self._counts = np.zeros((2, 0))  # zeros and ones
        self._seen: LabelledRows | None = None
        self._codebook: Codebook | None = None
        self._built = 0  # draws from which the cells were made
        self._distinct = True
        self._counted: list[tuple[Table, Floats]] = []  # cells of narrower outputs, with counts

    @property
    def seen(self) -> LabelledRows:
        """The rows to learn from: draws, distinct outputs, or cells."""
        if self._seen is None:
            self._settle()
            rows = Table(np.empty((0, 0)), None) if self._rows is None else self._rows
            zeros, ones = self._counts
            self._seen = LabelledRows(rows, ones, zeros, self._exact(len(rows)), self.draws)
        return self._seen

    def add(self, table: Table, labels: Labels, index: Index | None = None) -> None:
        """Remember a batch; `index` is what `compress` gave for it, if known."""
        self.draws += len(table)
        self._seen = None
        if self._codebook is not None:
            cells = self._codebook.index(table) if index is None else index
            self._counts = self._counts + _count(len(self._codebook.rows), cells, labels)
            if self._built >= _MAX_CELLED_DRAWS:
                return
        self._tables.append(table)
        self._labels.append(labels)
        if self._codebook is None or self.draws >= min(4 * self._built, _MAX_CELLED_DRAWS):
            self._rows = None

    def widen(self, widen: Callable[[Table], Table]) -> None:
        """Give past rows the columns of today: an output showed a field never seen before."""
        self._settle()
        if self._rows is not None and not self._tables:  # the draws are gone, their counts stay
            self._counted = [(self._rows, self._counts)]
        self._tables = [widen(table) for table in self._tables]
        self._counted = [(widen(rows), counts) for rows, counts in self._counted]
        self._rows = self._codebook = self._seen = None
        self._built = 0

    def compress(self, table: Table) -> tuple[Table, Index]:
        """Fewer rows that stand for the given outputs, and the row of every output."""
        self._settle()
        if self._codebook is not None:
            return self._codebook.rows, self._codebook.index(table)
        if table.columns > 1 and self._distinct and len(table) > 64:
            _, first, index = np.unique(row_keys(table), return_index=True, return_inverse=True)
            return table.take(first), index
        return table, np.arange(len(table))

    def _exact(self, rows: int) -> Labels:
        if self._codebook is None:
            return np.ones(rows, dtype=np.bool_)
        cells = self._codebook.exact
        return np.concatenate([cells, np.zeros(rows - len(cells), dtype=np.bool_)])

    def _settle(self) -> None:
        """Bring rows and counts up to date with the batches added."""
        if self._rows is not None or not self._tables:
            return
        table, labels = stack(self._tables), np.concatenate(self._labels)
        self._tables, self._labels = [table], [labels]
        if len(table) <= MAX_RAW_DRAWS:
            rows, counts = table, _unit(labels)
        elif table.columns == 1:
            rows, counts = self._settle_cells(table, labels)
        else:
            rows, counts = self._settle_vectors(table, labels)
        for others, their_counts in self._counted:
            rows = stack([rows, others])
            counts = np.concatenate([counts, their_counts], axis=1)
        self._rows, self._counts = rows, counts

    def _settle_cells(self, table: Table, labels: Labels) -> tuple[Table, Floats]:
        self._codebook, self._built = Codebook(table), len(table)
        if self._built >= _MAX_CELLED_DRAWS:
            self._tables, self._labels = [], []
        rows = self._codebook.rows
        return rows, _count(len(rows), self._codebook.index(table), labels)

    def _settle_vectors(self, table: Table, labels: Labels) -> tuple[Table, Floats]:
        latest = slice(-_MAX_WINDOW, None)
        self._tables, self._labels = [table.take(latest)], [labels[latest]]
        if self._distinct:
            keys, first, index = np.unique(row_keys(table), return_index=True, return_inverse=True)
            self._distinct = len(keys) <= _MAX_DISTINCT_VECTORS
        if self._distinct:
            return table.take(first), _count(len(keys), index, labels)
        return self._tables[0], _unit(self._labels[0])


class Codebook:
    """One column in at most some thousand cells, so that a million outputs cost what a thousand do.

    Guesses that are constant on cells cost resolution, never validity. A value that repeats among
    others that do not has a cell of its own, however rare it is, and the tails are cut finer than
    the middle: much privacy is lost through rare outputs.
    """

    def __init__(self, table: Table) -> None:
        numbers, words = table.numbers[:, 0], 0
        if table.atoms is not None:
            codes = table.atoms[:, 0]
            numbers, words = numbers[codes < 0], int(codes.max(initial=-1)) + 1
        edges, centres, exact = _cells(np.sort(numbers))
        self._lookup = Lookup(edges)
        self._numbers, self._codes = len(centres), words
        # One cell for each word known so far, and one for every word still to come.
        atoms = np.concatenate([np.full(len(centres), -1), np.arange(self._codes + 1)])
        values = np.concatenate([centres, np.zeros(self._codes + 1)])
        self.rows = Table(values[:, None], atoms.astype(np.int32)[:, None])
        self.exact = np.concatenate([exact, np.full(self._codes, True), [False]])  # one value each

    def index(self, table: Table) -> Index:
        """The cell of every output: a row of `self.rows`."""
        cells = self._lookup.index(table.numbers[:, 0])
        if table.atoms is None:
            return cells
        codes = table.atoms[:, 0]
        return np.where(codes < 0, cells, self._numbers + np.minimum(codes, self._codes))


class Lookup:
    """`np.searchsorted(edges, numbers, side="right")`, several times as fast for many numbers.

    A fine even grid says between which edges a number lies, but for one edge in its own grid cell.
    The grid spans the middle of the edges; what lies outside, or in a grid cell with several edges,
    is searched for.

    >>> numbers = np.random.default_rng(0).normal(size=5000)
    >>> edges = np.sort(numbers)[::10]
    >>> bool((Lookup(edges).index(numbers) == np.searchsorted(edges, numbers, "right")).all())
    True
    """

    def __init__(self, edges: Floats) -> None:
        self._edges = edges
        if len(edges) < 2:
            return
        outside = int(_GRID_OUTSIDE * len(edges))
        self._low, high = float(edges[outside]), float(edges[-1 - outside])
        with np.errstate(divide="ignore", over="ignore"):
            self._scale = float(np.float64(_GRID_CELLS) / np.float64(high - self._low))
        if not math.isfinite(self._scale) or self._scale == 0.0:
            self._scale = 1.0
        inside = np.bincount(self._grid(edges), minlength=_GRID_CELLS + 2)
        # The place is monotone in the number: all edges of lower grid cells lie below it.
        self._below = np.cumsum(inside) - inside
        self._several = inside > 1
        self._padded = np.append(edges, np.inf)

    def index(self, numbers: Floats) -> Index:
        """The number of edges at or below each number."""
        if len(numbers) < _MIN_LOOKUPS or len(self._edges) < 2:
            return np.searchsorted(self._edges, numbers, side="right")
        grid = self._grid(numbers)
        found = self._below[grid]
        found += numbers >= self._padded[found]
        several = np.flatnonzero(self._several[grid])
        found[several] = np.searchsorted(self._edges, numbers[several], side="right")
        return found

    def _grid(self, numbers: Floats) -> Index:
        with np.errstate(over="ignore"):
            place = (numbers - self._low) * self._scale
        return np.clip(place, -1.0, _GRID_CELLS, out=place).astype(np.intp) + 1


def row_keys(table: Table) -> npt.NDArray[np.uint64]:
    """One number for each row: equal for equal rows, and all but surely different for others."""
    spread = _multipliers(table.columns)
    numbers = (table.numbers + 0.0).view(np.uint64)
    with np.errstate(over="ignore"):
        keys = ((numbers ^ (numbers >> np.uint64(29))) * spread[0]).sum(axis=1)
        if table.atoms is not None:
            # One more, so that a row without words has the same key whatever the others have.
            keys += ((table.atoms + 1).astype(np.uint64) * spread[1]).sum(axis=1)
    return np.asarray(keys, dtype=np.uint64)


@cache
def _multipliers(columns: int) -> npt.NDArray[np.uint64]:
    rng = np.random.default_rng(0)
    return 2 * rng.integers(1, 2**62, size=(2, columns), dtype=np.uint64) + 1


def _unit(labels: Labels) -> Floats:
    return np.stack([~labels, labels]).astype(np.float64)


def _count(cells: int, index: Index, labels: Labels) -> Floats:
    counts = np.bincount(2 * index + labels, minlength=2 * cells)
    return counts.reshape(cells, 2).T.astype(np.float64)


def _cells(ordered: Floats) -> tuple[Floats, Floats, Labels]:
    """Edges of the cells `[edge, next edge)`, a value for each cell, and which hold one value."""
    if len(ordered) == 0:
        return np.empty(0), np.zeros(1), np.zeros(1, dtype=np.bool_)
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    values, counts = ordered[begins], np.diff(begins, append=len(ordered))
    if len(values) <= _CELLS:
        return values[1:], values, np.ones(len(values), dtype=np.bool_)
    often = _often(values, counts)
    edges = np.concatenate([ordered[_cuts(len(ordered))], often, np.nextafter(often, np.inf)])
    edges = np.unique(edges)
    # The value of a cell is its middle member; an empty cell stands for its edge.
    lower = np.concatenate([[-np.inf], edges])
    first = np.searchsorted(ordered, lower, side="left")
    last = np.concatenate([first[1:], [len(ordered)]])
    middle = np.minimum((first + last) // 2, len(ordered) - 1)
    centres = np.where(last > first, ordered[middle], np.concatenate([ordered[:1], edges]))
    return edges, centres, np.isin(lower, often)


def _often(values: Floats, counts: Index) -> Floats:
    """The values that repeat more than others do: the most frequent, if there are many."""
    total = int(counts.sum())
    least = max(_MIN_REPEATS, min(total // _CELLS, _MIN_REPEATS * total // len(values)))
    repeated = np.flatnonzero(counts >= least)
    chosen = repeated[np.argsort(-counts[repeated], kind="stable")[:_CELLS]]
    return values[np.sort(chosen)]


def _cuts(size: int) -> Index:
    """Positions of the cuts in `size` ordered values: even in the middle, doubling in the tails."""
    even = np.linspace(0, size, _CELLS + 1)[1:-1].astype(np.intp)
    doubling = 2 ** np.arange(int(np.log2(max(size / _CELLS, 1))) + 1)
    return np.unique(np.concatenate([even, doubling, size - doubling]))
