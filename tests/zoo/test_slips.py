"""Mistakes of the code: exact distributions, and what an output gives away."""

import math
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, LUCK, assert_distributed, draw, gauss_legendre
from scipy import stats

from dpaudit import Verdict, audit
from dpaudit.mechanism import as_mechanism
from dpaudit.zoo import ZOO, DPLaplace, FixedSeed, RaisesOnEmpty, RareLeak


@pytest.mark.parametrize("name", ["FixedSeed", "RareLeak", "RaisesOnEmpty"])
def test_no_slip_has_an_epsilon(name: str) -> None:
    assert ZOO[name].true_epsilon == math.inf


def test_the_noise_of_a_fixed_seed_is_known() -> None:
    mechanism = FixedSeed(0.5)
    noise = draw(mechanism, [], 1)[0]
    assert abs(noise) > 0.01  # it does add noise
    for records in range(5):
        for size, rng in ((1, np.random.default_rng(1)), (7, np.random.default_rng(2))):
            outputs = mechanism([0.5] * records, size, rng)
            np.testing.assert_array_equal(outputs, np.full(size, records + noise))


def test_the_noise_of_a_fixed_seed_has_the_right_scale() -> None:
    small, large = (draw(FixedSeed(epsilon), [], 1)[0] for epsilon in (1.0, 0.1))
    assert large == pytest.approx(10 * small)


@pytest.mark.parametrize("mechanism", [RareLeak(), RareLeak(0.5, probability=0.25)], ids=repr)
def test_a_rare_leak_is_the_true_count(mechanism: RareLeak) -> None:
    outputs = draw(mechanism, [0.5] * 4)
    leaks = outputs == 4  # noise is never exactly 0
    hits = int(np.count_nonzero(leaks))
    assert stats.binomtest(hits, DRAWS, mechanism.probability).pvalue > LUCK
    assert hits > 0
    assert_distributed(outputs[~leaks], stats.laplace(4, 1 / mechanism.epsilon).cdf)


@pytest.mark.parametrize("probability", [1e-4, 0.25])
def test_the_delta_of_a_rare_leak_is_its_probability(probability: float) -> None:
    """The excess of the density, plus the true count, which the other side never gives."""
    turn = (3 + 4 + 0.9) / 2  # where the log-ratio passes the level 0.9
    outputs, weights = gauss_legendre(np.unique([*np.linspace(-40, 44, 841), 3, 4, turn]))
    here, there = ((1 - probability) * stats.laplace.pdf(outputs, n, 1) for n in (4, 3))
    for level in (1.0, 1.5, 20.0):
        for first, second in ((here, there), (there, here)):
            excess = weights @ np.maximum(0, first - math.exp(level) * second)
            assert excess + probability == pytest.approx(probability, rel=1e-9)
    excess = weights @ np.maximum(0, here - math.exp(0.9) * there)
    exact = (1 - probability) * -math.expm1((0.9 - 1) / 2)
    assert excess == pytest.approx(exact, rel=1e-9)


def test_a_mean_of_some_records_is_that_of_the_honest_mechanism() -> None:
    for data in ([0.0], [0.0, 1.0], [0.5] * 6):
        np.testing.assert_array_equal(
            draw(RaisesOnEmpty(0.5), data, 1000), draw(DPLaplace(0.5), data, 1000)
        )


@pytest.mark.parametrize("data", [[], np.array([])], ids=["list", "array"])
def test_a_mean_of_no_records_raises(data: Any) -> None:
    with pytest.raises(ValueError, match="a mean needs at least one record, got none"):
        as_mechanism(RaisesOnEmpty()).draw(data, 1, np.random.default_rng(1))


def test_an_audit_finds_noise_that_is_left_out_three_times_in_a_thousand() -> None:
    """The null is the claim, refuted by chance at most once in 1e6 audits.

    The alternative leaks in 0.003 of the draws; 300 audits with other seeds refuted it 300 times,
    so its power is above 0.98 (Clopper-Pearson at 99%).
    """
    entry = ZOO["RareLeak"]
    found = audit(RareLeak(probability=0.003), entry.claim, [entry.pair], samples=300_000, rng=1)
    assert found.verdict is Verdict.REFUTED
