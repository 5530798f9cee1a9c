"""The words about an audited training: what each test found, and under which assumption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.claims import GaussianDP, Scalable
from dpaudit.report.showing import count, lower, one_in, upper

if TYPE_CHECKING:
    from dpaudit.results import Audit, Finding, TrainingEvidence

CAUTION = (
    "This is not a proof of privacy: other canaries or another score, or a smaller excess, may "
    "still break the claim."
)
SHOWN_DELTA = 1e-5  # at which a Gaussian curve is said as an epsilon
_MANY_TIMES_CHANCE = 3.0  # of the variance from run to run
_HALVINGS = 60
_MEANINGS = {
    "any mechanism with this claim": (
        "The bound holds whatever the canaries of a run do to each other."
    ),
    "this claim and independent canaries": (
        "The bound holds where the canaries of a run do nothing to each other: a correct training "
        "in which they do may be refuted, too."
    ),
    "this claim for every step, given all before it": (
        "The claim is that of a single step, given everything released before it."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundUnder:
    """What one test found, in words, and under which null."""

    null: str
    test: str
    said: str
    refuted: bool
    at_best: str
    guesses: str
    evidence: str
    source: str


def found_under(audit: Audit) -> list[FoundUnder]:
    """Every finding of a training in words; the first one decides."""
    assert audit.training is not None
    return [_found(finding, audit) for finding in audit.training.findings]


def meaning_of(seen: TrainingEvidence) -> str:
    """What the null that decides means."""
    return _MEANINGS[seen.null.value]


def tested(seen: TrainingEvidence) -> str:
    """The null that decides, as a note."""
    return f"tested: {seen.null.value}"


def canaries_in_words(seen: TrainingEvidence) -> str:
    """How many canaries there were, of which kind, and how many were in."""
    inside = ", ".join(f"{each:,}" for each in seen.included[:8])
    more = "" if seen.runs <= 8 else ", ..."
    runs = "" if seen.runs == 1 else f" in each of {count(seen.runs, 'run')}"
    return f"{seen.canaries:,}{runs} ({seen.what}); {inside}{more} were in"


def separations_in_words(seen: TrainingEvidence) -> str:
    """How far the scores lie apart, and whether that varies more than chance allows."""
    if not seen.separations:
        return ""
    shown = ", ".join(f"{each:.2f}" for each in seen.separations[:8])
    text = f"{shown} standard deviations between in and out"
    if seen.dispersion is None:
        return text
    varies = f"; from run to run it varies {seen.dispersion:.1f} times as much as by chance"
    if seen.dispersion < _MANY_TIMES_CHANCE:
        return text + varies
    return f"{text}{varies}: canaries of one run may share randomness"


def detectable_in_words(seen: TrainingEvidence) -> str:
    """What would have been detected; empty where there is no estimate."""
    if seen.detectable is None:
        return ""
    return (
        f"independent Gaussian scores {upper(seen.detectable)} deviations apart would have been "
        "refuted half of the time (an estimate)"
    )


def _found(finding: Finding, audit: Audit) -> FoundUnder:
    return FoundUnder(
        null=finding.null.value,
        test=finding.test,
        said=_said(finding, audit),
        refuted=finding.refuted,
        at_best=_at_best(finding, audit),
        guesses=f"{finding.right:,} of {finding.guesses:,} guesses right",
        evidence=_evidence(finding),
        source=finding.source,
    )


def _said(finding: Finding, audit: Audit) -> str:
    """The bound that is certified, or that there is none."""
    claim, bound = audit.claim, finding.lower_bound
    verdict = "refuted" if finding.refuted else "not refuted"
    if finding.bounds:  # another parameter: whether the claim is refuted is not asked
        verdict = ""
    if bound is None:
        return verdict
    symbol = finding.bounds or (claim.symbol if isinstance(claim, Scalable) else "")
    if bound <= 0.0:
        said = f"nothing certified of {symbol}" if finding.bounds else "nothing certified"
    else:
        said = _at_least(symbol, lower(bound))
    if not finding.bounds and isinstance(claim, GaussianDP) and bound > 0.0:
        said += f" (epsilon {lower(gaussian_epsilon(bound))} at {SHOWN_DELTA:g} if Gaussian)"
    return "; ".join(filter(None, (verdict, said)))


def _at_least(symbol: str, bound: str) -> str:
    """`mu at least 0.58`, `epsilon at least 1.6 at delta 1e-05`."""
    name, _, rest = symbol.partition(" ")
    return f"{name} at least {bound}{f' {rest}' if rest else ''}"


def _at_best(finding: Finding, audit: Audit) -> str:
    if finding.ceiling is None:
        return ""
    symbol = finding.bounds or (audit.claim.symbol if isinstance(audit.claim, Scalable) else "")
    return f"{_at_least(symbol, lower(finding.ceiling))}, had every guess been right"


def _evidence(finding: Finding) -> str:
    """One in so many: the chance of such evidence under the null, at most."""
    return one_in(finding.log_evidence)


def gaussian_epsilon(mu: float) -> float:
    """The epsilon of a Gaussian curve at the delta that is shown.

    >>> round(gaussian_epsilon(1.0), 2)
    4.38
    """
    claim = GaussianDP(mu)
    low, high = 0.0, 1.0
    if claim.delta(0.0) <= SHOWN_DELTA:
        return 0.0
    while claim.delta(high) > SHOWN_DELTA:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if claim.delta(middle) > SHOWN_DELTA else (low, middle)
    return low
