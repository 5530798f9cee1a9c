"""From a refutation to an event in words, certified on fresh draws.

The event is chosen on outputs seen before; its probabilities are bounded on outputs that had no say
in the choice. The bounds hold together with probability `1 - alpha`: exact binomial bounds (Clopper
and Pearson 1934) where the number of draws was fixed beforehand, bounds that hold at every number
of draws at once (Robbins 1970) where the clock may end them (docs/mathematics.md, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpaudit.arrays import Floats, Labels
from dpaudit.auditing.budget import (
    CHOOSING_SECONDS,
    FITTING_SECONDS,
    MAX_CERTIFYING_DRAWS,
)
from dpaudit.auditing.certifying_draws import (
    CHOOSING_SHARE,
    CertifyingLimit,
    FreshDraws,
    draws_for_promise,
)
from dpaudit.auditing.output_histogram import HistogramCounter
from dpaudit.auditing.rounds import MAX_CALL, CountedCalls, Fresh, count_calls
from dpaudit.auditing.run import Run, Stream
from dpaudit.auditing.scheduler import Candidate
from dpaudit.bounds import epsilon_from_event, make_ready
from dpaudit.claims import Claim, point_of
from dpaudit.events import Event, rule_of, strongest_event
from dpaudit.guessing import LabelledRows, Past
from dpaudit.mechanism import SIDE_NAMES, Calls, PendingBatch, Watch, asked_ahead
from dpaudit.neighbours import Pair
from dpaudit.outputs import Encoder, Outputs, Table, stack
from dpaudit.results import Counterexample
from dpaudit.testers import levels_of

EventChoice = Callable[..., tuple[Event, bool]]  # as `strongest_event`

_DRAWING_SHARE = 0.9  # of the time left, when the number of draws is estimated
_DRAWS_WORTH_SHARING = 1_000  # if fewer fit into the time, all of them certify


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenOutputs:
    """The outputs of a pair on which an event is chosen.

    `log_odds` guesses the log-odds of `data` for each row of the sample, or of a part of it. It is
    called only where the claim is a whole profile.
    """

    pair: Pair
    encoder: Encoder
    sample: LabelledRows
    log_odds: Callable[[LabelledRows], Floats]
    watch: Watch | None = None  # of the calls so far
    number: int = 0  # of the pair, by which the watch knows it


def seen_outputs(
    pair: Pair,
    outputs: tuple[Outputs, Outputs],
    rng: np.random.Generator,
    *,
    encoder: Encoder,
    watch: Watch | None = None,
    number: int = 0,
) -> SeenOutputs:
    """Outputs of both sides, shuffled, to choose an event on."""
    past = Past()
    data, neighbour = (encoder.encode(side) for side in outputs)
    order = rng.permutation(len(data) + len(neighbour))  # a sample may keep the latest rows only
    both = stack([encoder.widen(data), neighbour])
    past.add(both.take(order), order < len(data))

    def log_odds(part: LabelledRows) -> Floats:
        from dpaudit.guessing import Ensemble

        more = math.log(len(data) / len(neighbour))  # the numbers drawn per side are no evidence
        guessers = Ensemble(both.columns)
        return np.asarray(guessers.average(guessers.fit(part)) - more)

    return SeenOutputs(
        pair=pair, encoder=encoder, sample=past.seen, log_odds=log_odds, watch=watch, number=number
    )


def seen_of(run: Run, candidate: Candidate) -> SeenOutputs:
    """The outputs that a pair was bet on with."""
    return SeenOutputs(
        pair=candidate.pair,
        encoder=run.encoder,
        sample=candidate.bettor.sample,
        log_odds=candidate.bettor.log_odds_of,
        watch=run.watch,
        number=candidate.number,
    )


def certify(
    seen: SeenOutputs, claim: Claim, fresh: Fresh, *, draws: int, alpha: float
) -> Counterexample | None:
    """Put the strongest event into words and certify it; None if a side has no fresh outputs.

    `fresh` gives outputs of both sides, about `draws` of each; their number was fixed beforehand.
    """
    level = _level(claim, seen, seen.sample)
    chosen = _choose(seen, draws, alpha, strongest_event, level)
    return _counted(seen, chosen, fresh, alpha=alpha, seed=(), anytime=False)


def certify_on_draws(
    run: Run,
    seen: SeenOutputs,
    *,
    draws: FreshDraws,
    stream: Stream = Stream.CERTIFY,
    choose: EventChoice = strongest_event,
) -> Counterexample | None:
    """Certify on as many fresh draws as the event's promise asks for; None if none are allowed.

    If the time is limited, the event is chosen on as many outputs as the time allows, and certified
    on as many draws as come in time, whatever they show.
    """
    budget = run.budget
    in_time = budget.affordable(by=budget.until(_DRAWING_SHARE, by=draws.by)) // 2
    planned = min(draws.most, MAX_CERTIFYING_DRAWS // 2, in_time)
    if planned < 1:
        return None
    seen = replace(
        seen,
        sample=seen.sample.thinned(budget.steps(CHOOSING_SECONDS)),
        watch=seen.watch or Watch(run.mechanism.name, seen.encoder),
    )
    level = _level(run.claim, seen, seen.sample.thinned(budget.steps(FITTING_SECONDS)))
    chosen = _choose(seen, planned, run.alpha, choose, level)
    budget.forget_work()
    limited = budget.seconds is not None
    most = min(_planned(seen, chosen, draws, run.alpha, anytime=limited), budget.left // 2)
    fresh = run.rounds(seen.pair, most, stream, by=draws.by)
    return _counted(seen, chosen, fresh, alpha=run.alpha, seed=fresh.seed, anytime=limited)


def certify_candidate(run: Run, candidate: Candidate) -> Counterexample | None:
    """Certify what the bets on a pair have found, with what is left of the budget."""
    make_ready()
    limit = CertifyingLimit.of(run.budget, run.certify, seen=candidate.bettor.draws)
    if run.budget.seconds is not None and run.budget.affordable() < _DRAWS_WORTH_SHARING:
        limit = replace(limit, choosing=0)  # the event is chosen on the outputs that were bet on
    _learn_more(run, candidate, limit)
    return certify_on_draws(run, seen_of(run, candidate), draws=limit.fresh(limit.choosing))


def _learn_more(run: Run, candidate: Candidate, limit: CertifyingLimit) -> None:
    """Draw more outputs of the pair to choose the event on; they are not bet on."""
    most, number = max(min(MAX_CALL, -(-limit.choosing // 2)), 1), candidate.number
    by = run.budget.until(CHOOSING_SHARE, by=limit.by)

    def asked() -> Iterator[PendingBatch]:
        made = 0
        while size := run.budget.timely(min(most, limit.choosing - made), key=number, by=by):
            yield run.ask_labelled(candidate.pair, size, run.seed(Stream.CHOOSE, made))
            made += size

    limited = run.budget.seconds is not None  # then each call is sized by those before
    for one in asked() if limited else asked_ahead(asked(), run.caller):
        (batch,) = run.receive(number, one)
        candidate.bettor.learn(run.read(number, batch), batch.labels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Chosen:
    """An event, the side on which it is likelier, and the epsilon and delta that it is to break."""

    event: Event
    from_data: bool
    level: tuple[float, float]


def _choose(
    seen: SeenOutputs, draws: int, alpha: float, choose: EventChoice, level: tuple[float, float]
) -> _Chosen:
    sample, (epsilon, delta) = seen.sample, level
    event, from_data = choose(
        sample.table,
        sample.ones,
        sample.zeros,
        epsilon=epsilon,
        delta=delta,
        draws=draws,
        alpha=alpha,
        first=seen.encoder.first,
        last=seen.encoder.last,
    )
    return _Chosen(event=event, from_data=from_data, level=level)


def _planned(
    seen: SeenOutputs, chosen: _Chosen, draws: FreshDraws, alpha: float, *, anytime: bool
) -> int:
    """How many fresh draws of a side the event asks for, by its hits on what was seen."""
    sample = seen.sample
    holds = chosen.event.holds(sample.table)
    sides = [(float(side[holds].sum()), float(side.sum())) for side in (sample.ones, sample.zeros)]
    likely, unlikely = sides if chosen.from_data else sides[::-1]
    return draws_for_promise(
        likely, unlikely, draws, level=chosen.level, alpha=alpha, anytime=anytime
    )


def _counted(
    seen: SeenOutputs,
    chosen: _Chosen,
    fresh: Fresh,
    *,
    alpha: float,
    seed: tuple[int, ...],
    anytime: bool,
) -> Counterexample | None:
    """Count the event on fresh outputs; `anytime` if their number was not fixed beforehand."""
    event, (_, delta) = chosen.event, chosen.level
    histogram = HistogramCounter(seen.encoder, seen.sample, event)
    counted = count_calls(partial(_holds, seen, event, histogram), fresh)
    if seen.watch is not None:
        _look_for_clusters(seen, seen.watch, event, counted)
    tallies = counted.tallies(alpha=alpha, anytime=anytime)
    if tallies is None:
        return None
    data, neighbour = tallies
    likely, unlikely = tallies if chosen.from_data else tallies[::-1]
    return Counterexample(
        pair=seen.pair,
        event=event.words(seen.encoder),
        likelier="data" if chosen.from_data else "neighbour",
        data=data,
        neighbour=neighbour,
        delta=delta,
        epsilon_lower=epsilon_from_event(likely.lower, unlikely.upper, delta),
        alpha=alpha,
        seed=seed,
        rule=rule_of(event, seen.encoder),
        outputs=histogram.histograms(),
    )


def _holds(
    seen: SeenOutputs, event: Event, histogram: HistogramCounter, side: int, outputs: Outputs
) -> Labels:
    """Which outputs of a call are in the event; they are watched and counted for the figure."""
    table = seen.encoder.encode(outputs)
    hits = event.holds(table)
    histogram.see(side, table, hits)
    if seen.watch is not None:
        seen.watch.see_call(("fresh", seen.number, side), outputs)
    return hits


def _look_for_clusters(
    seen: SeenOutputs, watch: Watch, event: Event, counted: CountedCalls
) -> None:
    """Raise `DependentDraws` if the event comes in clusters, call by call."""

    def holds(table: Table) -> Labels:
        return event.holds(seen.encoder.widen(table))

    words = event.words(seen.encoder)
    watch.refuse_frozen()
    watch.independence.count(words, *counted.calls)
    sides: dict[Hashable, Calls] = {
        (seen.number, side): calls for side, calls in zip(SIDE_NAMES, counted.calls, strict=True)
    }
    watch.independence.count_with_earlier(words, holds, sides)


def _level(claim: Claim, seen: SeenOutputs, sample: LabelledRows) -> tuple[float, float]:
    """The `(epsilon, delta)` of the claim that the event is to break.

    For a profile it is the tangent that the guesses break most, by their estimate of
    `H_eps - delta` on a sample; no fresh output has a say in it.
    """
    if point := point_of(claim):
        return point
    from_data, from_neighbour = sample.ones.sum(), sample.zeros.sum()
    log_odds = seen.log_odds(sample)

    def excess(level: tuple[float, float]) -> float:
        epsilon, delta = level
        event = log_odds > epsilon
        share = sample.ones[event].sum() / max(from_data, 1.0)
        other = sample.zeros[event].sum() / max(from_neighbour, 1.0)
        return float((share - math.exp(epsilon) * other) - delta)

    return max(levels_of(claim), key=excess)
