"""Every domain: what it proposes belongs to it, can be packed, placed, and made plainer."""

from __future__ import annotations

import copy
import math
import zlib
from importlib.util import find_spec
from typing import Any

import numpy as np
from choosers import RandomChooser
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit import categories, dates, floats, integers, lists, records, tables, texts, vectors
from dpaudit.domains import (
    MAX_EDGES,
    MAX_SIMPLER,
    TABLE_FORMS,
    Explorable,
    Refinable,
    Unsuitable,
    canonical,
)

LIBRARIES = ("pandas", "polars")


def disguised(number: int) -> str:
    return f"user {number}"


def undisguised(seen: str) -> int:
    return int(seen.removeprefix("user "))


def mostly(domain: Refinable) -> Refinable:
    """The domain but for some of its records; never without its first edge."""
    kept = canonical(domain.released(domain.edges()[0]))

    def fits(seen: Any) -> bool:
        key = canonical(seen)
        return key == kept or zlib.crc32(key.encode()) % 8 > 0

    return domain.filter(fits)


bounds = st.tuples(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
).map(sorted)
whole = st.integers(-(2**63), 2**63 - 1)
leaves = st.one_of(
    bounds.map(lambda b: floats(*b)),
    st.tuples(whole, whole).map(sorted).map(lambda b: integers(*b)),
    st.integers(0, 50).map(lambda high: integers(-3, high)),
    st.lists(st.text(max_size=3), min_size=1, max_size=5, unique=True).map(categories),
    st.lists(
        st.integers() | st.booleans() | st.none(), min_size=1, max_size=20, unique_by=repr
    ).map(categories),
    st.tuples(st.integers(1, 4), bounds).map(lambda v: vectors(v[0], *v[1])),
    st.tuples(st.dates(), st.dates()).map(sorted).map(lambda days: dates(*days)),
    st.tuples(
        st.lists(st.sampled_from(["a", "b", "ab", "a b", "\0", "é"]), min_size=1, unique=True),
        st.tuples(st.integers(0, 2), st.integers(0, 2)).filter(any),
        st.sampled_from(["", " ", ", "]),
    ).map(lambda t: texts(t[0], min_tokens=t[1][0], max_tokens=sum(t[1]), separator=t[2])),
)
mapped_leaves = (
    st.tuples(whole, whole)
    .map(sorted)
    .map(lambda b: integers(*b).map(disguised, inverse=undisguised))
)


FORMS = [form for form in TABLE_FORMS if form not in LIBRARIES or find_spec(form) is not None]


def _grown(inner: st.SearchStrategy[Refinable]) -> st.SearchStrategy[Refinable]:
    fields = st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=5)
    columns = st.dictionaries(st.text(min_size=1, max_size=3), inner, min_size=1, max_size=5)
    lengths = st.tuples(st.integers(0, 2), st.integers(0, 2))
    return st.one_of(
        fields.map(records),
        st.tuples(columns, st.sampled_from(FORMS)).map(lambda t: tables(t[0], form=t[1])),
        st.tuples(inner, lengths).map(lambda t: lists(t[0], sum(t[1]), t[1][0])),
        inner.map(lambda domain: domain.with_odd_values()),
        inner.map(mostly),
    )


domains = st.recursive(leaves | mapped_leaves, _grown, max_leaves=4)
seeds = st.integers(0, 2**32 - 1)


def _some(domain: Explorable, seed: int, count: int = 3) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [*domain.edges(), *(domain.draw(rng) for _ in range(count))]


@given(domain=domains, seed=seeds)
def test_edges_and_draws_belong_to_the_domain(domain: Explorable, seed: int) -> None:
    edges = domain.edges()
    assert 1 <= len(edges) <= MAX_EDGES
    assert len({canonical(edge) for edge in edges}) == len(edges)
    assert all(domain.contains(record) for record in _some(domain, seed))


@settings(max_examples=40)
@given(domain=domains, seed=seeds)
def test_near_records_belong_to_the_domain_and_differ(domain: Explorable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for record in _some(domain, seed):
        kept = copy.deepcopy(record)
        other = domain.near(record, rng)
        assert domain.contains(other), (record, other)
        assert canonical(record) == canonical(kept)
        if len(domain.edges()) > 1:
            assert canonical(other) != canonical(record)


@settings(max_examples=30)
@given(domain=domains, seed=seeds)
def test_simpler_records_belong_to_the_domain_and_are_plainer(
    domain: Explorable, seed: int
) -> None:
    for record in _some(domain, seed):
        simpler = domain.simpler(record)
        scores = [domain.plainness(each) for each in simpler]
        assert len(simpler) <= MAX_SIMPLER
        assert all(domain.contains(each) for each in simpler)
        assert all(0.0 <= score < domain.plainness(record) for score in scores)
        assert scores == sorted(scores)
        assert domain.plainness(record) < math.inf


@settings(max_examples=30)
@given(domain=domains, seed=seeds)
def test_a_chain_of_simpler_records_ends(domain: Explorable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    record = domain.draw(rng)
    for _ in range(1000):
        simpler = domain.simpler(record)
        if not simpler:
            return
        record = simpler[int(rng.integers(len(simpler)))]
    raise AssertionError(f"still simpler after 1000 steps: {record!r}")


@given(domain=domains, points=st.integers(1, 40))
def test_a_grid_holds_the_edges_and_about_as_many_records_as_asked(
    domain: Explorable, points: int
) -> None:
    grid = domain.grid(points)
    keys = [canonical(record) for record in grid]
    assert all(domain.contains(record) for record in grid)
    assert {canonical(edge) for edge in domain.edges()} <= set(keys)
    assert len(set(keys)) == len(keys) <= 4 * points + 2 * MAX_EDGES
    assert keys == [canonical(record) for record in domain.grid(points)]


@given(domain=domains, seed=seeds)
def test_choices_lead_to_records_and_no_question_is_asked_twice(
    domain: Explorable, seed: int
) -> None:
    answers = RandomChooser(seed)
    try:
        record = domain.choose(answers, "r")
    except Unsuitable:
        return
    assert domain.contains(record)
    assert len(set(answers.asked)) == len(answers.asked)
    assert all(name.startswith("r") for name in answers.asked)


@given(domain=domains, seed=seeds)
def test_coordinates_are_as_many_for_every_record_and_in_bounds(
    domain: Explorable, seed: int
) -> None:
    found = [domain.coordinates(record) for record in _some(domain, seed)]
    assert len({len(numbers) for numbers in found}) == 1
    assert all(type(number) is float for numbers in found for number in numbers)
    assert all(0.0 <= number <= 1.0 for numbers in found for number in numbers)


@given(domain=domains, seed=seeds)
def test_packing_and_unpacking_round_trip(domain: Explorable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = [domain.draw(rng) for _ in range(int(rng.integers(5)))]
    before = copy.deepcopy(drawn)
    data = domain.dataset(drawn)
    assert canonical(domain.unpack(data)) == canonical(drawn) == canonical(before)
