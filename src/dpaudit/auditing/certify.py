"""From a refutation to an event in words, certified on fresh samples.

The event is chosen on the samples that were bet on and some more; its probabilities are bounded on
samples drawn afterwards, by exact binomial bounds (Clopper and Pearson 1934) that hold together
with probability `1 - alpha`.
"""

from __future__ import annotations

import math
from typing import Any

from dpaudit.auditing.campaign import Campaign, Contender
from dpaudit.claims import ApproxDP, PureDP
from dpaudit.events import Event, strongest_event
from dpaudit.evidence import Counterexample, Tally
from dpaudit.mechanism import draw_labelled, draw_side
from dpaudit.stats.binomial import epsilon_from_event, proportion_lower, proportion_upper

_MOST = 80_000  # draws, both sides together
_FOR_CHOOSING = 0.4  # of them, to choose the event by: a refutation can come too early to tell
_AT_ONCE = 8_192
_LEVELS = 16


def certify(campaign: Campaign, contender: Contender) -> Counterexample | None:
    """Put the strongest event into words and certify it; None if no draws are left for it."""
    left = min(_MOST, campaign.budget.samples - campaign.budget.spent)
    _learn_more(campaign, contender, int(left * _FOR_CHOOSING))
    sample, each = contender.bettor.sample, int(left * (1.0 - _FOR_CHOOSING)) // 2
    if each < 1:
        return None
    level = _level(campaign, contender)
    event, from_data = strongest_event(
        sample.rows,
        sample.ones,
        sample.zeros,
        epsilon=level[0],
        delta=level[1],
        draws=each,
        alpha=campaign.alpha,
    )
    data = _tally(campaign, contender.pair.data, event, each, 0)
    neighbour = _tally(campaign, contender.pair.neighbour, event, each, 1)
    likely, unlikely = (data, neighbour) if from_data else (neighbour, data)
    return Counterexample(
        pair=contender.pair,
        event=event.words(campaign.encoder),
        likelier="data" if from_data else "neighbour",
        data=data,
        neighbour=neighbour,
        delta=level[1],
        epsilon_lower=epsilon_from_event(likely.lower, unlikely.upper, level[1]),
        alpha=campaign.alpha,
        seed=(campaign.entropy, 1),
    )


def _learn_more(campaign: Campaign, contender: Contender, draws: int) -> None:
    """Draw more outputs of the pair to choose the event by; they are not bet on."""
    made = 0
    while made < draws and campaign.budget.timely:
        size = min(_AT_ONCE, draws - made)
        batch = draw_labelled(campaign.mechanism, contender.pair, size, campaign.seed(3, made))
        contender.bettor.learn(campaign.encoder.encode(batch.outputs), batch.labels)
        made += size
        campaign.budget.spent += size


def _level(campaign: Campaign, contender: Contender) -> tuple[float, float]:
    """The `(epsilon, delta)` of the claim that the event is to break.

    For a profile it is the tangent that the guesses of the experts break most, by their estimate
    of `H_eps / delta`; no fresh sample has a say in it.
    """
    claim = campaign.claim
    if isinstance(claim, PureDP):
        return claim.epsilon, 0.0
    if isinstance(claim, ApproxDP):
        return claim.epsilon, claim.delta_at_epsilon
    sample = contender.bettor.sample
    from_data, from_neighbour = sample.ones.sum(), sample.zeros.sum()
    log_odds = contender.bettor.log_odds(sample.rows)

    def excess(level: tuple[float, float]) -> float:
        epsilon, delta = level
        event = log_odds > epsilon
        share = sample.ones[event].sum() / max(from_data, 1.0)
        other = sample.zeros[event].sum() / max(from_neighbour, 1.0)
        return float((share - math.exp(epsilon) * other) - delta)

    return max(claim.tangents(_LEVELS), key=excess)  # type: ignore[attr-defined,no-any-return]


def _tally(campaign: Campaign, data: Any, event: Event, draws: int, side: int) -> Tally:
    """Count the event on fresh draws of one side, within the time there is."""
    hits = made = 0
    while made < draws and (made == 0 or campaign.budget.timely):
        size = min(_AT_ONCE, draws - made)
        seed = campaign.seed(1, side, made)
        outputs = draw_side(campaign.mechanism, data, size, seed)
        hits += int(event.holds(campaign.encoder.encode(outputs)).sum())
        made += size
        campaign.budget.spent += size
    # Four bounds are shown, two on each side: a quarter of alpha for each.
    alpha = campaign.alpha / 4
    return Tally(
        hits=hits,
        draws=made,
        lower=proportion_lower(hits, made, alpha),
        upper=proportion_upper(hits, made, alpha),
    )
