"""Filtered, mapped and odd: what `filter`, `map` and `with_odd_values` make of a domain."""

from __future__ import annotations

import math
from datetime import date
from typing import Any, cast

import numpy as np
import pytest
from choosers import LastChooser

from dpaudit import categories, dates, floats, integers, lists, records, tables, texts, vectors
from dpaudit.domains import MAX_EDGES, Domain, Refinable, Unsuitable, canonical
from dpaudit.errors import InvalidDomain


def is_even(number: int) -> bool:
    return number % 2 == 0


def test_a_filter_keeps_what_fits_everywhere() -> None:
    domain = integers(0, 100).filter(is_even)
    rng = np.random.default_rng(0)
    assert domain.edges() == (100, 0, 50)
    found = [
        *(domain.draw(rng) for _ in range(100)),
        *(domain.near(48, rng) for _ in range(100)),
        *domain.simpler(98),
        *domain.grid(20),
    ]
    assert len(set(found)) > 30
    assert all(number % 2 == 0 for number in found)
    assert domain.contains(4)
    assert not domain.contains(5)
    assert not domain.contains(102)
    assert domain.dataset([2, 4]).dtype == np.int64
    assert domain.unpack(np.array([2, 4])) == [2, 4]


def test_a_choice_that_does_not_fit_is_unsuitable() -> None:
    assert integers(0, 100).filter(is_even).choose(LastChooser(), "r") == 100
    with pytest.raises(Unsuitable, match="r=99 does not fit the filter is_even"):
        integers(0, 99).filter(is_even).choose(LastChooser(), "r")


def test_edges_that_do_not_fit_are_made_up_by_records_far_apart() -> None:
    domain = floats(0, 1).filter(lambda number: 0.6 < number < 0.9, "between")
    edges = sorted(domain.edges())
    assert len(edges) == 3
    assert edges[-1] - edges[0] > 0.25
    assert all(0.6 < number < 0.9 for number in edges)
    assert domain.edges() == floats(0, 1).filter(lambda n: 0.6 < n < 0.9).edges()


def test_a_grid_behind_a_filter_is_made_finer() -> None:
    domain = integers(0, 1000).filter(lambda number: number % 5 == 3, "threes")
    assert 10 <= len(domain.grid(20)) <= 80


def test_a_filter_that_nothing_fits_is_refused_at_once() -> None:
    with pytest.raises(InvalidDomain, match=r"no edge and none of 1000 .* fits the filter never"):
        floats(0, 1).filter(lambda number: number > 2, "never")


def test_a_filter_that_fits_too_rarely_says_so_when_drawn_from() -> None:
    """Null: 1 of 444 draws fits, so a call raises with a chance of 0.8, none of 50 with 1e-35."""
    domain = floats(0, 1).filter(lambda number: 0.7 < number < 0.703, "rare")
    assert len(domain.edges()) > 0
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidDomain, match=r"filter rare refused 100 records .* in a row"):
        [domain.draw(rng) for _ in range(50)]


def test_what_a_predicate_raises_flies_with_a_note() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        integers(0, 9).filter(lambda number: 1 / number, "inverse")
    assert "while asking the filter inverse about 0" in caught.value.__notes__


def test_a_predicate_cannot_change_a_record() -> None:
    def spoil(row: np.ndarray[Any, Any]) -> bool:
        row[:] = 7.0
        return True

    domain = vectors(2, 0, 1).filter(spoil)
    record = np.zeros(2)
    assert domain.contains(record)
    assert record.tolist() == [0.0, 0.0]


def test_a_predicate_sees_what_a_mechanism_sees() -> None:
    domain = integers(0, 9).map(str, inverse=int).filter(lambda seen: seen in "345", "in 345")
    assert {domain.draw(np.random.default_rng(seed)) for seed in range(50)} <= {3, 4, 5}
    assert domain.contains(4)
    assert domain.dataset([4]) == ["4"]


def test_a_record_is_filtered_as_a_whole() -> None:
    span = records(start=integers(0, 9), end=integers(0, 9))
    domain = span.filter(lambda row: row["start"] <= row["end"], "ordered")
    rng = np.random.default_rng(0)
    assert all(edge["start"] <= edge["end"] for edge in domain.edges())
    assert all(row["start"] <= row["end"] for row in domain.simpler({"start": 3, "end": 7}))
    near = [domain.near({"start": 3, "end": 3}, rng) for _ in range(50)]
    assert all(row["start"] <= row["end"] for row in near)


def test_a_map_shows_its_result_to_the_mechanism_only() -> None:
    domain = integers(0, 9).map(lambda number: 2.5 * number, inverse=lambda seen: int(seen / 2.5))
    assert domain.edges() == integers(0, 9).edges()
    assert domain.contains(3)
    assert not domain.contains(7.5)
    assert domain.choose(LastChooser(), "r") == 9
    assert domain.coordinates(9) == (1.0,)
    assert domain.simpler(9) == integers(0, 9).simpler(9)
    assert domain.grid(4) == integers(0, 9).grid(4)
    assert domain.near(3, np.random.default_rng(1)) in range(10)
    assert domain.dataset([1, 2]) == [2.5, 5.0]
    assert domain.unpack([2.5, 5.0]) == [1, 2]


