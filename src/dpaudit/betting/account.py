"""The levels that a lower bound can climb, and the one wealth of the whole audit at each of them.

A pair takes part with a fraction `f` of the wealth:

    wealth = product over pairs of (1 - f + f * V)

where `V` is what a wealth of 1 would have become with the bets on that pair alone. Bets are placed
on one pair at a time and `f` is fixed beforehand, so under the claim every factor has mean at most
1 and the product is one supermartingale, however the pairs are chosen (docs/mathematics.md, section
2). A pair that shows nothing can lose the fraction `f`, no more; one that shows a violation must
earn `log(1/f)` nats more than if it were alone.

The nulls of the levels are nested: a mechanism that keeps a level keeps every higher one. So the
highest level such that it and every lower one was refuted is a lower bound with no correction for
the number of levels (section 6), and verdict and bound share one alpha. A mechanism that keeps a
level below the claim keeps the claim too, so the wealth of that level may be a mean of its own
bets' and the claim's: a claim that is refuted by far never waits for the levels below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit.arrays import Floats, Index

OWN_SHARE = 0.4  # of a level's own bets in the wealth of a level below the claim,
CLAIM_SHARE = 0.6  # and of the claim's bets: the level has at least this much of its wealth
FINEST_SHARES = np.array([0.992, 0.994, 0.996, 0.998, 0.999])  # which only long audits reach
FINE_SHARES = np.array(
    [*np.arange(0.1, 0.9, 0.1), 0.85, *np.arange(0.9, 0.995, 0.01), *FINEST_SHARES]
).round(3)
COARSE_SHARES = np.array([0.5, 0.7, 0.8, 0.9, 0.95])  # where every level costs a mixed bet
_NEAR, _FINE = 0.969, 0.991  # shares of the claim: where the finest levels open, and begin
_MAX_LEVEL = 12.0  # nats: no sample of a practical size certifies more
_MIN_BASE = 1e-3  # from which levels rise where the claim is 0


def levels_around(strength: float, *, shares: Floats, ratio: float) -> tuple[Floats, int]:
    """Levels in rising order, and the place of the claim among them.

    Levels below the claim are the given shares of it; steps of `ratio` lead on from there.

    >>> levels, place = levels_around(1.0, shares=FINE_SHARES, ratio=1.02)
    >>> print(levels[place], levels[place - 1], round(levels[place + 1], 3))
    1.0 0.999 1.02
    """
    lower = strength * shares if strength > 0 else np.empty(0)
    base = max(strength, _MIN_BASE)
    steps = int(np.ceil(np.log(max(_MAX_LEVEL / base, 1.5)) / np.log(ratio)))
    upper = base * np.geomspace(ratio, ratio**steps, steps)
    return np.concatenate([lower, [strength], upper]), len(lower)


def open_levels(levels: Floats, place: int, settled: int, ahead: int) -> Index:
    """Every level up to the claim that is not settled, and some `ahead`.

    The claim stays open, and so do two low levels, at which pairs are compared. The finest levels
    below the claim open when 0.97 of it is settled.

    >>> print(open_levels(np.arange(9.0), 4, 2, 1), open_levels(np.arange(9.0), 4, 6, 2))
    [0 1 2 3 4] [0 1 4 6 7]
    >>> levels, place = levels_around(1.0, shares=FINE_SHARES, ratio=1.02)
    >>> [float(levels[open_levels(levels, place, settled, 1)][-2]) for settled in (0, place - 8)]
    [0.99, 0.999]
    """
    last = min(max(place + 1, settled + ahead), len(levels))
    opened = np.unique([*compared_levels(place), *range(settled, last), place])
    if levels[min(settled, place)] >= _NEAR * levels[place]:
        return opened
    finest = (levels[opened] > _FINE * levels[place]) & (opened < place)
    return np.asarray(opened[~finest])


def compared_levels(place: int) -> tuple[int, int]:
    """Two low levels at which every pair is bet on: their growth foretells that at the claim.

    >>> levels, place = levels_around(1.0, shares=FINE_SHARES, ratio=1.02)
    >>> print(levels[list(compared_levels(place))])
    [0.1 0.5]
    """
    return 0, min(place // 4, 4)


@dataclass(frozen=True, slots=True)
class Stake:
    """The fraction of the wealth with which a pair takes part."""

    fraction: float

    def log_factor(self, log_wealth: Floats) -> Floats:
        """The factor of this pair in the wealth, given its own wealth now.

        >>> np.exp(Stake(0.5).log_factor(np.log([0.2, 3.0]))).round(12).tolist()
        [0.6, 2.0]
        """
        if self.fraction == 1.0:
            return log_wealth.copy()
        gain = np.log(self.fraction) + log_wealth
        return np.asarray(np.logaddexp(np.log1p(-self.fraction), gain))

    def wealth_needed(self, log_factor: float) -> float:
        """The pair's log-wealth at which its factor reaches `log_factor`."""
        if self.fraction == 1.0:
            return log_factor
        gain = (np.exp(min(log_factor, 700.0)) - 1.0 + self.fraction) / self.fraction
        return float(np.log(gain)) if gain > 0.0 else -np.inf


class Account:
    """The wealth of the audit at every level, and the levels it has refuted."""

    def __init__(self, levels: int, place: int, alpha: float) -> None:
        self._place = place
        self.goal = math.log(1.0 / alpha)
        self._factors: dict[int, Floats] = {}
        self._total = np.zeros(levels)
        self._peak = np.zeros(levels)

    @property
    def log_wealth(self) -> float:
        """The log-wealth of the bets against the claim itself."""
        return float(self._total[self._place])

    @property
    def peak(self) -> float:
        """The largest log-wealth that the claim and every level below it have all reached.

        So the claim is refuted if and only if this is at least `goal`.
        """
        return float(self._peak[: self._place + 1].min())

    @property
    def settled(self) -> int:
        """How many of the lowest levels have been refuted, with none left out."""
        reached = self._peak >= self.goal
        return int(np.argmin(reached)) if not reached.all() else len(reached)

    @property
    def refuted(self) -> bool:
        """Whether the wealth has reached `1/alpha` at the claim and at every level below it."""
        return self.settled > self._place

    def target(self, pair: int, stake: Stake) -> float:
        """The log-wealth that a pair must reach on the claim's bets to refute the claim."""
        if self.refuted:
            return np.inf  # reached before
        others = self._total[self._place] - self._factor(pair)[self._place]
        return stake.wealth_needed(self._claim_goal - others)

    def update(self, pair: int, factor: Floats, *, crossed: bool) -> None:
        """Enter the factor of a pair after a batch; `crossed`: the claim's target was reached."""
        reached = self._claim_goal if crossed else -np.inf
        self._total = self._total - self._factor(pair) + factor
        self._factors[pair] = factor
        wealth = self._total.copy()
        wealth[self._place] = max(wealth[self._place], reached)
        claim, below = np.log1p(-OWN_SHARE) + wealth[self._place], slice(self._place)
        wealth[below] = np.logaddexp(claim, np.log(OWN_SHARE) + wealth[below])
        self._peak = np.maximum(self._peak, wealth)

    @property
    def _claim_goal(self) -> float:
        """The log-wealth to look for in a batch: where the claim alone settles what is open."""
        waiting = self._peak[self._place] >= self.goal
        return self.goal - float(np.log1p(-OWN_SHARE)) + 1e-9 if waiting else self.goal

    def _factor(self, pair: int) -> Floats:
        return self._factors.get(pair, np.zeros_like(self._total))
