"""Fisher's exact test: whether an event is likelier on one side than on the other."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dpaudit.arrays import Floats

_DEVIATIONS, _MIN_TERMS = 12.0, 60  # terms of a tail that are summed; what is left is bounded
_CELLS_AT_ONCE = 2e6
_SLACK = 1e-15  # relative, for the rounding of the largest log-factorial


def fisher_log_tail(
    hits: npt.ArrayLike, draws: int, neighbour_hits: npt.ArrayLike, neighbour_draws: int
) -> Floats:
    """The log of the p-value of Fisher's exact test that an event is likelier on the data.

    Of all hits on both sides, so many or more fall on the data's if every draw is equally likely to
    be one: a hypergeometric tail. The p-value is valid whenever `P(A) <= Q(A)`. Fewer hits on the
    data, or more on the neighbour, never make it smaller. Rounding is added to it. Source: Fisher
    1935, "The logic of inductive inference".

    >>> print(np.exp(fisher_log_tail([3, 0], 4, [1, 0], 4)).round(4))  # a lady tastes tea
    [0.2429 1.    ]
    """
    ones, zeros = np.broadcast_arrays(np.atleast_1d(hits), neighbour_hits)
    share = draws / max(draws + neighbour_draws, 1)
    spread = math.sqrt(float((ones + zeros).max(initial=0)) * share * (1.0 - share))
    terms = int(_DEVIATIONS * spread) + _MIN_TERMS
    size = max(int(_CELLS_AT_ONCE / terms), 1)
    found = [np.empty(0)]
    for start in range(0, len(ones), size):
        part = slice(start, start + size)
        counts = ones[part].astype(np.float64), zeros[part].astype(np.float64)
        found.append(_log_tails(*counts, draws, neighbour_draws, terms))
    rounding = 1e-9 + _SLACK * float(gammaln(draws + neighbour_draws + 1.0))
    return np.asarray(np.minimum(np.concatenate(found) + rounding, 0.0))


def _log_tails(ones: Floats, zeros: Floats, draws: int, neighbour_draws: int, terms: int) -> Floats:
    """The logs of the tails: sums from the hits away from the mean, or 1 less the other tail.

    The sums start at the mass of one count, and each next mass is the last times a ratio, which
    falls: what lies beyond the last term is at most a geometric series.
    """
    total = ones + zeros
    upward = ones * neighbour_draws > zeros * draws
    start = np.where(upward, ones, ones - 1.0)
    place = start[:, None] + np.where(upward, 1.0, -1.0)[:, None] * np.arange(terms)
    rest, room = total[:, None] - place, neighbour_draws - total[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        up = (draws - place) * rest / ((place + 1.0) * (room + place + 1.0))
        down = place * (room + place) / ((draws - place + 1.0) * (rest + 1.0))
    ratios = np.maximum(np.nan_to_num(np.where(upward[:, None], up, down), posinf=0.0), 0.0)
    masses = np.cumprod(ratios, axis=1)
    beyond = np.where(upward, masses[:, -1] * ratios[:, -1], 0.0)
    beyond = beyond / np.maximum(1.0 - ratios[:, -1], 1e-12)
    log_sum = np.minimum(
        _log_mass(start, total, draws, neighbour_draws) + np.log1p(masses.sum(axis=1) + beyond),
        -1e-300,
    )
    with np.errstate(divide="ignore"):
        others = np.log(-np.expm1(log_sum))
    return np.where(upward, log_sum, np.where(ones > 0.0, others, 0.0))


def _log_mass(place: Floats, total: Floats, draws: int, neighbour_draws: int) -> Floats:
    """The log-probability that so many of all hits fall on the data's draws."""
    return np.asarray(
        _log_choose(float(draws), place)
        + _log_choose(float(neighbour_draws), total - place)
        - _log_choose(float(draws + neighbour_draws), total)
    )


def _log_choose(size: float, some: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        found = gammaln(size + 1.0) - gammaln(some + 1.0) - gammaln(size - some + 1.0)
    return np.where((some >= 0.0) & (some <= size), found, -np.inf)
