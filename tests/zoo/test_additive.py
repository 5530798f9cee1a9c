"""Counts, sums and means with one noise draw from their exact distribution."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, assert_counts, assert_distributed, draw
from scipy import stats

from dpaudit.mechanisms import (
    ClippedSum,
    GaussianCount,
    Geometric,
    LaplaceCount,
    NonDPGaussian1,
    NonDPLaplace1,
)
from dpaudit.mechanisms.additive import gaussian_delta

mpmath: Any = pytest.importorskip("mpmath")


@pytest.mark.parametrize(
    ("mechanism", "data", "exact"),
    [
        (LaplaceCount(1.0), [0.3] * 4, stats.laplace(4, 1)),
        (LaplaceCount(0.1), [], stats.laplace(0, 10)),
        (ClippedSum(1.0), [5.0, -0.5, 0.25], stats.laplace(0.75, 1)),
        (ClippedSum(2.0, bound=3.0), [5.0, -0.5], stats.laplace(2.5, 1.5)),
        (ClippedSum(2.0), [], stats.laplace(0, 0.5)),
        (GaussianCount(1.0, 1e-5), [0.3] * 4, stats.norm(4, 3.730631634816464)),
        (NonDPLaplace1(0.5), [0.0, 1.0, 1.0, 1.0], stats.laplace(0.75, 1)),
        (NonDPLaplace1(1.0), [], stats.laplace(0, 2e12)),
        (NonDPGaussian1(0.5), [0.0, 1.0, 1.0, 1.0], stats.norm(0.75, 1)),
        (NonDPGaussian1(1.0), [], stats.norm(0, 2e12)),
    ],
)
def test_noise_on_a_number(mechanism: Callable[..., Any], data: list[float], exact: Any) -> None:
    assert_distributed(draw(mechanism, data), exact.cdf)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_geometric_noise(epsilon: float) -> None:
    outputs = draw(Geometric(epsilon), [0.0] * 3)
    assert outputs.dtype.kind == "i"
    base = math.exp(-epsilon)
    values = np.arange(-5, 6)
    inside = (1 - base) / (1 + base) * base ** np.abs(values)
    observed = np.array([np.count_nonzero(outputs - 3 == value) for value in values])
    assert_counts(
        np.append(observed, DRAWS - observed.sum()), np.append(inside, 1 - math.fsum(inside))
    )
    assert inside[5] / inside[6] == pytest.approx(math.exp(epsilon))


def exact_gaussian_delta(epsilon: float, sigma: float) -> Any:
    with mpmath.workdps(40):
        e, s = mpmath.mpf(epsilon), mpmath.mpf(sigma)
        first, second = mpmath.ncdf(1 / (2 * s) - e * s), mpmath.ncdf(-1 / (2 * s) - e * s)
        return first - mpmath.exp(e) * second


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.01, 0.5])
def test_the_gaussian_sits_exactly_on_its_claim(epsilon: float, delta: float) -> None:
    sigma = GaussianCount(epsilon, delta).sigma
    assert float(exact_gaussian_delta(epsilon, sigma)) == pytest.approx(delta, rel=1e-9)
    assert gaussian_delta(epsilon, sigma) <= delta < gaussian_delta(epsilon, sigma * (1 - 1e-12))
