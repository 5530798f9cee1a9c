"""What an audit that refuted nothing would have seen: an estimate, and worded so."""

from __future__ import annotations

import math

import numpy as np

from dpaudit.auditing.betting_loop import Campaign
from dpaudit.auditing.budget import FITTING_SECONDS
from dpaudit.auditing.scheduler import Contender
from dpaudit.betting import growth, tune
from dpaudit.claims import ApproxDP, PureDP

_LEARNING = 5.0  # nats that learning the guesses has cost, about
_STEEPEST = 200.0


def detectable(campaign: Campaign, contender: Contender) -> float | None:
    """The least epsilon that the draws spent on a pair would have refuted there, about.

    The log-odds that the experts learned are made steeper until their bets would have refuted the
    claim; the answer is how far the steepened log-odds reach. None for claims without an epsilon,
    and for those with a delta: an excess in delta alone has no epsilon at all, and may be missed.
    """
    claim, whole = campaign.claim, contender.bettor.sample
    if not isinstance(claim, PureDP | ApproxDP) or contender.bettor.draws == 0:
        return None
    if claim.delta(claim.epsilon) > 0.0:
        return None
    sample = whole.thinned(campaign.budget.steps(FITTING_SECONDS))
    mass = sample.ones + sample.zeros
    log_odds = contender.bettor.log_odds_of(sample)
    order = np.argsort(np.abs(log_odds))
    share = np.cumsum(mass[order]) / mass.sum()
    reach = float(np.abs(log_odds)[order][np.searchsorted(share, 0.99).clip(max=len(order) - 1)])
    if reach < 1e-9 or np.ptp(log_odds) < 1e-9:  # nothing to make steeper, as in a constant output
        return None
    needed = (math.log(1.0 / campaign.alpha) + _LEARNING) / contender.bettor.draws
    levels = np.array([claim.epsilon]), np.zeros(1)

    def refutes(epsilon: float) -> bool:
        steeper = log_odds * (epsilon / reach)
        return float(growth(tune(steeper, mass, *levels), steeper, mass)[0]) >= needed

    low, high = claim.epsilon, claim.epsilon + 0.01
    while not refutes(high):
        low, high = high, 2.0 * high
        if high > _STEEPEST:
            return None
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if refutes(middle) else (middle, high)
    return high
