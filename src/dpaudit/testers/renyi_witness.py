"""Functions that tell two samples apart, for the Rényi tester: scorers, and how to cut scores.

A scorer gives every output a score, high where it looks like `data`; the best score is the log of
the ratio of the densities. A `Cut` turns scores into a bounded function `h`. It is chosen by the
bound to be expected on other rows, where the tester certifies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.bounds import (
    bernstein_width,
    chernoff_slack,
    mean_lower,
    mean_reach,
    mean_upper,
    normal_quantile,
)
from dpaudit.guessing import network, newton
from dpaudit.outputs import Table, stack

Scorer: TypeAlias = Callable[[Table], Floats]
Sides: TypeAlias = tuple[Floats, Floats]  # the data's and the neighbour's
Moments: TypeAlias = tuple[Floats, Floats]  # means and variances, of one function each
ExpectedDivergence: TypeAlias = Callable[[Moments, Moments, Floats], Floats]  # of u, v and depths

_MAX_KNOTS = 1024  # numbers of a column between which ranks are interpolated
_HEAVY_SHARE = 0.01  # a number with this share of the rows is a category in the first model,
_MIN_REPEATS = 8  # and one seen this many times in the second
_RIDGE = 0.1  # penalty of the first polynomial; the k-th has k^2 times it
_MAX_COEFFICIENTS = 240  # about, of all columns together: more columns, lower degrees
_SCORE_BINS = 256  # by which cuts are compared
_MAX_DEPTH = 30.0  # e^-30 is nothing beside a bound from any sample
_MIN_DEPTH = 1e-3  # what two sides differ by at epsilon = 0.001
_DEPTHS_TRIED = 64
_SLOPES = (0.5, 1.0, 2.0, 8.0)  # of h in the score: a steep one makes h an event
_MAX_TOPS = 40  # scores tried above which h is flat
# Where scores are few, though not discrete, there are fewer tops and every third depth is tried.
_MAX_DISCRETE_SCORES, _SCORES_PER_TOP, _DEPTH_STRIDE = 32, 6, 3
_ROUNDING = 1e-9  # of a divergence: more than floating-point error can add
_MAX_NEURAL_EXPONENT = 4.0  # of e^(order h): beyond, a batch cannot tell its mean


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One column of the training rows: ranks of its numbers, log-odds of its categories."""

    column: int
    knots: Floats
    ranks: Floats
    repeated: Floats  # numbers that are categories, in order, and their log-odds
    repeated_odds: Floats
    word_odds: Floats  # by code

    def features(self, table: Table, degree: int) -> Floats:
        """The polynomials of each number's rank, and the log-odds of its category."""
        plain, odds = self._placed(table)
        numbers = table.numbers[:, self.column]
        rank = np.interp(numbers, self.knots, self.ranks) if len(self.knots) else odds
        polynomials = _polynomials(rank, degree) * plain[:, None]
        return np.concatenate([polynomials, odds[:, None]], axis=1)

    def score(self, table: Table, coefficients: Floats) -> Floats:
        """The features times their coefficients, the polynomials read off at the knots."""
        plain, odds = self._placed(table)
        found: Floats = odds * coefficients[-1]
        if len(self.knots):
            heights = _polynomials(self.ranks, len(coefficients) - 1) @ coefficients[:-1]
            found += plain * np.interp(table.numbers[:, self.column], self.knots, heights)
        return found

    def _placed(self, table: Table) -> tuple[Labels, Floats]:
        """Which cells are plain numbers, and the log-odds of the categories of the others."""
        numbers, odds = table.numbers[:, self.column], np.zeros(len(table))
        plain = np.ones(len(table), dtype=np.bool_)
        if len(self.repeated):
            place = np.minimum(np.searchsorted(self.repeated, numbers), len(self.repeated) - 1)
            plain = self.repeated[place] != numbers
            odds = np.where(plain, 0.0, self.repeated_odds[place])
        if table.atoms is not None:
            codes = table.atoms[:, self.column]
            # The last entry, 0, stands for words that training has not seen.
            word = self.word_odds[np.minimum(codes, len(self.word_odds) - 1)]
            odds = np.where(codes < 0, odds, word)
            plain &= codes < 0
        return plain, odds


