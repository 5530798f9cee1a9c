"""Counts and sums with Laplace or Gaussian noise.

`LaplaceCount` and `GaussianCount` sit exactly on their claim, `ClassicalGaussianCount` stays well
below it; `ClippedSum` and `ClassicalGaussianCountTooLoose` break theirs.
"""

import functools
import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import floats
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import replace_one
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import COUNT_PAIR, SIX_RECORDS, ZooEntry, pair_of


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
        check(self.name, self.epsilon, self.delta)

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return least_sigma(self.epsilon, self.delta)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return len(data) + rng.normal(scale=self.sigma, size=size)


@dataclass(frozen=True, slots=True)
class ClassicalGaussianCount:
    """The number of records plus Gaussian noise of the classical formula: `(epsilon, delta)`-DP.

    `sigma = sqrt(2 log(1.25/delta)) / epsilon`, which is proven for `epsilon < 1` only, and is more
    than is needed there: Dwork and Roth (2014), "The algorithmic foundations of differential
    privacy", theorem A.1.

    >>> round(ClassicalGaussianCount(0.9, 1e-5).sigma, 4)
    5.3831
    """

    epsilon: float = 0.9
    delta: float = 1e-5
    name: ClassVar[str] = "ClassicalGaussianCount"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.delta)
        if self.epsilon >= 1:
            raise InvalidMechanism(
                f"{self.name} needs an epsilon below 1, for which its formula is proven, "
                f"got {self.epsilon!r}. GaussianCount takes any."
            )

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return classical_sigma(self.epsilon, self.delta)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return len(data) + rng.normal(scale=self.sigma, size=size)


@dataclass(frozen=True, slots=True)
class ClassicalGaussianCountTooLoose:
    """The classical formula of `ClassicalGaussianCount`, used at any epsilon.

    Its noise shrinks as `1/epsilon`; what is needed shrinks as `1/sqrt(2 epsilon)` only, so that
    every delta is broken once epsilon is large: Balle and Wang (2018), "Improving the Gaussian
    mechanism for differential privacy", section 2. The smaller the delta, the larger that epsilon,
    and an audit needs some `e^epsilon` draws: hence the large delta here.

    >>> mechanism = ClassicalGaussianCountTooLoose(5.0, 0.6)
    >>> round(mechanism.sigma, 4), round(gaussian_delta(5.0, mechanism.sigma), 4)
    (0.2423, 0.7244)
    """

    epsilon: float = 5.0
    delta: float = 0.6
    name: ClassVar[str] = "ClassicalGaussianCountTooLoose"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.delta)

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return classical_sigma(self.epsilon, self.delta)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return len(data) + rng.normal(scale=self.sigma, size=size)


def check(name: str, epsilon: float, delta: float) -> None:
    """Refuse an epsilon or a delta for which no Gaussian noise is meant."""
    require_positive(name, epsilon=epsilon, delta=delta)
    if delta >= 1:
        raise InvalidMechanism(f"{name} needs a delta below 1, got {delta!r}.")


def classical_sigma(epsilon: float, delta: float) -> float:
    """Give the classical standard deviation, `sqrt(2 log(1.25/delta)) / epsilon`."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


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
        name="ClassicalGaussianCount",
        factory=ClassicalGaussianCount,
        claim=ApproxDP(0.9, 1e-5),
        keeps_claim=True,
        true_epsilon=0.6692746052827475,  # where gaussian_delta is 1e-5
        bug="",
        source="Dwork and Roth 2014, The algorithmic foundations of differential privacy, "
        "theorem A.1",
        pair=COUNT_PAIR,
        neighbours=SIX_RECORDS,
    ),
    ZooEntry(
        name="ClassicalGaussianCountTooLoose",
        factory=ClassicalGaussianCountTooLoose,
        claim=ApproxDP(5.0, 0.6),
        keeps_claim=False,
        true_epsilon=6.457617825304358,  # where gaussian_delta is 0.6
        bug="The formula for the noise is proven for an epsilon below 1 and used at 5, "
        "where delta is 0.72.",
        source="Balle and Wang 2018, Improving the Gaussian mechanism, section 2",
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
