"""The events of StatDP: values and intervals of coordinates and of what is computed from a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.guessing import LabelledRows
from dpaudit.outputs import MISSING, WORDS, Table

_FEW_VALUES = 0.002  # of the outputs of a side: a coordinate with fewer values has them as events
_ALWAYS_FEW = 2  # values, however few the outputs
_CUTS = 10  # evenly spaced over
_DENSEST = 0.7  # of the outputs, in the narrowest range that holds so many
_SUMMARIES = 3  # columns of the mean, the least and the largest number
_COUNTED_VALUES = (0.0, 1.0, -1.0)  # false, true, and a mark for what was not answered


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCells:
    """Cells of one column of `described` rows: values or codes one by one, or the gaps of cuts."""

    column: int
    edges: Floats
    ordered: bool  # whether events are runs of cells, or single cells
    of_codes: bool = False

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges) + self.ordered

    def of(self, table: Table) -> Index:
        """The cell of each row; -1: in none."""
        codes = table.codes()[:, self.column]
        if self.of_codes:
            return _found(self.edges, codes.astype(np.float64), codes >= 0)
        numbers = table.numbers[:, self.column]
        if not self.ordered:
            return _found(self.edges, numbers, codes < 0)
        return np.where(codes < 0, np.searchsorted(self.edges, numbers, side="right"), -1)


@dataclass(frozen=True, slots=True, eq=False)
class PlainEvent:
    """A run of cells of a column, perhaps within one cell of another column."""

    cells: ColumnCells
    first: int
    stop: int
    within: tuple[ColumnCells, int] | None

    def holds(self, table: Table) -> Labels:
        """Tell for each output whether it is inside."""
        rows = described(table)
        cells = self.cells.of(rows)
        inside = (cells >= self.first) & (cells < self.stop)
        if self.within is not None:
            outer, cell = self.within
            inside &= outer.of(rows) == cell
        return np.asarray(inside)


def counted_events(learned: LabelledRows) -> tuple[list[PlainEvent], Index, Index]:
    """All events that the outputs suggest, with their hits on the data and on the neighbour."""
    rows, labels = described(learned.table), learned.labels
    columns = learned.table.columns
    plain = [part for column in range(rows.columns) for part in _cells_of(rows, column)]
    counting = [part for part in plain if part.column >= columns + _SUMMARIES and not part.ordered]
    numeric = [part for part in plain if part.ordered and part.column < columns + _SUMMARIES]
    cells = {id(part): part.of(rows) for part in plain}
    counted = [_runs(part, None, cells, labels) for part in plain]
    counted += [_runs(part, outer, cells, labels) for outer in counting for part in numeric]
    events = [event for some, _ in counted for event in some]
    if not events:  # rows of nothing, such as ()
        empty = ColumnCells(column=0, edges=np.empty(0), ordered=False)
        return [PlainEvent(empty, 0, 0, None)], np.zeros(1, np.intp), np.zeros(1, np.intp)
    ones, zeros = np.concatenate([hits for _, hits in counted], axis=1)
    return events, ones, zeros


def described(table: Table) -> Table:
    """The coordinates, and with several of them what is computed from a row.

    These are the mean, the least and the largest of its numbers, how many entries it has, and how
    often NaN, the infinities, None, 0, 1 and -1 occur. Each is a function of its row alone.

    >>> described(Table(np.array([[1.0, 0.0, 3.0]]), None)).numbers[0, 3:7].tolist()
    [1.3333333333333333, 0.0, 3.0, 3.0]
    """
    if table.columns < 2:
        return table
    codes = table.codes()
    numbers, is_number = table.numbers, codes < 0
    many = is_number.sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.nan_to_num((numbers / np.maximum(many, 1)[:, None] * is_number).sum(axis=1))
    least = np.where(is_number, numbers, np.inf).min(axis=1)
    most = np.where(is_number, numbers, -np.inf).max(axis=1)
    present = (codes != MISSING).sum(axis=1)
    counts = [(codes == code).sum(axis=1) for code in range(1, len(WORDS))]
    counts += [((numbers == value) & is_number).sum(axis=1) for value in _COUNTED_VALUES]
    summaries = np.column_stack([mean, least, most])
    summaries = np.where((many > 0)[:, None], summaries, 0.0)
    extra = np.column_stack([summaries, present, *counts]).astype(np.float64)
    extra_codes = np.full(extra.shape, -1, dtype=np.int32)
    extra_codes[:, :_SUMMARIES] = np.where(many > 0, -1, MISSING)[:, None]
    return Table(np.hstack([numbers, extra]), np.hstack([codes, extra_codes]))


def _cells_of(rows: Table, column: int) -> Iterator[ColumnCells]:
    """The words of a column, and its values if they are few, else the gaps between cuts."""
    codes = rows.codes()[:, column]
    words = np.unique(codes[codes >= 0]).astype(np.float64)
    if len(words):
        yield ColumnCells(column, words, ordered=False, of_codes=True)
    numbers = np.sort(rows.numbers[codes < 0, column])
    if len(numbers) == 0:
        return
    values = np.unique(numbers)
    if len(values) <= _ALWAYS_FEW or len(values) < _FEW_VALUES * len(rows) / 2.0:
        yield ColumnCells(column, values, ordered=False)
    else:
        yield ColumnCells(column, np.unique(_cuts(numbers)), ordered=True)


def _cuts(ordered: Floats) -> Floats:
    """Ten cuts over the densest seven tenths."""
    size = min(int(_DENSEST * len(ordered)), len(ordered) - 1)
    with np.errstate(over="ignore"):
        widths = ordered[size:] - ordered[: len(ordered) - size]
        start = int(np.argmin(widths))
        low, high = ordered[start], ordered[start + size]
        steps = np.linspace(0.0, 1.0, _CUTS)
        return np.asarray(low * (1.0 - steps) + high * steps)


def _runs(
    part: ColumnCells, outer: ColumnCells | None, cells_of: dict[int, Index], labels: Labels
) -> tuple[list[PlainEvent], Index]:
    """The runs of cells, within each cell of the outer column if there is one, and their hits.

    The hits are those on the data and those on the neighbour, by cumulative sums.
    """
    cells = cells_of[id(part)]
    group = np.zeros_like(cells) if outer is None else cells_of[id(outer)]
    groups, known = 1 if outer is None else outer.count, (cells >= 0) & (group >= 0)
    place = (~labels[known] * groups + group[known]) * part.count + cells[known]
    counts = np.bincount(place, minlength=2 * groups * part.count)
    sums = np.zeros((2, groups, part.count + 1), dtype=np.intp)
    sums[:, :, 1:] = np.cumsum(counts.reshape(2, groups, part.count), axis=2)
    if part.ordered:
        first, stop = np.triu_indices(part.count + 1, 1)
    else:
        first, stop = np.arange(part.count), np.arange(part.count) + 1
    hits = (sums[:, :, stop] - sums[:, :, first]).reshape(2, -1)
    ends = list(zip(first.tolist(), stop.tolist(), strict=True))
    within = [None if outer is None else (outer, cell) for cell in range(groups)]
    return [PlainEvent(part, low, high, each) for each in within for low, high in ends], hits


def _found(edges: Floats, values: Floats, known: Labels) -> Index:
    """The place of each value among ordered ones; -1 where it is not there or not known."""
    if len(edges) == 0:
        return np.full(len(values), -1)
    place = np.minimum(np.searchsorted(edges, values), len(edges) - 1)
    return np.where(known & (edges[place] == values), place, -1)
