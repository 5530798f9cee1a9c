"""A relation knows its own: all that is asked, mutated or shrunk belongs to it, all else does not.

What is outside is refused with a reason, and a pair of any relation is the same pair when it is
written by hand and made again.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Iterator
from datetime import date
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit import categories, dates, floats, integers, lists, records, tables, texts, vectors
from dpaudit.auditing import simpler_pairs
from dpaudit.domains import Domain, refinable
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours import (
    ABSENT,
    Pair,
    RecordRelation,
    Replace,
    Slot,
    Structured,
    add_or_remove_one,
    add_or_remove_user,
    fitted,
    group,
    is_shared,
    pair_of,
    pairs,
    query_answers,
    replace_one,
    replace_user,
    why_not,
)
from dpaudit.search import Mutations, make_finder

PEOPLE: dict[str, Domain] = {
    "age": integers(0, 120),
    "city": categories("Ulm", "Bonn"),
    "born": dates("1990-01-01", "2020-12-31"),
    "at": vectors(2, 0, 1),
}
DOMAINS: dict[str, Domain] = {
    "floats": floats(0, 1),
    "odd floats": floats(-1, 1).with_odd_values(),
    "integers": integers(-3, 9),
    "categories": categories("a", 1, None, True),
    "dates": dates("2020-01-01", "2020-03-31"),
    "texts": texts("yes", "no", max_tokens=3),
    "vectors": vectors(3, -1, 1),
    "odd vectors": vectors(2, 0, 1).with_odd_values(),
    "lists": lists(integers(0, 4), 3),
    "records": records(PEOPLE),
    "odd records": records(PEOPLE).with_odd_values(),
    **{f"tables of {form}": tables(PEOPLE, form=form) for form in ("dicts", "columns", "numpy")},
    "filtered": integers(0, 100).filter(lambda number: number % 2 == 0, "even"),
    "mapped": integers(0, 9).map(str, inverse=int),
    **{
        f"tables of {form}": tables(PEOPLE, form=form)
        for form in ("pandas", "polars")
        if importlib.util.find_spec(form) is not None
    },
}
USERS = records(user_id=integers(1, 9), minutes=floats(0, 60))
MADE: dict[str, Callable[[Domain], Structured]] = {
    "replace": lambda domain: replace_one(domain, max_records=4, min_records=1),
    "add": lambda domain: add_or_remove_one(domain, max_records=4, min_records=1),
    "replace 2": lambda domain: group(replace_one(domain, max_records=4), 2),
    "add 2": lambda domain: group(add_or_remove_one(domain, max_records=4), 2),
}
RELATIONS: dict[str, Structured] = {
    **{
        f"{how}: {name}": make(domain)
        for how, make in MADE.items()
        for name, domain in DOMAINS.items()
    },
    **{f"answers {norm}": query_answers(3, norm=norm) for norm in (1, 2, np.inf)},
    "add a user": add_or_remove_user(USERS, max_users=3, max_rows=2),
    "replace a user": replace_user(USERS, max_users=3, max_rows=2),
}
FINDERS = ("auto", "random", "spread", "evolve", "grid", "gp")
relations = st.sampled_from(sorted(RELATIONS)).map(RELATIONS.__getitem__)
record_relations = st.sampled_from(
    sorted(name for name, one in RELATIONS.items() if isinstance(one, RecordRelation))
).map(RELATIONS.__getitem__)
seeds = st.integers(0, 2**32 - 1)


def _bare(pair: Pair) -> Pair:
    """The pair as somebody else would write it: nothing says how it was built."""
    return Pair(pair.data, pair.neighbour)


def _belongs(relation: Structured, pair: Pair) -> None:
    for one in (pair, _bare(pair), _bare(pair).swapped()):
        assert relation.contains(one), one
        assert why_not(relation, one) is None
    assert fitted(relation, _bare(pair), what="it") == pair


# --- inside ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(relation=relations, finder=st.sampled_from(FINDERS), seed=seeds)
def test_what_a_finder_asks_belongs_to_its_relation(
    relation: Structured, finder: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    search = make_finder(finder, relation, rng)
    for pair in islice(iter(search.ask, None), 25):
        assert pair is not None
        _belongs(relation, pair)
        search.tell(pair, float(rng.random()))


@settings(max_examples=60, deadline=None)
@given(relation=relations, seed=seeds)
def test_what_is_mutated_or_shrunk_belongs_to_its_relation(relation: Structured, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mutations, parents = Mutations(relation, rng), [relation.random_pair(rng) for _ in range(2)]
    slots = [mutations.slots(_bare(pair)) for pair in parents]
    assert slots[0] is not None
    assert slots[1] is not None
    made = [
        *(mutations.changed(one) for one in slots if one),
        mutations.crossed(slots[0], slots[1]),
    ]
    for pair in (one for one in made if one is not None):
        _belongs(relation, pair)
    for pair in islice(simpler_pairs(relation, parents[0]), 20):
        _belongs(relation, pair)


# --- outside --------------------------------------------------------------------------------------


def _outside(relation: RecordRelation, pair: Pair) -> Iterator[Pair]:
    """Datasets that are no neighbours: too many, too few, too far apart, equal, of another type."""
    slots, domain = list(pair.slots or ()), relation.domain
    shared = [slot for slot in slots if is_shared(slot)]
    kept = shared[0] if shared else Slot(domain.edges()[0], domain.edges()[0])
    yield pair_of(domain, [*slots, *[kept] * (relation.max_records + 1)])
    yield pair_of(domain, shared) if shared else Pair(pair.data, pair.data)
    first, second = domain.edges()[:2]
    far = relation.apart + 1
    if isinstance(relation, Replace):
        yield pair_of(domain, [Slot(first, second)] * far)
        yield pair_of(domain, [*slots, Slot(first, ABSENT)])
    else:
        yield pair_of(domain, [kept, *[Slot(first, ABSENT)] * far])
        yield pair_of(domain, [kept, *[Slot(first, second)] * far])
    for wrong in (7, None, object(), {"no": "records"}, [object()], np.zeros((2, 2, 2))):
        yield Pair(wrong, pair.neighbour)
        yield Pair(pair.data, wrong)


@settings(max_examples=120, deadline=None)
@given(relation=record_relations, seed=seeds)
def test_what_is_outside_is_refused_with_a_reason(relation: RecordRelation, seed: int) -> None:
    for pair in _outside(relation, relation.random_pair(np.random.default_rng(seed))):
        wrong = _bare(pair)
        assert not relation.contains(wrong), wrong
        assert why_not(relation, wrong)
        assert relation.contains(wrong) is relation.contains(wrong.swapped())
        with pytest.raises(InvalidRelation, match="is not a pair of"):
            fitted(relation, wrong, what="it")


OUT_OF_DOMAIN: list[tuple[str, Any]] = [
    ("floats", 50.0),
    ("floats", float("nan")),
    ("odd floats", 1.5),
    ("integers", 10),
    ("dates", date(2021, 1, 1)),
    ("categories", "b"),
    ("categories", 1.0),
    ("texts", "perhaps"),
    ("texts", "yes yes yes yes"),
    ("vectors", np.array([0.0, 0.0, 2.0])),
    ("lists", [1, 2, 3, 4]),
    ("lists", [9]),
    ("filtered", 3),
    ("mapped", 11),
    ("records", {"age": 121, "city": "Ulm"}),
    ("records", {**records(PEOPLE).edges()[0], "age": 121}),
    ("records", {**records(PEOPLE).edges()[0], "name": "x"}),
    *((f"tables of {form}", {**records(PEOPLE).edges()[0], "age": 121}) for form in ("numpy",)),
]


@pytest.mark.parametrize(("name", "record"), OUT_OF_DOMAIN)
def test_a_record_outside_of_the_domain_is_named(name: str, record: Any) -> None:
    domain = DOMAINS[name]
    reason = refinable(domain).why_not(record)
    assert reason
    assert not domain.contains(record)


@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(sorted(DOMAINS)), seed=seeds)
def test_a_record_of_the_domain_has_nothing_against_it(name: str, seed: int) -> None:
    domain = DOMAINS[name]
    assert refinable(domain).why_not(domain.draw(np.random.default_rng(seed))) is None


ROW = {"user_id": 1, "minutes": 5.0}


@pytest.mark.parametrize(
    ("relation", "pair", "reason"),
    [
        (replace_one(floats(0, 1)), ([0.0], [50.0]), "50.0 is not in floats(0, 1)"),
        (
            replace_one(floats(0, 1)),
            ([0.0, 0.0], [1.0, 1.0]),
            "the datasets differ in 2 records, at most 1 may differ",
        ),
        (
            replace_one(floats(0, 1), max_records=5),
            ([0.0] * 7, [0.0] * 6 + [1.0]),
            "data has 7 records, at most 5 are allowed",
        ),
        (
            replace_one(floats(0, 1)),
            ([0.0], [0.0, 1.0]),
            "data has 1 record and neighbour 2: where records are replaced, both have as many",
        ),
        (
            add_or_remove_one(floats(0, 1)),
            ([0.0], [1.0]),
            "the datasets differ in 2 records, at most 1 may differ",
        ),
        (
            add_or_remove_one(floats(0, 1), min_records=1),
            ([0.0], []),
            "neighbour has 0 records, at least 1 are needed",
        ),
        (replace_one(floats(0, 1)), ([0.5], [0.5]), "the two datasets are the same to a mechanism"),
        (query_answers(2), ([0.0, 0.0], [0.0]), "neighbour has 1 answer, the relation has 2"),
        (
            query_answers(2, norm=1),
            ([0.0, 0.0], [1.0, 1.0]),
            "the answers move by 2.0 (norm 1), at most 1.0 is allowed",
        ),
        (pairs([([1.0], [])]), ([2.0], []), "it is none of the 1 given pair"),
        (
            RELATIONS["add a user"],
            ([ROW] * 3, []),
            "data has 3 rows of one user, at most 2 are allowed",
        ),
        (
            RELATIONS["add a user"],
            ([ROW, {**ROW, "user_id": 2}], []),
            "the rows of 2 users differ (1, 2), only those of one may",
        ),
        (
            RELATIONS["replace a user"],
            ([ROW, {**ROW, "user_id": 2}], [ROW]),
            "the user 2 has no rows on one side, and must have some on both",
        ),
        (
            RELATIONS["add a user"],
            ([ROW], [{**ROW, "minutes": 6.0}]),
            "the user 1 has rows on both sides, and must have none on one",
        ),
        (
            RELATIONS["add a user"],
            ([{**ROW, "minutes": 99.0}], []),
            "the field 'minutes': 99.0 is not in floats(0, 60)",
        ),
        (
            replace_one(integers(0, 9).map(str)),
            (["1"], ["2"]),
            "a dataset of integers(0, 9).map(str) cannot be unpacked, for the map has no inverse. "
            "Give it one: map(str, inverse=...)",
        ),
    ],
)
def test_the_reason_says_what_is_wrong(relation: Any, pair: Any, reason: str) -> None:
    assert why_not(relation, Pair(*pair)) == reason
    assert not relation.contains(Pair(*pair))


def test_who_cannot_be_asked_refuses_nothing() -> None:
    class Own:
        def ask(self) -> Pair:
            return Pair([1], [0])

        def tell(self, pair: Pair, score: float) -> None:
            pass

    assert why_not(Own(), Pair([7], [8])) is None

    @dataclasses.dataclass
    class OwnRelation(Own):
        def contains(self, pair: Pair) -> bool:
            return len(pair.data) == 1

    assert why_not(OwnRelation(), Pair([7], [8])) is None
    assert why_not(OwnRelation(), Pair([7, 8], [8])) == "they are not neighbours in this relation"
