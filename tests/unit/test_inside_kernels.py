"""Noise kernels: densities against closed forms, and `E[exp(-L)] = 1` on their own draws."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpaudit.inside import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Geometric,
    Kernel,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    Vector,
)
from dpaudit.inside.kernels import rounding_of

SCORES, OTHER_SCORES = [1.0, 0.0, 0.5], [0.0, 0.0, 1.0]
CASES = [
    (Laplace(1.0), 0.0, 1.0),
    (Laplace(2.0), np.zeros(3), np.array([1.0, 0.0, 0.5])),
    (Gaussian(1.5), 0.0, 1.0),
    (Gaussian(3.0), np.zeros(4), np.ones(4)),
    (DiscreteLaplace(1.0), 0, 1),
    (DiscreteGaussian(1.5), 0, 1),
    (ExponentialMechanism(epsilon=1.0), SCORES, OTHER_SCORES),
    (PermuteAndFlip(epsilon=1.0), SCORES, OTHER_SCORES),
    (RandomizedResponse(epsilon=1.0), 0, 1),
    (RandomizedResponse(epsilon=1.0, categories=5), 0, 3),
    (Vector((Laplace(1.0), Gaussian(2.0))), [0.0, 0.0], [0.5, 1.0]),
]


@pytest.mark.parametrize(("kernel", "given", "other"), CASES, ids=lambda value: str(value)[:40])
def test_the_mean_of_exp_of_minus_the_loss_is_one(kernel: Kernel, given: Any, other: Any) -> None:
    rng = np.random.default_rng(20)
    ratios = []
    for _ in range(2_000):
        output = kernel.draw(given, rng)
        loss = kernel.log_density(output, given) - kernel.log_density(output, other)
        ratios.append(math.exp(-loss))
    error = float(np.std(ratios)) / math.sqrt(len(ratios))
    assert abs(float(np.mean(ratios)) - 1.0) <= 4.0 * error


def test_a_support_that_moves_leaves_the_mean_at_most_one() -> None:
    rng, noise = np.random.default_rng(1), Geometric(0.5)
    outputs = [noise.draw(0, rng) for _ in range(2_000)]
    losses = [noise.log_density(each, 0) - noise.log_density(each, 1) for each in outputs]
    assert math.inf in losses  # an output of 1 cannot come from 1 + at least 1
    assert np.mean(np.exp(-np.array(losses))) <= 1.0


def test_densities_are_those_of_scipy() -> None:
    assert Laplace(0.7).log_density(1.3, 0.2) == pytest.approx(stats.laplace.logpdf(1.1, scale=0.7))
    assert Gaussian(0.7).log_density(1.3, 0.2) == pytest.approx(stats.norm.logpdf(1.1, scale=0.7))
    assert DiscreteLaplace(2.0).log_density(5, 2) == pytest.approx(stats.dlaplace.logpmf(3, 0.5))
    assert Geometric(0.3).log_density(5, 2) == pytest.approx(stats.geom.logpmf(3, 0.3))
    many = Gaussian(0.7).log_density(np.array([1.3, 0.0]), np.array([0.2, 0.2]))
    one_by_one = Gaussian(0.7).log_density(1.3, 0.2) + Gaussian(0.7).log_density(0.0, 0.2)
    assert many == pytest.approx(one_by_one)


@pytest.mark.parametrize("kernel", [DiscreteGaussian(1.5), DiscreteLaplace(0.8)])
def test_probabilities_of_whole_numbers_add_up_to_one(kernel: Kernel) -> None:
    assert math.fsum(math.exp(kernel.log_density(k, 0)) for k in range(-60, 61)) == pytest.approx(1)


@pytest.mark.parametrize("scores", [[0.0], [3.0, 3.0], SCORES, [-5.0, 2.0, 0.0, 1.0, 1.5]])
def test_permute_and_flip_is_what_its_algorithm_does(scores: list[float]) -> None:
    """Against the sum over all subsets that come before (McKenna and Sheldon 2020)."""
    from itertools import permutations

    chances = np.exp(0.5 * (np.array(scores) - max(scores)))
    exact = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for place in order:
            exact[place] += left * chances[place] / len(orders)
            left *= 1.0 - chances[place]
    kernel = PermuteAndFlip(epsilon=1.0)
    found = [math.exp(kernel.log_density(place, scores)) for place in range(len(scores))]
    assert found == pytest.approx(exact.tolist())


def test_what_cannot_come_out_has_no_density() -> None:
    assert DiscreteLaplace(1.0).log_density(0.5, 0.0) == -math.inf
    assert Laplace(1.0).log_density(1.0, math.nan) == -math.inf
    assert Laplace(1.0).log_density(math.nan, 1.0) == -math.inf
    assert Laplace(1.0).log_density(np.zeros(2), np.zeros(3)) == -math.inf
    assert ExponentialMechanism(epsilon=1.0).log_density(5, SCORES) == -math.inf


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_is_positive(scale: float) -> None:
    with pytest.raises(ValueError, match="scale must be a positive number"):
        Laplace(scale)


def test_rounding_grows_with_the_input() -> None:
    assert float(rounding_of(1e12)) > 1e-4
    assert float(rounding_of(math.nan)) == 0.0
