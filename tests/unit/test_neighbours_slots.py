"""Pairs taken apart and joined again, and built of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from choosers import ScriptedChooser

from dpaudit import categories, floats, integers, records, vectors
from dpaudit.domains import Unsuitable
from dpaudit.neighbours import (
    ABSENT,
    Pair,
    Relation,
    Slot,
    Structured,
    add_or_remove_one,
    group,
    interleaved,
    pairs,
    query_answers,
    replace_one,
)

UNIT = floats(0, 1)
ONE_MORE = add_or_remove_one(UNIT, max_records=3)
ONE_OTHER = replace_one(UNIT, max_records=3)
TWO_ANSWERS = query_answers(2)


def _plain(pair: Pair | None) -> tuple[Any, Any]:
    assert pair is not None
    return np.asarray(pair.data).tolist(), np.asarray(pair.neighbour).tolist()


def test_ours_can_be_taken_apart_and_given_pairs_cannot() -> None:
    for relation in (ONE_MORE, ONE_OTHER, TWO_ANSWERS, group(ONE_OTHER, 2)):
        assert isinstance(relation, Structured)
        assert isinstance(relation, Relation)
    assert not isinstance(pairs([(1, 2)]), Structured)


def test_a_relation_names_its_domain_and_its_size() -> None:
    assert (ONE_MORE.domain, ONE_MORE.most_slots) == (UNIT, 3)
    assert (ONE_OTHER.domain, ONE_OTHER.most_slots) == (UNIT, 3)
    assert (TWO_ANSWERS.domain, TWO_ANSWERS.most_slots) == (floats(-1, 2), 2)


@pytest.mark.parametrize(
    ("relation", "slots", "data", "neighbour"),
    [
        (ONE_MORE, [Slot(0.5, ABSENT)], [0.5], []),
        (ONE_MORE, [Slot(ABSENT, 0.5)], [], [0.5]),
        (ONE_MORE, [Slot(1.0, 1.0), Slot(0.5, ABSENT), Slot(0.0, 0.0)], [1, 0.5, 0], [1, 0]),
        (ONE_OTHER, [Slot(0.5, 0.0)], [0.5], [0.0]),
        (ONE_OTHER, [Slot(1.0, 1.0), Slot(0.0, 0.5)], [1.0, 0.0], [1.0, 0.5]),
        (TWO_ANSWERS, [Slot(0.0, 1.0), Slot(2.0, 2.0)], [0.0, 2.0], [1.0, 2.0]),
    ],
)
def test_slots_join_into_a_pair_that_remembers_them(
    relation: Structured, slots: list[Slot], data: list[float], neighbour: list[float]
) -> None:
    pair = relation.join(slots)
    assert _plain(pair) == (data, neighbour)
    assert pair is not None
    assert pair.slots == tuple(slots)
    assert relation.align(pair) == tuple(slots)
    assert relation.align(Pair(pair.data, pair.neighbour)) == tuple(slots)


@pytest.mark.parametrize(
    ("relation", "slots"),
    [
        (ONE_MORE, []),
        (ONE_MORE, [Slot(0.5, 0.5)]),
        (ONE_MORE, [Slot(0.5, 0.0)]),
        (ONE_MORE, [Slot(0.5, ABSENT), Slot(0.5, ABSENT)]),
        (ONE_MORE, [Slot(0.5, ABSENT), Slot(ABSENT, 0.0)]),
        (ONE_MORE, [Slot(0.5, ABSENT), Slot(ABSENT, ABSENT)]),
        (ONE_MORE, [Slot(1.5, ABSENT)]),
        (ONE_MORE, [Slot("a", ABSENT)]),
        (ONE_MORE, [Slot(0.5, ABSENT), Slot(1.5, 1.5)]),
        (ONE_MORE, [Slot(0.5, ABSENT), *[Slot(0.0, 0.0)] * 3]),
        (ONE_OTHER, []),
        (ONE_OTHER, [Slot(0.5, 0.5)]),
        (ONE_OTHER, [Slot(0.5, ABSENT)]),
        (ONE_OTHER, [Slot(0.5, 0.0), Slot(0.5, 0.0)]),
        (ONE_OTHER, [Slot(0.5, 0.0), Slot(ABSENT, ABSENT)]),
        (ONE_OTHER, [Slot(0.5, float("nan"))]),
        (ONE_OTHER, [Slot(1, 1.0)]),
        (ONE_OTHER, [Slot(0.5, 0.0), *[Slot(0.0, 0.0)] * 3]),
        (TWO_ANSWERS, [Slot(0.0, 1.0)]),
        (TWO_ANSWERS, [Slot(0.0, 1.0), Slot(0.0, ABSENT)]),
        (TWO_ANSWERS, [Slot(0.0, 1.0), Slot(0.0, 0.0), Slot(ABSENT, ABSENT)]),
        (TWO_ANSWERS, [Slot(0.0, 0.0), Slot(1.0, 1.0)]),
        (TWO_ANSWERS, [Slot(0.0, -0.0), Slot(1.0, 1.0)]),
        (TWO_ANSWERS, [Slot(0.0, 1.5), Slot(1.0, 1.0)]),
        (TWO_ANSWERS, [Slot(2.0, 2.5), Slot(1.0, 1.0)]),
    ],
)
def test_slots_that_are_no_neighbours_do_not_join(
    relation: Structured, slots: Sequence[Slot]
) -> None:
    assert relation.join(slots) is None
    assert relation.join([slot.swapped() for slot in slots]) is None


def test_the_place_of_an_added_record_is_found_from_either_side() -> None:
    data, neighbour = np.array([0.0, 1.0, 0.5]), np.array([0.0, 0.5])
    laid = (Slot(0.0, 0.0), Slot(1.0, ABSENT), Slot(0.5, 0.5))
    assert ONE_MORE.align(Pair(data, neighbour)) == laid
    assert ONE_MORE.align(Pair(neighbour, data)) == tuple(slot.swapped() for slot in laid)


def test_a_swapped_pair_keeps_its_slots() -> None:
    pair = next(ONE_MORE.edge_pairs())
    assert ONE_MORE.align(pair) == (Slot(1.0, ABSENT),)
    assert ONE_MORE.align(pair.swapped()) == (Slot(ABSENT, 1.0),)


def test_wrong_memories_are_not_believed() -> None:
    right, wrong = (Slot(0.5, 0.0),), (Slot(1.0, 0.0),)
    data, neighbour = np.array([0.5]), np.array([0.0])
    assert ONE_OTHER.align(Pair(data, neighbour, slots=wrong)) == right
    assert not ONE_OTHER.contains(Pair(data, data, slots=right))
    assert not ONE_MORE.contains(Pair(data, neighbour, slots=right))


@dataclass(frozen=True)
class OneWay:
    """Numbers that a mechanism sees rounded: there is no way back to the record."""

    def edges(self) -> tuple[float, ...]:
        return 0.0, 0.2, 1.0, 2.0

    def draw(self, rng: np.random.Generator) -> float:
        return float(rng.choice([0.0, 0.1, 0.2]))

    def dataset(self, records: Sequence[float]) -> list[int]:
        return [round(record) for record in records]

    def unpack(self, data: Any) -> list[float]:
        raise ValueError("rounded")

    def contains(self, record: Any) -> bool:
        return isinstance(record, float) and 0.0 <= record <= 2.0


def test_a_record_that_cannot_be_seen_in_the_data_is_remembered() -> None:
    relation = replace_one(OneWay(), max_records=2)
    pair = relation.join([Slot(0.2, 0.2), Slot(0.1, 0.9)])
    assert pair is not None
    assert (pair.data, pair.neighbour) == ([0, 0], [0, 1])
    assert relation.align(pair) == (Slot(0.2, 0.2), Slot(0.1, 0.9))
    assert not relation.contains(Pair(pair.data, pair.neighbour))


def test_slots_of_a_mapped_domain_hold_what_was_mapped() -> None:
    relation = add_or_remove_one(integers(0, 9).map(lambda n: f"no. {n}"), max_records=2)
    pair = next(relation.edge_pairs())
    assert (pair.data, pair.neighbour) == (["no. 9"], [])
    assert relation.align(pair) == (Slot(9, ABSENT),)
    assert not relation.contains(Pair(pair.data, pair.neighbour))
    two_ways = integers(0, 9).map(lambda n: f"no. {n}", inverse=lambda text: int(text[4:]))
    relation = add_or_remove_one(two_ways, max_records=2)
    assert relation.align(Pair(pair.data, pair.neighbour)) == (Slot(9, ABSENT),)


def test_records_that_a_mechanism_sees_alike_make_no_pair() -> None:
    relation = replace_one(OneWay(), max_records=1)
    assert relation.join([Slot(0.1, 0.2)]) is None
    assert [pair.key() for pair in relation.edge_pairs()] == ["[0] | [1]", "[0] | [2]", "[1] | [2]"]
    rng = np.random.default_rng(7)
    found = [relation.random_pair(rng) for _ in range(20)]
    assert all(relation.contains(pair) for pair in found)


@pytest.mark.parametrize(
    ("data", "neighbour", "most", "absent"),
    [
        ("abc", "abc", 0, ("", "")),
        ("abc", "ac", 1, ("b", "")),
        ("aab", "ab", 1, ("a", "")),
        ("abc", "axc", 2, ("b", "x")),
        ("abcabba", "cbabac", 5, ("abb", "bc")),
        ("ab", "ba", 2, None),
        ("", "abc", 3, ("", "abc")),
        ("abcdefgh", "bcdefghi", 2, ("a", "i")),
    ],
)
def test_two_datasets_are_laid_out_with_the_fewest_gaps(
    data: str, neighbour: str, most: int, absent: tuple[str, str] | None
) -> None:
    slots = interleaved(data, neighbour, most)
    assert slots is not None
    assert "".join(slot.data for slot in slots if slot.data is not ABSENT) == data
    assert "".join(slot.neighbour for slot in slots if slot.neighbour is not ABSENT) == neighbour
    gaps = [slot for slot in slots if ABSENT in slot]
    assert len(gaps) <= most
    assert all(slot.data == slot.neighbour for slot in slots if ABSENT not in slot)
    if absent is not None:
        only_data = "".join(slot.data for slot in gaps if slot.data is not ABSENT)
        only_neighbour = "".join(slot.neighbour for slot in gaps if slot.neighbour is not ABSENT)
        assert (sorted(only_data), sorted(only_neighbour)) == tuple(map(sorted, absent))
    assert interleaved(data, neighbour, len(gaps) - 1) is None


@pytest.mark.parametrize(
    ("relation", "answers", "data", "neighbour"),
    [
        (ONE_MORE, {"records": 1, "record": 0.5}, [0.5], []),
        (
            ONE_MORE,
            {"records": 2, "place": 0, "repeats": 0, "record 0": 0.25, "record": 0.5},
            [0.5, 0.25],
            [0.25],
        ),
        (
            ONE_MORE,
            {"records": 2, "place": 1, "repeats": 1, "record 0": 0.25},
            [0.25, 0.25],
            [0.25],
        ),
        (
            add_or_remove_one(UNIT, max_records=4),
            {"records": 4, "pattern": 2, "turn": 1, "place": 0, "repeats": 0}
            | {"record 0": 0.25, "record 1": 0.75, "record": 0.5},
            [0.5, 0.25, 0.75, 0.75],
            [0.25, 0.75, 0.75],
        ),
        (
            ONE_OTHER,
            {"records": 3, "pattern": 0, "place": 2, "repeats": 0}
            | {"record 0": 0.25, "record 1": 0.75, "record": 0.5, "replacement": 1.0},
            [0.25, 0.75, 0.5],
            [0.25, 0.75, 1.0],
        ),
        (
            ONE_OTHER,
            {"records": 3, "pattern": 1, "place": 1, "repeats": 0}
            | {"record 0": 0.25, "record": 0.5, "replacement": 1.0},
            [0.25, 0.5, 0.25],
            [0.25, 1.0, 0.25],
        ),
        (
            TWO_ANSWERS,
            {"answers": 0, "moves": 0, "answer 0": 0.5, "answer 1": 1.5},
            [0.5, 1.5],
            [1.5, 2.0],
        ),
        (TWO_ANSWERS, {"answers": 1, "moves": 1, "answer 0": 0.5}, [0.5, 0.5], [-0.5, -0.5]),
        (
            TWO_ANSWERS,
            {"answers": 1, "moves": 2, "answer 0": 0.5, "move 0": -0.25, "move 1": 1.0},
            [0.5, 0.5],
            [0.25, 1.5],
        ),
        (TWO_ANSWERS, {"answers": 1, "moves": 3, "answer 0": 0.0}, [0.0, 0.0], [1.0, -1.0]),
        (query_answers(1), {"moves": 0, "answer 0": 0.0}, [0.0], [1.0]),
    ],
)
def test_a_pair_is_built_of_choices_and_nothing_else_is_asked(
    relation: Structured, answers: dict[str, float], data: list[float], neighbour: list[float]
) -> None:
    script = ScriptedChooser(answers)
    pair = relation.choose(script)
    assert _plain(pair) == (data, neighbour)
    assert script.asked == list(answers)  # in this order: the structure first
    assert relation.contains(pair)
    assert pair.slots is not None


@pytest.mark.parametrize(
    ("relation", "answers"),
    [
        (ONE_OTHER, {"records": 1, "record": 0.5, "replacement": 0.5}),
        (TWO_ANSWERS, {"answers": 1, "moves": 0, "answer 0": 2.0}),
        (TWO_ANSWERS, {"answers": 1, "moves": 2, "answer 0": 1.0, "move 0": 0.0, "move 1": 0.0}),
    ],
)
def test_choices_that_change_nothing_are_unsuitable(
    relation: Structured, answers: dict[str, float]
) -> None:
    with pytest.raises(Unsuitable):
        relation.choose(ScriptedChooser(answers))


@pytest.mark.parametrize(
    "relation",
    [
        add_or_remove_one(records(a=integers(0, 9), b=UNIT), max_records=4),
        replace_one(vectors(2, 0, 1)),
        replace_one(categories("a", "b")),
        query_answers(3),
        group(replace_one(UNIT, max_records=4), 2),
    ],
    ids=lambda relation: relation.describe(),
)
def test_every_pair_remembers_its_slots(relation: Structured) -> None:
    rng = np.random.default_rng(7)
    for pair in [*relation.edge_pairs(), *(relation.random_pair(rng) for _ in range(20))]:
        assert pair.slots is not None
        assert relation.align(pair) is pair.slots
        assert len(pair.slots) <= relation.most_slots
