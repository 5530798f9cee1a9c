"""A saved audit inside is checked against itself: its loss, its evidence and its verdict agree."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpaudit.inside.bets import epsilon_of_pure, forbids_infinite
from dpaudit.inside.found import InsideAudit, InsideVerdict
from dpaudit.results import LEANING, dates_that_differ, goal_of

_ROUNDING = 1e-9  # of sums of losses and of logarithms


def inside_contradictions(
    found: InsideAudit, saved_loss: float | None
) -> Iterator[tuple[str, str]]:
    """What does not follow from the rest; the saved loss is the sum of those of the releases."""
    for problems in (
        _saved_loss(found, saved_loss),
        _plain_numbers(found),
        _worst(found),
        _evidence(found),
        _verdict(found),
    ):
        for problem in problems:
            yield "losses", problem
    for problem in dates_that_differ(found.provenance, found.seconds):
        yield "dates", problem


def _saved_loss(found: InsideAudit, saved: float | None) -> Iterator[str]:
    derived = None if found.worst is None or not found.worst.releases else found.worst.loss
    if (saved is None) != (derived is None) or not _equal(saved or 0.0, derived or 0.0):
        yield f"the losses of the releases make {derived!r}, and not {saved!r}"


def _plain_numbers(found: InsideAudit) -> Iterator[str]:
    if not 0.0 < found.alpha < 1.0:
        yield f"alpha must be in (0, 1), got {found.alpha!r}"
    if not 0.0 <= found.seconds < math.inf:
        yield f"seconds must be finite and at least 0, got {found.seconds!r}"
    if not found.log_wealth >= 0.0:
        yield f"the largest log-wealth must be at least 0, got {found.log_wealth!r}"
    recorded = found.worst is not None or found.differs is not None
    if recorded and not (found.transcripts and found.pairs_tried):
        yield f"a transcript was recorded, among {found.transcripts} of {found.pairs_tried} pairs"


def _worst(found: InsideAudit) -> Iterator[str]:
    worst = found.worst
    if worst is None:
        return
    if not worst.releases:
        yield "the worst transcript has no release"
    if not worst.tolerance >= 0.0:
        yield f"the tolerance must be at least 0, got {worst.tolerance!r}"
    if any(math.isnan(release.loss) for release in worst.releases):
        yield "the loss of a release is not a number"
    if worst.differs is not None and found.differs is None:
        yield "a replay differs, and no pair of one is given"


def _evidence(found: InsideAudit) -> Iterator[str]:
    if epsilon_of_pure(found.claim) is not None:
        if found.log_wealth != 0.0:
            yield f"a pure claim has no wealth, got a log-wealth of {found.log_wealth!r}"
    elif math.isinf(found.log_wealth):
        infinite = found.worst is not None and found.worst.loss == math.inf
        if not (infinite and forbids_infinite(found.claim)):
            yield "the evidence is infinite without an infinite loss that the claim rules out"


def _verdict(found: InsideAudit) -> Iterator[str]:
    said, goal = f"the verdict is {found.verdict.value!r}", goal_of(found.alpha)
    shown = _loss_beyond(found)
    if epsilon_of_pure(found.claim) is not None:
        if found.broken != shown:
            yield f"{said}, and a loss {'breaks' if shown else 'does not break'} the claim"
    elif found.log_wealth != goal and found.broken != (found.log_wealth >= goal - _ROUNDING):
        yield f"{said}, with a log-wealth of {found.log_wealth!r} where {goal!r} breaks the claim"
    explained = found.verdict in (InsideVerdict.UNDECIDED, InsideVerdict.CANNOT_FOLLOW)
    if explained != bool(found.reason):
        yield f"{said}, {'without' if explained else 'with'} a reason"
    if found.verdict is InsideVerdict.NOT_REFUTED:
        if found.worst is None or found.differs is not None:
            yield f"{said}, and no loss is known, or a replay differs"
        if found.log_wealth > LEANING + _ROUNDING:
            yield f"{said}, with a log-wealth of {found.log_wealth!r}"


def _loss_beyond(found: InsideAudit) -> bool:
    """Whether the worst transcript alone breaks a pure claim."""
    epsilon, worst = epsilon_of_pure(found.claim), found.worst
    if epsilon is None or worst is None or worst.differs is not None:
        return False
    return abs(worst.loss) - worst.tolerance > epsilon


def _equal(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= _ROUNDING * max(1.0, abs(one), abs(other))
