"""What the counts of an event certify: `P(A) - e^epsilon Q(A)`, and the strength of a claim.

The event is chosen on other outputs than those counted here. `exact` bounds hold at every level
epsilon at once; `hoeffding` and `gilbert_mcmillan` hold at one level that is fixed beforehand. The
proofs are in docs/mathematics.md, section 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpaudit.arrays import Counts, Floats
from dpaudit.bounds import epsilon_from_event, proportion_lower, proportion_upper
from dpaudit.claims import HIGHEST_LEVEL, Claim, point_of
from dpaudit.errors import UnsupportedClaim
from dpaudit.testers.tester import Finding, largest_strength

LevelBound: TypeAlias = Callable[[float], float]  # a bound on the divergence at a level epsilon

_GRID_LEVELS, _GOLDEN_SECTIONS = 9, 5  # the search for the level of the largest excess


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A certified lower bound on the whole privacy profile.

    `events` are pairs of a lower bound on `P(A)` and an upper bound on `Q(A)`. They hold together
    with probability at least `1 - alpha`.

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
        scale = exp(epsilon)
        return max(p - scale * q for p, q in self.events)


def of_cells(lower: Floats, upper: Floats) -> Curve:
    """The sum of `max(0, P(cell) - e^epsilon Q(cell))` over disjoint cells, as a curve.

    At each level it is the event of all cells with a positive term: those whose ratio exceeds
    `e^epsilon`, which come first in the order of the ratios.

    >>> curve = of_cells(np.array([0.5, 0.3, 0.1]), np.array([0.1, 0.3, 0.5]))
    >>> print(round(curve.delta_lower(0.0), 3), round(curve.epsilon_lower(0.0), 3))
    0.4 1.609
    """
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(upper) - np.log(np.maximum(lower, 1e-300)), kind="stable")
    likely, unlikely = (np.minimum(np.cumsum(each[order]), 1.0) for each in (lower, upper))
    return Curve(events=tuple(zip(likely.tolist(), unlikely.tolist(), strict=True)))


def exact(
    hits: Counts, draws: int, neighbour_hits: Counts, neighbour_draws: int, *, alpha: float
) -> Curve:
    """Bound k events at once, `alpha / 2k` a side for each (Clopper and Pearson 1934).

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
    """Bound one event by Hoeffding: take off `sqrt((1/n + e^2epsilon/n') log(1/alpha) / 2)`.

    The paper takes off the same where it tosses labels and `n : n' = 1 : e^epsilon`.

    >>> bound = hoeffding(90, 100, 10, 100, alpha=0.05)
    >>> print(round(bound(0.0), 3))
    0.627
    """
    p, q = hits / draws, neighbour_hits / neighbour_draws

    def bound(epsilon: float) -> float:
        spread = 1.0 / draws + exp(2.0 * epsilon) / neighbour_draws
        return p - exp(epsilon) * q - math.sqrt(spread * math.log(1.0 / alpha) / 2.0)

    return bound


def gilbert_mcmillan(
    hits: Counts, draws: int, neighbour_hits: Counts, neighbour_draws: int, *, alpha: float
) -> LevelBound:
    """Bound a whole histogram: `sum_j max(0, x_j/n - e^epsilon y_j/n')`, less two errors.

    With `spread = 1/n + e^2epsilon/n'` and m cells, the sum exceeds the divergence on average by at
    most `1/2 sqrt((m - 1) spread)`, and its own average by `sqrt(spread log(1/alpha) / 2)` with
    probability at most alpha (after Gilbert and McMillan 2018, "Property testing for differential
    privacy").

    >>> bound = gilbert_mcmillan(np.array([90, 10]), 100, np.array([10, 90]), 100, alpha=0.05)
    >>> print(round(bound(0.0), 3))
    0.556
    """
    x, y = hits / draws, neighbour_hits / neighbour_draws

    def bound(epsilon: float) -> float:
        plug_in = float(np.maximum(x - exp(epsilon) * y, 0.0).sum())
        spread = 1.0 / draws + exp(2.0 * epsilon) / neighbour_draws
        bias = 0.5 * math.sqrt((len(hits) - 1) * spread)
        return plug_in - bias - math.sqrt(spread * math.log(1.0 / alpha) / 2.0)

    return bound


