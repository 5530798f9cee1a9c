"""Guessers may learn from paired draws, where those show more; what is counted is independent."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit.auditing import paired_correlation
from dpaudit.guessing import EndingSurface, LabelledRows, ending
from dpaudit.mechanism import as_mechanism, draw_labelled, draw_paired
from dpaudit.neighbours import Pair
from dpaudit.outputs import Encoder, Table
from dpaudit.zoo import SVT3, NoisyHistogram, RandomizedResponse

RISING, FALLING = [0.0] * 5 + [1.0] * 5, [1.0] * 5 + [0.0] * 5


class OwnNoise:
    """A library with random numbers of its own: no two calls are alike."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(7)

    def __call__(self, data: Any, size: int) -> Any:
        return data[0] + self._rng.laplace(size=(size, 3))


def constant(data: Any, size: int) -> Any:
    return np.zeros(size)


def histogram(data: Any, size: int, rng: np.random.Generator) -> Any:
    return np.asarray(data) + rng.laplace(size=(size, len(data)))


def paired_draws(mechanism: Any, data: Any, neighbour: Any, count: int = 3_000) -> LabelledRows:
    pair = Pair(data, neighbour)
    batch = draw_paired(as_mechanism(mechanism), pair, count, np.random.SeedSequence(5))
    return LabelledRows.of(Encoder().encode(batch.outputs), batch.labels)


@pytest.mark.parametrize(
    ("mechanism", "data", "neighbour", "least", "most"),
    [
        (histogram, [1.0, 0.0, 0.0], [0.9, 0.0, 0.0], 0.9, 1.0),
        (SVT3(0.1), RISING, FALLING, 0.8, 1.0),
        (RandomizedResponse(1.0), [1], [0], -1.0, -0.9),
        (OwnNoise(), [1.0], [0.9], -0.2, 0.2),
        (constant, [1.0], [0.0], 0.0, 0.0),
    ],
)
def test_added_noise_correlates_paired_draws_and_a_flipped_bit_does_not(
    mechanism: Any, data: Any, neighbour: Any, least: float, most: float
) -> None:
    """Null: the correlation is in range; held for 40 of 40 seeds, a flipped bit for 29 of 40.

    Its correlation is -1, and rounding may take it below. Alternative: the first three draw
    independently (a correlation within 0.09 of 0), caught for 40 of 40 seeds.
    """
    found = paired_correlation(paired_draws(mechanism, data, neighbour))
    assert least - 1e-9 <= found <= most + 1e-9


def test_paired_draws_teach_what_takes_many_more_independent_ones() -> None:
    """Refits on fresh paired draws differ far less from each other than on independent ones.

    Null: 0.6 times the spread or less; held for 40 of 40 seeds at half as many refits.
    Alternative: equal spreads, caught with power 0.99 (a ratio of variances, 23 and 23 degrees).
    """
    mechanism, pair = as_mechanism(SVT3(0.1)), Pair(RISING, FALLING)
    late = Table(np.array([[4.0, 0.0], [0.0, 20.0]]), np.full((2, 2), -1, dtype=np.int32))

    def spread(paired: bool) -> float:
        scores = []
        for seed in map(np.random.SeedSequence, range(24)):
            batch = (
                draw_paired(mechanism, pair, 10_000, seed)
                if paired
                else draw_labelled(mechanism, pair, 20_000, seed)
            )
            surface = EndingSurface()
            table = ending(Encoder().encode(batch.outputs))
            surface.fit(LabelledRows.of(table, batch.labels))
            score = surface.log_odds(late)
            scores.append(score[0] - score[1])
        return float(np.std(scores))

    assert spread(paired=True) < 0.6 * spread(paired=False)


def test_paired_draws_leave_more_draws_to_be_counted() -> None:
    """Null: pairs are used where draws correlate, and only there; held for 40 of 40 seeds.

    Alternative: pairs used always or never, caught for certain.
    """
    counted = {
        name: dpaudit.measure_epsilon(mechanism, data, neighbour, samples=20_000, rng=3).counted
        for name, mechanism, data, neighbour in (
            ("correlated", histogram, [1.0, 0.0], [0.9, 0.0]),
            ("flipped", RandomizedResponse(1.0), [1], [0]),
            ("own noise", OwnNoise(), [1.0], [0.9]),
        )
    }
    assert counted == {"correlated": 17_600, "flipped": 13_600, "own noise": 13_600}


@pytest.mark.parametrize("samples", [1_000, 1_001, 4_999])
def test_all_draws_are_made_and_no_more(samples: int) -> None:
    made = 0

    def counting(data: Any, size: int, rng: np.random.Generator) -> Any:
        nonlocal made
        made += size
        return histogram(data, size, rng)

    found = dpaudit.measure_epsilon(counting, [1.0, 0.0], [0.9, 0.0], samples=samples, rng=3)
    assert made == found.samples == samples


def test_what_is_counted_shares_no_random_numbers() -> None:
    """The first number of a generator names it: only calls that teach may meet one twice."""
    calls: list[tuple[float, int]] = []

    def telling(data: Any, size: int, rng: np.random.Generator) -> Any:
        noise = rng.laplace(size=(size, len(data)))
        calls.append((float(noise[0, 0]), size))
        return np.asarray(data) + noise

    found = dpaudit.measure_epsilon(telling, [1.0, 0.0], [0.9, 0.0], samples=200_000, rng=3)
    met = Counter(name for name, _ in calls)
    learned = sum(size for name, size in calls if met[name] == 2)
    counted = sum(size for name, size in calls if met[name] == 1)
    assert set(met.values()) == {1, 2}
    assert learned == found.samples - found.counted
    assert counted == found.counted
    first_counted = min(place for place, (name, _) in enumerate(calls) if met[name] == 1)
    assert all(met[name] == 1 for name, _ in calls[first_counted:])


def test_correlated_draws_overrate_a_mechanism_on_its_epsilon_at_most_in_a_share_alpha() -> None:
    """Null: each of 60 bounds is above epsilon with probability at most 0.2.

    False alarm 9e-7 (29 or more of 60); against a rate of 0.6 the power is 0.975.
    """
    runs, alpha, epsilon = 60, 0.2, 0.5
    pair = [0, 1, 2, 3, 4], [0, 0, 1, 2, 3, 4]
    found = [
        dpaudit.measure_epsilon(
            NoisyHistogram(epsilon), *pair, alpha=alpha, samples=3_000, rng=seed
        )
        for seed in range(runs)
    ]
    assert np.mean([one.counted == 2_640 for one in found]) > 0.9  # learned from paired
    above = sum(one.epsilon_lower > epsilon for one in found)
    assert stats.binomtest(above, runs, alpha, alternative="greater").pvalue > 1e-6
    assert np.mean([one.epsilon_lower for one in found]) > 0.2  # and the bound is not slack either
