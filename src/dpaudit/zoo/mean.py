"""Means with Laplace or Gaussian noise: two that keep their claim, five that do not.

They are those of DP-Auditorium (Kong, Medina, Ribero and Syed 2023), "Evaluated mechanisms", with
`DPGaussian` beside its `DPLaplace`; and `ClippedMeanExactCount`, a common slip.

Records lie in [0, 1] and a neighbour has one record more or less. With `n` records, the noisy count
is `max(1e-12, n + 2/epsilon * noise)` and noise on the mean has the scale `2/(n epsilon)`, with the
true or the noisy count. The mean of no records is 0, and where a formula divides by the true count
no records count as 1e-12.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import ApproxDP
from dpaudit.zoo.frame import DP_AUDITORIUM, SIX_RECORDS, EpsilonMechanism, entry, pair_of

__all__ = [
    "ClippedMeanExactCount",
    "DPGaussian",
    "DPLaplace",
    "NonDPGaussian1",
    "NonDPGaussian2",
    "NonDPLaplace1",
    "NonDPLaplace2",
]

LEAST_COUNT = 1e-12


@dataclass(frozen=True, slots=True)
class DPLaplace(EpsilonMechanism):
    """The sum over a noisy count, with Laplace noise scaled by the noisy count: `epsilon`-DP.

    The bound is reached: where the noisy count falls to 1e-12, a very negative output is
    `e^epsilon` times less likely once a record of 1 is added.

    >>> DPLaplace(1.0)([0.0, 1.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        count = noisy_count(data, self.epsilon, rng.laplace(size=size))
        return float(np.sum(data)) / count + 2 / self.epsilon / count * rng.laplace(size=size)


@dataclass(frozen=True, slots=True)
class DPGaussian(EpsilonMechanism):
    """`DPLaplace` with Gaussian noise, on the count and on the sum.

    The output is made of a noisy count and a noisy sum, each of which moves by at most 1 under
    noise of standard deviation `2/epsilon`. Together they are `mu`-Gaussian DP with
    `mu = epsilon / sqrt(2)` (Dong, Roth and Su 2022, corollary 3.3), so the mechanism is
    `(epsilon, delta)`-DP with `delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)`:
    0.0396 at epsilon = 1. The output is only their quotient, which tells less.

    >>> DPGaussian(1.0)([0.0, 1.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        count = noisy_count(data, self.epsilon, rng.normal(size=size))
        return float(np.sum(data)) / count + 2 / self.epsilon / count * rng.normal(size=size)


@dataclass(frozen=True, slots=True)
class NonDPLaplace1(EpsilonMechanism):
    """The mean with Laplace noise scaled by the true count: the scale tells the count.

    The density ratio of Laplace noise of two scales grows without limit, so no epsilon holds.

    >>> NonDPLaplace1(1.0)([0.0, 1.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return mean(data) + 2 / (count_of(data) * self.epsilon) * rng.laplace(size=size)


@dataclass(frozen=True, slots=True)
class NonDPLaplace2(EpsilonMechanism):
    """The true mean, divided by the true count, with Laplace noise scaled by a noisy count.

    >>> NonDPLaplace2(1.0)([0.0, 1.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        count = noisy_count(data, self.epsilon, rng.laplace(size=size))
        return mean(data) + 2 / self.epsilon / count * rng.laplace(size=size)


@dataclass(frozen=True, slots=True)
class NonDPGaussian1(EpsilonMechanism):
    """`NonDPLaplace1` with Gaussian noise of standard deviation `2/(n epsilon)`.

    >>> NonDPGaussian1(1.0)([0.0, 1.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return mean(data) + 2 / (count_of(data) * self.epsilon) * rng.normal(size=size)


@dataclass(frozen=True, slots=True)
class NonDPGaussian2(EpsilonMechanism):
    """`NonDPLaplace2` with Gaussian noise, on the count and on the mean.

    >>> NonDPGaussian2(0.1)([0.0, 1.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        count = noisy_count(data, self.epsilon, rng.normal(size=size))
        return mean(data) + 2 / self.epsilon / count * rng.normal(size=size)


@dataclass(frozen=True, slots=True)
class ClippedMeanExactCount(EpsilonMechanism):
    """The mean of records clipped to [0, 1], with Laplace noise of scale `1/(n epsilon)`.

    Right for replacing one of `n` records, where `n` is public: the mean moves by at most `1/n`.
    Where a record is added or removed, the scale of the noise tells `n`, and no epsilon holds.

    >>> ClippedMeanExactCount(1.0)([-3.0, 9.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        clipped = np.clip(np.asarray(data, dtype=np.float64), 0, 1)
        return mean(clipped) + rng.laplace(scale=1 / (count_of(data) * self.epsilon), size=size)


def noisy_count(data: Any, epsilon: float, noise: Floats) -> Floats:
    """Give the number of records with this noise times `2/epsilon`, never below 1e-12."""
    return np.maximum(LEAST_COUNT, len(data) + 2 / epsilon * noise)


def count_of(data: Any) -> float:
    """Give the number of records, never below 1e-12."""
    return max(LEAST_COUNT, float(len(data)))


def mean(data: Any) -> float:
    """Give the mean of the records; 0 for no records."""
    return float(np.sum(data)) / count_of(data)


_MEAN_PAIR = pair_of([0, 1], [0])
_MEAN = _MEAN_PAIR, partial(SIX_RECORDS, min_records=1)  # a mean of no records is not defined
_SCALE_TELLS = "The scale of the noise tells the true number of records."
_TRUE_DIVISOR = "The noise knows only a noisy count, but the mean is divided by the true one."

ENTRIES = (
    entry(DPLaplace, (_MEAN_PAIR, SIX_RECORDS), source=DP_AUDITORIUM),
    entry(
        DPGaussian,
        (pair_of([0, 0, 0, 1], [0, 0, 0]), SIX_RECORDS),  # its delta is 0.0389
        claim=ApproxDP(1.0, 0.04),  # 0.0396 for the noisy count and the noisy sum, rounded up
        true_epsilon=None,  # the quotient tells less than count and sum, which reach 0.997
        source=f"{DP_AUDITORIUM}, DPLaplace with Gaussian noise",
    ),
    entry(NonDPLaplace1, _MEAN, true_epsilon=math.inf, bug=_SCALE_TELLS, source=DP_AUDITORIUM),
    entry(NonDPLaplace2, _MEAN, true_epsilon=None, bug=_TRUE_DIVISOR, source=DP_AUDITORIUM),
    entry(
        NonDPGaussian1,
        _MEAN,
        claim=ApproxDP(1.0, 1e-5),
        true_epsilon=None,
        bug=_SCALE_TELLS,
        source=DP_AUDITORIUM,
    ),
    entry(
        # At epsilon = 1 this pair keeps the claim: its hockey-stick divergence is 0.
        partial(NonDPGaussian2, epsilon=0.1),
        _MEAN,
        claim=ApproxDP(0.1, 1e-5),
        true_epsilon=None,
        bug=_TRUE_DIVISOR,
        source=DP_AUDITORIUM,
    ),
    entry(
        ClippedMeanExactCount,
        _MEAN,
        true_epsilon=math.inf,
        bug="The noise is for a replaced record, with the number of records taken for public; "
        "adding a record changes its scale.",
        source="a common slip: the sensitivity of replacing a record, used for adding one",
    ),
)
