"""The floor of a row: the fewest draws with which anybody could refute a claim, on average.

It is `log(1/alpha) / G`, `G` the expected log-payoff per draw of the best bet of somebody who knows
both distributions (docs/mathematics.md, sections 2 to 5). The sides are given as masses of common
cells; the best bet is found by numerical search over the closed forms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import expit

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, Claim, GaussianDP, RenyiDP, point_of

_TANGENTS, _THRESHOLDS = 32, 40
_MIXING_ROUNDS = (1_500, 3_000, 20_000)
_LEAST_SHARE = 0.05  # of an even share: bets with less are left out
_ORDERS = (1.05, 1.2, 1.5, 2.0, 3.0, 5.0, 9.0)
_LEAST = 1e-300  # stands for a mass of zero


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sides:
    """How likely each cell is on the data, and on their neighbour."""

    data: Floats
    neighbour: Floats

    @property
    def log_odds(self) -> Floats:
        """The log-odds of the data in each cell."""
        ours, theirs = (np.log(np.maximum(side, _LEAST)) for side in (self.data, self.neighbour))
        return np.asarray(np.clip(ours - theirs, -60.0, 60.0))

    def growth(self, up: Floats, down: Floats) -> Floats:
        """The expected log-payoff per draw, given the log-payoffs in each cell."""
        return np.asarray(0.5 * (up @ self.data + down @ self.neighbour))


def best_growth(sides: Sides, claim: Claim) -> float:
    """The largest expected log-payoff per draw against a claim.

    >>> half = Sides(data=np.array([1.0, 0.0]), neighbour=np.array([0.0, 1.0]))
    >>> from dpaudit.claims import PureDP
    >>> print(round(best_growth(half, PureDP(1.0)), 4))  # log(1 + 1/e)
    0.3133
    """
    point = point_of(claim)
    if point is not None:
        return _point_growth(sides, *point)
    if isinstance(claim, RenyiDP):
        return _renyi_growth(sides, claim.order, claim.epsilon)
    if isinstance(claim, ZCDP):
        return max(_renyi_growth(sides, order, claim.rho * order) for order in _ORDERS)
    assert isinstance(claim, GaussianDP)
    return _profile_growth(sides, claim)


def _log_payoffs(
    log_odds: Floats, epsilon: float, delta: float, tilt: float, down: float, up: float
) -> tuple[Floats, Floats]:
    """`log S_P` and `log S_Q` of the closed form, `a/b = e^tilt`, bet on up to these margins."""
    a = 2.0 * expit(tilt)
    b, shrink, grow = 2.0 - a, math.exp(-epsilon), math.exp(epsilon)
    lowest, highest = tilt - epsilon - down, tilt + epsilon + up
    told = np.clip(log_odds, lowest, highest)
    one, zero = expit(told), expit(-told)
    rising, falling = told > tilt + epsilon, told < tilt - epsilon
    paid = np.where(rising, one * (a + b * shrink), np.where(falling, one * (a + b * grow), a))
    owed = np.where(falling, zero * (b + a * shrink), np.where(rising, zero * (b + a * grow), b))
    most_v = max(float(expit(highest)) * (a + b * shrink) - a, 0.0)
    most_w = max(float(expit(-lowest)) * (b + a * shrink) - b, 0.0)
    price = math.log1p(0.5 * delta * (most_v + most_w))
    return np.log(paid) - price, np.log(owed) - price


def _point_growth(sides: Sides, epsilon: float, delta: float) -> float:
    """Search the stake and, with a delta, how far each direction is bet on."""
    log_odds = sides.log_odds

    def grown(tilt: float, down: float, up: float) -> float:
        return float(sides.growth(*_log_payoffs(log_odds, epsilon, delta, tilt, down, up)))

    if delta == 0.0:
        found = optimize.minimize_scalar(
            lambda tilt: -grown(tilt, 90.0, 90.0), bounds=(-5.0, 5.0), method="bounded",
            options={"xatol": 1e-10},
        )  # fmt: skip
        return -float(found.fun)
    best = 0.0
    for down, up in ((-60.0, 0.0), (0.0, -60.0), (0.0, 0.0), (1.0, 1.0)):  # logarithms, to start at
        value = _highest(
            lambda at: 1e6 * grown(at[0], *np.exp(np.clip(at[1:], -60.0, 5.0))), [0.0, down, up]
        )
        best = max(best, value / 1e6)
    return best


def _highest(function: Callable[[Floats], float], start: list[float]) -> float:
    """The highest value of a function near a start; starting again frees a search that is stuck."""
    place, value = np.array(start), -math.inf
    for _ in range(3):
        found: Any = optimize.minimize(  # type: ignore[call-overload]
            lambda at: -function(at), place, method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 3_000},
        )  # fmt: skip
        place, value = np.asarray(found.x, dtype=np.float64), -float(found.fun)
    return value


def _profile_growth(sides: Sides, claim: GaussianDP) -> float:
    """The best average of bets on the label and on events (Cover 1984).

    Every tangent may be bet on with every event "the log-odds exceed a threshold".
    """
    levels = np.array(claim.tangents(_TANGENTS))
    thresholds = np.quantile(sides.log_odds, np.linspace(0.5, 0.999, _THRESHOLDS))
    levels, thresholds = np.repeat(levels, _THRESHOLDS, axis=0), np.tile(thresholds, len(levels))
    epsilon, delta = levels[:, :1], levels[:, 1:]
    log_odds, ones = sides.log_odds, np.ones(len(sides.data))
    nu = 2.0 / (delta + np.exp(epsilon))
    ups, downs = [2.0 * ones[None], 0.0 * ones[None]], [0.0 * ones[None], 2.0 * ones[None]]
    for likelier, rarer, told in ((ups, downs, log_odds), (downs, ups, -log_odds)):
        event = told > thresholds[:, None]
        likelier.append(nu * event)
        rarer.append((2.0 - delta * nu) * ~event)
    up, down = np.concatenate(ups), np.concatenate(downs)
    share = np.full(len(up), 1.0 / len(up))
    one, zero = 0.5 * sides.data, 0.5 * sides.neighbour
    for rounds in _MIXING_ROUNDS:
        kept = share > _LEAST_SHARE / len(share)  # first all bets, then those that are left
        up, down, share = up[kept], down[kept], share[kept]
        for _ in range(rounds):
            share = share * (up @ (one / (share @ up)) + down @ (zero / (share @ down)))
    return float(one @ np.log(share @ up) + zero @ np.log(share @ down))


def _renyi_growth(sides: Sides, order: float, epsilon: float) -> float:
    """Search stake, clip and tilt of the bet on a Rényi divergence, in both directions at once."""
    k = (order - 1.0) / order
    log_odds = sides.log_odds

    def grown(point: Floats) -> float:
        clip, shares, tilt = math.exp(point[0]), np.exp(point[1:3]), point[3]
        terms = []
        for told, base in ((log_odds, sides.neighbour), (-log_odds, sides.data)):
            ratio = order * (np.clip(told, -clip, clip) - clip)  # log of g^(1/k), at most 0
            mean = float(base @ np.exp(ratio))
            owed = k * mean ** (-1.0 / order) * np.exp(k * epsilon)
            terms.append(
                (np.exp(k * ratio), owed * np.exp(ratio), math.exp(k * epsilon) * mean**k / order)
            )
        (gain, owe, price), (gain2, owe2, price2) = terms
        left = 2.0 - shares[0] * price - shares[1] * price2
        a = left / (1.0 + math.exp(-tilt))
        up = a + shares[0] * gain - shares[1] * owe2
        down = left - a - shares[0] * owe + shares[1] * gain2
        if left <= 0.0 or up.min() <= 0.0 or down.min() <= 0.0:
            return -1.0
        return float(sides.growth(np.log(up), np.log(down)))

    starts = itertools.product((0.5, 1.0, 2.0, 4.0), (0.02, 0.2))
    points = [[math.log(clip), math.log(share), math.log(share), 0.0] for clip, share in starts]
    return max(0.0, *(_highest(grown, point) for point in points))
