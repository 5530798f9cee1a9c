"""Neighbours that differ in a group of records, or in all the rows of a user."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

import dpaudit
from dpaudit.domains import Domain, Unsuitable, categories, floats, integers, records, tables
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
    replace_user,
)

WRONG: Any = "1.5"
UNIT = floats(0, 1)
THREE_MORE = group(add_or_remove_one(UNIT, max_records=5), 3)
THREE_OTHERS = group(replace_one(UNIT, max_records=5), 3)
VISITS = records(user_id=integers(1, 3), minutes=floats(0, 60))
USER_MORE = add_or_remove_user(VISITS, max_users=2, max_rows=2)
USER_OTHER = replace_user(VISITS, max_users=2, max_rows=2)


class RandomChooser:
    """Answers at random."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def real(self, name: str, low: float, high: float) -> float:
        return float(self._rng.choice([low, high, self._rng.uniform(low, high)]))

    def whole(self, name: str, low: int, high: int) -> int:
        return int(self._rng.integers(low, high, endpoint=True))

    def one_of(self, name: str, count: int) -> int:
        return int(self._rng.integers(count))


def _chosen(relation: Structured, count: int) -> list[Pair]:
    found = []
    for seed in range(count):
        try:
            found.append(relation.choose(RandomChooser(seed)))
        except Unsuitable:
            continue
    return found


def _all_pairs(relation: Structured, count: int) -> list[Pair]:
    rng = np.random.default_rng(7)
    drawn = [relation.random_pair(rng) for _ in range(count)]
    return [*relation.edge_pairs(), *drawn, *_chosen(relation, count)]


def _lists(pair: Pair) -> tuple[list[float], list[float]]:
    return pair.data.tolist(), pair.neighbour.tolist()


def _rows(*rows: tuple[int, float]) -> list[dict[str, float]]:
    return [{"user_id": user, "minutes": minutes} for user, minutes in rows]


# ---- groups


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
    assert USER_MORE.most_slots == 4
    assert USER_OTHER.most_slots == 6


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
    found = _all_pairs(relation, 100)
    assert len(found) > 110
    for pair in found:
        assert relation.contains(pair), pair
        assert relation.contains(Pair(pair.neighbour, pair.data)), pair
        assert len(pair.data) >= len(pair.neighbour)
        assert 1 <= _differing(pair) <= relation.apart
    assert {_differing(pair) for pair in found} == set(range(1, relation.apart + 1))


def test_groups_come_in_any_mixture() -> None:
    pairs_found = _all_pairs(THREE_MORE, 100)
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
    "given", [pairs([(1, 2)]), THREE_OTHERS, USER_MORE, UNIT, None], ids=range(5)
)
def test_what_cannot_be_grouped(given: Any) -> None:
    with pytest.raises(TypeError, match="group needs add_or_remove_one, replace_one or query_a"):
        group(given, 2)


# ---- users


def test_the_first_edges_are_one_user_with_one_row_and_with_many() -> None:
    edges = [(pair.data, pair.neighbour) for pair in USER_MORE.edge_pairs()]
    assert edges[0] == (_rows((3, 60.0)), [])
    assert (_rows((3, 60.0), (3, 60.0)), []) in edges
    assert (_rows((1, 0.0), (3, 60.0), (3, 60.0)), _rows((1, 0.0))) in edges
    assert (_rows((1, 60.0), (1, 60.0), (3, 60.0), (3, 60.0)), _rows((1, 60.0), (1, 60.0))) in edges
    edges = [(pair.data, pair.neighbour) for pair in USER_OTHER.edge_pairs()]
    assert edges[0] == (_rows((3, 60.0)), _rows((3, 0.0)))
    assert (_rows((3, 60.0), (3, 60.0)), _rows((3, 0.0), (3, 0.0))) in edges
    assert (_rows((3, 60.0), (3, 60.0)), _rows((3, 0.0))) in edges


MANY = records(user_id=integers(1, 9), a=UNIT, b=integers(0, 9), c=categories("x", "y"), d=UNIT)


