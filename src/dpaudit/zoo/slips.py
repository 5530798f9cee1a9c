"""Mistakes of the code, not of the mathematics: the noise is right, but it is not what comes out.

Records lie in [0, 1] and a neighbour has one record more or less.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.zoo.frame import ONE_RECORD_MORE, EpsilonMechanism, Fraction, entry
from dpaudit.zoo.mean import DPLaplace

__all__ = ["FixedSeed", "RaisesOnEmpty", "RareLeak"]

SEED = 42


@dataclass(frozen=True, slots=True)
class FixedSeed(EpsilonMechanism):
    """`LaplaceCount` that makes its generator anew for every release, always of the same seed.

    Every release has the same noise, whatever `rng` is: whoever has seen one knows the number of
    records of all others, so no epsilon holds.

    >>> first, second, third = FixedSeed()([1.0, 1.0], 3, np.random.default_rng())
    >>> bool(first == second == third)
    True
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        noise = np.random.default_rng(SEED).laplace(scale=1 / self.epsilon)
        return np.full(size, len(data) + noise)


@dataclass(frozen=True, slots=True)
class RareLeak(EpsilonMechanism):
    """`LaplaceCount` that forgets the noise with a small probability: infinite, but rarely seen.

    A count without noise has no chance at all on the neighbour, and the rest is `epsilon`-DP, so
    the delta at `epsilon` and at every level above is exactly `probability`.

    >>> set(RareLeak(probability=1 - 1e-12)([1.0, 1.0], 3, np.random.default_rng(0)).tolist())
    {2.0}
    """

    _: KW_ONLY
    probability: Fraction = 1e-4

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        noise = rng.laplace(scale=1 / self.epsilon, size=size)
        return len(data) + np.where(rng.random(size) < self.probability, 0.0, noise)


@dataclass(frozen=True, slots=True)
class RaisesOnEmpty(EpsilonMechanism):
    """`DPLaplace`, a mean that is exactly `epsilon`-DP, but for the `ValueError` on no records.

    Whoever sees the error knows that there are none; the neighbour with one record never raises.

    >>> RaisesOnEmpty()([0.0, 1.0], 5, np.random.default_rng(0)).shape
    (5,)
    >>> RaisesOnEmpty()([], 5, np.random.default_rng(0))
    Traceback (most recent call last):
        ...
    ValueError: a mean needs at least one record, got none.
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        if len(data) == 0:
            raise ValueError("a mean needs at least one record, got none.")
        return DPLaplace(self.epsilon)(data, size, rng)


ENTRIES = (
    entry(
        FixedSeed,
        ONE_RECORD_MORE,
        true_epsilon=math.inf,
        bug="The generator is made anew of a fixed seed for every release: the noise is known.",
        source="a common slip: Garfinkel and Leclerc 2020, Randomness concerns when deploying "
        "differential privacy",
    ),
    entry(
        RareLeak,
        ONE_RECORD_MORE,
        true_epsilon=math.inf,
        bug="One release in ten thousand is the true count: a branch on which the noise is "
        "forgotten.",
        source="a common slip: what a delta would allow (Dwork and Roth 2014, The algorithmic "
        "foundations of differential privacy, section 2.3)",
    ),
    entry(
        RaisesOnEmpty,
        ONE_RECORD_MORE,
        true_epsilon=math.inf,
        bug="It raises on no records: the error tells them from a dataset with one.",
        source="a common slip: Haeberlen, Pierce and Narayan 2011, Differential privacy under fire "
        "(what a query does besides its answer)",
    ),
)
