"""Labelled rows, which guessers learn from, and the bounded memory in which a bettor keeps them.

However many outputs are drawn, the past of a pair is a table of rows and how often each came from
either side. One column is kept in cells, discrete vectors as their distinct values, and continuous
vectors as a window of the latest draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.guessing.cells import MAX_ALONE, Codebook, Outermost, Repeats
from dpaudit.outputs import (
    MAX_COUNTED,
    MAX_COUNTED_ON_DEVICE,
    CellReader,
    CountedOutputs,
    Table,
    stack,
)

MAX_RAW_DRAWS = 2048  # up to here every draw is a row of its own
_MAX_WINDOW = 65_536  # draws of vectors in memory: the latest ones
_MAX_CELLED_DRAWS = 262_144  # draws of one column in memory, to place its cells by
_MAX_DISTINCT_VECTORS = 4_096  # with more of them, vectors are treated as continuous
_MIN_THINNED_ROWS = 256  # about


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

    def parted(self, share: float) -> tuple[LabelledRows, LabelledRows]:
        """The first rows of either side, this share of them, and the rest; rows are single draws.

        A side with one row has it in both parts.

        >>> labels = np.array([True, True, True, False, False, True])
        >>> first, rest = LabelledRows.of(Table(np.arange(6.0)[:, None], None), labels).parted(0.5)
        >>> first.table.numbers[:, 0].tolist(), rest.table.numbers[:, 0].tolist()
        ([0.0, 1.0, 3.0], [2.0, 4.0, 5.0])
        """
        first, rest = [], []
        for side in (True, False):
            index = np.flatnonzero(self.labels == side)
            cut = min(max(1, int(share * len(index))), max(len(index) - 1, 1))
            first.append(index[:cut])
            rest.append(index[cut:] if len(index) > 1 else index)
        return self.take(np.sort(np.concatenate(first))), self.take(np.sort(np.concatenate(rest)))

    def even_part(self, rows: int) -> LabelledRows:
        """As many rows at even distances, or all if there are no more."""
        size = len(self.table)
        return self if size <= rows else self.take(np.arange(rows) * size // rows)


class Past:
    """The labelled outputs of one pair so far, in bounded memory.

    Once one column is kept in cells for good, further draws need only be counted (`reader`), and
    `refine` cuts cells where the counts say that something new has come.
    """

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
        self._outermost: Outermost | None = None
        self._repeats = Repeats()
        self._on_device = False  # where outputs were counted
        self._shard = MAX_COUNTED

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

    @property
    def reader(self) -> CellReader | None:
        """What counts further draws; None as long as they must be seen."""
        if self._codebook is None or self._outermost is None:
            return None
        ends = self._outermost.least, self._outermost.most
        return CellReader(self._codebook.edges, *ends, self._codebook.values, self._shard)

    @property
    def rows(self) -> Table:
        """The cells."""
        assert self._codebook is not None
        return self._codebook.rows

    def counts(self, side: int, received: CountedOutputs | Table) -> Floats:
        """How many outputs of one side (0: data) fell on each row, as zeros and ones."""
        assert self._codebook is not None
        counts = np.zeros((2, len(self._codebook.rows)))
        counts[1 - side] = self._codebook.counts(received)
        return counts

    def add_counted(self, counts: Floats, shard: Iterable[tuple[int, Any]]) -> None:
        """Remember draws that were counted: by side (0: data) what was told of them."""
        assert self._outermost is not None
        self.draws += int(counts.sum())
        self._counts = self._counts + counts
        self._seen = None
        for side, received in shard:
            if isinstance(received, CountedOutputs):
                self._outermost.add(1 - side, received)
                self._repeats.add(1 - side, received)
                self._on_device |= received.on_device

    def refine(self) -> None:
        """Cut the outermost cells, and give values that repeat cells of their own.

        Only now may shards become larger: what is asked for until here depends on no outputs that
        another worker may still be drawing.
        """
        if self._codebook is None or self._outermost is None:
            return
        self._shard = MAX_COUNTED_ON_DEVICE if self._on_device else MAX_COUNTED
        edges, room = self._codebook.edges, MAX_ALONE - len(self._codebook.values)
        often = self._repeats.often()[: max(room, 0)]
        new = [self._outermost.cuts(edges), often, np.nextafter(often, np.inf)]
        refined = np.setdiff1d(np.concatenate(new), edges)
        if len(refined) > 0:
            known = [self._outermost.known(edges), self._repeats.counted(often)]
            self._codebook, self._counts = self._codebook.cut(refined, often, self._counts, known)
            self._rows, self._seen = self._codebook.rows, None
            self._repeats.forget(often)

    def widen(self, widen: Callable[[Table], Table]) -> None:
        """Give past rows the columns of today: an output showed a field never seen before."""
        self._settle()
        if self._rows is not None and not self._tables:  # the draws are gone, their counts stay
            self._counted = [(self._rows, self._counts)]
        self._tables = [widen(table) for table in self._tables]
        self._counted = [(widen(rows), counts) for rows, counts in self._counted]
        self._rows = self._codebook = self._seen = self._outermost = None
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
        self._codebook, self._built = Codebook.of(table), len(table)
        if self._built >= _MAX_CELLED_DRAWS:
            self._tables, self._labels = [], []
            self._outermost = Outermost.of(table, _unit(labels))
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