@pytest.mark.parametrize("make", [add_or_remove_user, replace_user])
def test_the_edges_of_users_are_few_and_small_ones_come_first(
    make: Callable[..., Structured],
) -> None:
    for relation in (make(VISITS), make(MANY), make(MANY, min_users=2), make(VISITS, max_rows=1)):
        edges = list(relation.edge_pairs())
        sizes = [len(pair.slots or ()) for pair in edges]
        assert sizes == sorted(sizes)
        assert 10 <= len(edges) <= 60
        assert len({pair.key() for pair in edges}) == len(edges)


BESIDE = ((1, 5.0), (1, 6.0))


@pytest.mark.parametrize(
    ("data", "neighbour", "inside"),
    [
        ([(3, 5.0)], [], True),
        ([(3, 5.0), (3, 5.0)], [], True),
        ([(3, 5.0), *BESIDE, (3, 7.0)], BESIDE, True),
        ([(3, 5.0), (3, 7.0), (1, 5.0)], [(3, 7.0), (1, 5.0)], False),  # not all of the rows
        ([(3, 5.0), (2, 5.0)], [], False),  # two users
        ([(3, 5.0)], [(2, 5.0)], False),
        ([(3, 5.0)], [(3, 6.0)], False),
        ([(3, 5.0)], [(3, 5.0)], False),
        ([(3, 5.0), *BESIDE], BESIDE[::-1], False),  # another order
        ([(3, 5.0)] * 3, [], False),  # too many rows
        ([(3, 5.0), (2, 5.0), (1, 5.0)], [(2, 5.0), (1, 5.0)], False),  # too many users
        ([(4, 5.0)], [], False),  # no such user
        ([(3, 61.0)], [], False),
    ],
)
def test_one_user_more_or_less(data: Any, neighbour: Any, inside: bool) -> None:
    pair = Pair(_rows(*data), _rows(*neighbour))
    assert USER_MORE.contains(pair) is inside
    assert USER_MORE.contains(pair.swapped()) is inside


@pytest.mark.parametrize(
    ("data", "neighbour", "inside"),
    [
        ([(3, 5.0)], [(3, 6.0)], True),
        ([(3, 5.0)], [(3, 6.0), (3, 7.0)], True),
        ([(3, 5.0)], [(3, 5.0), (3, 7.0)], True),  # one of the new rows is an old one
        ([(3, 5.0), *BESIDE], [BESIDE[0], (3, 6.0), BESIDE[1], (3, 5.0)], True),
        ([(1, 5.0), (3, 5.0), (3, 6.0)], [(3, 5.0), (3, 6.0), (1, 5.0)], True),  # both are 3's
        ([(3, 5.0)], [], False),
        ([(3, 5.0)], [(2, 5.0)], False),
        ([(3, 5.0)], [(3, 5.0)], False),
        ([(3, 5.0), (1, 5.0)], [(3, 6.0), (1, 6.0)], False),  # two users
        ([(3, 5.0), *BESIDE], [(3, 6.0), *BESIDE[::-1]], False),
        ([(3, 5.0), *BESIDE], [(3, 6.0), BESIDE[0]], False),
        ([(3, 5.0)], [(3, 5.0)] * 3, False),
        ([(3, 5.0)], [(3, 61.0)], False),
    ],
)
def test_the_rows_of_one_user_replaced(data: Any, neighbour: Any, inside: bool) -> None:
    pair = Pair(_rows(*data), _rows(*neighbour))
    assert USER_OTHER.contains(pair) is inside
    assert USER_OTHER.contains(pair.swapped()) is inside


BIT_ROWS = records(user_id=categories("a", "b"), bit=BITS)


@pytest.mark.parametrize("make", [add_or_remove_user, replace_user])
def test_users_hold_exactly_the_pairs_that_differ_in_one_of_them(
    make: Callable[..., Structured],
) -> None:
    relation = make(BIT_ROWS, max_rows=2)
    rows = [(user, bit) for user in "ab" for bit in (0, 1)]
    datasets = [list(chosen) for size in range(3) for chosen in product(rows, repeat=size)]
    for data, neighbour in product(datasets, datasets):
        allowed = False
        for user in "ab":
            others = [[row for row in side if row[0] != user] for side in (data, neighbour)]
            counts = [len(data) - len(others[0]), len(neighbour) - len(others[1])]
            fits = 0 not in counts if make is replace_user else 0 in counts and counts != [0, 0]
            allowed |= data != neighbour and others[0] == others[1] and fits
        sides = (
            [{"user_id": user, "bit": bit} for user, bit in side] for side in (data, neighbour)
        )
        assert relation.contains(Pair(*sides)) is allowed, (data, neighbour)


