"""One bit, flipped with a known probability: the extremal pair of pure differential privacy."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.mechanisms.additive import require_positive


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
