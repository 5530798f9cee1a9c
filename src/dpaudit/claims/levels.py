"""Where on a privacy profile to bet: a few levels over the span on which it falls.

A profile is any function from a level to a delta in [0, 1] that does not increase. Only builtins
are used, so that claims can be read without loading numpy.
"""

from __future__ import annotations

from collections.abc import Callable

# Certifying P(A) > e^epsilon Q(A) takes about e^epsilon draws: no audit can bet above this level.
HIGHEST_LEVEL = 50.0


def gaussian_span(mu: float) -> tuple[float, float]:
    """Three deviations each way of the Gaussian mechanism's privacy loss, `N(mu^2/2, mu^2)`.

    >>> gaussian_span(1.0), gaussian_span(8.0)
    ((0.0, 3.5), (8.0, 56.0))
    """
    return max(0.0, mu * (mu / 2.0 - 3.0)), mu * (mu / 2.0 + 3.0)


def falling_span(profile: Callable[[float], float]) -> tuple[float, float]:
    """From where the profile leaves 1 to where it has made all but 1e-4 of its descent.

    >>> start, stop = falling_span(lambda level: max(0.0, 1.0 - level))
    >>> round(start, 4), round(stop, 4)
    (0.001, 0.9999)
    """
    top, bottom = profile(0.0), profile(HIGHEST_LEVEL)
    return _first_below(profile, 0.999), _first_below(profile, bottom + 1e-4 * (top - bottom))


def tangent_points(
    profile: Callable[[float], float], span: tuple[float, float], count: int
) -> tuple[tuple[float, float], ...]:
    """`count` equally spaced levels with their deltas, less those whose delta of 1 says nothing.

    >>> tangent_points(lambda level: 1.0 - level / 2.0, (0.0, 1.0), 3)
    ((0.5, 0.75), (1.0, 0.5))
    """
    check_count(count)
    stop = min(span[1], HIGHEST_LEVEL)
    start = min(span[0], stop)
    shares = [step / (count - 1) for step in range(count)] if count > 1 else [0.5]
    levels = sorted({start + (stop - start) * share for share in shares})
    points = tuple((level, profile(level)) for level in levels)
    return tuple(point for point in points if point[1] < 1.0) or points[-1:]


def check_count(count: int) -> None:
    """Refuse fewer than one level."""
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count!r}.")


def _first_below(profile: Callable[[float], float], target: float) -> float:
    """The smallest level at which delta is at most `target`, by doubling and bisection."""
    if profile(0.0) <= target:
        return 0.0
    low, high = 0.0, 1e-6
    while high < HIGHEST_LEVEL and profile(high) > target:
        low, high = high, min(HIGHEST_LEVEL, 2.0 * high)
    for _ in range(20):
        middle = (low + high) / 2.0
        low, high = (middle, high) if profile(middle) > target else (low, middle)
    return high
