"""Privacy profiles as plain functions, and the levels of a profile at which to bet.

A profile is any function from a level, an epsilon, to a delta in [0, 1] that does not increase.
Strengths and levels are taken as checked. Only `math` is used, so that claims can be read without
loading numpy.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

# Certifying P(A) > e^epsilon Q(A) takes about e^epsilon draws: no audit can bet above this level.
HIGHEST_LEVEL = 50.0


def pure_delta(epsilon: float, level: float) -> float:
    """The delta of randomized response: `max(0, (e^epsilon - e^level) / (1 + e^epsilon))`."""
    gap = min(0.0, level - epsilon)
    return abs(math.expm1(gap)) / (1.0 + math.exp(-epsilon))


def approx_delta(epsilon: float, delta: float, level: float) -> float:
    """The delta of `(epsilon, delta)`-DP: `delta + (1 - delta) pure_delta(epsilon, level)`."""
    return min(1.0, delta + (1.0 - delta) * pure_delta(epsilon, level))


def renyi_delta(order: float, epsilon: float, level: float) -> float:
    """The delta of Rényi DP at `a = order`: `e^((a-1)(epsilon-level)) / (a-1) * (1-1/a)^a`.

    At most 1 (Canonne, Kamath and Steinke 2020, proposition 12).
    """
    excess = order - 1.0
    return _capped_exp(excess * (epsilon - level) + _log_conversion(excess))


def zcdp_delta(rho: float, level: float) -> float:
    """The least Rényi delta of all orders: `inf_a e^((a-1)(a rho-level)) / (a-1) * (1-1/a)^a`.

    At most 1 (Canonne, Kamath and Steinke 2020, corollary 13).
    """
    if rho == 0.0:
        return 0.0
    excess = _best_excess(rho, level)
    return _capped_exp(excess * (rho * (1.0 + excess) - level) + _log_conversion(excess))


def gaussian_delta(mu: float, level: float) -> float:
    """The delta of `N(0,1)` and `N(mu,1)`: `Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)`, e level.

    Accurate to the last digits in the far tail, where the two terms nearly cancel (Balle and Wang
    2018, theorem 8).
    """
    if mu == 0.0:
        return 0.0
    near = level / mu - mu / 2.0
    density = math.exp(-near * near / 2.0) / math.sqrt(2.0 * math.pi)
    if density == 0.0:
        return 0.0 if near > 0.0 else 1.0
    # e^level Phi(-near - mu) = density * mills(near + mu), so delta is a difference of Mills
    # ratios: taken as one integral where they nearly cancel, as a plain difference elsewhere.
    if near >= -0.5:
        return density * _mills_drop(near, mu)
    return math.erfc(near / math.sqrt(2.0)) / 2.0 - density * _mills_drop(near + mu, math.inf)


@dataclass(frozen=True, slots=True)
class Chords:
    """The chords, in `e^level`, of a table of `(level, delta)` points; flat after the last.

    >>> chords = Chords(((0.0, 0.5), (1.0, 0.0)))
    >>> chords(0.0), round(chords(0.5), 6), chords(2.0)
    (0.5, 0.31123, 0.0)
    """

    points: tuple[tuple[float, float], ...]

    def __call__(self, level: float) -> float:
        points = ((0.0, 1.0), *self.points) if self.points[0][0] > 0.0 else self.points
        after = bisect_right(points, level, key=lambda point: point[0])
        if after == len(points):
            return points[-1][1]
        (left, high), (right, low) = points[after - 1], points[after]
        # share = (e^level - e^left) / (e^right - e^left), without overflow
        share = math.exp(level - right) * math.expm1(left - level) / math.expm1(left - right)
        return high - (high - low) * share


def most_likely(delta: Callable[[float], float], other: float) -> float:
    """The most that a profile allows for an event of at most probability `other` on the other side.

    `P(A) <= e^epsilon Q(A) + delta(epsilon)` for every epsilon: the least of some of these bounds.

    >>> most_likely(lambda epsilon: 0.25, 0.1)
    0.35
    """
    levels = (step / 20 for step in range(401))  # any level is safe, more of them are sharper
    return min(1.0, *(math.exp(level) * other + delta(level) for level in levels))


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


def _log_conversion(excess: float) -> float:
    """`log( (1 - 1/a)^a / (a-1) )` at order `a = 1 + excess`."""
    if excess < 1.0:  # (a-1) log(a-1) - a log a: each term small when a is near 1
        return excess * math.log(excess) - (1.0 + excess) * math.log1p(excess) if excess else 0.0
    return -math.log1p(excess) - excess * math.log1p(1.0 / excess)


def _best_excess(rho: float, level: float) -> float:
    """The `a - 1` at which the zCDP bound is least.

    The log of the bound is convex in `a`, with slope `(2a-1) rho - level + log(1 - 1/a)`, so
    bisecting on `log(a-1)` finds the one root. Any `a` gives a valid bound: no error is unsafe.
    """
    low, high = -3.0 * rho, math.log(max(1.0, min(1e300, (level + 1.0) / (2.0 * rho))))
    for _ in range(64):
        middle = (low + high) / 2.0
        softplus = max(-middle, 0.0) + math.log1p(math.exp(-abs(middle)))  # -log(1 - 1/a)
        slope = (2.0 * math.exp(middle) + 1.0) * rho - level - softplus
        low, high = (low, middle) if slope > 0.0 else (middle, high)
    return math.exp((low + high) / 2.0)


def _capped_exp(exponent: float) -> float:
    return math.exp(min(0.0, exponent))


def _double_exponential_rule() -> tuple[tuple[float, float], ...]:
    """Nodes and weights for integrals over `(0, inf)` that decay at least as `e^-v`.

    The trapezoid rule after `v = exp(t - e^-t)` (Takahasi and Mori 1974); error about 1e-15 here.
    """
    times = (step / 16.0 for step in range(-64, 65))
    points = ((t, math.exp(t - math.exp(-t))) for t in times)
    return tuple((v, v * (1.0 + math.exp(-t)) / 16.0) for t, v in points)


_RULE = _double_exponential_rule()


def _mills_drop(start: float, width: float) -> float:
    """`m(start) - m(start + width)`, `m(x) = (1 - Phi(x)) / phi(x)`, for `start >= -0.5`.

    It is `int_0^inf e^(-start u - u^2/2) (1 - e^(-width u)) du`, in which nothing cancels.
    """
    scale = max(1.0, start)
    total = 0.0
    for node, weight in _RULE:
        u = node / scale
        total -= weight * math.exp(-u * (start + u / 2.0)) * math.expm1(-width * u)
    return total / scale
