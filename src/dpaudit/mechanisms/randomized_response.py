"""One bit, flipped with a known probability: the extremal pair of pure differential privacy."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.claims import PureDP
from dpaudit.domains import integers
from dpaudit.mechanisms.checks import require_positive
from dpaudit.mechanisms.entry import ZooEntry
from dpaudit.neighbours import Pair, replace_one


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """The bit `data[0]`, flipped with probability `1 / (1 + e^epsilon)`: exactly `epsilon`-DP.

    Warner (1965), "Randomized response: a survey technique for eliminating evasive answer bias".

    >>> RandomizedResponse(99.0)([1], 3, np.random.default_rng(0)).tolist()
    [1, 1, 1]
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "RandomizedResponse"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        flipped = rng.random(size) < math.exp(-self.epsilon) / (1 + math.exp(-self.epsilon))
        return np.where(flipped, 1 - int(data[0]), int(data[0]))


ENTRIES = (
    ZooEntry(
        name="RandomizedResponse",
        factory=RandomizedResponse,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Warner 1965, Randomized response",
        pair=Pair(np.array([1]), np.array([0])),
        neighbours=partial(replace_one, integers(0, 1), max_records=1),
    ),
)
