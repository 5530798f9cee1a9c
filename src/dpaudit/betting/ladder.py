"""The levels a lower bound can climb: the claim's own strength, and others below and above it.

The nulls are nested: a mechanism that keeps a claim keeps every weaker one. So "the highest level
such that it and every lower one was refuted" is a lower bound with no correction for the number of
levels (MATH, section 2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats

FINE = np.array([*np.arange(0.1, 0.9, 0.1), 0.85, *np.arange(0.9, 0.995, 0.01)]).round(2)
COARSE = np.array([0.5, 0.7, 0.8, 0.9, 0.95])  # where every level costs a portfolio
_HIGHEST = 12.0  # nats: no sample of a practical size certifies more
_LEAST = 1e-3  # a claim of 0 still gets a ladder


def ladder(strength: float, *, shares: Floats, ratio: float) -> tuple[Floats, int]:
    """Levels in rising order, and the place of the claim among them.

    Levels below the claim are the given shares of it; steps of `ratio` lead on from there.

    >>> levels, place = ladder(1.0, shares=FINE, ratio=1.02)
    >>> print(levels[place], levels[place - 1], round(levels[place + 1], 3))
    1.0 0.99 1.02
    """
    lower = strength * shares if strength > 0 else np.empty(0)
    base = max(strength, _LEAST)
    steps = int(np.ceil(np.log(max(_HIGHEST / base, 1.5)) / np.log(ratio)))
    upper = base * np.geomspace(ratio, ratio**steps, steps)
    return np.concatenate([lower, [strength], upper]), len(lower)


def open_levels(levels: Floats, place: int, settled: int, ahead: int) -> npt.NDArray[np.intp]:
    """Every level up to the claim that is not settled, and some `ahead`; always the claim.

    >>> print(open_levels(np.arange(9.0), 4, 2, 1), open_levels(np.arange(9.0), 4, 6, 2))
    [2 3 4] [4 6 7]
    """
    last = min(max(place + 1, settled + ahead), len(levels))
    return np.unique(np.append(np.arange(settled, last), place))
