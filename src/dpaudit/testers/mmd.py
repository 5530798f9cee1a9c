"""The MMD tester: how far apart the means of two sides are, seen through a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias, get_args

import numpy as np

from dpaudit.bounds import mean_lower
from dpaudit.claims import ApproxDP, Claim, PureDP, Scalable
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import LabelledRows, Samples, Share
from dpaudit.testers.batch import Examiner, Finding, refuse_if_powerless
from dpaudit.testers.kernels import (
    Floats,
    Kernel,
    Kind,
    Points,
    Ranks,
    as_they_are,
    block_means,
    median_distance,
)

Estimator: TypeAlias = Literal["block", "linear"]
Bound: TypeAlias = Literal["betting", "bernstein", "hoeffding"]
Rule: TypeAlias = Literal["total-variation", "paper"]

_SHARE = Share(training=0.2, most=32_768)
_SCREENED = 2_048  # training outputs from which single columns are compared
_MULTIPLES = (0.05, 0.2, 0.5, 1.0, 2.0)  # of the median distance: bandwidths that are tried
_SIZES = (2, 4, 8, 16)  # points of a side in a block
_FEWEST = 16  # training blocks that say something of their spread
_FAR_RANKS, _FAR_BANDWIDTHS = 1.0, 3.0  # how far an atom is from all else, on the two scales
_LARGEST_EPSILON = 700.0  # its exponential is still a float


@dataclass(frozen=True, slots=True, kw_only=True)
class MMDTester(Examiner):
    """Test the maximum mean discrepancy of the two sides, symmetric in them.

    A claim bounds the total variation by `claim.delta(0)`, and for kernels from 0 to 1 the
    discrepancy is at most `sqrt(2)` times that. Part of the outputs chooses the kernel: ranks make
    the columns comparable, the median distance or a multiple of it is the bandwidth, one column is
    taken instead of all where it shows more. The others bound the mean of the block estimates.

    - `estimator="block"` also chooses the size of the blocks; `"linear"` takes two by two.
    - `bandwidth`: a number fixes the kernel, in the outputs' own units.
    - `bound`: the bound on a mean, see `dpaudit.bounds.means`.
    - `rule="paper"` is the larger threshold of DP-Auditorium, `e^epsilon - 1 + (1 + e^-epsilon)
      delta`, which no discrepancy can exceed from epsilon 0.882 on.

    Source: Gretton et al. 2012, "A kernel two-sample test"; Kong, Medina, Ribero and Syed 2023,
    "DP-Auditorium", whose threshold is larger than it need be.

    >>> tester, rng = MMDTester(), np.random.default_rng(0)
    >>> found = tester.examine(np.zeros(5000), np.ones(5000), PureDP(1.0), alpha=0.025, rng=rng)
    >>> found.lower_bound > tester.threshold(PureDP(1.0)), found.strength_lower > 5.0
    (True, True)
    """

    kernel: Kind = "rbf"
    estimator: Estimator = "block"
    bandwidth: float | Literal["median"] = "median"
    bound: Bound = "betting"
    rule: Rule = "total-variation"

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, "
                    f"got {getattr(self, name)!r}."
                )
        if self.bandwidth != "median" and not _is_width(self.bandwidth):
            raise ValueError(f'bandwidth must be "median" or a number > 0, got {self.bandwidth!r}.')

    def threshold(self, claim: Claim) -> float:
        """The largest discrepancy that the claim allows.

        >>> round(MMDTester().threshold(PureDP(1.0)), 4)
        0.6535
        >>> round(MMDTester(rule="paper").threshold(PureDP(1.0)), 4)
        1.7183
        """
        if self.rule == "total-variation":
            return math.sqrt(2.0) * claim.delta(0.0)
        if not isinstance(claim, PureDP | ApproxDP):
            raise UnsupportedClaim(
                f'rule="paper" knows PureDP and ApproxDP, got {claim}. '
                'Leave it out: rule="total-variation" takes every claim.'
            )
        epsilon = min(claim.epsilon, _LARGEST_EPSILON)
        delta = claim.delta_at_epsilon if isinstance(claim, ApproxDP) else 0.0
        return math.expm1(epsilon) + (1.0 + math.exp(-epsilon)) * delta

    def examine(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> Finding:
        """Bound the discrepancy, and the claim's parameter with it."""
        learned, held_out = _SHARE.part(outputs, neighbour_outputs, rng)
        draws, neighbour_draws = len(outputs), len(neighbour_outputs)
        refuse_if_powerless(self, claim, draws, neighbour_draws, alpha=alpha)
        room = min(_SHARE.held_out(draws), _SHARE.held_out(neighbour_draws))
        plan = self._plan(learned, room, alpha)
        shares, guess = (_shares(plan.estimates(each)) for each in (held_out, learned))
        return self._finding(mean_lower(shares, alpha, bound=self.bound, guess=guess), claim)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What sides that no kernel confuses would give: blocks of two that all say 2.

        For betting `alpha^(1/blocks)`, the most that any bound on a mean can say of ones only.
        """
        blocks = min(_SHARE.held_out(draws), _SHARE.held_out(neighbour_draws)) // 2
        if self.bound == "betting":
            share = alpha ** (1.0 / blocks) if blocks > 0 else 0.0
        else:
            share = mean_lower(np.ones(blocks), alpha, bound=self.bound)
        return self._finding(share, claim)

    def _finding(self, share: float, claim: Claim) -> Finding:
        """From a bound on the mean of estimates brought from [-2, 2] to [0, 1]."""
        lower = math.sqrt(max(4.0 * share - 2.0, 0.0))
        return Finding(lower_bound=lower, strength_lower=self._strength(claim, lower))

    def _strength(self, claim: Claim, lower: float) -> float | None:
        """The largest strength of the claim whose threshold is still below the bound."""
        if not isinstance(claim, Scalable):
            return None
        low, high = 0.0, 1.0
        if self.threshold(claim.with_strength(low)) >= lower:
            return 0.0
        while self.threshold(claim.with_strength(high)) < lower and high < _LARGEST_EPSILON:
            low, high = high, 2.0 * high
        while high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            refuted = self.threshold(claim.with_strength(middle)) < lower
            low, high = (middle, high) if refuted else (low, middle)
        return low

    def _plan(self, learned: LabelledRows, room: int, alpha: float) -> _Plan:
        """Choose kernel, columns and blocks by the bound that training outputs promise."""
        promise = _Promise(room, alpha)
        data, neighbour = learned.sides
        if self.bandwidth == "median":
            ranks = Ranks.of(data, neighbour)
            first, second = ranks.points(data), ranks.points(neighbour)
            columns, kernel = _kernel_for(self.kernel, first, second, promise)
            first, second = first.along(columns), second.along(columns)
        else:
            far = _FAR_BANDWIDTHS * self.bandwidth
            kernel = Kernel(kind=self.kernel, bandwidth=self.bandwidth, far=far)
            ranks, columns = None, slice(None)
            first, second = as_they_are(data), as_they_are(neighbour)
        sizes = _SIZES if self.estimator == "block" else _SIZES[:1]
        fewer = min(len(data), len(neighbour))
        known = [size for size in sizes if size == 2 or fewer >= size * _FEWEST]
        size = min(known, key=lambda size: promise.width(kernel, first, second, size))
        return _Plan(kernel=kernel, ranks=ranks, columns=columns, size=size, largest=sizes[-1])


_CHOICES: dict[str, tuple[str, ...]] = {
    "kernel": get_args(Kind),
    "estimator": get_args(Estimator),
    "bound": get_args(Bound),
    "rule": get_args(Rule),
}


def _is_width(value: object) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return 0.0 < float(value) < math.inf


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Plan:
    """How to look at the outputs that were not learned from."""

    kernel: Kernel
    ranks: Ranks | None  # None: outputs in their own units
    columns: slice
    size: int
    largest: int

    def estimates(self, outputs: LabelledRows) -> Floats:
        """One estimate a block; of a larger side a block holds more."""
        data, neighbour = outputs.sides
        blocks = min(len(data), len(neighbour)) // self.size
        if blocks == 0:
            return np.empty(0)
        sizes = (
            min(len(data) // blocks, self.largest),
            min(len(neighbour) // blocks, self.largest),
        )
        points = as_they_are if self.ranks is None else self.ranks.points
        first = points(data.take(slice(blocks * sizes[0])), self.columns)
        second = points(neighbour.take(slice(blocks * sizes[1])), self.columns)
        return block_means(self.kernel, first, second, blocks=blocks, sizes=sizes)


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a choice made on training outputs promises for `room` outputs a side."""

    room: int
    alpha: float

    def of(self, kernel: Kernel, first: Points, second: Points, size: int) -> float:
        """Bernstein's bound from the training blocks, less what their own mean may be off."""
        means = _estimates(kernel, first, second, size)
        if len(means) == 0:
            return -math.inf
        return float(means.mean() - means.std() / math.sqrt(len(means))) - self._width(means, size)

    def width(self, kernel: Kernel, first: Points, second: Points, size: int) -> float:
        """How far that bound lies below the mean, which is the same for blocks of every size."""
        return self._width(_estimates(kernel, first, second, size), size)

    def _width(self, means: Floats, size: int) -> float:
        price = math.log(1.0 / self.alpha) * size / self.room
        spread = float(means.var()) if len(means) else 1.0
        return math.sqrt(2.0 * spread * price) + 2.0 * price


