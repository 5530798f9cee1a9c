"""What one run says of a claim, whatever its canaries do to each other.

One main test spends alpha; it is chosen from the number of canaries, the claim and alpha alone. The
other tests give further bounds, each with an alpha of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy.typing as npt

from dpaudit.architecture import Claim, Scalable
from dpaudit.auditing import check_alpha
from dpaudit.claims import point_of
from dpaudit.errors import Underpowered
from dpaudit.results import Finding
from dpaudit.training.counted_guesses import count_ceiling, plan
from dpaudit.training.error_recursion import ErrorRecursion, error_recursion
from dpaudit.training.guesses import checked_scores
from dpaudit.training.levels import point_claim, surely_lost
from dpaudit.training.right_guesses import RightGuesses, right_guesses
from dpaudit.training.stopped_wealth import (
    planned_shift,
    stakes,
    stopped_wealth,
    wealth_ceiling,
    within_reach,
)

TestName = Literal["error recursion", "right guesses", "stopped wealth"]
TESTS = {
    "error recursion": error_recursion,
    "right guesses": right_guesses,
    "stopped wealth": stopped_wealth,
}
FURTHER_DELTA = 1e-5  # at which an epsilon is bounded too, if the claim is a whole curve
_MOST_CANARIES = 1_000_000  # that the advice looks for


def any_mechanism(
    scores: npt.ArrayLike,
    bits: npt.ArrayLike,
    claim: Claim,
    alpha: float = 0.05,
    *,
    delta: float = FURTHER_DELTA,
) -> tuple[Finding, tuple[Finding, ...]]:
    """The finding of the main test, and further bounds that each have an alpha of their own.

    `scores` are larger the likelier a canary was in, and `bits` are the fair coins that decided it.
    Only the main finding may be acted on at alpha: whoever takes the best of several findings errs
    more often. A curve claim (Gaussian, Rényi, zCDP, a profile) implies an epsilon at `delta`; the
    further bounds are on that epsilon, and their `bounds` say so.

    >>> import numpy as np
    >>> from dpaudit.claims import GaussianDP
    >>> rng = np.random.default_rng(1)
    >>> bits = rng.random(1000) < 0.5
    >>> main, further = any_mechanism(rng.normal(size=1000) + 2.0 * bits, bits, GaussianDP(1.0))
    >>> main.test, main.refuted
    ('error recursion', True)
    >>> [(finding.test, finding.bounds) for finding in further][0]
    ('right guesses', 'epsilon at delta 1e-05')
    """
    check_alpha(alpha)
    canaries = len(checked_scores(scores))
    main = main_test(canaries, claim, alpha)
    others = [name for name in TESTS if name != main]
    point, bounds = claim, ""
    if point_of(claim) is None:
        implied = point_claim(claim, delta)
        if implied is None:
            return TESTS[main](scores, bits, claim, alpha), ()
        point, bounds = implied, f"epsilon at delta {delta:g}"
    further = (TESTS[name](scores, bits, point, alpha) for name in others)
    return (
        TESTS[main](scores, bits, claim, alpha),
        tuple(replace(finding, bounds=bounds) for finding in further),
    )


def main_test(count: int, claim: Claim, alpha: float) -> TestName:
    """The test that finds the smallest shift of independent Gaussian canaries half of the time.

    For a claim that is a whole curve it is the error recursion, the only one that uses the curve.

    >>> from dpaudit.claims import ApproxDP, PureDP
    >>> main_test(1_000, PureDP(1.0), 0.05), main_test(10_000, ApproxDP(2.0, 1e-5), 0.05)
    ('right guesses', 'error recursion')
    """
    shifts = _shifts(count, claim, alpha)
    return min(shifts, key=lambda name: shifts[name])


def detectable_shift(count: int, claim: Claim, alpha: float = 0.05) -> float:
    """How far apart independent Gaussian scores must lie to be refuted half of the time.

    In standard deviations of the noise; an estimate from the plan of the main test.

    >>> from dpaudit.claims import GaussianDP
    >>> print(round(detectable_shift(1_000, GaussianDP(1.0)), 1))
    1.5
    """
    return min(_shifts(count, claim, alpha).values())


def _shifts(count: int, claim: Claim, alpha: float) -> dict[TestName, float]:
    """The smallest shift that each test finds half of the time."""
    recursion = plan(ErrorRecursion(), claim, canaries=count, alpha=alpha).shift
    point = point_of(claim)
    if point is None:
        return {"error recursion": recursion}
    terms = stakes(*point, canaries=count, alpha=alpha)
    return {
        "right guesses": plan(RightGuesses(), claim, canaries=count, alpha=alpha).shift,
        "error recursion": recursion,
        "stopped wealth": planned_shift(terms, count),
    }


def run_ceiling(count: int, claim: Claim, alpha: float = 0.05) -> float | None:
    """The best bound that the main test could give after perfect guesses; None for a `Profile`.

    It is in the claim's own parameter.

    >>> from dpaudit.claims import PureDP
    >>> print(round(run_ceiling(1_000, PureDP(1.0)), 1))
    5.7
    """
    check_alpha(alpha)
    if not isinstance(claim, Scalable):
        return None
    test = main_test(count, claim, alpha)
    if test == "stopped wealth":
        return wealth_ceiling(claim, canaries=count, alpha=alpha)
    counted = RightGuesses() if test == "right guesses" else ErrorRecursion()
    return count_ceiling(counted, claim, canaries=count, alpha=alpha)


def refuse_if_hopeless(count: int, claim: Claim, alpha: float = 0.05) -> None:
    """Raise `Underpowered` if no outcome of a run with so many canaries could refute the claim.

    To be asked before the training. No test of one run refutes `(epsilon, delta)` at an alpha of
    delta or less: the mechanism that reveals everything with probability delta keeps that claim.

    >>> from dpaudit.claims import PureDP
    >>> refuse_if_hopeless(1_000, PureDP(5.0))
    >>> refuse_if_hopeless(100, PureDP(5.0))
    Traceback (most recent call last):
    ...
    dpaudit.errors.Underpowered: perfect guesses of all 100 canaries would not refute 5-DP ...
    """
    check_alpha(alpha)
    lost = surely_lost(claim)
    if alpha <= lost:
        raise Underpowered(
            f"no single run refutes {claim} at alpha {alpha:g}: to reveal everything with"
            f" probability {lost:g} keeps the claim. Use an alpha above {lost:g}, or several runs."
        )
    if _within_reach(count, claim, alpha):
        return
    best = run_ceiling(count, claim, alpha)
    said = "" if best is None else f": the best possible bound is {best:.3g}"
    enough = _enough(count, claim, alpha)
    more = "" if enough is None else f"at least {enough} canaries, or "
    raise Underpowered(
        f"perfect guesses of all {count} canaries would not refute {claim} at alpha {alpha:g}"
        f"{said}. Use {more}several runs, or a larger alpha, or test a smaller claim."
    )


def _within_reach(count: int, claim: Claim, alpha: float) -> bool:
    """Whether perfect guesses refute by the main test."""
    test = main_test(count, claim, alpha)
    if test == "stopped wealth":
        point = point_of(claim)
        return point is not None and within_reach(*point, canaries=count, alpha=alpha)
    counted = RightGuesses() if test == "right guesses" else ErrorRecursion()
    return not plan(counted, claim, canaries=count, alpha=alpha).hopeless


def _enough(count: int, claim: Claim, alpha: float) -> int | None:
    """A number of canaries with which perfect guesses would refute; None if it is too large."""
    while count <= _MOST_CANARIES:
        count = math.ceil(1.5 * count)
        if _within_reach(count, claim, alpha):
            return count
    return None
