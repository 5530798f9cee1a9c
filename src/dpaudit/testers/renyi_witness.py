"""Functions that tell two samples apart, for the Rényi tester: polynomials, and how to cut them.

A scorer gives every output a score, high where it looks like `data`; the best score is the log of
the ratio of the densities. A `Cut` turns scores into a bounded function `h`; where to cut is chosen
by the bound that it promises, which is what the tester certifies on other rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.guessing import newton
from dpaudit.outputs import Table, stack

Scorer: TypeAlias = Callable[[Table], Floats]
Moments: TypeAlias = tuple[Floats, Floats]  # means and variances, of one function each
Forecast: TypeAlias = Callable[[Moments, Moments, Floats], Floats]  # of u, of v, and depths

_KNOTS = 1024  # numbers of a column by which ranks are told
_HEAVY = 0.01  # a number that often is a category of its own in the first model,
_REPEATS = 8  # and one seen so many times in the second
_RIDGE = 0.1  # penalty of the first polynomial; the k-th has k^2 times it
_WIDEST = 240  # coefficients of all columns together, about: more columns, lower degrees
_BINS = 256  # of the scores, when cuts are compared
_DEEPEST = 30.0  # e^-30 is nothing beside a bound from any sample
_SLOPES = (0.5, 1.0, 2.0, 8.0)  # of h in the score: a steep one makes h an event
_TOPS = 40  # scores from which on h is flat, at most: one for so many bins
_BINS_FOR_A_TOP = 6
_DEPTHS = 64  # ranges of h that are tried
_EVERY = 3  # of which one in so many is tried where the scores are few, though not discrete
_FEWEST = 32
_SHALLOWEST = 1e-3  # what two sides differ by at epsilon = 0.001


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One column of the training rows: ranks of its numbers, log-odds of its categories."""

    place: int
    knots: Floats
    ranks: Floats
    repeated: Floats  # numbers that are categories, in order, and their log-odds
    repeated_odds: Floats
    word_odds: Floats  # by code

    def features(self, table: Table, degree: int) -> Floats:
        """The polynomials of each number's rank, and the log-odds of its category."""
        plain, odds = self._placed(table)
        numbers = table.numbers[:, self.place]
        rank = np.interp(numbers, self.knots, self.ranks) if len(self.knots) else odds
        polynomials = _polynomials(rank, degree) * plain[:, None]
        return np.concatenate([polynomials, odds[:, None]], axis=1)

    def score(self, table: Table, coefficients: Floats) -> Floats:
        """The features times their coefficients, the polynomials read off at the knots."""
        plain, odds = self._placed(table)
        found: Floats = odds * coefficients[-1]
        if len(self.knots):
            heights = _polynomials(self.ranks, len(coefficients) - 1) @ coefficients[:-1]
            found += plain * np.interp(table.numbers[:, self.place], self.knots, heights)
        return found

    def _placed(self, table: Table) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Which cells are plain numbers, and the log-odds of the categories of the others."""
        numbers, odds = table.numbers[:, self.place], np.zeros(len(table))
        plain = np.ones(len(table), dtype=np.bool_)
        if len(self.repeated):
            place = np.minimum(np.searchsorted(self.repeated, numbers), len(self.repeated) - 1)
            plain = self.repeated[place] != numbers
            odds = np.where(plain, 0.0, self.repeated_odds[place])
        if table.atoms is not None:
            codes = table.atoms[:, self.place]
            # The last entry, 0, stands for words that training has not seen.
            word = self.word_odds[np.minimum(codes, len(self.word_odds) - 1)]
            odds = np.where(codes < 0, odds, word)
            plain &= codes < 0
        return plain, odds


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """A sum over columns of polynomials and of a coefficient for each category."""

    axes: tuple[Axis, ...]
    coefficients: Floats  # of the intercept, and of the features of each column

    def __call__(self, table: Table) -> Floats:
        """The score of every row."""
        parts = self.coefficients[1:].reshape(len(self.axes), -1)
        scores = np.full(len(table), self.coefficients[0])
        for axis, part in zip(self.axes, parts, strict=True):
            scores += axis.score(table, part)
        return scores


def chebyshev(data: Table, neighbour: Table, degree: int) -> list[Scorer]:
    """Additive polynomials in the cosine of the rank, fitted by ridge logistic regression.

    There are two where numbers repeat: in the second, each of them is a category of its own.
    """
    degree = min(degree, max(2, _WIDEST // data.columns))
    coarse = _axes(data, neighbour, math.inf)
    fine = _axes(data, neighbour, _REPEATS)
    models = [coarse]
    if any(len(a.repeated) < len(b.repeated) for a, b in zip(coarse, fine, strict=True)):
        models.append(fine)
    return [_fitted(axes, degree, data, neighbour) for axes in models]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """`h = slope (score - top)`, kept between `-depth` and 0.

    The divergence is the same for `h` and `h + c`, so `|h| <= C` is `depth = 2C`.
    """

    slope: float
    top: float
    depth: float

    def __call__(self, scores: Floats) -> Floats:
        return np.clip(self.slope * (scores - self.top), -self.depth, 0.0)


def gains(h: Floats, rate: float, depth: Floats | float) -> Floats:
    """`e^(rate h)` for `h` in `[-depth, 0]`, as a share of the way from its least value to 1.

    >>> gains(np.array([-2.0, -1.0, 0.0]), 1.0, 2.0).round(4).tolist()
    [0.0, 0.2689, 1.0]
    """
    return np.clip(1.0 - np.expm1(rate * h) / np.expm1(-rate * depth), 0.0, 1.0)


def log_mean(share: Floats | float, rate: float, depth: Floats | float) -> Floats:
    """The log of the mean of `e^(rate h)`, from the mean share that `gains` speaks of.

    >>> log_mean(np.array([0.0, 0.5]), 1.0, 2.0).round(4).tolist()
    [-2.0, -0.5662]
    """
    excess = np.expm1(-rate * np.asarray(depth)) * (1.0 - np.asarray(share))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(np.maximum(excess, -1.0)))


def depths_of(order: float) -> Floats:
    """The ranges of `h` worth trying at an order, the smallest first."""
    deepest = _DEEPEST / order
    return np.geomspace(min(_SHALLOWEST, deepest / 2.0), deepest, _DEPTHS)


def best_cut(scores: tuple[Floats, Floats], order: float, forecast: Forecast) -> tuple[Cut, float]:
    """The cut of the scores of `data` and `neighbour` whose forecast is largest, and the forecast.

    Scores are first gathered in bins, so that thousands of cuts cost little.
    """
    bins, data, neighbour = _binned(*scores)
    few = _FEWEST < len(bins) < _BINS
    depths = depths_of(order)[:: _EVERY if few else 1]
    count = min(_TOPS, max(4, len(bins) // _BINS_FOR_A_TOP)) if few else _TOPS
    best, most = Cut(slope=1.0, top=float(bins[-1]), depth=float(depths[0])), -math.inf
    tops = np.unique(np.quantile(bins, np.linspace(0.0, 1.0, count), method="nearest"))
    for slope in _SLOPES:
        h = np.clip(slope * (bins - tops[:, None, None]), -depths[:, None], 0.0)
        u = _moments(gains(h, order - 1.0, depths[:, None]), data)
        v = _moments(gains(h, order, depths[:, None]), neighbour)
        found = forecast(u, v, depths)
        top, depth = np.unravel_index(int(np.argmax(found)), found.shape)
        if found[top, depth] > most:
            most = float(found[top, depth])
            best = Cut(slope=slope, top=float(tops[top]), depth=float(depths[depth]))
    return best, most


def _moments(shares: Floats, weight: Floats) -> Moments:
    mean = shares @ weight
    return mean, np.maximum(np.square(shares) @ weight - np.square(mean), 0.0)


def _binned(data: Floats, neighbour: Floats) -> tuple[Floats, Floats, Floats]:
    """Values of the scores, in order, and the share of either side at each of them."""
    both = np.sort(np.concatenate([data, neighbour]))
    # Even in the middle, doubling in the tails: a rare output may be where all privacy is lost.
    even = np.linspace(0, len(both) - 1, _BINS).astype(np.intp)
    doubling = np.minimum(2 ** np.arange(16), len(both)) - 1
    bins = np.unique(both[np.concatenate([even, doubling, len(both) - 1 - doubling])])
    shares = [
        np.bincount(np.searchsorted(bins, side, side="right") - 1, minlength=len(bins)) / len(side)
        for side in (data, neighbour)
    ]
    return bins, shares[0], shares[1]


def _axes(data: Table, neighbour: Table, often: float) -> tuple[Axis, ...]:
    """Describe the columns; a number seen `often`, or by one draw in a hundred, is a category."""
    rows = stack([data, neighbour])
    first = np.arange(len(rows)) < len(data)
    return tuple(_axis(rows, first, place, often) for place in range(rows.columns))


def _axis(rows: Table, first: npt.NDArray[np.bool_], place: int, often: float) -> Axis:
    numbers = rows.numbers[:, place]
    codes = np.full(len(rows), -1) if rows.atoms is None else rows.atoms[:, place]
    finite = codes < 0
    counts = [
        np.bincount(codes[~finite & side], minlength=codes.max(initial=-1) + 2)
        for side in (first, ~first)
    ]
    word_odds = _log_odds(counts, first)
    values, index = np.unique(numbers[finite], return_inverse=True)
    counts = [
        np.bincount(index[side], minlength=len(values)) for side in (first[finite], ~first[finite])
    ]
    total = counts[0] + counts[1]
    heavy = total >= min(often, max(_HEAVY * len(rows), _REPEATS))
    below = np.cumsum(np.where(heavy, 0, total))
    knots, below = values[~heavy], below[~heavy]
    ranks = (2.0 * below - total[~heavy] + 1.0) / (2.0 * (below[-1] + 1.0)) if len(knots) else below
    few = np.unique(np.linspace(0, max(len(knots) - 1, 0), _KNOTS).astype(np.intp))[: len(knots)]
    odds = _log_odds(counts, first)[heavy]
    return Axis(place, knots[few], ranks[few], values[heavy], odds, word_odds)


def _log_odds(counts: list[npt.NDArray[np.intp]], first: npt.NDArray[np.bool_]) -> Floats:
    """The log of the ratio of two shares, each count taken half a draw higher."""
    sizes = (first.sum(), (~first).sum())
    shares = [
        np.log((count + 0.5) / (size + 0.5)) for count, size in zip(counts, sizes, strict=True)
    ]
    return np.where(counts[0] + counts[1] > 0, shares[0] - shares[1], 0.0)


def _fitted(axes: tuple[Axis, ...], degree: int, data: Table, neighbour: Table) -> Additive:
    table = stack([data, neighbour])
    parts = [axis.features(table, degree) for axis in axes]
    rows = np.column_stack([np.ones(len(table)), *parts])
    first = np.arange(len(rows)) < len(data)
    # Either side counts as half of the rows, so that the log-odds are the log of a ratio.
    ones = np.where(first, len(rows) / (2.0 * len(data)), 0.0)
    zeros = np.where(first, 0.0, len(rows) / (2.0 * len(neighbour)))
    smooth = np.concatenate([_RIDGE * np.arange(1.0, degree + 1.0) ** 2, [_RIDGE]])
    penalty = np.concatenate([[_RIDGE], np.tile(smooth, len(axes))])[None, :]
    coefficients, _ = newton(rows[None], ones, zeros, penalty, np.zeros_like(penalty))
    return Additive(axes, coefficients[0])


def _polynomials(rank: Floats, degree: int) -> Floats:
    """`T_k(cos(pi rank)) = cos(pi k rank)` for `k = 1..degree`: Chebyshev polynomials."""
    return np.cos(rank[:, None] * (np.pi * np.arange(1, degree + 1)))
