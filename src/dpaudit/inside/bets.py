"""The test of a claim by exact losses: one loss for a pure claim, one wealth for any other.

Pure: a transcript whose loss is above epsilon, either way, breaks the claim for sure. Others bet:
a transcript recorded on P has loss `L`, and under the claim

- `(epsilon, delta)`, Gaussian, profiles: `Z = (1 - e^(epsilon - L))_+` has mean at most `delta`,
  so `X = (Z - delta) / delta` has mean at most 0;
- Rényi, zCDP: so has `X = e^((order - 1)(L - divergence)) - 1`.

`Y = e^-L - 1` has mean at most 0 whatever the claim, and is small where `X` is large. So
`1 + stake X + hedge Y` has mean at most 1 where `stake + hedge <= 1`, and varies less than without
the hedge. The wealth is the product over all transcripts, whichever side they were recorded on; it
reaches `1/alpha` with probability at most `alpha`, whenever one stops (Ville). Stakes and hedges
depend on the past of their pair and direction only (docs/inside.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import (
    ZCDP,
    Claim,
    GaussianDP,
    RenyiDP,
    falling_span,
    point_of,
    tangent_points,
)

LEVELS = 12  # of a profile, that are bet on
_STAKES = (0.0015, 0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.17, 0.25, 0.35, 0.5, 0.7, 0.85)
_HEDGES = (0.0, 0.02, 0.06, 0.15, 0.3)
_MOST = 0.9  # of stake and hedge: a loss without any excess leaves a tenth of the wealth
_ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0)  # of zCDP, that are bet on
_PROVEN = 0.5  # nats that a pair must have earned in a direction before wealth is staked on it
_TRUSTED = 60.0  # an exponent beyond which a payoff is cut: a smaller payoff is safe
_BOTH = tuple((s, h) for s in _STAKES for h in _HEDGES if s + h <= _MOST)
_SHARES = np.array([stake for stake, _ in _BOTH]), np.array([hedge for _, hedge in _BOTH])


class Bet(Protocol):
    """What is bet on: at least -1, and of mean at most 0 under the claim."""

    def excess(self, loss: float) -> float:
        """Of the loss of one transcript; it grows with the loss."""


@dataclass(frozen=True, slots=True)
class PointBet:
    """A bet on one point of a profile.

    >>> PointBet(0.0, 0.5).excess(math.inf), PointBet(0.0, 0.5).excess(-1.0)
    (1.0, -1.0)
    """

    epsilon: float
    delta: float

    def excess(self, loss: float) -> float:
        over = -math.expm1(min(0.0, self.epsilon - loss))
        return over / max(self.delta, 1e-300) - 1.0


@dataclass(frozen=True, slots=True)
class RenyiBet:
    """A bet on one order of a Rényi divergence.

    >>> RenyiBet(2.0, 0.5).excess(0.5)
    0.0
    """

    order: float
    divergence: float

    def excess(self, loss: float) -> float:
        return math.expm1(min(_TRUSTED, (self.order - 1.0) * (loss - self.divergence)))


def hedge_of(loss: float) -> float:
    """`e^-loss - 1`, which has mean at most 0 for every mechanism; it falls with the loss."""
    return math.expm1(min(_TRUSTED, -loss))


def bets_on(claim: Claim) -> tuple[Bet, ...]:
    """The bets that test a claim; a pure claim needs none."""
    if point := point_of(claim):
        return () if point[1] == 0.0 else (PointBet(*point),)
    if isinstance(claim, RenyiDP):
        return (RenyiBet(claim.order, claim.epsilon),)
    if isinstance(claim, ZCDP):
        return tuple(RenyiBet(order, order * claim.rho) for order in _ORDERS)
    tangents = getattr(claim, "tangents", None)  # a user's own claim has none
    if tangents is None:
        points = tangent_points(claim.delta, falling_span(claim.delta), LEVELS)
    else:
        points = tangents(LEVELS)
    return tuple(PointBet(level, delta) for level, delta in points)


def epsilon_of_pure(claim: Claim) -> float | None:
    """The epsilon of a claim that one loss above it breaks; None for all others."""
    point = point_of(claim)
    return point[0] if point is not None and point[1] == 0.0 else None


def forbids_infinite(claim: Claim) -> bool:
    """Whether one infinite loss breaks the claim, as it does where divergences are bounded."""
    return epsilon_of_pure(claim) is not None or isinstance(claim, RenyiDP | ZCDP | GaussianDP)


class Past:
    """How wealth would have grown on one pair, for every bet, stake and hedge.

    One loss without any excess is added to the past, so that few losses make no large stake.

    >>> past = Past([PointBet(0.0, 0.1)])
    >>> past.growth
    0.0
    >>> past.learn(math.inf, math.inf)
    >>> past.growth > 0.0, past.factor(math.inf, math.inf) > 3.0
    (True, True)
    """

    def __init__(self, bets: Sequence[Bet]) -> None:
        self._bets = tuple(bets)
        self._sums = np.tile(np.log1p(-_SHARES[0] - _SHARES[1]), (len(self._bets), 1))
        self._count = 0

    def learn(self, lower: float, upper: float) -> None:
        """Take one more loss into account, which lies between the two."""
        self._count += 1
        self._sums += np.log(self._factors(lower, upper))

    def factor(self, lower: float, upper: float) -> float:
        """By what the wealth is multiplied: 1 if nothing is staked.

        Stakes are shared out among all choices as these would have grown; the mean of factors of
        mean at most 1 has mean at most 1. Nothing is staked before the best of them has earned it.
        """
        if self.earned < _PROVEN:
            return 1.0
        weights = np.exp(self._sums - self._sums.max())
        return float((weights * self._factors(lower, upper)).sum() / weights.sum())

    @property
    def earned(self) -> float:
        """The log-wealth that the best choice would have; 0 if none would have any."""
        return max(0.0, float(self._sums.max(initial=0.0))) if self._count else 0.0

    @property
    def growth(self) -> float:
        """The growth for each loss that the best choice had; 0 if none had any."""
        if self._count == 0:
            return 0.0
        return max(0.0, float(self._sums.max(initial=0.0)) / (self._count + 1))

    def _factors(self, lower: float, upper: float) -> Floats:
        excess = np.array([bet.excess(lower) for bet in self._bets])[:, None]
        return np.asarray(1.0 + _SHARES[0] * excess + _SHARES[1] * hedge_of(upper))


@dataclass(slots=True)
class Direction:
    """The log-wealth of all transcripts recorded on one side."""

    bets: tuple[Bet, ...]
    log_wealth: float = 0.0
    pasts: dict[str, Past] = field(default_factory=dict)  # by pair

    def see(self, pair: str, lower: float, upper: float) -> None:
        """Stake by the past of this pair, then learn the loss, which lies between the two."""
        past = self.pasts.setdefault(pair, Past(self.bets))
        self.log_wealth += math.log(past.factor(lower, upper))
        past.learn(lower, upper)

    def earned(self, pair: str) -> float:
        """The log-wealth that a pair alone would have, staked from its first loss on."""
        return self.pasts[pair].earned if pair in self.pasts else 0.0

    def growth(self, pair: str) -> float:
        """How fast the wealth would have grown on a pair; 0 if it would not have."""
        return self.pasts[pair].growth if pair in self.pasts else 0.0


def wanted(claim: Claim, alpha: float) -> int:
    """How many transcripts of one pair and direction a leak without limit needs to be seen.

    Fewer than these, and "not refuted" would say nothing.

    >>> from dpaudit.claims import ApproxDP, PureDP
    >>> wanted(PureDP(1.0), 1e-6), wanted(ApproxDP(1.0, 1e-5), 1e-6)
    (1, 3)
    """
    bets = bets_on(claim)
    if not bets:
        return 1
    direction, count = Direction(bets), 0
    while direction.log_wealth < math.log(1.0 / alpha):
        direction.see("", _TRUSTED, _TRUSTED)
        count += 1
        if count > 10_000:
            break
    return count
