"""Report noisy max: exact distributions, and the epsilons by quadrature."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, Floats, assert_counts, assert_distributed, draw, gauss_legendre
from scipy import stats

from dpaudit.neighbours import Pair, query_answers
from dpaudit.zoo import (
    ZOO,
    NoisyMaxExponential,
    NoisyMaxLaplace,
    NoisyMaxValueExponential,
    NoisyMaxValueLaplace,
)

ONES, TWOS = [1.0] * 5, [2.0] * 5
ONE_BELOW = [0.0, 2.0, 2.0, 2.0, 2.0]
UNLIKE = [0.5, -1.0, 2.0, 1.75, -0.25]


def places(family: Any, answers: Any, epsilon: float) -> Floats:
    """`Pr[answer i is the largest] = int f(x - a_i) prod_{j != i} F(x - a_j) dx` for each i."""
    scale = 2 / epsilon
    low, high = min(answers) - 40 * scale, max(answers) + 40 * scale
    nodes, weights = gauss_legendre(np.unique([*np.linspace(low, high, 101), *answers]))
    gaps = nodes - np.asarray(answers)[:, None]
    densities, below = family.pdf(gaps, 0, scale), family.cdf(gaps, 0, scale)
    others = [np.prod(np.delete(below, place, axis=0), axis=0) for place in range(len(answers))]
    found: Floats = (densities * others) @ weights
    return found


def log_value_density(answers: Any, epsilon: float, values: Floats) -> Floats:
    """The log density of the largest answer with Laplace noise: the derivative of `prod_j F`."""
    noise = stats.laplace(0, 2 / epsilon)
    gaps = values - np.asarray(answers)[:, None]
    logs = noise.logcdf(gaps).sum(axis=0)
    hazards = np.exp(noise.logpdf(gaps) - noise.logcdf(gaps)).sum(axis=0)
    summed: Floats = logs + np.log(hazards)
    return summed


def loss(exact: Callable[..., Floats], pair: Pair) -> float:
    """The largest log-ratio of the places' probabilities, in either direction."""
    return float(np.max(np.abs(np.log(exact(pair.data) / exact(pair.neighbour)))))


def some_pairs() -> Iterator[Pair]:
    relation, rng = query_answers(5), np.random.default_rng(5)
    yield from relation.edge_pairs()
    yield from (relation.random_pair(rng) for _ in range(60))


@pytest.mark.parametrize("answers", [ONES, ONE_BELOW, UNLIKE], ids=str)
@pytest.mark.parametrize(
    ("mechanism", "family"),
    [
        (NoisyMaxLaplace(), stats.laplace),
        (NoisyMaxLaplace(0.1), stats.laplace),
        (NoisyMaxLaplace(3.0), stats.laplace),
        (NoisyMaxExponential(), stats.expon),
        (NoisyMaxExponential(0.1), stats.expon),
        (NoisyMaxExponential(3.0), stats.expon),
    ],
)
def test_the_place_of_the_largest(mechanism: Any, family: Any, answers: list[float]) -> None:
    outputs = draw(mechanism, answers)
    assert outputs.dtype.kind == "i"
    observed = np.bincount(outputs, minlength=5)
    assert_counts(observed, places(family, answers, mechanism.epsilon))


@pytest.mark.parametrize("answers", [ONES, ONE_BELOW, UNLIKE], ids=str)
@pytest.mark.parametrize(
    ("mechanism", "noise"),
    [
        (NoisyMaxValueLaplace(), stats.laplace(0, 2)),
        (NoisyMaxValueLaplace(0.1), stats.laplace(0, 20)),
        (NoisyMaxValueExponential(), stats.expon(0, 2)),
        (NoisyMaxValueExponential(0.1), stats.expon(0, 20)),
    ],
    ids=["Laplace", "Laplace 0.1", "exponential", "exponential 0.1"],
)
def test_the_value_of_the_largest(mechanism: Any, noise: Any, answers: list[float]) -> None:
    def cdf(values: Floats) -> Floats:
        product: Floats = np.prod([noise.cdf(values - answer) for answer in answers], axis=0)
        return product

    assert_distributed(draw(mechanism, answers), cdf)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("behind", [0.0, 0.5, 2.0, 7.0])