def chebyshev(data: Table, neighbour: Table, degree: int) -> list[Scorer]:
    """Additive polynomials in the cosine of the rank, fitted by ridge logistic regression.

    There are two where numbers repeat: in the second, each of them is a category of its own.
    """
    degree = min(degree, max(2, _MAX_COEFFICIENTS // data.columns))
    rows = stack([data, neighbour])
    first = np.arange(len(rows)) < len(data)
    coarse, fine = (
        [_axis(rows, first, column, often) for column in range(rows.columns)]
        for often in (math.inf, _MIN_REPEATS)
    )
    finer = any(len(a.repeated) < len(b.repeated) for a, b in zip(coarse, fine, strict=True))
    return [_fitted(axes, degree, rows, first) for axes in ([coarse, fine] if finer else [coarse])]


def neural(
    data: Table, neighbour: Table, order: float, *, device: str | None, seed: int
) -> list[Scorer]:
    """Two networks: one maximises the divergence in batches (Birrell et al. 2021), one is logistic.

    The second is steadier at high orders, where a batch holds few of the outputs that matter.
    """
    torch, both = network.load_torch(), stack([data, neighbour])
    standard = network.Standard.of(both)
    rows, labels = network.features(both, standard), np.arange(len(both)) < len(data)

    def scorer(loss: Any, reach: float | None) -> Scorer:
        trained = network.train(rows, labels, loss=loss, seed=seed, device=device, reach=reach)
        return lambda table: trained.scores(network.features(table, standard))

    def divergence_loss(data: Any, neighbour: Any) -> Any:
        # log E_Q e^(order h) - order/(order-1) log E_P e^((order-1) h)
        first = torch.logsumexp((order - 1.0) * data, 0) - math.log(len(data))
        second = torch.logsumexp(order * neighbour, 0) - math.log(len(neighbour))
        return second - order / (order - 1.0) * first

    reach = _MAX_NEURAL_EXPONENT / (order - 0.5)
    return [scorer(divergence_loss, reach), scorer("logistic", None)]


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
    """`e^(rate h)` for `h` in `[-depth, 0]`, as a share of the way from its least value to 1."""
    return np.clip(1.0 - np.expm1(rate * h) / np.expm1(-rate * depth), 0.0, 1.0)


def log_mean(share: Floats | float, rate: float, depth: Floats | float) -> Floats:
    """The log of the mean of `e^(rate h)`, from the mean of its `gains`."""
    excess = np.expm1(-rate * np.asarray(depth)) * (1.0 - np.asarray(share))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(np.maximum(excess, -1.0)))


def depths_of(order: float) -> Floats:
    """The ranges of `h` worth trying at an order, the smallest first."""
    deepest = _MAX_DEPTH / order
    return np.geomspace(min(_MIN_DEPTH, deepest / 2.0), deepest, _DEPTHS_TRIED)


def best_cut(scores: Sides, order: float, expected: ExpectedDivergence) -> tuple[Cut, float]:
    """The cut of the scores of `data` and `neighbour` with the largest expected bound; the bound.

    Scores are first gathered in bins, so that thousands of cuts cost little.
    """
    bins, data, neighbour = _binned(*scores)
    few = _MAX_DISCRETE_SCORES < len(bins) < _SCORE_BINS
    depths = depths_of(order)[:: _DEPTH_STRIDE if few else 1]
    count = min(_MAX_TOPS, max(4, len(bins) // _SCORES_PER_TOP)) if few else _MAX_TOPS
    best, most = Cut(slope=1.0, top=float(bins[-1]), depth=float(depths[0])), -math.inf
    tops = np.unique(np.quantile(bins, np.linspace(0.0, 1.0, count), method="nearest"))
    for slope in _SLOPES:
        h = np.clip(slope * (bins - tops[:, None, None]), -depths[:, None], 0.0)
        u = _moments(gains(h, order - 1.0, depths[:, None]), data)
        v = _moments(gains(h, order, depths[:, None]), neighbour)
        found = expected(u, v, depths)
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
    even = np.linspace(0, len(both) - 1, _SCORE_BINS).astype(np.intp)
    doubling = np.minimum(2 ** np.arange(16), len(both)) - 1
    bins = np.unique(both[np.concatenate([even, doubling, len(both) - 1 - doubling])])
    shares = [
        np.bincount(np.searchsorted(bins, side, side="right") - 1, minlength=len(bins)) / len(side)
        for side in (data, neighbour)
    ]
    return bins, shares[0], shares[1]


def _axis(rows: Table, first: Labels, column: int, often: float) -> Axis:
    """Describe a column; a number seen `often`, or by one draw in a hundred, is a category."""
    codes = np.full(len(rows), -1) if rows.atoms is None else rows.atoms[:, column]
    plain = codes < 0
    words = codes.max(initial=-1) + 2  # and one that stands for words never seen
    _, word_odds = _totals_and_log_odds(codes[~plain].astype(np.intp), words, first, ~plain)
    values, index = np.unique(rows.numbers[plain, column], return_inverse=True)
    total, odds = _totals_and_log_odds(index, len(values), first, plain)
    heavy = total >= min(often, max(_HEAVY_SHARE * len(rows), _MIN_REPEATS))
    below = np.cumsum(np.where(heavy, 0, total))
    knots, below = values[~heavy], below[~heavy]
    ranks = (2.0 * below - total[~heavy] + 1.0) / (2.0 * (below[-1] + 1.0)) if len(knots) else below
    places = np.linspace(0, max(len(knots) - 1, 0), _MAX_KNOTS).astype(np.intp)
    few = np.unique(places)[: len(knots)]
    return Axis(column, knots[few], ranks[few], values[heavy], odds[heavy], word_odds)


def _totals_and_log_odds(
    index: Index, length: int, first: Labels, chosen: Labels
) -> tuple[Index, Floats]:
    """How often each value was seen, and its log-odds: 0 if never, else with half a draw more."""
    sides = first[chosen], ~first[chosen]
    ones, zeros = (np.bincount(index[side], minlength=length) for side in sides)
    sizes = first.sum(), (~first).sum()
    odds = np.log((ones + 0.5) / (sizes[0] + 0.5)) - np.log((zeros + 0.5) / (sizes[1] + 0.5))
    return ones + zeros, np.where(ones + zeros > 0, odds, 0.0)


def _fitted(axes: list[Axis], degree: int, table: Table, first: Labels) -> Scorer:
    """A sum over columns of polynomials and of a coefficient for each category."""
    rows = np.column_stack([np.ones(len(table)), *(axis.features(table, degree) for axis in axes)])
    # Either side counts as half of the rows, so that the log-odds are the log of a ratio.
    ones = np.where(first, len(rows) / (2.0 * first.sum()), 0.0)
    zeros = np.where(first, 0.0, len(rows) / (2.0 * (~first).sum()))
    smooth = np.concatenate([_RIDGE * np.arange(1.0, degree + 1.0) ** 2, [_RIDGE]])
    penalty = np.concatenate([[_RIDGE], np.tile(smooth, len(axes))])[None, :]
    (coefficients,), _ = newton(rows[None], ones, zeros, penalty, np.zeros_like(penalty))
    parts = coefficients[1:].reshape(len(axes), -1)

    def scorer(table: Table) -> Floats:
        scores = np.full(len(table), coefficients[0])
        for axis, part in zip(axes, parts, strict=True):
            scores += axis.score(table, part)
        return scores

    return scorer


def _polynomials(rank: Floats, degree: int) -> Floats:
    """`T_k(cos(pi rank)) = cos(pi k rank)` for `k = 1..degree`: Chebyshev polynomials."""
    return np.cos(rank[:, None] * (np.pi * np.arange(1, degree + 1)))


@dataclass(frozen=True, slots=True)
class Certifier:
    """Bounds a divergence from held-out draws: what it certifies, may expect to, could at best."""

    order: float
    bound: str
    alpha: float
    draws: int
    neighbour_draws: int

    def certified(self, held: Sides, guess: Sides, depth: float) -> float:
        """The bound, from `h` on held-out rows of both sides; `guess` is `h` on earlier rows."""
        u, v = self._gains(held, depth)
        if self.bound == "chernoff":
            found = self._divergence(u.mean(), v.mean(), depth) - self._penalty(depth)
        else:
            earlier_u, earlier_v = self._gains(guess, depth)
            lower = mean_lower(u, self.alpha / 2.0, bound=self.bound, guess=earlier_u)
            upper = mean_upper(v, self.alpha / 2.0, bound=self.bound, guess=earlier_v)
            found = self._divergence(lower, upper, depth)
        return float(found) - _ROUNDING

    def expected(self, seen: int, other_seen: int) -> ExpectedDivergence:
        """What cuts may be expected to certify, from the moments of `u` and `v` on earlier rows.

        "betting" comes out about a tenth wider than the normal approximation. The standard error of
        the moments themselves counts too, lest a cut be chosen for the luck of a few rows.
        """
        half = self.alpha / 2.0
        width = 1.1 * normal_quantile(half)
        u_width = width / math.sqrt(self.draws) + 1.0 / math.sqrt(seen)
        v_width = width / math.sqrt(self.neighbour_draws) + 1.0 / math.sqrt(other_seen)
        least = -math.log(half) / self.neighbour_draws + 0.5 / other_seen

        def bound(u: Moments, v: Moments, depths: Floats) -> Floats:
            if self.bound == "chernoff":
                return self._divergence(u[0], v[0], depths) - self._penalty(depths)
            if self.bound == "bernstein":
                lower = u[0] - bernstein_width(u[1], self.draws, half)
                upper = v[0] + bernstein_width(v[1], self.neighbour_draws, half)
            else:
                lower = u[0] - np.sqrt(u[1]) * u_width
                upper = v[0] + np.sqrt(v[1]) * v_width + least
            return self._divergence(lower, upper, depths)

        return bound

    def reach(self) -> float:
        """The most that can be certified: when `u` is always 1, and `v` as small as it can be."""
        depths = depths_of(self.order)
        if self.bound == "chernoff":
            return float(np.max(self._divergence(1.0, 0.0, depths) - self._penalty(depths)))
        short, most = (
            mean_reach(draws, self.alpha / 2.0, self.bound)
            for draws in (self.draws, self.neighbour_draws)
        )
        return float(np.max(self._divergence(1.0 - short, most, depths)))

    def _gains(self, h: Sides, depth: float) -> Sides:
        return gains(h[0], self.order - 1.0, depth), gains(h[1], self.order, depth)

    def _divergence(self, u: Floats | float, v: Floats | float, depth: Floats | float) -> Floats:
        """`order/(order-1) log E_P[u] - log E_Q[v]`, from the means of their `gains`."""
        first = log_mean(np.clip(u, 0.0, 1.0), self.order - 1.0, depth)
        second = log_mean(np.clip(v, 0.0, 1.0), self.order, depth)
        return np.asarray(self.order / (self.order - 1.0) * first - second)

    def _penalty(self, depth: Floats | float) -> Floats:
        """`order/(order-1) log(1 + eta1) - log(1 - eta2)`, infinite where Chernoff says nothing."""

        def slack(rate: float, draws: int, upper: bool) -> Floats:
            least = np.exp(-rate * np.asarray(depth))
            return chernoff_slack(least, draws, self.alpha / 2.0, upper=upper)

        first = slack(self.order - 1.0, self.draws, upper=False)
        second = slack(self.order, self.neighbour_draws, upper=True)
        with np.errstate(invalid="ignore"):
            found = self.order / (self.order - 1.0) * np.log1p(first) - np.log1p(-second)
        return np.where(np.isinf(first) | np.isinf(second), np.inf, found)
