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
from dpaudit.mechanism import draw_side
from dpaudit.stats.binomial import epsilon_from_event, proportion_lower, proportion_upper

_MOST = 80_000  # draws, both sides together
_FOR_CHOOSING = 0.4  # of them, to choose the event by: a refutation can come too early to tell
_AT_ONCE = 8_192
_TIME_FOR_CHOOSING, _TIME_FOR_SIDES = 0.83, (0.92, 1.0)  # shares of the seconds, if limited
_LEVELS = 16


def certify(campaign: Campaign, contender: Contender) -> Counterexample | None:
    """Put the strongest event into words and certify it; None if nothing is left for it."""
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
    if data is None or neighbour is None:
        return None
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
    made, most = 0, max(min(_AT_ONCE, -(-draws // 2)), 1)
    while size := campaign.budget.timely(min(most, draws - made), by=_TIME_FOR_CHOOSING):
        batch = campaign.draw(contender, size, campaign.seed(3, made))
        contender.bettor.learn(campaign.encoder.encode(batch.outputs), batch.labels)
        made += size


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


def _tally(campaign: Campaign, data: Any, event: Event, draws: int, side: int) -> Tally | None:
    """Count the event on fresh draws of one side; None if there is no time for any."""
    hits = made = 0
    while size := campaign.budget.timely(min(_AT_ONCE, draws - made), by=_TIME_FOR_SIDES[side]):
        outputs = draw_side(campaign.mechanism, data, size, campaign.seed(1, side, made))
        hits += int(event.holds(campaign.encoder.encode(outputs)).sum())
        made += size
        campaign.budget.spent += size
    if made == 0:
        return None
    # Four bounds are shown, two on each side: a quarter of alpha for each.
    alpha = campaign.alpha / 4
    return Tally(
        hits=hits,
        draws=made,
        lower=proportion_lower(hits, made, alpha),
        upper=proportion_upper(hits, made, alpha),
    )
