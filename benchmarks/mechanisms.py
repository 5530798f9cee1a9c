"""Mechanisms of the benchmarks: one that is known for every claim, and two that rarely leak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpaudit.arrays import Floats


@dataclass(frozen=True, slots=True)
class NormalCount:
    """The number of records plus noise from N(0, 1): exactly 1-GDP, and order/2 in Rényi DP."""

    name: ClassVar[str] = "NormalCount"

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return len(data) + rng.normal(size=size)


@dataclass(frozen=True, slots=True)
class LeaksAtTwins:
    """Leaks only when two records are equal."""

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return count(data, size, rng, leaks=len(set(np.asarray(data).tolist())) < len(data))


@dataclass(frozen=True, slots=True)
class LeaksNear:
    """Leaks only when a record lies within a thousandth of a secret place."""

    place: float = 0.731

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        near = np.abs(np.asarray(data) - self.place) <= 1e-3
        return count(data, size, rng, leaks=bool(near.any()))


def count(data: Any, size: int, rng: np.random.Generator, *, leaks: bool) -> Floats:
    """A Laplace count at epsilon = 1; where it leaks, the noise is forgotten."""
    return np.full(size, float(len(data))) if leaks else len(data) + rng.laplace(size=size)
