"""A hand that knows the form of what it bets on: Gaussian noise, and a shift where a canary is in.

Guessers that can learn any form pay for what they learn. This hand only learns by how much the
scores are shifted. Every shift that it considers is fixed beforehand; they are weighed by the past,
and the bets are tuned on the density that follows, not on the few scores seen
(docs/mathematics.md, section 12). A wrong form costs growth and never validity.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from dpaudit.architecture import Claim
from dpaudit.arrays import Floats, Labels
from dpaudit.betting import book_for
from dpaudit.claims import GaussianDP

MAX_SHIFT = 12.0  # in units of the noise: beyond it every guess is right
_EXCESSES = 0.05 * 2.0 ** np.arange(0.0, 8.0, 0.5)  # of a shift over that of the claim
_LEAST_DELTA = 1e-3  # smaller ones show in no practical number of canaries
_TANGENTS = 16  # of a profile, of which the strictest says which Gaussian keeps the claim
_GRID = np.arange(-6.0, MAX_SHIFT + 6.0, 0.1)  # scores on which bets are tuned
_GROWTH = 0.1  # of the past, after which the hand learns again
_MIN_OF_A_SIDE = 2  # canaries, before which nothing is known of an unknown noise
_MAX_LOG_ODDS = 30.0
_FARTHEST = 100.0  # units of the noise, to which scores are clipped
_LARGEST = 1e100  # whose square is still a number


def shifts_around(claim: Claim) -> Floats:
    """The shifts to consider, in units of the noise: around the largest that keeps the claim.

    They are dense where a claim is nearly kept, and reach from a tenth of it to ten times as much.

    >>> print(shifts_around(GaussianDP(1.0))[[0, 15, 16, 17, 32]].round(2))
    [ 0.1   0.95  1.    1.05 10.05]
    """
    levels = claim.tangents(_TANGENTS)  # type: ignore[attr-defined]
    kept = min(_shift_of(epsilon, max(delta, _LEAST_DELTA)) for epsilon, delta in levels)
    more = 1.0 + _EXCESSES
    return np.minimum(kept * np.concatenate([1.0 / more[::-1], [1.0], more]), MAX_SHIFT)


class GaussianHand:
    """Bets that canaries which are in have higher scores, with Gaussian noise around them.

    `noise` is the standard deviation of the score of a canary that is out, whose mean is then 0. If
    it is None, both means and the noise are those of the past canaries on either side.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(200) < 0.5
    >>> scores = rng.normal(size=200) + 2.0 * labels
    >>> hand = GaussianHand(GaussianDP(0.5), noise=1.0)
    >>> for score, label in zip(scores, labels):
    ...     hand.bet(np.array([score]), np.array([label]), settled=0)
    >>> bool(hand.log_wealth[hand.place] > 10.0)
    True
    """

    def __init__(self, claim: Claim, *, noise: float | None = None, averaged: bool = False) -> None:
        self._book = book_for(claim)
        self._averaged = averaged
        self.place = self._book.place
        self.log_wealth: Floats = np.zeros(len(self._book.levels))
        self._shifts = shifts_around(claim)
        self._log_share = np.full(len(self._shifts), -math.log(len(self._shifts)))
        self._noise = noise
        self._origin: float | None = None if noise is None else 0.0  # from which scores are told
        self._centre, self._scale = 0.0, 1.0 if noise is not None else 0.0
        self._moments = np.zeros((2, 3))  # of either side: how many, sum, sum of squares
        self._learns_at = 0.0

    def log_odds(self, scores: Floats) -> Floats:
        """The log-odds that the canary of each score was in; 0 while the noise is not known."""
        if self._scale <= 0.0:
            return np.zeros(len(scores))
        far = (self._told(scores) - self._centre) / self._scale
        return self._mixed(np.clip(far, -_FARTHEST, _FARTHEST))[0]

    def bet(self, scores: Floats, labels: Labels, *, settled: int) -> None:
        """Bet on canaries, then learn them; `settled` low levels have been refuted already."""
        if self._moments[:, 0].sum() >= self._learns_at:
            self._learn(settled)
        if self._scale > 0.0:
            self._pay(scores, labels)
        if self._origin is None:
            self._origin = float(scores[0])  # so that no digits are lost on a large offset
        told = self._told(scores)
        for side, of_side in enumerate((told[~labels], told[labels])):
            self._moments[side] += len(of_side), of_side.sum(), (of_side**2).sum()

    def _told(self, scores: Floats) -> Floats:
        """Scores in units of the noise, if it is known; else from the first score on."""
        if self._noise is not None:
            return np.clip(scores / self._noise, -_FARTHEST, _FARTHEST)
        return np.clip(scores - (self._origin or 0.0), -_LARGEST, _LARGEST)

    def _pay(self, scores: Floats, labels: Labels) -> None:
        book, guess = self._book, self.log_odds(scores)
        up, down = (by_bet[0] for by_bet in book.log_payoffs(guess, guess[None]))
        paid = np.where(labels, up, down)
        if self._averaged:
            each = logsumexp(paid, axis=-1) - math.log(len(scores))
        else:
            each = paid.sum(axis=-1)
        claim = int(np.searchsorted(book.active, book.place))
        self.log_wealth = self.log_wealth.copy()
        self.log_wealth[book.active] += each
        self.log_wealth[book.following] += each[claim]

    def _learn(self, settled: int) -> None:
        """Weigh the shifts by the past, and tune the bets on the scores that then follow."""
        draws = float(self._moments[:, 0].sum())
        self._learns_at = draws * (1.0 + _GROWTH)
        self._weigh_shifts()
        if self._scale > 0.0:
            guess, log_density = self._mixed(_GRID)
            mass = np.exp(log_density - logsumexp(log_density)) * max(draws, 1.0)
            self._book.tune(guess, guess[None], mass, settled)

    def _weigh_shifts(self) -> None:
        """The shares of the shifts, from the difference of both sides and its standard error."""
        often, sums, squares = self._moments.T
        if self._noise is not None:
            shift = sums[1] - 0.5 * often[1] * self._shifts
            self._log_share = self._shifts * shift - logsumexp(self._shifts * shift)
            return
        if often.min() < _MIN_OF_A_SIDE:
            return
        means = sums / often
        variance = float((squares - often * means**2).sum() / max(often.sum() - 2.0, 1.0))
        self._centre, self._scale = float(means.mean()), math.sqrt(max(variance, 0.0))
        if self._scale > 0.0:
            shift = (means[1] - means[0]) / self._scale
            error = (1.0 / often).sum() + shift**2 / (2.0 * often.sum())
            log_likelihood = -((self._shifts - shift) ** 2) / (2.0 * error)
            self._log_share = log_likelihood - logsumexp(log_likelihood)

    def _mixed(self, scores: Floats) -> tuple[Floats, Floats]:
        """Of standardised scores the log-odds, and the logarithm of their density."""
        # A known noise is centred on the scores of canaries that are out, others between both.
        out = 0.0 if self._noise is not None else -0.5
        share, shift = self._log_share[:, None], self._shifts[:, None]
        below = logsumexp(share - 0.5 * (scores - out * shift) ** 2, axis=0)
        above = logsumexp(share - 0.5 * (scores - (1.0 + out) * shift) ** 2, axis=0)
        guess = np.clip(above - below, -_MAX_LOG_ODDS, _MAX_LOG_ODDS)
        return guess, np.logaddexp(above, below)


def _shift_of(epsilon: float, delta: float) -> float:
    """The largest shift, up to a limit, whose Gaussian profile is at most `delta` at `epsilon`."""

    def beyond(shift: float) -> float:
        return GaussianDP(shift).delta(epsilon) - delta

    if beyond(MAX_SHIFT) <= 0.0:
        return MAX_SHIFT
    return float(brentq(beyond, 1e-6, MAX_SHIFT))
