"""The past that experts learn from: outputs seen on one pair, in bounded memory.

Whatever the number of draws, the past is a table of rows and how often each was seen from either
side. One column is kept in cells, discrete vectors as their distinct values, and continuous vectors
as a window of the latest draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.guessing.codebook import Codebook
from dpaudit.outputs import Table, stack

RAW = 4096  # up to here every draw is a row of its own
_REBUILD = 65_536  # draws kept to place the cells anew; from then on cells only count
_WINDOW = 65_536  # rows of the past kept for continuous vectors
_FEWEST_ROWS = 256  # that a thinned sample keeps, about
_DISTINCT = 4_096  # more distinct vectors than this are treated as continuous


class Sample:
    """Rows seen so far, and how often each came from `data` (`ones`) and `neighbour` (`zeros`)."""

    def __init__(self) -> None:
        self.size = 0
        self._tables: list[Table] = []
        self._labels: list[Labels] = []
        self._rows: Table | None = None
        self._counts = np.zeros((2, 0))
        self._codebook: Codebook | None = None
        self._built = 0
        self._distinct = True
        self._counted: list[tuple[Table, Floats]] = []  # cells of narrower outputs, with counts

    @property
    def rows(self) -> Table:
        """The distinct or representative outputs."""
        self._settle()
        assert self._rows is not None
        return self._rows

    @property
    def ones(self) -> Floats:
        """How often each row was drawn from `data`."""
        self._settle()
        return np.asarray(self._counts[1])

    @property
    def zeros(self) -> Floats:
        """How often each row was drawn from `neighbour`."""
        self._settle()
        return np.asarray(self._counts[0])

    @property
    def exact(self) -> npt.NDArray[np.bool_]:
        """Which rows stand for one output, and not for a cell of similar ones."""
        rows = len(self.rows)
        if self._codebook is None:
            return np.ones(rows, dtype=np.bool_)
        cells = self._codebook.exact
        return np.concatenate([cells, np.zeros(rows - len(cells), dtype=np.bool_)])

    def thinned(self, cells: float) -> Sample:
        """An even part of the rows, with at most so many cells; itself if it has no more.

        For work that must end in time. A few hundred rows are always left.
        """
        step = math.ceil(self.rows.columns * len(self.rows) / max(cells, 1.0))
        step = min(step, len(self.rows) // _FEWEST_ROWS)
        if step < 2 or self._codebook is not None:
            return self
        part = Sample()
        part._rows, part._counts = self.rows.take(slice(None, None, step)), self._counts[:, ::step]
        part.size = int(part._counts.sum())
        return part

    def add(self, table: Table, labels: Labels, index: Index | None = None) -> None:
        """Learn one more batch of labelled outputs; `index` is what `compress` gave, if known."""
        self.size += len(table)
        if self._codebook is not None and self._built >= _REBUILD:
            cells = self._codebook.index(table) if index is None else index
            self._counts = self._counts + _count(len(self._codebook.rows), cells, labels)
            return
        self._tables.append(table)
        self._labels.append(labels)
        self._rows = None

    def widen(self, widen: Callable[[Table], Table]) -> None:
        """Bring the past to the columns of today: an output showed a field never seen before."""
        self._settle()
        if self._rows is not None and not self._tables:  # the draws are gone, their counts stay
            self._counted = [(self._rows, self._counts)]
        self._tables = [widen(table) for table in self._tables]
        self._counted = [(widen(rows), counts) for rows, counts in self._counted]
        self._rows = self._codebook = None
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

    def _settle(self) -> None:
        """Bring `rows` and counts up to date with the batches added."""
        if self._rows is not None or not self._tables:
            return
        self._settle_draws()
        assert self._rows is not None
        for rows, counts in self._counted:
            self._rows = stack([self._rows, rows])
            self._counts = np.concatenate([self._counts, counts], axis=1)

    def _settle_draws(self) -> None:
        table, labels = stack(self._tables), np.concatenate(self._labels)
        self._tables, self._labels = [table], [labels]
        if len(table) <= RAW:
            self._rows, self._counts = table, _unit(labels)
        elif table.columns == 1:
            self._settle_cells(table, labels)
        else:
            self._settle_vectors(table, labels)

    def _settle_cells(self, table: Table, labels: Labels) -> None:
        if self._codebook is None or len(table) >= min(4 * self._built, _REBUILD):
            self._codebook, self._built = Codebook(table), len(table)
        self._rows = self._codebook.rows
        self._counts = _count(len(self._rows), self._codebook.index(table), labels)
        if self._built >= _REBUILD:
            self._tables, self._labels = [], []

    def _settle_vectors(self, table: Table, labels: Labels) -> None:
        if self._distinct:
            keys, first, index = np.unique(row_keys(table), return_index=True, return_inverse=True)
            self._distinct = len(keys) <= _DISTINCT
        if self._distinct:
            # Distinct rows are few: keep one of each for every time it was seen, up to a window.
            self._rows = table.take(first)
            self._counts = np.stack(
                [np.bincount(index[labels == side], minlength=len(keys)) for side in (0, 1)]
            ).astype(np.float64)
            window = slice(-_REBUILD, None)
        else:
            self._rows, self._counts = table.take(slice(-_WINDOW, None)), _unit(labels[-_WINDOW:])
            window = slice(-_WINDOW, None)
        self._tables, self._labels = [table.take(window)], [labels[window]]


def row_keys(table: Table) -> npt.NDArray[np.uint64]:
    """One number for each row; equal rows have equal numbers, and others differ (but for luck)."""
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
