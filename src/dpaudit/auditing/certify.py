"""From a refutation to an event in words, certified on fresh samples.

The event is chosen on outputs seen before; its probabilities are bounded on outputs that had no say
in the choice, by exact binomial bounds (Clopper and Pearson 1934) that hold together with
probability `1 - alpha`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.auditing.budget import Budget
from dpaudit.auditing.campaign import Campaign
from dpaudit.auditing.race import Contender
from dpaudit.auditing.sketch import Sketcher
from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.events import Event, rule_of, strongest_event, words_of
from dpaudit.evidence import Counterexample, Tally
from dpaudit.mechanism import Mechanism, draw_side
from dpaudit.outputs import Encoder, FloatView, stack
from dpaudit.pair import Pair
from dpaudit.returned import Outputs
from dpaudit.stats.binomial import epsilon_from_event, proportion_lower, proportion_upper
from dpaudit.testers.event_choice import levels_of
from dpaudit.witness.sample import Sample

Floats = npt.NDArray[np.float64]
EventChoice = Callable[..., tuple[Event, bool]]  # as `strongest_event`

MOST = 80_000  # draws, both sides together
FOR_CHOOSING = 0.4  # of them, to choose the event by: a refutation can come too early to tell
TIME_FOR_CHOOSING = 0.83  # a share of the seconds, if they are limited
_TIME_FOR_SIDES = (0.92, 1.0)
_AT_ONCE = 8_192


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Suspect:
    """A pair on which a claim was refuted, and the outputs to choose an event by.

    `log_odds` gives a guess at the log-odds of `data` for each row of the sample; it is asked for
    only where the claim is a whole profile.
    """

    pair: Pair
    claim: Claim
    encoder: Encoder
    sample: Sample
    log_odds: Callable[[], Floats]


def suspect(
    pair: Pair,
    claim: Claim,
    seen: tuple[Outputs, Outputs],
    rng: np.random.Generator,
    *,
    floats: FloatView = "real",
) -> Suspect:
    """The suspect of the outputs seen from either side."""
    encoder, sample = Encoder(floats=floats), Sample()
    data, neighbour = (encoder.encode(side) for side in seen)
    order = rng.permutation(len(data) + len(neighbour))  # a sample may keep the latest rows only
    both = stack([encoder.widen(data), neighbour])
    sample.add(both.take(order), order < len(data))

    def log_odds() -> Floats:
        from dpaudit.witness.ensemble import Ensemble

        more = math.log(len(data) / len(neighbour))  # outputs of one side say nothing by their sum
        return np.asarray(Ensemble(both.columns).fit(sample) - more)

    return Suspect(pair=pair, claim=claim, encoder=encoder, sample=sample, log_odds=log_odds)


def certify(
    found: Suspect,
    fresh: tuple[Iterable[Outputs], Iterable[Outputs]],
    *,
    draws: int,
    alpha: float,
    seed: tuple[int, ...],
    choose: EventChoice = strongest_event,
) -> Counterexample | None:
    """Put the chosen event into words and certify it; None if a side has no fresh outputs.

    `fresh` gives outputs of either side, about `draws` of each; `seed` draws them again.
    """
    sample, (epsilon, delta) = found.sample, _level(found)
    event, from_data = choose(
        sample.rows,
        sample.ones,
        sample.zeros,
        epsilon=epsilon,
        delta=delta,
        draws=draws,
        alpha=alpha,
    )
    sketcher = Sketcher(found.encoder, sample, event)
    data, neighbour = (
        tally(partial(_holds, event, found.encoder, sketcher, side), some, alpha)
        for side, some in enumerate(fresh)
    )
    if data is None or neighbour is None:
        return None
    likely, unlikely = (data, neighbour) if from_data else (neighbour, data)
    return Counterexample(
        pair=found.pair,
        event=words_of(event, found.encoder),
        likelier="data" if from_data else "neighbour",
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
    event: Event, encoder: Encoder, sketcher: Sketcher, side: int, outputs: Outputs
) -> npt.NDArray[np.bool_]:
    """Which outputs of a side are in the event; they are counted for the sketch too."""
    table = encoder.encode(outputs)
    hits = event.holds(table)
    sketcher.see(side, table, hits)
    return hits


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

    `seed` is the audit's entropy and the key of these draws.
    """
    if draws < 1:
        return None
    data, neighbour = (
        fresh_draws(mechanism, dataset, draws, budget=budget, seed=(*seed, side), by=by)
        for side, (dataset, by) in enumerate(
            zip((found.pair.data, found.pair.neighbour), _TIME_FOR_SIDES, strict=True)
        )
    )
    return certify(found, (data, neighbour), draws=draws, alpha=alpha, seed=seed, choose=choose)


