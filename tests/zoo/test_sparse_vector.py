"""The sparse vector technique: exact distributions, and the epsilons by quadrature."""

import dataclasses
import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from exact import (
    DRAWS,
    LUCK,
    Floats,
    assert_counts,
    assert_distributed,
    draw,
    gauss_legendre,
)
from scipy import stats

from dpaudit.neighbours import query_answers
from dpaudit.zoo import SVT1, SVT2, SVT3, SVT4, SVT5, SVT6, NumericalSVT

PAIR = ([1.0] * 5 + [0.0] * 5, [0.0] * 5 + [1.0] * 5)
STRETCHES = ([1.0, 1.0, 1.0, 1.0, 0.0] * 2, [0.0, 0.0, 0.0, 0.0, 1.0] * 2)  # of two aboves
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


def largest_log_ratio(
    probabilities: Callable[[list[float]], Floats],
    pair: tuple[list[float], list[float]] = PAIR,
) -> float:
    return float(np.max(np.abs(np.log(probabilities(pair[0]) / probabilities(pair[1])))))


def some_neighbours() -> list[tuple[list[float], list[float]]]:
    """Pairs of ten answers, extreme ones and random ones."""
    relation, rng = query_answers(10), np.random.default_rng(5)
    found = [*islice(relation.edge_pairs(), 3), *(relation.random_pair(rng) for _ in range(3))]
    return [(list(map(float, pair.data)), list(map(float, pair.neighbour))) for pair in found]


FIRST_ABOVE_SCALES = {
    SVT1(): (2.0, 4.0),
    SVT2(cutoff=1): (2.0, 4.0),
    SVT3(): (2.0, 2.0),
    SVT4(): (4.0, 4 / 3),
    NumericalSVT(): (4.0, 8.0),
}  # of the noise on the threshold and on the queries, for epsilon = cutoff = 1


@pytest.mark.parametrize("mechanism", FIRST_ABOVE_SCALES, ids=repr)
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_above(mechanism: Any, side: int) -> None:
    outputs = draw(mechanism, PAIR[side])
    assert outputs.shape == (DRAWS, 10)
    codes = outputs.dtype == np.int8
    above = outputs == 1 if codes else np.isfinite(outputs)
    below = outputs == 0 if codes else np.isneginf(outputs)
    assert np.all(above.sum(axis=1) <= 1)
    place = np.where(above.any(axis=1), np.argmax(above, axis=1), 10)
    np.testing.assert_array_equal(below, np.arange(10) < place[:, None])  # then nothing
    exact = first_above(PAIR[side], *FIRST_ABOVE_SCALES[mechanism])
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


def two_aboves(answers: list[float]) -> Floats:
    """`Pr[the aboves of SVT2 are queries i < j]`, 10 for none; its noise is Lap(4) and Lap(8)."""
    first = first_above(answers, 4.0, 8.0)
    after = [first_above(answers[place + 1 :], 4.0, 8.0) for place in range(10)]
    return np.concatenate([first[10:], *(first[i] * second for i, second in enumerate(after))])


@pytest.mark.parametrize("side", [0, 1])
def test_the_two_aboves_of_svt2(side: int) -> None:
    outputs = draw(SVT2(), STRETCHES[side])
    above = outputs == 1
    assert np.all(above.sum(axis=1) <= 2)
    done = np.cumsum(above, axis=1) - above >= 2
    np.testing.assert_array_equal(outputs == -1, done)
    first = np.where(above.any(axis=1), np.argmax(above, axis=1), 10)
    last = 9 - np.argmax(above[:, ::-1], axis=1)
    second = np.where(above.sum(axis=1) == 2, last, 10)
    ways = [(10, 10), *((i, j) for i in range(10) for j in range(i + 1, 11))]
    observed = [np.count_nonzero((first == i) & (second == j)) for i, j in ways]
    assert_counts(np.array(observed), two_aboves(STRETCHES[side]))


def test_svt2_keeps_its_claim() -> None:
    assert 0.81 < largest_log_ratio(two_aboves, STRETCHES) <= 1
    for pair in some_neighbours():
        assert largest_log_ratio(two_aboves, pair) <= 1


def test_the_epsilon_of_svt2_is_reached() -> None:
    """Both stretches lose `epsilon / 2`: high answers below, then one above; see `SVT1`."""
    high = 80.0
    here, there = (
        first_above([below] * 9 + [above], 4.0, 8.0)[9]
        for below, above in ((high, 0.0), (high + 1, -1.0))
    )
    assert 2 * math.log(here / there) == pytest.approx(1.0, abs=1e-6)


