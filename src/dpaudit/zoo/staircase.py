"""A count with staircase noise: of all noise that is `epsilon`-DP, that of least expected size."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import PureDP
from dpaudit.errors import InvalidMechanism
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import COUNT_PAIR, SIX_RECORDS, ZooEntry


@dataclass(frozen=True, slots=True)
class Staircase:
    """The number of records plus staircase noise: exactly `epsilon`-DP when one record is added.

    The density falls by the factor `e^epsilon` at the distances `gamma, 1 + gamma, 2 + gamma, ...`
    from 0 and is flat between. Left out, `gamma` is `1 / (1 + e^(epsilon/2))`, for which the
    expected distance is least. Geng and Viswanath (2014), "The optimal mechanism in differential
    privacy", algorithm 1.

    >>> mechanism = Staircase(1.0)
    >>> round(mechanism.first_step, 4)
    0.3775
    >>> mechanism([3.0, 4.0], 5, np.random.default_rng(0)).shape
    (5,)
    """

    epsilon: float = 1.0
    _: KW_ONLY
    gamma: float | None = None
    name: ClassVar[str] = "Staircase"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)
        if self.gamma is not None and not 0 <= self.gamma <= 1:
            raise InvalidMechanism(f"{self.name} needs a gamma in [0, 1], got {self.gamma!r}.")

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


ENTRIES = (
    ZooEntry(
        name="Staircase",
        factory=Staircase,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Geng and Viswanath 2014, The optimal mechanism in differential privacy, "
        "algorithm 1",
        pair=COUNT_PAIR,
        neighbours=SIX_RECORDS,
    ),
)
