"""From evidence to a verdict: a function of what an audit holds and saves, and of nothing else.

Refuted if and only if the wealth reached `1/alpha`. Undecided if the evidence leans against the
claim, or if there is none: no pair got twice the draws that a total leak on it would need.
Suspected if a tester accused the claim that has no finite-sample guarantee, and so no wealth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from dpaudit.betting import draws_wanted
from dpaudit.claims import Claim, Scalable, point_of
from dpaudit.results.values import (
    Audit,
    Counterexample,
    Evidence,
    PairRecord,
    Verdict,
    most_draws,
)


def verdict_of(
    claim: Claim, alpha: float, evidence: Evidence, records: Iterable[PairRecord | None]
) -> Verdict:
    """The verdict on a claim, given the evidence and the pairs that got draws.

    >>> from dpaudit.claims import PureDP
    >>> from dpaudit.neighbours import Pair
    >>> quiet = Evidence(trace=((87, -0.5),), log_wealth=-0.5, peak=0.1)
    >>> record = PairRecord(pair=Pair(0, 1), samples=87, log_wealth=-0.5, growth=-0.5 / 87)
    >>> verdict_of(PureDP(1.0), 1e-6, quiet, [record]).value
    'undecided'
    """
    if evidence.peak >= goal_of(alpha):
        return Verdict.REFUTED
    if evidence.is_leaning or most_draws(records) < draws_wanted(claim, alpha):
        return Verdict.UNDECIDED
    return Verdict.NOT_REFUTED


def training_verdict(evidence: Evidence, alpha: float) -> Verdict:
    """The verdict on the claim of a training, given the evidence of the test that decides."""
    if evidence.peak >= goal_of(alpha):
        return Verdict.REFUTED
    return Verdict.UNDECIDED if evidence.is_leaning else Verdict.NOT_REFUTED


def can_refute(audit: Audit) -> bool:
    """Whether an accusation by the tester of an audit refutes the claim."""
    return audit.method is None or audit.method.refutes


def wrong_suspicion(audit: Audit) -> Iterator[str]:
    """What cannot be in an audit that suspects, or whose tester can do no more than that."""
    said = f"the verdict is {audit.verdict.value!r}"
    if audit.method is None or audit.method.refutes:
        yield f"{said}, and no tester is named whose accusations refute nothing"
        return
    guarantee = f"the guarantee of {audit.tester} is {audit.method.guarantee!r}"
    evidence, records = audit.evidence, (*audit.history, audit.strongest)
    if evidence.trace or evidence.log_wealth != 0.0 or evidence.peak != 0.0:
        yield f"there is wealth against the claim, and {guarantee}"
    if audit.suspected:
        if audit.strongest is None:
            yield f"{said}, and no pair was tried"
    elif audit.refuted:
        yield f"{said}, and {guarantee}"
    elif audit.verdict is not verdict_of(audit.claim, audit.alpha, evidence, records):
        yield f"{said}, and its draws say otherwise"


def goal_of(alpha: float) -> float:
    """The log-wealth that refutes a claim."""
    return math.log(1.0 / alpha)


def forecast_of(audit: Audit) -> int | None:
    """About how many more draws would decide an undecided audit; None if nobody knows.

    Where the evidence leans: those that would refute the claim at the growth of the strongest pair.
    Where there are too few draws on every pair: those that the pair with the most still lacks.
    """
    if audit.verdict is not Verdict.UNDECIDED:
        return None
    rate = 0.0 if audit.strongest is None else audit.strongest.growth
    missing = goal_of(audit.alpha) - audit.evidence.log_wealth
    if audit.evidence.is_leaning and rate > 0.0 and missing > 0.0:
        return math.ceil(missing / rate)
    got = audit.most_draws
    draws = draws_wanted(audit.claim, audit.alpha) - got
    return int(draws) if 0.0 < draws < math.inf else None


def bound_of_event(claim: Scalable, found: Counterexample | None) -> float:
    """The strength certified by a refutation: more than the claim's, or what its event shows."""
    return max(claim.strength, 0.0 if found is None else found.strength_lower(claim))


def delta_of(audit: Audit) -> float | None:
    """The delta certified at the claim's epsilon; None for claims without an epsilon and a delta.

    Refuted: more than the claim's, or what the event shows, if the bound on epsilon rests on the
    event too. Two certificates of their own (sharpened bets or a batch tester beside the event)
    would not hold together at one alpha.
    """
    claim, found, point = audit.claim, audit.counterexample, point_of(audit.claim)
    if point is None or not audit.refuted:
        return None if point is None else 0.0
    epsilon, delta = point
    assert isinstance(claim, Scalable)
    if found is None or audit.lower_bound != bound_of_event(claim, found):
        return delta
    return max(delta, found.delta_lower(epsilon))
