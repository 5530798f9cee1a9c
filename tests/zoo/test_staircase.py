"""The staircase mechanism: its exact distribution, and its epsilon from the density."""

import math

import numpy as np
import pytest
from exact import Floats, assert_distributed, draw, gauss_legendre

from dpaudit.zoo import Staircase

SHAPES = pytest.mark.parametrize(
    ("epsilon", "gamma"), [(1.0, None), (0.1, None), (3.0, None), (1.0, 0.0), (1.0, 0.8), (2.0, 1)]
)


def height(epsilon: float, gamma: float) -> float:
    """The density on the first step: the steps of one side have an area of 1/2."""
    return -math.expm1(-epsilon) / (2 * (gamma + math.exp(-epsilon) * (1 - gamma)))


def density(x: Floats, epsilon: float, gamma: float) -> Floats:
    """Definition (Geng and Viswanath 2014): `e^-epsilon` lower on from gamma, 1 + gamma, ..."""
    steps = np.floor(np.abs(x)) + (np.abs(x) % 1 >= gamma)
    return height(epsilon, gamma) * np.exp(-epsilon * steps)


def distribution(x: Floats, epsilon: float, gamma: float) -> Floats:
    """`Pr[noise <= x]`: whole flights up to |x|, then what is left of the last one."""
    fall, distance = math.exp(-epsilon), np.abs(x)
    flights, rest = np.floor(distance), distance % 1
    flight = gamma + fall * (1 - gamma)
    part = np.minimum(rest, gamma) + fall * np.maximum(0, rest - gamma)
    whole = flight * -np.expm1(-epsilon * flights) / (1 - fall)
    area = height(epsilon, gamma) * (whole + fall**flights * part)
    return np.asarray(0.5 + np.sign(x) * area)


@SHAPES
def test_staircase_noise(epsilon: float, gamma: float | None) -> None:
    mechanism = Staircase(epsilon, gamma=gamma)
    outputs = draw(mechanism, [0.3] * 4)
    step = mechanism.first_step
    assert_distributed(outputs, lambda y: distribution(y - 4, epsilon, step))


@SHAPES
def test_the_distribution_is_that_of_the_density(epsilon: float, gamma: float | None) -> None:
    step = Staircase(epsilon, gamma=gamma).first_step
    edges = np.unique([*range(9), *(np.arange(8) + step)])
    nodes, weights = gauss_legendre(edges)
    area = float(weights @ density(nodes, epsilon, step))
    ends = distribution(np.array([0.0, 8.0]), epsilon, step)
    assert ends[1] - ends[0] == pytest.approx(area, rel=1e-12)


@SHAPES
def test_a_record_more_costs_exactly_epsilon(epsilon: float, gamma: float | None) -> None:
    """Between two steps the density is flat, so a fine grid sees every ratio there is."""
    step = Staircase(epsilon, gamma=gamma).first_step
    y = np.arange(-6, 7, 1 / 512) + 1 / 1024
    ratio = np.log(density(y, epsilon, step) / density(y - 1, epsilon, step))
    assert np.abs(ratio).max() == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_left_out_gamma_is_the_one_of_least_expected_distance(epsilon: float) -> None:
    def expected(gamma: float) -> float:
        edges = np.unique([*range(401), *(np.arange(400) + gamma)])
        nodes, weights = gauss_legendre(edges)
        return float(2 * weights @ (nodes * density(nodes, epsilon, gamma)))

    best = Staircase(epsilon).first_step
    assert best == pytest.approx(1 / (1 + math.exp(epsilon / 2)))
    for other in (0.0, best - 0.01, best + 0.01, 1.0):
        assert expected(best) < expected(other)
