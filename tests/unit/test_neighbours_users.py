"""Neighbours that differ in all the rows of a user."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from choosers import all_pairs, chosen_pairs

import dpaudit
from dpaudit import categories, floats, integers, records, tables
from dpaudit.domains import Domain
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours import (
    ABSENT,
    Pair,
    Relation,
    Slot,
    Structured,
    add_or_remove_user,
    replace_user,
)

WRONG: Any = "1.5"
UNIT = floats(0, 1)
VISITS = records(user_id=integers(1, 3), minutes=floats(0, 60))
USER_MORE = add_or_remove_user(VISITS, max_users=2, max_rows=2)
USER_OTHER = replace_user(VISITS, max_users=2, max_rows=2)


def _rows(*rows: tuple[int, float]) -> list[dict[str, float]]:
    return [{"user_id": user, "minutes": minutes} for user, minutes in rows]


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


BIT_ROWS = records(user_id=categories("a", "b"), bit=integers(0, 1))


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
    found = all_pairs(relation, 30)
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
    found = all_pairs(relation, 10)
    assert len(found) > 20
    for pair in found:
        assert relation.contains(pair), pair
        assert relation.contains(pair.swapped()), pair


def test_random_users_have_few_and_many_rows_alone_and_together() -> None:
    """As many rows as allowed are likelier than a log-uniform number of them would make them.

    Null: five rows in a share of 0.326 of the pairs (a quarter, and log(6/5)/log(6) of the rest);
    fewer than 201 of 1000 have a chance of 4e-19. Alternative: log-uniform alone, a share of 0.102;
    power 1 - 1e-20. Every number of rows and of users has a share of at least 0.09: one is missing
    with a chance below 1e-40.
    """
    relation = add_or_remove_user(MANY)
    rng = np.random.default_rng(7)
    found = [relation.random_pair(rng) for _ in range(1000)]
    steps = [len(pair.data) - len(pair.neighbour) for pair in found]
    assert set(steps) == {1, 2, 3, 4, 5}
    assert steps.count(5) > 200
    users = [len({row["user_id"] for row in pair.data}) for pair in found]
    assert set(users) == {1, 2, 3, 4, 5}


def test_choices_reach_every_user_and_every_number_of_rows() -> None:
    found = [pair.slots or () for pair in chosen_pairs(USER_MORE, 200)]
    changed = [[slot.data for slot in slots if slot.neighbour is ABSENT] for slots in found]
    assert {rows[0]["user_id"] for rows in changed} == {1, 3}  # two users at most: the edges
    assert {len(rows) for rows in changed} == {1, 2}
    assert {len(slots) for slots in found} == {1, 2, 3, 4}


def test_most_slots_of_users() -> None:
    assert USER_MORE.most_slots == 4
    assert USER_OTHER.most_slots == 6


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
