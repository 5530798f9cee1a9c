"""A mechanism whose privacy is known for every claim: a count with standard normal noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class NormalCount:
    """The number of records plus noise from N(0, 1): exactly 1-GDP, and order/2 in Rényi DP."""

    name: ClassVar[str] = "NormalCount"

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return len(data) + rng.normal(size=size)
