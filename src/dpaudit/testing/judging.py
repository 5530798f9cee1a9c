"""What a test asks of an audit, what it makes of it, and when it stops waiting."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpaudit.claims import Claim, Scalable, point_of
from dpaudit.errors import UnsupportedClaim
from dpaudit.report import (
    AGAINST_THE_CLAIM,
    CANNOT_FOLLOW,
    NOT_REFUTED,
    SUSPECTED,
    TOO_WEAK,
    UNDECIDED,
    no_verdict,
    problem_of,
    too_weak,
    unexpected,
)
from dpaudit.testers import BettingTester
from dpaudit.testing.run_settings import FAIL_ON, FailOn, Judgement

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit, Progress

REMEDIES = {
    UNDECIDED: "Give it more draws (samples=, or a longer profile), or a smaller search.",
    TOO_WEAK: (
        "More draws find smaller leaks (samples=, or a longer profile). What would be found is an "
        "estimate, on the pair that showed most."
    ),
    SUSPECTED: "Audit the pair with the default tester, or leave out tester: it can refute.",
    NOT_REFUTED: "The mechanism may be mended, or the audit may have too few draws to refute it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What an assertion asks beyond that the claim is not refuted: a verdict, and enough power."""

    fail_on: FailOn
    detects: float | None = None

    @classmethod
    def of(cls, fail_on: FailOn | None, default: FailOn, detects: float | None = None) -> Demands:
        """The demands of an assertion; `ValueError` if `fail_on` is no word that we know."""
        if fail_on is not None and fail_on not in FAIL_ON:
            known = " or ".join(repr(word) for word in FAIL_ON)
            raise ValueError(f"fail_on must be {known}, got {fail_on!r}.")
        return cls(fail_on=default if fail_on is None else fail_on, detects=detects)

    def check(self, claim: Claim, tester: object) -> None:
        """Raise where `detects` has no meaning."""
        if self.detects is None:
            return
        if not isinstance(claim, Scalable) or (point_of(claim) or (0.0, 0.0))[1] > 0.0:
            raise UnsupportedClaim(
                f"detects={self.detects!r} needs a claim with one parameter and no delta, got "
                f"{claim}: what an audit would have found is not known for others. Leave it out."
            )
        if tester is not None and not isinstance(tester, BettingTester):
            raise TypeError(f"detects={self.detects!r} needs bets. Leave out tester, or detects.")
        if not claim.strength < self.detects < math.inf:
            raise ValueError(
                f"detects must be a number above the claim's {claim.symbol} of "
                f"{claim.strength:.12g}, got {self.detects!r}."
            )

    def judged(self, audits: Sequence[Audit | Any]) -> Judgement:
        """What an assertion that must not refute makes of its audits."""
        last, problem = audits[-1], problem_of(audits[-1])
        if problem in (*AGAINST_THE_CLAIM, CANNOT_FOLLOW):
            return Judgement(audits=audits, problem=problem, fails=True)
        if problem in (UNDECIDED, SUSPECTED) and self.fail_on == "undecided":
            return Judgement(audits=audits, problem=problem, fails=True, says=no_verdict(last))
        if self.detects is not None and not (last.detectable or math.inf) <= self.detects:
            says = too_weak(last, self.detects)
            return Judgement(audits=audits, problem=TOO_WEAK, fails=True, says=says)
        return Judgement(audits=audits, problem=problem)


def judged_as_expected(audits: Sequence[Audit | InsideAudit]) -> Judgement:
    """What an assertion that asks for a refutation makes of its audits."""
    if problem_of(audits[-1]) in AGAINST_THE_CLAIM:
        return Judgement(audits=audits, expected=True)
    says, suspected = unexpected(audits[-1]), problem_of(audits[-1]) == SUSPECTED
    problem = SUSPECTED if suspected else NOT_REFUTED
    return Judgement(audits=audits, problem=problem, fails=True, says=says, expected=True)


class TimeLimit:
    """Ends an audit through its progress, as Ctrl-C would: until then it is the same audit.

    A limit of `dpaudit.audit(seconds=...)` sizes calls by the clock, so that no two runs are the
    same. This one looks at the clock between two steps, each of which may take about a fifth of
    the time so far.
    """

    def __init__(self, seconds: float, progress: Callable[[Progress], None] | None) -> None:
        self.seconds = seconds
        self.reached = False
        self._progress = progress
        self._start = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        if self._progress is not None:
            self._progress(progress)
        if time.monotonic() - self._start > self.seconds:
            self.reached = True
            raise KeyboardInterrupt
