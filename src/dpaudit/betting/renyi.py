"""Direct bets against a Rényi divergence, with no detour through its profile.

If `R_order(P||Q) <= e`, then for every bounded `g >= 0` and `t > 0`, by Hölder and Young, with
`k = (order-1)/order` and `K = e^{k e}`,

    E_P[g] <= K (k t^{-1/order} E_Q[g^{1/k}] + t^k / order)            (MATH, section 3)

which is linear in two means, hence a bet. Fully staked it pays

    S_P = lam g,   S_Q = lam K k t^{-1/order} (max g^{1/k} - g^{1/k}),

`lam` such that the constant is `2 - lam K t^k / order`. The best `g` is `(p/q)^(order-1)`, here the
guessed ratio, clipped at a few heights.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, Claim, RenyiDP

_CLIPS = (0.9, 0.99, 0.999, 1.0)  # shares of the past guesses that are not clipped
_ZCDP_ORDERS = (1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0)


def renyi_orders(claim: Claim) -> tuple[tuple[float, float], ...]:
    """The Rényi bounds `(order, epsilon)` that a claim is made of; none for other claims."""
    if isinstance(claim, RenyiDP):
        return ((claim.order, claim.epsilon),)
    if isinstance(claim, ZCDP):
        return tuple((order, claim.rho * order) for order in _ZCDP_ORDERS)
    return ()


class RenyiBets:
    """Bets that the Rényi divergence of one order exceeds `epsilon`, one for each clip."""

    def __init__(self, order: float, epsilon: float) -> None:
        self._order = order
        self._k = (order - 1.0) / order
        self._log_scale = self._k * epsilon
        self._clips = np.zeros(len(_CLIPS))
        self._log_t = np.zeros(len(_CLIPS))

    def tune(self, log_odds: Floats, mass: Floats) -> None:
        """Place the clips at quantiles of the past guesses, and `t` at `E_Q[g^(1/k)]`."""
        order = np.argsort(np.abs(log_odds), kind="stable")
        share = np.cumsum(mass[order]) / mass.sum()
        place = np.minimum(np.searchsorted(share, np.array(_CLIPS) - 1e-12), len(order) - 1)
        self._clips = np.maximum(np.abs(log_odds)[order][place], 1e-6)
        clipped = np.clip(log_odds[None, :], -self._clips[:, None], self._clips[:, None])
        # g^(1/k) = (p/q)^order; under Q a guess has mass 2 (1 - c).
        weight = 2.0 * mass * expit(-log_odds) / mass.sum()
        height = self._order * self._clips  # taken out of the sum, so that no order overflows
        scaled = np.exp(self._order * clipped - height[:, None]) @ weight
        self._log_t = height + np.log(np.maximum(scaled, 1e-300))

    def payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`S` on the likelier side and on the other: shape (clips, guesses)."""
        top = self._clips[:, None]
        clipped = np.clip(log_odds[None, :], -top, top)
        # All in units of K k t^{-1/order} e^{order top}, the most the other side can owe.
        log_owed = self._log_scale + math.log(self._k) - self._log_t / self._order
        log_unit = log_owed[:, None] + self._order * top
        log_allowance = self._log_scale + self._k * self._log_t - math.log(self._order)
        stake = 2.0 / (1.0 + np.exp(log_allowance[:, None] - log_unit))
        paid = stake * np.exp((self._order - 1.0) * clipped - log_unit)
        owed = stake * -np.expm1(self._order * (clipped - top))
        return paid, owed
