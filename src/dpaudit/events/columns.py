"""All simple events of one column, counted at once by cumulative sums."""

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index
from dpaudit.events.kinds import (
    Above,
    Below,
    Between,
    Equals,
    Event,
    IsNumber,
    IsWord,
    Outside,
    reals,
)
from dpaudit.outputs import MISSING, Table

_TAILS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
_VALUES = 64  # the most frequent numbers of a column


class ColumnEvents:
    """The thresholds, intervals, frequent numbers and words of one column.

    `hits` counts every event for one weighting of the rows; `event` makes the event at a position
    of that array. `parts` is the number of quantiles between which thresholds are tried.
    """

    def __init__(self, table: Table, column: int, weights: Floats, parts: int) -> None:
        values = reals(table, column)
        comparable = len(values) - int(np.count_nonzero(np.isnan(values)))
        self.column = column
        self._order = np.argsort(values, kind="stable")[:comparable]  # NaN comes last
        self._values = values[self._order]
        new = np.append(True, self._values[1:] != self._values[:-1])
        self._starts = np.flatnonzero(new[:comparable])
        self._cuts = self._quantiles(weights, parts)
        thinned = _thinned(len(self._cuts), parts * 3 // 4)
        low, high = np.triu_indices(len(thinned), 1)
        self._low, self._high = thinned[low], thinned[high]
        self._frequent = self._frequent_runs(weights)
        codes = None if table.atoms is None else table.atoms[:, column]
        self._atoms = np.flatnonzero(codes >= 0) if codes is not None else np.zeros(0, np.intp)
        self._words, self._word_of = np.zeros(0, np.int32), np.zeros(0, np.intp)
        if codes is not None:
            words, word_of = np.unique(codes[self._atoms], return_inverse=True)
            # MISSING last: of equally strong events, what an output is says more than what it lacks
            first = int(len(words) > 0 and words[0] == MISSING)
            self._words, self._word_of = (
                np.roll(words, -first),
                (word_of - first) % max(len(words), 1),
            )
        self._kinds = self._laid_out()

    def hits(self, weights: Floats) -> Floats:
        """Count every event; the rows count by their weights."""
        sums = np.concatenate(([0.0], np.cumsum(weights[self._order])))
        below = sums[self._cuts]
        between = below[self._high] - below[self._low]
        ends = np.append(self._starts[1:], len(self._values))
        equal = sums[ends[self._frequent]] - sums[self._starts[self._frequent]]
        words = np.bincount(
            self._word_of.reshape(-1), weights[self._atoms], minlength=len(self._words)
        )
        number = [float(weights.sum() - words.sum())]
        outside = sums[-1] - between
        return np.concatenate((equal, words, number, sums[-1] - below, below, between, outside))

    def spans(self) -> list[tuple[int, int]]:
        """Say where in the counts the events of each kind begin and end."""
        return [(start, end) for _, start, end in self._kinds]

    def comparisons(self) -> npt.NDArray[np.int64]:
        """Say how many comparisons each event makes."""
        counts = np.ones(self._kinds[-1][2], dtype=np.int64)
        for kind, start, end in self._kinds:
            if kind in (Between, Outside):
                counts[start:end] = 2
        return counts

    def event(self, index: int) -> Event:
        """Make the event at a position of the counts."""
        kind, start, _ = next(kind for kind in reversed(self._kinds) if kind[1] <= index)
        at, column = index - start, self.column
        if kind is Equals:
            return Equals(column, float(self._values[self._starts[self._frequent[at]]]))
        if kind is IsWord:
            return IsWord(column, int(self._words[at]))
        if kind is IsNumber:
            return IsNumber(column)
        if kind is Above:
            return Above(column, self._thresholds(at)[0])
        if kind is Below:
            return Below(column, self._thresholds(at)[1])
        low, high = self._thresholds(self._low[at]), self._thresholds(self._high[at])
        if kind is Between:
            return Between(column, low[0], high[1])
        return Outside(column, low[1], high[0])

    def _laid_out(self) -> list[tuple[type, int, int]]:
        """Say what stands where in the counts, leaving out kinds without events."""
        counts = {
            Equals: len(self._frequent),
            IsWord: len(self._words),
            IsNumber: 1,
            Above: len(self._cuts),
            Below: len(self._cuts),
            Between: len(self._low),
            Outside: len(self._low),
        }
        kinds, start = [], 0
        for kind, count in counts.items():
            if count > 0:
                kinds.append((kind, start, start + count))
            start += count
        return kinds

    def _thresholds(self, cut: int | np.intp) -> tuple[float, float]:
        """Give numbers between the values beside a cut: one to be above, one to be below."""
        position = self._cuts[cut]
        below, above = float(self._values[position - 1]), float(self._values[position])
        middle = below / 2 + above / 2
        if np.isinf(below) or np.isinf(above):
            far = max(1.0, abs(above if np.isinf(below) else below))
            middle = 0.0 if np.isinf(far) else (above - far if np.isinf(below) else below + far)
        # Between neighbouring floats there is nothing: the middle is one of them.
        return (middle if middle < above else below), (middle if middle > below else above)

    def _quantiles(self, weights: Floats, parts: int) -> Index:
        """Find the cuts, each before a new value, next to even and to extreme quantiles."""
        sums = np.cumsum(weights[self._order])
        if len(self._starts) < 2 or sums[-1] <= 0:
            return np.zeros(0, dtype=np.intp)
        if len(self._starts) <= parts:
            return self._starts[1:]
        shares = np.concatenate((np.arange(1, parts) / parts, _TAILS, 1 - np.array(_TAILS)))
        positions = np.searchsorted(sums, shares * sums[-1])
        after = np.searchsorted(self._starts, positions)  # the first new value from there on
        exact = self._starts[np.minimum(after, len(self._starts) - 1)] == positions
        runs = np.concatenate((after, np.where(exact, after, after - 1)))
        return np.asarray(self._starts[np.unique(runs[(runs >= 1) & (runs < len(self._starts))])])

    def _frequent_runs(self, weights: Floats) -> Index:
        """Find the finite numbers that weigh most."""
        if len(self._starts) == 0:
            return np.zeros(0, dtype=np.intp)
        weighed = np.add.reduceat(weights[self._order], self._starts)
        weighed[np.isinf(self._values[self._starts])] = -1.0  # words: +inf, -inf
        heaviest = np.argsort(-weighed, kind="stable")[:_VALUES]
        return np.sort(heaviest[weighed[heaviest] >= 0])


def _thinned(count: int, most: int) -> Index:
    """Keep at most so many of the positions, the first and the last among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))
