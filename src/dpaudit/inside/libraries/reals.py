"""Noise of libraries on a real number: truncated, folded, bounded, of a staircase or rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.inside import kernels
from dpaudit.inside.libraries.one_number import (
    OneNumber,
    folded,
    log_below,
    log_between,
    log_images,
    mirrored,
    rounding,
    whole_times,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise(OneNumber):
    """Laplace noise, or none.

    >>> noise = LaplaceNoise(scale=0.5)
    >>> noise.log_density(3.0, 1.0) - noise.log_density(3.0, 0.0)
    2.0
    >>> LaplaceNoise(scale=0.0).log_density(3.0, 1.0)
    -inf
    """

    def _log(self, output: float, input: float) -> float:
        return -abs(output - input) / self.scale - math.log(2.0 * self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceTruncated(LaplaceNoise):
    """Laplace noise; what falls outside is moved to the next bound, which has a probability.

    >>> noise = LaplaceTruncated(scale=1.0, low=0.0, high=9.0)
    >>> print(math.exp(noise.log_density(0.0, 0.0)), noise.log_density(-1.0, 0.0))
    0.5 -inf
    """

    @property
    def atoms(self) -> tuple[Any, ...]:
        """The bounds."""
        return (self.low, self.high, *LaplaceNoise.atoms.__get__(self))

    def _log(self, output: float, input: float) -> float:
        if self.low == self.high:
            return 0.0 if output == self.low else -math.inf
        if output == self.low:
            return log_below((output - input) / self.scale)
        if output == self.high:
            return log_below((input - output) / self.scale)
        if not self.low < output < self.high:
            return -math.inf
        return LaplaceNoise._log(self, output, input)

    def _settled(self, number: Any) -> Any:
        return min(max(number, self.low), self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceFolded(LaplaceNoise):
    """Laplace noise; what falls outside is mirrored at the bounds until it lies inside.

    >>> noise = LaplaceFolded(scale=1.0, low=0.0)
    >>> print(round(math.exp(noise.log_density(1.0, 0.0)), 6))  # twice exp(-1) / 2
    0.367879
    """

    def _log(self, output: float, input: float) -> float:
        if not self.low <= output <= self.high:
            return -math.inf
        logs = [self._images(place - input) for place in mirrored(output, self.low, self.high)]
        return float(np.logaddexp.reduce(logs)) - math.log(2.0 * self.scale)

    def _images(self, far: float) -> float:
        """The log of the sum of `exp(-|far + k period| / scale)` over all whole `k`."""
        return log_images(far, 2.0 * (self.high - self.low), self.scale)

    def _settled(self, number: Any) -> Any:
        return folded(number, self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceBoundedDomain(LaplaceNoise):
    """Laplace noise, drawn until it lies inside; the input is clipped first.

    Holohan, Antonatos, Braghin and Mac Aonghusa (2020), "The bounded Laplace mechanism".

    >>> noise = LaplaceBoundedDomain(scale=1.0, low=0.0)
    >>> print(round(math.exp(noise.log_density(1.0, 0.0)), 6))
    0.367879
    """

    def _log(self, output: float, input: float) -> float:
        middle = self._settled(input)
        if not self.low <= output <= self.high:
            return -math.inf
        below, above = self._tails(middle)
        return LaplaceNoise._log(self, output, middle) - math.log(0.5 * (below + above))

    def _tails(self, middle: float) -> tuple[float, float]:
        """Twice the probability between the low bound and the middle, and from there on."""
        gaps = (middle - self.low) / self.scale, (self.high - middle) / self.scale
        return -math.expm1(-gaps[0]), -math.expm1(-gaps[1])

    def _settled(self, number: Any) -> Any:
        return min(max(number, self.low), self.high)

    def _drawn(self, input: Any, rng: np.random.Generator) -> Any:
        middle = self._settled(input)
        below, above = self._tails(middle)
        down = rng.random() * (below + above) < below
        far = -math.log1p(-rng.random() * (below if down else above)) * self.scale
        return self._settled(middle - far if down else middle + far)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceBoundedNoise(LaplaceNoise):
    """Laplace noise of at most `most` in size.

    Geng, Ding, Guo and Kumar (2018), "Truncated Laplacian mechanism".

    >>> LaplaceBoundedNoise(scale=1.0, most=2.0).log_density(2.5, 0.0)
    -inf
    """

    most: float

    def _log(self, output: float, input: float) -> float:
        if abs(output - input) > self.most + rounding(output, input):
            return -math.inf
        inside = math.log(-math.expm1(-self.most / self.scale))
        return LaplaceNoise._log(self, output, input) - inside

    def _drawn(self, input: Any, rng: np.random.Generator) -> Any:
        sign = 1.0 if rng.random() < 0.5 else -1.0
        share = -math.expm1(-self.most / self.scale)
        return input - sign * self.scale * math.log1p(-rng.random() * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise(OneNumber):
    """Gaussian noise, or none; `scale` is the standard deviation."""

    def _log(self, output: float, input: float) -> float:
        far = (output - input) / self.scale
        return -0.5 * far * far - math.log(self.scale) - 0.5 * math.log(2.0 * math.pi)

    def _drawn(self, input: Any, rng: np.random.Generator) -> Any:
        return input + rng.normal(scale=self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformNoise(OneNumber):
    """Uniform noise of at most `scale` in size."""

    def _log(self, output: float, input: float) -> float:
        inside = abs(output - input) <= self.scale + rounding(output, input)
        return -math.log(2.0 * self.scale) if inside else -math.inf

    def _drawn(self, input: Any, rng: np.random.Generator) -> Any:
        return input + rng.uniform(-self.scale, self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase(OneNumber):
    """The noise of `dpaudit.inside.Staircase` on one number, drawn as libraries draw it."""

    epsilon: float
    gamma: float

    def _log(self, output: float, input: float) -> float:
        noise = kernels.Staircase(self.scale, epsilon=self.epsilon, gamma=self.gamma)
        return noise.log_density(output, input)

    def _drawn(self, input: Any, rng: np.random.Generator) -> Any:
        whole = rng.geometric(-math.expm1(-self.epsilon)) - 1
        top = self.gamma + (1.0 - self.gamma) * math.exp(-self.epsilon)
        inner = rng.random() < self.gamma / top
        share = self.gamma * rng.random()
        part = share if inner else self.gamma + (1.0 - self.gamma) * rng.random()
        sign = 1.0 if rng.random() < 0.5 else -1.0
        return input + sign * (whole + part) * self.scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapped(OneNumber):
    """Laplace noise, rounded to multiples of `step`, then moved to the next bound.

    Mironov (2012), "On significance of the least significant bits for differential privacy".
    """

    step: float

    def _log(self, output: float, input: float) -> float:
        edges = [(output + half - input) / self.scale for half in (-self.step / 2, self.step / 2)]
        if output <= self.low:
            last = math.floor(self.low / self.step) * self.step + self.step / 2
            return log_below((last - input) / self.scale)
        if output >= self.high:
            first = math.ceil(self.high / self.step) * self.step - self.step / 2
            return log_below((input - first) / self.scale)
        if not whole_times(output, self.step):
            return -math.inf
        return log_between(*edges)

    def _settled(self, number: Any) -> Any:
        return min(max(math.floor(number / self.step + 0.5) * self.step, self.low), self.high)
