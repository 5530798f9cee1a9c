"""Noisy gradient descent: exact draws, and the Rényi divergences by quadrature."""

import math
from typing import Any

import numpy as np
import pytest
from exact import Floats, assert_distributed, draw, gauss_legendre
from scipy import stats

from dpaudit.claims import RenyiDP
from dpaudit.errors import InvalidClaim
from dpaudit.zoo import ZOO, GradientDescent, ScaledGD

FAR = 1e6  # a record that is clipped wherever the model goes


def clipped_sum(model: Any, data: list[float], clip: float) -> Any:
    """The sum of the clipped gradients at `model`, one record after the other."""
    total = 0.0 * model
    for record in data:
        total = total + np.minimum(clip, np.maximum(-clip, model - record))
    return total


def next_iterate(mechanism: ScaledGD, model: Any, data: list[float]) -> Any:
    """The distribution of the iterate that follows `model`."""
    rate, clip = mechanism.learning_rate, mechanism.clip
    spread = rate * mechanism.scale * mechanism.noise_multiplier * clip
    return stats.norm(model - rate * clipped_sum(model, data, clip), spread)


def log_density(mechanism: ScaledGD, rows: Floats, data: list[float]) -> Floats:
    models = np.concatenate([np.zeros((len(rows), 1)), rows], axis=1)
    steps = [
        next_iterate(mechanism, before, data).logpdf(after)
        for before, after in zip(models.T[:-1], models.T[1:], strict=True)
    ]
    total: Floats = np.sum(steps, axis=0)
    return total


def divergence(
    mechanism: ScaledGD, order: float, data: list[float], neighbour: list[float]
) -> float:
    """The Rényi divergence of the iterates of one or two steps, by quadrature over them all."""
    nodes, weights = gauss_legendre(np.linspace(-6, 6, 13 if mechanism.steps == 2 else 121))
    grids = np.meshgrid(*[nodes] * mechanism.steps, indexing="ij")
    rows = np.stack([grid.ravel() for grid in grids], axis=1)
    masses = weights if mechanism.steps == 1 else np.outer(weights, weights).ravel()
    first, second = (log_density(mechanism, rows, side) for side in (data, neighbour))
    assert masses @ np.exp(first) == pytest.approx(1, abs=1e-9)
    moment = masses @ np.exp(order * first - (order - 1) * second)
    return math.log(moment) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
@pytest.mark.parametrize("scale", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("multiplier", [1.0, 2.0])
def test_one_step_reaches_its_divergence(order: float, scale: float, multiplier: float) -> None:
    mechanism = ScaledGD(scale, multiplier, learning_rate=0.25)
    exact = order / (2 * (scale * multiplier) ** 2)
    assert mechanism.divergence(order) == pytest.approx(exact, rel=1e-12)
    for data, neighbour in (([10.0], []), ([], [10.0]), ([-1.0, 0.5], [0.5])):
        assert divergence(mechanism, order, data, neighbour) == pytest.approx(exact, rel=1e-6)
    inside = divergence(mechanism, order, [0.5], [])  # its gradient is half of what is allowed
    assert inside == pytest.approx(exact / 4, rel=1e-6)


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_two_steps_reach_their_divergence_and_no_more(order: float) -> None:
    mechanism = ScaledGD(0.8, 2.0, steps=2, learning_rate=0.25)
    exact = 2 * order / (2 * 1.6**2)
    assert mechanism.divergence(order) == pytest.approx(exact, rel=1e-12)
    for data, neighbour in (([FAR], []), ([0.3, -FAR], [0.3])):
        assert divergence(mechanism, order, data, neighbour) == pytest.approx(exact, rel=1e-6)
    for data, neighbour in (([1.0], []), ([0.3, 2.0], [0.3]), ([-0.2], []), ([], [1.5])):
        assert divergence(mechanism, order, data, neighbour) < exact


@pytest.mark.parametrize("mechanism", [ScaledGD(), ScaledGD(0.9, 2.0, 5)], ids=repr)
def test_the_losses_of_the_steps_are_a_gaussian(mechanism: ScaledGD) -> None:
    """`log p/q ~ N(v/2, v)` under P and `N(-v/2, v)` under Q, whose divergence is `order v / 2`."""
    data, neighbour = [0.3, FAR], [0.3]
    variance = mechanism.steps / (mechanism.scale * mechanism.noise_multiplier) ** 2
    for side, middle in ((data, variance / 2), (neighbour, -variance / 2)):
        rows = draw(mechanism, side)
        losses = log_density(mechanism, rows, data) - log_density(mechanism, rows, neighbour)
        assert_distributed(losses, stats.norm(middle, math.sqrt(variance)).cdf)
    assert mechanism.divergence(3.0) == pytest.approx(3.0 * variance / 2, rel=1e-12)


@pytest.mark.parametrize("data", [[], [0.4], [10.0, -0.3, 0.25, -5.0]], ids=str)
def test_every_iterate_follows_from_the_one_before(data: list[float]) -> None:
    """What is left of each step is fresh noise of `0.5 * 3 * 2`."""
    rows = draw(ScaledGD(0.5, 3.0, 4, learning_rate=0.2, clip=2.0), data)
    models = np.concatenate([np.zeros((len(rows), 1)), rows], axis=1)
    noise = (models[:, :-1] - models[:, 1:]) / 0.2 - clipped_sum(models[:, :-1], data, 2.0)
    for step in noise.T:
        assert_distributed(step, stats.norm(0, 3).cdf)
    assert_distributed(noise.sum(axis=1), stats.norm(0, 6).cdf)


def test_gradient_descent_has_all_of_its_noise() -> None:
    honest, whole = GradientDescent(2.0, 3), ScaledGD(1.0, 2.0, 3)
    np.testing.assert_array_equal(draw(honest, [5.0], 100), draw(whole, [5.0], 100))
    for order in (1.5, 2.0, 4.0):
        assert honest.divergence(order) == whole.divergence(order) == honest.claim(order).epsilon


def test_the_developer_claims_what_the_noise_multiplier_says() -> None:
    assert ScaledGD(0.5, 2.0, 3).claim(4.0) == RenyiDP(4.0, 1.5)
    assert ScaledGD(0.5, 2.0, 3).divergence(4.0) == 6.0
    assert ScaledGD(0.5, 2.0, 3).claim() == GradientDescent(2.0, 3).claim() == RenyiDP(2.0, 0.75)


@pytest.mark.parametrize("name", ["GradientDescent", "ScaledGD"])
def test_the_pair_of_an_entry_reaches_its_epsilon(name: str) -> None:
    entry = ZOO[name]
    mechanism: Any = entry.factory()
    scale = 1.0 if entry.keeps_claim else mechanism.scale
    exact = divergence(ScaledGD(scale), 2.0, list(entry.pair.data), list(entry.pair.neighbour))
    assert exact == pytest.approx(entry.true_epsilon, rel=1e-6)
    assert entry.claim == RenyiDP(2.0, 1.0)


def test_a_claim_needs_an_order_above_1() -> None:
    with pytest.raises(InvalidClaim, match="order must be > 1"):
        ScaledGD().claim(order=1.0)
