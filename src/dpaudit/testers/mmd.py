"""The MMD tester: how far apart the means of two sides are, seen through a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.bounds import mean_lower
from dpaudit.claims import Claim, point_of
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import LabelledRows, Share
from dpaudit.testers.kernels import (
    Kernel,
    Kind,
    Points,
    ToPoints,
    as_they_are,
    block_means,
    median_distance,
    ranks_of,
)
from dpaudit.testers.tester import Finding, HeldOutTester, Method, Parts, Rng, check_choices

Estimator: TypeAlias = Literal["block", "linear"]
Bound: TypeAlias = Literal["betting", "bernstein", "hoeffding"]
Rule: TypeAlias = Literal["total-variation", "paper"]

_SCREENING_OUTPUTS = 2_048  # training outputs of a side from which single columns are compared
_BANDWIDTHS = (0.05, 0.2, 0.5, 1.0, 2.0)  # tried, in units of the median distance
_BLOCK_SIZES = (2, 4, 8, 16)  # points of a side in a block
_MIN_TRAINING_BLOCKS = 16  # that say something about their spread
_FAR_RANKS, _FAR_BANDWIDTHS = 1.0, 3.0  # how far an atom is from all else, on the two scales


@dataclass(frozen=True, slots=True, kw_only=True)
class MMDTester(HeldOutTester):
    """Test the maximum mean discrepancy of the two sides, symmetric in them.

    A claim bounds the total variation by `claim.delta(0)`, and for kernels from 0 to 1 the
    discrepancy is at most `sqrt(2)` times that. Part of the outputs chooses the kernel: ranks make
    the columns comparable, the bandwidth is a multiple of the median distance, and one column is
    taken instead of all where it shows more. The others bound the mean of the block estimates.

    - `estimator="block"` also chooses the size of the blocks; `"linear"` takes two by two.
    - `bandwidth`: a number fixes the kernel, in the outputs' own units.
    - `bound`: the bound on a mean, see `dpaudit.bounds.means`.
    - `rule="paper"` is the larger threshold of DP-Auditorium, `e^epsilon - 1 + (1 + e^-epsilon)
      delta`, which no discrepancy can exceed from epsilon 0.882 on.

    Source: Gretton et al. 2012, "A kernel two-sample test"; Kong, Medina, Ribero and Syed 2023,
    "DP-Auditorium", whose threshold is larger than it need be.

    >>> tester, rng = MMDTester(), np.random.default_rng(0)
    >>> from dpaudit import PureDP
    >>> found = tester.examine(np.zeros(5000), np.ones(5000), PureDP(1.0), alpha=0.025, rng=rng)
    >>> found.lower_bound > tester.threshold(PureDP(1.0)), found.strength_lower > 5.0
    (True, True)
    """

    method: ClassVar[Method] = Method(
        source="Gretton et al. 2012; Kong, Medina, Ribero and Syed 2023", guarantee="exact"
    )
    kernel: Kind = "rbf"
    estimator: Estimator = "block"
    bandwidth: float | Literal["median"] = "median"
    bound: Bound = "betting"
    rule: Rule = "total-variation"
    _share = Share(training=0.2, most=32_768)

    def __post_init__(self) -> None:
        check_choices(
            self,
            kernel=get_args(Kind),
            estimator=get_args(Estimator),
            bound=get_args(Bound),
            rule=get_args(Rule),
        )
        width = self.bandwidth
        number = isinstance(width, Real) and not isinstance(width, bool)
        if width != "median" and not (number and 0.0 < width < math.inf):
            raise ValueError(f'bandwidth must be "median" or a number > 0, got {self.bandwidth!r}.')

    def threshold(self, claim: Claim) -> float:
        """The largest discrepancy that the claim allows."""
        if self.rule == "total-variation":
            return math.sqrt(2.0) * claim.delta(0.0)
        if (point := point_of(claim)) is None:
            raise UnsupportedClaim(
                f'rule="paper" knows PureDP and ApproxDP, got {claim}. '
                'Leave it out: rule="total-variation" takes every claim.'
            )
        epsilon, delta = point
        growth = math.expm1(min(epsilon, 700.0))  # a finite number
        return growth + (1.0 + math.exp(-epsilon)) * delta

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        learned, held_out = parts
        price = math.log(1.0 / alpha) / min(map(len, held_out.sides))
        plan = self._plan(learned, price)
        shares, guess = (_shares(plan.estimates(each)) for each in (held_out, learned))
        return self._finding(mean_lower(shares, alpha, bound=self.bound, guess=guess), claim)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What sides that no kernel confuses would give: blocks of two that all say 2.

        For betting `alpha^(1/blocks)`, the most that any bound on a mean can say of ones only.
        """
        blocks = min(map(self._share.held_out, (draws, neighbour_draws))) // 2
        if self.bound == "betting":
            share = alpha ** (1.0 / blocks) if blocks > 0 else 0.0
        else:
            share = mean_lower(np.ones(blocks), alpha, bound=self.bound)
        return self._finding(share, claim)

    def _finding(self, share: float, claim: Claim) -> Finding:
        """From a bound on the mean of estimates brought from [-2, 2] to [0, 1]."""
        lower = math.sqrt(max(4.0 * share - 2.0, 0.0))
        return self._with_strength(claim, lower)

    def _plan(self, learned: LabelledRows, price: float) -> _Plan:
        """Choose kernel, columns and blocks by the bound to be expected on the outputs held out."""
        data, neighbour = learned.sides
        if self.bandwidth == "median":
            points = ranks_of(data, neighbour)
            first, second = points(data, slice(None)), points(neighbour, slice(None))
            columns, kernel = _kernel_for(self.kernel, first, second, price)
            first, second = first.along(columns), second.along(columns)
        else:
            far = _FAR_BANDWIDTHS * self.bandwidth
            kernel = Kernel(kind=self.kernel, bandwidth=self.bandwidth, far=far)
            points, columns = as_they_are, slice(None)
            first, second = as_they_are(data), as_they_are(neighbour)
        sizes = _BLOCK_SIZES if self.estimator == "block" else _BLOCK_SIZES[:1]
        fewer = min(len(data), len(neighbour))
        known = [size for size in sizes if size == 2 or fewer >= size * _MIN_TRAINING_BLOCKS]
        size = min(
            known, key=lambda size: _width(_means(kernel, first, second, size), price * size)
        )
        return _Plan(kernel=kernel, points=points, columns=columns, size=size, largest=sizes[-1])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Plan:
    """How to estimate the discrepancy of the outputs held out."""

    kernel: Kernel
    points: ToPoints
    columns: slice
    size: int
    largest: int

    def estimates(self, outputs: LabelledRows) -> Floats:
        """One estimate a block. A block holds more points of the larger side."""
        sides = outputs.sides
        blocks = min(map(len, sides)) // self.size
        if blocks == 0:
            return np.empty(0)
        m, n = (min(len(side) // blocks, self.largest) for side in sides)
        first, second = (
            self.points(side.take(slice(blocks * size)), self.columns)
            for side, size in zip(sides, (m, n), strict=True)
        )
        return block_means(self.kernel, first, second, blocks=blocks, sizes=(m, n))


def _expected(means: Floats, price: float) -> float:
    """Bernstein's bound from the means of training blocks, less the standard error of their mean.

    `price` is `log(1 / alpha)` over the number of blocks held out.
    """
    if len(means) == 0:
        return -math.inf
    return float(means.mean() - means.std() / math.sqrt(len(means))) - _width(means, price)


def _width(means: Floats, price: float) -> float:
    spread = float(means.var()) if len(means) else 1.0
    return math.sqrt(2.0 * spread * price) + 2.0 * price


def _means(kernel: Kernel, first: Points, second: Points, size: int) -> Floats:
    blocks = min(first.count, second.count) // size
    return block_means(kernel, first, second, blocks=blocks, sizes=(size, size))


def _kernel_for(kind: Kind, first: Points, second: Points, price: float) -> tuple[slice, Kernel]:
    """The kernel on all columns, or on one that is expected to show more than all of them."""
    bound, kernel = _bandwidth_for(kind, first, second, price)
    if len(first.coordinates) == 1:
        return slice(None), kernel
    few = slice(_SCREENING_OUTPUTS)
    single = [slice(column, column + 1) for column in range(len(first.coordinates))]
    screened = [
        _bandwidth_for(kind, first.along(one).part(few), second.along(one).part(few), price)[0]
        for one in single
    ]
    one = single[int(np.argmax(screened))]
    alone = _bandwidth_for(kind, first.along(one), second.along(one), price)
    return (one, alone[1]) if alone[0] > bound else (slice(None), kernel)


def _bandwidth_for(kind: Kind, first: Points, second: Points, price: float) -> tuple[float, Kernel]:
    """The best expected bound and its bandwidth; 0 and the median distance if none is positive."""
    trained = min(first.count, second.count)
    size = max(
        size for size in _BLOCK_SIZES if size == 2 or trained >= size * 2 * _MIN_TRAINING_BLOCKS
    )
    median = median_distance(kind, _FAR_RANKS, first, second)
    kernels = [Kernel(kind=kind, bandwidth=each * median, far=_FAR_RANKS) for each in _BANDWIDTHS]
    bounds = [_expected(_means(kernel, first, second, size), price * size) for kernel in kernels]
    best = int(np.argmax(bounds))
    if bounds[best] > 0.0:
        return bounds[best], kernels[best]
    return 0.0, Kernel(kind=kind, bandwidth=median, far=_FAR_RANKS)


def _shares(estimates: Floats) -> Floats:
    """Estimates from [-2, 2] to [0, 1]; clipped for rounding only."""
    return np.clip((estimates + 2.0) / 4.0, 0.0, 1.0)
