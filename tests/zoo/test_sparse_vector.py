"""The sparse vector technique: exact distributions, and the epsilons by quadrature."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, LUCK, Floats, assert_counts, draw, gauss_legendre
from scipy import stats

from dpaudit.mechanisms import (
    SVT1,
    SVT3,
    SVT4,
    SVT5,
    SVT6,
)

PAIR = ([1.0] * 5 + [0.0] * 5, [0.0] * 5 + [1.0] * 5)
BAR_NODES, BAR_WEIGHTS = gauss_legendre(
    np.unique([*np.linspace(-250, 250, 1001), *np.linspace(-12, 12, 97)])
)


def first_above(answers: list[float], bar_scale: float, query_scale: float) -> Floats:
    """`Pr[the first above is query i]` for each i, then `Pr[none]`; the threshold is 0.5."""
    bar = stats.laplace.pdf(BAR_NODES, 0, bar_scale) * BAR_WEIGHTS
    found = []
    for answer in answers:
        gap = 0.5 + BAR_NODES - answer
        found.append(float(np.sum(bar * stats.laplace.sf(gap, 0, query_scale))))
        bar = bar * stats.laplace.cdf(gap, 0, query_scale)
    return np.array([*found, float(np.sum(bar))])


def largest_log_ratio(probabilities: Callable[[list[float]], Floats]) -> float:
    return float(np.max(np.abs(np.log(probabilities(PAIR[0]) / probabilities(PAIR[1])))))


def split(mechanism: SVT1 | SVT3 | SVT4) -> tuple[float, float]:
    """The scales of the noise on the threshold and on the queries, for epsilon = cutoff = 1."""
    return {"SVT1": (2.0, 4.0), "SVT3": (2.0, 2.0), "SVT4": (4.0, 4 / 3)}[mechanism.name]


@pytest.mark.parametrize("mechanism", [SVT1(), SVT3(), SVT4()], ids=repr)
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_above(mechanism: SVT1 | SVT3 | SVT4, side: int) -> None:
    outputs = draw(mechanism, PAIR[side])
    assert outputs.shape == (DRAWS, 10)
    above = outputs == 1 if mechanism.name != "SVT3" else np.isfinite(outputs)
    below = outputs == 0 if mechanism.name != "SVT3" else np.isneginf(outputs)
    assert np.all(above.sum(axis=1) <= 1)
    place = np.where(above.any(axis=1), np.argmax(above, axis=1), 10)
    np.testing.assert_array_equal(below, np.arange(10) < place[:, None])  # then nothing
    exact = first_above(PAIR[side], *split(mechanism))
    assert_counts(np.bincount(place, minlength=11), exact)


def test_the_answer_that_svt3_releases() -> None:
    """With one query: `Pr[nu <= x, released] = int pdf(v) Pr[rho <= 1 + v - 0.5] dv`."""
    outputs = draw(SVT3(), [1.0])[:, 0]
    noise, weights = gauss_legendre(np.linspace(-80, 80, 1281))
    density = stats.laplace.pdf(noise, 0, 2) * stats.laplace.cdf(0.5 + noise, 0, 2) * weights
    for most in (-3.0, -1.0, 0.0, 2.0, 5.0):
        exact = float(np.sum(density[noise <= most]))
        hits = int(np.count_nonzero(np.isfinite(outputs) & (outputs <= 1.0 + most)))
        assert stats.binomtest(hits, DRAWS, exact).pvalue > LUCK


def test_svt3_breaks_its_claim_on_its_pair() -> None:
    """Four below, then a very low answer: `e^2.5` times likelier where those five are 0."""

    def density(answer: float, released: float) -> float:
        """Of `released` in fifth place after four below, all five queries with this answer."""
        bar, weights = gauss_legendre(np.linspace(released - 0.5 - 150, released - 0.5, 301))
        below = stats.laplace.cdf(0.5 + bar - answer, 0, 2) ** 4
        passed = float(np.sum(weights * stats.laplace.pdf(bar, 0, 2) * below))
        return passed * float(stats.laplace.pdf(released - answer, 0, 2))

    assert math.log(density(0.0, -3.0) / density(1.0, -3.0)) == pytest.approx(2.5, abs=1e-6)


def test_svt1_keeps_its_claim_on_its_pair_and_svt4_does_not() -> None:
    assert 0.87 < largest_log_ratio(lambda answers: first_above(answers, 2.0, 4.0)) <= 1
    assert 1.69 < largest_log_ratio(lambda answers: first_above(answers, 4.0, 4 / 3)) <= 1.75


@pytest.mark.parametrize(
    ("bar_scale", "query_scale", "exact"), [(2.0, 4.0, 1.0), (4.0, 4 / 3, 1.75)]
)
def test_the_epsilons_of_svt1_and_svt4_are_reached(
    bar_scale: float, query_scale: float, exact: float
) -> None:
    """High answers below lift the noisy threshold out of all kinks: the bound is met in the limit.

    Between the neighbours the answers below move up by 1 and the one above down by 1.
    """
    high = 40.0
    data, neighbour = [high] * 9 + [0.0], [high + 1] * 9 + [-1.0]
    here = first_above(data, bar_scale, query_scale)[9]
    there = first_above(neighbour, bar_scale, query_scale)[9]
    assert math.log(here / there) == pytest.approx(exact, abs=1e-6)


def svt6_counts(answers: list[float]) -> Floats:
    """`Pr[i of the first five above, j of the last five above]`."""
    bar = stats.laplace.pdf(BAR_NODES, 0, 2) * BAR_WEIGHTS
    halves = []
    for answer in (answers[0], answers[-1]):
        above = stats.laplace.sf(0.5 + BAR_NODES - answer, 0, 2)
        halves.append(stats.binom.pmf(np.arange(6)[:, None], 5, above))
    table: Floats = np.einsum("ik,jk,k->ij", halves[0], halves[1], bar)
    return table


@pytest.mark.parametrize("side", [0, 1])
def test_svt6_counts_of_aboves(side: int) -> None:
    outputs = draw(SVT6(), PAIR[side])
    assert set(np.unique(outputs).tolist()) == {0, 1}
    first, last = outputs[:, :5].sum(axis=1), outputs[:, 5:].sum(axis=1)
    observed = np.bincount(6 * first + last, minlength=36).reshape(6, 6)
    assert_counts(observed, svt6_counts(PAIR[side]))


def test_svt6_breaks_its_claim_on_its_pair() -> None:
    assert 4.0 < largest_log_ratio(svt6_counts) <= 5.0


@pytest.mark.parametrize("side", [0, 1])
def test_svt5_tells_the_sides_apart(side: int) -> None:
    """One noisy threshold for all: nothing above, the ones above (one side only), all above."""
    outputs = draw(SVT5(), PAIR[side])
    bar = stats.laplace(0.5, 2)
    ways = np.array([[0] * 10, PAIR[side], [1] * 10])
    observed = np.array([np.count_nonzero((outputs == way).all(axis=1)) for way in ways])
    assert observed.sum() == DRAWS  # so the other side's middle way never comes
    assert_counts(observed, np.array([bar.sf(1), bar.cdf(1) - bar.cdf(0), bar.cdf(0)]))


def test_a_larger_cutoff_stops_later() -> None:
    for mechanism in (SVT1(cutoff=3), SVT4(cutoff=3)):
        outputs = draw(mechanism, [99.0, -9e9, 9e9, 9e9, 9e9], 100)
        np.testing.assert_array_equal(outputs, [[1, 0, 1, 1, -1]] * 100)
    outputs = draw(SVT3(cutoff=2), [9e9, -9e9, 9e9, 9e9], 100)
    np.testing.assert_array_equal(np.isnan(outputs), [[False, False, False, True]] * 100)
    assert np.all(np.isneginf(outputs[:, 1]))


def test_the_noise_of_the_sparse_vectors_has_the_published_scales() -> None:
    """The threshold's and the queries' scales, with another epsilon, cutoff and sensitivity."""
    answers, epsilon, sensitivity = [0.0], 0.5, 3.0
    published: dict[Any, tuple[float, float]] = {
        SVT1(epsilon, cutoff=2, sensitivity=sensitivity): (12.0, 48.0),
        SVT3(epsilon, cutoff=2, sensitivity=sensitivity): (12.0, 24.0),
        SVT4(epsilon, cutoff=2, sensitivity=sensitivity): (24.0, 8.0),
        SVT6(epsilon, sensitivity=sensitivity): (12.0, 12.0),
    }
    edges = np.unique([*np.linspace(-1000, 1000, 2001), *np.linspace(-2, 2, 9)])
    nodes, weights = gauss_legendre(edges)
    for mechanism, (bar_scale, query_scale) in published.items():
        outputs = draw(dataclasses.replace(mechanism, threshold=30.0), answers)[:, 0]
        passes = stats.laplace.sf(30.0 + nodes, 0, query_scale)
        exact = float(np.sum(weights * stats.laplace.pdf(nodes, 0, bar_scale) * passes))
        hits = int(np.count_nonzero(outputs > 0 if mechanism.name != "SVT3" else outputs > -1e300))
        assert stats.binomtest(hits, DRAWS, exact).pvalue > LUCK, mechanism
