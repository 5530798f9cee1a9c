"""Several hands that bet on the same canaries, and the wealth that they have together.

Each hand has guesses and a wealth of its own. The wealth is their mean, with weights that are fixed
beforehand, so it is a supermartingale under the claim like each of theirs (docs/mathematics.md,
sections 2 and 12).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from dpaudit.architecture import Claim, Scalable
from dpaudit.arrays import Floats, Labels
from dpaudit.betting import Account, PairBettor, Stake, book_for, leak_growth
from dpaudit.outputs import Encoder
from dpaudit.results import Finding, Null

_MAX_TRACE = 1_000  # points of the wealth that are kept
_ALL = Stake(1.0)  # there is one pair only: in or out
_HALVINGS = 60
_MAX_STRENGTH = 1e3


class Hand(Protocol):
    """Bets on canaries by their scores; what it bets depends on earlier canaries alone."""

    @property
    def log_wealth(self) -> Floats:
        """The log-wealth at each level of the claim."""

    def log_odds(self, scores: Floats) -> Floats:
        """The log-odds that the canary of each score was in."""

    def bet(self, scores: Floats, labels: Labels, *, settled: int) -> None:
        """Bet on canaries, then learn them; `settled` low levels have been refuted already."""


class GuessingHand:
    """All guessers of an audit: they find any difference between the scores, and learn its form."""

    def __init__(self, claim: Claim, *, averaged: bool = False) -> None:
        self._encoder = Encoder()
        self._bettor = PairBettor(book_for(claim), self._encoder)
        self._averaged = averaged

    @property
    def log_wealth(self) -> Floats:
        """The log-wealth at each level."""
        return self._bettor.log_wealth

    def log_odds(self, scores: Floats) -> Floats:
        """The log-odds that the canary of each score was in."""
        return self._bettor.log_odds(self._encoder.encode(scores))

    def bet(self, scores: Floats, labels: Labels, *, settled: int) -> None:
        """Bet on canaries, then learn them."""
        self._bettor.settled = settled
        table = self._encoder.encode(scores)
        if self._averaged:
            self._bettor.play_dependent(table, labels)
        else:
            self._bettor.play(table, labels, target=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The log-wealth over the draws, thinned to at most 1 000 points.

    `refuted_after` is the number of draws after which the claim was refuted, None if it was not.
    """

    points: tuple[tuple[int, float], ...]
    refuted_after: int | None


class Hands:
    """Hands with fixed shares of the wealth, and what they have found so far.

    `averaged` says that the hands average the payoffs of canaries that they see together.
    """

    def __init__(
        self,
        claim: Claim,
        alpha: float,
        hands: Sequence[tuple[float, Hand]],
        *,
        averaged: bool = False,
    ) -> None:
        book = book_for(claim)
        self._claim, self._levels, self._place = claim, book.levels, book.place
        self._account = Account(len(book.levels), book.place, alpha)
        self._alpha, self._averaged = alpha, averaged
        shares = np.array([share for share, _ in hands])
        self._log_share = np.log(shares / shares.sum())
        self._hands = [hand for _, hand in hands]
        self._trace: list[tuple[int, float]] = []
        self._refuted_after: int | None = None
        self.guesses = self.right = 0
        self._payoffs = 0  # that multiply

    @property
    def refuted(self) -> bool:
        """Whether the wealth has refuted the claim."""
        return self._account.refuted

    @property
    def trace(self) -> Trace:
        """The log-wealth so far."""
        return Trace(points=tuple(self._trace), refuted_after=self._refuted_after)

    def see(self, views: Sequence[Floats | None], labels: Labels, *, draws: int) -> None:
        """Bet on canaries, each hand by its own view of their scores; `draws` is how many so far.

        A hand without a view does not bet.
        """
        seeing = [(place, view) for place, view in enumerate(views) if view is not None]
        self._count(seeing, labels)
        target = self._account.target(0, _ALL)
        for place, view in seeing:
            self._hands[place].bet(view, labels, settled=self._account.settled)
        wealth = self._log_share[:, None] + np.stack([hand.log_wealth for hand in self._hands])
        total = np.logaddexp.reduce(wealth, axis=0)
        self._account.update(0, total, crossed=bool(total[self._place] >= target))
        if self.refuted and self._refuted_after is None:
            self._refuted_after = draws
        self._trace.append((draws, self._account.log_wealth))
        if len(self._trace) > _MAX_TRACE:
            self._trace = [*self._trace[:-1:2], self._trace[-1]]

    def finding(self, *, test: str, source: str, null: Null) -> Finding:
        """What the bets say of the claim.

        The evidence is the largest wealth so far, of the claim and of all levels below: its inverse
        is a p-value whenever one stops. The last point of the trace is an e-value.
        """
        return Finding(
            test=test,
            source=source,
            null=null,
            refuted=self.refuted,
            log_evidence=self._account.peak,
            lower_bound=self._lower_bound,
            ceiling=ceiling(self._claim, guesses=self._payoffs, alpha=self._alpha),
            guesses=self.guesses,
            right=self.right,
        )

    @property
    def _lower_bound(self) -> float | None:
        """The highest level refuted together with all below it; None for a claim without levels."""
        if not isinstance(self._claim, Scalable):
            return None
        settled = self._account.settled
        return float(self._levels[settled - 1]) if settled else 0.0

    def _count(self, seeing: Sequence[tuple[int, Floats]], labels: Labels) -> None:
        """Count what the hands guess together, and how often they are right."""
        lean = np.zeros(len(labels))
        for place, view in seeing:
            hand = self._hands[place]
            wealth = self._log_share[place] + hand.log_wealth[self._place]
            lean += math.exp(wealth - self._richest) * (expit(hand.log_odds(view)) - 0.5)
        guesses = int(np.count_nonzero(lean))
        self.guesses += guesses
        self._payoffs += min(guesses, 1) if self._averaged else guesses
        self.right += int(np.count_nonzero((lean > 0.0) & labels | (lean < 0.0) & ~labels))

    @property
    def _richest(self) -> float:
        own = [hand.log_wealth[self._place] for hand in self._hands]
        return float((self._log_share + np.array(own)).max())


def ceiling(claim: Claim, *, guesses: int, alpha: float) -> float | None:
    """The strength that as many perfect guesses could refute; None for a claim without strength.

    Each guess is worth `leak_growth` nats at best, and `log(1/alpha)` of them refute.

    >>> from dpaudit.claims import PureDP
    >>> print(round(ceiling(PureDP(1.0), guesses=1000, alpha=0.05), 2))  # about log(1000 / log 20)
    5.81
    """
    if not isinstance(claim, Scalable):
        return None
    if guesses == 0:
        return 0.0
    needed = math.log(1.0 / alpha) / guesses
    low, high = 0.0, _MAX_STRENGTH
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        refutable = leak_growth(claim.with_strength(middle)) >= needed
        low, high = (middle, high) if refutable else (low, middle)
    return low