def test_a_map_without_inverse_cannot_be_unpacked() -> None:
    domain = records(a=integers(0, 9).map(str))
    assert domain.dataset([{"a": 3}]) == [{"a": "3"}]
    with pytest.raises(InvalidDomain, match=r"Give it one: map\(str, inverse="):
        domain.unpack([{"a": "3"}])
    with pytest.raises(InvalidDomain, match="is a list, got 'abc'"):
        integers(0, 9).map(str, inverse=int).unpack("abc")


def test_maps_work_inside_records_lists_and_tables_and_behind_each_other() -> None:
    digit = integers(0, 9).map(str, inverse=int)
    shout = digit.map(lambda seen: seen + "!", inverse=lambda seen: seen[:-1])
    domain = records(a=shout, b=lists(digit, 3))
    record = {"a": 3, "b": [1, 2]}
    assert domain.contains(record)
    assert domain.dataset([record]) == [{"a": "3!", "b": ["1", "2"]}]
    assert domain.unpack(domain.dataset([record])) == [record]
    table = tables(a=shout, form="columns")
    assert table.dataset([{"a": 3}, {"a": 4}]) == {"a": ["3!", "4!"]}
    assert table.unpack({"a": ["3!", "4!"]}) == [{"a": 3}, {"a": 4}]


def test_a_map_that_hands_out_one_object_gives_copies() -> None:
    shared = [1, 2, 3]
    data = integers(0, 1).map(lambda _: shared).dataset([0, 1])
    data[0].clear()
    assert data[1] == shared == [1, 2, 3]


def test_what_a_map_raises_flies_with_a_note() -> None:
    domain = integers(0, 9).map(lambda number: 1 / number, inverse=lambda seen: 1 // seen, name="f")
    with pytest.raises(ZeroDivisionError) as caught:
        domain.dataset([0])
    assert "while applying the map f to 0" in caught.value.__notes__
    with pytest.raises(ZeroDivisionError) as caught:
        domain.unpack([0])
    assert "while inverting the map f at 0" in caught.value.__notes__


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: floats(0, 1).filter(cast(Any, "x > 0")), "filter needs a function .* got 'x > 0'"),
        (lambda: floats(0, 1).map(cast(Any, 3)), "map needs a function .* got 3"),
        (lambda: floats(0, 1).map(abs, inverse=cast(Any, 3)), "function for inverse, got 3"),
    ],
)
def test_what_is_no_function_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidDomain, match=message):
        make()


LARGEST = 1.7976931348623157e308


@pytest.mark.parametrize(
    ("domain", "odd"),
    [
        (
            floats(-1, 1),
            [
                *(3.0, math.nan, -3.0, math.inf, -math.inf),
                *(LARGEST, -LARGEST, -0.0, 5e-324, 2.0**-1023),
            ],
        ),
        (floats(-LARGEST, LARGEST), [math.inf, math.nan, -math.inf, -0.0, 5e-324, 2.0**-1023]),
        (integers(1, 10), [11, 0, 2**63 - 1, -(2**63)]),
        (integers(-(2**63), 2**63 - 1), []),
        (integers(5, 10), [11, 4, 2**63 - 1, -(2**63), 0]),
        (categories("a", "b"), [""]),
        (categories("a", ""), []),
        (categories(1, 2), [None]),
        (categories("a", 2), [None]),
        (categories(None, 2), []),
        (dates("2020-01-01", "2021-01-01"), [date.max, date.min]),
        (texts("a", " "), ["", "\0", "e\u0301", "a" * 10_000]),
        (lists(integers(0, 1), 2), [[2], [-1], [2**63 - 1], [-(2**63)]]),
        (lists(integers(0, 1), 2, 2), [[2, 1], [-1, 1], [2**63 - 1, 1], [-(2**63), 1]]),
        (lists(integers(0, 1), 0), []),
        (
            records(a=integers(0, 1), b=categories("x", "y")),
            [
                *({"a": 2, "b": "x"}, {"a": 1, "b": ""}, {"a": -1, "b": "x"}),
                *({"a": 2**63 - 1, "b": "x"}, {"a": -(2**63), "b": "x"}),
            ],
        ),
        (integers(0, 3).filter(lambda number: number < 4, "small"), [-1, -(2**63)]),
        (integers(0, 3).map(str, inverse=int), [4, -1, 2**63 - 1, -(2**63)]),
    ],
    ids=lambda given: str(given)[:40],
)
def test_odd_values(domain: Refinable, odd: list[Any]) -> None:
    domain = domain.with_odd_values()
    assert canonical(list(domain.odd_values())) == canonical(odd)
    edges = domain.edges()
    plain = domain.without_odd_values().edges()[:4]
    assert len(edges) <= MAX_EDGES
    if odd:
        assert canonical(edges) == canonical((*plain, *odd)[:MAX_EDGES])
    assert domain.odd_values() == domain.with_odd_values().odd_values() or math.nan in odd


