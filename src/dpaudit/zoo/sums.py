"""Several noisy numbers in one release: what each of them costs adds up."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import PureDP
from dpaudit.errors import InvalidMechanism
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import COUNT_PAIR, SIX_RECORDS, TEN_ANSWERS, ZooEntry, pair_of


@dataclass(frozen=True, slots=True)
class PrefixSum:
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

    epsilon: float = 1.0
    name: ClassVar[str] = "PrefixSum"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        answers = np.asarray(data, dtype=np.float64)
        noise = rng.laplace(scale=1 / self.epsilon, size=(size, len(answers)))
        return np.cumsum(answers + noise, axis=1)


@dataclass(frozen=True, slots=True)
class LaplaceParallel:
    """The number of records, answered `times` times with `epsilon / times`: exactly `epsilon`-DP.

    The bound is reached where all answers lie above both counts, so in only `2^-times` of the
    draws: hard to see. One row per draw, one column per answer. Bichsel, Steffen, Bogunovic and
    Vechev (2021), "DP-Sniper".

    >>> LaplaceParallel(1.0)([3.0, 4.0], 2, np.random.default_rng(0)).shape
    (2, 20)
    """

    epsilon: float = 1.0
    times: int = 20
    name: ClassVar[str] = "LaplaceParallel"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)
        if self.times < 1:
            raise InvalidMechanism(
                f"{self.name} needs to answer at least 1 time, got {self.times!r}."
            )

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return len(data) + rng.laplace(scale=self.times / self.epsilon, size=(size, self.times))


@dataclass(frozen=True, slots=True)
class ForgottenBudget:
    """The number and the sum of records clipped to [0, 1], each with all of the budget.

    A record of x moves the one by 1 and the other by x, so the loss is `(1 + x) * epsilon`: the two
    together are exactly `2 * epsilon`-DP. Columns: the noisy count, the noisy sum.

    >>> ForgottenBudget(1e9)([0.25, 7.0], 1, np.random.default_rng(0)).round(6).tolist()
    [[2.0, 1.25]]
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "ForgottenBudget"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        total = math.fsum(np.clip(np.asarray(data, dtype=np.float64), 0, 1))
        answers = np.array([len(data), total])
        return answers + rng.laplace(scale=1 / self.epsilon, size=(size, 2))


_DP_SNIPER = "Bichsel, Steffen, Bogunovic and Vechev 2021, DP-Sniper"

ENTRIES = (
    ZooEntry(
        name="PrefixSum",
        factory=PrefixSum,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=10.0,  # for the ten answers of its neighbours
        bug="The noise is for one answer that moves; "
        "here all ten may, and the sums tell every noisy answer.",
        source="Wang, Ding, Wang, Kifer and Zhang 2019, Proving differential privacy with shadow "
        f"execution; {_DP_SNIPER}",
        pair=pair_of([1] * 10, [0] * 10),
        neighbours=TEN_ANSWERS,
    ),
    ZooEntry(
        name="LaplaceParallel",
        factory=LaplaceParallel,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=_DP_SNIPER,
        pair=COUNT_PAIR,
        neighbours=SIX_RECORDS,
    ),
    ZooEntry(
        name="ForgottenBudget",
        factory=ForgottenBudget,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=2.0,
        bug="Two numbers are released, each with the whole epsilon; the claim counts it once.",
        source="a common slip: sequential composition left out "
        "(McSherry 2009, Privacy integrated queries)",
        pair=COUNT_PAIR,
        neighbours=SIX_RECORDS,
    ),
)
