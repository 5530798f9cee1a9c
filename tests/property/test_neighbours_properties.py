"""Every relation over every domain: what it proposes are neighbours, once each, reproducibly."""

from __future__ import annotations

import copy
from itertools import islice
from typing import Any

import numpy as np
from choosers import chosen_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit import categories, floats, integers, records, vectors
from dpaudit.domains import Domain, canonical
from dpaudit.neighbours import (
    ABSENT,
    AddOrRemove,
    Pair,
    QueryAnswers,
    Relation,
    Replace,
    Slot,
    Structured,
    UserRelation,
    add_or_remove_one,
    add_or_remove_user,
    group,
    is_shared,
    query_answers,
    replace_one,
    replace_user,
)
from dpaudit.search import as_finder

bounds = st.tuples(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
).map(sorted)
whole = st.integers(-(2**63), 2**63 - 1)
plain_domains = st.one_of(
    bounds.map(lambda b: floats(*b)),
    st.tuples(whole, whole).map(sorted).map(lambda b: integers(*b)),
    st.lists(st.text(max_size=3), min_size=1, max_size=5, unique=True).map(categories),
    st.tuples(st.integers(1, 4), bounds).map(lambda v: vectors(v[0], *v[1])),
)
domains = plain_domains | st.dictionaries(
    st.text(max_size=3), plain_domains, min_size=1, max_size=9
).map(records)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def record_relations(draw: st.DrawFn) -> AddOrRemove | Replace:
    domain: Domain = draw(domains)
    least = draw(st.integers(0, 4))
    most = least + draw(st.integers(1, 5))
    if draw(st.booleans()) or len(domain.edges()) < 2:
        return add_or_remove_one(domain, min_records=least, max_records=most)
    return replace_one(domain, min_records=least + 1, max_records=most)


@st.composite
def query_relations(draw: st.DrawFn) -> QueryAnswers:
    sensitivity = draw(st.floats(1e-3, 1e3))
    low = draw(st.none() | st.floats(-1e3, 1e3))
    width = draw(st.none() | st.floats(1e-3, 1e3))
    high = None if low is None or width is None else low + width
    norm = draw(st.sampled_from([1, 2, np.inf]))
    return query_answers(draw(st.integers(1, 8)), sensitivity, norm=norm, low=low, high=high)


@st.composite
def group_relations(draw: st.DrawFn) -> AddOrRemove | Replace:
    relation = draw(record_relations())
    if isinstance(relation, AddOrRemove):
        most = relation.max_records - relation.min_records
        return group(relation, draw(st.integers(1, most)))
    return group(relation, draw(st.integers(1, relation.max_records)))


@st.composite
def user_relations(draw: st.DrawFn) -> UserRelation:
    fields = draw(st.dictionaries(st.text(max_size=3), plain_domains, max_size=3))
    domain = records({"who": draw(st.sampled_from([USERS, FEW_USERS])), **fields})
    make = draw(st.sampled_from([add_or_remove_user, replace_user]))
    return make(domain, "who", max_users=draw(st.integers(1, 4)), max_rows=draw(st.integers(2, 4)))


USERS, FEW_USERS = integers(1, 100), categories("a", "b")
relations = record_relations() | query_relations() | group_relations() | user_relations()


def _random_pairs(relation: Relation, seed: int, count: int) -> list[Pair]:
    rng = np.random.default_rng(seed)
    return [relation.random_pair(rng) for _ in range(count)]


def _some_of_all(relation: Structured, seed: int) -> list[Pair]:
    edges = islice(relation.edge_pairs(), 20)
    return [*edges, *_random_pairs(relation, seed, 5), *chosen_pairs(relation, 5, seed)]


@settings(max_examples=20, deadline=None)
@given(relation=relations, seed=seeds)
def test_what_a_relation_proposes_are_neighbours(relation: Structured, seed: int) -> None:
    for pair in _some_of_all(relation, seed):
        assert relation.contains(pair), pair
        assert relation.contains(pair.swapped()), pair
        assert relation.contains(Pair(pair.data, pair.neighbour)), pair
        assert not relation.contains(Pair(pair.data, pair.data))


@settings(max_examples=20, deadline=None)
@given(relation=relations, seed=seeds)
def test_pairs_are_taken_apart_and_joined_again(relation: Structured, seed: int) -> None:
    for pair in _some_of_all(relation, seed):
        assert pair.slots is not None
        assert relation.align(pair) == pair.slots
        assert len(pair.slots) <= relation.most_slots
        found = relation.align(Pair(pair.data, pair.neighbour))
        assert found is not None
        for slots in (pair.slots, found):
            again = relation.join(slots)
            assert again == pair
            assert again is not None
            assert relation.align(again) == again.slots == slots


