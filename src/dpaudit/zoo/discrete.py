"""Counts with whole-number noise: geometric, truncated, and rounded so that it is drawn exactly.

All keep their claim but `RoundedGeometricNaturalLog`.
"""

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from dpaudit.arrays import Counts
from dpaudit.domains import floats
from dpaudit.neighbours import add_or_remove_one
from dpaudit.zoo.frame import ONE_RECORD_MORE, Allowed, AtLeastOne, EpsilonMechanism, entry, pair_of

__all__ = ["Geometric", "RoundedGeometric", "RoundedGeometricNaturalLog", "TruncatedGeometric"]


@dataclass(frozen=True, slots=True)
class Geometric(EpsilonMechanism):
    """The number of records plus two-sided geometric noise: whole numbers, exactly `epsilon`-DP.

    `Pr[noise = k] = (1 - a) / (1 + a) * a^|k|` with `a = e^-epsilon`: the difference of two
    geometric variables. Ghosh, Roughgarden and Sundararajan (2009), "Universally utility-maximizing
    privacy mechanisms".

    >>> Geometric(1.0)([3.0, 4.0], 5, np.random.default_rng(0)).dtype.kind
    'i'
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Counts:
        return len(data) + two_sided_geometric(self.epsilon, size, rng)


@dataclass(frozen=True, slots=True)
class TruncatedGeometric(EpsilonMechanism):
    """`Geometric` with outputs clamped to 0..most, where a count of at most `most` lies.

    Clamping costs no privacy and hides none here: the output 0 is `e^epsilon` times likelier
    without the record, so `epsilon` is exact. Ghosh, Roughgarden and Sundararajan (2009),
    "Universally utility-maximizing privacy mechanisms", the truncated geometric mechanism.

    >>> outputs = TruncatedGeometric(0.1, most=3)([3.0, 4.0], 99, np.random.default_rng(0))
    >>> sorted(set(outputs.tolist()))
    [0, 1, 2, 3]
    """

    _: KW_ONLY
    most: AtLeastOne = 5

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Counts:
        return np.clip(len(data) + two_sided_geometric(self.epsilon, size, rng), 0, self.most)


# Below it, the whole numbers of the rounded mechanisms pass 64 bits.
LargeEnough = Annotated[float, Allowed(lambda value: 2.0**-60 <= value < math.inf, "{} >= 2**-60")]


@dataclass(frozen=True, slots=True)
class RoundedGeometric(EpsilonMechanism):
    """`TruncatedGeometric` with the base `1 + 2^-k` for `e^epsilon`: drawn without rounding.

    With `k = ceil(log2(2/epsilon))` all probabilities are ratios of whole numbers. The mechanism is
    `log(1 + 2^-k)`-DP and no better, which is at most `epsilon / 2`. Balcer and Vadhan (2018),
    "Differential privacy on finite computers", algorithm 4.8.

    >>> mechanism = RoundedGeometric(0.1)
    >>> mechanism.k, round(mechanism.loss, 5)
    (5, 0.03077)
    """

    epsilon: LargeEnough = 1.0
    _: KW_ONLY
    most: AtLeastOne = 5

    @property
    def k(self) -> int:
        """The `k` of the base `1 + 2^-k`; 0 where an epsilon above 2 would ask for less."""
        return max(0, math.ceil(math.log2(2 / self.epsilon)))

    @property
    def loss(self) -> float:
        """The least epsilon that holds, `log(1 + 2^-k)`."""
        return math.log1p(2.0**-self.k)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Counts:
        return rounded_geometric(len(data), self.k, self.most, size, rng)


@dataclass(frozen=True, slots=True)
class RoundedGeometricNaturalLog(RoundedGeometric):
    """`RoundedGeometric` with the natural logarithm, `k = ceil(ln(2/epsilon))`: too small a `k`.

    It is still `log(1 + 2^-k)`-DP, but for a small epsilon that is more than epsilon.

    >>> mechanism = RoundedGeometricNaturalLog(0.1)
    >>> mechanism.k, round(mechanism.loss, 5)
    (3, 0.11778)
    """

    @property
    def k(self) -> int:
        """The `k` of the base `1 + 2^-k`, by the wrong logarithm."""
        return max(0, math.ceil(math.log(2 / self.epsilon)))


def two_sided_geometric(epsilon: float, size: int, rng: np.random.Generator) -> Counts:
    """Draw whole numbers with `Pr[k]` in proportion to `e^(-epsilon |k|)`."""
    success = -math.expm1(-epsilon)
    return rng.geometric(success, size=size) - rng.geometric(success, size=size)


def rounded_geometric(
    records: int, k: int, most: int, size: int, rng: np.random.Generator
) -> Counts:
    """Draw `Pr[noise = j]` in proportion to `a^|j|`, `a = 2^k / (2^k + 1)`; clamp to 0..most.

    Only uniform whole numbers are drawn. The noise is 0 with probability `1 / (2^(k+1) + 1)`, else
    up or down alike; it goes on after every step with probability `a`. Beyond `most` steps
    all noise is clamped to the same output.
    """
    way = np.sign(rng.integers(-(2**k), 2**k, size=size, endpoint=True))
    goes_on = rng.integers(2**k, size=(size, most), endpoint=True) > 0
    steps = 1 + np.cumprod(goes_on, axis=1).sum(axis=1)
    outputs: Counts = np.clip(min(records, most) + way * steps, 0, most)
    return outputs


_GHOSH = (
    "Ghosh, Roughgarden and Sundararajan 2009, Universally utility-maximizing privacy mechanisms"
)
_BALCER = "Balcer and Vadhan 2018, Differential privacy on finite computers, algorithm 4.8"
_TWO_OR_ONE = pair_of([1, 1], [1]), partial(add_or_remove_one, floats(0, 1), max_records=5)

ENTRIES = (
    entry(Geometric, ONE_RECORD_MORE, source=_GHOSH),
    entry(TruncatedGeometric, _TWO_OR_ONE, source=_GHOSH),
    entry(
        RoundedGeometric,
        _TWO_OR_ONE,
        true_epsilon=RoundedGeometric().loss,  # log(1.5)
        source=_BALCER,
    ),
    entry(
        partial(RoundedGeometricNaturalLog, epsilon=0.1),  # at epsilon = 1 the k are the same
        _TWO_OR_ONE,
        true_epsilon=RoundedGeometricNaturalLog(0.1).loss,  # log(1.125)
        bug="The number of bits of the base is taken by the natural logarithm, "
        "where the paper takes the binary one.",
        source=f"{_BALCER}; with the natural logarithm of the code of "
        "Bichsel, Steffen, Bogunovic and Vechev 2021, DP-Sniper",
    ),
)
