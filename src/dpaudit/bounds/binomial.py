"""Exact bounds on proportions, the epsilon that an event certifies, and evidence from counts.

Evidence that draws depend on each other is the logarithm of an e-value: it has mean at most 1 where
the draws are independent, so it reaches `1/alpha` with probability at most `alpha`, whenever one
looks (Ville 1939).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dpaudit.arrays import Floats

_TAIL_CUT = 1e-14  # of each tilted binomial, on either side; it counts as beyond the points
_SLACK = 1e-10  # relative, for rounding in the transforms and in the search for the root
# How alike the draws of a call are: a call's own rate varies as a Beta variable with these counts.
_CONCENTRATIONS = (0.1, 1.0, 10.0, 100.0, 1000.0)


@overload
def proportion_lower(hits: int, draws: int, alpha: float) -> float: ...
@overload
def proportion_lower(hits: NDArray[Any], draws: int | NDArray[Any], alpha: float) -> Floats: ...
@overload
def proportion_lower(hits: int, draws: NDArray[Any], alpha: float) -> Floats: ...
def proportion_lower(
    hits: int | NDArray[Any], draws: int | NDArray[Any], alpha: float
) -> float | Floats:
    """The lower Clopper-Pearson bound: below the true proportion with chance at least `1 - alpha`.

    It is the proportion at which seeing `hits` or more has probability exactly `alpha`; 0 without
    hits. Source: Clopper and Pearson 1934, "The use of confidence or fiducial limits".

    >>> round(proportion_lower(60, 100, 0.05), 4)
    0.513
    >>> proportion_lower(0, 100, 0.05)
    0.0
    """
    from scipy import stats  # half a second to load

    successes, failures = _counts(hits, draws, alpha)
    # Not special.betaincinv: in scipy 1.11 it is off by up to 6 % at small alpha.
    inside = stats.beta.ppf(alpha, np.maximum(successes, 1.0), failures + 1.0)
    return _like(np.where(successes == 0, 0.0, inside))


@overload
def proportion_upper(hits: int, draws: int, alpha: float) -> float: ...
@overload
def proportion_upper(hits: NDArray[Any], draws: int | NDArray[Any], alpha: float) -> Floats: ...
@overload
def proportion_upper(hits: int, draws: NDArray[Any], alpha: float) -> Floats: ...
def proportion_upper(
    hits: int | NDArray[Any], draws: int | NDArray[Any], alpha: float
) -> float | Floats:
    """The upper Clopper-Pearson bound: above the true proportion with chance at least `1 - alpha`.

    It is the proportion at which seeing `hits` or fewer has probability exactly `alpha`; 1 when
    every draw hit, and when there was none. Source: Clopper and Pearson 1934.

    >>> round(proportion_upper(60, 100, 0.05), 4)
    0.6825
    >>> round(proportion_upper(0, 100, 0.05), 4)
    0.0295
    """
    from scipy import stats  # half a second to load

    successes, failures = _counts(hits, draws, alpha)
    # isf, because ppf at 1 - alpha would keep only four digits of alpha = 1e-12.
    inside = stats.beta.isf(alpha, successes + 1.0, np.maximum(failures, 1.0))
    return _like(np.where(failures == 0, 1.0, inside))


def proportion_anytime(hits: int, draws: int, alpha: float) -> tuple[float, float]:
    """A lower and an upper bound that hold together at every number of draws at once.

    Whoever looks after every draw, and stops when the clock or the counts say so, is wrong with
    probability at most `alpha`. For each proportion `p` a wealth bets against it,
    `B(hits + 1/2, misses + 1/2) / B(1/2, 1/2) / (p^hits (1 - p)^misses)`; the bounds enclose the
    proportions whose wealth is below `1/alpha` (Robbins 1970, "Statistical methods related to the
    law of the iterated logarithm"; Ville 1939).

    >>> [round(bound, 3) for bound in proportion_anytime(60, 100, 0.05)]
    [0.434, 0.751]
    >>> proportion_anytime(0, 0, 0.05)
    (0.0, 1.0)
    """
    from scipy.optimize import brentq
    from scipy.special import betaln, xlogy

    _counts(hits, draws, alpha)
    misses = draws - hits
    needed = math.log(1.0 / alpha) - float(betaln(hits + 0.5, misses + 0.5) - betaln(0.5, 0.5))

    def short(logit: float) -> float:  # by how much the wealth against a proportion is too small
        p, q = 1.0 / (1.0 + math.exp(-logit)), 1.0 / (1.0 + math.exp(logit))
        return float(needed + xlogy(hits, p) + xlogy(misses, q))

    bounds = []
    centre = math.log((hits + 0.5) / (misses + 0.5)) if draws else 0.0
    for end, outermost in ((-700.0, 0.0), (700.0, 1.0)):
        if short(end) >= 0.0:
            bounds.append(outermost)
        else:
            logit = float(brentq(short, centre, end, xtol=1e-12))
            bounds.append(1.0 / (1.0 + math.exp(-logit)))
    return bounds[0] * (1.0 - 1e-9), min(bounds[1] * (1.0 + 1e-9), 1.0)


def staked_proportion_lower(
    stakes: Sequence[int], hits: Sequence[int], trials: Sequence[int], alpha: float
) -> float:
    """A chance that some trial exceeds: above the largest of all with probability at most `alpha`.

    Of `trials[i]` independent trials `hits[i]` succeed, each for `stakes[i]` points. If no trial
    succeeds with more than a chance `p`, the points are no more than those of binomial variables,
    `sum(stake * Binomial(trials, p))`. With one stake it is the bound of Clopper and Pearson.

    >>> round(staked_proportion_lower([3], [60], [100], 0.05), 4)
    0.513
    >>> round(staked_proportion_lower([1, 4], [60, 90], [100, 100], 0.05), 4)
    0.7845
    """
    used = [place for place, size in enumerate(trials) if size]
    if len(used) < 2:
        return sum(proportion_lower(hits[place], trials[place], alpha) for place in used)
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must be in (0, 1), got {alpha!r}.")
    unit = math.gcd(*(stakes[place] for place in used))
    points = sum(stakes[place] * hits[place] for place in used) // unit
    weights = np.array([stakes[place] // unit for place in used])
    sizes = np.array([trials[place] for place in used])
    return _chance_at(points, weights, sizes, alpha) if points else 0.0


def log_tail(points: int, stakes: NDArray[np.int_], trials: NDArray[np.int_], p: float) -> float:
    """The log of the probability of `points` or more, if each chance is `p`.

    It is computed by convolution, after tilting the chances so that the points become the middle of
    the distribution (Esscher 1932): small tails lose no digits.

    >>> one, three = np.array([1]), np.array([3])
    >>> round(math.exp(log_tail(2, one, three, 0.5)), 6)  # two or three heads of three
    0.5
    """
    if points >= int(stakes @ trials):
        return float(trials.sum() * math.log(p))
    odds = math.log(p) - math.log1p(-p)
    tilt = _tilt(points, stakes, trials, odds)
    tilted: Floats = np.asarray(odds + tilt * stakes, dtype=np.float64)
    growth = trials * (np.logaddexp(0.0, tilted) - np.logaddexp(0.0, odds))
    start, chances, cut = _sum(stakes, trials, tilted)
    beyond = start + np.arange(len(chances)) - points
    kept = beyond >= 0
    share = float(chances[kept] @ np.exp(-tilt * beyond[kept])) + cut
    return min(0.0, float(growth.sum()) - tilt * points + math.log(share) + _SLACK)


def make_ready() -> None:
    """Load what the bounds need, now rather than at the first of them: it takes half a second."""
    from scipy import stats  # noqa: F401


def epsilon_from_event(p_lower: float, q_upper: float, delta: float) -> float:
    """The epsilon an event certifies at `delta`: `log((p_lower - delta) / q_upper)`, at least 0.

    If `P(A) >= p_lower` and `Q(A) <= q_upper`, no mechanism with a smaller epsilon has this event.

    >>> round(epsilon_from_event(0.5, 0.1, 0.0), 4)
    1.6094
    >>> epsilon_from_event(0.1, 0.5, 1e-6)
    0.0
    """
    for name, value in (("p_lower", p_lower), ("q_upper", q_upper), ("delta", delta)):
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{name} must be a probability in [0, 1], got {value!r}.")
    excess = p_lower - delta
    if excess <= q_upper:
        return 0.0
    return math.log(excess) - math.log(q_upper) if q_upper > 0.0 else math.inf


def coin_evidence(heads: NDArray[Any], tails: NDArray[Any]) -> Floats:
    """The log e-value of heads and tails against a fair coin, for each entry.

    It is the mean likelihood of all unfair coins, by the prior of Krichevsky and Trofimov (1981),
    over the likelihood of a fair one.

    >>> coin_evidence(np.array([5, 40]), np.array([5, 0])).round(2).tolist()
    [-1.4, 25.31]
    """
    from scipy.special import betaln

    fair = (heads + tails) * np.log(0.5)
    return np.asarray(betaln(heads + 0.5, tails + 0.5) - betaln(0.5, 0.5) - fair)


def dispersion_evidence(calls: Sequence[tuple[int, int]]) -> float:
    """The log e-value of `(hits, draws)` by call against hits that are independent of each other.

    The alternative is hits that are alike within a call: the rate of each call is a Beta variable
    around the rate of the calls before it, mixed over several widths. Its likelihood over the
    largest one of the null, that of the best single rate, is an e-value whatever the calls are and
    whenever one stops (Wasserman, Ramdas and Balakrishnan 2020, "Universal inference").

    >>> dispersion_evidence([(10, 20), (11, 20), (9, 20), (12, 20)]) < 0.0
    True
    >>> dispersion_evidence([(20, 20), (0, 20), (20, 20), (0, 20), (20, 20)]) > 50.0
    True
    """
    from scipy.special import betaln, logsumexp, xlogy

    if not calls:
        return 0.0
    hits, draws = np.array(calls, dtype=np.float64).T
    before = np.cumsum(draws) - draws
    rate = (np.cumsum(hits) - hits + 0.5) / (before + 1.0)
    alike = [
        betaln(hits + width * rate, draws - hits + width * (1.0 - rate))
        - betaln(width * rate, width * (1.0 - rate))
        for width in _CONCENTRATIONS
    ]
    total, made = float(hits.sum()), float(draws.sum())
    share = total / made
    independent = float(xlogy(total, share) + xlogy(made - total, 1.0 - share))
    by_width = np.array([one.sum() for one in alike])
    return float(logsumexp(by_width) - np.log(len(by_width)) - independent)


def _counts(
    hits: int | NDArray[Any], draws: int | NDArray[Any], alpha: float
) -> tuple[Floats, Floats]:
    """Successes and failures as floats, checked and broadcast."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must be in (0, 1), got {alpha!r}.")
    successes, total = np.broadcast_arrays(hits, draws)
    for name, counts in (("hits", successes), ("draws", total)):
        if not np.issubdtype(counts.dtype, np.integer):
            raise ValueError(f"{name} must be whole numbers, got {counts!r}. Count, do not weigh.")
    if np.any(successes < 0) or np.any(successes > total):
        raise ValueError(f"hits must be between 0 and draws, got {hits!r} of {draws!r}.")
    return successes.astype(np.float64), (total - successes).astype(np.float64)


