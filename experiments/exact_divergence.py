"""Exact divergences of two output distributions, and the floor: the fewest draws that refute.

The floor is `log(1/alpha)` over the expected log growth of the best bet of all, that of somebody
who knows both distributions. No valid test refutes with fewer draws on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from exact_outputs import Floats, Masses
from scipy import optimize, special


def hockey_stick(masses: Masses, epsilon: float) -> float:
    """Give `sup_A P(A) - e^epsilon Q(A)`, the larger of both directions.

    >>> masses = Masses(data=np.array([0.75, 0.25]), neighbour=np.array([0.25, 0.75]))
    >>> hockey_stick(masses, 0.0), round(hockey_stick(masses, 1.0), 4)
    (0.5, 0.0704)
    """
    scale, one, other = math.exp(epsilon), masses.data, masses.neighbour
    excesses = (one - scale * other, other - scale * one)
    return max(float(np.maximum(excess, 0.0).sum()) for excess in excesses)


def total_variation(masses: Masses) -> float:
    """Give `sup_A P(A) - Q(A)`.

    >>> total_variation(Masses(data=np.array([0.75, 0.25]), neighbour=np.array([0.25, 0.75])))
    0.5
    """
    return hockey_stick(masses, 0.0)


def renyi(masses: Masses, order: float) -> float:
    """Give the Rényi divergence, the larger of both directions.

    It is infinite where a cell has mass on the one side and none, to all digits of a float, on the
    other.

    >>> masses = Masses(data=np.array([0.75, 0.25]), neighbour=np.array([0.25, 0.75]))
    >>> print(round(renyi(masses, 2.0), 4))  # log(0.75^2 / 0.25 + 0.25^2 / 0.75)
    0.8473
    """
    with np.errstate(divide="ignore"):
        logs = np.log(masses.data), np.log(masses.neighbour)
    found = []
    for one, other in (logs, logs[::-1]):
        there = one > -math.inf
        terms = order * one[there] - (order - 1) * other[there]
        found.append(float(special.logsumexp(terms)) / (order - 1))
    return max(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bet:
    """The growth-optimal bet against `(epsilon, delta)`-DP, for known distributions.

    `S_P = a + v - e^epsilon w` is paid on an output of the data, `S_Q = b - e^epsilon v + w` on one
    of the neighbour, with `a + b = 2 - delta (cap_v + cap_w)`. Under the claim their mean is at
    most 1.
    """

    epsilon: float
    a: float
    b: float
    cap_v: float
    cap_w: float

    def payoffs(self, masses: Masses) -> tuple[Floats, Floats]:
        """Give `S_P` and `S_Q` for every cell."""
        both = masses.data + masses.neighbour
        ours = self._paid(masses.data / both, self.a, self.b, self.cap_v, self.cap_w)
        theirs = self._paid(masses.neighbour / both, self.b, self.a, self.cap_w, self.cap_v)
        return ours, theirs

    def _paid(self, guess: Floats, stake: float, other: float, gain: float, loss: float) -> Floats:
        """One side's payoff: `S_P = c (a + b e^-epsilon)` where `v` is above 0, and the like."""
        rising = guess * (stake + other * math.exp(-self.epsilon))
        falling = guess * (stake + other * math.exp(self.epsilon))
        least = stake - math.exp(self.epsilon) * loss
        return np.where(
            rising > stake,
            np.minimum(rising, stake + gain),
            np.maximum(np.minimum(falling, stake), least),
        )

    def growth(self, masses: Masses) -> float:
        """Give the expected log of what a draw pays, its side chosen by a fair coin."""
        ours, theirs = self.payoffs(masses)
        grown = special.xlogy(masses.data, ours), special.xlogy(masses.neighbour, theirs)
        return float(sum(side.sum() for side in grown)) / 2


def best_bet(masses: Masses, epsilon: float, delta: float) -> Bet:
    """Find the stake `a`, and with a delta the two caps, with the largest growth.

    The growth is concave in them. Nobody would cap a bet that costs nothing.
    """
    if delta > 0.0:
        return _best_capped_bet(masses, epsilon, delta)

    def staked(a: float) -> Bet:
        return Bet(epsilon=epsilon, a=a, b=2 - a, cap_v=math.inf, cap_w=math.inf)

    found = optimize.minimize_scalar(
        lambda a: -staked(a).growth(masses),
        bounds=(1e-9, 2 - 1e-9),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return staked(float(found.x))


def _best_capped_bet(masses: Masses, epsilon: float, delta: float) -> Bet:
    def capped(point: Floats) -> Bet:
        """The point is the two caps, and where `a` lies between nothing and all there is."""
        cap_v, cap_w = np.abs(point[:2])
        left = 2 - delta * (cap_v + cap_w)
        share = special.expit(point[2])
        return Bet(epsilon=epsilon, a=share * left, b=(1 - share) * left, cap_v=cap_v, cap_w=cap_w)

    def shrinkage(point: Floats) -> float:
        return -capped(point).growth(masses)

    found = optimize.minimize(shrinkage, [0.1, 0.1, 0.0], method="Nelder-Mead", tol=1e-9)
    return capped(found.x)


def floor(masses: Masses, epsilon: float, delta: float, *, alpha: float) -> float:
    """Give the fewest draws of a side that refute `(epsilon, delta)`-DP; infinite if it holds.

    >>> masses = Masses(data=np.array([1.0, 0.0]), neighbour=np.array([0.0, 1.0]))
    >>> print(round(floor(masses, 1.0, 0.0, alpha=0.05), 4))  # log(20) / log(1 + 1/e) / 2
    4.7815
    """
    if hockey_stick(masses, epsilon) <= delta:
        return math.inf
    growth = best_bet(masses, epsilon, delta).growth(masses)
    return math.log(1 / alpha) / growth / 2