def test_the_answer_that_the_numerical_one_releases_has_noise_of_its_own() -> None:
    """Whatever passed: an answer is above by luck here, and its release does not show it."""
    outputs = draw(NumericalSVT(threshold=9.0), [1.0, 1.0])
    first, second = (outputs[:, place][np.isfinite(outputs[:, place])] for place in (0, 1))
    assert_distributed(first, stats.laplace(1, 2).cdf)
    assert_distributed(second, stats.laplace(1, 2).cdf)
    mechanism = NumericalSVT(answer_epsilon=0.1, cutoff=2, sensitivity=3.0)
    assert_distributed(draw(mechanism, [9e3, 9e3])[:, 1], stats.laplace(9e3, 60).cdf)


def released(answers: list[float]) -> Floats:
    """The density of a release in place i at some values, then `Pr[none]`."""
    places = first_above(answers, 4.0, 8.0)
    values = np.linspace(-2, 3, 11)
    density = places[:-1, None] * stats.laplace.pdf(values, np.array(answers)[:, None], 2)
    return np.append(density, places[-1])


def test_the_numerical_one_keeps_its_claim() -> None:
    assert 0.93 < largest_log_ratio(released) <= 1
    for pair in some_neighbours():
        assert largest_log_ratio(released, pair) <= 1


def test_the_epsilon_of_the_numerical_one_is_reached() -> None:
    """As for `SVT1`, and the released answer moves away from a value above it: 1/4 + 1/4 + 1/2."""
    high, value = 80.0, 2.0
    data, neighbour = [high] * 9 + [0.0], [high + 1] * 9 + [-1.0]
    here, there = (
        first_above(answers, 4.0, 8.0)[9] * stats.laplace.pdf(value, answers[9], 2)
        for answers in (data, neighbour)
    )
    assert math.log(here / there) == pytest.approx(NumericalSVT().epsilon, abs=1e-6)


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
    for mechanism in (SVT1(cutoff=3), SVT2(cutoff=3), SVT4(cutoff=3)):
        outputs = draw(mechanism, [99.0, -9e9, 9e9, 9e9, 9e9], 100)
        np.testing.assert_array_equal(outputs, [[1, 0, 1, 1, -1]] * 100)
    for numeric in (SVT3(cutoff=2), NumericalSVT(cutoff=2)):
        outputs = draw(numeric, [9e9, -9e9, 9e9, 9e9], 100)
        np.testing.assert_array_equal(np.isnan(outputs), [[False, False, False, True]] * 100)
        assert np.all(np.isneginf(outputs[:, 1]))


def test_the_noise_of_the_sparse_vectors_has_the_published_scales() -> None:
    """The threshold's and the queries' scales, with another epsilon, cutoff and sensitivity."""
    answers, epsilon, sensitivity = [0.0], 0.5, 3.0
    published: dict[Any, tuple[float, float]] = {
        SVT1(epsilon, cutoff=2, sensitivity=sensitivity): (12.0, 48.0),
        SVT2(epsilon, cutoff=2, sensitivity=sensitivity): (24.0, 48.0),
        SVT3(epsilon, cutoff=2, sensitivity=sensitivity): (12.0, 24.0),
        SVT4(epsilon, cutoff=2, sensitivity=sensitivity): (24.0, 8.0),
        SVT6(epsilon, sensitivity=sensitivity): (12.0, 12.0),
        NumericalSVT(threshold_epsilon=0.1, query_epsilon=0.5, cutoff=2, sensitivity=sensitivity): (
            30.0,
            24.0,
        ),
    }
    edges = np.unique([*np.linspace(-1000, 1000, 2001), *np.linspace(-2, 2, 9)])
    nodes, weights = gauss_legendre(edges)
    for mechanism, (bar_scale, query_scale) in published.items():
        outputs = draw(dataclasses.replace(mechanism, threshold=30.0), answers)[:, 0]
        passes = stats.laplace.sf(30.0 + nodes, 0, query_scale)
        exact = float(np.sum(weights * stats.laplace.pdf(nodes, 0, bar_scale) * passes))
        above = outputs == 1 if outputs.dtype == np.int8 else np.isfinite(outputs)
        hits = int(np.count_nonzero(above))
        assert stats.binomtest(hits, DRAWS, exact).pvalue > LUCK, mechanism


def test_svt2_gives_every_stretch_the_same_noise() -> None:
    """Two answers far apart: the second meets a threshold that the first says nothing about."""
    outputs = draw(SVT2(0.5, 30.0, sensitivity=3.0), [9e9, 0.0])
    nodes, weights = gauss_legendre(np.unique([*np.linspace(-1000, 1000, 2001), -30.0]))
    passes = stats.laplace.sf(30.0 + nodes, 0, 48)
    exact = float(np.sum(weights * stats.laplace.pdf(nodes, 0, 24) * passes))
    assert stats.binomtest(int(np.count_nonzero(outputs[:, 1] == 1)), DRAWS, exact).pvalue > LUCK
