"""Columns of the past, and the features by which outputs are compared with them, free of units.

A release is nearly always something plus noise, so the two sides nearly always differ by a shift or
a scale. Each map below is the pair of features (shift, scale) that is right for one noise:

- `gaussian`: `z` and `z^2`; `laplace`: `z` near the centre and `|z|`; both about median and median
  distance, clipped where they would trust an outlier;
- `normal_scores`: the Gaussian's, of ranks: any monotone transform of a shift or a scale;
- `cauchy`: `2z/(1+z^2)` and `(z^2-1)/(z^2+1)` at a small scale: a shift in the middle of outputs
  that are otherwise far away, even astronomically far.

`cosines` of the rank are the general map: any smooth difference, at the price of more to learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dpaudit.arrays import Floats, Labels
from dpaudit.guessing.rows import LabelledRows
from dpaudit.outputs import Table

_MAX_INDICATORS = 16  # words, and as many repeated values, with a 0/1 feature of their own
_SCALE_SHARES = (0.12, 0.25, 0.5)  # quantiles of the distance to the median, used as scales
_BINS = 24  # of one column, beside the smooth features: no shape escapes them
_INTERCEPT_PENALTY, _INDICATOR_PENALTY = 30.0, 0.3  # of ridge regression


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """One column of the past: indicators for what repeats, and the shape of the other numbers."""

    place: int
    words: npt.NDArray[np.int32]
    repeated: Floats
    ordered: Floats  # the numbers that do not repeat, in order
    below: Floats  # how much weight lies below each of them, and in all (one longer)
    median: float
    scales: Floats  # quantiles _SCALE_SHARES of the distance to the median

    @property
    def repeats(self) -> int:
        """How many words and repeated values have an indicator."""
        return len(self.words) + len(self.repeated)

    def indicators(self, table: Table) -> Floats:
        """One 0/1 column for each word and repeated value: shape (rows, indicators)."""
        codes = table.codes()[:, self.place, None]
        repeats = (table.numbers[:, self.place, None] == self.repeated) & (codes < 0)
        return np.concatenate([codes == self.words, repeats], axis=1).astype(np.float64)

    def plain(self, table: Table) -> Labels | None:
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


@dataclass(frozen=True, slots=True, eq=False)
class DescribedTable(Table):
    """Outputs beside the columns of the past: what several guessers ask is worked out once."""

    summaries: tuple[ColumnSummary, ...]
    _known: dict[object, Floats] = field(default_factory=dict, init=False)

    def rank(self, column: ColumnSummary) -> Floats:
        """The mid-rank of every output in a column."""
        numbers = self.numbers[:, column.place]
        return self._once(("rank", column.place), lambda: column.rank(numbers))

    def indicators(self, column: ColumnSummary) -> Floats:
        """The words and repeated values of a column, as 0/1 columns."""
        return self._once(("indicators", column.place), lambda: column.indicators(self))

    def design(self, feature_map: FeatureMap) -> Floats:
        """The matrix of a model that adds up over the columns; first the intercept."""
        return self._once(feature_map, lambda: self._design(feature_map))

    def _design(self, feature_map: FeatureMap) -> Floats:
        parts = [np.ones((len(self), 1))]
        for column in self.summaries:
            if len(column.ordered):
                features, plain = feature_map(column, self), column.plain(self)
                parts.append(features if plain is None else features * plain[:, None])
            if column.repeats:
                parts.append(self.indicators(column))
        return np.concatenate(parts, axis=1)

    def _once(self, key: object, work_out: Callable[[], Floats]) -> Floats:
        if key not in self._known:
            self._known[key] = work_out()
        return self._known[key]


FeatureMap = Callable[[ColumnSummary, DescribedTable], Floats]


def described(table: Table, summaries: tuple[ColumnSummary, ...]) -> DescribedTable:
    """The table beside these columns; itself if it is so described already."""
    if isinstance(table, DescribedTable) and table.summaries is summaries:
        return table
    return DescribedTable(table.numbers, table.atoms, summaries)


def described_past(seen: LabelledRows) -> DescribedTable:
    """The rows to learn from, beside their own columns."""
    table, weight = seen.table, seen.ones + seen.zeros
    if isinstance(table, DescribedTable):
        return table
    columns = range(table.columns)
    return described(table, tuple(_summary(table, weight, seen.exact, at) for at in columns))


def penalties(summaries: tuple[ColumnSummary, ...], shape: Floats) -> Floats:
    """Ridge penalties beside `design`: `shape` for the features of a column.

    The label is a fair coin, so the intercept is nearly 0 and hardly worth learning.
    """
    parts = [np.full(1, _INTERCEPT_PENALTY)]
    for column in summaries:
        if len(column.ordered):
            parts.append(shape)
        parts.append(np.full(column.repeats, _INDICATOR_PENALTY))
    return np.concatenate(parts)


def gaussian(column: ColumnSummary, table: DescribedTable) -> Floats:
    """Shift and scale of Gaussian noise: `(z, z^2)`, `z` clipped to 3 standard deviations."""
    z = np.clip(_standard(column, table, 1.48 * column.scales[-1]), -3.0, 3.0)
    return np.stack([z, (z * z - 1.0) / 1.4], axis=1)


def laplace(column: ColumnSummary, table: DescribedTable) -> Floats:
    """Shift and scale of Laplace noise: `(clip(z), |z|)`."""
    z = _standard(column, table, column.scales[-1])
    distance = np.minimum(np.abs(z), 8.0)
    return np.stack([np.clip(z, -1.0, 1.0), distance / 1.44 - 1.0], axis=1)


def normal_scores(column: ColumnSummary, table: DescribedTable) -> Floats:
    """The Gaussian's shift and scale, of the normal scores of the ranks."""
    z = ndtri(table.rank(column))
    return np.stack([z, (z * z - 1.0) / 1.4], axis=1)


