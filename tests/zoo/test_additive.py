"""Counts, sums and means with one noise draw from their exact distribution."""

from collections.abc import Callable
from typing import Any

import pytest
from exact import assert_distributed, draw
from scipy import stats

from dpaudit.zoo import (
    ZOO,
    ClassicalGaussianCount,
    ClassicalGaussianCountTooLoose,
    ClippedSum,
    GaussianCount,
    LaplaceCount,
    NonDPGaussian1,
    NonDPLaplace1,
    gaussian_delta,
)

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
        (ClassicalGaussianCount(0.9, 1e-5), [0.3] * 4, stats.norm(4, 5.383116958450432)),
        (ClassicalGaussianCountTooLoose(8.0, 0.05), [0.3], stats.norm(1, 0.3171585279868416)),
        (NonDPLaplace1(0.5), [0.0, 1.0, 1.0, 1.0], stats.laplace(0.75, 1)),
        (NonDPLaplace1(1.0), [], stats.laplace(0, 2e12)),
        (NonDPGaussian1(0.5), [0.0, 1.0, 1.0, 1.0], stats.norm(0.75, 1)),
        (NonDPGaussian1(1.0), [], stats.norm(0, 2e12)),
    ],
)
def test_noise_on_a_number(mechanism: Callable[..., Any], data: list[float], exact: Any) -> None:
    assert_distributed(draw(mechanism, data), exact.cdf)


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


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 0.999])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.01, 0.5])
def test_the_classical_gaussian_keeps_its_claim_below_epsilon_1(
    epsilon: float, delta: float
) -> None:
    sigma = ClassicalGaussianCount(epsilon, delta).sigma
    assert exact_gaussian_delta(epsilon, sigma) < delta
    assert sigma > GaussianCount(epsilon, delta).sigma


@pytest.mark.parametrize("delta", [1e-5, 0.01, 0.5])
def test_the_classical_gaussian_breaks_every_delta_at_a_large_epsilon(delta: float) -> None:
    sigma = ClassicalGaussianCountTooLoose(100.0, delta).sigma
    assert exact_gaussian_delta(100.0, sigma) > delta
    assert sigma < GaussianCount(100.0, delta).sigma


@pytest.mark.parametrize(
    ("name", "delta_at_the_claim"),
    [("ClassicalGaussianCount", 3.525e-8), ("ClassicalGaussianCountTooLoose", 0.724436)],
)
def test_the_classical_entries_know_their_least_epsilon(
    name: str, delta_at_the_claim: float
) -> None:
    entry = ZOO[name]
    mechanism: Any = entry.factory()
    at_the_claim = exact_gaussian_delta(entry.claim.epsilon, mechanism.sigma)
    assert float(at_the_claim) == pytest.approx(delta_at_the_claim, rel=1e-4)
    assert entry.keeps_claim == (at_the_claim <= mechanism.delta)
    at_the_least = exact_gaussian_delta(entry.true_epsilon or 0.0, mechanism.sigma)
    assert float(at_the_least) == pytest.approx(mechanism.delta, rel=1e-12)
