"""The count of right guesses against scipy and against a brute search over what delta allows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from dpaudit.claims import ApproxDP, GaussianDP, PureDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.training.counted_guesses import fewest_right
from dpaudit.training.right_guesses import RightGuesses, right_guesses, tail_bound


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 4.0])
def test_pure_claims_have_the_binomial_tail(epsilon: float) -> None:
    p = 1.0 / (1.0 + math.exp(-epsilon))
    for right in range(41):
        bound = tail_bound(epsilon, 0.0, canaries=1_000, guesses=40, right=right)
        assert bound == pytest.approx(float(binom.sf(right - 1, 40, p)), rel=1e-8)
        assert bound >= min(1.0, float(binom.sf(right - 1, 40, p)))


@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.01])
def test_delta_adds_what_revealed_canaries_can(delta: float) -> None:
    """With `i` canaries revealed with probability `p_i`, `sum i p_i <= 2 m delta`: the best `p`.

    The formula gives the value of this linear programme without its limit on `sum p_i`.
    """
    m, guesses, epsilon = 50, 20, 1.0
    chance = math.e / (1.0 + math.e)
    for right in range(10, 21):
        tail = float(binom.sf(right - 1, guesses, chance))
        gains = [float(binom.sf(right - 1 - i, guesses, chance)) - tail for i in range(1, m + 1)]
        solved = linprog(
            [-gain for gain in gains], A_ub=[list(range(1, m + 1))], b_ub=[2 * m * delta]
        )
        assert solved.success
        bound = tail_bound(epsilon, delta, canaries=m, guesses=guesses, right=right)
        assert bound == pytest.approx(min(1.0, tail - float(solved.fun or 0.0)), rel=1e-6)


def test_revealing_everything_with_probability_delta_keeps_the_bound() -> None:
    for delta in (1e-3, 0.01):
        for right in range(15, 41):
            p = delta + (1.0 - delta) * float(binom.sf(right - 1, 40, math.e / (1.0 + math.e)))
            assert p <= tail_bound(1.0, delta, canaries=40, guesses=40, right=right)


def test_the_fewest_right_guesses_are_where_the_tail_falls_below_alpha() -> None:
    needed = fewest_right(RightGuesses(), PureDP(1.0), canaries=500, guesses=100, alpha=0.05)
    tail = [float(binom.sf(needed - 1 - k, 100, math.e / (1.0 + math.e))) for k in (0, 1)]
    assert tail[0] <= 0.05 < tail[1]


def test_a_finding_bounds_epsilon_at_the_delta_of_the_claim() -> None:
    rng = np.random.default_rng(1)
    bits = rng.random(2_000) < 0.5
    finding = right_guesses(rng.normal(size=2_000) + 3.0 * bits, bits, ApproxDP(1.0, 1e-5))
    assert finding.refuted
    assert finding.lower_bound is not None
    assert finding.ceiling is not None
    assert 1.0 <= finding.lower_bound <= finding.ceiling


def test_curves_are_not_its_business() -> None:
    with pytest.raises(UnsupportedClaim, match="Use error_recursion"):
        right_guesses([1.0, 2.0], np.array([True, False]), GaussianDP(1.0))
