"""The events that a search tries: those of a column counted at once, and what they certify."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpaudit.arrays import Counts, Floats, Index, Labels
from dpaudit.events.kinds import (
    Above,
    Below,
    Between,
    Equals,
    IsNumber,
    IsWord,
    Outside,
    Single,
    reals,
)
from dpaudit.outputs import MISSING, Table

_TAIL_SHARES = np.array([1e-4, 3e-4, 1e-3, 3e-3, 1e-2])  # beyond them thresholds are tried too
_MAX_VALUES = 64  # numbers of a column that are tried by themselves, the most frequent
_COST_OF_COMPARISON = 0.02  # what a further one must add to the score, relative and absolute
HOPELESS = -1e3  # the score of an event that certifies nothing


class ColumnEvents:
    """The thresholds, intervals, frequent numbers and words of one column.

    `hits` counts every event for one weighting of the rows, by cumulative sums; `event` makes the
    event at a position of that array. `parts` is the number of quantiles between which thresholds
    are tried.
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
        codes = np.zeros(0, np.int32) if table.atoms is None else table.atoms[:, column]
        self._atoms = np.flatnonzero(codes >= 0)
        words, word_of = np.unique(codes[self._atoms], return_inverse=True)
        # MISSING last: of equally strong events, what an output is says more than what it lacks
        first = int(len(words) > 0 and words[0] == MISSING)
        self._words = np.roll(words, -first)
        self._word_of = (word_of.reshape(-1) - first) % max(len(words), 1)
        self._kinds = self._laid_out()

    def hits(self, weights: Floats) -> Floats:
        """Count every event; the rows count by their weights."""
        sums = np.concatenate(([0.0], np.cumsum(weights[self._order])))
        below = sums[self._cuts]
        between = below[self._high] - below[self._low]
        ends = np.append(self._starts[1:], len(self._values))
        equal = sums[ends[self._frequent]] - sums[self._starts[self._frequent]]
        words = np.bincount(self._word_of, weights[self._atoms], minlength=len(self._words))
        number = [float(weights.sum() - words.sum())]
        outside = sums[-1] - between
        return np.concatenate((equal, words, number, sums[-1] - below, below, between, outside))

    def spans(self) -> list[tuple[int, int]]:
        """Say where in the counts the events of each kind begin and end."""
        return [(start, end) for _, start, end in self._kinds]

    def comparisons(self) -> Counts:
        """Say how many comparisons each event makes."""
        counts = np.ones(self._kinds[-1][2], dtype=np.int64)
        for kind, start, end in self._kinds:
            counts[start:end] = max(len(kind.thresholds), 1)
        return counts

    def event(self, index: int) -> Single:
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

    def _laid_out(self) -> list[tuple[type[Single], int, int]]:
        """Say what stands where in the counts, leaving out kinds without events."""
        counts: dict[type[Single], int] = {
            Equals: len(self._frequent),
            IsWord: len(self._words),
            IsNumber: 1,
            **dict.fromkeys((Above, Below), len(self._cuts)),
            **dict.fromkeys((Between, Outside), len(self._low)),
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
        shares = np.concatenate((np.arange(1, parts) / parts, _TAIL_SHARES, 1 - _TAIL_SHARES))
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
        heaviest = np.argsort(-weighed, kind="stable")[:_MAX_VALUES]
        return np.sort(heaviest[weighed[heaviest] >= 0])


def _thinned(count: int, most: int) -> Index:
    """Keep at most `most` of the positions, the first and the last among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedBound:
    """Scores events by the epsilon they would certify at `delta` with `draws` fresh draws a side.

    It is `log((p_lower - delta) / q_upper)`. First p and q are set back by `_caution` standard
    errors of training, for the best of many is partly luck; then they are bounded as by Clopper and
    Pearson at `alpha / 2` each, as if the expected number of fresh draws hit. So three hits in
    fifty count for little, and so does an event too rare to be certified.

    It exceeds the claim's epsilon if and only if `p_lower - e^epsilon q_upper` exceeds delta. With
    a delta a claim may be broken by an event that is rare on one side and never seen on the other,
    and too few draws certify no epsilon by it. So behind the events that would break the claim come
    those that broke it in training, and only then what certifies a smaller epsilon.
    """

    epsilon: float
    delta: float
    draws: int
    alpha: float
    totals: tuple[float, float]  # training draws of the data, of its neighbour

    def score(
        self, ones: Floats, zeros: Floats, comparisons: Counts | int
    ) -> tuple[Floats, Labels]:
        """Score events by their hits; also tell whether they are likelier on the data.

        `comparisons` says how many an event makes: a longer event must be clearly better.
        """
        data, neighbour = self.totals
        caution = _caution(comparisons)
        likelier = self._expected(ones, data, zeros, neighbour, caution)
        rarer = self._expected(zeros, neighbour, ones, data, caution)
        best = np.maximum(likelier, rarer)
        height = np.abs(above_tier(best))
        cost = _COST_OF_COMPARISON * (np.asarray(comparisons) - 1) * np.maximum(height, 1.0)
        return best - cost, likelier >= rarer

    def _expected(
        self, p_hits: Floats, p_of: float, q_hits: Floats, q_of: float, caution: Floats
    ) -> Floats:
        z = -NormalDist().inv_cdf(self.alpha / 2)
        p = 1 - upper_bound(p_of - p_hits, p_of, caution)
        q = upper_bound(q_hits, q_of, caution)
        excess = 1 - upper_bound(self.draws * (1 - p), self.draws, z) - self.delta
        bound = np.log(np.maximum(excess, 1e-300))
        bound -= np.log(upper_bound(self.draws * q, self.draws, z))
        # Where nothing can be certified, how far training broke the claim tells better from worse.
        broken = self._standard_errors(p_hits, p_of, q_hits, q_of)
        uncertain = np.where(excess > 0, HOPELESS, 2 * HOPELESS) + broken
        score = np.where((excess > 0) & (bound > 0), bound, uncertain)
        if self.delta == 0:
            return score
        within = np.where(broken > 0, HOPELESS + broken, 2 * HOPELESS + score)
        return np.where(score > self.epsilon, score, within)

    def _standard_errors(self, p_hits: Floats, p_of: float, q_hits: Floats, q_of: float) -> Floats:
        """By how many standard errors training broke the claim."""
        claimed = math.exp(min(self.epsilon, 6.0))
        p, q = p_hits / max(p_of, 1.0), q_hits / max(q_of, 1.0)
        variance = (p_hits + 1.0) / max(p_of, 1.0) ** 2
        variance = variance + claimed**2 * (q_hits + 1.0) / max(q_of, 1.0) ** 2
        return np.asarray((p - self.delta - claimed * q) / np.sqrt(variance))


def above_tier(score: Floats) -> Floats:
    """A score without the multiples of `HOPELESS` that order events which certify too little.

    >>> print(above_tier(np.array([1.5, HOPELESS + 2.0])))
    [1.5 2. ]
    """
    return np.asarray(score - HOPELESS * np.maximum(np.round(score / HOPELESS), 0.0))


def _caution(comparisons: Counts | int) -> Floats:
    """Grow with the number of events of that length, among which the best was sought.

    One standard error for a threshold, 2.5 for an interval or a pair: chosen by what the events
    found in 300 and in 3000 training draws of eight mechanisms would certify.
    """
    return np.asarray(1.0 + 1.5 * np.log2(comparisons), dtype=np.float64)


def upper_bound(hits: Floats, draws: float, z: Floats | float) -> Floats:
    """The Clopper-Pearson upper bound at `z` normal standard deviations, for any real `hits`.

    In closed form by the cube root of the F distribution (Paulson 1942), a few percent off: good
    to rank thousands of events, not to certify one.

    >>> round(float(upper_bound(np.array(5.0), 100, 1.645)), 3)  # exact: 0.102
    0.102
    """
    successes, failures = hits + 1.0, np.maximum(draws - hits, 1e-9)
    a, b = 1 / (9 * successes), 1 / (9 * failures)
    # w = F^(1/3) solves ((1 - b) w - (1 - a))^2 = z^2 (b w^2 + a)
    bottom = (1 - b) ** 2 - z * z * b
    inner = np.maximum((1 - a) ** 2 * b + (1 - b) ** 2 * a - z * z * a * b, 0.0)
    w = ((1 - a) * (1 - b) + z * np.sqrt(inner)) / np.where(bottom > 0, bottom, 1.0)
    odds = successes * np.maximum(w, 0.0) ** 3
    return np.where((bottom > 0) & (b < 1), odds / (odds + failures), 1.0)
