"""The events of StatDP: values and intervals of coordinates and of what is computed from a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.guessing import LabelledRows
from dpaudit.outputs import MISSING, WORDS, Table

_FEW_VALUES = 0.002  # of the outputs: a coordinate with fewer values has them as events
_CUTS = 10  # evenly spaced over
_DENSEST = 0.7  # of the outputs, in the narrowest range that holds so many
_MAX_CATEGORIES = 10  # values that are counted in a row

Cells = Index  # of each row; -1: in no cell


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Cells of one column of `described` rows: values or codes one by one, or the gaps of cuts."""

    column: int
    edges: Floats
    ordered: bool  # whether events are runs of cells, or single cells
    of_codes: bool = False

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges) + self.ordered

    def cells(self, table: Table) -> Cells:
        """The cell of each row."""
        codes = table.codes()[:, self.column]
        if self.of_codes:
            return _found(self.edges, codes.astype(np.float64), codes >= 0)
        numbers = table.numbers[:, self.column]
        if not self.ordered:
            return _found(self.edges, numbers, codes < 0)
        return np.where(codes < 0, np.searchsorted(self.edges, numbers, side="right"), -1)


@dataclass(frozen=True, slots=True, eq=False)
class PlainEvent:
    """A run of cells of a partition, perhaps within one cell of another."""

    partition: Partition
    first: int
    stop: int
    within: tuple[Partition, int] | None

    def holds(self, table: Table) -> Labels:
        """Tell for each output whether it is inside."""
        rows = described(table)
        cells = self.partition.cells(rows)
        inside = (cells >= self.first) & (cells < self.stop)
        if self.within is not None:
            partition, cell = self.within
            inside &= partition.cells(rows) == cell
        return np.asarray(inside)


def counted_events(learned: LabelledRows) -> tuple[list[PlainEvent], Index, Index]:
    """All events that the outputs suggest, with their hits on the data and on the neighbour."""
    rows, labels = described(learned.table), learned.labels
    columns = learned.table.columns
    plain = [part for column in range(rows.columns) for part in _partitions(rows, column)]
    counting = [part for part in plain if part.column >= columns + _SUMMARIES and not part.ordered]
    numeric = [part for part in plain if part.ordered and part.column < columns + _SUMMARIES]
    events: list[PlainEvent] = []
    hits: list[Index] = []
    cells = {id(part): part.cells(rows) for part in plain}
    everything = np.zeros(len(labels), dtype=np.intp)
    for part in plain:
        _add(events, hits, part, None, 1, cells[id(part)], everything, labels)
    for outer in counting:
        for part in numeric:
            _add(events, hits, part, outer, outer.count, cells[id(part)], cells[id(outer)], labels)
    if not events:  # rows of nothing, such as ()
        empty = Partition(column=0, edges=np.empty(0), ordered=False)
        return [PlainEvent(empty, 0, 0, None)], np.zeros(1, np.intp), np.zeros(1, np.intp)
    ones, zeros = np.concatenate(hits, axis=1)
    return events, ones, zeros


_SUMMARIES = 3  # columns of the mean, the least and the largest number


def described(table: Table) -> Table:
    """The coordinates, and with several of them what is computed from a row.

    These are the mean, the least and the largest of its numbers, how many entries it has, and how
    often each frequent value, None, NaN and infinity occurs. Each is a function of its row alone.

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


_COUNTED_VALUES = (0.0, 1.0, -1.0)  # false, true, and a mark for what was not answered


def _partitions(rows: Table, column: int) -> Iterator[Partition]:
    """The words of a column, and its values if they are few, else the gaps between cuts."""
    codes = rows.codes()[:, column]
    words = np.unique(codes[codes >= 0]).astype(np.float64)
    if len(words):
        yield Partition(column, words, ordered=False, of_codes=True)
    numbers = np.sort(rows.numbers[codes < 0, column])
    if len(numbers) == 0:
        return
    values = np.unique(numbers)
    if len(values) < max(_FEW_VALUES * len(rows) / 2.0, 3.0):
        yield Partition(column, values, ordered=False)
    else:
        yield Partition(column, np.unique(_cuts(numbers)), ordered=True)


def _cuts(ordered: Floats) -> Floats:
    """Ten cuts over the densest seven tenths."""
    size = min(int(_DENSEST * len(ordered)), len(ordered) - 1)
    with np.errstate(over="ignore"):
        widths = ordered[size:] - ordered[: len(ordered) - size]
        start = int(np.argmin(widths))
        low, high = ordered[start], ordered[start + size]
        steps = np.linspace(0.0, 1.0, _CUTS)
        return np.asarray(low * (1.0 - steps) + high * steps)


def _add(
    events: list[PlainEvent],
    hits: list[Index],
    part: Partition,
    outer: Partition | None,
    groups: int,
    cells: Cells,
    group: Cells,
    labels: Labels,
) -> None:
    """Count all runs of cells, within each cell of the outer partition."""
    known = (cells >= 0) & (group >= 0)
    place = (labels[known] * groups + group[known]) * part.count + cells[known]
    counts = np.bincount(place, minlength=2 * groups * part.count)
    sums = np.zeros((2, groups, part.count + 1), dtype=np.intp)
    sums[:, :, 1:] = np.cumsum(counts.reshape(2, groups, part.count), axis=2)
    if part.ordered:
        first, stop = np.triu_indices(part.count + 1, 1)
    else:
        first = np.arange(part.count)
        stop = first + 1
    inside = sums[::-1][:, :, stop] - sums[::-1][:, :, first]  # the data first
    hits.append(inside.reshape(2, -1))
    for cell in range(groups):
        within = None if outer is None else (outer, cell)
        events += [
            PlainEvent(part, low, high, within)
            for low, high in zip(first.tolist(), stop.tolist(), strict=True)
        ]


def _found(edges: Floats, values: Floats, known: Labels) -> Cells:
    """The place of each value among ordered ones; -1 where it is not there or not known."""
    if len(edges) == 0:
        return np.full(len(values), -1)
    place = np.minimum(np.searchsorted(edges, values), len(edges) - 1)
    return np.where(known & (edges[place] == values), place, -1)
