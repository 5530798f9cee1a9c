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
from dpaudit.batches import draw_side
from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.events import Event, rule_of, strongest_event, words_of
from dpaudit.evidence import Counterexample, Tally
from dpaudit.mechanism import Mechanism
from dpaudit.outputs import Encoder, FloatView, stack
from dpaudit.pair import Pair
from dpaudit.returned import Outputs
from dpaudit.stats.binomial import (
    epsilon_from_event,
    make_ready,
    proportion_lower,
    proportion_upper,
)
from dpaudit.testers.event_choice import levels_of
from dpaudit.witness.sample import Sample

Floats = npt.NDArray[np.float64]
EventChoice = Callable[..., tuple[Event, bool]]  # as `strongest_event`

MOST = 80_000  # draws, both sides together
FOR_CHOOSING = 0.4  # of them, to choose the event by: a refutation can come too early to tell
_TIME_FOR_DRAWS = 0.9  # of what is left of it, when the number of fresh draws is fixed
_TIME_FOR_SIDES = (0.95, 1.0)  # the first may be the slower one, and take all but a little
_FEW = 1_000  # draws that fit into the time: too few to spend some on choosing
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
    promised: int = 0,
    alpha: float,
    seed: tuple[int, ...],
    choose: EventChoice = strongest_event,
) -> Counterexample | None:
    """Put the chosen event into words and certify it; None if a side has no fresh outputs.

    `fresh` gives outputs of either side, about `draws` of each; `seed` draws them again. Outputs
    that were `promised` and did not come are counted against the event (see `counted`).
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
        first=found.encoder.first,
        last=found.encoder.last,
    )
    sketcher = Sketcher(found.encoder, sample, event)
    data, neighbour = (
        tally(partial(_holds, event, found.encoder, sketcher, side), some, alpha, promised)
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

    If the time is limited, as many of them as fit, at the speed seen so far. `seed` is the audit's
    entropy and the key of these draws.
    """
    draws = min(draws, budget.affordable(by=budget.until(_TIME_FOR_DRAWS)) // 2)
    if draws < 1:
        return None
    data, neighbour = (
        fresh_draws(
            mechanism, dataset, draws, budget=budget, seed=(*seed, side), by=budget.until(share)
        )
        for side, (dataset, share) in enumerate(
            zip((found.pair.data, found.pair.neighbour), _TIME_FOR_SIDES, strict=True)
        )
    )
    return certify(
        found,
        (data, neighbour),
        draws=draws,
        promised=draws,
        alpha=alpha,
        seed=seed,
        choose=choose,
    )


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
    sample = contender.bettor.sample
    return Suspect(
        pair=contender.pair,
        claim=campaign.claim,
        encoder=campaign.encoder,
        sample=sample,
        log_odds=lambda: contender.bettor.log_odds(sample.rows),
    )


def fresh_draws(
    mechanism: Mechanism,
    data: Any,
    draws: int,
    *,
    budget: Budget,
    seed: tuple[int, ...],
    by: float = 1.0,
) -> Iterator[Outputs]:
    """Outputs on one dataset, piece by piece: so many, or what fits into a share of the time.

    `seed` is the audit's entropy and the key of the piece, but for how many were made before it.
    """
    made = 0
    while size := budget.timely(min(_AT_ONCE, draws - made), of=seed, by=by):
        child = np.random.SeedSequence(seed[0], spawn_key=(*seed[1:], made))
        with budget.spending(size, of=seed):
            outputs = draw_side(mechanism, data, size, child)
        made += size
        yield outputs


def _learn_more(campaign: Campaign, contender: Contender, draws: int) -> None:
    """Draw more outputs of the pair to choose the event by; they are not bet on."""
    made, most = 0, max(min(_AT_ONCE, -(-draws // 2)), 1)
    budget, by = campaign.budget, campaign.budget.until(FOR_CHOOSING)
    while size := budget.timely(min(most, draws - made), of="choosing", by=by):
        batch = campaign.draw(contender, size, campaign.seed(3, made), of="choosing")
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
    holds: Callable[[Outputs], npt.NDArray[np.bool_]],
    fresh: Iterable[Outputs],
    alpha: float,
    promised: int = 0,
) -> Tally | None:
    """Count an event on the fresh outputs of one side; None if there are none."""
    hits = draws = 0
    for outputs in fresh:
        hits += int(np.count_nonzero(holds(outputs)))
        draws += len(outputs)
    missing = max(promised - draws, 0)
    return counted(hits, draws, alpha, missing=missing) if draws else None


def counted(hits: int, draws: int, alpha: float, *, missing: int = 0) -> Tally:
    """The tally of so many hits: four bounds are shown, two on each side, with alpha/4 for each.

    An exact bound needs a number of draws that was fixed before the first of them. Draws that are
    `missing` because the time ran out may be missing for what they would have shown: an output can
    take longer to make than others. So the lower bound counts them all as misses, the upper bound
    as hits.

    >>> whole, short = counted(0, 10, 0.04), counted(0, 9, 0.04, missing=1)
    >>> bool(whole.upper < short.upper)
    True
    """
    return Tally(
        hits=hits,
        draws=draws,
        lower=proportion_lower(hits, draws + missing, alpha / 4),
        upper=proportion_upper(hits + missing, draws + missing, alpha / 4),
    )
