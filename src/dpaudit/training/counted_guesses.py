"""Tests that count the right guesses among a number of the surest, fixed before any score is seen.

What such a test needs is one function: whether so many right guesses refute a claim at an alpha.
The number of guesses is chosen from the number of canaries, the claim and alpha alone, so that the
smallest broken training is found half of the time (section 11 of docs/mathematics.md).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy.typing as npt

from dpaudit.architecture import Claim, Scalable
from dpaudit.auditing import check_alpha
from dpaudit.results import Finding, Null
from dpaudit.training.guesses import checked_scores, right_by_sureness
from dpaudit.training.levels import climb, highest, last_of_block, reached
from dpaudit.training.reference import MOST_SHIFT, shift_for_accuracy
from dpaudit.training.trade_off import remembered

SHARES = (*(0.0025 * 1.3**step for step in range(23)), 1.0)  # of the canaries: to choose from
_FIRST_SHARE = 0.05  # often near the best, so that the others are soon seen to be worse
_HALVINGS = 16  # in the search for a p-value: it is too large by a ten-thousandth of its log
_LEAST_LOG_P = -700.0


class CountTest(Protocol):
    """Judges a count of right guesses. Both methods are functions of their arguments alone."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...

    def refutes(
        self, claim: Claim, *, canaries: int, guesses: int, right: int, alpha: float
    ) -> bool:
        """Whether so many right guesses refute the claim with error at most alpha."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many guesses to make, and which reference canaries they find half of the time.

    These lie `shift` apart. It is `MOST_SHIFT` if even perfect guesses refute nothing.
    """

    guesses: int
    shift: float

    @property
    def hopeless(self) -> bool:
        return self.shift >= MOST_SHIFT


@remembered
def plan(test: CountTest, claim: Claim, *, canaries: int, alpha: float) -> Plan:
    """The number of guesses that finds the smallest shift of the reference canaries.

    >>> from dpaudit.claims import GaussianDP
    >>> from dpaudit.training.error_recursion import ErrorRecursion
    >>> plan(ErrorRecursion(), GaussianDP(1.0), canaries=1000, alpha=0.05).guesses
    128
    """
    start = max(1.0, _FIRST_SHARE * canaries)
    best = Plan(guesses=round(start), shift=MOST_SHIFT)
    for count in sorted(_numbers(canaries), key=lambda count: abs(math.log(count / start))):
        better = _better(test, claim, canaries, count, alpha, best.shift)
        best = best if better is None else better
    return best


def _better(
    test: CountTest, claim: Claim, canaries: int, guesses: int, alpha: float, shift: float
) -> Plan | None:
    """The plan with this number of guesses, if it finds a smaller shift than the one given."""

    def found(right: int) -> float:  # the shift at which so many right guesses are the median
        return shift_for_accuracy(guesses / canaries, (right - 0.5) / guesses)

    judge = partial(test.refutes, claim, canaries=canaries, guesses=guesses, alpha=alpha)
    most = bisect_left(range(guesses + 1), shift, key=found) - 1
    if most < 0 or not judge(right=most):
        return None
    return Plan(guesses=guesses, shift=found(_fewest(judge, most)))


def fewest_right(
    test: CountTest, claim: Claim, *, canaries: int, guesses: int, alpha: float
) -> int:
    """The fewest right guesses that refute the claim; one more than all if none do.

    >>> from dpaudit.claims import PureDP
    >>> from dpaudit.training.right_guesses import RightGuesses
    >>> fewest_right(RightGuesses(), PureDP(0.0), canaries=10, guesses=10, alpha=0.06)
    8
    """
    judge = partial(test.refutes, claim, canaries=canaries, guesses=guesses, alpha=alpha)
    return _fewest(judge, guesses + 1)


def _fewest(judge: Callable[..., bool], high: int) -> int:
    """The fewest right guesses that refute, at most `high`."""
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if judge(right=middle) else (middle, high)
    return high


