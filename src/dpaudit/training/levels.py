"""The levels of a claim that a bound can take, and how a test goes up them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import takewhile

from dpaudit.architecture import Claim, Scalable
from dpaudit.claims import HIGHEST_LEVEL, ApproxDP, point_of

STEP = 1.02  # a bound loses at most two per cent to the steps between levels
BLOCK = 4  # levels that are tested by the same plan
STEPS_BELOW = 150  # from a twentieth of the claim
STEPS_ABOVE = 450  # to far more than any run of training can show


def levels(claim: Scalable) -> Iterator[float]:
    """The strengths of a claim at which a test looks, in rising order; the claim's is one of them.

    They depend on the claim alone.

    >>> from dpaudit.claims import GaussianDP
    >>> some = list(levels(GaussianDP(2.0)))
    >>> 2.0 in some, round(some[0], 3), some == sorted(some)
    (True, 0.103, True)
    """
    base = claim.strength
    if base == 0.0:
        yield 0.0
        base = 1.0
    for step in range(-STEPS_BELOW, STEPS_ABOVE + 1):
        yield base * STEP**step


def climb(claim: Scalable, refuted: Callable[[float], bool]) -> float | None:
    """The last level before the first that is not refuted; None if the first one is not.

    The levels are fixed and the nulls are nested. A bound above the truth needs a false refutation
    of the first level that is true, so going up costs nothing (docs/mathematics.md, section 11).

    >>> from dpaudit.claims import GaussianDP
    >>> print(climb(GaussianDP(1.0), lambda level: level <= 1.03))
    1.02
    """
    passed = list(takewhile(refuted, levels(claim)))
    return passed[-1] if passed else None


def highest(claim: Scalable, possible: Callable[[float], bool]) -> float:
    """The highest level that is possible, by bisection: whatever is possible below it, too.

    >>> from dpaudit.claims import GaussianDP
    >>> print(highest(GaussianDP(1.0), lambda level: level <= 1.03))
    1.02
    """
    every = list(levels(claim))
    low, high = -1, len(every)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if possible(every[middle]) else (low, middle)
    return every[low] if low >= 0 else 0.0


def last_of_block(claim: Scalable, level: float) -> float:
    """The highest level of the block that a level is in; the claim is the last of its block.

    >>> from dpaudit.claims import GaussianDP
    >>> last_of_block(GaussianDP(2.0), 2.0), last_of_block(GaussianDP(2.0), 2.0 / STEP**3)
    (2.0, 2.0)
    """
    base = claim.strength or 1.0
    if level <= 0.0:
        return level
    step = round(math.log(level / base) / math.log(STEP))
    return base * STEP ** (step + -step % BLOCK)


def reached(claim: Scalable, bound: float | None) -> bool:
    """Whether going up has come as far as the claim, which is then refuted."""
    return bound is not None and bound >= claim.strength


def point_claim(claim: Claim, delta: float) -> ApproxDP | None:
    """The `(epsilon, delta)` that the profile of a claim implies; None if it implies none.

    >>> from dpaudit.claims import GaussianDP
    >>> point = point_claim(GaussianDP(1.0), 1e-5)
    >>> print(round(point.strength, 4))
    4.3772
    """
    if claim.delta(0.0) <= delta:
        return ApproxDP(0.0, delta)
    low, high = 0.0, HIGHEST_LEVEL
    if claim.delta(high) > delta:
        return None
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if claim.delta(middle) > delta else (low, middle)
    return ApproxDP(high, delta)


def surely_lost(claim: Claim) -> float:
    """The probability with which a mechanism that keeps the claim may reveal everything.

    >>> from dpaudit.claims import GaussianDP
    >>> surely_lost(ApproxDP(1.0, 1e-5)), surely_lost(GaussianDP(1.0)) < 1e-100
    (1e-05, True)
    """
    point = point_of(claim)
    return claim.delta(HIGHEST_LEVEL) if point is None else point[1]
