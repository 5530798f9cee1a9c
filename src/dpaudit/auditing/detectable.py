"""What an audit that refuted nothing would have refuted: an estimate, not a bound.

The log-odds that the guessers learned on the strongest pair are made steeper until bets on them
would have refuted the claim with as many draws. What is then detectable is how strong a claim those
steeper log-odds break: for an epsilon how far they reach, for Rényi claims their divergence, for
other claims what their events show.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, log_expit

from dpaudit.arrays import Floats
from dpaudit.auditing.budget import FITTING_SECONDS
from dpaudit.auditing.run import Run
from dpaudit.betting import MAX_TUNING_ROWS, MixedBet, PairBettor, growth, renyi_orders, tune
from dpaudit.claims import Claim, Scalable, point_of, strength_of_event

_LEARNING_NATS = 5.0  # about what training the guessers has cost
_MAX_DETECTABLE = 200.0  # a strength beyond which nothing is said
_REACH_SHARE = 0.99  # of the draws, whose log-odds an epsilon must cover
_SHARES = np.linspace(0.02, 0.98, 49)  # of the draws in an event that is looked at
_HALVINGS = 20
_MAX_LOG_ODDS = 1_000.0  # steeper ones change nothing: all that can be told apart is
_LEAST_SHARE = 0.1  # of the log-odds, which may stay below it


def detectable(run: Run, bettor: PairBettor) -> float | None:
    """About the least strength that the draws spent on a pair would have refuted there.

    None for claims without a strength, and for those with a delta: an excess in delta alone has no
    epsilon at all, and may be missed. None, too, where bets on steeper log-odds win by something
    else than the strength of the claim.
    """
    claim = run.claim
    point = point_of(claim)
    if not isinstance(claim, Scalable) or (point or (0.0, 0.0))[1] > 0.0 or bettor.draws == 0:
        return None
    sample = bettor.sample.thinned(run.budget.steps(FITTING_SECONDS)).even_part(MAX_TUNING_ROWS)
    mass = sample.ones + sample.zeros
    log_odds = bettor.log_odds_of(sample)
    if np.ptp(log_odds) < 1e-9:  # nothing to make steeper, as in a constant output
        return None
    needed = (math.log(1.0 / run.alpha) + _LEARNING_NATS) / bettor.draws

    def refutes(steepness: float) -> bool:
        return _growth_against(claim, steepness * log_odds, mass) >= needed

    def shown(steepness: float) -> float:
        return _strength_of(claim, steepness * log_odds, mass)

    low, high = 0.0, 1.0
    size = float(np.quantile(np.abs(log_odds), _LEAST_SHARE)) or float(np.abs(log_odds).max())
    while not refutes(high):
        low, high = high, 2.0 * high
        if shown(high) > _MAX_DETECTABLE or high * size > _MAX_LOG_ODDS:
            return None
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if refutes(middle) else (middle, high)
    least = shown(high) if point is None else max(shown(high), claim.strength)
    return least if max(claim.strength, 1e-9) <= least <= _MAX_DETECTABLE else None


def _growth_against(claim: Claim, log_odds: Floats, mass: Floats) -> float:
    """The nats a draw that bets against a claim would gain, if these log-odds were right."""
    if point := point_of(claim):
        bets = tune(log_odds, mass, np.array([point[0]]), np.array([point[1]]))
        return float(growth(bets, log_odds, mass)[0])
    bet = MixedBet(claim)
    bet.tune(log_odds, mass)
    up, down = bet.log_payoffs(log_odds)
    share, guess = mass / mass.sum(), expit(log_odds)
    return float(up @ (share * guess) + down @ (share * (1.0 - guess)))


def _strength_of(claim: Scalable, log_odds: Floats, mass: Floats) -> float:
    """The strength of the claim that log-odds like these break."""
    if point_of(claim):
        order = np.argsort(np.abs(log_odds))
        share = np.cumsum(mass[order]) / mass.sum()
        last = np.searchsorted(share, _REACH_SHARE).clip(max=len(order) - 1)
        return float(np.abs(log_odds)[order][last])
    if orders := renyi_orders(claim):
        shown = (_renyi(order, log_odds, mass) / epsilon for order, epsilon in orders if epsilon)
        return claim.strength * max(shown, default=0.0)
    order = np.argsort(log_odds)
    ones, zeros = (mass[order] * expit(sign * log_odds[order]) for sign in (1.0, -1.0))
    if ones.sum() == 0.0 or zeros.sum() == 0.0:  # so steep that one side has nothing left
        return 0.0
    last = np.searchsorted(np.cumsum(mass[order]) / mass.sum(), _SHARES)
    below_one, below_zero = (np.cumsum(side)[last] / side.sum() for side in (ones, zeros))
    found = 0.0
    for one, zero in zip(below_one.tolist(), below_zero.tolist(), strict=True):
        if 0.0 < one < zero < 1.0:  # the neighbour's side is likelier below; the data's above
            strengths = ((zero, one), (1.0 - one, 1.0 - zero))
            found = max(found, *(strength_of_event(claim, *sides) for sides in strengths))
    return found


def _renyi(order: float, log_odds: Floats, mass: Floats) -> float:
    """The Rényi divergence of the sides, in the direction in which it is larger."""
    found = 0.0
    for told in (log_odds, -log_odds):
        log_mass = np.log(np.maximum(mass, 1e-300))
        ours, theirs = log_mass + log_expit(told), log_mass + log_expit(-told)
        ours, theirs = (side - np.logaddexp.reduce(side) for side in (ours, theirs))
        moment = np.logaddexp.reduce(order * ours + (1.0 - order) * theirs)
        found = max(found, float(moment) / (order - 1.0))
    return found