def p_value(test: CountTest, claim: Claim, *, canaries: int, guesses: int, right: int) -> float:
    """A p-value: an alpha at which the count refutes, next to the least one; 1 if none does.

    >>> from dpaudit.claims import PureDP
    >>> from dpaudit.training.right_guesses import RightGuesses
    >>> print(round(p_value(RightGuesses(), PureDP(0.0), canaries=4, guesses=4, right=4), 4))
    0.0625
    """
    judge = partial(test.refutes, claim, canaries=canaries, guesses=guesses, right=right)
    low, high = -1.0, 0.0  # logarithms of alpha: not refuted, refuted
    while low > _LEAST_LOG_P and judge(alpha=math.exp(low)):
        low, high = 2.0 * low, low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if judge(alpha=math.exp(middle)) else (middle, high)
    return math.exp(high)


def count_finding(
    test: CountTest, scores: npt.ArrayLike, bits: npt.ArrayLike, claim: Claim, alpha: float
) -> Finding:
    """What the count says of the claim, and the bound that it certifies."""
    check_alpha(alpha)
    hits, canaries = right_by_sureness(scores, bits), len(checked_scores(scores))

    def right(guesses: int) -> int:  # a guess that cannot be made, for lack of a score, is wrong
        return int(hits[:guesses].sum())

    def refuted(planned: Plan, level: Claim) -> bool:
        count = right(planned.guesses)
        return test.refutes(
            level, canaries=canaries, guesses=planned.guesses, right=count, alpha=alpha
        )

    planned = plan(test, claim, canaries=canaries, alpha=alpha)
    chance = p_value(
        test, claim, canaries=canaries, guesses=planned.guesses, right=right(planned.guesses)
    )
    bound = None
    if isinstance(claim, Scalable):
        bound = climb(
            claim,
            lambda level: refuted(
                plan_at(test, claim, level, canaries=canaries, alpha=alpha),
                claim.with_strength(level),
            ),
        )
    return Finding(
        test=test.name,
        source=test.source,
        null=Null.ANY_MECHANISM,
        refuted=reached(claim, bound) if isinstance(claim, Scalable) else refuted(planned, claim),
        log_evidence=math.log(1.0 / chance),
        lower_bound=(bound or 0.0) if isinstance(claim, Scalable) else None,
        ceiling=count_ceiling(test, claim, canaries=canaries, alpha=alpha),
        guesses=planned.guesses,
        right=right(planned.guesses),
    )


def plan_at(test: CountTest, claim: Scalable, level: float, *, canaries: int, alpha: float) -> Plan:
    """The plan for a level of the claim; like every plan it is made before any score is seen.

    It is that of the last level of its block: what can be refuted there can be refuted below.
    """
    for planned in (last_of_block(claim, level), level):
        found = plan(test, claim.with_strength(planned), canaries=canaries, alpha=alpha)
        if not found.hopeless:
            break
    return found


@remembered
def count_ceiling(test: CountTest, claim: Claim, *, canaries: int, alpha: float) -> float | None:
    """The highest level that perfect guesses can refute; None for claims that have no levels.

    >>> from dpaudit.claims import PureDP
    >>> from dpaudit.training.right_guesses import RightGuesses
    >>> bound = count_ceiling(RightGuesses(), PureDP(1.0), canaries=1000, alpha=0.05)
    >>> print(round(bound, 1), round(math.log(1000 / math.log(20)), 1))
    5.7 5.8
    """
    if not isinstance(claim, Scalable):
        return None
    return highest(
        claim, lambda level: _possible(test, claim.with_strength(level), canaries, alpha)
    )


def _possible(test: CountTest, claim: Claim, canaries: int, alpha: float) -> bool:
    return any(
        test.refutes(claim, canaries=canaries, guesses=count, right=count, alpha=alpha)
        for count in _numbers(canaries)
    )


def _numbers(canaries: int) -> list[int]:
    return sorted({max(1, round(share * canaries)) for share in SHARES})
