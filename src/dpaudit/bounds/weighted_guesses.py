"""Exact bounds where some trials count more than others.

Of `trials[i]` independent trials some succeed, and each success earns `stakes[i]` points. If no
trial succeeds with more than a chance `p`, the points are no more than those of binomial variables,
`sum(stake * Binomial(trials, p))`. The tail of that sum is computed, not approximated: by
convolution, after tilting the chances so that the points seen become the middle of it (Esscher
1932). Small tails lose no digits in this way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.bounds.binomial import proportion_lower

_CUT = 1e-14  # of each tilted binomial, on either side; what is cut counts as beyond the points
_SLACK = 1e-10  # relative, for rounding in the transforms and in the search for the root


def staked_proportion_lower(
    stakes: Sequence[int], hits: Sequence[int], trials: Sequence[int], alpha: float
) -> float:
    """A chance that some trial exceeds: above the largest of all with probability at most `alpha`.

    With one stake it is the bound of Clopper and Pearson (1934).

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


def log_tail(
    points: int, stakes: npt.NDArray[np.int_], trials: npt.NDArray[np.int_], p: float
) -> float:
    """The logarithm of the probability of so many points or more, if each chance is `p`.

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


def _chance_at(
    points: int, stakes: npt.NDArray[np.int_], trials: npt.NDArray[np.int_], alpha: float
) -> float:
    """The chance at which so many points or more have probability `alpha`."""
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


def _tilt(
    points: int, stakes: npt.NDArray[np.int_], trials: npt.NDArray[np.int_], odds: float
) -> float:
    """How far the log-odds must move, a stake, for so many points on average; never downwards."""
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
    stakes: npt.NDArray[np.int_], trials: npt.NDArray[np.int_], odds: Floats
) -> tuple[int, Floats, float]:
    """The smallest sum that is kept, the probability of each sum from there on, and what is cut."""
    from scipy.signal import fftconvolve
    from scipy.special import expit
    from scipy.stats import binom

    start, chances, cut = 0, np.ones(1), 0.0
    for stake, size, odd in zip(stakes.tolist(), trials.tolist(), odds.tolist(), strict=True):
        p = float(expit(odd))
        # Not isf, which is of no use for tails this small.
        first, last = int(binom.ppf(_CUT, size, p)), size - int(binom.ppf(_CUT, size, expit(-odd)))
        spread = np.zeros(stake * (last - first) + 1)
        spread[::stake] = binom.pmf(np.arange(first, last + 1), size, p)
        chances = np.maximum(fftconvolve(chances, spread), 0.0)
        start, cut = start + stake * first, cut + 2.0 * _CUT
    return start, chances, cut
