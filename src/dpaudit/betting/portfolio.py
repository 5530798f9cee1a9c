"""Bets against a whole privacy profile: a log-optimal portfolio of elementary bets.

An elementary bet pays `S_P(x)` on `y = 1` and `S_Q(x)` on `y = 0` with `(E_P S_P + E_Q S_Q)/2 <= 1`
under the claim; so does every average of such bets. The elementary bets are the label itself, for
every tangent `(epsilon_j, delta_j)` of the profile and each direction the event "the log-odds
exceed epsilon_j", staked fully,

    S_P = nu 1[A],  S_Q = (2 - delta nu) (1 - 1[A]),  nu = 2 / (delta + e^eps),

and for Rényi claims the direct bets of `betting/renyi.py`. Their weights are found on the past by
Cover's algorithm (1984), which climbs to the log-optimal portfolio; whatever weights it stops at,
the bet is valid.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from dpaudit.arrays import Floats
from dpaudit.betting.renyi import RenyiBets, renyi_orders
from dpaudit.betting.tangent import ROUNDING, coarse
from dpaudit.claims import Claim

_TANGENTS = 16
_ROUNDS = 40
_RESTART = 0.02  # shared out anew before each climb, which cannot leave zero by itself
_CASH = 1e-3  # always kept on the label, half on each side: no single sample can ruin the bettor


class Portfolio:
    """Elementary bets against one claim, and the share of wealth on each."""

    def __init__(self, claim: Claim) -> None:
        levels = np.array(claim.tangents(_TANGENTS))  # type: ignore[attr-defined]
        self._epsilon, self._delta = levels[:, 0], levels[:, 1]
        self._renyi = [RenyiBets(order, epsilon) for order, epsilon in renyi_orders(claim)]
        self._share: Floats | None = None

    def tune(self, log_odds: Floats, mass: Floats) -> None:
        """Find the shares that would have grown most on guesses like these."""
        for bets in self._renyi:
            bets.tune(log_odds, mass)
        order = np.argsort(log_odds, kind="stable")
        places, weight = coarse(log_odds[order], mass[order] / mass.sum(), groups=128)
        up, down = self._elementary(places)
        one, zero = weight * expit(places), weight * expit(-places)
        share = _even(len(up))
        if self._share is not None:
            share = (1.0 - _RESTART) * self._share + _RESTART * share
        for _ in range(_ROUNDS):
            share = share * (up @ (one / (share @ up)) + down @ (zero / (share @ down)))
            share = _with_cash(share / share.sum())
        self._share = share

    def log_payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q` for each guess."""
        if self._share is None:
            return np.zeros(len(log_odds)), np.zeros(len(log_odds))
        up, down = self._elementary(log_odds)
        return np.log(ROUNDING * (self._share @ up)), np.log(ROUNDING * (self._share @ down))

    def _elementary(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """Payoffs of every elementary bet: shape (bets, guesses)."""
        full = 2.0 * np.ones((1, len(log_odds)))
        ups, downs = [full, 0.0 * full], [0.0 * full, full]
        for sign in (1.0, -1.0):
            likelier, rarer = (ups, downs) if sign > 0 else (downs, ups)
            event = sign * log_odds[None, :] > self._epsilon[:, None]
            nu = 2.0 / (self._delta + np.exp(self._epsilon))
            likelier.append(nu[:, None] * event)
            rarer.append((2.0 - self._delta * nu)[:, None] * ~event)
            for bets in self._renyi:
                paid, owed = bets.payoffs(sign * log_odds)
                likelier.append(paid)
                rarer.append(owed)
        return np.concatenate(ups), np.concatenate(downs)


def _even(bets: int) -> Floats:
    share = np.full(bets, 0.2 / (bets - 2))
    share[:2] = 0.4
    return share


def _with_cash(share: Floats) -> Floats:
    share = (1.0 - _CASH) * share
    share[:2] += _CASH / 2
    return share
