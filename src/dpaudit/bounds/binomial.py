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
