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
import numpy.typing as npt
from scipy.special import expit, log_expit

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, Claim, RenyiDP

# These scale the stakes so that rounding can only cost the bettor (docs/mathematics.md, section 3).
_ROUNDING, _MIXED_ROUNDING = 1.0 - 1e-13, 1.0 - 1e-10
_STAKE_HALVINGS = 8
_MIN_TILTING_DRAWS = 64.0  # before which every stake is even
_MIN_TILTING_GAIN = 2.0  # nats a tilted stake must have been worth so far: less is noise, and costs
_MARGINS = np.array(
    [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, np.inf]
)  # nats beyond epsilon at which guesses may be bounded
_TUNING_GROUPS = 64  # of guesses, in which bets are compared
_CLIPPED_SHARES = (0.9, 0.99, 0.999, 1.0)  # shares of the past guesses that are not clipped
_ZCDP_ORDERS = (1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0)
_TANGENTS = 16  # of a profile, in a mixed bet
_NEWTON_STEPS = 40
_LEAST_GAIN = 1e-7  # nats a draw: less is not worth a step
_LEAST_SHARE = 1e-9
_STEP_HALVINGS = 30
_SHARE_DIGITS = 4  # of a share: what comes after them differs from processor to processor
_RIDGE = 1e-6  # nats at most: of mixtures that grow alike, the evenest, on every processor
_LABEL_SHARE = 1e-3  # always kept on the label, half on each side: no sample can ruin the bettor