@pytest.mark.parametrize("data", [None, 3, "rows", [1], [{}], [{"minutes": 5.0}]], ids=repr)
def test_data_of_another_kind_are_no_neighbours(data: Any) -> None:
    for relation in (USER_MORE, USER_OTHER):
        assert not relation.contains(Pair(data, []))
        assert not relation.contains(Pair(_rows((3, 5.0)), data))


def test_slots_of_users_are_checked() -> None:
    old, new, kept = _rows((3, 5.0), (3, 6.0), (1, 5.0))
    gone, came, shared = Slot(old, ABSENT), Slot(ABSENT, new), Slot(kept, kept)
    assert USER_MORE.join([gone, shared, gone]) is not None
    assert USER_MORE.join([gone, shared, came]) is None
    assert USER_MORE.join([gone, Slot(old, old)]) is None
    assert USER_MORE.join([gone, Slot(kept, ABSENT)]) is None
    assert USER_MORE.join([gone, Slot(ABSENT, ABSENT)]) is None
    assert USER_MORE.join([]) is None
    assert USER_OTHER.join([gone, shared, came]) is not None
    assert USER_OTHER.join([Slot(old, new), shared]) is not None
    assert USER_OTHER.join([gone, shared]) is None
    assert USER_OTHER.join([gone, came, Slot(old, old)]) is None
    assert USER_OTHER.join([gone, Slot(ABSENT, old)]) is None  # nothing changes
    assert USER_OTHER.join([gone, Slot(ABSENT, kept)]) is None


USERS = [
    USER_MORE,
    USER_OTHER,
    add_or_remove_user(MANY),
    replace_user(MANY, min_users=2),
    add_or_remove_user(MANY, min_users=1, max_users=2),
    add_or_remove_user(MANY, user="c", max_users=2),
    replace_user(records(user_id=categories("a", "b")), max_rows=3),
    replace_user(records(user_id=categories("a", "b"), x=UNIT), max_users=1, max_rows=1),
]


@pytest.mark.parametrize("relation", USERS, ids=range(len(USERS)))
def test_what_is_proposed_differs_in_all_rows_of_one_user(relation: Any) -> None:
    found = _all_pairs(relation, 30)
    assert len(found) > 45
    for pair in found:
        assert relation.contains(pair), pair
        assert relation.contains(Pair(pair.neighbour, pair.data)), pair
        owners = [[row[relation.user] for row in side] for side in (pair.data, pair.neighbour)]
        differing = {user for user in set(owners[0] + owners[1]) if _differs(relation, pair, user)}
        assert len(differing) == 1
        assert all(relation.min_users <= len(set(side)) <= relation.max_users for side in owners)
        replaced = differing <= set(owners[0]) & set(owners[1])
        assert replaced is (relation.rows_after[0] > 0)


def _differs(relation: Any, pair: Pair, user: Any) -> bool:
    data, neighbour = (
        [row for row in side if row[relation.user] == user] for side in (pair.data, pair.neighbour)
    )
    return bool(data != neighbour)


ROWS = {"user_id": integers(1, 9), "x": UNIT}


@pytest.mark.parametrize("make", [add_or_remove_user, replace_user])
@pytest.mark.parametrize(
    "domain",
    [
        tables(ROWS, form="columns"),
        tables(ROWS, form="numpy"),
        records(ROWS).filter(lambda row: row["user_id"] > 4 or row["x"] > 0.5),
        records(ROWS).filter(lambda row: row["x"] > 0.5).with_odd_values(),
        records(ROWS).map(lambda row: (row["user_id"], row["x"])),
        records(user_id=integers(1, 9).map(str), x=UNIT.map(round)),
    ],
    ids=["columns", "numpy", "filtered", "odd", "mapped", "mapped fields"],
)
def test_users_of_tables_and_of_domains_made_of_others(
    make: Callable[..., Structured], domain: Domain
) -> None:
    relation = make(domain)
    found = _all_pairs(relation, 10)
    assert len(found) > 20
    for pair in found:
        assert relation.contains(pair), pair
        assert relation.contains(pair.swapped()), pair


