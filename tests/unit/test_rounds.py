"""Rounds: both sides alternately, in sizes fixed beforehand; what was drawn is what is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpaudit.auditing import Budget, CountedCalls, Rounds, count_calls
from dpaudit.auditing.rounds import MAX_CALL, MIN_ROUNDS
from dpaudit.mechanism import Call, CallsHere, as_mechanism
from dpaudit.neighbours import Pair
from dpaudit.results import Tally

Floats = npt.NDArray[np.float64]

PAIR = Pair([1.0], [0.0])
EVERY_SIZE = [1, 2, 5, 31, 32, 33, 63, 100, 1_000, 24_000, 262_144, 300_001]


class Clock:
    """A clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Noted:
    """Uniform noise; every call is noted: its side, its size, and how long it took by a clock."""

    def __init__(self, clock: Clock, *seconds: float) -> None:
        self.calls: list[tuple[int, int]] = []
        self._clock = clock
        self._seconds = seconds or (0.0, 0.0)  # a draw of data, and of the neighbour

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        side = 0 if data == PAIR.data else 1
        self.calls.append((side, size))
        self._clock.now += size * self._seconds[side]
        return rng.random(size)


def rounds_of(
    mechanism: Any, draws: int, *, seed: int = 7, budget: Budget | None = None, **options: Any
) -> Rounds:
    return Rounds(
        caller=CallsHere(as_mechanism(mechanism)),
        pair=PAIR,
        draws=draws,
        budget=Budget(2 * draws, None) if budget is None else budget,
        seed=(seed, 1),
        **options,
    )


def above_half(side: int, outputs: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(outputs > 0.5)


@pytest.mark.parametrize("draws", EVERY_SIZE)
def test_all_draws_are_made_in_at_least_32_calls_of_either_side(draws: int) -> None:
    mechanism = Noted(Clock())
    counted = count_calls(above_half, rounds_of(mechanism, draws))
    sizes = [[size for side, size in mechanism.calls if side == which] for which in (0, 1)]
    assert sizes == [[size for _, size in calls] for calls in counted.calls]
    assert sizes[0] == sizes[1]
    assert sum(sizes[0]) == draws
    assert len(sizes[0]) >= min(MIN_ROUNDS, draws)
    assert max(sizes[0]) <= MAX_CALL
    assert max(sizes[0]) - min(sizes[0]) <= 1


def test_a_round_is_one_call_of_either_side_in_a_tossed_order() -> None:
    """Null: 400 fair tosses; 120 or fewer, or 280 or more, is an 8e-16 event.

    Alternative: data first in a quarter of the rounds, caught with power 0.99.
    """
    mechanism = Noted(Clock())
    count_calls(above_half, rounds_of(mechanism, 24_000, at_least=400))
    sides = [side for side, _ in mechanism.calls]
    pairs = list(zip(sides[::2], sides[1::2], strict=True))
    assert {*pairs} == {(0, 1), (1, 0)}
    data_first = pairs.count((0, 1))
    assert 120 < data_first < 280  # of 400 fair tosses: eight standard deviations


def test_the_seed_of_a_call_is_its_side_and_place() -> None:
    rounds = rounds_of(lambda data, size, rng: rng.random(size), 1_000)
    made = [0, 0]
    for side, outputs in rounds:
        seed = np.random.SeedSequence(7, spawn_key=(1, side, made[side]))
        data = (PAIR.data, PAIR.neighbour)[side]
        call = Call(data=data, size=len(outputs), seed=seed)
        assert np.array_equal(outputs, rounds.caller.ask(call).outputs())
        made[side] += len(outputs)
    assert made == [1_000, 1_000]


def test_the_same_seed_draws_the_same_samples_in_the_same_order() -> None:
    first, again, other = (Noted(Clock()) for _ in range(3))
    outputs = [rounds_of(one, 500, seed=seed).joined() for one, seed in ((first, 7), (again, 7))]
    assert all(np.array_equal(*sides) for sides in zip(*outputs, strict=True))
    rounds_of(other, 500, seed=8).joined()
    assert first.calls == again.calls != other.calls


@pytest.mark.parametrize("wild", [lambda now: now + 1e6, lambda now: -now, lambda now: 0.0])
def test_without_a_limit_of_seconds_the_clock_has_no_say(wild: Any) -> None:
    clock, still = Clock(), Clock()

    class Jumping(Noted):
        def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
            clock.now = wild(clock.now + 1.0)
            return super().__call__(data, size, rng)

    jumping, calm = Jumping(clock), Noted(still)
    budgets = Budget(2_000, None, clock=clock), Budget(2_000, None, clock=still)
    counted = [
        count_calls(above_half, rounds_of(one, 1_000, budget=budget))
        for one, budget in zip((jumping, calm), budgets, strict=True)
    ]
    assert jumping.calls == calm.calls
    assert counted[0] == counted[1]


@pytest.mark.parametrize("seconds", [(1e-4, 1e-4), (0.1, 0.1), (1e-5, 0.05), (0.05, 1e-5), (2, 2)])
def test_with_a_limit_both_sides_have_the_same_draws_to_within_a_round(
    seconds: tuple[float, float],
) -> None:
    clock = Clock()
    budget = Budget(None, 60.0, clock=clock)
    mechanism = Noted(clock, *seconds)
    rounds = rounds_of(mechanism, 24_000, budget=budget)
    largest, left = 0, 60.0
    for _, outputs in rounds:
        took = left - (60.0 - clock.now)
        assert len(outputs) == 1 or took <= left / 10 + 1e-9
        left, largest = 60.0 - clock.now, max(largest, len(outputs))
    drawn = [sum(size for side, size in mechanism.calls if side == which) for which in (0, 1)]
    assert abs(drawn[0] - drawn[1]) <= largest <= 750
    assert min(drawn) >= min(24_000, int(0.8 * 60.0 / sum(seconds)))
    assert clock.now <= 60.0


def test_a_call_that_was_begun_is_counted_and_the_time_may_end_within_a_round() -> None:
    clock = Clock()

    def late(data: Any, size: int, rng: np.random.Generator) -> Floats:
        clock.now += 61.0 if clock.now > 1.0 else 0.3
        return rng.random(size)

    budget = Budget(None, 60.0, clock=clock)
    counted = count_calls(above_half, rounds_of(late, 100, budget=budget))
    calls = [len(side) for side in counted.calls]
    assert sum(calls) == 5
    assert abs(calls[0] - calls[1]) == 1


def test_the_tallies_are_of_what_was_drawn_and_there_are_none_without_draws() -> None:
    counted = CountedCalls(([(3, 10), (2, 10)], [(0, 7)]))
    for anytime in (False, True):
        assert counted.tallies(alpha=0.05, anytime=anytime) == (
            Tally.of(5, 20, alpha=0.05, anytime=anytime),
            Tally.of(0, 7, alpha=0.05, anytime=anytime),
        )
    assert CountedCalls(([(3, 10)], [])).tallies(alpha=0.05, anytime=True) is None
    assert count_calls(above_half, rounds_of(Noted(Clock()), 0)) == CountedCalls(([], []))


@pytest.mark.parametrize(
    ("samples", "reserve"),
    [(1, 0), (3, 1), (90, 30), (192, 64), (1_280, 64), (10_000, 500), (10**7, 80_000)],
)
def test_a_small_budget_keeps_draws_for_32_rounds(samples: int, reserve: int) -> None:
    assert Budget(samples, None).reserve == reserve
