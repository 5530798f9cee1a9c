"""The growth-optimal bet against one level `(epsilon, delta)`, both directions, in closed form.

With `c` a guess of `Pr[y = 1 | x]` and a stake `a + b = 2 - delta (sup v + sup w)` on the label:

    S_P = a + v - e^eps w     v = clip(c (a + b e^-eps) - a, 0, cap)         paid if y = 1
    S_Q = b - e^eps v + w     w = clip((1-c)(b + a e^-eps) - b, 0, cap)      paid if y = 0

If `H_eps(P||Q) <= delta` both ways, `E[S] <= 1` for every `c`, `a` and cap fixed beforehand (MATH,
section 2). Where `v > 0` this is `S_P = c (a + b e^-eps)`, `S_Q = (1-c) e^eps (a + b e^-eps)`, and
the like for `w`; `v` and `w` are never both positive.

All functions work on many levels at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit

from dpaudit.arrays import Floats

ROUNDING = 1.0 - 1e-9  # scales the stakes so that rounding can only cost the bettor
_HALVINGS = 8
_LEAN_FROM = 64.0  # draws before which no stake leans
_WORTH = 2.0  # nats a leaning stake must have been worth so far: less is noise, and costs
_SMALL_DELTA = 1e-4  # below it the price of the allowance is too small to cap bets for


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

    def at(self, levels: npt.NDArray[np.intp]) -> Tangents:
        """The bets of some levels only."""
        return Tangents(
            self.epsilon[levels], self.delta[levels], self.stake[levels], self.cap[levels]
        )

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
        keep = ROUNDING / (1.0 + 0.5 * self.delta[:, None] * (highest_v + highest_w))
        return a * keep, b * keep


def tune(log_odds: Floats, mass: Floats, epsilon: Floats, delta: Floats) -> Tangents:
    """Choose stake and cap of each level for guesses like these, weighed by `mass`.

    The stake solves `dG/da = 0`, `G` the expected log-payoff, which is concave in `a`; it needs
    only the mass and the mean guess on either side of the thresholds `log(a/b) +- epsilon`. It
    leans only where that would have paid; otherwise `a = 1`. The cap matters when `delta` is not
    small: then the best of a few is taken, or no bet at all where all are expected to lose.
    """
    order = np.argsort(log_odds, kind="stable")
    draws = mass.sum()
    ordered, weight = log_odds[order], mass[order] / draws
    reach = max(float(np.abs(ordered[[0, -1]]).max()), 1e-6)
    fair = Tangents(epsilon, delta, np.ones(len(epsilon)), np.full(len(epsilon), reach))
    groups = coarse(ordered, weight)
    tangents = fair if draws < _LEAN_FROM else _lean(fair, *groups, draws)
    return tangents if delta.max() < _SMALL_DELTA else _best_cap(tangents, *groups)


def growth(tangents: Tangents, log_odds: Floats, mass: Floats) -> Floats:
    """The expected log-payoff of each level per draw, if the guesses are right."""
    up, down = tangents.log_payoffs(log_odds)
    share, guess = mass / mass.sum(), expit(log_odds)
    return np.asarray(up @ (share * guess) + down @ (share * (1.0 - guess)))


def _lean(fair: Tangents, log_odds: Floats, mass: Floats, draws: float) -> Tangents:
    """Lean the stakes of the levels where that would have paid."""
    leaning = replace(fair, stake=_best_stake(log_odds, mass, fair.epsilon))
    gain = growth(leaning, log_odds, mass) - growth(fair, log_odds, mass)
    return replace(fair, stake=np.where(draws * gain > _WORTH, leaning.stake, 1.0))


def _best_stake(ordered: Floats, weight: Floats, epsilon: Floats) -> Floats:
    below = np.concatenate([[0.0], np.cumsum(weight)])
    below_one = np.concatenate([[0.0], np.cumsum(weight * expit(ordered))])
    total, shrink = below[-1], np.exp(-epsilon)
    low, high = np.full(len(epsilon), 0.02), np.full(len(epsilon), 1.98)
    for _ in range(_HALVINGS):
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


def coarse(ordered: Floats, weight: Floats, *, groups: int = 64) -> tuple[Floats, Floats]:
    """The ordered guesses in at most so many groups: enough to compare a few bets."""
    if len(ordered) <= groups:
        return ordered, weight
    low, high = ordered[0], ordered[-1] + 1e-12
    place = ((ordered - low) / (high - low) * groups).astype(np.intp).clip(0, groups - 1)
    mass = np.bincount(place, weights=weight, minlength=groups).astype(np.float64)
    sums = np.bincount(place, weights=weight * ordered, minlength=groups)
    full = mass > 0
    return sums[full] / mass[full], mass[full]


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