def test_random_users_have_few_and_many_rows_alone_and_together() -> None:
    relation = add_or_remove_user(MANY)
    rng = np.random.default_rng(7)
    found = [relation.random_pair(rng) for _ in range(300)]
    steps = [len(pair.data) - len(pair.neighbour) for pair in found]
    assert set(steps) == {1, 2, 3, 4, 5}
    assert steps.count(5) > 60
    users = [len({row["user_id"] for row in pair.data}) for pair in found]
    assert set(users) == {1, 2, 3, 4, 5}


def test_choices_reach_every_user_and_every_number_of_rows() -> None:
    found = [pair.slots or () for pair in _chosen(USER_MORE, 200)]
    changed = [[slot.data for slot in slots if slot.neighbour is ABSENT] for slots in found]
    assert {rows[0]["user_id"] for rows in changed} == {1, 3}  # two users at most: the edges
    assert {len(rows) for rows in changed} == {1, 2}
    assert {len(slots) for slots in found} == {1, 2, 3, 4}


def test_users_in_words() -> None:
    rows = "records(user_id=integers(1, 3), minutes=floats(0, 60))"
    assert (
        USER_MORE.describe()
        == f"add or remove all rows of one user_id of at most 2, each with at most 2 rows of {rows}"
    )
    assert (
        replace_user(VISITS, min_users=2).describe()
        == f"replace all rows of one user_id of 2 to 5, each with at most 5 rows of {rows}"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: add_or_remove_user(UNIT), "records with the field 'user_id', got floats"),
        (lambda: replace_user(records(a=UNIT)), "replace_user needs records with the field"),
        (lambda: add_or_remove_user(VISITS, user="name"), "field 'name'.*user=..."),
        (lambda: add_or_remove_user(records(user_id=categories("a"))), "at least two users, got"),
        (lambda: add_or_remove_user(VISITS, max_users=0), "max_users of at least 1, got 0"),
        (lambda: add_or_remove_user(VISITS, min_users=5), "max_users of at least 6, got 5"),
        (lambda: add_or_remove_user(VISITS, min_users=-1), "min_users of at least 0, got -1"),
        (lambda: replace_user(VISITS, min_users=0), "min_users of at least 1, got 0"),
        (lambda: replace_user(VISITS, max_rows=0), "max_rows of at least 1, got 0"),
        (lambda: replace_user(VISITS, max_rows=WRONG), "whole number for max_rows, got '1.5'"),
        (lambda: add_or_remove_user(VISITS, min_users=3), "finds no pair"),
        (lambda: replace_user(records(user_id=integers(1, 2)), max_rows=1), "finds no pair"),
    ],
    ids=range(12),
)
def test_users_that_cannot_be(make: Callable[[], Relation], message: str) -> None:
    with pytest.raises(InvalidRelation, match=message):
        make()


@pytest.mark.parametrize("given", [None, "rows", records, [UNIT]], ids=range(4))
def test_users_need_a_domain(given: Any) -> None:
    for make in (add_or_remove_user, replace_user):
        with pytest.raises(TypeError, match="needs a domain such as records"):
            make(cast(Any, given))


def test_every_edge_is_the_row_of_a_user_odd_values_among_them() -> None:
    spent = dpaudit.floats(0, 10).with_odd_values()
    rows = dpaudit.records(
        user=dpaudit.integers(1, 9), shop=dpaudit.categories("a", "b"), spent=spent
    )

    def not_a_number(data: list[dict[str, float]], size: int, rng: np.random.Generator) -> object:
        total = np.clip([row["spent"] for row in data], 0.0, 10.0).sum()  # NaN is left as it is
        return total + rng.laplace(scale=1_000.0, size=size)

    people = dpaudit.add_or_remove_user(rows, user="user", max_users=3)
    audit = dpaudit.audit(not_a_number, dpaudit.PureDP(1.0), people, samples=6_000, rng=1)
    assert audit.counterexample is not None
    assert audit.counterexample.event in ("output = NaN", "output is a finite number")
