"""The alternative that tests of a training are planned for: independent Gaussian canaries.

A canary's score is `N(mu/2, 1)` if it is in and `N(-mu/2, 1)` if it is out. What is planned decides
how often a broken training is found. No validity depends on it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from dpaudit.arrays import Floats

MOST_SHIFT = 30.0  # no plan looks for canaries that lie further apart
_NORMAL = NormalDist()
_GRID = 1_000  # shares at which an accuracy is tabulated


def shift_for_accuracy(share: float, accuracy: float) -> float:
    """The `mu` at which guesses on the surest share of the canaries are this often right.

    Of all canaries `share * accuracy` lie beyond a threshold on the right side and
    `share * (1 - accuracy)` on the wrong one, so `mu` is the difference of two normal quantiles.

    >>> print(round(shift_for_accuracy(1.0, 0.691462), 4))  # Phi(1/2)
    1.0
    """
    if not 0.5 < accuracy < 1.0:
        return 0.0 if accuracy <= 0.5 else MOST_SHIFT
    return _NORMAL.inv_cdf(share * accuracy) - _NORMAL.inv_cdf(share * (1.0 - accuracy))


def accuracy_by_sureness(shift: float, shares: Floats) -> Floats:
    """How often a guess is right on the canaries at these shares of the surest.

    >>> print(accuracy_by_sureness(1.0, np.array([0.01, 0.5, 1.0])).round(3))
    [0.945 0.682 0.5  ]
    """
    beyond, distance = _distances(round(shift, 6))
    far = np.interp(shares, beyond, distance)
    return np.asarray(1.0 / (1.0 + np.exp(-shift * far)))


def middles(canaries: int) -> Floats:
    """The shares in whose middle each canary lies, the surest first.

    >>> middles(4).tolist()
    [0.125, 0.375, 0.625, 0.875]
    """
    return np.asarray((np.arange(canaries) + 0.5) / canaries)


@lru_cache(maxsize=1_024)
def _distances(shift: float) -> tuple[Floats, Floats]:
    """Shares of canaries, rising, and the distance from the middle beyond which they lie."""
    from scipy.special import ndtr

    distance = np.linspace(shift / 2.0 + 8.0, 0.0, _GRID)
    beyond = ndtr(shift / 2.0 - distance) + ndtr(-shift / 2.0 - distance)
    return np.asarray(beyond), distance


def expected_log_wealth(shift: float, canaries: int, odds: float, most_gain: float) -> float:
    """How much a bettor who knows `shift` gains against guesses right with `odds` to one.

    `most_gain` is the most that one right guess may multiply the wealth by, less 1.

    >>> print(round(expected_log_wealth(1.0, 1000, math.e, math.exp(-1.0)), 2))
    13.71
    """
    accuracy = accuracy_by_sureness(shift, middles(min(canaries, _GRID)))
    fair = odds / (1.0 + odds)
    staked = np.clip(accuracy, fair, min(fair * (1.0 + most_gain), 1.0 - 1e-12))
    gain = accuracy * np.log(staked / fair) + (1.0 - accuracy) * (
        np.log1p(-staked) - math.log1p(-fair)
    )
    return float(gain.mean() * canaries)