def _like(values: Floats) -> float | Floats:
    """A plain float for plain counts, an array for arrays."""
    return float(values) if values.ndim == 0 else values


def _chance_at(
    points: int, stakes: NDArray[np.int_], trials: NDArray[np.int_], alpha: float
) -> float:
    """The chance at which `points` or more have probability `alpha`."""
    from scipy.optimize import brentq
    from scipy.special import expit

    def excess(odds: float) -> float:
        return log_tail(points, stakes, trials, float(expit(odds))) - math.log(alpha)

    middle = min(points / int(stakes @ trials), 1.0 - 1e-12)
    high = math.log(middle) - math.log1p(-middle)
    step = min(4.0 * math.sqrt(float(stakes @ (stakes * trials))) / points, 1.0)
    while excess(high) < 0.0:
        high += step
    low = high - step
    while excess(low) > 0.0:
        low -= step
        step *= 2.0
    return float(expit(brentq(excess, low, high, xtol=1e-10))) * (1.0 - _SLACK)


def _tilt(points: int, stakes: NDArray[np.int_], trials: NDArray[np.int_], odds: float) -> float:
    """How far the log-odds must move, a stake, for `points` on average; never downwards."""
    from scipy.optimize import brentq
    from scipy.special import expit

    def missing(tilt: float) -> float:
        return float((stakes * trials) @ expit(odds + tilt * stakes)) - points

    if missing(0.0) >= 0.0:
        return 0.0
    high = 1.0
    while missing(high) < 0.0:
        high *= 2.0
    return float(brentq(missing, 0.0, high))


def _sum(
    stakes: NDArray[np.int_], trials: NDArray[np.int_], odds: Floats
) -> tuple[int, Floats, float]:
    """The smallest sum that is kept, the probability of each sum from there on, and what is cut."""
    from scipy.signal import fftconvolve
    from scipy.special import expit
    from scipy.stats import binom

    start, chances, cut = 0, np.ones(1), 0.0
    for stake, size, odd in zip(stakes.tolist(), trials.tolist(), odds.tolist(), strict=True):
        p = float(expit(odd))
        # Not isf, which is of no use for tails this small.
        first, last = (
            int(binom.ppf(_TAIL_CUT, size, p)),
            size - int(binom.ppf(_TAIL_CUT, size, expit(-odd))),
        )
        spread = np.zeros(stake * (last - first) + 1)
        spread[::stake] = binom.pmf(np.arange(first, last + 1), size, p)
        chances = np.maximum(fftconvolve(chances, spread), 0.0)
        start, cut = start + stake * first, cut + 2.0 * _TAIL_CUT
    return start, chances, cut
