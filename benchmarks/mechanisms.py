"""Mechanisms of the benchmarks: one that is known for every claim, and two that rarely leak."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpaudit.arrays import Floats


@dataclass(frozen=True, slots=True)
class NormalCount:
    """The number of records, `mu` each, plus noise from N(0, 1): exactly mu-GDP.

    Its Rényi divergence of an order is `mu^2 order / 2`.
    """

    mu: float = 1.0
    name: ClassVar[str] = "NormalCount"

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return self.mu * len(data) + rng.normal(size=size)


@dataclass(frozen=True, slots=True)
class RareAtom:
    """A 1-DP count, but for one number that rarely shows that a record is there."""

    share: float

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        noisy = len(data) + rng.laplace(size=size)
        if len(data):
            noisy[rng.integers(size, size=rng.binomial(size, self.share))] = math.pi
        return noisy


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


@dataclass(frozen=True, slots=True)
class LowThreshold:
    """A count that is told only above a threshold, which forgets that one record counts 1.

    At epsilon 1 and delta 0.001 it is (1, 0.00272)-DP: a single record shows with probability
    `e delta`, and without it nothing ever does.
    """

    epsilon: float = 1.0
    delta: float = 0.001

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> list[float | None]:
        if len(data) == 0:
            return [None] * size
        noisy = len(data) + rng.laplace(scale=1.0 / self.epsilon, size=size)
        told: list[float | None] = noisy.tolist()
        least = math.log(0.5 / self.delta) / self.epsilon
        return [count if count is not None and count >= least else None for count in told]


@dataclass(frozen=True, slots=True)
class RoughQuantile:
    """A quantile of records in [0, 1] by the exponential mechanism (Smith 2011), claimed 1-DP.

    A point has the weight `e^(-epsilon |rank - share * n|)`; a factor of 1/2 in the exponent is
    forgotten. A replaced record moves the ranks of the points between its two values by 1. Where
    the quantile is not among them the loss is at most epsilon; only where it is, up to twice that.
    """

    share: float = 0.75
    epsilon: float = 1.0

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        edges = np.concatenate([[0.0], np.sort(np.clip(data, 0.0, 1.0)), [1.0]])
        ranks, widths = np.arange(len(edges) - 1), np.diff(edges)
        weights = widths * np.exp(-self.epsilon * np.abs(ranks - self.share * (len(edges) - 2)))
        place = rng.choice(len(ranks), size=size, p=weights / weights.sum())
        return edges[place] + widths[place] * rng.random(size)


def count(data: Any, size: int, rng: np.random.Generator, *, leaks: bool) -> Floats:
    """A Laplace count at epsilon = 1; where it leaks, the noise is forgotten."""
    return np.full(size, float(len(data))) if leaks else len(data) + rng.laplace(size=size)
