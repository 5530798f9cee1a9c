"""APT: how far the errors of telling the sides apart lie below the claim's trade-off curve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import Claim
from dpaudit.outputs import Table
from dpaudit.testers.event_bound import exp
from dpaudit.testers.event_choice import levels_of
from dpaudit.testers.kernels import MAX_COORDINATE, Points, as_they_are, radial
from dpaudit.testers.sequential import PairByPair, check_pairs
from dpaudit.testers.tester import Method

_FIRST_PAIRS = 10  # that are only learned from
_BLOCK_GROWTH, _MAX_BLOCK = 1.5, 64  # pairs between new bandwidths and new sets
_EPOCH_GROWTH = 1.5  # numbers of pairs that share one share of alpha
_PRIOR = 0.1  # of an output, which either side has everywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class APT(PairByPair):
    """Suspect a claim whose trade-off curve lies above the errors of a test between the sides.

    The test guesses the side of an output by the ratio of two kernel densities of past outputs. Its
    threshold, and the level at which its two errors are weighed, are where the past errors lie
    farthest below the claim's curve, along the diagonal. What every new pair says of that distance
    is averaged, less a band that shrinks by the law of the iterated logarithm. The lower bound is
    the largest such difference, after any number of pairs from `burn_in` on, and the threshold 0
    (docs/mathematics.md, section 7).

    The band rests on the normal approximation: `alpha` is kept in the limit of a long burn-in only,
    so this tester suspects and never refutes. A pair costs as many kernels as there were pairs
    before it; `most_pairs` bounds how many are looked at. They come in the order in which they are
    given, and `rng` is not used. Kernel densities are of no use for outputs of many columns.

    Source: Kutta, Dunsche, Wei and Zikas 2026, "Sequential auditing for f-differential privacy". We
    know the method, and not its constants. Ours are the band (epochs that grow by half), the
    bandwidth (Silverman's rule, for both sides together), how often sets are chosen, and that every
    error is counted on an output that was not learned before.

    >>> from dpaudit import GaussianDP
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 500))
    >>> tester, claim = APT(), GaussianDP(0.5)
    >>> tester.pairs_until_accused(x + 2.0, y, claim, alpha=0.05, rng=rng) < 200
    True
    >>> tester.pairs_until_accused(x, y, claim, alpha=0.05, rng=rng) is None
    True
    """

    burn_in: int = 50
    most_pairs: int = 10_000
    method: ClassVar[Method] = Method(
        source="Kutta, Dunsche, Wei and Zikas 2026",
        guarantee="asymptotic",
        assumptions=("The numbers of errors are nearly normal from the burn-in on.",),
    )

    def __post_init__(self) -> None:
        check_pairs("burn_in", self.burn_in)
        check_pairs("most_pairs", self.most_pairs)

    def _evidence(self, rows: Table, claim: Claim, *, alpha: float) -> Iterator[float]:
        points, pairs = as_they_are(rows), len(rows) // 2
        levels = np.array(levels_of(claim), dtype=np.float64)
        yield from [-math.inf] * min(_FIRST_PAIRS, pairs)
        scores, start, size = np.empty((0, 2)), _FIRST_PAIRS, _FIRST_PAIRS
        total = squares = 0.0
        while start < pairs:
            stop = min(start + size, pairs)
            chosen = _chosen(scores, levels)
            new = _log_ratios(points, start, stop)
            for place, distance in enumerate(chosen.distances(new), start=start + 1):
                total, squares = total + distance, squares + distance * distance
                enough = place >= self.burn_in
                yield self._lower(total, squares, place, alpha) if enough else -math.inf
            scores = np.concatenate([scores, new])
            start, size = stop, min(int(size * _BLOCK_GROWTH), _MAX_BLOCK)

    def _lower(self, total: float, squares: float, pairs: int, alpha: float) -> float:
        """The mean distance of all pairs counted, less its band."""
        counted = pairs - _FIRST_PAIRS
        mean = total / counted
        variance = (squares - total * mean + 1.0) / counted  # 1: one more, as far off as can be
        epoch = int(math.log(pairs / self.burn_in, _EPOCH_GROWTH))
        last = self.burn_in * _EPOCH_GROWTH ** (epoch + 1) - _FIRST_PAIRS
        share = alpha * 6.0 / (math.pi * (epoch + 1)) ** 2
        reach = -NormalDist().inv_cdf(share / 2.0) * math.sqrt(last) / counted
        return mean - reach * math.sqrt(variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """A set of outputs, `score > threshold`, and the level at which its errors are weighed."""

    threshold: float
    level: float
    delta: float

    def distances(self, scores: Floats) -> list[float]:
        """What each pair says of the distance; it has mean 0 or less if the claim holds.

        It is `(1 - delta - missed - e^level hit) / (1 + e^level)`.
        """
        missed, hit = scores[:, 0] <= self.threshold, scores[:, 1] > self.threshold
        weight = exp(self.level)
        found: list[float] = ((1.0 - self.delta - missed - weight * hit) / (1.0 + weight)).tolist()
        return found


def _chosen(scores: Floats, levels: Floats) -> _Chosen:
    """The set and the level at which the past lies farthest below the claim's curve.

    The threshold is half-way to the next score; 0, where both densities are the same, as long as
    there are none.
    """
    if len(scores) == 0:
        return _Chosen(threshold=0.0, level=float(levels[0, 0]), delta=float(levels[0, 1]))
    values = np.unique(scores)
    x, y = np.sort(scores, axis=0).T
    missed = np.searchsorted(x, values, side="right") / len(scores)
    hit = 1.0 - np.searchsorted(y, values, side="right") / len(scores)
    weights = np.exp(np.minimum(levels[:, :1], 700.0))
    below = (1.0 - levels[:, 1:] - missed - weights * hit) / (1.0 + weights)
    row, place = np.unravel_index(int(np.argmax(below)), below.shape)
    threshold = float(values[place : place + 2].mean())
    return _Chosen(threshold=threshold, level=float(levels[row, 0]), delta=float(levels[row, 1]))


def _log_ratios(points: Points, start: int, stop: int) -> Floats:
    """The log-ratio of the densities of both sides at both outputs of each pair, from earlier ones.

    They are kernel sums, with a little added so that where there is nothing the ratio is 1.
    """
    scaled = _scaled(points, 2 * start)
    late = scaled.part(slice(2 * start, 2 * stop)).each(lambda part: part[..., None])
    early = scaled.part(slice(2 * stop)).each(lambda part: part[:, None])
    alike = radial(late, early, 1.0)
    alike *= np.arange(2 * stop) // 2 < np.arange(2 * start, 2 * stop)[:, None] // 2
    data, neighbour = alike[:, 0::2].sum(axis=1), alike[:, 1::2].sum(axis=1)
    return np.asarray(np.log(data + _PRIOR) - np.log(neighbour + _PRIOR)).reshape(-1, 2)


def _scaled(points: Points, known: int) -> Points:
    """The points in units of the bandwidths of their columns, from the first `known` points.

    They are Silverman's, `0.9 min(sd, IQR / 1.34) n^(-1/(d+4))` (1986), d the columns that vary.
    """
    spreads = np.zeros(len(points.coordinates))
    for column, numbers in enumerate(points.coordinates[:, :known]):
        some = numbers if points.codes is None else numbers[points.codes[column, :known] < 0]
        spreads[column] = _spread(some)
    widths = 0.9 * spreads * known ** (-1.0 / (np.count_nonzero(spreads) + 4))
    widths[widths == 0.0] = 1.0
    with np.errstate(over="ignore"):
        scaled = np.clip(points.coordinates / widths[:, None], -MAX_COORDINATE, MAX_COORDINATE)
    return Points(scaled, points.codes)


def _spread(numbers: Floats) -> float:
    """The smaller one of two estimates of the standard deviation that are not 0; 0 if both are."""
    if len(numbers) < 2:
        return 0.0
    low, high = np.quantile(numbers, [0.25, 0.75])
    spreads = float(numbers.std()), float(high - low) / 1.34
    return min((one for one in spreads if one > 0.0), default=0.0)
