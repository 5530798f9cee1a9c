"""Noise of libraries on a whole number, in whole steps: truncated, folded, or Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from dpaudit.inside.libraries.one_number import OneNumber, folded, log_images, mirrored, whole_times

LARGEST_DISCRETE = 50_000.0  # the scale of a discrete Gaussian whose support is listed


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNumber(OneNumber):
    """Noise in whole steps on a whole number: probabilities, not densities."""

    @property
    def atoms(self) -> tuple[Any, ...]:
        """Nothing beside them: there is no density."""
        return ()

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """Nothing: a whole number is exact."""
        return 0.0

    def _steps(self, output: Any, input: Any) -> int | None:
        """The difference of two whole numbers, of any size."""
        return int(output) - int(input) if int(output) == output else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricNoise(WholeNumber):
    """Whole numbers with probability `tanh(1 / (2 scale)) exp(-|k| / scale)`, or no noise.

    >>> noise = GeometricNoise(scale=1.0)
    >>> noise.log_density(3, 1) - noise.log_density(3, 0)
    1.0
    """

    def _log(self, output: float, input: float) -> float:
        steps = self._steps(output, input)
        return -math.inf if steps is None else self._one - abs(steps) / self.scale

    @property
    def _one(self) -> float:
        return math.log(math.tanh(0.5 / self.scale))

    def _drawn(self, input: Any, rng: np.random.Generator) -> Any:
        p = -math.expm1(-1.0 / self.scale)
        return self._settled(int(input) + int(rng.geometric(p)) - int(rng.geometric(p)))


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricTruncated(GeometricNoise):
    """The same; what falls outside is moved to the next bound.

    >>> noise = GeometricTruncated(scale=1.0, low=0, high=9)
    >>> print(round(math.exp(noise.log_density(0, 0)), 6))  # 1 / (1 + exp(-1))
    0.731059
    """

    def _log(self, output: float, input: float) -> float:
        if self.low == self.high:
            return 0.0 if output == self.low else -math.inf
        if output == self.low:
            return self._tail(int(output) - int(input))
        if output == self.high:
            return self._tail(int(input) - int(output))
        if not self.low < output < self.high:
            return -math.inf
        return GeometricNoise._log(self, output, input)

    def _tail(self, steps: int) -> float:
        """The log probability of noise of at most so many steps."""
        ratio = math.exp(-1.0 / self.scale)
        if steps <= 0:
            return steps / self.scale - math.log1p(ratio)
        return math.log1p(-ratio * math.exp(-steps / self.scale) / (1.0 + ratio))

    def _settled(self, number: Any) -> Any:
        return int(min(max(number, self.low), self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricFolded(GeometricNoise):
    """The same; what falls outside is mirrored at the bounds, which may be half numbers."""

    def _log(self, output: float, input: float) -> float:
        if not self.low <= output <= self.high or int(output) != output:
            return -math.inf
        period = 2.0 * (self.high - self.low)
        places = mirrored(output, self.low, self.high)
        if len(places) == 2 and whole_times(places[0] - places[1], period):
            del places[1]  # a bound is its own mirror image
        logs = [log_images(place - int(input), period, self.scale) for place in places]
        return float(np.logaddexp.reduce(logs)) + self._one

    def _settled(self, number: Any) -> Any:
        return round(folded(number, self.low, self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianNoise(WholeNumber):
    """Whole numbers with probability in proportion to `exp(-k^2 / (2 scale^2))`, or no noise."""

    def _log(self, output: float, input: float) -> float:
        steps = self._steps(output, input)
        if steps is None:
            return -math.inf
        return -0.5 * (steps / self.scale) ** 2 - math.log(_support(self.scale)[1].sum())

    def _drawn(self, input: Any, rng: np.random.Generator) -> Any:
        whole, shares = _support(self.scale)
        return int(input) + int(rng.choice(whole, p=shares / shares.sum()))


@lru_cache(maxsize=64)
def _support(scale: float) -> tuple[Any, Any]:
    """The steps of a discrete Gaussian, and their weights."""
    if scale > LARGEST_DISCRETE:
        raise ValueError(f"scale must be at most {LARGEST_DISCRETE:g}, got {scale!r}.")
    whole = np.arange(-math.ceil(-ndtri(1e-300) * scale), math.ceil(-ndtri(1e-300) * scale) + 1)
    return whole, np.exp(-0.5 * np.square(whole / scale))
