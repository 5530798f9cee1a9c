"""The test of a claim by exact losses: one loss for a pure claim, one wealth for any other.

Pure: a transcript whose loss is above epsilon, either way, breaks the claim for sure. Others bet:
a transcript recorded on P has loss `L`, and under the claim

- `(epsilon, delta)`, Gaussian, profiles: `Z = (1 - e^(epsilon - L))_+` has mean at most `delta`,
  so `1 + stake (Z - delta)` with `0 <= stake <= 1/delta` has mean at most 1;
- Rényi, zCDP: `X = e^((order - 1)(L - divergence))` has mean at most 1, and so has
  `1 + stake (X - 1)` with `0 <= stake <= 1`.

The wealth is the product; it reaches `1/alpha` with probability at most `alpha`, whenever one stops
(Ville). Stakes depend on the past only. The side recorded is P, so each direction has its own
wealth, and their mean is the evidence (docs/inside.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

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
_STAKES = (0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)  # shares of the largest stake
_ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0)  # of zCDP, that are bet on
_TRUSTED = 60.0  # an exponent beyond which a payoff is cut: a smaller payoff is safe


class Bet(Protocol):
    """A number with mean at most 1 under the claim, from the loss of one transcript."""

    def factor(self, loss: float, share: float) -> float:
        """By what the wealth is multiplied, with this share of the largest stake."""


@dataclass(frozen=True, slots=True)
class PointBet:
    """A bet on one point of a profile.

    >>> PointBet(0.0, 0.5).factor(math.inf, 1.0), PointBet(0.0, 0.5).factor(-1.0, 1.0)
    (2.0, 0.0)
    """

    epsilon: float
    delta: float

    def factor(self, loss: float, share: float) -> float:
        excess = -math.expm1(min(0.0, self.epsilon - loss))
        largest = 1.0 / max(self.delta, 1e-300)
        return max(0.0, 1.0 + share * largest * (excess - self.delta))


@dataclass(frozen=True, slots=True)
class RenyiBet:
    """A bet on one order of a Rényi divergence.

    >>> RenyiBet(2.0, 0.5).factor(0.5, 0.3)
    1.0
    """

    order: float
    divergence: float

    def factor(self, loss: float, share: float) -> float:
        exponent = min(_TRUSTED, (self.order - 1.0) * (loss - self.divergence))
        return max(0.0, 1.0 + share * (math.exp(exponent) - 1.0))


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
    """How wealth would have grown on one pair, for every bet and every share of its stake.

    One loss without any excess is added to the past, so that few losses make no large stake.

    >>> past = Past([PointBet(0.0, 0.1)])
    >>> past.best()
    (0, 0.0, 0.0)
    >>> past.learn(math.inf)
    >>> bet, share, growth = past.best()
    >>> share, growth > 0.0
    (0.4, True)
    """

    def __init__(self, bets: Sequence[Bet]) -> None:
        self._choices = [
            (number, bet, share) for number, bet in enumerate(bets) for share in _STAKES
        ]
        self._sums = [math.log(bet.factor(-math.inf, share)) for _, bet, share in self._choices]
        self._count = 0

    def learn(self, loss: float) -> None:
        """Take one more loss into account."""
        self._count += 1
        for place, (_, bet, share) in enumerate(self._choices):
            self._sums[place] += math.log(bet.factor(loss, share))

    def best(self) -> tuple[int, float, float]:
        """Which bet, which share of its largest stake, and the growth that they had."""
        if self._count == 0 or max(self._sums, default=0.0) <= 0.0:
            return 0, 0.0, 0.0
        place = max(range(len(self._sums)), key=self._sums.__getitem__)
        number, _, share = self._choices[place]
        return number, share, self._sums[place] / (self._count + 1)


@dataclass(slots=True)
class Direction:
    """The log-wealth of all transcripts recorded on one side."""

    bets: tuple[Bet, ...]
    log_wealth: float = 0.0
    pasts: dict[str, Past] = field(default_factory=dict)  # by pair

    def see(self, pair: str, loss: float) -> None:
        """Stake by the past of this pair, then learn the loss; a smaller loss is always safe."""
        past = self.pasts.setdefault(pair, Past(self.bets))
        bet, share, _ = past.best()
        if share > 0.0:
            self.log_wealth += math.log(self.bets[bet].factor(loss, share))
        past.learn(loss)

    def growth(self, pair: str) -> float:
        """How fast the wealth would have grown on a pair; 0 if it would not have."""
        return self.pasts[pair].best()[2] if pair in self.pasts else 0.0


def log_mean(first: float, second: float) -> float:
    """The logarithm of the mean of two wealths.

    >>> print(round(log_mean(0.0, math.log(3.0)) - math.log(2.0), 12))
    0.0
    """
    most = max(first, second)
    if math.isinf(most):
        return most
    return most + math.log(0.5 * (math.exp(first - most) + math.exp(second - most)))


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
    while direction.log_wealth < math.log(2.0 / alpha):
        direction.see("", _TRUSTED)
        count += 1
        if count > 10_000:
            break
    return count
