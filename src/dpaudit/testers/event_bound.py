"""What the counts of an event certify: `P(A) - e^epsilon Q(A)`, and the strength of a claim.

The event is chosen on other outputs than those counted here. Three bounds:

- `exact`: a lower bound on `P(A)` and an upper bound on `Q(A)` (Clopper and Pearson 1934), each at
  half of alpha. They hold at every level epsilon at once, so the best level is free to choose.
- `hoeffding`: the penalty of the DP-Auditorium paper on the accuracy of a classifier.
- `gilbert_mcmillan`: the plug-in over all cells of a histogram, less its largest expected error.

The last two hold at one level that is fixed beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpaudit.arrays import Counts
from dpaudit.bounds import epsilon_from_event, proportion_lower, proportion_upper
from dpaudit.claims import HIGHEST_LEVEL, ApproxDP, Claim, PureDP, Scalable
from dpaudit.errors import UnsupportedClaim
from dpaudit.testers.batch import Finding

LevelBound: TypeAlias = Callable[[float], float]  # a bound on the divergence at a level epsilon

_STRONGEST = 1e6  # no sample certifies a strength beyond
_GOLDEN, _SECTIONS = 0.618, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A certified lower bound on the privacy profile: it holds at every epsilon and delta at once.

    `events` are pairs of a lower bound on `P(A)` and an upper bound on `Q(A)`, all of which hold
    together with probability at least `1 - alpha`.

    >>> curve = Curve(events=((0.5, 0.1), (0.1, 0.001)))
    >>> round(curve.delta_lower(0.0), 3), round(curve.epsilon_lower(0.0), 3)
    (0.4, 4.605)
    >>> curve.delta_lower(20.0), curve.epsilon_lower(0.9)
    (0.0, 0.0)
    """

    events: tuple[tuple[float, float], ...]

    def delta_lower(self, epsilon: float) -> float:
        """The delta that the mechanism has at least at this epsilon."""
        return max(0.0, self.excess(epsilon))

    def epsilon_lower(self, delta: float = 0.0) -> float:
        """The epsilon that the mechanism has at least at this delta."""
        return max(epsilon_from_event(p, q, delta) for p, q in self.events)

    def excess(self, epsilon: float) -> float:
        """The largest `P(A) - e^epsilon Q(A)` certified, which may be negative."""
        scale = _exp(epsilon)
        return max(p - scale * q for p, q in self.events)


def exact(
    hits: Counts, draws: int, neighbour_hits: Counts, neighbour_draws: int, *, alpha: float
) -> Curve:
    """Bound several events at once, `alpha / 2k` a side for each of the k.

    >>> curve = exact(np.array([90]), 100, np.array([10]), 100, alpha=0.05)
    >>> print(round(curve.excess(0.0), 3), round(curve.epsilon_lower(0.0), 3))
    0.648 1.542
    """
    share = alpha / (2 * len(hits))
    lower = proportion_lower(hits, draws, share)
    upper = proportion_upper(neighbour_hits, neighbour_draws, share)
    return Curve(events=tuple(zip(lower.tolist(), upper.tolist(), strict=True)))


def hoeffding(
    hits: int, draws: int, neighbour_hits: int, neighbour_draws: int, *, alpha: float
) -> LevelBound:
    """Bound one event as the paper does: by Hoeffding's inequality on a classifier's accuracy.

    The paper tosses labels, `1 : e^epsilon`, and takes `sqrt(log(1/alpha) / 2m)` off the accuracy,
    so `(1 + e^epsilon)` times that off the divergence. Here the numbers of both labels are given,
    all outputs count, and Hoeffding's inequality (1963, theorem 2) for independent terms takes off
    `sqrt((1/n + e^2epsilon/n') log(1/alpha) / 2)`: the same where `n : n' = 1 : e^epsilon`.

    >>> bound = hoeffding(90, 100, 10, 100, alpha=0.05)
    >>> print(round(bound(0.0), 3))
    0.627
    """
    p, q = hits / draws, neighbour_hits / neighbour_draws

    def bound(epsilon: float) -> float:
        spread = _spread(draws, neighbour_draws, epsilon)
        return p - _exp(epsilon) * q - math.sqrt(spread * math.log(1.0 / alpha) / 2.0)

    return bound


def gilbert_mcmillan(
    hits: Counts, draws: int, neighbour_hits: Counts, neighbour_draws: int, *, alpha: float
) -> LevelBound:
    """Bound a whole histogram: `sum_j max(0, z_j)`, `z_j = x_j/n - e^epsilon y_j/n'`, less errors.

    With `spread = 1/n + e^2epsilon/n'` and m cells, the sum exceeds the divergence on average by at
    most `sum_j E[(z_j - E z_j)^+] <= 1/2 sum_j sd(z_j) <= 1/2 sqrt((m - 1) spread)`, and its own
    average by `sqrt(spread log(1/alpha) / 2)` with probability at most alpha (McDiarmid 1989: one
    output moves the sum by at most `1/n`, or `e^epsilon/n'`). After Gilbert and McMillan 2018,
    "Property testing for differential privacy", whose sample sizes balance the same two errors.

    >>> bound = gilbert_mcmillan(np.array([90, 10]), 100, np.array([10, 90]), 100, alpha=0.05)
    >>> print(round(bound(0.0), 3))
    0.556
    """
    x, y = hits / draws, neighbour_hits / neighbour_draws

    def bound(epsilon: float) -> float:
        plug_in = float(np.maximum(x - _exp(epsilon) * y, 0.0).sum())
        spread = _spread(draws, neighbour_draws, epsilon)
        bias = 0.5 * math.sqrt((len(hits) - 1) * spread)
        return plug_in - bias - math.sqrt(spread * math.log(1.0 / alpha) / 2.0)

    return bound


