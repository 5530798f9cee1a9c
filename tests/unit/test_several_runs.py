"""Several runs: e-values multiply, and what turns a p-value into one was fixed before."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.arrays import Floats, Labels
from dpaudit.claims import ApproxDP, Claim, GaussianDP, Profile, PureDP
from dpaudit.errors import InvalidSamples
from dpaudit.training.several_runs import combined_runs, evidence_of
from dpaudit.training.stopped_wealth import stopped_wealth


def run(seed: int, mu: float, count: int = 1_000) -> tuple[Floats, Labels]:
    rng = np.random.default_rng(seed)
    bits = rng.random(count) < 0.5
    return rng.normal(size=count) + mu * bits, bits


@pytest.mark.parametrize("aim", [0.4, 0.05, 1e-3, 1e-7])
def test_the_e_value_of_a_uniform_p_value_has_mean_at_most_one(aim: float) -> None:
    """It is constant between its looks, so the mean is a sum: exact but for rounding."""
    breaks = sorted({1.0, aim, *(10.0 ** (-step / 2.0) for step in range(25))})
    mean = math.fsum(
        (high - low) * math.exp(evidence_of(high, aim))
        for low, high in zip([0.0, *breaks], breaks, strict=False)
    )
    assert 0.97 < mean <= 1.0


def test_smaller_p_values_are_worth_more() -> None:
    values = [evidence_of(p, 0.01) for p in (1.0, 0.5, 0.1, 0.01, 1e-4, 1e-9, 1e-300)]
    assert values == sorted(values)
    assert math.exp(evidence_of(0.01, 0.01)) > 50.0


@pytest.mark.parametrize(
    ("claim", "mu", "runs"),
    [
        (PureDP(1.0), 0.8, 8),
        (ApproxDP(1.0, 1e-5), 0.8, 8),
        (GaussianDP(0.5), 1.0, 8),
        (Profile(GaussianDP(0.5).delta), 1.0, 8),
    ],
    ids=str,
)
def test_runs_find_together_what_none_finds_alone(claim: Claim, mu: float, runs: int) -> None:
    every = [run(seed, mu) for seed in range(runs)]
    assert not any(combined_runs([one], claim, alpha=1e-6).refuted for one in every)
    together = combined_runs(every, claim, alpha=1e-6)
    assert together.refuted
    assert together.log_evidence >= math.log(1e6)
    assert together.guesses > 0


@pytest.mark.parametrize("claim", [PureDP(0.5), GaussianDP(0.3)])
def test_runs_without_a_leak_are_not_accused(claim: Claim) -> None:
    finding = combined_runs([run(seed, 0.0) for seed in range(6)], claim)
    assert not finding.refuted
    assert finding.lower_bound == 0.0
    assert finding.ceiling is not None


def test_bets_end_at_the_run_that_refutes() -> None:
    runs = [run(seed, 20.0) for seed in range(3)]
    finding = combined_runs(runs, PureDP(0.5), alpha=0.05, planned=3)
    assert finding.guesses < 1_000
    assert finding.test == "3 runs, stopped wealth"


def test_the_plan_is_for_the_number_of_runs_planned() -> None:
    runs = [run(seed, 1.0) for seed in range(2)]
    many = combined_runs(runs, GaussianDP(0.5), planned=30)
    two = combined_runs(runs, GaussianDP(0.5))
    assert many.log_evidence != two.log_evidence


def test_one_run_alone_is_the_stopped_wealth_of_a_run() -> None:
    for seed in range(3):
        scores, bits = run(seed, 1.0)
        alone = stopped_wealth(scores, bits, ApproxDP(1.0, 1e-5))
        together = combined_runs([(scores, bits)], ApproxDP(1.0, 1e-5))
        assert together.refuted == alone.refuted
        assert together.log_evidence == pytest.approx(alone.log_evidence)
        assert together.lower_bound == alone.lower_bound


def test_no_run_says_nothing() -> None:
    with pytest.raises(InvalidSamples, match="at least one"):
        combined_runs([], PureDP(1.0))