def cauchy(share: float) -> FeatureMap:
    """Shift and scale of Cauchy noise whose scale is a quantile of the distance to the median."""
    place = _SCALE_SHARES.index(share)

    def features(column: ColumnSummary, table: DescribedTable) -> Floats:
        z = _standard(column, table, column.scales[place])
        return np.stack([2.0 * z, z * z - 1.0], axis=1) / (1.0 + z * z)[:, None]

    return features


def tails(doublings: float) -> FeatureMap:
    """How far out an output lies, signed and unsigned: 0 but in the tails, `2^-doublings` of all.

    A tail that is half as likely is one unit farther out.
    """

    def features(column: ColumnSummary, table: DescribedTable) -> Floats:
        rank = table.rank(column)
        beyond = np.maximum(-np.log2(2.0 * np.minimum(rank, 1.0 - rank)) - doublings, 0.0)
        return np.stack([np.copysign(beyond, rank - 0.5), beyond], axis=1)

    return features


def cosines(order: int) -> FeatureMap:
    """`cos(pi k u)` of the rank `u`, for `k = 1..order`."""
    frequencies = np.pi * np.arange(1, order + 1)
    return lambda column, table: np.cos(table.rank(column)[:, None] * frequencies)


def joined_features(columns: int) -> tuple[FeatureMap, Floats]:
    """All features of a column together, and their penalties: the more columns, the fewer."""
    waves = 12 if columns == 1 else 6
    smooth = 0.3 * np.arange(1.0, waves + 1) ** 2
    if columns == 1:
        maps: tuple[FeatureMap, ...] = (laplace, gaussian, normal_scores, cosines(waves), _bins)
        shape = np.concatenate([np.ones(6), smooth, np.full(_BINS, 3.0)])
    elif columns <= 16:
        maps, shape = (laplace, gaussian, cosines(waves)), np.concatenate([np.ones(4), smooth])
    else:
        maps, shape = (laplace,), np.ones(2)
    return lambda *seen: np.concatenate([each(*seen) for each in maps], axis=1), shape


