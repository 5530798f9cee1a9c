"""Measuring epsilon on one pair: valid, close to the truth, the same for the same seed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit.guessing import (
    GuessCounts,
)
from dpaudit.mechanism import as_mechanism
from dpaudit.zoo import SVT5, LaplaceCount, PrefixSum, RandomizedResponse


def counts(right: int, guesses: int) -> GuessCounts:
    """Guesses that all have the largest stake."""
    return GuessCounts(right=(0, 0, 0, 0, right), guesses=(0, 0, 0, 0, guesses))


def test_the_epsilon_of_guesses_is_the_logit_of_an_exact_bound() -> None:
    for right, guesses, alpha in ((900, 1000, 0.05), (51_000, 100_000, 0.001)):
        share = stats.beta.ppf(alpha, right, guesses - right + 1)
        found = counts(right, guesses).epsilon_lower(alpha)
        assert found == pytest.approx(np.log(share / (1 - share)))
    assert GuessCounts().epsilon_lower(0.05) == 0.0
    assert counts(10, 100).epsilon_lower(0.05) == 0.0


def test_guesses_that_are_all_right_certify_a_finite_epsilon() -> None:
    assert 5.0 < counts(1_000, 1_000).epsilon_lower(0.05) < 7.0


def test_guesses_with_a_large_stake_count_more() -> None:
    sure_ones_right = GuessCounts(right=(500, 0, 0, 0, 700), guesses=(1_000, 0, 0, 0, 1_000))
    others_right = GuessCounts(right=(700, 0, 0, 0, 500), guesses=(1_000, 0, 0, 0, 1_000))
    assert sure_ones_right.epsilon_lower(0.05) > counts(1_200, 2_000).epsilon_lower(0.05)
    assert others_right.epsilon_lower(0.05) < counts(1_200, 2_000).epsilon_lower(0.05)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_mechanism_exactly_on_its_epsilon_is_overrated_at_most_in_a_share_alpha(
    epsilon: float,
) -> None:
    """Null: each of 150 bounds is above epsilon with probability at most 0.2.

    False alarm 9e-5 (50 or more of 150); against a rate of 0.45 the power is 0.998. That no bound
    is above at all, where the rate is 0.2 as it should nearly be, has probability 3e-15.
    """
    runs, alpha = 150, 0.2
    above = 0
    for seed in range(runs):
        found = dpaudit.measure_epsilon(
            RandomizedResponse(epsilon), [1], [0], alpha=alpha, samples=1_000, rng=seed
        )
        above += found.epsilon_lower > epsilon
    assert stats.binomtest(above, runs, alpha, alternative="greater").pvalue > 1e-4
    assert above > 0  # and the bound is not slack either


def test_most_of_a_laplace_epsilon_is_certified() -> None:
    """Null: each of 8 bounds is above epsilon with probability at most 0.001.

    False alarm 0.008 (one or more of 8, fixed seeds); a bound that is above epsilon in half of all
    runs is caught with probability 0.996. The mean, 0.95 or more, guards the power of the method.
    """
    found = [
        dpaudit.measure_epsilon(
            LaplaceCount(1.0), [1.0], [], alpha=0.001, samples=100_000, rng=seed
        )
        for seed in range(8)
    ]
    assert np.mean([one.epsilon_lower for one in found]) > 0.95
    assert max(one.epsilon_lower for one in found) <= 1.0
    for one in found:
        assert one.samples == 100_000
        assert one.right <= one.guesses <= one.counted < one.samples


def test_an_infinite_epsilon_shows_as_a_large_one() -> None:
    """Null: the bound is above 5; held for 40 of 40 seeds, the least 6.98.

    Alternative: a mechanism of epsilon 5 or less, caught with power 0.99 (1 - alpha).
    """
    data, neighbour = [2.0] * 5 + [0.0] * 5, [1.0] * 10
    found = dpaudit.measure_epsilon(SVT5(1.0), data, neighbour, alpha=0.01, samples=40_000, rng=3)
    assert found.epsilon_lower > 5.0


def test_what_shows_in_the_steps_only_is_found() -> None:
    """Null: the bound is at most the true 5; false alarm at most alpha, 0.01.

    Alternative: a mechanism of epsilon 2 or less, caught with power 0.99 (1 - alpha).
    """
    found = dpaudit.measure_epsilon(
        PrefixSum(0.5), [1.0] * 10, [0.0] * 10, alpha=0.01, samples=60_000, rng=3
    )
    assert found.rule.startswith("steps")
    assert 2.0 < found.epsilon_lower <= 5.0


def test_words_that_come_late_are_no_trouble() -> None:
    """Null: epsilon is 0, so a bound above 0 is at most a 0.05 event (alpha).

    Alternative: 0.65 or more of 3000 guesses right, at equal stakes, caught with power above 0.999.
    """

    def mechanism(data: Any, size: int, rng: np.random.Generator) -> list[str]:
        common = rng.integers(3, size=size)
        rare = rng.random(size) < 1e-4
        return [f"rare {i}" if rare[i] else f"common {common[i]}" for i in range(size)]

    found = dpaudit.measure_epsilon(mechanism, [1], [0], samples=5_000, rng=3)
    assert found.epsilon_lower < 0.2


def test_the_same_seed_gives_the_same_bound_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []

    def measure(progress: Callable[[int, int], None] | None) -> tuple[float, int, int]:
        found = dpaudit.measure_epsilon(
            LaplaceCount(1.0), [1.0], [], samples=5_000, rng=11, progress=progress
        )
        return found.epsilon_lower, found.right, found.guesses

    assert measure(None) == measure(lambda made, wanted: told.append((made, wanted)))
    assert told[-1] == (5_000, 5_000)


def test_a_bound_reads_well() -> None:
    """Null: the bound is below the true 1; false alarm at most 0.05. Only wording is tested."""

    found = dpaudit.measure_epsilon(RandomizedResponse(1.0), [1], [0], samples=5_000, rng=1)
    text = str(found)
    assert text.startswith("RandomizedResponse: epsilon >= 0.")
    assert "95 % confidence" in text
    assert f"{found.right} of {found.guesses} guesses were right" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be between 0 and 1"),
        ({"samples": 10}, "samples must be at least 1000, got 10"),
        ({"samples": 2.5}, "samples must be a whole number"),
        ({"rng": "seed"}, "rng must be a Generator"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dpaudit.measure_epsilon(LaplaceCount(1.0), [1.0], [], **options)


def test_a_mechanism_object_is_taken_too() -> None:
    """Null: epsilon is 1; a bound of 1.5 or more is at most a 0.05 event; held for 40 of 40 seeds.

    Alternative: outputs without noise, all 600 or more guesses right: caught for certain.
    """
    wrapped = as_mechanism(dpaudit.one_at_a_time(lambda data, rng: data[0] + rng.laplace()))
    found = dpaudit.measure_epsilon(wrapped, [1.0], [0.0], samples=1_000, rng=1)
    assert 0.0 <= found.epsilon_lower < 1.5
