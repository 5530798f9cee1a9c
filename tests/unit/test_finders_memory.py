"""What a search remembers, and for how long."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest

from dpaudit.domains import floats
from dpaudit.neighbours import Pair, pairs, replace_one
from dpaudit.search import Memory, fingerprint
from dpaudit.search.memory import AWAITED, LATEST, REMEMBERED

RELATION = replace_one(floats(0, 1), max_records=3)


def _pair(number: float) -> Pair:
    return Pair([number], [])


def test_a_later_score_replaces_the_earlier() -> None:
    memory = Memory()
    memory.tell(_pair(1), 0.5)
    memory.tell(_pair(1), 0.0)
    assert [(told.score, told.times) for told in memory.told] == [(0.0, 2)]
    assert memory.best_score == 0.0


def test_zero_is_a_score() -> None:
    memory = Memory()
    assert memory.meet(_pair(1))
    memory.tell(_pair(1), 0.0)
    assert memory.awaited == []
    assert [told.score for told in memory.told] == [0.0]


def test_an_infinite_score_is_a_number_that_can_be_reckoned_with() -> None:
    memory = Memory()
    memory.tell(_pair(1), float("inf"))
    assert np.isfinite(memory.best_score)


def test_the_best_come_first_and_of_equals_the_earlier() -> None:
    memory = Memory()
    for number, score in enumerate([0.0, 2.0, 1.0, 2.0]):
        memory.tell(_pair(number), score)
    assert [told.pair.data for told in memory.best(3)] == [[1], [3], [2]]


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
    many = 3 * REMEMBERED
    for number in range(many):
        assert memory.meet(_pair(number))
        memory.tell(_pair(number), 1.0 if number == 300 else 0.0)
    kept = [told.pair.data[0] for told in memory.told]
    assert len(kept) == REMEMBERED
    assert kept[-LATEST:] == list(range(many - LATEST, many))
    assert kept[:10] == list(range(10))
    assert 300 in kept
    assert not any(memory.meet(_pair(number)) for number in range(many))


def test_what_is_waited_for_is_bounded() -> None:
    memory = Memory()
    for number in range(2 * AWAITED):
        memory.meet(_pair(number))
    assert [pair.data[0] for pair in memory.awaited] == list(range(AWAITED, 2 * AWAITED))


def test_a_memory_comes_back_with_its_slots() -> None:
    memory = Memory()
    edge = next(RELATION.edge_pairs())
    memory.tell(edge, 0.5)
    memory.meet(RELATION.random_pair(np.random.default_rng(7)))
    state = json.loads(json.dumps(memory.state(RELATION), allow_nan=False))
    back = Memory()
    back.restore(state, RELATION)
    assert back.state(RELATION) == memory.state(RELATION)
    assert back.told[0].pair == edge
    assert back.told[0].pair.slots == edge.slots
    assert back.awaited == memory.awaited


@pytest.mark.parametrize("data", [["a"], [datetime.date(2024, 2, 29)], np.array([np.nan, -0.0])])
def test_data_of_any_kind_come_back(data: object) -> None:
    memory, relation = Memory(), pairs([(data, [])])
    memory.tell(relation.listed[0], 0.5)
    back = Memory()
    back.restore(json.loads(json.dumps(memory.state(relation))), relation)
    assert back.told[0].pair == relation.listed[0]


def test_a_record_that_json_cannot_hold_is_not_met_again() -> None:
    memory, relation = Memory(), pairs([([int], [])])
    memory.tell(relation.listed[0], 0.5)
    back = Memory()
    back.restore(json.loads(json.dumps(memory.state(relation))), relation)
    assert not back.meet(relation.listed[0])
