"""What a finder remembers, and for how long."""

from __future__ import annotations

import numpy as np

from dpaudit.neighbours import Pair
from dpaudit.search import Memory, fingerprint
from dpaudit.search.finder import MAX_AWAITED_PAIRS, MAX_SCORED_PAIRS, MIN_LATEST_PAIRS


def _pair(number: float) -> Pair:
    return Pair([number], [])


def test_a_later_score_replaces_the_earlier() -> None:
    memory = Memory()
    memory.tell(_pair(1), 0.5)
    memory.tell(_pair(1), 0.0)
    assert [(one.score, one.times) for one in memory.scored] == [(0.0, 2)]
    assert memory.best_score == 0.0


def test_zero_is_a_score() -> None:
    memory = Memory()
    assert memory.meet(_pair(1))
    memory.tell(_pair(1), 0.0)
    assert memory.awaited == []
    assert [one.score for one in memory.scored] == [0.0]


def test_an_infinite_score_is_a_number_that_can_be_reckoned_with() -> None:
    memory = Memory()
    memory.tell(_pair(1), float("inf"))
    assert np.isfinite(memory.best_score)


def test_the_best_come_first_and_of_equals_the_earlier() -> None:
    memory = Memory()
    for number, score in enumerate([0.0, 2.0, 1.0, 2.0]):
        memory.tell(_pair(number), score)
    assert [one.pair.data for one in memory.best(3)] == [[1], [3], [2]]


def test_a_pair_and_its_swap_are_one() -> None:
    memory = Memory()
    assert memory.meet(_pair(1))
    assert not memory.is_new(_pair(1).swapped())
    memory.tell(_pair(1).swapped(), 1.0)
    assert memory.awaited == []


def test_a_float_and_a_whole_number_are_two() -> None:
    assert fingerprint(Pair([1], [])) != fingerprint(Pair([1.0], []))


def test_the_best_the_first_and_the_latest_are_kept_and_no_pair_comes_again() -> None:
    memory = Memory()
    many = 3 * MAX_SCORED_PAIRS
    for number in range(many):
        assert memory.meet(_pair(number))
        memory.tell(_pair(number), 1.0 if number == 300 else 0.0)
    kept = [one.pair.data[0] for one in memory.scored]
    assert len(kept) == MAX_SCORED_PAIRS
    assert kept[-MIN_LATEST_PAIRS:] == list(range(many - MIN_LATEST_PAIRS, many))
    assert kept[:10] == list(range(10))
    assert 300 in kept
    assert not any(memory.meet(_pair(number)) for number in range(many))


def test_what_is_waited_for_is_bounded() -> None:
    memory = Memory()
    for number in range(2 * MAX_AWAITED_PAIRS):
        memory.meet(_pair(number))
    assert [pair.data[0] for pair in memory.awaited] == list(
        range(MAX_AWAITED_PAIRS, 2 * MAX_AWAITED_PAIRS)
    )
