"""Certificates under a clock: stopping at the worst moment accuses with probability at most alpha.

Null: each certificate is wrong with probability at most alpha = 0.2, independently. Of 250 more
than 82 are with probability below 1e-6. Alternative: certificates that are wrong with probability
0.41 are caught with probability 0.99. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from counts import most_accusations, power

from dpaudit.auditing import Budget, Rounds, count_calls
from dpaudit.bounds import epsilon_from_event
from dpaudit.mechanism import CallsHere, as_mechanism
from dpaudit.neighbours import Pair
from dpaudit.results import Tally

ALPHA, RUNS, DRAWS = 0.2, 250, 150
CHANCES = math.e / (1.0 + math.e), 1.0 / (1.0 + math.e)  # randomized response, exactly 1-DP
Tallies = tuple[Tally, Tally]
Worst = Callable[[Tallies], bool]


@cache
def tally(hits: int, draws: int, anytime: bool) -> Tally:
    return Tally.of(hits, draws, alpha=ALPHA, anytime=anytime)


class Spiteful:
    """Randomized response that ends the time when the counts so far look worst for the auditor.

    Outputs in the event also take longer than others, and longer on the neighbour.
    """

    def __init__(self, worst: Worst, *, anytime: bool) -> None:
        self.now = 0.0
        self._worst = worst
        self._anytime = anytime
        self._hits, self._draws = [0, 0], [0, 0]

    def clock(self) -> float:
        return self.now

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
        side = 0 if data else 1
        outputs = rng.random(size) < CHANCES[side]
        self._hits[side] += int(outputs.sum())
        self._draws[side] += size
        self.now += 1e-3 * size + (side + 1) * 5e-2 * int(outputs.sum())
        first, second = (
            tally(*counts, self._anytime) for counts in zip(self._hits, self._draws, strict=True)
        )
        if self._worst((first, second)):
            self.now += 1e6
        return outputs


def certified(seed: int, worst: Worst, *, anytime: bool) -> Tallies:
    """The bounds of the event "the output is true", by what was drawn in time."""
    mechanism = Spiteful(worst, anytime=anytime)
    rounds = Rounds(
        caller=CallsHere(as_mechanism(mechanism)),
        pair=Pair([1], []),
        draws=DRAWS,
        budget=Budget(2 * DRAWS, 1_000.0, clock=mechanism.clock),
        seed=(seed, 1),
        at_least=DRAWS,
    )
    counted = count_calls(lambda side, outputs: np.asarray(outputs), rounds)
    tallies = counted.tallies(alpha=ALPHA, anytime=anytime)
    assert tallies is not None
    return tallies


def are_wrong(tallies: Tallies) -> bool:
    """Whether a bound of either side misses the truth; every false accusation needs that."""
    return any(
        chance < tally.lower or chance > tally.upper
        for tally, chance in zip(tallies, CHANCES, strict=True)
    )


def break_a_claim(tallies: Tallies, *, epsilon: float) -> bool:
    return epsilon_from_event(tallies[0].lower, tallies[1].upper, 0.0) > epsilon


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA, false_alarm=1e-6) == 82
    assert power(RUNS, ALPHA, 0.41, false_alarm=1e-6) >= 0.99


@pytest.mark.slow
def test_a_clock_that_stops_at_the_worst_moment_is_wrong_in_at_most_a_share_alpha() -> None:
    """Bounds for a number of draws fixed beforehand fail the same check: it is not blind."""
    most = most_accusations(RUNS, ALPHA, false_alarm=1e-6)
    wrong = [
        sum(are_wrong(certified(seed, are_wrong, anytime=anytime)) for seed in range(RUNS))
        for anytime in (True, False)
    ]
    assert wrong[0] <= most < wrong[1]


@pytest.mark.slow
def test_a_mechanism_on_its_claim_is_accused_in_at_most_a_share_alpha() -> None:
    """For the accusation itself: the event shows more than the claimed epsilon."""
    worst = partial(break_a_claim, epsilon=1.0)
    accused = sum(worst(certified(seed, worst, anytime=True)) for seed in range(RUNS))
    assert accused <= most_accusations(RUNS, ALPHA, false_alarm=1e-6)


def test_what_breaks_its_claim_is_certified_all_the_same() -> None:
    """Claimed 0.2, truly 1: 150 draws of a side are enough, nearly always."""
    broken = partial(break_a_claim, epsilon=0.2)
    assert sum(broken(certified(seed, broken, anytime=True)) for seed in range(20)) >= 18
