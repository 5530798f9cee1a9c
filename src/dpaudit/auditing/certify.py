"""From a refutation to an event in words, certified on fresh samples.

The event is chosen on outputs seen before; its probabilities are bounded on outputs that had no say
in the choice. The bounds hold together with probability `1 - alpha`: exact binomial bounds (Clopper
and Pearson 1934) where the number of draws was fixed beforehand, bounds that hold at every number
of draws at once (Robbins 1970) where the clock may end them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.auditing.betting_loop import Campaign
from dpaudit.auditing.budget import CHOOSING_SECONDS, FITTING_SECONDS, Budget
from dpaudit.auditing.output_histogram import HistogramCounter
from dpaudit.auditing.rounds import MAX_CALL, CountedCalls, Fresh, Rounds, count_calls
from dpaudit.auditing.scheduler import Contender
from dpaudit.bounds import epsilon_from_event, make_ready
from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.events import Event, rule_of, strongest_event
from dpaudit.guessing import Sample
from dpaudit.mechanism import SIDE_NAMES, Calls, Mechanism, Watch
from dpaudit.neighbours import Pair
from dpaudit.outputs import Encoder, Outputs, Table, stack
from dpaudit.results import Counterexample
from dpaudit.testers import levels_of

EventChoice = Callable[..., tuple[Event, bool]]  # as `strongest_event`

MOST = 80_000  # draws, both sides together
FOR_CHOOSING = 0.4  # of them, to choose the event by: a refutation can come too early to tell
_TIME_FOR_DRAWS = 0.9  # of what is left of it, to guess how many draws will come
_FEW = 1_000  # draws that fit into the time: too few to spend some on choosing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Suspect:
    """A pair on which a claim was refuted, and the outputs to choose an event by.

    `log_odds` gives a guess at the log-odds of `data` for each row of a sample, the suspect's own
    or a part of it; it is asked for only where the claim is a whole profile.
    """

    pair: Pair
    claim: Claim
    encoder: Encoder
    sample: Sample
    log_odds: Callable[[Sample], Floats]
    watch: Watch | None = None  # of the calls so far
    number: int = 0  # of the pair, by which the watch knows it


def suspect(
    pair: Pair,
    claim: Claim,
    seen: tuple[Outputs, Outputs],
    rng: np.random.Generator,
    *,
    encoder: Encoder,
    watch: Watch | None = None,
    number: int = 0,
) -> Suspect:
    """The suspect of the outputs seen from either side."""
    sample = Sample()
    data, neighbour = (encoder.encode(side) for side in seen)
    order = rng.permutation(len(data) + len(neighbour))  # a sample may keep the latest rows only
    both = stack([encoder.widen(data), neighbour])
    sample.add(both.take(order), order < len(data))

    def log_odds(part: Sample) -> Floats:
        from dpaudit.guessing import Ensemble

        more = math.log(len(data) / len(neighbour))  # outputs of one side say nothing by their sum
        return np.asarray(Ensemble(both.columns).fit(part) - more)

    return Suspect(
        pair=pair,
        claim=claim,
        encoder=encoder,
        sample=sample,
        log_odds=log_odds,
        watch=watch,
        number=number,
    )


def certify(
    found: Suspect,
    fresh: Fresh,
    *,
    draws: int,
    alpha: float,
    seed: tuple[int, ...],
) -> Counterexample | None:
    """Put the strongest event into words and certify it; None if a side has no fresh outputs.

    `fresh` gives outputs of either side, about `draws` of each and a number that was fixed
    beforehand; `seed` draws them again.
    """
    chosen = _choose(found, draws, alpha, strongest_event, _level(found, found.sample))
    return _counted(found, chosen, fresh, alpha=alpha, seed=seed, anytime=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Chosen:
    """An event, the side on which it is likelier, and the delta at which it is to be certified."""

    event: Event
    from_data: bool
    delta: float


def _choose(
    found: Suspect, draws: int, alpha: float, choose: EventChoice, level: tuple[float, float]
) -> _Chosen:
    sample, (epsilon, delta) = found.sample, level
    event, from_data = choose(
        sample.rows,
        sample.ones,
        sample.zeros,
        epsilon=epsilon,
        delta=delta,
        draws=draws,
        alpha=alpha,
        first=found.encoder.first,
        last=found.encoder.last,
    )
    return _Chosen(event=event, from_data=from_data, delta=delta)


def _counted(
    found: Suspect,
    chosen: _Chosen,
    fresh: Fresh,
    *,
    alpha: float,
    seed: tuple[int, ...],
    anytime: bool,
) -> Counterexample | None:
    """Count the event on fresh outputs; `anytime` if their number was not fixed beforehand."""
    event, delta = chosen.event, chosen.delta
    sketcher = HistogramCounter(found.encoder, found.sample, event)
    counted = count_calls(partial(_holds, found, event, sketcher), fresh)
    if found.watch is not None:
        _look_for_clusters(found, found.watch, event, counted)
    tallies = counted.tallies(alpha=alpha, anytime=anytime)
    if tallies is None:
        return None
    data, neighbour = tallies
    likely, unlikely = tallies if chosen.from_data else tallies[::-1]
    return Counterexample(
        pair=found.pair,
        event=event.words(found.encoder),
        likelier="data" if chosen.from_data else "neighbour",
        data=data,
        neighbour=neighbour,
        delta=delta,
        epsilon_lower=epsilon_from_event(likely.lower, unlikely.upper, delta),
        alpha=alpha,
        seed=seed,
        rule=rule_of(event, found.encoder),
        outputs=sketcher.outlines(),
    )


def _holds(
    found: Suspect, event: Event, sketcher: HistogramCounter, side: int, outputs: Outputs
) -> npt.NDArray[np.bool_]:
    """Which outputs of a call are in the event; they are watched, and counted for the sketch."""
    table = found.encoder.encode(outputs)
    hits = event.holds(table)
    sketcher.see(side, table, hits)
    if found.watch is not None:
        found.watch.see_call(("fresh", found.number, side), outputs)
    return hits


def _look_for_clusters(found: Suspect, watch: Watch, event: Event, counted: CountedCalls) -> None:
    """Raise `DependentDraws` if the event comes in clusters, call by call."""

    def holds(table: Table) -> npt.NDArray[np.bool_]:
        return event.holds(found.encoder.widen(table))

    words = event.words(found.encoder)
    watch.refuse_frozen()
    watch.independence.count(words, *counted.calls)
    sides: dict[Hashable, Calls] = {
        (found.number, side): calls for side, calls in zip(SIDE_NAMES, counted.calls, strict=True)
    }
    watch.independence.count_with_earlier(words, holds, sides)


def certify_on_draws(
    found: Suspect,
    mechanism: Mechanism,
    *,
    draws: int,
    alpha: float,
    budget: Budget,
    seed: tuple[int, ...],
    choose: EventChoice = strongest_event,
) -> Counterexample | None:
    """Certify on `draws` fresh draws of the mechanism on either side; None if there is no room.

    If the time is limited, the event is chosen on as many outputs as it allows, and certified on
    as many draws as come in time, whatever they show. `seed` is the audit's entropy and the key of
    these draws.
    """
    planned = min(draws, budget.affordable(by=budget.until(_TIME_FOR_DRAWS)) // 2)
    if planned < 1:
        return None
    found = replace(
        found,
        sample=found.sample.thinned(budget.steps(CHOOSING_SECONDS)),
        watch=found.watch or Watch(mechanism.name, found.encoder),
    )
    level = _level(found, found.sample.thinned(budget.steps(FITTING_SECONDS)))
    chosen = _choose(found, planned, alpha, choose, level)
    budget.forget_work()
    draws = min(draws, (budget.samples - budget.spent) // 2)
    fresh = Rounds(mechanism=mechanism, pair=found.pair, draws=draws, budget=budget, seed=seed)
    limited = budget.seconds is not None
    return _counted(found, chosen, fresh, alpha=alpha, seed=seed, anytime=limited)


def certify_bets(campaign: Campaign, contender: Contender) -> Counterexample | None:
    """Certify what the bets on a pair have found, with what is left of the budget."""
    make_ready()
    budget = campaign.budget
    left = min(MOST, budget.samples - budget.spent)
    hurried = budget.seconds is not None and budget.affordable() < _FEW
    choosing = 0.0 if hurried else FOR_CHOOSING  # else by what was bet on
    _learn_more(campaign, contender, int(left * choosing))
    return certify_on_draws(
        suspect_of_bets(campaign, contender),
        campaign.mechanism,
        draws=int(left * (1.0 - choosing)) // 2,
        alpha=campaign.alpha,
        budget=budget,
        seed=(campaign.entropy, 1),
    )


def suspect_of_bets(campaign: Campaign, contender: Contender) -> Suspect:
    """The suspect of a pair that was bet on."""
    bettor = contender.bettor
    return Suspect(
        pair=contender.pair,
        claim=campaign.claim,
        encoder=campaign.encoder,
        sample=bettor.sample,
        log_odds=bettor.log_odds_of,
        watch=campaign.watch,
        number=contender.number,
    )


def _learn_more(campaign: Campaign, contender: Contender, draws: int) -> None:
    """Draw more outputs of the pair to choose the event by; they are not bet on."""
    made, most = 0, max(min(MAX_CALL, -(-draws // 2)), 1)
    budget, by = campaign.budget, campaign.budget.until(FOR_CHOOSING)
    while size := budget.timely(min(most, draws - made), of=contender.number, by=by):
        batch, table = campaign.draw(contender, size, campaign.seed(3, made), of=contender.number)
        contender.bettor.learn(table, batch.labels)
        made += size


def _level(found: Suspect, sample: Sample) -> tuple[float, float]:
    """The `(epsilon, delta)` of the claim that the event is to break.

    For a profile it is the tangent that the guesses break most, by their estimate of
    `H_eps - delta` on a sample; no fresh output has a say in it.
    """
    claim = found.claim
    if isinstance(claim, PureDP):
        return claim.epsilon, 0.0
    if isinstance(claim, ApproxDP):
        return claim.epsilon, claim.delta_at_epsilon
    from_data, from_neighbour = sample.ones.sum(), sample.zeros.sum()
    log_odds = found.log_odds(sample)

    def excess(level: tuple[float, float]) -> float:
        epsilon, delta = level
        event = log_odds > epsilon
        share = sample.ones[event].sum() / max(from_data, 1.0)
        other = sample.zeros[event].sum() / max(from_neighbour, 1.0)
        return float((share - math.exp(epsilon) * other) - delta)

    return max(levels_of(claim), key=excess)