def _estimates(kernel: Kernel, first: Points, second: Points, size: int) -> Floats:
    blocks = min(first.count, second.count) // size
    return block_means(kernel, first, second, blocks=blocks, sizes=(size, size))


def _kernel_for(
    kind: Kind, first: Points, second: Points, promise: _Promise
) -> tuple[slice, Kernel]:
    """The kernel on all columns, or on the one that promises more than all of them."""
    everything = _bandwidth_for(kind, first, second, promise)
    if len(first.coordinates) == 1:
        return slice(None), everything[1]
    few = slice(_SCREENED)
    single = [slice(column, column + 1) for column in range(len(first.coordinates))]
    screened = [
        _bandwidth_for(kind, first.along(one).part(few), second.along(one).part(few), promise)[0]
        for one in single
    ]
    one = single[int(np.argmax(screened))]
    alone = _bandwidth_for(kind, first.along(one), second.along(one), promise)
    return (one, alone[1]) if alone[0] > everything[0] else (slice(None), everything[1])


def _bandwidth_for(
    kind: Kind, first: Points, second: Points, promise: _Promise
) -> tuple[float, Kernel]:
    """The multiple of the median distance that promises most; the median where none promises."""
    trained = min(first.count, second.count)
    size = max(size for size in _SIZES if size == 2 or trained >= size * 2 * _FEWEST)
    median = median_distance(kind, _FAR_RANKS, first, second)
    kernels = [Kernel(kind=kind, bandwidth=each * median, far=_FAR_RANKS) for each in _MULTIPLES]
    promised = [promise.of(kernel, first, second, size) for kernel in kernels]
    best = int(np.argmax(promised))
    if promised[best] > 0.0:
        return promised[best], kernels[best]
    return 0.0, Kernel(kind=kind, bandwidth=median, far=_FAR_RANKS)


def _shares(estimates: Floats) -> Floats:
    """Estimates from [-2, 2] to [0, 1]; clipped for rounding only."""
    return np.clip((estimates + 2.0) / 4.0, 0.0, 1.0)
