"""Noise kernels: what a release adds to its input, with the exact density of every output.

Each kernel is a frozen value with `log_density(output, input)` and `draw(input, rng)`. Additive
kernels take numbers or arrays: one number of noise for every entry, and the log density is the sum.
For two inputs of one kernel, outputs drawn on the first have `E[exp(-L)] = 1`, where
`L = log_density(output, first) - log_density(output, second)` (docs/inside.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy.special import logsumexp

from dpaudit.arrays import Floats

MACHINE = 2.0**-52  # the relative rounding of a float
ROUNDINGS = 16.0  # an input is taken to be right within so many of them
_WHOLE = 1e-9  # how far a whole number may be from one, in floats, by its size


@runtime_checkable
class Kernel(Protocol):
    """What turns a private input into a released output. Any object with these methods will do."""

    def log_density(self, output: Any, input: Any) -> float:
        """The log of the density, or of the probability, of this output on this input."""

    def draw(self, input: Any, rng: np.random.Generator) -> Any:
        """A random output on this input."""

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """How far the log density may be off where the input is off by `error`."""


def rounding_of(input: Any) -> Floats:
    """How far an input may be off by the rounding of floats.

    >>> float(rounding_of(1e12)) > 1e-4
    True
    """
    known = np.nan_to_num(np.abs(np.asarray(input, dtype=np.float64)), nan=0.0, posinf=0.0)
    return np.asarray(ROUNDINGS * MACHINE * known)


@dataclass(frozen=True, slots=True)
class _Additive:
    """Noise of one scale that is added to every entry of the input."""

    scale: float
    continuous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0.0 < self.scale < math.inf:
            raise ValueError(f"scale must be a positive number, got {self.scale!r}.")

    def log_density(self, output: Any, input: Any) -> float:
        """The sum of the log densities of the noise in all entries; NaN gives NaN only."""
        if type(output) is float and type(input) is float and math.isfinite(output - input):
            return self._log_one(output, input)
        out, given = np.asarray(output, dtype=np.float64), np.asarray(input, dtype=np.float64)
        if out.shape != given.shape:
            return -math.inf
        finite = np.isfinite(given)
        if not np.array_equal(out[~finite], given[~finite], equal_nan=True):
            return -math.inf
        if not np.isfinite(out[finite]).all():
            return -math.inf
        return self._log_noise(out[finite], given[finite])

    def draw(self, input: Any, rng: np.random.Generator) -> Any:
        """The input with noise: a float for a number, an array for an array."""
        given = np.asarray(input, dtype=np.float64)
        drawn = given + self._noise(given.shape, rng)
        return float(drawn) if given.ndim == 0 else drawn

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """The error over the scale, in all entries."""
        if type(error) is float:
            return error / self.scale
        return float(np.sum(error)) / self.scale

    def _log_one(self, output: float, input: float) -> float:
        return self._log_noise(np.asarray([output]), np.asarray([input]))

    def _log_noise(self, output: Floats, input: Floats) -> float:
        raise NotImplementedError

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Laplace(_Additive):
    """Laplace noise: density `exp(-|x| / scale) / (2 scale)` (Dwork et al. 2006).

    >>> noise = Laplace(0.5)
    >>> noise.log_density(3.0, 1.0) - noise.log_density(3.0, 0.0)
    2.0
    """

    def _log_one(self, output: float, input: float) -> float:
        return -abs(output - input) / self.scale - math.log(2.0 * self.scale)

    def _log_noise(self, output: Floats, input: Floats) -> float:
        far = np.abs(output - input) / self.scale
        return float(-far.sum() - output.size * math.log(2.0 * self.scale))

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return np.asarray(rng.laplace(scale=self.scale, size=shape))


@dataclass(frozen=True, slots=True)
class Gaussian(_Additive):
    """Gaussian noise; `scale` is the standard deviation.

    >>> noise = Gaussian(2.0)
    >>> noise.log_density(3.0, 1.0) - noise.log_density(3.0, 0.0)  # (9 - 4) / (2 * 4)
    0.625
    """

    def _log_one(self, output: float, input: float) -> float:
        far = (output - input) / self.scale
        return -0.5 * far * far - math.log(self.scale) - 0.5 * math.log(2.0 * math.pi)

    def _log_noise(self, output: Floats, input: Floats) -> float:
        far = (output - input) / self.scale
        constant = math.log(self.scale) + 0.5 * math.log(2.0 * math.pi)
        return float(-0.5 * np.square(far).sum() - output.size * constant)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return np.asarray(rng.normal(scale=self.scale, size=shape))

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """How far the square of the noise may be off."""
        if type(error) is float and math.isfinite(output - input):
            return float(error * (abs(output - input) + error) / self.scale**2)
        far = np.abs(np.asarray(output, dtype=np.float64) - np.asarray(input, dtype=np.float64))
        far = np.where(np.isfinite(far), far, 0.0)
        return float(np.sum(np.asarray(error) * (far + error))) / self.scale**2


@dataclass(frozen=True, slots=True)
class Staircase(_Additive):
    """Staircase noise: `scale` is the width of a step, each is `exp(-epsilon)` as high as the last.

    The density is flat up to `gamma * scale`, then on stretches of length `scale`; `gamma` is
    `1 / (1 + exp(epsilon / 2))` if left out. Geng and Viswanath (2014), "The optimal mechanism in
    differential privacy", algorithm 1.

    >>> noise = Staircase(1.0, epsilon=0.7)
    >>> print(round(noise.log_density(3.0, 1.0) - noise.log_density(3.0, 0.0), 12))
    0.7
    """

    epsilon: float = 1.0
    gamma: float | None = None

    def __post_init__(self) -> None:
        _Additive.__post_init__(self)
        if not 0.0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon must be a positive number, got {self.epsilon!r}.")
        if self.gamma is not None and not 0.0 <= self.gamma <= 1.0:
            raise ValueError(f"gamma must be from 0 to 1, got {self.gamma!r}.")

    @property
    def first_step(self) -> float:
        """The share of a step after which the density first falls."""
        if self.gamma is not None:
            return self.gamma
        return 1.0 / (1.0 + math.exp(0.5 * self.epsilon))

    def _log_noise(self, output: Floats, input: Floats) -> float:
        gamma, fall = self.first_step, math.exp(-self.epsilon)
        far = np.abs(output - input) / self.scale
        steps = np.floor(far + 1.0 - gamma)
        top = (1.0 - fall) / (2.0 * self.scale * (gamma + fall * (1.0 - gamma)))
        return float(output.size * math.log(top) - self.epsilon * steps.sum())

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        gamma, fall = self.first_step, math.exp(-self.epsilon)
        steps = rng.geometric(1.0 - fall, size=shape) - 1
        near = rng.random(shape) * (gamma + (1.0 - gamma) * fall) < gamma
        share = rng.random(shape)
        within = np.where(near, gamma * share, gamma + (1.0 - gamma) * share)
        sign = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
        return np.asarray(sign * self.scale * (steps + within))

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """A step, for every entry that lies so near to an edge that rounding may move it over."""
        far = np.abs(np.asarray(output, dtype=np.float64) - np.asarray(input, dtype=np.float64))
        place = far / self.scale + 1.0 - self.first_step
        near = np.abs(place - np.rint(place)) * self.scale <= np.asarray(error) + MACHINE * far
        return self.epsilon * float(np.count_nonzero(near))


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(_Additive):
    """Whole numbers with probability `tanh(1 / (2 scale)) exp(-|k| / scale)`: two-sided geometric.

    Ghosh, Roughgarden and Sundararajan (2009), "Universally utility-maximizing privacy mechanisms".

    >>> noise = DiscreteLaplace(1.0)
    >>> noise.log_density(3, 1) - noise.log_density(3, 0), noise.log_density(0.5, 0)
    (1.0, -inf)
    """

    continuous: ClassVar[bool] = False

    def _log_noise(self, output: Floats, input: Floats) -> float:
        steps = _whole_steps(output, input)
        if steps is None:
            return -math.inf
        one = math.log(math.tanh(0.5 / self.scale))
        return float(-np.abs(steps).sum() / self.scale + steps.size * one)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        p = -math.expm1(-1.0 / self.scale)
        return np.asarray(rng.geometric(p, size=shape) - rng.geometric(p, size=shape), np.float64)

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """Nothing: a whole number is exact."""
        return 0.0


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(_Additive):
    """Whole numbers with probability in proportion to `exp(-k^2 / (2 scale^2))`.

    Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy".

    >>> noise = DiscreteGaussian(2.0)
    >>> round(noise.log_density(3, 1) - noise.log_density(3, 0), 12)
    0.625
    """

    continuous: ClassVar[bool] = False

    def _support(self) -> tuple[Floats, Floats]:
        most = math.ceil(12.0 * self.scale) + 12
        if most > 1_000_000:
            raise ValueError(f"scale must be below 80 000, got {self.scale!r}. Use Gaussian.")
        whole = np.arange(-most, most + 1, dtype=np.float64)
        return whole, -0.5 * np.square(whole / self.scale)

    def _log_noise(self, output: Floats, input: Floats) -> float:
        steps = _whole_steps(output, input)
        if steps is None:
            return -math.inf
        total = float(logsumexp(self._support()[1]))
        return float(-0.5 * np.square(steps / self.scale).sum() - steps.size * total)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        whole, weights = self._support()
        return np.asarray(rng.choice(whole, size=shape, p=np.exp(weights - logsumexp(weights))))

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """Nothing: a whole number is exact."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Geometric:
    """Whole numbers from 1 on with probability `p (1 - p)^(k - 1)`, as `rng.geometric` draws them.

    >>> print(round(Geometric(0.5).log_density(4, 1), 4), Geometric(0.5).log_density(1, 1))
    -2.0794 -inf
    """

    p: float
    continuous: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.0 < self.p < 1.0:
            raise ValueError(f"p must be between 0 and 1, got {self.p!r}.")

    def log_density(self, output: Any, input: Any) -> float:
        """The log probability of `output - input`."""
        steps = _whole_steps(np.atleast_1d(output), np.atleast_1d(input))
        if steps is None or steps.min(initial=1.0) < 1.0:
            return -math.inf
        each = math.log(self.p) + (steps - 1.0) * math.log1p(-self.p)
        return float(each.sum())

    def draw(self, input: Any, rng: np.random.Generator) -> Any:
        """The input plus a draw."""
        return input + rng.geometric(self.p, size=np.shape(input) or None)

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """Nothing: a whole number is exact."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Vector:
    """One kernel for each entry of the input, side by side.

    >>> both = Vector((Laplace(1.0), Gaussian(2.0)))
    >>> both.log_density([3.0, 3.0], [1.0, 1.0]) - both.log_density([3.0, 3.0], [0.0, 0.0])
    1.625
    """

    kernels: tuple[Kernel, ...]

    def log_density(self, output: Sequence[Any], input: Sequence[Any]) -> float:
        """The sum over the entries."""
        if not len(output) == len(input) == len(self.kernels):
            return -math.inf
        each = zip(self.kernels, output, input, strict=True)
        return math.fsum(kernel.log_density(out, given) for kernel, out, given in each)

    def draw(self, input: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        """One output for each entry."""
        each = zip(self.kernels, input, strict=True)
        return tuple(kernel.draw(given, rng) for kernel, given in each)

    def slack(self, output: Sequence[Any], input: Sequence[Any], error: Any) -> float:
        """The sum over the entries."""
        errors = np.broadcast_to(error, (len(self.kernels),))
        each = zip(self.kernels, output, input, errors, strict=True)
        return math.fsum(kernel.slack(out, given, off) for kernel, out, given, off in each)


def _whole_steps(output: Any, input: Any) -> Floats | None:
    """The differences, where all of them are whole numbers; None if one is not."""
    out, given = np.asarray(output, dtype=np.float64), np.asarray(input, dtype=np.float64)
    if out.shape != given.shape or not (np.isfinite(out).all() and np.isfinite(given).all()):
        return None
    steps = np.rint(out - given)
    close = np.abs(out - given - steps) <= _WHOLE * (1.0 + np.abs(given))
    return steps if close.all() else None
