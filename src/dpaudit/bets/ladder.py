"""The levels a lower bound can climb: the claim's own strength, and others below and above it.

The nulls are nested: a mechanism that keeps a claim keeps every weaker one. So "the highest level
such that it and every lower one was refuted" is a lower bound with no correction for the number of
levels (MATH, section 2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_HIGHEST = 12.0  # nats: no sample of a practical size certifies more
_LEAST = 1e-3  # a claim of 0 still gets a ladder


def ladder(strength: float, *, below: int, ratio: float) -> tuple[Floats, int]:
    """Levels in rising order, and the place of the claim among them.

    `below` even steps lead up to the claim, and steps of `ratio` lead on from there.

    >>> levels, place = ladder(1.0, below=50, ratio=1.02)
    >>> print(levels[place], levels[place - 1], round(levels[place + 1], 3))
    1.0 0.98 1.02
    """
    base = max(strength, _LEAST)
    lower = strength * np.arange(1, below) / below if strength > 0 else np.empty(0)
    steps = int(np.ceil(np.log(max(_HIGHEST / base, 1.5)) / np.log(ratio)))
    upper = base * np.geomspace(ratio, ratio**steps, steps)
    return np.concatenate([lower, [strength], upper]), len(lower)
