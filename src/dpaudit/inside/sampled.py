"""The kernel of a sampled step: one record is part of its releases with a known chance only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.inside.kernels import Kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A release of which a record is part with the chance `rate`: a mixture of two kernels.

    Its input holds two: what is released without the record, and with it.

    >>> from dpaudit.inside.kernels import Gaussian
    >>> step = Sampled(rate=0.5, without=Gaussian(1.0), within=Gaussian(1.0))
    >>> step.log_density(0.5, (0.0, 1.0)) == Gaussian(1.0).log_density(0.5, 0.0)  # half way
    True
    """

    rate: float
    without: Kernel
    within: Kernel

    def log_density(self, output: Any, input: Any) -> float:
        """`log((1 - rate) K(output; without) + rate K(output; within))`."""
        logs = []
        for chance, kernel, given in self._sides(input):
            if chance > 0.0:
                logs.append(math.log(chance) + kernel.log_density(output, given))
        return float(np.logaddexp.reduce(logs))

    def draw(self, input: Any, rng: np.random.Generator) -> Any:
        """A release with the record or without it, by a coin."""
        side = self.within if rng.random() < self.rate else self.without
        return side.draw(input[1 if side is self.within else 0], rng)

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """The larger slack of the two: a mean of densities errs by no larger factor than they."""
        both = zip(self._sides(input), error, strict=True)
        return max(kernel.slack(output, given, off) for (_, kernel, given), off in both)

    def _sides(self, input: Any) -> list[tuple[float, Kernel, Any]]:
        without, within = input
        return [(1.0 - self.rate, self.without, without), (self.rate, self.within, within)]

    def __str__(self) -> str:
        kernels = [str(self.without), str(self.within)]
        return f"{' or '.join(dict.fromkeys(kernels))}, sampled at {self.rate:g}"