def test_an_answer_below_four_others_has_its_closed_form(epsilon: float, behind: float) -> None:
    answers = [0.0] + [behind] * 4
    scales = behind * epsilon / 2
    laplace = (49 * math.exp(-scales) - math.exp(-4 * scales)) / 240
    assert places(stats.laplace, answers, epsilon)[0] == pytest.approx(laplace, rel=1e-10)
    exponential = math.exp(-scales) / 5
    assert places(stats.expon, answers, epsilon)[0] == pytest.approx(exponential, rel=1e-10)


def test_the_published_pair_at_a_tenth() -> None:
    pair = Pair(np.array(ONES), np.array(ONE_BELOW))
    laplace = loss(lambda answers: places(stats.laplace, answers, 0.1), pair)
    assert laplace == pytest.approx(0.0946, abs=5e-5)
    exponential = loss(lambda answers: places(stats.expon, answers, 0.1), pair)
    assert exponential == pytest.approx(0.1, rel=1e-10)


@pytest.mark.parametrize(
    ("name", "family"),
    [("NoisyMaxLaplace", stats.laplace), ("NoisyMaxExponential", stats.expon)],
    ids=["Laplace", "exponential"],
)
def test_the_places_reach_their_epsilon_on_their_pair_and_no_more(name: str, family: Any) -> None:
    entry = ZOO[name]
    assert entry.true_epsilon is not None

    def exact(answers: Any) -> Floats:
        return places(family, answers, 1.0)

    assert loss(exact, entry.pair) == pytest.approx(entry.true_epsilon, rel=1e-10)
    assert max(loss(exact, pair) for pair in some_pairs()) <= entry.true_epsilon + 1e-10


def test_far_answers_take_the_places_of_laplace_to_epsilon() -> None:
    """The supremum over answers of any size is epsilon: it is nearer the further one is behind."""
    losses = []
    for behind in (2.0, 3.0, 6.0, 12.0, 30.0):
        data, neighbour = [0.0] + [behind] * 4, [1.0] + [behind - 1] * 4
        here, there = (places(stats.laplace, side, 1.0)[0] for side in (data, neighbour))
        losses.append(math.log(there / here))
    assert losses == sorted(losses)
    assert losses[1] == pytest.approx(ZOO["NoisyMaxLaplace"].true_epsilon, rel=1e-10)
    assert losses[-1] == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(("epsilon", "exact"), [(0.1, 0.25), (1.0, 2.5)])
def test_a_low_value_costs_half_an_epsilon_per_answer(epsilon: float, exact: float) -> None:
    low = np.array([-50.0, -1.0, 0.0, 1.0])
    gained = log_value_density(ONES, epsilon, low) - log_value_density(TWOS, epsilon, low)
    assert gained == pytest.approx(exact, rel=1e-10)


def test_the_value_with_laplace_noise_costs_no_more_than_its_epsilon() -> None:
    entry = ZOO["NoisyMaxValueLaplace"]
    assert entry.true_epsilon == 2.5
    values = np.linspace(-30, 30, 121)
    for pair in (entry.pair, *some_pairs()):
        here, there = (log_value_density(side, 1.0, values) for side in (pair.data, pair.neighbour))
        assert np.max(np.abs(here - there)) <= 2.5 + 1e-10, pair


def test_the_value_with_exponential_noise_can_come_from_one_side_only() -> None:
    below = math.pow(-math.expm1(-0.5), 5)  # all five noises of mean 2 below 1
    outputs = draw(NoisyMaxValueExponential(), ONES)
    low = np.count_nonzero(outputs < 2)
    assert_counts(np.array([low, DRAWS - low]), np.array([below, 1 - below]))
    assert draw(NoisyMaxValueExponential(), TWOS).min() >= 2
