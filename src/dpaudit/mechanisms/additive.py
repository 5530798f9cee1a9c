"""Counts and sums with added noise: three that sit exactly on their claim, one that does not."""

import functools
import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import floats
from dpaudit.mechanism import InvalidMechanism
from dpaudit.mechanisms.checks import require_positive
from dpaudit.mechanisms.entry import COUNT_PAIR, SIX_RECORDS, ZooEntry, pair_of
from dpaudit.neighbours import replace_one


@dataclass(frozen=True, slots=True)
class LaplaceCount:
    """The number of records plus Laplace noise: exactly `epsilon`-DP when one record is added.

    Dwork, McSherry, Nissim and Smith (2006), "Calibrating noise to sensitivity".

    >>> LaplaceCount(1.0)([3.0, 4.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "LaplaceCount"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return len(data) + rng.laplace(scale=1 / self.epsilon, size=size)


@dataclass(frozen=True, slots=True)
class ClippedSum:
    """The sum of records clipped to [-bound, bound], with noise for half of its sensitivity.

    Replacing a record moves the sum by up to `2 * bound`, not `bound`, so under replace-one the
    privacy loss is `2 * epsilon`. (When a record is added or removed the claim does hold.)

    >>> ClippedSum(1.0, bound=2.0)([3.0, -9.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    epsilon: float = 1.0
    _: KW_ONLY
    bound: float = 1.0
    name: ClassVar[str] = "ClippedSum"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon, bound=self.bound)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        total = np.clip(np.asarray(data, dtype=np.float64), -self.bound, self.bound).sum()
        return np.asarray(total + rng.laplace(scale=self.bound / self.epsilon, size=size))


@dataclass(frozen=True, slots=True)
class Geometric:
    """The number of records plus two-sided geometric noise: whole numbers, exactly `epsilon`-DP.

    `Pr[noise = k] = (1 - a) / (1 + a) * a^|k|` with `a = e^-epsilon`: the difference of two
    geometric variables. Ghosh, Roughgarden and Sundararajan (2009), "Universally utility-maximizing
    privacy mechanisms".

    >>> Geometric(1.0)([3.0, 4.0], 5, np.random.default_rng(0)).dtype.kind
    'i'
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "Geometric"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        success = -math.expm1(-self.epsilon)
        return len(data) + rng.geometric(success, size=size) - rng.geometric(success, size=size)


@dataclass(frozen=True, slots=True)
class GaussianCount:
    """The number of records plus the least Gaussian noise that is `(epsilon, delta)`-DP.

    The standard deviation `sigma` is the smallest that keeps the claim, not the classical upper
    bound, so the mechanism sits exactly on it: Balle and Wang (2018), "Improving the Gaussian
    mechanism for differential privacy", theorem 8.

    >>> round(GaussianCount(1.0, 1e-5).sigma, 4)
    3.7306
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    name: ClassVar[str] = "GaussianCount"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon, delta=self.delta)
        if self.delta >= 1:
            raise InvalidMechanism(f"{self.name} needs a delta below 1, got {self.delta!r}.")

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return least_sigma(self.epsilon, self.delta)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return len(data) + rng.normal(scale=self.sigma, size=size)


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


ENTRIES = (
    ZooEntry(
        name="LaplaceCount",
        factory=LaplaceCount,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Dwork, McSherry, Nissim and Smith 2006, Calibrating noise to sensitivity",
        pair=COUNT_PAIR,
        neighbours=SIX_RECORDS,
    ),
    ZooEntry(
        name="Geometric",
        factory=Geometric,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Ghosh, Roughgarden and Sundararajan 2009, Universally utility-maximizing "
        "privacy mechanisms",
        pair=COUNT_PAIR,
        neighbours=SIX_RECORDS,
    ),
    ZooEntry(
        name="GaussianCount",
        factory=GaussianCount,
        claim=ApproxDP(1.0, 1e-5),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Balle and Wang 2018, Improving the Gaussian mechanism, theorem 8",
        pair=COUNT_PAIR,
        neighbours=SIX_RECORDS,
    ),
    ZooEntry(
        name="ClippedSum",
        factory=ClippedSum,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=2.0,
        bug="The noise is for records that move the sum by the bound; "
        "a replaced record moves it by twice the bound.",
        source="a common slip: the sensitivity of adding a record, used for replacing one",
        pair=pair_of([1], [-1]),
        neighbours=partial(replace_one, floats(-1, 1), max_records=5),
    ),
)
