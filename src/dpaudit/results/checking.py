"""A saved audit is checked against itself: numbers that follow from others are derived again.

Bounds follow from counts, what an event shows from its bounds, the verdict from the wealth, alpha
and the draws. A file in which they differ was not written by an audit, or was changed since.

In files of older schemas bounds may be more cautious than their counts (draws that were not made
counted against the event), and the peak was that of the claim alone. What is read from them is
brought up to today's rules.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from dpaudit.betting import CLAIM_SHARE, book_for
from dpaudit.bounds import epsilon_from_event
from dpaudit.claims import Profile, Scalable, point_of
from dpaudit.events import could_read
from dpaudit.results.provenance import Provenance
from dpaudit.results.values import (
    LEANING,
    REPLAY,
    TRAINING,
    Audit,
    Counterexample,
    Evidence,
    OutputHistogram,
    PairRecord,
    Tally,
    Verdict,
)
from dpaudit.results.verdicts import (
    bound_of_event,
    can_refute,
    forecast_of,
    goal_of,
    training_verdict,
    verdict_of,
    wrong_suspicion,
)

BETS = "BettingTester"
_ROUNDING = 1e-9  # of sums of logarithms
_BOUND_ROUNDING = 1e-6  # of exact bounds, which differ between versions of scipy
_CLOCK_ROUNDING = 0.0021  # seconds: both times are written in thousandths
_CLOCKS_APART = 86_400.0  # seconds that the clocks of two machines may differ by
_MAX_WHOLE_TRACE = 500  # points: a longer trace may have been thinned
_OF_CLAIM = math.log(1.0 / CLAIM_SHARE)  # how far a level's wealth can lie below the claim's


def contradictions(audit: Audit, *, older: bool) -> Iterator[tuple[str, str]]:
    """What does not follow from the rest: the part of the audit, and what is wrong with it.

    `older` says that it was saved before schema 5, by other rules.
    """
    for part, problems in (
        ("numbers", _plain_numbers(audit)),
        ("evidence", _trace(audit)),
        ("evidence", _of_records(audit)),
        ("verdict", _verdict(audit, older=older)),
        ("counterexample", _counterexamples(audit, older=older)),
        ("counterexample", _events(audit)),
        ("bounds", _lower_bound(audit, older=older)),
        ("forecast", _forecast(audit, older=older)),
        ("training", _training(audit)),
        ("outputs", itertools.chain.from_iterable(map(_histogram, audit.outputs))),
        ("dates", dates_that_differ(audit.provenance, audit.seconds)),
    ):
        for problem in problems:
            yield part, problem


def wrong_delta(audit: Audit, saved: float | None) -> Iterator[str]:
    """A saved lower bound on delta must follow from the audit."""
    derived = audit.delta_lower
    if (saved is None) != (derived is None) or not _equal(saved or 0.0, derived or 0.0):
        yield f"delta is at least {derived!r}, and not {saved!r}"


def dates_that_differ(made: Provenance | None, seconds: float) -> Iterator[str]:
    """The end of an audit is as long after its start as it took, and not in the future."""
    if made is None:
        return
    try:
        took = (made.end - made.start).total_seconds()
    except (ValueError, OverflowError):
        yield f"it started at {made.started!r} and ended at {made.ended!r}, which are no times"
        return
    if not abs(took - seconds) <= _CLOCK_ROUNDING:
        yield f"from {made.started} to {made.ended} it is {took:g} seconds, and not {seconds!r}"
    if (made.end - datetime.now(UTC)).total_seconds() > _CLOCKS_APART:
        yield f"it ended at {made.ended}, in the future"


def _counterexamples(audit: Audit, *, older: bool) -> Iterator[str]:
    for name, found in (("counterexample", audit.counterexample), ("simplest", audit.simplest)):
        if found is not None:
            yield from _counterexample(name, found, audit, older=older)


def _of_records(audit: Audit) -> Iterator[str]:
    for name, record in _records(audit):
        yield from _record(name, record, audit.samples)


def _records(audit: Audit) -> Iterator[tuple[str, PairRecord]]:
    for place, record in enumerate(audit.history):
        yield f"history[{place}]", record
    if audit.strongest is not None:
        yield "strongest", audit.strongest


# --- numbers by themselves ------------------------------------------------------------------------


def _plain_numbers(audit: Audit) -> Iterator[str]:
    if not 0.0 < audit.alpha < 1.0:
        yield f"alpha must be in (0, 1), got {audit.alpha!r}"
    if not 0.0 <= audit.seconds < math.inf:
        yield f"seconds must be finite and at least 0, got {audit.seconds!r}"
    if audit.samples < 0:
        yield f"samples must be at least 0, got {audit.samples}"
    if audit.pairs_tried < len(audit.history):
        yield f"{audit.pairs_tried} pairs were tried, and {len(audit.history)} are listed"
    drawn = sum(record.samples for record in audit.history)
    if drawn > audit.samples:
        yield f"{drawn} draws of pairs are more than the {audit.samples} of the audit"


def _record(name: str, record: PairRecord, samples: int) -> Iterator[str]:
    if not 0 <= record.samples <= samples:
        yield f"{name} has {record.samples} draws of {samples}"
    expected = record.log_wealth / max(record.samples, 1)
    if not _equal(record.growth, expected):
        yield f"the growth of {name} is {record.growth!r}, and not {expected!r}"


def _trace(audit: Audit) -> Iterator[str]:
    evidence, trace = audit.evidence, audit.evidence.trace
    draws = [0, *(at for at, _ in trace), audit.samples]
    if any(before > after for before, after in itertools.pairwise(draws)):
        yield "the draws of the trace do not rise to those of the audit"
    last = trace[-1][1] if trace else 0.0
    if not audit.interrupted and not _equal(evidence.log_wealth, last):
        yield f"the log-wealth is {evidence.log_wealth!r}, and {last!r} at the end of the trace"
    allowed = _ROUNDING + (0.0 if audit.tester == REPLAY else _OF_CLAIM)
    for wealth in (0.0, evidence.log_wealth, *(wealth for _, wealth in trace)):
        if math.isnan(wealth) or not evidence.peak >= wealth - allowed:
            yield f"the peak is {evidence.peak!r}, below a log-wealth of {wealth!r}"
    if not audit.interrupted and len(trace) < _MAX_WHOLE_TRACE:
        most = max((0.0, goal_of(audit.alpha) + _OF_CLAIM, *(wealth for _, wealth in trace)))
        if evidence.peak > most + _ROUNDING:
            yield f"the peak is {evidence.peak!r}, and no log-wealth was above {most!r}"


# --- the verdict ----------------------------------------------------------------------------------


def _verdict(audit: Audit, *, older: bool) -> Iterator[str]:
    goal, peak, wealth = goal_of(audit.alpha), audit.evidence.peak, audit.evidence.log_wealth
    said = f"the verdict is {audit.verdict.value!r}"
    if audit.suspected or not can_refute(audit):
        yield from wrong_suspicion(audit)
        return
    if audit.refuted:
        if peak < goal - _ROUNDING:
            yield f"{said}, with a peak of {peak!r} where {goal!r} refutes"
        return
    if peak >= goal + _ROUNDING + (_OF_CLAIM if older else 0.0):
        yield f"{said}, with a peak of {peak!r} where {goal!r} refutes"
    if abs(wealth - LEANING) <= _ROUNDING:
        return  # it leans or not, as rounding has it
    if older:
        leaning = Verdict.UNDECIDED if audit.evidence.is_leaning else Verdict.NOT_REFUTED
        if audit.verdict is not leaning:
            yield f"{said}, with a log-wealth of {wealth!r}"
        return
    quiet = replace(audit.evidence, peak=min(peak, math.nextafter(goal, 0.0)))
    derived = _derived_verdict(audit, quiet)
    if audit.verdict is not derived:
        yield f"{said}, and its evidence says {derived.value!r}"


def _derived_verdict(audit: Audit, evidence: Evidence) -> Verdict:
    if audit.training is not None:
        return training_verdict(evidence, audit.alpha)
    return verdict_of(audit.claim, audit.alpha, evidence, (*audit.history, audit.strongest))


def _training(audit: Audit) -> Iterator[str]:
    """The finding that decides must be that of the audit, and canaries must add up."""
    seen = audit.training
    if (seen is not None) != (audit.tester == TRAINING):
        yield f"the tester is {audit.tester!r}, and canaries were{'' if seen else ' not'} seen"
    if seen is None:
        return
    if not seen.findings or not seen.included:
        yield "a training was audited without a finding, or without a run"
        return
    if any(not 0 <= included <= seen.canaries for included in seen.included):
        yield f"{max(seen.included)} canaries of {seen.canaries} were in"
    if audit.samples != seen.runs * seen.canaries:
        yield f"{seen.runs} runs of {seen.canaries} canaries are not {audit.samples} draws"
    deciding = seen.deciding
    if deciding.refuted != audit.refuted:
        yield f"the verdict is {audit.verdict.value!r}, and {deciding.test} says otherwise"
    if (deciding.lower_bound is None) != (audit.lower_bound is None) or not _equal(
        deciding.lower_bound or 0.0, audit.lower_bound or 0.0
    ):
        yield f"the bound is {audit.lower_bound!r}, and that of {deciding.test} another"
    if not all(0 <= finding.right <= finding.guesses for finding in seen.findings):
        yield "a test has more right guesses than guesses"
    if any(not 0.0 <= rate <= 1.0 for point in seen.errors for rate in point):
        yield "a rate of errors is not between 0 and 1"


def _forecast(audit: Audit, *, older: bool) -> Iterator[str]:
    """What would have been detected, and what would decide it."""
    claim, detectable, forecast = audit.claim, audit.detectable, audit.forecast
    if detectable is not None:
        _, delta = point_of(claim) or (0.0, 0.0)
        if not isinstance(claim, Scalable) or audit.refuted or (delta > 0.0 and not older):
            yield f"nothing is detectable, and {detectable!r} is given"
        elif not claim.strength <= detectable < math.inf:
            yield f"the claim is {claim}, and {detectable!r} would have been refuted"
    if forecast is not None and (audit.verdict is not Verdict.UNDECIDED or forecast < 1):
        yield f"{forecast} more draws are forecast, and the verdict is {audit.verdict.value!r}"
    if not older:
        expected = forecast_of(audit)
        if (forecast is None) != (expected is None) or not _equal(forecast or 0, expected or 0):
            yield f"{forecast} more draws are forecast, and not {expected}"


def brought_up(audit: Audit) -> Audit:
    """An audit of an older schema, by the rules of this one.

    A verdict that rests on no evidence becomes undecided; nothing is detectable under a delta; and
    the peak of an audit that refuted nothing stays below what refutes.
    """
    if audit.refuted:
        return audit
    below = math.nextafter(goal_of(audit.alpha), 0.0)
    evidence = replace(audit.evidence, peak=min(audit.evidence.peak, below))
    records = (*audit.history, audit.strongest)
    claim = audit.claim
    _, delta = point_of(claim) or (0.0, 0.0)
    found = replace(
        audit,
        evidence=evidence,
        verdict=verdict_of(claim, audit.alpha, evidence, records),
        detectable=None if delta > 0.0 else audit.detectable,
    )
    return replace(found, forecast=forecast_of(found))


# --- counterexamples ------------------------------------------------------------------------------


def _events(audit: Audit) -> Iterator[str]:
    """Which counterexamples may be there, and what they break."""
    found, plain = audit.counterexample, audit.simplest
    if not audit.refuted and (found is not None or plain is not None):
        yield f"the verdict is {audit.verdict.value!r}, and there is a counterexample"
    if plain is not None and found is None:
        yield "there is a simplest counterexample without another"
    replayed = audit.refuted and audit.tester == REPLAY
    if replayed and found is None:
        yield "a replay refuted the claim without a counterexample"
    must_break = [plain, found if replayed else None]
    if not isinstance(audit.claim, Profile):  # which is saved as chords that allow a little more
        for one in must_break:
            if one is not None and not one.breaks(audit.claim):
                yield f"the event {one.event!r} is said to break the claim, and does not"
    counted = [tally.draws for one in (found, plain) if one for tally in (one.data, one.neighbour)]
    if sum(counted) > audit.samples:
        yield f"events were counted on {sum(counted)} draws of the {audit.samples} of the audit"


def _counterexample(
    name: str, found: Counterexample, audit: Audit, *, older: bool
) -> Iterator[str]:
    if not 0.0 < found.alpha <= audit.alpha * (1.0 + _ROUNDING):
        yield f"the alpha of {name} is {found.alpha!r}, and that of the audit {audit.alpha!r}"
        return
    if not 0.0 <= found.delta <= 1.0:
        yield f"the delta of {name} must be in [0, 1], got {found.delta!r}"
        return
    if isinstance(audit.rng_seed, int) and found.seed[:1] not in ((), (audit.rng_seed,)):
        yield f"the seed of {name} is {found.seed!r}, and that of the audit {audit.rng_seed!r}"
    point = point_of(audit.claim)
    if point is not None and found.delta != point[1]:
        yield f"the delta of {name} is {found.delta!r}, and the claim is {audit.claim}"
    for side, tally in (("data", found.data), ("neighbour", found.neighbour)):
        wrong = list(_tally(f"{name}.{side}", tally, found.alpha, older=older))
        yield from wrong
        if wrong:
            return
    shown = epsilon_from_event(found.likely.lower, found.unlikely.upper, found.delta)
    if not _equal(found.epsilon_lower, shown):
        yield f"{name} shows an epsilon of {shown!r}, and not {found.epsilon_lower!r}"
    if found.rule is not None and not could_read(found.rule, found.event):
        yield f"the event of {name} is {found.event!r}, which is not what its rule says"
    for histogram in found.outputs:
        yield from _histogram(histogram)
        for tally, counts, hits in (
            (found.data, histogram.data, histogram.data_hits),
            (found.neighbour, histogram.neighbour, histogram.neighbour_hits),
        ):
            if (sum(counts), sum(hits)) != (tally.draws, tally.hits):
                yield f"the outputs of {name} at {histogram.place} are not those that were counted"


def _tally(name: str, tally: Tally, alpha: float, *, older: bool) -> Iterator[str]:
    if not 0 <= tally.hits <= tally.draws or tally.draws < 1:
        yield f"{name} has {tally.hits} hits of {tally.draws} draws"
        return
    derived = Tally.of(tally.hits, tally.draws, alpha=alpha, anytime=tally.anytime)
    said = f"{tally.hits} hits of {tally.draws} draws give"
    if not (_near(tally.lower, derived.lower) or (older and 0.0 <= tally.lower < derived.lower)):
        yield f"{said} at least {derived.lower!r}, and {name} says {tally.lower!r}"
    if not (_near(tally.upper, derived.upper) or (older and derived.upper < tally.upper <= 1.0)):
        yield f"{said} at most {derived.upper!r}, and {name} says {tally.upper!r}"


def _histogram(histogram: OutputHistogram) -> Iterator[str]:
    where = f"the outputs at {histogram.place!r}"
    if any(not left < right for left, right in itertools.pairwise(histogram.edges)):
        yield f"the edges of {where} do not rise"
    if len(histogram.edges) == 1 or any(map(math.isinf, histogram.edges[1:-1])):
        yield f"the edges of {where} make no bins"
    bars = histogram.bins + len(histogram.values)
    for counts, hits in (
        (histogram.data, histogram.data_hits),
        (histogram.neighbour, histogram.neighbour_hits),
    ):
        if not len(counts) == len(hits) == bars:
            yield f"{where} have {bars} bars, and {len(counts)} counts"
        elif any(not 0 <= hit <= count for count, hit in zip(counts, hits, strict=True)):
            yield f"{where} have more hits than outputs"


# --- the certified bound --------------------------------------------------------------------------


def _lower_bound(audit: Audit, *, older: bool) -> Iterator[str]:
    claim, bound = audit.claim, audit.lower_bound
    if not isinstance(claim, Scalable):
        if bound is not None:
            yield f"the bound is {bound!r}, and the claim has no parameter to bound"
        return
    if bound is None or not 0.0 <= bound < math.inf:
        yield f"the bound must be finite and at least 0, got {bound!r}"
        return
    if audit.tester == BETS and older:  # its ladder had other levels
        possible = bound >= claim.strength if audit.refuted else bound <= claim.strength
    elif audit.tester == BETS:
        possible = any(_equal(bound, each) for each in _levels(audit, claim))
    elif audit.tester == REPLAY:
        found = audit.counterexample
        shown = [] if found is None else [bound_of_event(claim, found)]
        if found is None or point_of(claim) is None:  # earlier replays bounded no mu or rho
            shown.append(0.0)
        possible = any(_equal(bound, each) for each in shown)
    else:  # a batch tester has bounds of its own, if it proves anything
        possible = bound == 0.0 or can_refute(audit)
    if not possible:
        yield f"the bound is {bound!r}, which neither its bets nor its event can show"


def _levels(audit: Audit, claim: Scalable) -> list[float]:
    """The bounds that the bets against a claim can reach with the verdict there is."""
    with np.errstate(all="ignore"):
        book = book_for(claim)
    if not audit.refuted:
        return [0.0, *book.levels[: book.place].tolist()]
    levels: list[float] = book.levels[book.place :].tolist()
    return [*levels, bound_of_event(claim, audit.counterexample)]


def _equal(saved: float, derived: float) -> bool:
    return math.isclose(saved, derived, rel_tol=_BOUND_ROUNDING, abs_tol=_ROUNDING)


def _near(saved: float, derived: float) -> bool:
    return math.isclose(saved, derived, rel_tol=_BOUND_ROUNDING)
