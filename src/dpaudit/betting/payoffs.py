"""Payoffs of bets against a claim: one level, a Rényi divergence, and mixtures for whole profiles.

**One level** `(epsilon, delta)` (docs/mathematics.md, section 3): the growth-optimal bet, both
directions. With `c` a guess of `Pr[y = 1 | x]` and `a + b = 2 - delta (sup v + sup w)`:

    S_P = a + v - e^eps w     v = clip(c (a + b e^-eps) - a, 0, cap)         paid if y = 1
    S_Q = b - e^eps v + w     w = clip((1-c)(b + a e^-eps) - b, 0, cap)      paid if y = 0

Where `v > 0` this is `S_P = c (a + b e^-eps)`, `S_Q = (1-c) e^eps (a + b e^-eps)`, and the like for
`w`; `v` and `w` are never both positive.

**A Rényi divergence** of at most `e` (section 5): with `k = (order-1)/order` and `K = e^{k e}`,

    E_P[g] <= K (k t^{-1/order} E_Q[g^{1/k}] + t^k / order)    for every bounded g >= 0 and t > 0,
    S_P = lam g,   S_Q = lam K k t^{-1/order} (max g^{1/k} - g^{1/k}),

`lam` such that the constant is `2 - lam K t^k / order`. The best `g` is `(p/q)^(order-1)`, here the
guessed ratio, clipped at a few heights.

**A whole profile**: every average of valid bets is valid. The bets that are mixed are the label
itself, for every tangent `(epsilon_j, delta_j)` of the profile and each direction the event "the
log-odds exceed epsilon_j", staked fully,

    S_P = nu 1[A],  S_Q = (2 - delta nu) (1 - 1[A]),  nu = 2 / (delta + e^eps),

and for Rényi claims the bets above. Cover's algorithm (1984) finds on the past the shares that grow
most; whatever shares it stops at, the bet is valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, Claim, RenyiDP

_ROUNDING = 1.0 - 1e-9  # scales the stakes so that rounding can only cost the bettor
_STAKE_HALVINGS = 8
_MIN_TILTING_DRAWS = 64.0  # before which every stake is even
_MIN_TILTING_GAIN = 2.0  # nats a tilted stake must have been worth so far: less is noise, and costs
_MIN_CAPPED_DELTA = 1e-4  # below it the price of the allowance is too small to cap bets for
_CLIPPED_SHARES = (0.9, 0.99, 0.999, 1.0)  # shares of the past guesses that are not clipped
_ZCDP_ORDERS = (1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0)
_TANGENTS = 16  # of a profile, in a mixed bet
_MIXING_ROUNDS = 40
_RESTARTED_SHARE = 0.02  # shared out anew before each climb, which cannot leave zero by itself
_LABEL_SHARE = 1e-3  # always kept on the label, half on each side: no sample can ruin the bettor


@dataclass(frozen=True, slots=True)
class Tangents:
    """Levels `(epsilon_k, delta_k)`, one bet each: `stake` is `a`, `cap` bounds the log-odds."""

    epsilon: Floats
    delta: Floats
    stake: Floats
    cap: Floats

    def log_payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`: one more axis than `log_odds`, the levels, before its last."""
        shrink = np.exp(-self.epsilon)[:, None]
        a, b = self._stakes(shrink)
        grow = 1.0 / np.maximum(shrink, 1e-300)
        log_one, log_zero = self._log_guesses(log_odds)
        # Where v > 0, S_P = c (a + b e^-eps); where w > 0, S_P = c (a + b e^eps); else a. As these
        # cross where v and w begin, no case is asked for; the like for S_Q.
        up = np.maximum(log_one + np.log(a + b * shrink), np.log(a))
        down = np.maximum(log_zero + np.log(b + a * shrink), np.log(b))
        np.minimum(up, log_one + np.log(a + b * grow), out=up)
        np.minimum(down, log_zero + np.log(b + a * grow), out=down)
        return up, down

    def _log_guesses(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log c` and `log (1 - c)` of the capped guesses, with an axis for the levels."""
        if len(self.cap) and np.all(self.cap == self.cap[0]):  # worked out once for all levels
            clipped = np.clip(log_odds, -self.cap[0], self.cap[0])[..., None, :]
        else:
            clipped = np.clip(log_odds[..., None, :], -self.cap[:, None], self.cap[:, None])
        return log_expit(clipped), log_expit(-clipped)

    def _stakes(self, shrink: Floats) -> tuple[Floats, Floats]:
        """`a` and `b`, after the price `delta (sup v + sup w)` of the allowance."""
        a = self.stake[:, None]
        b = 2.0 - a
        top, bottom = expit(self.cap)[:, None], expit(-self.cap)[:, None]
        # sup v and sup w over every guess that the cap admits, not only over those seen.
        highest_v = np.maximum(top * (a + b * shrink) - a, 0.0)
        highest_w = np.maximum((1.0 - bottom) * (b + a * shrink) - b, 0.0)
        keep = _ROUNDING / (1.0 + 0.5 * self.delta[:, None] * (highest_v + highest_w))
        return a * keep, b * keep


def tune(log_odds: Floats, mass: Floats, epsilon: Floats, delta: Floats) -> Tangents:
    """Choose stake and cap of each level for guesses like these, weighed by `mass`.

    The stake solves `dG/da = 0`, `G` the expected log-payoff, which is concave in `a`; it needs
    only the mass and the mean guess on either side of the thresholds `log(a/b) +- epsilon`. It is
    tilted only where that would have paid; otherwise `a = 1`. The cap matters when `delta` is not
    small: then the best of a few is taken, or no bet at all where all are expected to lose.
    """
    order = np.argsort(log_odds, kind="stable")
    draws = mass.sum()
    ordered, weight = log_odds[order], mass[order] / draws
    reach = max(float(np.abs(ordered[[0, -1]]).max()), 1e-6)
    tangents = Tangents(epsilon, delta, np.ones(len(epsilon)), np.full(len(epsilon), reach))
    groups = _grouped(ordered, weight, groups=64)
    if draws >= _MIN_TILTING_DRAWS:
        tilted = replace(tangents, stake=_best_stake(*groups, epsilon))
        gain = growth(tilted, *groups) - growth(tangents, *groups)
        stake = np.where(draws * gain > _MIN_TILTING_GAIN, tilted.stake, 1.0)
        tangents = replace(tangents, stake=stake)
    return tangents if delta.max() < _MIN_CAPPED_DELTA else _best_cap(tangents, *groups)


def growth(tangents: Tangents, log_odds: Floats, mass: Floats) -> Floats:
    """The expected log-payoff of each level per draw, if the guesses are right."""
    up, down = tangents.log_payoffs(log_odds)
    share, guess = mass / mass.sum(), expit(log_odds)
    return np.asarray(up @ (share * guess) + down @ (share * (1.0 - guess)))


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
        self._clips = np.zeros(len(_CLIPPED_SHARES))
        self._log_t = np.zeros(len(_CLIPPED_SHARES))

    def tune(self, log_odds: Floats, mass: Floats) -> None:
        """Place the clips at quantiles of the past guesses, and `t` at `E_Q[g^(1/k)]`."""
        order = np.argsort(np.abs(log_odds), kind="stable")
        share = np.cumsum(mass[order]) / mass.sum()
        place = np.searchsorted(share, np.array(_CLIPPED_SHARES) - 1e-12)
        clips = np.abs(log_odds)[order][np.minimum(place, len(order) - 1)]
        self._clips = np.maximum(clips, 1e-6)
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


class MixedBet:
    """Bets against one claim, a whole profile, and the share of the stake on each."""

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
        places, weight = _grouped(log_odds[order], mass[order] / mass.sum(), groups=128)
        up, down = self._elementary(places)
        one, zero = weight * expit(places), weight * expit(-places)
        share = np.full(len(up), 0.2 / (len(up) - 2))
        share[:2] = 0.4
        if self._share is not None:
            share = (1.0 - _RESTARTED_SHARE) * self._share + _RESTARTED_SHARE * share
        for _ in range(_MIXING_ROUNDS):
            share = share * (up @ (one / (share @ up)) + down @ (zero / (share @ down)))
            share = (1.0 - _LABEL_SHARE) * (share / share.sum())
            share[:2] += _LABEL_SHARE / 2
        self._share = share

    def log_payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q` for each guess."""
        if self._share is None:
            return np.zeros(len(log_odds)), np.zeros(len(log_odds))
        up, down = self._elementary(log_odds)
        return np.log(_ROUNDING * (self._share @ up)), np.log(_ROUNDING * (self._share @ down))

    def _elementary(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """Payoffs of every bet that is mixed: shape (bets, guesses)."""
        full = 2.0 * np.ones((1, len(log_odds)))
        ups, downs = [full, 0.0 * full], [0.0 * full, full]
        nu = 2.0 / (self._delta + np.exp(self._epsilon))
        for sign in (1.0, -1.0):
            likelier, rarer = (ups, downs) if sign > 0 else (downs, ups)
            event = sign * log_odds[None, :] > self._epsilon[:, None]
            likelier.append(nu[:, None] * event)
            rarer.append((2.0 - self._delta * nu)[:, None] * ~event)
            for bets in self._renyi:
                paid, owed = bets.payoffs(sign * log_odds)
                likelier.append(paid)
                rarer.append(owed)
        return np.concatenate(ups), np.concatenate(downs)


def _best_stake(ordered: Floats, weight: Floats, epsilon: Floats) -> Floats:
    below = np.concatenate([[0.0], np.cumsum(weight)])
    below_one = np.concatenate([[0.0], np.cumsum(weight * expit(ordered))])
    total, shrink = below[-1], np.exp(-epsilon)
    low, high = np.full(len(epsilon), 0.02), np.full(len(epsilon), 1.98)
    for _ in range(_STAKE_HALVINGS):
        a = 0.5 * (low + high)
        b = 2.0 - a
        centre = np.log(a / b)
        top = np.searchsorted(ordered, centre + epsilon, side="right")
        bottom = np.searchsorted(ordered, centre - epsilon, side="left")
        bottom = np.minimum(bottom, top)
        one = below_one[top] - below_one[bottom]
        zero = below[top] - below[bottom] - one
        slope = one / a - zero / b
        slope += (1.0 - shrink) * (total - below[top]) / (a + b * shrink)
        slope -= (1.0 - shrink) * below[bottom] / (b + a * shrink)
        low, high = np.where(slope > 0, a, low), np.where(slope > 0, high, a)
    return np.asarray(0.5 * (low + high))


def _best_cap(tangents: Tangents, log_odds: Floats, mass: Floats) -> Tangents:
    """The cap of each level that is expected to grow most; a cap at epsilon is no bet at all."""
    best = replace(tangents, stake=np.ones(len(tangents.epsilon)), cap=tangents.epsilon)
    best_growth = np.zeros(len(tangents.epsilon))
    for margin in (0.25, 0.5, 1.0, 2.0, 4.0, np.inf):
        tried = replace(tangents, cap=np.minimum(tangents.epsilon + margin, tangents.cap))
        reached = growth(tried, log_odds, mass)
        better = reached > best_growth
        best = replace(
            best,
            stake=np.where(better, tried.stake, best.stake),
            cap=np.where(better, tried.cap, best.cap),
        )
        best_growth = np.maximum(reached, best_growth)
    return best


def _grouped(ordered: Floats, weight: Floats, *, groups: int) -> tuple[Floats, Floats]:
    """The ordered guesses in at most `groups` groups: enough to compare a few bets."""
    if len(ordered) <= groups:
        return ordered, weight
    low, high = ordered[0], ordered[-1] + 1e-12
    place = ((ordered - low) / (high - low) * groups).astype(np.intp).clip(0, groups - 1)
    mass = np.bincount(place, weights=weight, minlength=groups).astype(np.float64)
    sums = np.bincount(place, weights=weight * ordered, minlength=groups)
    full = mass > 0
    return sums[full] / mass[full], mass[full]