def certify_bets(campaign: Campaign, contender: Contender) -> Counterexample | None:
    """Certify what the bets on a pair have found, with what is left of the budget."""
    left = min(MOST, campaign.budget.samples - campaign.budget.spent)
    _learn_more(campaign, contender, int(left * FOR_CHOOSING))
    return certify_on_draws(
        suspect_of_bets(campaign, contender),
        campaign.mechanism,
        draws=int(left * (1.0 - FOR_CHOOSING)) // 2,
        alpha=campaign.alpha,
        budget=campaign.budget,
        seed=(campaign.entropy, 1),
    )


def suspect_of_bets(campaign: Campaign, contender: Contender) -> Suspect:
    """The suspect of a pair that was bet on."""
    sample = contender.bettor.sample
    return Suspect(
        pair=contender.pair,
        claim=campaign.claim,
        encoder=campaign.encoder,
        sample=sample,
        log_odds=lambda: contender.bettor.log_odds(sample.rows),
    )


def fresh_draws(
    mechanism: Mechanism, data: Any, draws: int, *, budget: Budget, seed: tuple[int, ...], by: float
) -> Iterator[Outputs]:
    """Outputs on one dataset, piece by piece: so many, or what fits into a share of the time.

    `seed` is the audit's entropy and the key of the piece, but for how many were made before it.
    """
    made = 0
    while size := budget.timely(min(_AT_ONCE, draws - made), by=by):
        child = np.random.SeedSequence(seed[0], spawn_key=(*seed[1:], made))
        outputs = draw_side(mechanism, data, size, child)
        made += size
        budget.spent += size
        yield outputs


def _learn_more(campaign: Campaign, contender: Contender, draws: int) -> None:
    """Draw more outputs of the pair to choose the event by; they are not bet on."""
    made, most = 0, max(min(_AT_ONCE, -(-draws // 2)), 1)
    while size := campaign.budget.timely(min(most, draws - made), by=TIME_FOR_CHOOSING):
        batch = campaign.draw(contender, size, campaign.seed(3, made))
        contender.bettor.learn(campaign.encoder.encode(batch.outputs), batch.labels)
        made += size


def _level(found: Suspect) -> tuple[float, float]:
    """The `(epsilon, delta)` of the claim that the event is to break.

    For a profile it is the tangent that the guesses break most, by their estimate of
    `H_eps - delta`; no fresh output has a say in it.
    """
    claim, sample = found.claim, found.sample
    if isinstance(claim, PureDP):
        return claim.epsilon, 0.0
    if isinstance(claim, ApproxDP):
        return claim.epsilon, claim.delta_at_epsilon
    from_data, from_neighbour = sample.ones.sum(), sample.zeros.sum()
    log_odds = found.log_odds()

    def excess(level: tuple[float, float]) -> float:
        epsilon, delta = level
        event = log_odds > epsilon
        share = sample.ones[event].sum() / max(from_data, 1.0)
        other = sample.zeros[event].sum() / max(from_neighbour, 1.0)
        return float((share - math.exp(epsilon) * other) - delta)

    return max(levels_of(claim), key=excess)


def tally(
    holds: Callable[[Outputs], npt.NDArray[np.bool_]], fresh: Iterable[Outputs], alpha: float
) -> Tally | None:
    """Count an event on the fresh outputs of one side; None if there are none."""
    hits = draws = 0
    for outputs in fresh:
        hits += int(np.count_nonzero(holds(outputs)))
        draws += len(outputs)
    return counted(hits, draws, alpha) if draws else None


def counted(hits: int, draws: int, alpha: float) -> Tally:
    """The tally of so many hits: four bounds are shown, two on each side, with alpha/4 for each."""
    return Tally(
        hits=hits,
        draws=draws,
        lower=proportion_lower(hits, draws, alpha / 4),
        upper=proportion_upper(hits, draws, alpha / 4),
    )