def allowed(claim: Claim) -> float:
    """The largest divergence that a claim allows.

    For pure and approximate DP the divergence is taken at the claim's epsilon; for any other
    profile it is the largest excess over the profile, which should not be positive.

    >>> allowed(ApproxDP(1.0, 1e-5)), allowed(PureDP(1.0))
    (1e-05, 0.0)
    """
    if not isinstance(claim, Claim):
        raise UnsupportedClaim(
            f"a claim must have a privacy profile, delta(epsilon), got {claim!r}. "
            "Use PureDP, ApproxDP, GaussianDP, ZCDP, RenyiDP or Profile."
        )
    return claim.delta(claim.epsilon) if isinstance(claim, PureDP | ApproxDP) else 0.0


def curve_finding(claim: Claim, curve: Curve) -> Finding:
    """What bounds that hold at every level say about a claim.

    >>> from dpaudit.claims import GaussianDP
    >>> finding = curve_finding(GaussianDP(mu=1.0), Curve(events=((0.9, 0.1),)))
    >>> print(round(finding.strength_lower, 4))  # the normal quantiles of 0.9 and 0.1: 2 * 1.2816
    2.5631
    """
    if isinstance(claim, PureDP | ApproxDP):
        return Finding(
            lower_bound=curve.excess(claim.epsilon),
            strength_lower=curve.epsilon_lower(allowed(claim)),
        )

    last = 0.0  # the best level at one strength is nearly the best at the next

    def refuted(strength: float) -> bool:
        nonlocal last
        assert isinstance(claim, Scalable)
        other = claim.with_strength(strength)
        if curve.excess(last) > other.delta(last):
            return True
        excess, last = _excess_over_profile(other, curve)
        return excess > 0.0

    return Finding(
        lower_bound=_excess_over_profile(claim, curve)[0],
        strength_lower=(
            largest_refuted(refuted, claim.strength) if isinstance(claim, Scalable) else None
        ),
    )


def level_finding(claim: Claim, bound: LevelBound, level: float) -> Finding:
    """What a bound that holds at one level says about a claim; `bound` decreases in the level.

    For pure and approximate DP the level is the claim's epsilon. Their strength is the largest
    epsilon refuted with all below: the nulls are nested, so strength and verdict are wrong only
    where the test at the true epsilon failed. (The divergence itself is bounded at its own level:
    as a number it fails with probability at most alpha too, but not always at the same time.)

    >>> bound = hoeffding(90, 100, 10, 100, alpha=0.05)
    >>> finding = level_finding(PureDP(1.0), bound, 1.0)
    >>> print(round(finding.lower_bound, 3), round(finding.strength_lower, 3))
    0.274 1.381
    """
    delta = allowed(claim)
    if isinstance(claim, PureDP | ApproxDP):
        return Finding(
            lower_bound=bound(claim.epsilon),
            strength_lower=largest_refuted(lambda value: bound(value) > delta, claim.epsilon),
        )
    certified = bound(level)

    def refuted(strength: float) -> bool:
        assert isinstance(claim, Scalable)
        return certified > claim.with_strength(strength).delta(level)

    return Finding(
        lower_bound=certified - claim.delta(level),
        strength_lower=(
            largest_refuted(refuted, claim.strength) if isinstance(claim, Scalable) else None
        ),
    )


def largest_refuted(refuted: Callable[[float], bool], start: float, *, steps: int = 24) -> float:
    """The largest strength that is refuted, where those below it are too; 0 if none is.

    >>> round(largest_refuted(lambda strength: strength < 1.25, 1.0), 6)
    1.25
    """
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, max(start, 1e-3)
    while refuted(high):
        low, high = high, 2.0 * high
        if high > _STRONGEST:
            return low
    for _ in range(steps):
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _excess_over_profile(claim: Claim, curve: Curve) -> tuple[float, float]:
    """The largest `P(A) - e^epsilon Q(A) - delta(epsilon)`, and its level.

    It is concave in `e^epsilon`, so a coarse grid finds the peak and golden sections close in on
    it. Any level is valid: a profile of another shape costs sharpness only. Where `P(A) / Q(A)`
    ends, nothing is left.
    """

    def excess(level: float) -> tuple[float, float]:
        return curve.excess(level) - claim.delta(level), level

    levels = np.linspace(0.0, min(curve.epsilon_lower(0.0), HIGHEST_LEVEL), 9).tolist()
    found = [excess(level) for level in levels]
    best = max(found)
    place = found.index(best)
    low, high = levels[max(place - 1, 0)], levels[min(place + 1, len(levels) - 1)]
    for _ in range(_SECTIONS):
        left = excess(high - _GOLDEN * (high - low))
        right = excess(low + _GOLDEN * (high - low))
        best = max(best, left, right)
        low, high = (low, right[1]) if left > right else (left[1], high)
    return best


def _spread(draws: int, neighbour_draws: int, epsilon: float) -> float:
    return 1.0 / draws + _exp(2.0 * epsilon) / neighbour_draws


def _exp(value: float) -> float:
    return math.exp(min(value, 700.0))
