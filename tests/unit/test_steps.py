"""Audits step by step, and scores of whole trainings, each formula beside a simulation."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import kstest, norm

from dpaudit.arrays import Floats, Labels
from dpaudit.claims import GaussianDP
from dpaudit.errors import InvalidSamples
from dpaudit.results import Null
from dpaudit.training.scores import banded_score, matrix_claim, matrix_score, subsampled_score
from dpaudit.training.steps import StepAudit, bet_on_steps

CLAIM = GaussianDP(1.0)


def training(steps: int, seed: int, *, noise: float = 1.0) -> tuple[Floats, Labels]:
    """What a correct training releases: its canary, and noise that is fresh at every step."""
    rng = np.random.default_rng(seed)
    inserted = rng.random(steps) < 0.5
    return inserted + noise * rng.normal(size=steps), inserted


@pytest.mark.parametrize("noise", [1.0, None])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_same_noise_at_every_step_is_found_within_a_hundred(
    noise: float | None, kind: type
) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        inserted = rng.random(100) < 0.5
        observations: Floats = np.asarray(inserted + rng.normal(), dtype=kind)
        finding, trace, _ = bet_on_steps(observations, inserted, CLAIM, alpha=1e-6, noise=noise)
        assert finding.refuted
        assert finding.null is Null.EVERY_STEP
        assert trace.refuted_after is not None
        assert trace.refuted_after == trace.points[-1][0] < 100


def test_noise_that_comes_twice_is_found() -> None:
    rng = np.random.default_rng(3)
    inserted = rng.random(400) < 0.5
    observations = inserted + np.repeat(rng.normal(size=200), 2)
    finding, *_ = bet_on_steps(observations, inserted, CLAIM, alpha=1e-3)
    assert finding.refuted


def test_a_third_of_the_noise_is_found_and_the_right_noise_is_not() -> None:
    little, inserted = training(200, seed=4, noise=0.3)
    assert bet_on_steps(little, inserted, CLAIM, alpha=1e-4, noise=1.0)[0].refuted
    right, inserted = training(100, seed=5)
    assert not bet_on_steps(right, inserted, CLAIM, alpha=1e-4, noise=1.0)[0].refuted


def test_a_loop_that_sees_step_by_step_finds_what_the_comparison_finds() -> None:
    observations, inserted = training(60, seed=6, noise=0.2)
    audit = StepAudit(CLAIM, alpha=1e-4, noise=1.0)
    for observation, label in zip(observations, inserted, strict=True):
        state = audit.see(observation, label)
        if state.refuted:
            break
    finding, trace, _ = bet_on_steps(observations, inserted, CLAIM, alpha=1e-4, noise=1.0)
    assert (state, audit.trace) == (finding, trace)


def test_units_are_those_of_the_shift() -> None:
    observations, inserted = training(50, seed=7)
    plain, *_ = bet_on_steps(observations, inserted, CLAIM, noise=1.0)
    scaled, *_ = bet_on_steps(-4.0 * observations, inserted, CLAIM, noise=4.0, shift=-4.0)
    assert scaled.log_evidence == pytest.approx(plain.log_evidence)


def test_several_canaries_a_step_count_as_one_payoff_unless_independent() -> None:
    rng = np.random.default_rng(8)
    inserted = rng.random((30, 6)) < 0.5
    observations = inserted + 0.25 * rng.normal(size=(30, 6))
    averaged, *_ = bet_on_steps(observations, inserted, CLAIM, alpha=1e-9)
    product, *_ = bet_on_steps(observations, inserted, CLAIM, alpha=1e-9, together="independent")
    assert averaged.null is Null.EVERY_STEP
    assert product.null is Null.INDEPENDENT_CANARIES
    assert product.log_evidence > averaged.log_evidence
    assert averaged.ceiling is not None
    assert product.ceiling is not None
    assert averaged.ceiling < product.ceiling


@pytest.mark.parametrize("coin", [0.1, 0.8])
def test_a_coin_that_is_not_fair_is_made_fair(coin: float) -> None:
    """A bettor that always guesses the likelier label wins nothing from the coin alone."""
    rng = np.random.default_rng(9)
    inserted = rng.random(300) < coin
    nothing, *_ = bet_on_steps(rng.normal(size=300), inserted, GaussianDP(0.0), coin=coin, rng=1)
    assert not nothing.refuted
    leak = inserted + 0.1 * rng.normal(size=300)
    finding, *_ = bet_on_steps(leak, inserted, GaussianDP(0.2), coin=coin, rng=2)
    assert finding.refuted
    assert finding.guesses < 200


def test_what_is_no_training_is_refused() -> None:
    audit = StepAudit(CLAIM)
    audit.see([0.1, 0.2], [1, 0])
    with pytest.raises(InvalidSamples, match="as many canaries as the first, 2, got 1 at step 2"):
        audit.see(0.1, 1)
    with pytest.raises(InvalidSamples, match=r"\(steps, canaries\)"):
        bet_on_steps(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), CLAIM)
    for settings in ({"coin": 1.0}, {"shift": 0.0}, {"together": "both"}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            StepAudit(CLAIM, **settings)


def test_the_subsampled_score_is_the_log_likelihood_ratio() -> None:
    """Against the densities of a mixture, and against the mean of its inverse: 1 if in."""
    rng = np.random.default_rng(10)
    rate, sigma = 0.2, 0.8
    sampled = rng.random((100_000, 5)) < rate
    observed = sampled + sigma * rng.normal(size=sampled.shape)
    score = subsampled_score(observed, rate, sigma)
    mixture = rate * norm.pdf(observed, 1.0, sigma) + (1 - rate) * norm.pdf(observed, 0.0, sigma)
    ratio = np.log(mixture / norm.pdf(observed, 0.0, sigma)).sum(axis=1)
    np.testing.assert_allclose(score, ratio, atol=1e-9)
    assert np.exp(-score).mean() == pytest.approx(1.0, abs=0.02)
    out = subsampled_score(sigma * rng.normal(size=sampled.shape), rate, sigma)
    assert np.exp(out).mean() == pytest.approx(1.0, abs=0.05)
    total = observed.sum(axis=1)
    others = sigma * rng.normal(size=sampled.shape)
    assert auc(score, subsampled_score(others, rate, sigma)) > auc(total, others.sum(axis=1))


def auc(first: Floats, second: Floats) -> float:
    """The chance that one of the first is larger than one of the second."""
    ranks = np.argsort(np.argsort(np.concatenate([first, second]))) + 1.0
    number = len(first)
    return float((ranks[:number].mean() - (number + 1) / 2) / len(second))


def test_a_canary_in_every_batch_has_the_plain_score() -> None:
    score = subsampled_score([0.3, 1.7, 0.9], 1.0, 0.5)
    assert score == pytest.approx((0.3 + 1.7 + 0.9 - 1.5) / 0.25)
    with pytest.raises(ValueError, match="rate"):
        subsampled_score([0.3], 0.0, 1.0)
    with pytest.raises(ValueError, match="sigma"):
        subsampled_score([0.3], 0.5, 0.0)


@pytest.mark.parametrize("bit", [0, 1])
def test_the_matrix_score_is_normal_around_the_norm(bit: int) -> None:
    """Banded and full strategies, by the law of 20,000 simulated trainings."""
    rng = np.random.default_rng(11)
    steps, sigma = 6, 1.5
    banded = np.eye(steps) + 0.5 * np.eye(steps, k=-1)
    prefix = np.tril(np.ones((steps, steps))) ** 0.5
    taking_part = np.array([1.0, 0, 0, 1.0, 0, 0])
    for strategy in (banded, prefix):
        noise = sigma * rng.normal(size=(20_000, steps)) @ np.linalg.inv(strategy).T
        score = matrix_score(taking_part * bit + noise, strategy, taking_part)
        norm_of = float(np.linalg.norm(strategy @ taking_part))
        assert kstest((score - bit * norm_of) / sigma, "norm").pvalue > 1e-6
        assert matrix_claim(strategy, taking_part, sigma).mu == pytest.approx(norm_of / sigma)


def test_the_matrix_score_keeps_all_that_the_noise_shows() -> None:
    """It is the log-likelihood ratio of the whole observation, up to scale and offset."""
    rng = np.random.default_rng(12)
    strategy = np.tril(rng.random((4, 4))) + np.eye(4)
    part, sigma = np.array([1.0, 0.0, 2.0, 1.0]), 0.7
    seen = rng.normal(size=(50, 4))
    precision = strategy.T @ strategy / sigma**2
    ratio = seen @ precision @ part - 0.5 * part @ precision @ part
    size = np.linalg.norm(strategy @ part)
    np.testing.assert_allclose(
        (matrix_score(seen, strategy, part) - size / 2) * size / sigma**2, ratio
    )
    with pytest.raises(ValueError, match="take part"):
        matrix_score(seen, strategy, np.zeros(4))
    assert math.isclose(matrix_claim(np.eye(4), part, 2.0).mu, math.sqrt(6.0) / 2.0)


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_the_banded_score_is_the_log_likelihood_ratio(rate: float) -> None:
    """Against the densities under every way to take part: 2 groups, each of 2 or 3 steps of 5."""
    rng = np.random.default_rng(13)
    strategy = np.diag(rng.random(5) + 0.5) + 0.4 * np.eye(5, k=-1)
    seen, sigma = rng.normal(size=(50, 5)), 0.8
    precision = strategy.T @ strategy / sigma**2
    expected = np.zeros(50)
    for steps in ([0, 2, 4], [1, 3]):
        for taken in product([0.0, 1.0], repeat=len(steps)):
            part = np.zeros(5)
            part[steps] = taken
            chance = math.prod(rate if each else 1.0 - rate for each in taken)
            expected += chance / 2 * np.exp((seen - part / 2) @ precision @ part)
    score = banded_score(seen, strategy, cycle=2, rate=rate, sigma=sigma)
    np.testing.assert_allclose(score, np.log(expected))


def test_the_banded_score_of_one_band_is_the_subsampled_score() -> None:
    seen = np.random.default_rng(14).normal(size=(50, 5))
    score = banded_score(3.0 * seen, np.eye(5) / 3.0, cycle=1, rate=0.3, sigma=0.8)
    np.testing.assert_allclose(score, subsampled_score(3.0 * seen, 0.3, 2.4))


def test_the_banded_score_of_overlapping_columns_needs_a_known_participation() -> None:
    wide = np.tril(np.ones((4, 4)))
    seen = np.random.default_rng(15).normal(size=(50, 4))
    size = np.linalg.norm(wide @ np.ones(4))
    np.testing.assert_allclose(
        banded_score(seen, wide, cycle=1, rate=1.0, sigma=2.0),
        (matrix_score(seen, wide, np.ones(4)) - size / 2) * size / 4.0,
    )
    with pytest.raises(ValueError, match="2 bands at most"):
        banded_score(seen, wide, cycle=2, rate=0.5, sigma=2.0)
