"""The trade-off curve of a claim, inverted: how often a guess must be wrong at least."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from statistics import NormalDist
from typing import ParamSpec, TypeVar

from dpaudit.architecture import Claim
from dpaudit.claims import HIGHEST_LEVEL, GaussianDP, point_of

LINES = 64  # levels of a profile that are looked at: any of them is safe, more of them are sharper
_STEEPEST = 12.0  # beyond e^12 the rounding of a probability near 1 would be seen
_SMALLEST_DELTA = 1e-9
_SHAVED = 1.0 - 1e-12  # more than the rounding errors of one step
_RESULTS = 8_192  # that a function remembers
_ROUNDING = 1e-15  # relative: more than that of a few sums near 1
_NORMAL = NormalDist()
_ROOT_2 = math.sqrt(2.0)

Given = ParamSpec("Given")
Result = TypeVar("Result")


def remembered(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function with its last results kept, except for claims of a user's own without a hash."""
    kept = lru_cache(maxsize=_RESULTS)(function)

    @wraps(function)
    def call(*args: Given.args, **options: Given.kwargs) -> Result:
        try:
            hash((args, tuple(options.values())))
        except TypeError:
            return function(*args, **options)
        return kept(*args, **options)  # type: ignore[arg-type]

    return call


@remembered
def least_wrong(claim: Claim) -> Callable[[float], float]:
    """A function from `P(E)` to the least `Q(E)` that the claim allows; it is convex and rises.

    For a profile it is `max(0, sup_epsilon max(e^-epsilon (y - delta), 1 - delta - e^epsilon (1 -
    y)))`, the two directions of `P(E) <= e^epsilon Q(E) + delta(epsilon)`; for a Gaussian claim
    `Phi(Phi^-1(y) - mu)` (Dong, Roth and Su 2022).

    >>> from dpaudit.claims import PureDP
    >>> print(round(least_wrong(GaussianDP(1.0))(0.5), 6))  # Phi(-1)
    0.158655
    >>> print(round(least_wrong(PureDP(math.log(3.0)))(0.75), 6))
    0.25
    """
    if isinstance(claim, GaussianDP):
        return _Shifted(claim.mu)
    return _envelope([line for point in _points(claim) for line in _lines(*point)])


@dataclass(frozen=True, slots=True)
class _Shifted:
    mu: float

    def __call__(self, likely: float) -> float:
        if likely <= 0.0:
            return 0.0
        if likely >= 1.0:
            return 1.0
        # Not NormalDist.cdf, which has lost its digits in the lower tail.
        return 0.5 * math.erfc((self.mu - _NORMAL.inv_cdf(likely)) / _ROOT_2) * _SHAVED


@dataclass(frozen=True, slots=True)
class _Line:
    """`height + slope * (y - start)`: kept by a point on it, so that nothing cancels near there.

    `error` is more than the rounding error elsewhere; it is taken off.
    """

    slope: float
    start: float
    height: float
    error: float = 0.0

    def at(self, y: float) -> float:
        return self.height + self.slope * (y - self.start) - self.error


@dataclass(frozen=True, slots=True)
class _Envelope:
    """The highest of some lines: which one is known between two breaks."""

    breaks: tuple[float, ...]
    lines: tuple[_Line, ...]

    def __call__(self, likely: float) -> float:
        return max(0.0, self.lines[bisect_right(self.breaks, likely)].at(likely) * _SHAVED)


def _points(claim: Claim) -> list[tuple[float, float]]:
    """The `(epsilon, delta)` of a claim: its point, or levels until delta has nearly vanished."""
    if point := point_of(claim):
        return [point]
    last = claim.delta(HIGHEST_LEVEL)
    low, high = 0.0, HIGHEST_LEVEL
    for _ in range(20):
        middle = 0.5 * (low + high)
        vanished = claim.delta(middle) <= last + _SMALLEST_DELTA
        low, high = (low, middle) if vanished else (middle, high)
    return [(level, claim.delta(level)) for level in (high * k / LINES for k in range(LINES + 1))]


def _lines(epsilon: float, delta: float) -> list[_Line]:
    lines = [_Line(math.exp(-epsilon), delta, 0.0)]
    if epsilon <= _STEEPEST:
        steep = math.exp(epsilon)
        lines.append(_Line(steep, 1.0, 1.0 - delta, error=_ROUNDING * (1.0 + steep)))
    return lines


def _envelope(lines: list[_Line]) -> _Envelope:
    """The highest lines from left to right. A line that is left out makes the curve smaller: safe.

    On a convex curve the slopes rise, so each line takes over from the one before it at a break.
    """
    kept, breaks = [_Line(0.0, 0.0, 0.0)], list[float]()
    for line in sorted(lines, key=lambda line: (line.slope, line.at(0.5))):
        while breaks and line.at(breaks[-1]) >= kept[-1].at(breaks[-1]):
            kept.pop()
            breaks.pop()
        top = kept[-1]
        if line.slope > top.slope:
            breaks.append((top.at(0.0) - line.at(0.0)) / (line.slope - top.slope))
            kept.append(line)
    return _Envelope(tuple(breaks), tuple(kept))