def allowed(claim: Claim) -> float:
    """The largest divergence that a claim allows: at its epsilon, for pure and approximate DP.

    For any other profile it is the largest excess over the profile, which should not be positive.
    """
    if not isinstance(claim, Claim):
        raise UnsupportedClaim(
            f"a claim must have a privacy profile, delta(epsilon), got {claim!r}. "
            "Use PureDP, ApproxDP, GaussianDP, ZCDP, RenyiDP or Profile."
        )
    return (point_of(claim) or (0.0, 0.0))[1]


def curve_finding(claim: Claim, curve: Curve) -> Finding:
    """What bounds that hold at every level say about a claim.

    >>> from dpaudit import PureDP
    >>> finding = curve_finding(PureDP(1.0), Curve(events=((0.9, 0.1),)))
    >>> print(round(finding.strength_lower, 4))  # log(0.9 / 0.1)
    2.1972
    """
    if point := point_of(claim):
        strength = curve.epsilon_lower(allowed(claim))
        return Finding(lower_bound=curve.excess(point[0]), strength_lower=strength)
    last = 0.0  # the best level at one strength is nearly the best at the next

    def refuted(other: Claim) -> bool:
        nonlocal last
        if curve.excess(last) > other.delta(last):
            return True
        excess, last = _excess_over_profile(other, curve)
        return excess > 0.0

    excess, _ = _excess_over_profile(claim, curve)
    return Finding(lower_bound=excess, strength_lower=largest_strength(claim, refuted))


def level_finding(claim: Claim, bound: LevelBound, level: float) -> Finding:
    """What a bound that holds at one level says about a claim; `bound` decreases in the level.

    For pure and approximate DP the level is the claim's epsilon, and the strength is the largest
    epsilon refuted with all below.

    >>> bound = hoeffding(90, 100, 10, 100, alpha=0.05)
    >>> from dpaudit import PureDP
    >>> finding = level_finding(PureDP(1.0), bound, 1.0)
    >>> print(round(finding.lower_bound, 3), round(finding.strength_lower, 3))
    0.274 1.381
    """
    delta = allowed(claim)
    if point := point_of(claim):
        strength = largest_strength(claim, lambda other: bound(other.strength) > delta)
        return Finding(lower_bound=bound(point[0]), strength_lower=strength)
    certified = bound(level)
    return Finding(
        lower_bound=certified - claim.delta(level),
        strength_lower=largest_strength(claim, lambda other: certified > other.delta(level)),
    )


def _excess_over_profile(claim: Claim, curve: Curve) -> tuple[float, float]:
    """The largest `P(A) - e^epsilon Q(A) - delta(epsilon)`, and its level.

    It is concave in `e^epsilon`, so a coarse grid finds the peak and golden sections close in on
    it. Any level is valid: a profile of another shape costs sharpness only.
    """

    def excess(level: float) -> tuple[float, float]:
        return curve.excess(level) - claim.delta(level), level

    highest = min(curve.epsilon_lower(0.0), HIGHEST_LEVEL)
    levels = np.linspace(0.0, highest, _GRID_LEVELS).tolist()
    found = [excess(level) for level in levels]
    best = max(found)
    place = found.index(best)
    low, high = levels[max(place - 1, 0)], levels[min(place + 1, len(levels) - 1)]
    for _ in range(_GOLDEN_SECTIONS):
        left, right = excess(high - 0.618 * (high - low)), excess(low + 0.618 * (high - low))
        best = max(best, left, right)
        low, high = (low, right[1]) if left > right else (left[1], high)
    return best


def exp(value: float) -> float:
    """`e^value`; beyond 700, where floats end, `e^700`."""
    return math.exp(min(value, 700.0))