def _bins(column: ColumnSummary, table: DescribedTable) -> Floats:
    place = np.minimum((table.rank(column) * _BINS).astype(np.intp), _BINS - 1)
    return np.asarray(place[:, None] == np.arange(_BINS), dtype=np.float64)


def _standard(column: ColumnSummary, table: Table, scale: float) -> Floats:
    """Distances from the median in units of `scale`, finite however far an output lies."""
    with np.errstate(over="ignore"):
        return np.clip((table.numbers[:, column.place] - column.median) / scale, -1e100, 1e100)


def _summary(rows: Table, weight: Floats, exact: Labels, place: int) -> ColumnSummary:
    numbers, words = rows.numbers[:, place], np.empty(0, dtype=np.int32)
    if rows.atoms is not None:
        codes = rows.atoms[:, place]
        words = _most_frequent_words(codes, weight)
        finite = codes < 0
        numbers, weight, exact = numbers[finite], weight[finite], exact[finite]
    draws = bool(np.all(weight == 1.0) and exact.all())  # sorting is faster than finding an order
    if draws:
        numbers = np.sort(numbers)
    else:
        order = np.argsort(numbers, kind="stable")
        numbers, weight, exact = numbers[order], weight[order], exact[order]
    repeated = _repeated(numbers, weight, exact)
    if len(repeated):
        ordinary = ~np.isin(numbers, repeated)
        numbers, weight = numbers[ordinary], weight[ordinary]
    below = np.concatenate([[0.0], np.cumsum(weight)])
    median = float(_quantile(numbers, below, np.array([0.5]))[0])
    distance = np.abs(numbers - median)
    if draws:
        distance, within = np.sort(distance), below
    else:
        order = np.argsort(distance, kind="stable")
        distance, within = distance[order], np.concatenate([[0.0], np.cumsum(weight[order])])
    scales = np.maximum(_quantile(distance, within, np.array(_SCALE_SHARES)), 1e-300)
    return ColumnSummary(place, words, repeated, numbers, below, median, scales)


def _most_frequent_words(codes: npt.NDArray[np.int32], weight: Floats) -> npt.NDArray[np.int32]:
    counts = np.bincount(np.maximum(codes, -1) + 1, weights=weight)[1:]
    words = np.argsort(-counts, kind="stable")[:_MAX_INDICATORS]
    return np.sort(words[counts[words] >= 2]).astype(np.int32)


def _repeated(numbers: Floats, weight: Floats, exact: Labels) -> Floats:
    """Values that repeat among others that do not, the most frequent first.

    They were seen three times or more and eight times as often as the mean value, or have a cell of
    their own in the codebook. However rare, such a value is more than a number: noise that is left
    out once in a thousand draws shows in nothing else.
    """
    if len(numbers) == 0:
        return np.empty(0)
    new = np.concatenate([[True], numbers[1:] != numbers[:-1]])
    if new.all() and weight.max() < 3.0:
        return np.empty(0)
    values = numbers[new]
    totals = np.bincount(np.cumsum(new) - 1, weights=weight)
    total = totals.sum()
    if len(values) <= _MAX_INDICATORS and total >= 3 * len(values):
        return np.asarray(values)
    alone = (totals >= 8.0 * total / len(values)) if exact.all() else exact[new]
    alone &= totals >= 3.0
    return np.asarray(values[alone][np.argsort(-totals[alone], kind="stable")[:_MAX_INDICATORS]])


def _quantile(ordered: Floats, below: Floats, shares: Floats) -> Floats:
    if len(ordered) == 0:
        return np.zeros(len(shares))
    place = np.searchsorted(below[1:], shares * below[-1], side="left")
    return np.asarray(ordered[np.minimum(place, len(ordered) - 1)])
