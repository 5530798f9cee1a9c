"""Counts and sums with noise: Laplace, Gaussian, staircase, and snapped to a grid.

`LaplaceCount`, `GaussianCount` and `Staircase` sit exactly on their claim, `Snapping` just below
and `ClassicalGaussianCount` well below it. `ClippedSum` and `ClassicalGaussianCountTooLoose` break
theirs.
"""

import functools
import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.claims import ApproxDP
from dpaudit.domains import floats
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import replace_one
from dpaudit.zoo.frame import (
    ONE_RECORD_MORE,
    Allowed,
    EpsilonMechanism,
    Fraction,
    Positive,
    entry,
    pair_of,
)

__all__ = [
    "ClassicalGaussianCount",
    "ClassicalGaussianCountTooLoose",
    "ClippedSum",
    "GaussianCount",
    "LaplaceCount",
    "Snapping",
    "Staircase",
]


@dataclass(frozen=True, slots=True)
class LaplaceCount(EpsilonMechanism):
    """The number of records plus Laplace noise: exactly `epsilon`-DP when one record is added.

    Dwork, McSherry, Nissim and Smith (2006), "Calibrating noise to sensitivity".

    >>> LaplaceCount(1.0)([3.0, 4.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return len(data) + rng.laplace(scale=1 / self.epsilon, size=size)


@dataclass(frozen=True, slots=True)
class ClippedSum(EpsilonMechanism):
    """The sum of records clipped to [-bound, bound], with noise for half of its sensitivity.

    Replacing a record moves the sum by up to `2 * bound`, not `bound`, so under replace-one the
    privacy loss is `2 * epsilon`. (When a record is added or removed the claim does hold.)

    >>> ClippedSum(1.0, bound=2.0)([3.0, -9.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    _: KW_ONLY
    bound: Positive = 1.0

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        total = np.clip(np.asarray(data, dtype=np.float64), -self.bound, self.bound).sum()
        return np.asarray(total + rng.laplace(scale=self.bound / self.epsilon, size=size))


@dataclass(frozen=True, slots=True)
class GaussianCount(EpsilonMechanism):
    """The number of records plus the least Gaussian noise that is `(epsilon, delta)`-DP.

    The standard deviation `sigma` is the smallest that keeps the claim, not the classical upper
    bound, so the mechanism sits exactly on it: Balle and Wang (2018), "Improving the Gaussian
    mechanism for differential privacy", theorem 8.

    >>> round(GaussianCount(1.0, 1e-5).sigma, 4)
    3.7306
    """

    delta: Fraction = 1e-5

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return least_sigma(self.epsilon, self.delta)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return len(data) + rng.normal(scale=self.sigma, size=size)


@dataclass(frozen=True, slots=True)
class ClassicalGaussianCount(GaussianCount):
    """The number of records plus Gaussian noise of the classical formula: `(epsilon, delta)`-DP.

    `sigma = sqrt(2 log(1.25/delta)) / epsilon`, which is proven for `epsilon < 1` only, and is more
    than is needed there: Dwork and Roth (2014), "The algorithmic foundations of differential
    privacy", theorem A.1.

    >>> round(ClassicalGaussianCount(0.9, 1e-5).sigma, 4)
    5.3831
    """

    epsilon: Positive = 0.9

    def check(self) -> None:
        """Refuse an epsilon for which the formula is not proven."""
        if self.epsilon >= 1:
            raise InvalidMechanism(
                f"{self.name} needs an epsilon below 1, for which its formula is proven, "
                f"got {self.epsilon!r}. GaussianCount takes any."
            )

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon


@dataclass(frozen=True, slots=True)
class ClassicalGaussianCountTooLoose(ClassicalGaussianCount):
    """The classical formula of `ClassicalGaussianCount`, used at any epsilon.

    Its noise shrinks as `1/epsilon`, but the noise that is needed shrinks only as
    `1/sqrt(2 epsilon)`, so every delta is broken once epsilon is large: Balle and Wang (2018),
    "Improving the Gaussian mechanism for differential privacy", section 2. The smaller the delta,
    the larger that epsilon, and an audit needs about `e^epsilon` draws: hence the large delta here.

    >>> mechanism = ClassicalGaussianCountTooLoose(5.0, 0.6)
    >>> round(mechanism.sigma, 4), round(gaussian_delta(5.0, mechanism.sigma), 4)
    (0.2423, 0.7244)
    """

    epsilon: Positive = 5.0
    delta: Fraction = 0.6

    def check(self) -> None:
        """Take any epsilon: this is the bug."""


@dataclass(frozen=True, slots=True)
class Staircase(EpsilonMechanism):
    """The number of records plus staircase noise: exactly `epsilon`-DP when one record is added.

    Of all noise that is `epsilon`-DP, it has the least expected size. The density falls by the
    factor `e^epsilon` at the distances `gamma, 1 + gamma, 2 + gamma, ...` from 0 and is flat
    between. Left out, `gamma` is `1 / (1 + e^(epsilon/2))`, for which the expected distance is
    least. Geng and Viswanath (2014), "The optimal mechanism in differential privacy", algorithm 1.

    >>> mechanism = Staircase(1.0)
    >>> round(mechanism.first_step, 4)
    0.3775
    >>> mechanism([3.0, 4.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    _: KW_ONLY
    gamma: Annotated[
        float | None, Allowed(lambda value: value is None or 0 <= value <= 1, "0 <= {} <= 1")
    ] = None

    @property
    def first_step(self) -> float:
        """Where the first step ends: `gamma`, or the best one."""
        if self.gamma is not None:
            return self.gamma
        tail = math.exp(-self.epsilon / 2)
        return tail / (1 + tail)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        gamma, fall = self.first_step, math.exp(-self.epsilon)
        steps = rng.geometric(-math.expm1(-self.epsilon), size=size) - 1
        share = rng.random(size)
        # Each flight is a step of width gamma, then one of width 1 - gamma and e^-epsilon as high.
        is_high = rng.random(size) * (gamma + (1 - gamma) * fall) < gamma
        within: Floats = np.where(is_high, gamma * share, gamma + (1 - gamma) * share)
        return len(data) + rng.choice((-1.0, 1.0), size=size) * (steps + within)


@dataclass(frozen=True, slots=True)
class Snapping(EpsilonMechanism):
    """The number of records plus Laplace noise, snapped to a grid: `epsilon`-DP even in floats.

    `clamp(snap(clamp(count) + sign * scale * log(U)))`: `clamp` to [-bound, bound], `snap` to
    the nearest multiple of `spacing`, the least power of two that is at least `scale`. In floats
    this is `(1 + 2^-49 bound) / scale`-DP, so `scale` makes that `epsilon`. On real numbers it is
    `1 / scale`-DP and no better: the lowest output is `e^(1/scale)` times likelier with a record
    less. Mironov (2012), "On significance of the least significant bits for differential
    privacy", section 5.

    The paper asks for a logarithm with the last bit right; numpy's may be off by one there.

    >>> mechanism = Snapping(0.1)
    >>> round(mechanism.scale, 6), mechanism.spacing
    (10.0, 16.0)
    >>> set((mechanism([3.0, 4.0], 99, np.random.default_rng(0)) % 16).tolist())
    {0.0}
    """

    _: KW_ONLY
    bound: Positive = 64.0

    def check(self) -> None:
        """Refuse a bound for which the proof in floats does not hold."""
        if not self.scale < self.bound < 2.0**46 * self.scale:
            raise InvalidMechanism(
                f"{self.name} needs a bound between its scale {self.scale:g} and 2**46 times that, "
                f"got {self.bound!r}."
            )

    @property
    def scale(self) -> float:
        """The scale of the noise, `(1 + 2^-49 bound) / epsilon`."""
        return (1 + 2.0**-49 * self.bound) / self.epsilon

    @property
    def spacing(self) -> float:
        """The width of the grid: the least power of two that is at least the scale."""
        mantissa, exponent = math.frexp(self.scale)  # mantissa in [0.5, 1)
        return math.ldexp(1.0, exponent - (mantissa == 0.5))

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        sign = rng.choice((-1.0, 1.0), size=size)
        noise = sign * self.scale * np.log(uniform_floats(size, rng))
        noisy = min(float(len(data)), self.bound) + noise
        return np.clip(snapped(noisy, self.spacing), -self.bound, self.bound)


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """Give the delta at `epsilon` of Gaussian noise on a number that moves by 1.

    `Phi(1/(2s) - e s) - exp(e) Phi(-1/(2s) - e s)`, written as a product: nothing cancels.
    """
    from scipy.special import log_ndtr

    first = float(log_ndtr(0.5 / sigma - epsilon * sigma))
    second = epsilon + float(log_ndtr(-0.5 / sigma - epsilon * sigma))
    return -math.exp(first) * math.expm1(min(0.0, second - first))


@functools.lru_cache
def least_sigma(epsilon: float, delta: float) -> float:
    """Give the least standard deviation whose delta at `epsilon` is at most `delta`."""
    low, high = 1.0, 1.0
    while gaussian_delta(epsilon, low) <= delta:
        low /= 2
    while gaussian_delta(epsilon, high) > delta:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):  # down to neighbouring floats
        if gaussian_delta(epsilon, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def uniform_floats(size: int, rng: np.random.Generator) -> Floats:
    """Draw floats in (0, 1), each of them as likely as it is far from the next.

    `rng.random` gives multiples of 2^-53 only: near 0 it leaves most floats out, and tells by that.
    """
    fraction = 1 + np.ldexp(rng.integers(2**52, size=size), -52)
    drawn: Floats = np.ldexp(fraction, -coin_tosses(size, rng))
    return drawn


def coin_tosses(size: int, rng: np.random.Generator) -> npt.NDArray[np.intc]:
    """Count the tosses of a fair coin until the first head, that one included."""
    tosses = np.zeros(size, dtype=np.intc)
    waiting = np.arange(size)
    while len(waiting):
        eight = rng.integers(256, size=len(waiting))
        lowest = np.frexp(eight & -eight)[1]  # the place of the first bit that is set, from 1
        tosses[waiting] += np.where(eight == 0, 8, lowest)
        waiting = waiting[eight == 0]
    return tosses


def snapped(values: Floats, spacing: float) -> Floats:
    """Round to the nearest multiple of the spacing, a power of two; halves go up.

    >>> snapped(np.array([-1.0, 0.9, 1.0, 3.5]), 2.0).tolist()
    [0.0, 0.0, 2.0, 4.0]
    """
    steps = values / spacing
    below = np.floor(steps)
    return (below + (steps - below >= 0.5)) * spacing  # steps + 0.5 could round up itself


ENTRIES = (
    entry(
        LaplaceCount,
        ONE_RECORD_MORE,
        source="Dwork, McSherry, Nissim and Smith 2006, Calibrating noise to sensitivity",
    ),
    entry(
        GaussianCount,
        ONE_RECORD_MORE,
        claim=ApproxDP(1.0, 1e-5),
        source="Balle and Wang 2018, Improving the Gaussian mechanism, theorem 8",
    ),
    entry(
        ClassicalGaussianCount,
        ONE_RECORD_MORE,
        claim=ApproxDP(0.9, 1e-5),
        true_epsilon=0.6692746052827475,  # where gaussian_delta is 1e-5
        source="Dwork and Roth 2014, The algorithmic foundations of differential privacy, "
        "theorem A.1",
    ),
    entry(
        ClassicalGaussianCountTooLoose,
        ONE_RECORD_MORE,
        claim=ApproxDP(5.0, 0.6),
        true_epsilon=6.457617825304358,  # where gaussian_delta is 0.6
        bug="The formula for the noise is proven for an epsilon below 1 and used at 5, "
        "where delta is 0.72.",
        source="Balle and Wang 2018, Improving the Gaussian mechanism, section 2",
    ),
    entry(
        ClippedSum,
        (pair_of([1], [-1]), partial(replace_one, floats(-1, 1), max_records=5)),
        true_epsilon=2.0,
        bug="The noise is for records that move the sum by the bound; "
        "a replaced record moves it by twice the bound.",
        source="a common slip: the sensitivity of adding a record, used for replacing one",
    ),
    entry(
        Staircase,
        ONE_RECORD_MORE,
        source="Geng and Viswanath 2014, The optimal mechanism in differential privacy, "
        "algorithm 1",
    ),
    entry(
        Snapping,
        ONE_RECORD_MORE,
        true_epsilon=1 / Snapping().scale,  # on real numbers; 1 - 1e-13
        source="Mironov 2012, On significance of the least significant bits for differential "
        "privacy, section 5",
    ),
)
