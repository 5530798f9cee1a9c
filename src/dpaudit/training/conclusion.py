"""From scores and bits to an `Audit`: what the tests found, and what a report shows of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpaudit._version import __version__
from dpaudit.architecture import Claim
from dpaudit.arrays import Floats, Labels
from dpaudit.mechanism import NO_CODE, AuditedCode
from dpaudit.results import (
    TRAINING,
    Audit,
    Evidence,
    Finding,
    OutputHistogram,
    Provenance,
    TrainingEvidence,
    goal_of,
    software_in_use,
    training_verdict,
)
from dpaudit.training.hands import Trace

_BINS = 40  # of the histogram of scores
_TAIL = 0.005  # of the scores, in either outermost bin
_MAX_THRESHOLDS = 200  # at which errors are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One run: a score for each canary, and whether it was in."""

    scores: Floats
    bits: Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What was audited, in words, and how."""

    name: str
    claim: Claim
    alpha: float
    what: str
    neighbours: str
    seed: int
    target: str | None = None
    code: AuditedCode = NO_CODE


def concluded(
    audited: Audited,
    runs: Sequence[Seen],
    findings: Sequence[Finding],
    *,
    trace: Trace | None = None,
    detectable: float | None = None,
    seconds: float = 0.0,
    warnings: Sequence[str] = (),
) -> Audit:
    """The audit of a training; the first finding decides, and `trace` is its wealth if it bets."""
    deciding = findings[0]
    scores = np.concatenate([run.scores.ravel() for run in runs])
    bits = np.concatenate([run.bits.ravel() for run in runs])
    evidence = _evidence(deciding, trace, len(scores), audited.alpha)
    seen = TrainingEvidence(
        what=audited.what,
        canaries=len(scores) // len(runs),
        included=tuple(int(np.count_nonzero(run.bits)) for run in runs),
        findings=tuple(findings),
        separations=tuple(separation(run.scores.ravel(), run.bits.ravel()) for run in runs),
        detectable=detectable,
        errors=errors_of(scores, bits),
    )
    return Audit(
        mechanism=audited.name,
        claim=audited.claim,
        verdict=training_verdict(evidence, audited.alpha),
        lower_bound=deciding.lower_bound,
        counterexample=None,
        tester=TRAINING,
        evidence=evidence,
        samples=len(scores),
        seconds=seconds,
        alpha=audited.alpha,
        rng_seed=audited.seed,
        pairs_tried=1,
        neighbours=audited.neighbours,
        strongest=None,
        detectable=None,
        forecast=None,
        history=(),
        warnings=tuple(warnings),
        interrupted=False,
        version=__version__,
        outputs=histogram_of(scores, bits),
        target=audited.target,
        software=software_in_use(),
        training=seen,
        provenance=Provenance.now(audited.code, seconds=seconds),
    )


def _evidence(deciding: Finding, trace: Trace | None, draws: int, alpha: float) -> Evidence:
    """What the deciding test found as evidence of an audit.

    A test that gives a p-value has no trace: it is as if all of its evidence came at the end. The
    peak says what the test says, also where rounding would have it otherwise.
    """
    points = ((draws, deciding.log_evidence),) if trace is None else trace.points
    goal, peak = goal_of(alpha), deciding.log_evidence
    peak = max(peak, goal) if deciding.refuted else min(peak, math.nextafter(goal, 0.0))
    last = points[-1][1] if points else 0.0
    return Evidence(trace=points, log_wealth=last, peak=max(peak, 0.0))


def separation(scores: Floats, bits: Labels) -> float:
    """The difference of the mean scores, in or out, in standard deviations of one side.

    >>> bits = np.arange(1000) % 2 == 0
    >>> scores = np.random.default_rng(0).normal(size=1000) + 2.0 * bits
    >>> round(separation(scores, bits), 1)
    2.0
    """
    known = np.isfinite(scores)
    inside, outside = scores[known & bits], scores[known & ~bits]
    if min(len(inside), len(outside)) < 2:
        return 0.0
    spread = math.sqrt(0.5 * (float(inside.var(ddof=1)) + float(outside.var(ddof=1))))
    return float(inside.mean() - outside.mean()) / spread if spread > 0.0 else 0.0


def errors_of(scores: Floats, bits: Labels) -> tuple[tuple[float, float], ...]:
    """False positive and false negative rates of all thresholds, thinned to some hundred.

    >>> errors_of(np.array([1.0, 2.0, 3.0]), np.array([False, True, True]))
    ((0.0, 1.0), (0.0, 0.5), (0.0, 0.0), (1.0, 0.0))
    """
    if bits.all() or not bits.any():
        return ()
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], bits[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    found = np.cumsum(hits)[ends]
    false_positive = np.append(0.0, (ends + 1 - found) / np.count_nonzero(~bits))
    false_negative = np.append(1.0, 1.0 - found / np.count_nonzero(bits))
    step = -(-len(false_positive) // _MAX_THRESHOLDS)
    some = np.append(np.arange(0, len(false_positive) - 1, step), len(false_positive) - 1)
    points = zip(false_positive[some].tolist(), false_negative[some].tolist(), strict=True)
    return tuple(points)


def histogram_of(scores: Floats, bits: Labels) -> tuple[OutputHistogram, ...]:
    """The scores of canaries that were in (`data`) and out (`neighbour`)."""
    known = np.isfinite(scores)
    if not known.any():
        return ()
    low, high = np.quantile(scores[known], [_TAIL, 1.0 - _TAIL])
    if not low < high:
        low, high = low - 0.5, high + 0.5
    inner = np.linspace(low, high, _BINS - 1)
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    inside, outside = (np.histogram(scores[known & side], edges)[0] for side in (bits, ~bits))
    nothing = (0,) * _BINS
    return (
        OutputHistogram(
            place="score",
            edges=tuple(edges.tolist()),
            values=(),
            data=tuple(inside.tolist()),
            neighbour=tuple(outside.tolist()),
            data_hits=nothing,
            neighbour_hits=nothing,
        ),
    )
