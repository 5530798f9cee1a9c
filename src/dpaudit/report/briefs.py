"""Audits in brief: plain values for tables, annotations and baselines; what a test found wanting.

A brief holds what any audit can say of itself, by draws or inside, and nothing that JSON cannot
hold: workers of a test run send it, and a baseline keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from dpaudit.claims import Scalable
from dpaudit.report.inside import inside_headline, is_inside, signed_loss
from dpaudit.report.layout import FIRST_WIDTH, INDENT, joined, sentences, wrapped
from dpaudit.report.showing import count, one_line, upper
from dpaudit.report.text import headline
from dpaudit.report.wording import MAX_NAME, least_leak

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit

REFUTED, BROKEN_INSIDE, CANNOT_FOLLOW = "refuted", "broken-inside", "cannot-follow"
SUSPECTED = "suspected"
UNDECIDED, TOO_WEAK, NOT_REFUTED = "undecided", "too-weak", "not-refuted"
# What can be wrong with an audit, and how other programs are told.
PROBLEMS = {
    REFUTED: "The privacy claim is refuted.",
    BROKEN_INSIDE: "The releases inside of the code break the privacy claim.",
    CANNOT_FOLLOW: "The code cannot be audited inside, so nothing was checked.",
    SUSPECTED: "A tester that cannot refute accuses the privacy claim.",
    UNDECIDED: "The evidence is not enough for a verdict.",
    TOO_WEAK: "The audit would not have found the leak that it was asked to detect.",
    NOT_REFUTED: "A refutation was expected, and the claim was not refuted.",
}
AGAINST_THE_CLAIM = (REFUTED, BROKEN_INSIDE)


# What pytest's plugin calls the file of an audit: test, number of the assertion, digest of both.
_OF_A_TEST = re.compile(r"(.+)-(\d+)-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The audits of one assertion, or one saved audit, in plain values.

    `key` is the name of its file, without the ending; `name` that of the test, or again of the
    file. `problem` is a key of `PROBLEMS`, None if nothing is
    wrong; `fails` tells whether it fails the test, and `says` is the audit, or the problem, in one
    line. `expected` marks a test that asks for a refutation. `file` and `line` lead to the test.
    """

    key: str
    name: str
    mechanism: str
    claim: str
    neighbours: str
    verdict: str
    certified: str
    lower_bound: float | None
    alpha: float
    draws: int
    inside: bool
    seconds: float
    past_claim: bool
    says: str
    problem: str | None
    fails: bool
    expected: bool = False
    file: str | None = None
    line: int | None = None

    @property
    def word(self) -> str:
        """The verdict, as a test sees it."""
        if self.expected and self.problem is None:
            return "as expected"
        return "too weak" if self.problem == TOO_WEAK else self.verdict


def brief_of(
    audits: Sequence[Audit | InsideAudit],
    *,
    key: str = "",
    name: str = "",
    problem: str | None = None,
    fails: bool = False,
    says: str = "",
    expected: bool = False,
) -> Brief:
    """All audits of one assertion in brief; the last one decided.

    `problem`, `fails` and `says` are what the test made of them.
    """
    last = audits[-1]
    inside = is_inside(last)
    known = _of_inside(cast("InsideAudit", last)) if inside else _by_draws(cast("Audit", last))
    mechanism, certified, bound, past, line = known
    draws = (getattr(each, "transcripts" if inside else "samples") for each in audits)
    return Brief(
        key=key,
        name=name,
        mechanism=mechanism,
        claim=str(last.claim),
        neighbours=last.neighbours,
        verdict=last.verdict.value,
        certified=certified,
        lower_bound=bound,
        alpha=last.alpha,
        draws=sum(draws),
        inside=inside,
        seconds=sum(each.seconds for each in audits),
        past_claim=past,
        says=says or line,
        problem=problem,
        fails=fails,
        expected=expected,
    )


def saved_brief(audit: Audit | InsideAudit, *, key: str) -> Brief:
    """A saved audit in brief. Nobody said what was asked of it: a claim that is broken fails."""
    problem = problem_of(audit)
    fails = problem in AGAINST_THE_CLAIM
    return brief_of([audit], key=key, name=name_of_test(key) or key, problem=problem, fails=fails)


def name_of_test(name: str) -> str | None:
    """The test that a file of the pytest plugin is named after; None for another file.

    >>> (
    ...     name_of_test("test_sum-2-60fa86d3"),
    ...     name_of_test("test_sum-1-60fa86d3"),
    ...     name_of_test("audit-1"),
    ... )
    ('test_sum #2', 'test_sum', None)
    """
    found = _OF_A_TEST.fullmatch(name)
    if found is None:
        return None
    test, number = found.groups()
    return test if number == "1" else f"{test} #{number}"


def _by_draws(audit: Audit) -> tuple[str, str, float | None, bool, str]:
    certified = least_leak(audit) or "nothing"
    return audit.mechanism, certified, audit.lower_bound, is_past_claim(audit), headline(audit)


def _of_inside(found: InsideAudit) -> tuple[str, str, float | None, bool, str]:
    loss = None if found.worst is None else abs(found.worst.loss)
    certified = "nothing" if loss is None else f"loss {signed_loss(loss)}"
    return found.name, certified, None, found.broken, inside_headline(found)


def is_past_claim(audit: Audit) -> bool:
    """Whether an audit shows that its claim does not hold."""
    bound, claim = audit.lower_bound, audit.claim
    above = isinstance(claim, Scalable) and bound is not None and bound > claim.strength
    return audit.refuted or above


def problem_of(audit: Audit | InsideAudit) -> str | None:
    """What the verdict alone says is wrong; None for "not refuted"."""
    problem = audit.verdict.value.replace(" ", "-")
    return None if problem == NOT_REFUTED else problem


# --- what a test asked for, and did not get -------------------------------------------------------


def too_weak(audit: Audit, detects: float) -> str:
    """Why an audit is too weak for `detects`, in one line."""
    wanted = f"{audit.symbol or 'epsilon'} {detects:.12g}"
    if audit.detectable is None:
        return f"too weak: {_asked(audit)}: nobody can say whether {wanted} would be found"
    least = upper(audit.detectable)
    return f"too weak: {_asked(audit)}: {wanted} would not be found, only {least} or more"


def no_verdict(audit: Audit | InsideAudit) -> str:
    """That a verdict was asked for and there is none, in one line."""
    return f"{audit.verdict.value}: {_asked(audit)}, where the test asks for a verdict"


def out_of_time(audit: Audit, seconds: float) -> str:
    """The warning of a test that its time limit has ended, in one line."""
    return (
        f"{_asked(audit)}: {audit.verdict.value} after {count(audit.samples, 'draw')}, when the "
        f"limit of {seconds:g} seconds of the profile ended it. Fewer draws (samples=), or a limit "
        "of its own (seconds=), or --dpaudit-seconds."
    )


def unexpected(audit: Audit | InsideAudit) -> str:
    """That a refutation was expected and did not come, in one line."""
    return f"{audit.verdict.value}: {_asked(audit)}, where the test expects a refutation"


def unsettled(audit: Audit | InsideAudit, says: str, remedy: str) -> str:
    """The message of a test whose audit did not give what was asked for: why, and the audit."""
    return joined(
        wrapped(says, rest=INDENT, width=FIRST_WIDTH), sentences(remedy), str(audit).splitlines()
    )


def _asked(audit: Audit | InsideAudit) -> str:
    name = audit.name if is_inside(audit) else cast("Audit", audit).mechanism
    claim = one_line(str(audit.claim), MAX_NAME)
    return f"{one_line(name, MAX_NAME)}, claimed {claim}"
