"""Neighbours that differ in a group of records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from choosers import all_pairs

from dpaudit import categories, floats, integers, records
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours import (
    ABSENT,
    Pair,
    Relation,
    Slot,
    Structured,
    add_or_remove_one,
    add_or_remove_user,
    group,
    pairs,
    query_answers,
    replace_one,
)

WRONG: Any = "1.5"
UNIT = floats(0, 1)
THREE_MORE = group(add_or_remove_one(UNIT, max_records=5), 3)
THREE_OTHERS = group(replace_one(UNIT, max_records=5), 3)
VISITS = records(user_id=integers(1, 3), minutes=floats(0, 60))
ONE_USER = add_or_remove_user(VISITS)


def _lists(pair: Pair) -> tuple[list[float], list[float]]:
    return pair.data.tolist(), pair.neighbour.tolist()


def test_a_group_is_the_same_relation_further_apart() -> None:
    assert dataclasses.replace(add_or_remove_one(UNIT, max_records=5), apart=3) == THREE_MORE
    assert group(replace_one(UNIT), 1) == replace_one(UNIT)


def test_the_strongest_group_comes_first() -> None:
    assert _lists(next(THREE_OTHERS.edge_pairs())) == ([1.0] * 3, [0.0] * 3)
    assert _lists(next(THREE_MORE.edge_pairs())) == ([1.0] * 3, [])
    at_least_two = group(add_or_remove_one(UNIT, min_records=2), 3)
    assert _lists(next(at_least_two.edge_pairs())) == ([0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 0.0])


@pytest.mark.parametrize("relation", [THREE_MORE, THREE_OTHERS], ids=["add", "replace"])
def test_every_size_of_group_is_among_the_edges_the_biggest_first(relation: Structured) -> None:
    edges = list(relation.edge_pairs())
    apart = [_differing(pair) for pair in edges]
    assert apart == sorted(apart, reverse=True)
    assert set(apart) == {1, 2, 3}
    assert len(edges) <= 60


@pytest.mark.parametrize("size", [1, 2, 7, 10])
def test_the_edges_of_a_big_group_are_few(size: int) -> None:
    for relation in (add_or_remove_one(VISITS), replace_one(VISITS)):
        edges = list(group(relation, size).edge_pairs())
        assert 10 <= len(edges) <= 60
        assert max(map(_differing, edges)) == size


def _differing(pair: Pair) -> int:
    assert pair.slots is not None
    return sum(repr(slot.data) != repr(slot.neighbour) for slot in pair.slots)


@pytest.mark.parametrize(
    ("data", "neighbour", "inside"),
    [
        ([1.0, 0.5, 0.0], [], True),
        ([], [1.0, 0.5, 0.0], True),
        ([1.0, 0.5], [0.0, 1.0], True),  # one gone, one new
        ([0.0, 1.0, 1.0], [1.0, 1.0, 0.5], True),
        ([1.0], [0.0], True),
        ([1.0], [], True),
        ([1.0, 1.0], [0.0, 0.0], False),  # four steps
        ([1.0] * 4, [], False),
        ([1.0], [1.0], False),
        ([1.0] * 6, [1.0] * 5, False),
        ([2.0], [], False),
    ],
)
def test_groups_added_or_removed(data: list[float], neighbour: list[float], inside: bool) -> None:
    assert THREE_MORE.contains(Pair(np.array(data), np.array(neighbour))) is inside


@pytest.mark.parametrize(
    ("data", "neighbour", "inside"),
    [
        ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], True),
        ([1.0, 0.5, 1.0, 1.0], [0.0, 0.5, 0.0, 0.0], True),
        ([1.0], [0.0], True),
        ([1.0] * 4, [0.0] * 4, False),
        ([1.0], [1.0], False),
        ([1.0], [], False),
        ([1.0], [2.0], False),
    ],
)
def test_groups_replaced(data: list[float], neighbour: list[float], inside: bool) -> None:
    assert THREE_OTHERS.contains(Pair(np.array(data), np.array(neighbour))) is inside


BITS = integers(0, 1)
WORDS = [list(word) for size in range(4) for word in product((0, 1), repeat=size)]


def _steps(start: list[int], most: int, step: Callable[[list[int]], list[list[int]]]) -> set[str]:
    """The datasets within this many steps, but for the start."""
    reached = {str(start): start}
    for _ in range(most):
        reached |= {str(word): word for known in list(reached.values()) for word in step(known)}
    return reached.keys() - {str(start)}


def _one_more_or_less(word: list[int]) -> list[list[int]]:
    places = range(len(word) + 1)
    longer = [[*word[:place], bit, *word[place:]] for place in places for bit in (0, 1)]
    return longer + [word[:place] + word[place + 1 :] for place in range(len(word))]


def _one_other(word: list[int]) -> list[list[int]]:
    return [[*word[:place], 1 - word[place], *word[place + 1 :]] for place in range(len(word))]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("make", [add_or_remove_one, replace_one])
def test_a_group_holds_exactly_the_pairs_within_its_steps(
    size: int, make: Callable[..., Any]
) -> None:
    relation = group(make(BITS, max_records=3), size)
    step = _one_more_or_less if make is add_or_remove_one else _one_other
    for data in WORDS:
        near = _steps(data, size, step)
        for neighbour in WORDS:
            allowed = str(neighbour) in near
            assert relation.contains(Pair(np.array(data), np.array(neighbour))) is allowed


def test_slots_of_a_group_are_counted() -> None:
    gone, new, kept = Slot(1.0, ABSENT), Slot(ABSENT, 0.0), Slot(0.5, 0.5)
    assert THREE_MORE.join([gone, kept, new, gone]) is not None
    assert THREE_MORE.join([gone, kept, new, gone, new]) is None
    assert THREE_MORE.join([kept]) is None
    assert THREE_MORE.join([Slot(0.5, ABSENT), Slot(ABSENT, 0.5)]) is None  # nothing changes
    assert THREE_OTHERS.join([Slot(1.0, 0.0)] * 3) is not None
    assert THREE_OTHERS.join([Slot(1.0, 0.0)] * 4) is None
    assert THREE_OTHERS.join([Slot(1.0, 0.0), gone]) is None


def test_most_slots_is_reached_and_kept() -> None:
    gone, new, kept = Slot(1.0, ABSENT), Slot(ABSENT, 0.0), Slot(0.5, 0.5)
    assert THREE_MORE.most_slots == 6
    assert THREE_MORE.join([gone, new, *[kept] * 4]) is not None
    assert THREE_MORE.join([gone, new, *[kept] * 5]) is None
    assert THREE_OTHERS.most_slots == 5


@pytest.mark.parametrize(
    "relation",
    [
        THREE_MORE,
        THREE_OTHERS,
        group(add_or_remove_one(UNIT, max_records=5, min_records=2), 3),
        group(add_or_remove_one(categories("a"), max_records=4), 3),
        group(replace_one(categories("a", "b"), max_records=4, min_records=2), 4),
        group(add_or_remove_one(records(a=integers(0, 1))), 2),
    ],
    ids=lambda relation: relation.describe(),
)
def test_what_a_group_proposes_differs_in_one_to_size_records(relation: Any) -> None:
    found = all_pairs(relation, 100)
    assert len(found) > 110
    for pair in found:
        assert relation.contains(pair), pair
        assert relation.contains(Pair(pair.neighbour, pair.data)), pair
        assert len(pair.data) >= len(pair.neighbour)
        assert 1 <= _differing(pair) <= relation.apart
    assert {_differing(pair) for pair in found} == set(range(1, relation.apart + 1))


def test_groups_come_in_any_mixture() -> None:
    pairs_found = all_pairs(THREE_MORE, 100)
    steps = {len(pair.data) - len(pair.neighbour) for pair in pairs_found if _differing(pair) == 3}
    assert steps == {1, 3}  # two gone and one new, or three gone


def test_a_group_of_query_answers_moves_further() -> None:
    assert group(query_answers(4), 3) == query_answers(4, 3)
    given = query_answers(4, 0.5, low=0, high=1)
    assert group(given, 3) == query_answers(4, 1.5, low=0, high=1)
    assert group(given, 1) == given


def test_groups_in_words() -> None:
    assert (
        THREE_OTHERS.describe()
        == "groups of at most 3: replace one of at most 5 records of floats(0, 1)"
    )
    assert THREE_MORE.describe().startswith("groups of at most 3: add or remove one of at most 5")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: group(replace_one(UNIT), 0), "size of at least 1, got 0"),
        (lambda: group(replace_one(UNIT), WRONG), "whole number for size"),
        (lambda: group(replace_one(UNIT, max_records=2), 3), "group of 3 needs max_records of at"),
        (
            lambda: group(add_or_remove_one(UNIT, max_records=4, min_records=2), 3),
            "max_records - min_records of at least 3, got 2",
        ),
    ],
    ids=["zero", "text", "replace", "add"],
)
def test_groups_that_cannot_be(make: Callable[[], Relation], message: str) -> None:
    with pytest.raises(InvalidRelation, match=message):
        make()


@pytest.mark.parametrize(
    "given", [pairs([(1, 2)]), THREE_OTHERS, ONE_USER, UNIT, None], ids=range(5)
)
def test_what_cannot_be_grouped(given: Any) -> None:
    with pytest.raises(TypeError, match="group needs add_or_remove_one, replace_one or query_a"):
        group(given, 2)