@dataclass(frozen=True, slots=True)
class Tangents:
    """Levels `(epsilon_k, delta_k)`, one bet each: `stake` is `a`, guesses are clipped.

    `stake` and the bounds `lowest` and `highest` of the log-odds have the levels on their last
    axis, and may have an axis of guessers before it.
    """

    epsilon: Floats
    delta: Floats
    stake: Floats
    lowest: Floats
    highest: Floats

    def log_payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`: one more axis than `log_odds`, the levels, before its last."""
        a, b, log_a, log_b = self._stakes()
        shrink = np.exp(-self.epsilon)
        grow = 1.0 / np.maximum(shrink, 1e-300)
        log_one, log_zero = (log_expit(sign * log_odds)[..., None, :] for sign in (1.0, -1.0))
        # Where v > 0, S_P = c (a + b e^-eps); where w > 0, S_P = c (a + b e^eps); else a. As these
        # cross where v and w begin, no case is asked for; the like for S_Q. Clipping c clips its
        # logarithm, so each payoff is one line with a floor and a ceiling.
        pieces = (
            (log_one, log_a, np.log(a + b * shrink), np.log(a + b * grow), 1.0),
            (log_zero, log_b, np.log(b + a * shrink), np.log(b + a * grow), -1.0),
        )
        paid = []
        for log_guess, even, above, below, sign in pieces:
            least, most = (
                log_expit(sign * bound) for bound in (self.lowest, self.highest)[:: int(sign)]
            )
            clipped = np.clip(log_guess, least[..., None], most[..., None])
            up = np.maximum(clipped + above[..., None], even[..., None])
            paid.append(np.minimum(up, clipped + below[..., None], out=up))
        return paid[0], paid[1]

    def _stakes(self) -> tuple[Floats, Floats, Floats, Floats]:
        """`a`, `b` and their logarithms, after the price `delta (sup v + sup w)`."""
        a, b, shrink = self.stake, 2.0 - self.stake, np.exp(-self.epsilon)
        # sup v and sup w over every guess that the bounds admit, not only over those seen.
        highest_v = np.maximum(expit(self.highest) * (a + b * shrink) - a, 0.0)
        highest_w = np.maximum(expit(-self.lowest) * (b + a * shrink) - b, 0.0)
        keep = _ROUNDING / (1.0 + 0.5 * self.delta * (highest_v + highest_w))
        return a * keep, b * keep, np.log(a * keep), np.log(b * keep)


def tune(
    log_odds: Floats, mass: Floats, epsilon: Floats, delta: Floats, *, tilt: bool = True
) -> Tangents:
    """Choose stake and bounds of each level for guesses like these, weighed by `mass`.

    `log_odds` may have an axis of guessers before that of the rows: then each has its own. The
    stake solves `dG/da = 0`, `G` the expected log-payoff, which is concave in `a`; it needs only
    the mass and the mean guess on either side of the thresholds `log(a/b) +- epsilon`. It is tilted
    only where that would have paid; otherwise `a = 1`. Without a delta the guesses are bounded by
    the boldest one so far. With one, each direction has its own price and so its own bound: the
    best of a few, or no bet at all where all are expected to lose.
    """
    draws, weight = float(mass.sum()), mass / mass.sum()
    groups = _grouped(np.atleast_2d(log_odds), weight, groups=_TUNING_GROUPS)
    stake = np.ones((len(groups[0]), len(epsilon)))
    bets = _best_bounds(stake, *groups, epsilon, delta)
    if tilt and draws >= _MIN_TILTING_DRAWS:
        tilted = np.stack([_best_stake(*group, epsilon) for group in zip(*groups, strict=True)])
        others = _best_bounds(tilted, *groups, epsilon, delta)
        better = draws * (growth(others, *groups) - growth(bets, *groups)) > _MIN_TILTING_GAIN
        bets = _either(better, others, bets)
    if log_odds.ndim > 1:
        return bets
    return replace(bets, stake=bets.stake[0], lowest=bets.lowest[0], highest=bets.highest[0])


def growth(tangents: Tangents, log_odds: Floats, mass: Floats) -> Floats:
    """The expected log-payoff of each level per draw, if the guesses are right."""
    up, down = tangents.log_payoffs(log_odds)
    share, guess = mass / mass.sum(axis=-1, keepdims=True), expit(log_odds)
    one, zero = share * guess, share * (1.0 - guess)
    return np.asarray((up @ one[..., None] + down @ zero[..., None])[..., 0])


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
        grouped = _grouped(log_odds[None], mass / mass.sum(), groups=512)
        places, weight = (part[0][grouped[1][0] > 0.0] for part in grouped)
        up, down = self._elementary(places)
        one, zero = weight * expit(places), weight * expit(-places)
        start = np.append([0.5, 0.5], np.zeros(len(up) - 2)) if self._share is None else self._share
        kept = _LABEL_SHARE + (1.0 - _LABEL_SHARE) * np.hstack([up, down])
        best = best_shares(kept, np.concatenate([one, zero]), start).round(_SHARE_DIGITS)
        share = (1.0 - _LABEL_SHARE) * best / best.sum()
        share[:2] += _LABEL_SHARE / 2
        self._share = share

    def log_payoffs(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q` for each guess."""
        if self._share is None:
            return np.zeros(len(log_odds)), np.zeros(len(log_odds))
        up, down = self._elementary(log_odds)
        return np.log(_MIXED_ROUNDING * (self._share @ up)), np.log(
            _MIXED_ROUNDING * (self._share @ down)
        )

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


def best_shares(payoffs: Floats, mass: Floats, start: Floats) -> Floats:
    """The shares of bets (rows) whose average grows most in the log: Newton's method on a simplex.

    `mass` weighs the outcomes (columns), on all of which the start is paid something. Each step
    takes in the bet that promises most, and a bet whose share falls to zero is dropped. Shares that
    are multiplied by what they earn (Cover 1984) get there too, but take thousands of steps where
    little is won. Bets that pay nearly the same share evenly: a sum of squares is taken off what is
    maximised, too small to cost anything.

    >>> payoffs, mass = np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([0.7, 0.3])
    >>> print(best_shares(payoffs, mass, np.full(2, 0.5)).round(3))
    [0.7 0.3]
    """
    share: Floats = start / start.sum()
    weight: Floats = mass / mass.sum()
    for _ in range(_NEWTON_STEPS):
        relative = payoffs / (share @ payoffs)
        gain = relative @ weight - _RIDGE * share  # best: equal for bets in use, no more for others
        more = gain - share @ gain
        if more.max() < _LEAST_GAIN:
            break
        promised = np.maximum(more, 0.0) ** 2 / (relative**2 @ weight)
        best = int(promised.argmax())
        step = _newton_step(relative, weight, gain, (share > 0.0) | (np.arange(len(share)) == best))
        towards = -share  # to a larger share of the best one alone: this always gains
        towards[best] += 1.0
        tried = [_stepped(share, way, way @ relative, weight) for way in (step, towards)]
        share = max(tried, key=lambda one: one[1])[0]
        share = np.where(share < _LEAST_SHARE, 0.0, share)
        share /= share.sum()
    return share


def _newton_step(
    relative: Floats, weight: Floats, gain: Floats, used: npt.NDArray[np.bool_]
) -> Floats:
    """The step of the shares in use, zero in sum, to the best of the quadratic approximation."""
    some, bets = relative[used], int(np.count_nonzero(used))
    system = np.zeros((bets + 1, bets + 1))
    system[:bets, :bets] = (some * weight) @ some.T + _RIDGE * np.eye(bets)
    system[bets, :bets] = system[:bets, bets] = 1.0
    step = np.zeros(len(used))
    step[used] = np.linalg.solve(system, np.append(gain[used], 0.0))[:bets]
    return step


def _stepped(share: Floats, step: Floats, change: Floats, weight: Floats) -> tuple[Floats, float]:
    """The shares after as much of a step as gains, and the gain; `change` is that of the payoff."""
    falling = step < 0.0
    size = min(1.0, float(np.min(share[falling] / -step[falling], initial=np.inf)))
    for _ in range(_STEP_HALVINGS):
        paid = 1.0 + size * change
        squares = size * float(2.0 * share @ step + size * step @ step)
        gained = float(weight @ np.log(paid)) if paid.min() > 0.0 else -np.inf
        gained -= 0.5 * _RIDGE * squares
        if gained > 0.0:
            return np.maximum(share + size * step, 0.0), gained
        size *= 0.5
    return share, 0.0


def _best_stake(log_odds: Floats, mass: Floats, epsilon: Floats) -> Floats:
    order = np.argsort(np.where(mass > 0.0, log_odds, np.inf), kind="stable")
    ordered, weight = np.where(mass > 0.0, log_odds, np.inf)[order], mass[order]
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


def _best_bounds(
    stake: Floats, log_odds: Floats, mass: Floats, epsilon: Floats, delta: Floats
) -> Tangents:
    """The bets with those bounds, of each guesser and level, that are expected to grow most.

    Guesses between `log(a/b) - epsilon` and `log(a/b) + epsilon` are not bet on.
    """
    centre = np.log(stake / (2.0 - stake))
    reach = np.maximum(np.abs(log_odds).max(axis=1, keepdims=True), 1e-6) + np.zeros_like(stake)
    bounded = Tangents(epsilon, delta, stake, -reach, reach)
    if not delta.any():
        return bounded
    silent = replace(bounded, lowest=centre - epsilon, highest=centre + epsilon)
    margins = _MARGINS[:, None, None]
    lower = replace(silent, lowest=np.maximum(silent.lowest - margins, -reach))
    higher = replace(silent, highest=np.minimum(silent.highest + margins, reach))
    lowest = _best_of(lower.lowest, growth(lower, log_odds, mass))
    highest = _best_of(higher.highest, growth(higher, log_odds, mass))
    ways = [(lowest, silent.highest), (silent.lowest, highest), (lowest, highest)]
    downs, ups = (np.stack(bounds) for bounds in zip(*ways, strict=True))
    grows = growth(replace(silent, lowest=downs, highest=ups), log_odds, mass)
    best = replace(silent, lowest=_best_of(downs, grows), highest=_best_of(ups, grows))
    nothing = Tangents(
        epsilon, delta, np.ones_like(stake), 0.0 * stake - epsilon, 0.0 * stake + epsilon
    )
    return _either(grows.max(axis=0) > 0.0, best, nothing)


def _best_of(tried: Floats, grows: Floats) -> Floats:
    """What grew most of the things tried, which are the first axis."""
    return np.asarray(np.take_along_axis(tried, grows.argmax(axis=0)[None], axis=0)[0])


def _either(first: npt.NDArray[np.bool_], one: Tangents, other: Tangents) -> Tangents:
    """The bets of `one` where `first` is true, of `other` elsewhere."""
    return replace(
        one,
        stake=np.where(first, one.stake, other.stake),
        lowest=np.where(first, one.lowest, other.lowest),
        highest=np.where(first, one.highest, other.highest),
    )


def _grouped(log_odds: Floats, weight: Floats, *, groups: int) -> tuple[Floats, Floats]:
    """The guesses of each guesser in at most `groups` groups: enough to compare a few bets."""
    if log_odds.shape[1] <= groups:
        return log_odds, np.broadcast_to(weight, log_odds.shape)
    low, high = log_odds.min(axis=1, keepdims=True), log_odds.max(axis=1, keepdims=True) + 1e-12
    place = ((log_odds - low) / (high - low) * groups).astype(np.intp).clip(0, groups - 1)
    place += groups * np.arange(len(log_odds))[:, None]
    size, every = groups * len(log_odds), np.broadcast_to(weight, log_odds.shape).ravel()
    mass = np.bincount(place.ravel(), weights=every, minlength=size)
    sums = np.bincount(place.ravel(), weights=every * log_odds.ravel(), minlength=size)
    means = sums / np.maximum(mass, 1e-300)
    shape = (len(log_odds), groups)
    return means.reshape(shape), mass.astype(np.float64).reshape(shape)
