"""`dpaudit.assert_private(..., inside=True)`: the releases in the code must keep the claim."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from dpaudit.errors import CannotFollow, HealthWarning, Inconclusive, PrivacyViolation
from dpaudit.inside import InsideAudit, InsideVerdict, audit_inside
from dpaudit.mechanism import Subject, name_of
from dpaudit.neighbours import Pair, pairs
from dpaudit.report import UNDECIDED, inside_failure, inside_followed, inside_no_evidence, unsettled
from dpaudit.search import Finder
from dpaudit.testing.judging import REMEDIES, Demands
from dpaudit.testing.pinned import belonging, pinned_pairs
from dpaudit.testing.run_settings import AssertionSettings

_TO_THE_TEST = 3  # frames from the warning
_ENDS = (InsideVerdict.BROKEN_INSIDE, InsideVerdict.CANNOT_FOLLOW)


def assert_inside(
    subject: Subject, settings: AssertionSettings, demands: Demands, **options: Any
) -> InsideAudit:
    """Audit inside, and fail the test if the claim is broken or the code cannot be followed.

    Nothing is kept from run to run: what is broken inside is found again in a few transcripts.
    """
    __tracebackhide__ = True
    pinned = belonging(pinned_pairs(subject.mechanism), subject.neighbours)
    made = audits_inside(subject, pinned, settings, **options)
    judgement = demands.judged(made)
    settings.note(judgement)
    if judgement.problem == UNDECIDED and judgement.fails:
        raise Inconclusive(unsettled(made[-1], judgement.says, REMEDIES[UNDECIDED]), made[-1])
    for found in made:
        if found.verdict is InsideVerdict.UNDECIDED:
            warnings.warn(inside_no_evidence(found), HealthWarning, stacklevel=_TO_THE_TEST)
    return _concluded(made[-1], name_of(subject.mechanism))


def audits_inside(
    subject: Subject,
    pinned: Sequence[Pair],
    settings: AssertionSettings,
    *,
    finder: str | Finder,
    alpha: float,
    rng: int,
    transcripts: int | None = None,
    reveal: bool = False,
    progress: Any = None,
    **options: Any,
) -> list[InsideAudit]:
    """Audit the pinned pairs, then the search, each with an even share of alpha."""
    if options:
        raise TypeError(
            f"inside=True does not go with {', '.join(sorted(options))}. It takes finder, alpha, "
            "transcripts, reveal, rng and progress."
        )
    shared: dict[str, Any] = {
        "transcripts": transcripts,
        "reveal": reveal,
        "alpha": alpha / (1 + (len(pinned) > 0)),
        "rng": rng,
    }
    made: list[InsideAudit] = []
    with inside_followed(progress, below=settings.terminal) as told:
        shared["progress"] = told or False
        if pinned:
            made.append(audit_inside(subject.mechanism, subject.claim, pairs(pinned), **shared))
        if not made or made[-1].verdict not in _ENDS:
            made.append(audit_inside(subject, finder=finder, **shared))
    return made


def _concluded(found: InsideAudit, name: str) -> InsideAudit:
    __tracebackhide__ = True
    if found.broken:
        raise PrivacyViolation(inside_failure(found), found)
    if found.verdict is InsideVerdict.CANNOT_FOLLOW:
        raise CannotFollow(
            f"{name} cannot be audited inside, so this test checks nothing: {found.reason} "
            "Mend that, or leave out inside=True and audit the output."
        )
    return found