@settings(max_examples=20, deadline=None)
@given(relation=relations, seed=seeds)
def test_tampered_slots_are_refused(relation: Structured, seed: int) -> None:
    for pair in _some_of_all(relation, seed):
        slots = list(pair.slots or ())
        outside = object()
        for place, slot in enumerate(slots):
            for wrong in (Slot(outside, slot.neighbour), Slot(outside, outside)):
                assert relation.join([*slots[:place], wrong, *slots[place + 1 :]]) is None
        assert relation.join([*slots, Slot(ABSENT, ABSENT)]) is None
        assert relation.join([shared for shared in slots if is_shared(shared)]) is None
        assert relation.join(slots * (relation.most_slots // len(slots) + 1)) is None


@settings(max_examples=20, deadline=None)
@given(relation=relations, seed=seeds)
def test_slots_of_another_pair_are_not_believed(relation: Structured, seed: int) -> None:
    one, other = _random_pairs(relation, seed, 2)
    mixed = Pair(one.data, one.neighbour, slots=other.slots)
    found = relation.align(mixed)
    assert found is not None
    assert relation.join(found) == one


@settings(max_examples=20, deadline=None)
@given(relation=group_relations(), seed=seeds)
def test_groups_differ_in_one_to_size_records(relation: AddOrRemove | Replace, seed: int) -> None:
    for pair in _some_of_all(relation, seed):
        slots = relation.align(Pair(pair.data, pair.neighbour))
        assert slots is not None
        assert 1 <= sum(not is_shared(slot) for slot in slots) <= relation.apart


@settings(max_examples=60, deadline=None)
@given(relation=record_relations(), seed=seeds)
def test_sizes_keep_their_bounds(relation: AddOrRemove | Replace, seed: int) -> None:
    for pair in [*relation.edge_pairs(), *_random_pairs(relation, seed, 10)]:
        smaller = len(pair.neighbour)
        assert relation.min_records <= smaller <= len(pair.data) <= relation.max_records
        assert len(pair.data) - smaller == isinstance(relation, AddOrRemove)


@settings(max_examples=30, deadline=None)
@given(relation=relations)
def test_edges_are_the_same_every_time_and_never_repeat(relation: Relation) -> None:
    keys = [pair.key() for pair in relation.edge_pairs()]
    assert 1 <= len(keys) <= 60
    assert len(set(keys)) == len(keys)
    assert keys == [pair.key() for pair in relation.edge_pairs()]


@settings(max_examples=5, deadline=None)
@given(relation=relations, seed=seeds)
def test_the_same_seed_gives_the_same_search_without_repeats(relation: Relation, seed: int) -> None:
    found, again = (
        [
            p.key()
            for p in islice(iter(as_finder(relation, "auto", rng).ask, None), 70)
            if p is not None
        ]
        for rng in (np.random.default_rng(seed), np.random.default_rng(seed))
    )
    assert found == again
    assert len(set(found)) == len(found)


@settings(max_examples=60, deadline=None)
@given(domain=domains, seed=seeds, size=st.integers(0, 6))
def test_packing_and_unpacking_round_trip(domain: Domain, seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    drawn: list[Any] = [domain.draw(rng) for _ in range(size)]
    before = copy.deepcopy(drawn)
    data = domain.dataset(drawn)
    packed = canonical(data)
    unpacked = domain.unpack(data)
    assert canonical(unpacked) == canonical(drawn) == canonical(before)
    assert canonical(data) == packed == canonical(domain.dataset(unpacked))
    assert all(domain.contains(record) for record in drawn)


@settings(max_examples=20, deadline=None)
@given(relation=relations, seed=seeds)
def test_asking_about_a_pair_changes_neither_pair_nor_relation(
    relation: Relation, seed: int
) -> None:
    before = copy.deepcopy(relation)
    for pair in _random_pairs(relation, seed, 3):
        kept = copy.deepcopy(pair)
        relation.contains(pair)
        as_finder(relation, "auto", np.random.default_rng(seed)).tell(pair, 1.0)
        str(pair)
        assert pair == kept
    assert relation == before


@settings(max_examples=20, deadline=None)
@given(relation=record_relations(), seed=seeds)
def test_a_mechanism_that_writes_on_its_data_spoils_no_other(
    relation: AddOrRemove | Replace, seed: int
) -> None:
    edges = [pair.key() for pair in relation.edge_pairs()]
    for pair in [*relation.edge_pairs(), *_random_pairs(relation, seed, 3)]:
        kept = canonical(pair.neighbour)
        if isinstance(pair.data, np.ndarray):
            pair.data[...] = 77
        else:
            for row in pair.data:
                if isinstance(row, dict):
                    for cell in row.values():
                        if isinstance(cell, np.ndarray):
                            cell[...] = 77
                    row.clear()
            pair.data.clear()
        assert canonical(pair.neighbour) == kept
    assert [pair.key() for pair in relation.edge_pairs()] == edges
