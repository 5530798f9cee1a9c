"""The levels of a bound, and the reference canaries that tests are planned for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit.claims import GaussianDP, PureDP
from dpaudit.training.levels import (
    STEP,
    climb,
    highest,
    last_of_block,
    levels,
    reached,
    surely_lost,
)
from dpaudit.training.reference import (
    accuracy_by_sureness,
    expected_log_wealth,
    middles,
    shift_for_accuracy,
)


@pytest.mark.parametrize("strength", [0.0, 1e-3, 1.0, 7.3])
def test_the_levels_rise_by_two_per_cent_and_hold_the_claim(strength: float) -> None:
    every = np.array(list(levels(PureDP(strength))))
    assert strength in every
    steps = every[1 + (strength == 0.0) :] / every[(strength == 0.0) : -1]
    np.testing.assert_allclose(steps, STEP)


def test_going_up_stops_at_the_first_level_that_stands() -> None:
    every = list(levels(GaussianDP(1.0)))
    assert climb(GaussianDP(1.0), lambda level: level != every[10]) == every[9]
    assert climb(GaussianDP(1.0), lambda level: False) is None
    assert not reached(GaussianDP(1.0), None)
    assert reached(GaussianDP(1.0), 1.0)
    assert highest(GaussianDP(1.0), lambda level: False) == 0.0


def test_a_block_ends_at_the_claim() -> None:
    for strength in (0.0, 0.37, 1.0):
        claim = PureDP(strength)
        assert last_of_block(claim, strength) == strength
        for level in levels(claim):
            last = last_of_block(claim, level)
            assert level <= last * (1.0 + 1e-12) <= level * STEP**3.5


def test_what_may_be_lost_at_once() -> None:
    assert surely_lost(PureDP(3.0)) == 0.0


def test_the_reference_accuracies_are_those_of_normal_canaries() -> None:
    rng = np.random.default_rng(1)
    mu, count = 1.3, 200_000
    bits = rng.random(count) < 0.5
    scores = rng.normal(size=count) + mu * (bits - 0.5)
    surest = np.argsort(-np.abs(scores))
    right = ((scores > 0.0) == bits)[surest]
    for share in (0.01, 0.1, 1.0):
        seen = right[: int(share * count)].mean()
        planned = accuracy_by_sureness(mu, middles(count))[: int(share * count)].mean()
        assert planned == pytest.approx(seen, abs=6.0 * 0.5 / math.sqrt(share * count))
        assert shift_for_accuracy(share, float(planned)) == pytest.approx(mu, rel=2e-3)


def test_the_expected_wealth_is_the_divergence_of_the_guesses() -> None:
    gained = expected_log_wealth(2.0, 1_000, 1.0, 1.0)
    accuracy = accuracy_by_sureness(2.0, middles(1_000))
    entropy = accuracy * np.log(2 * accuracy) + (1 - accuracy) * np.log(2 * (1 - accuracy))
    assert gained == pytest.approx(float(entropy.sum()), rel=1e-3)
    assert shift_for_accuracy(1.0, float(norm.cdf(0.5))) == pytest.approx(1.0)
