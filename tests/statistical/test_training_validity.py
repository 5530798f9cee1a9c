"""Mechanisms exactly on their claim, seen as trainings: canaries of one run, and step by step.

Null: a claim that holds is ever refuted, at any canary or step, with probability at most
alpha = 0.1. Of 24 runs more than 12 are then refuted with probability below 1e-7. Alternative: a
test that refutes with probability 0.75 is caught with probability 0.99. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from counts import most_accusations, power

from dpaudit.arrays import Floats, Labels
from dpaudit.claims import ApproxDP, Claim, GaussianDP, Profile, PureDP
from dpaudit.training.independent import independent
from dpaudit.training.steps import StepAudit

RUNS, ALPHA = 24, 0.1
CANARIES, STEPS = 200, 50
GAUSSIAN = Profile(GaussianDP(1.0).delta)  # the claim without levels around it: quicker to test

Mechanism = Callable[[Labels, np.random.Generator], Floats]


def gaussian(bits: Labels, rng: np.random.Generator) -> Floats:
    return bits + rng.normal(size=len(bits))


def randomized_response(bits: Labels, rng: np.random.Generator) -> Floats:
    right = rng.random(len(bits)) < math.e / (1.0 + math.e)
    return np.where(right, bits, ~bits).astype(np.float64)


def rarely_tells(bits: Labels, rng: np.random.Generator) -> Floats:
    """Randomized response that shows the bit itself with probability 0.05."""
    shown = rng.random(len(bits)) < 0.05
    return np.where(shown, 2.0 + 3.0 * bits, randomized_response(bits, rng))


def one_common_loss(bits: Labels, rng: np.random.Generator) -> Floats:
    """1-GDP for each canary: all are told by randomized response with one public epsilon."""
    loss = abs(rng.normal(0.5, 1.0))
    right = rng.random(len(bits)) < 1.0 / (1.0 + math.exp(-loss))
    return loss * np.where(right == bits, 1.0, -1.0)


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 12
    assert power(RUNS, ALPHA, 0.75) >= 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "claim", "noise"),
    [
        (gaussian, GAUSSIAN, 1.0),
        (randomized_response, PureDP(1.0), None),
        (rarely_tells, ApproxDP(1.0, 0.05), None),
    ],
)
def test_independent_canaries_on_their_claim_are_rarely_accused(
    mechanism: Mechanism, claim: Claim, noise: float | None
) -> None:
    refuted = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        bits = rng.random(CANARIES) < 0.5
        scores = mechanism(bits, rng)
        refuted += independent(scores, bits, claim, ALPHA, noise=noise, rng=rng)[0].refuted
    assert refuted <= most_accusations(RUNS, ALPHA)


@pytest.mark.nightly
def test_scores_in_order_are_shuffled_before_they_are_bet_on() -> None:
    """An order by score would say of each canary that its score is below those before it."""
    refuted = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        bits = rng.random(CANARIES) < 0.5
        scores = gaussian(bits, rng)
        order = np.argsort(-scores)
        found, _ = independent(scores[order], bits[order], GAUSSIAN, ALPHA, noise=1.0, rng=rng)
        refuted += found.refuted
    assert refuted <= most_accusations(RUNS, ALPHA)


class Spender:
    """A training whose every step is 1-GDP to the full, in a form that the past decides.

    It continues the noise of the last step, as if that were not fresh; where the last canary was
    in, it turns its answer round; and every third step it tells the bit by randomized response,
    with a loss that is public.
    """

    def __init__(self) -> None:
        self.earlier: list[float] = [0.0]

    def step(self, bit: bool, rng: np.random.Generator) -> float:
        noise, past = rng.normal(), self.earlier[-1]
        if len(self.earlier) % 3 == 0:
            loss = abs(rng.normal(0.5, 1.0))
            right = rng.random() < 1.0 / (1.0 + math.exp(-loss))
            seen = past + loss * (1.0 if right == bit else -1.0)
        elif past > 0.0:
            seen = past + bit + noise
        else:
            seen = past - bit + noise
        self.earlier.append(seen - bit)
        return seen


@pytest.mark.nightly
def test_a_training_that_spends_every_step_by_its_past_is_rarely_accused() -> None:
    refuted = 0
    for seed in range(RUNS):
        rng, spender = np.random.default_rng(seed), Spender()
        audit = StepAudit(GAUSSIAN, alpha=ALPHA)
        for _ in range(STEPS):
            bit = bool(rng.random() < 0.5)
            refuted_now = audit.see(spender.step(bit, rng), bit).refuted
            if refuted_now:
                break
        refuted += audit.refuted
    assert refuted <= most_accusations(RUNS, ALPHA)


@pytest.mark.nightly
def test_canaries_of_a_step_that_depend_on_each_other_are_averaged() -> None:
    """Their payoffs would not multiply: the steps are as few as the losses that they share."""
    refuted = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        audit = StepAudit(GAUSSIAN, alpha=ALPHA)
        for _ in range(15):
            bits = rng.random(40) < 0.5
            audit.play(one_common_loss(bits, rng), bits)
        refuted += audit.refuted
    assert refuted <= most_accusations(RUNS, ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize("coin", [0.1, pytest.param(0.7, marks=pytest.mark.nightly)])
def test_batches_that_are_their_own_label_are_rarely_accused(coin: float) -> None:
    refuted = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        bits = rng.random(2 * STEPS) < coin
        audit = StepAudit(PureDP(1.0), alpha=ALPHA, coin=coin, rng=rng)
        for seen, bit in zip(randomized_response(bits, rng), bits, strict=True):
            audit.play(np.array([seen]), np.array([bit]))
        refuted += audit.refuted
    assert refuted <= most_accusations(RUNS, ALPHA)
