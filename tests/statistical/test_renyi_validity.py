"""The Rényi tester on mechanisms exactly on their claim, and on the event the paper overlooks.

Null: a bound exceeds the divergence with probability at most alpha = 0.1, independently. Of 80
bounds more than 25 then do so with probability below 1e-7. Alternative: a tester whose bounds do so
with probability 0.45 is caught with probability 0.99. Seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from counts import most_accusations, power
from scipy.stats import binom

from dpaudit.bounds import mean_lower, mean_upper
from dpaudit.claims import Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.testers import Certifier, RenyiTester

RUNS, SKEWED_RUNS, ALPHA = 80, 100, 0.1


def accusations(
    tester: RenyiTester, claim: Claim, outputs: list[Any], others: list[Any]
) -> tuple[int, float]:
    """How many of the samples refute a claim that holds, and the largest bound."""
    bounds = [
        tester.lower_bound(first, second, claim, alpha=ALPHA, rng=np.random.default_rng(seed))
        for seed, (first, second) in enumerate(zip(outputs, others, strict=True))
    ]
    return sum(bound > tester.threshold(claim) for bound in bounds), max(bounds)


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 25
    assert power(RUNS, ALPHA, 0.45) >= 0.99
    assert power(SKEWED_RUNS, ALPHA, 0.4) >= 0.99


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("bound", ["betting", "bernstein", "chernoff"])
def test_randomized_response_on_its_claim_is_rarely_accused(epsilon: float, bound: str) -> None:
    """Its divergence is the threshold itself, at every order."""
    rng = np.random.default_rng(round(1000 * epsilon))
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    outputs, others = rng.random((RUNS, 600)) < keep, rng.random((RUNS, 600)) > keep
    tester = RenyiTester(bound=bound, order=None if epsilon < 1 else 2.0)
    accused, largest = accusations(tester, PureDP(epsilon), list(outputs), list(others))
    assert accused <= most_accusations(RUNS, ALPHA)
    if bound == "betting" and epsilon == 1.0:
        assert largest > 0.5 * tester.threshold(PureDP(epsilon))  # the test is not asleep


def test_gaussian_noise_on_its_claim_is_rarely_accused() -> None:
    rng = np.random.default_rng(2)
    outputs, others = 1.0 + rng.normal(size=(RUNS, 600)), rng.normal(size=(RUNS, 600))
    accused, largest = accusations(RenyiTester(), GaussianDP(1.0), list(outputs), list(others))
    assert accused <= most_accusations(RUNS, ALPHA)
    assert largest > 0.2


def test_bounds_on_heavily_skewed_means_hold() -> None:
    """`e^(order h)` of Laplace noise: most values tiny, a few near 1.

    Null: each bound is wrong with probability at most alpha; of 100 more than 28 are with
    probability below 1e-7. A bound that is wrong with probability 0.4 is caught with 0.99.
    """
    rng = np.random.default_rng(3)
    low = high = 0
    for _ in range(SKEWED_RUNS):
        h = np.minimum(rng.exponential(size=900) - 6.0, 0.0)
        values = np.exp(0.9 * h)
        low += mean_lower(values[300:], ALPHA, guess=values[:300]) > TRUTH
        high += mean_upper(values[300:], ALPHA, guess=values[:300]) < TRUTH
    few = most_accusations(SKEWED_RUNS, ALPHA)
    assert low <= few
    assert high <= few
    assert low + high > 0  # nor are the bounds so wide that they could not miss


# E min(e^(0.9 (x - 6)), 1) for a standard exponential x
TRUTH = math.exp(-5.4) * (1 - math.exp(-0.6)) / 0.1 + math.exp(-6.0)

# The event of the corollary in the paper: order 1.5, |h| <= C = 4, 50 000 draws, and an event on
# which h is C that has probability 6e-6 under the neighbour and h = -C elsewhere. Three samples in
# four have no such draw; their mean of v = e^(order h) is then half of the true one.
ORDER, C, DRAWS, CHANCE = 1.5, 4.0, 50_000, 6e-6


def rare_event(hits: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """`h - C` on the neighbour's draws, `hits` of which are in the event, in random order."""
    h = np.full(DRAWS, -2.0 * C)
    h[rng.choice(DRAWS, size=hits, replace=False)] = 0.0
    return h


def true_divergence() -> float:
    """`R^h` when `data` always gives an output outside of the event."""
    mean = CHANCE + (1 - CHANCE) * math.exp(-2.0 * ORDER * C)
    return -2.0 * ORDER * C - math.log(mean)


@pytest.mark.parametrize("bound", ["betting", "bernstein", "chernoff"])
def test_the_rare_event_does_not_fool_the_bounds(bound: str) -> None:
    """Whatever the number of draws in the event, up to what has probability below 1e-9."""
    rng = np.random.default_rng(4)
    certifier = Certifier(ORDER, bound, 0.05, DRAWS, DRAWS)
    data = np.full(DRAWS, -2.0 * C)
    most = int(binom.isf(1e-9, DRAWS, CHANCE))
    for hits in range(most + 1):
        guess = (data[:5000], rare_event(0, rng)[:5000])
        found = certifier.certified((data, rare_event(hits, rng)), guess, 2.0 * C)
        assert found <= true_divergence()
        if bound == "chernoff":
            assert found == -math.inf  # this deep, it says nothing


def test_the_rare_event_fools_the_paper() -> None:
    """So the test above is about something: the uncorrected bound is wrong three times in four."""
    log = math.log(2 / 0.05)
    eta1 = math.sqrt(3 * math.exp(2 * (ORDER - 1) * C) * log / DRAWS)
    eta2 = math.sqrt(2 * math.exp(ORDER * C) * log / DRAWS)  # e^(2 order C) is meant
    eta = max(eta1, eta2)
    estimate = 0.0  # u and v are what they are outside of the event, on every draw
    claimed = estimate - math.log((1 + eta) / (1 - eta))
    assert claimed > true_divergence()
    assert binom.pmf(0, DRAWS, CHANCE) > 0.7


def test_the_rare_event_is_no_accusation() -> None:
    """The tester itself, on a neighbour that differs by the event alone: `R` is about 2e-5."""
    rng = np.random.default_rng(5)
    claim = RenyiDP(ORDER, -ORDER / (ORDER - 1) * math.log1p(-CHANCE))
    tester = RenyiTester()
    for hits in (0, 1, 3):
        others = np.where(rare_event(hits, rng) < 0.0, 0.0, 1.0)
        bound = tester.lower_bound(np.zeros(DRAWS), others, claim, alpha=0.05, rng=rng)
        assert bound <= tester.threshold(claim)
