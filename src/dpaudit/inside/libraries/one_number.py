"""What all noise of libraries on one number shares.

Each kernel is the law of the released number itself. Unlike the noise of `dpaudit.inside` it may
have a scale of 0, which is no noise, and NaN in gives NaN out: what a library makes of its own
parameters is part of what is audited.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.inside.kernels import MACHINE, ROUNDINGS

HALF = math.log(2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneNumber:
    """Noise of a scale on a number, whose output lies between `low` and `high`."""

    scale: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not 0.0 <= self.scale < math.inf:
            raise ValueError(f"scale must be a number >= 0, got {self.scale!r}.")
        if not self.low <= self.high:
            raise ValueError(f"low must be at most high, got {self.low!r} and {self.high!r}.")

    @property
    def atoms(self) -> tuple[Any, ...]:
        """Which outputs have a probability, beside those that have a density."""
        return ("input",) if self.scale == 0.0 else ()

    def log_density(self, output: Any, input: Any) -> float:
        """The log density, or the log probability, of this output."""
        if math.isnan(input) or math.isnan(output):
            return 0.0 if math.isnan(input) and math.isnan(output) else -math.inf
        if self.scale == 0.0:
            return 0.0 if same_number(output, self._settled(input)) else -math.inf
        return self._log(output, input)

    def draw(self, input: Any, rng: np.random.Generator) -> Any:
        """A random output."""
        if math.isnan(input):
            return math.nan
        return self._settled(input) if self.scale == 0.0 else self._drawn(input, rng)

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """How far the log density moves where the input does by `error`, either way."""
        off = float(error)
        if self.scale == 0.0 or off == 0.0 or not math.isfinite(input):
            return 0.0
        here = self._log(output, input)
        return max(abs(self._log(output, input + way * off) - here) for way in (-1.0, 1.0))

    def _settled(self, number: Any) -> Any:
        """What is released of a noisy number."""
        return number

    def _drawn(self, input: Any, rng: np.random.Generator) -> Any:
        return self._settled(input + rng.laplace(scale=self.scale))

    def _log(self, output: float, input: float) -> float:
        raise NotImplementedError


def log_below(far: float) -> float:
    """The log probability that standard Laplace noise is at most `far`."""
    return far - HALF if far <= 0.0 else math.log1p(-0.5 * math.exp(-far))


def log_between(first: float, last: float) -> float:
    """The log probability that standard Laplace noise lies between two numbers."""
    if first >= 0.0:
        first, last = -last, -first
    if last <= 0.0:
        return last - HALF + math.log(-math.expm1(first - last))
    return math.log(-0.5 * (math.expm1(first) + math.expm1(-last)))


def log_images(far: float, period: float, scale: float) -> float:
    """The log of the sum of `exp(-|far + k period| / scale)` over all whole `k`."""
    if math.isinf(period):
        return -abs(far) / scale
    rest = far % period
    both = float(np.logaddexp(-rest / scale, -(period - rest) / scale))
    return both - math.log(-math.expm1(-period / scale))


def mirrored(place: float, low: float, high: float) -> list[float]:
    """A place and its image behind a bound; all others lie whole periods from these two."""
    bound = low if math.isfinite(low) else high
    return [place, 2.0 * bound - place] if math.isfinite(bound) else [place]


def folded(number: float, low: float, high: float) -> float:
    """A number, mirrored at the bounds until it lies between them."""
    if low <= number <= high:
        return number
    if math.isfinite(low) and math.isfinite(high):
        rest = (number - low) % (2.0 * (high - low))
        return low + min(rest, 2.0 * (high - low) - rest)
    return 2.0 * low - number if math.isfinite(low) else 2.0 * high - number


def whole_times(number: float, unit: float) -> bool:
    """Whether a number is a whole multiple; only 0 is, of an infinite one."""
    if math.isinf(unit):
        return number == 0.0
    return abs(number / unit - round(number / unit)) <= 1e-9


def rounding(*numbers: float) -> float:
    """How far a sum of numbers may be off by the rounding of floats."""
    return ROUNDINGS * MACHINE * sum(map(abs, numbers))


def same_number(one: float, other: float) -> bool:
    """Whether two numbers are equal up to rounding."""
    return one == other or bool(abs(one - other) <= rounding(one, other))
