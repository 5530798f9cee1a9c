"""Several noisy numbers in one release: what each of them costs adds up."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.zoo.frame import (
    ONE_RECORD_MORE,
    TEN_ANSWERS,
    AtLeastOne,
    EpsilonMechanism,
    entry,
    pair_of,
    with_laplace,
)

__all__ = ["ForgottenBudget", "LaplaceParallel", "PrefixSum"]


@dataclass(frozen=True, slots=True)
class PrefixSum(EpsilonMechanism):
    """The prefix sums of answers, each of which has Laplace noise of scale `1 / epsilon`.

    Differences of the sums give every noisy answer back. It is `epsilon`-DP if one answer moves by
    at most 1, but `n * epsilon`-DP, and no better, if all n may: where all move up by 1, an output
    whose noisy answers lie above them is `e^epsilon` times likelier for each. Wang, Ding, Wang,
    Kifer and Zhang (2019), "Proving differential privacy with shadow execution"; Bichsel, Steffen,
    Bogunovic and Vechev (2021), "DP-Sniper: black-box discovery of differential privacy violations
    using classifiers", let all of them move.

    >>> PrefixSum(1e9)([1.0, 2.0, 0.5], 1, np.random.default_rng(0)).round(6).tolist()
    [[1.0, 3.0, 3.5]]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return np.cumsum(with_laplace(data, 1 / self.epsilon, size, rng), axis=1)


@dataclass(frozen=True, slots=True)
class LaplaceParallel(EpsilonMechanism):
    """The number of records, answered `times` times with `epsilon / times`: exactly `epsilon`-DP.

    The bound is reached where all answers lie above both counts, so in only `2^-times` of the
    draws: hard to see. One row per draw, one column per answer. Bichsel, Steffen, Bogunovic and
    Vechev (2021), "DP-Sniper".

    >>> LaplaceParallel(1.0)([3.0, 4.0], 2, np.random.default_rng(0)).shape
    (2, 20)
    """

    times: AtLeastOne = 20

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return len(data) + rng.laplace(scale=self.times / self.epsilon, size=(size, self.times))


@dataclass(frozen=True, slots=True)
class ForgottenBudget(EpsilonMechanism):
    """The number and the sum of records clipped to [0, 1], each with all of the budget.

    A record of x moves the one by 1 and the other by x, so the loss is `(1 + x) * epsilon`: the two
    together are exactly `2 * epsilon`-DP. Columns: the noisy count, the noisy sum.

    >>> ForgottenBudget(1e9)([0.25, 7.0], 1, np.random.default_rng(0)).round(6).tolist()
    [[2.0, 1.25]]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        total = math.fsum(np.clip(np.asarray(data, dtype=np.float64), 0, 1))
        return with_laplace([len(data), total], 1 / self.epsilon, size, rng)


_DP_SNIPER = "Bichsel, Steffen, Bogunovic and Vechev 2021, DP-Sniper"

ENTRIES = (
    entry(
        PrefixSum,
        (pair_of([1] * 10, [0] * 10), TEN_ANSWERS),
        true_epsilon=10.0,  # for the ten answers of its neighbours
        bug="The noise is for one answer that moves; "
        "here all ten may, and the sums tell every noisy answer.",
        source="Wang, Ding, Wang, Kifer and Zhang 2019, Proving differential privacy with shadow "
        f"execution; {_DP_SNIPER}",
    ),
    entry(LaplaceParallel, ONE_RECORD_MORE, source=_DP_SNIPER),
    entry(
        ForgottenBudget,
        ONE_RECORD_MORE,
        true_epsilon=2.0,
        bug="Two numbers are released, each with the whole epsilon; the claim counts it once.",
        source="a common slip: sequential composition left out "
        "(McSherry 2009, Privacy integrated queries)",
    ),
)
