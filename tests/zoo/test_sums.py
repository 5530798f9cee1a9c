"""Several noisy numbers: exact distributions, and the epsilons from their densities."""

import math
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, LUCK, Floats, assert_own_noise, draw
from scipy import stats

from dpaudit.zoo import ZOO, ForgottenBudget, LaplaceParallel, PrefixSum


def log_ratio(outputs: Any, here: Any, there: Any, scale: float) -> Floats:
    """Of the densities of independent Laplace noise around two rows of numbers."""
    outputs, here, there = (np.asarray(each, dtype=np.float64) for each in (outputs, here, there))
    ratios = stats.laplace.logpdf(outputs, here, scale) - stats.laplace.logpdf(
        outputs, there, scale
    )
    return np.asarray(ratios.sum(axis=-1))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_prefix_sums_are_those_of_noisy_answers(epsilon: float) -> None:
    answers = [1.0, -1.0, 0.5, 2.0]
    outputs = draw(PrefixSum(epsilon), answers)
    assert outputs.shape == (DRAWS, 4)
    assert_own_noise(np.diff(outputs, prepend=0.0, axis=1), answers, 1 / epsilon)


def test_prefix_sums_lose_ten_epsilon_on_their_pair() -> None:
    entry = ZOO["PrefixSum"]
    data, neighbour = entry.pair.data, entry.pair.neighbour
    for noisy in (np.full(10, 1.0), np.full(10, 3.0)):  # the noisy answers behind an output
        assert log_ratio(noisy, data, neighbour, 1.0) == pytest.approx(entry.true_epsilon)
    chances = [float(stats.laplace.sf(1.0 - answer)) ** 10 for answer in (1.0, 0.0)]
    assert math.log(chances[0] / chances[1]) == pytest.approx(entry.true_epsilon)
    for side, chance in zip((data, neighbour), chances, strict=True):
        noisy = np.diff(draw(PrefixSum(), side), prepend=0.0)
        hits = int(np.count_nonzero(np.all(noisy >= 1, axis=1)))
        assert stats.binomtest(hits, DRAWS, chance).pvalue > LUCK


def test_prefix_sums_lose_no_more_on_other_pairs_and_epsilon_if_one_answer_moves() -> None:
    """The log-ratio is extreme where each noisy answer is that of one of the sides."""
    rng, relation = np.random.default_rng(5), ZOO["PrefixSum"].neighbours()
    for pair in [*relation.edge_pairs(), *(relation.random_pair(rng) for _ in range(100))]:
        moved = np.abs(pair.data - pair.neighbour)
        most = log_ratio(pair.data, pair.data, pair.neighbour, 1.0)
        assert most == pytest.approx(moved.sum())
        assert most <= 10 + 1e-9
        others = pair.data + rng.laplace(scale=3.0, size=(200, 10))
        assert np.all(np.abs(log_ratio(others, pair.data, pair.neighbour, 1.0)) <= most + 1e-9)
    one = np.arange(10.0)
    assert log_ratio(one, one, one - (one == 4), 1.0) == pytest.approx(1)


@pytest.mark.parametrize(("epsilon", "times"), [(1.0, 20), (0.5, 3), (2.0, 1)])
def test_one_count_is_answered_many_times(epsilon: float, times: int) -> None:
    outputs = draw(LaplaceParallel(epsilon, times), [0.3] * 4)
    assert outputs.shape == (DRAWS, times)
    assert_own_noise(outputs, [4.0] * times, times / epsilon)


@pytest.mark.parametrize(("epsilon", "times"), [(1.0, 20), (0.5, 3), (2.0, 1)])
def test_many_answers_of_one_count_cost_one_epsilon(epsilon: float, times: int) -> None:
    high, low, scale = np.full(times, 4.0), np.full(times, 3.0), times / epsilon
    assert log_ratio(high, high, low, scale) == pytest.approx(epsilon)
    assert log_ratio(low, high, low, scale) == pytest.approx(-epsilon)
    others = np.random.default_rng(6).laplace(3.5, 2 * scale, size=(1000, times))
    assert np.all(np.abs(log_ratio(others, high, low, scale)) <= epsilon + 1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_a_count_and_a_sum_of_clipped_records(epsilon: float) -> None:
    outputs = draw(ForgottenBudget(epsilon), [0.25, 7.0, -2.0, 1.0])
    assert outputs.shape == (DRAWS, 2)
    assert_own_noise(outputs, [4.0, 2.25], 1 / epsilon)
    assert_own_noise(draw(ForgottenBudget(epsilon), []), [0.0, 0.0], 1 / epsilon)


def test_a_count_and_a_sum_lose_two_epsilon_and_no_more() -> None:
    entry = ZOO["ForgottenBudget"]
    assert log_ratio([1, 1], [1, 1], [0, 0], 1.0) == pytest.approx(entry.true_epsilon)
    rng, relation = np.random.default_rng(7), entry.neighbours()
    for pair in [entry.pair, *(relation.random_pair(rng) for _ in range(100))]:
        here, there = ([len(data), data.sum()] for data in (pair.data, pair.neighbour))
        most = log_ratio(here, here, there, 1.0)
        assert most == pytest.approx(1 + here[1] - there[1])
        assert most <= 2 + 1e-9
        others = here + rng.laplace(scale=3.0, size=(200, 2))
        assert np.all(np.abs(log_ratio(others, here, there, 1.0)) <= most + 1e-9)
