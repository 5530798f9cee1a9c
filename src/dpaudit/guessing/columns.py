"""What the past says of each column: its repeated values, its words, its centre, its ranks.

Prepared once for every refit and shared by all the smooth experts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.guessing.sample import Sample
from dpaudit.outputs import Table

Chosen = npt.NDArray[np.bool_]

_WORDS = 16  # words and repeated values of a column that get an indicator of their own
SHARES = (0.12, 0.25, 0.5)  # quantiles of the distance to the median: scales that features use


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the past: indicators for what repeats, and the shape of the other numbers."""

    place: int
    words: npt.NDArray[np.int32]
    repeated: Floats
    ordered: Floats  # the numbers that do not repeat, in order
    below: Floats  # how much weight lies below each of them, and in all (one longer)
    median: float
    scales: Floats  # quantiles SHARES of the distance to the median

    @property
    def repeats(self) -> int:
        """How many words and repeated values have an indicator."""
        return len(self.words) + len(self.repeated)

    def indicators(self, table: Table) -> Floats:
        """One 0/1 column for each word and repeated value: shape (rows, indicators)."""
        parts = []
        if len(self.words):
            parts.append(table.codes()[:, self.place, None] == self.words)
        if len(self.repeated):
            finite = table.codes()[:, self.place, None] < 0
            parts.append((table.numbers[:, self.place, None] == self.repeated) & finite)
        if not parts:
            return np.empty((len(table), 0))
        return np.concatenate(parts, axis=1).astype(np.float64)

    def plain(self, table: Table) -> npt.NDArray[np.bool_] | None:
        """Which rows hold an ordinary number here; None if all do."""
        if len(self.repeated) == 0:
            return None if table.atoms is None else table.atoms[:, self.place] < 0
        ordinary = ~np.isin(table.numbers[:, self.place], self.repeated)
        return ordinary if table.atoms is None else ordinary & (table.atoms[:, self.place] < 0)

    def rank(self, numbers: Floats) -> Floats:
        """The mid-rank of each number among the past, in (0, 1)."""
        left = self.below[np.searchsorted(self.ordered, numbers, side="left")]
        right = self.below[np.searchsorted(self.ordered, numbers, side="right")]
        return np.asarray((left + right + 1.0) / (2.0 * (self.below[-1] + 1.0)))


@dataclass(slots=True)
class View:
    """Outputs seen through the columns of the past; what several experts ask is worked out once."""

    columns: tuple[Column, ...]
    table: Table
    _ranks: dict[int, Floats] = field(default_factory=dict)
    _indicators: dict[int, Floats] = field(default_factory=dict)

    def rank(self, column: Column) -> Floats:
        """The mid-rank of every output in a column."""
        if column.place not in self._ranks:
            self._ranks[column.place] = column.rank(self.table.numbers[:, column.place])
        return self._ranks[column.place]

    def indicators(self, column: Column) -> Floats:
        """The words and repeated values of a column, as 0/1 columns."""
        if column.place not in self._indicators:
            self._indicators[column.place] = column.indicators(self.table)
        return self._indicators[column.place]


def prepare(sample: Sample) -> tuple[Column, ...]:
    """Describe every column of the past."""
    weight, exact = sample.ones + sample.zeros, sample.exact
    return tuple(_column(sample.rows, weight, exact, place) for place in range(sample.rows.columns))


def _column(rows: Table, weight: Floats, exact: Chosen, place: int) -> Column:
    numbers, words = rows.numbers[:, place], np.empty(0, dtype=np.int32)
    if rows.atoms is not None:
        codes = rows.atoms[:, place]
        words = _most_frequent_words(codes, weight)
        finite = codes < 0
        numbers, weight, exact = numbers[finite], weight[finite], exact[finite]
    order = np.argsort(numbers, kind="stable")
    numbers, weight = numbers[order], weight[order]
    repeated = _repeated(numbers, weight, exact[order])
    if len(repeated):
        ordinary = ~np.isin(numbers, repeated)
        numbers, weight = numbers[ordinary], weight[ordinary]
    below = np.concatenate([[0.0], np.cumsum(weight)])
    median = float(_quantile(numbers, below, np.array([0.5]))[0])
    distance = np.abs(numbers - median)
    order = np.argsort(distance, kind="stable")
    within = np.concatenate([[0.0], np.cumsum(weight[order])])
    scales = np.maximum(_quantile(distance[order], within, np.array(SHARES)), 1e-300)
    return Column(place, words, repeated, numbers, below, median, scales)


def _most_frequent_words(codes: npt.NDArray[np.int32], weight: Floats) -> npt.NDArray[np.int32]:
    counts = np.bincount(np.maximum(codes, -1) + 1, weights=weight)[1:]
    words = np.argsort(-counts, kind="stable")[:_WORDS]
    return np.sort(words[counts[words] >= 2]).astype(np.int32)


def _repeated(numbers: Floats, weight: Floats, exact: Chosen) -> Floats:
    """Values that repeat among others that do not, the most frequent first.

    They were seen three times or more and eight times as often as the mean value, or have a cell of
    their own in the codebook. However rare, such a value is more than a number: noise that is left
    out once in a thousand draws shows in nothing else.
    """
    if len(numbers) == 0:
        return np.empty(0)
    new = np.concatenate([[True], numbers[1:] != numbers[:-1]])
    values = numbers[new]
    totals = np.bincount(np.cumsum(new) - 1, weights=weight)
    total = totals.sum()
    if len(values) <= _WORDS and total >= 3 * len(values):
        return np.asarray(values)
    alone = totals >= 3.0
    if exact.all():
        alone &= totals >= 8.0 * total / len(values)
    else:
        alone &= exact[new]
    return np.asarray(values[alone][np.argsort(-totals[alone], kind="stable")[:_WORDS]])


def _quantile(ordered: Floats, below: Floats, shares: Floats) -> Floats:
    if len(ordered) == 0:
        return np.zeros(len(shares))
    place = np.searchsorted(below[1:], shares * below[-1], side="left")
    return np.asarray(ordered[np.minimum(place, len(ordered) - 1)])
