"""All bets of one audit: one on the claim, and one on every level of its ladder."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpaudit.bets.ladder import ladder
from dpaudit.bets.portfolio import Portfolio
from dpaudit.bets.tangent import Tangents, tune
from dpaudit.claims import ApproxDP, Claim, PureDP, Scalable

Floats = npt.NDArray[np.float64]


class Book(Protocol):
    """Bets as functions of the guess: tuned on the past, paid on the next batch.

    `levels` are strengths of the claim in rising order, `levels[place]` its own. A level whose bet
    is not worth its time pays exactly 1.
    """

    levels: Floats
    place: int

    def tune(self, log_odds: Floats, mass: Floats, settled: int) -> None:
        """Fit all bets to guesses like these; the lowest `settled` levels are refuted already."""

    def log_payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`, one row for each level and one column for each guess."""


def book_for(claim: Claim) -> Book:
    """Fresh bets against a claim."""
    if isinstance(claim, PureDP):
        return TangentBook(claim.epsilon, 0.0)
    if isinstance(claim, ApproxDP):
        return TangentBook(claim.epsilon, claim.delta_at_epsilon)
    return PortfolioBook(claim)


class TangentBook:
    """`(epsilon, delta)`-DP: the closed-form bet at every level of epsilon."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.levels, self.place = ladder(epsilon, below=50, ratio=1.02)
        self._delta = np.full(len(self.levels), delta)
        self._bets: Tangents | None = None

    def tune(self, log_odds: Floats, mass: Floats, settled: int) -> None:
        """Choose stake and cap of every level."""
        self._bets = tune(log_odds, mass, self.levels, self._delta)

    def log_payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`, one row for each level and one column for each guess."""
        if self._bets is None:
            return _no_bets(self.levels, log_odds)
        return self._bets.log_payoffs(log_odds)


class PortfolioBook:
    """A claim that is a whole profile: a portfolio for the claim and for the next open levels."""

    _AT_ONCE = 4  # levels above the settled ones that are worth a portfolio

    def __init__(self, claim: Claim) -> None:
        if isinstance(claim, Scalable):
            self.levels, self.place = ladder(claim.strength, below=20, ratio=1.05)
            claims: list[Claim] = [claim.with_strength(level) for level in self.levels]
            claims[self.place] = claim
        else:
            self.levels, self.place, claims = np.array([np.nan]), 0, [claim]
        self._portfolios = [Portfolio(each) for each in claims]
        self._open: list[int] = []

    def tune(self, log_odds: Floats, mass: Floats, settled: int) -> None:
        """Rebalance the portfolios of the claim and of the lowest open levels."""
        nearest = range(settled, min(settled + self._AT_ONCE, len(self.levels)))
        self._open = sorted({self.place, *nearest})
        for level in self._open:
            self._portfolios[level].tune(log_odds, mass)

    def log_payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`, one row for each level and one column for each guess."""
        up, down = _no_bets(self.levels, log_odds)
        for level in self._open:
            up[level], down[level] = self._portfolios[level].log_payoffs(log_odds)
        return up, down


def _no_bets(levels: Floats, log_odds: Floats) -> tuple[Floats, Floats]:
    return np.zeros((len(levels), len(log_odds))), np.zeros((len(levels), len(log_odds)))