def test_vectors_have_one_odd_entry_or_all() -> None:
    domain = vectors(3, 0, 1).with_odd_values()
    edges = [row.tolist() for row in domain.edges()]
    assert canonical(edges[4:]) == canonical(
        [[2.0, 0.0, 0.0], [math.nan] * 3, [-1.0, 0.0, 0.0], [math.inf] * 3]
    )
    rng = np.random.default_rng(0)
    plain = vectors(3, 0, 1)
    counts = [
        sum(not plain.contains([number] * 3) for number in domain.draw(rng).tolist())
        for _ in range(400)
    ]
    assert set(counts) == {0, 1, 3}
    assert domain.contains([0.5, math.nan, math.inf])
    assert not domain.contains([0.5, 1.5, 0.5])
    assert not domain.contains([0.5])


@pytest.mark.parametrize(
    "domain",
    [
        floats(0, 1),
        integers(0, 10),
        categories("a", "b"),
        dates("2020-01-01", "2021-01-01"),
        texts("a", "b"),
        records({f"f{place}": integers(0, 10) for place in range(6)}),
    ],
    ids=str,
)
def test_half_of_the_draws_stay_plain(domain: Refinable) -> None:
    """Null: a share of 0.5; 1000 draws leave (0.4, 0.6) with a chance of 3e-10.

    Alternative: a share of at most 0.25 or at least 0.75; power 1 - 1e-15.
    """
    odd = domain.with_odd_values()
    keys = {canonical(record) for record in odd.odd_values()}
    rng = np.random.default_rng(1)
    drawn = [odd.draw(rng) for _ in range(1000)]
    assert all(odd.contains(record) for record in drawn)
    plain = [domain.contains(r) and canonical(r) not in keys for r in drawn]
    assert 0.4 < np.mean(plain) < 0.6


def test_odd_floats_are_told_apart_to_the_last_bit() -> None:
    domain = floats(0, 1).with_odd_values()
    given = [math.nan, -0.0, 0.0, 5e-324, math.inf]
    data = domain.dataset(given)
    assert canonical(domain.unpack(data)) == canonical(given)
    assert all(domain.contains(record) for record in domain.unpack(data))
    assert len({domain.coordinates(record) for record in given}) == 5
    assert not np.isnan([domain.coordinates(record) for record in given]).any()
    assert domain.plainness(0.0) < domain.plainness(0.123) < domain.plainness(-0.0)
    assert domain.simpler(math.nan)[0] == 0.0
    assert 1.5 not in domain.simpler(math.nan)
    assert not domain.contains(1.5)


def test_choices_reach_the_odd_values_of_one_part() -> None:
    assert floats(0, 1).with_odd_values().choose(LastChooser(), "r") == 2.0**-1023
    people = records(a=integers(0, 9), b=integers(0, 9)).with_odd_values()
    assert people.choose(LastChooser(), "r") == {"a": 9, "b": -(2**63)}
    assert lists(integers(0, 9), 2).with_odd_values().choose(LastChooser(), "r") == [9, -(2**63)]


def test_from_an_odd_record_a_search_finds_back() -> None:
    """Null: 0.14 of the changes of 0.5 leave [0, 1]; none of 300 does with a chance of 2e-20.

    Alternative: a plain record that never becomes odd, or an odd one that stays odd; power 1.
    """
    rng = np.random.default_rng(0)
    plain = floats(0, 1)
    domain = plain.with_odd_values()
    assert {plain.contains(domain.near(math.nan, rng)) for _ in range(300)} == {True, False}
    assert {plain.contains(domain.near(0.5, rng)) for _ in range(300)} == {True, False}


def test_a_field_alone_can_be_odd() -> None:
    domain = records(a=integers(0, 9).with_odd_values(), b=integers(0, 9))
    assert domain.contains({"a": 10, "b": 9})
    assert not domain.contains({"a": 9, "b": 10})
    assert {"a": 10, "b": 9} in domain.edges()


def test_a_bare_domain_has_no_odd_values() -> None:
    class Bit:
        def edges(self) -> tuple[int, ...]:
            return (1, 0)

        def draw(self, rng: np.random.Generator) -> int:
            return int(rng.integers(2))

        def dataset(self, records: Any) -> list[int]:
            return list(records)

        def unpack(self, data: Any) -> list[int]:
            return list(data)

        def contains(self, record: Any) -> bool:
            return record in (0, 1)

    bit: Domain = Bit()
    domain = records(a=bit, b=categories("x", "y")).with_odd_values()
    assert domain.odd_values() == ({"a": 1, "b": ""},)
