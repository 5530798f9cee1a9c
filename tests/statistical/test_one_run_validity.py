"""One run accuses a training on its claim with probability at most alpha, however canaries hang.

Null: every test refutes a mechanism that lies exactly on its claim, or bounds it above the truth,
with probability at most alpha = 0.2, independently for each run. Of 150 runs more than 58 do so
with probability below 1e-7, for each of the tests. Alternative: a test that accuses in 0.53 of the
runs is caught with probability 0.99; the last test shows that multiplying over canaries, as if they
were independent, is caught. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from counts import most_accusations, power
from scipy.special import expit, ndtr

from dpaudit.arrays import Floats, Labels
from dpaudit.claims import ApproxDP, Claim, GaussianDP, PureDP
from dpaudit.results import Finding
from dpaudit.training.any_mechanism import any_mechanism
from dpaudit.training.error_recursion import error_recursion
from dpaudit.training.right_guesses import right_guesses
from dpaudit.training.several_runs import combined_runs
from dpaudit.training.stopped_wealth import stopped_wealth

RUNS, ALPHA, CANARIES = 150, 0.2, 400

Leak = Callable[[Labels, np.random.Generator], Floats]
Test = Callable[[Floats, Labels, Claim, float], Finding]


def responses(bits: Labels, loss: Floats, rng: np.random.Generator) -> Floats:
    """Randomized response at these losses: the loss, with the sign of the answer."""
    return np.where((rng.random(len(bits)) < expit(loss)) == bits, loss, -loss)


def losses(place: Floats) -> Floats:
    """Quantiles of `|N(1/2, 1)|`, the losses of the Gaussian mechanism with mu = 1."""
    grid = np.linspace(0.0, 9.0, 20_001)
    return np.interp(place, ndtr(grid - 0.5) - ndtr(-grid - 0.5), grid)


def independent(bits: Labels, rng: np.random.Generator) -> Floats:
    return rng.normal(size=len(bits)) + bits


def shared(bits: Labels, rng: np.random.Generator) -> Floats:
    """One public loss for all: every canary is exactly 1-GDP."""
    return responses(bits, losses(np.full(len(bits), rng.random())), rng)


def tail(top: float) -> Leak:
    """A public coin picks the highest losses, a share `top` of them, or the others."""

    def leak(bits: Labels, rng: np.random.Generator) -> Floats:
        highest, within = rng.random() < top, rng.random(len(bits))
        return responses(bits, losses(1.0 - top * within if highest else (1.0 - top) * within), rng)

    return leak


def revealed(epsilon: float, delta: float, share: float) -> Leak:
    """Randomized response; a share of the canaries is revealed with chance `delta / share`."""

    def leak(bits: Labels, rng: np.random.Generator) -> Floats:
        named = rng.random(len(bits)) < (share or delta)
        if share:
            named &= rng.random() < delta / share
        return responses(bits, np.where(named, np.inf, epsilon), rng)

    return leak


def three_runs(scores: Floats, bits: Labels, claim: Claim, alpha: float) -> Finding:
    parts = (np.array_split(values, 3) for values in (scores, bits))
    return combined_runs(list(zip(*parts, strict=True)), claim, alpha)


def main_finding(scores: Floats, bits: Labels, claim: Claim, alpha: float) -> Finding:
    return any_mechanism(scores, bits, claim, alpha)[0]


CURVES: dict[str, tuple[Leak, Claim]] = {
    "independent": (independent, GaussianDP(1.0)),
    "shared": (shared, GaussianDP(1.0)),
    "tail-half": (tail(0.5), GaussianDP(1.0)),
    "tail-alpha": (tail(ALPHA), GaussianDP(1.0)),
}
POINTS: dict[str, tuple[Leak, Claim]] = {
    "randomized-response": (revealed(1.0, 0.0, 1.0), PureDP(1.0)),
    "fair-coins": (revealed(0.0, 0.0, 1.0), PureDP(0.0)),
    "reveal-all": (revealed(1.0, 0.15, 1.0), ApproxDP(1.0, 0.15)),
    "reveal-a-tenth": (revealed(1.0, 0.02, 0.1), ApproxDP(1.0, 0.02)),
    "name-and-shame": (revealed(1.0, 1e-3, 0.0), ApproxDP(1.0, 1e-3)),
}


def accusations(test: Test, leak: Leak, claim: Claim) -> int:
    """How many runs refute the claim or give a bound that is not below the truth."""
    found = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([4, seed])
        bits = rng.random(CANARIES) < 0.5
        finding = test(leak(bits, rng), bits, claim, ALPHA)
        assert finding.lower_bound is not None
        strength: float = claim.strength  # type: ignore[attr-defined]
        assert finding.refuted or finding.lower_bound < strength or strength == 0.0
        found += finding.refuted
    return found


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 58
    assert power(RUNS, ALPHA, 0.53) >= 0.99


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("test", [main_finding, three_runs])
def test_canaries_on_a_gaussian_claim_are_rarely_accused(name: str, test: Test) -> None:
    assert accusations(test, *CURVES[name]) <= most_accusations(RUNS, ALPHA)


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("test", [stopped_wealth, right_guesses, error_recursion, three_runs])
def test_canaries_on_a_point_are_rarely_accused(name: str, test: Test) -> None:
    assert accusations(test, *POINTS[name]) <= most_accusations(RUNS, ALPHA)


def test_a_test_that_takes_canaries_for_independent_is_caught() -> None:
    """The likelihood ratio of a shift of 2 against the claim's 1, multiplied over canaries."""
    refuted = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([5, seed])
        bits = rng.random(CANARIES) < 0.5
        losses_seen = np.where(bits, 1.0, -1.0) * tail(0.5)(bits, rng)
        density = [np.exp(-0.5 * (losses_seen / mu - mu / 2.0) ** 2) / mu for mu in (1.5, 1.0)]
        refuted += float(np.log(density[0] / density[1]).sum()) > np.log(1.0 / ALPHA)
    assert refuted > most_accusations(RUNS, ALPHA)
