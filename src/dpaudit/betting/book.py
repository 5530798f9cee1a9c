"""All bets on one pair: against the claim and against the levels of its ladder.

A level is bet on by several hands at once, each with guesses of its own: first the experts'
average, then every expert. The wealth of the level is the mean of theirs, so one hand that learns
slowly or bets too boldly does not ruin the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.betting.ladder import COARSE, FINE, ladder, open_levels
from dpaudit.betting.portfolio import Portfolio
from dpaudit.betting.tangent import Tangents, tune
from dpaudit.claims import ApproxDP, Claim, PureDP, Scalable

Places = npt.NDArray[np.intp]


class Book(Protocol):
    """Bets as functions of the guess: tuned on the past, paid on the next batch.

    `levels` are strengths of the claim in rising order, `levels[place]` its own. Only `active`
    levels are bet on; on the others the wealth stays as it is.
    """

    levels: Floats
    place: int
    active: Places

    def hands(self, experts: int) -> int:
        """How many hands bet, given so many experts."""

    def tune(self, average: Floats, mass: Floats, settled: int) -> None:
        """Fit all bets to average guesses like these; `settled` low levels are refuted already."""

    def log_payoffs(self, average: Floats, guesses: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`, by hand, active level and output."""


def book_for(claim: Claim) -> Book:
    """Fresh bets against a claim."""
    if isinstance(claim, PureDP):
        return TangentBook(claim.epsilon, 0.0)
    if isinstance(claim, ApproxDP):
        return TangentBook(claim.epsilon, claim.delta_at_epsilon)
    return PortfolioBook(claim)


class TangentBook:
    """`(epsilon, delta)`-DP: the closed-form bet, by the average and by every expert."""

    _AHEAD = 4  # levels above the settled ones that are bet on, past the claim

    def __init__(self, epsilon: float, delta: float) -> None:
        self.levels, self.place = ladder(epsilon, shares=FINE, ratio=1.02)
        self.active = open_levels(self.levels, self.place, 0, self._AHEAD)
        self._delta = np.full(len(self.levels), delta)
        self._bets: Tangents | None = None

    def hands(self, experts: int) -> int:
        """The average and every expert."""
        return 1 + experts

    def tune(self, average: Floats, mass: Floats, settled: int) -> None:
        """Choose stake and cap of the open levels."""
        self.active = open_levels(self.levels, self.place, settled, self._AHEAD)
        self._bets = tune(average, mass, self.levels[self.active], self._delta[self.active])

    def log_payoffs(self, average: Floats, guesses: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`, by hand, active level and output."""
        assert self._bets is not None
        fair = replace(self._bets, stake=np.ones(len(self.active)))
        leaning, by_expert = self._bets.log_payoffs(average), fair.log_payoffs(guesses)
        return (
            np.concatenate([leaning[0][None], by_expert[0]]),
            np.concatenate([leaning[1][None], by_expert[1]]),
        )


class PortfolioBook:
    """A claim that is a whole profile: a portfolio, by the average alone."""

    _AHEAD = 2

    def __init__(self, claim: Claim) -> None:
        if isinstance(claim, Scalable):
            self.levels, self.place = ladder(claim.strength, shares=COARSE, ratio=1.05)
            claims: list[Claim] = [claim.with_strength(level) for level in self.levels]
            claims[self.place] = claim
        else:
            self.levels, self.place, claims = np.array([np.nan]), 0, [claim]
        self.active = open_levels(self.levels, self.place, 0, self._AHEAD)
        self._claims = claims
        self._portfolios: dict[int, Portfolio] = {}

    def hands(self, experts: int) -> int:
        """The average alone."""
        return 1

    def tune(self, average: Floats, mass: Floats, settled: int) -> None:
        """Rebalance the portfolios of the open levels."""
        self.active = open_levels(self.levels, self.place, settled, self._AHEAD)
        for level in self.active:
            if level not in self._portfolios:
                self._portfolios[level] = Portfolio(self._claims[level])
            self._portfolios[level].tune(average, mass)

    def log_payoffs(self, average: Floats, guesses: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`, by hand, active level and output."""
        paid = [self._portfolios[level].log_payoffs(average) for level in self.active]
        return np.stack([up for up, _ in paid])[None], np.stack([down for _, down in paid])[None]
