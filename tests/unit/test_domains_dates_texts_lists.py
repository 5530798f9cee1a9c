"""Dates, texts and nested lists: edges, packing, membership, words and errors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any, cast

import numpy as np
import pytest

from dpaudit import categories, dates, floats, integers, lists, records, texts, vectors
from dpaudit.domains import Domain, parse_domain
from dpaudit.errors import InvalidDomain


@pytest.mark.parametrize(
    ("start", "end", "edges"),
    [
        ("2019-03-05", "2021-12-31", ["2021-12-31", "2019-03-05", "2020-02-29", "2020-01-01"]),
        ("1969-12-31", "1970-01-02", ["1970-01-02", "1969-12-31", "1970-01-01"]),
        ("1897-01-01", "1903-12-31", ["1903-12-31", "1897-01-01"]),  # 1900 is no leap year
        ("1897-03-01", "1904-02-29", ["1904-02-29", "1897-03-01", "1898-01-01"]),
        ("2020-06-01", "2020-06-01", ["2020-06-01"]),
        ("0001-01-01", "9999-12-31", ["9999-12-31", "0001-01-01", "0004-02-29", "1970-01-01"]),
    ],
)
def test_edges_of_dates(start: str, end: str, edges: list[str]) -> None:
    assert [day.isoformat() for day in dates(start, end).edges()] == edges


def test_dates_from_days_or_iso_texts_are_the_same() -> None:
    assert dates("2020-01-01", "2021-12-31") == dates(date(2020, 1, 1), date(2021, 12, 31))


def test_a_dataset_of_dates_is_a_list_and_unpacks_from_texts_and_arrays_too() -> None:
    domain = dates("2020-01-01", "2021-12-31")
    days = [date(2020, 5, 1), date(2021, 1, 1)]
    assert domain.dataset(days) == days
    assert domain.dataset(days) is not days
    assert domain.unpack(days) == days
    assert domain.unpack(["2020-05-01", "2021-01-01"]) == days
    assert domain.unpack(np.array(["2020-05-01", "2021-01-01"], dtype="M8[D]")) == days
    assert domain.unpack([]) == []


@pytest.mark.parametrize(
    ("record", "inside"),
    [
        (date(2020, 1, 1), True),
        (date(2021, 12, 31), True),
        (date(2022, 1, 1), False),
        (datetime(2020, 1, 1), False),
        ("2020-01-01", False),
        (None, False),
    ],
)
def test_membership_of_dates(record: Any, inside: bool) -> None:
    assert dates("2020-01-01", "2021-12-31").contains(record) is inside


@pytest.mark.parametrize(
    ("domain", "edges"),
    [
        (texts("a", "b", "c", max_tokens=2), ("a a", "c", "a", "c c", "a c")),
        (texts("a", max_tokens=2, min_tokens=0), ("a a", "", "a")),
        (texts(["a", "aa"], max_tokens=2, separator=""), ("aa", "a", "aaaa", "aaa")),
    ],
    ids=str,
)
def test_edges_of_texts(domain: Domain, edges: tuple[str, ...]) -> None:
    assert set(domain.edges()) == set(edges)


@pytest.mark.parametrize(
    ("domain", "text", "inside"),
    [
        (texts("a", "b"), "a b a", True),
        (texts("a", "b"), "", False),
        (texts("a", "b", min_tokens=0), "", True),
        (texts("a", "b"), "a  b", False),
        (texts("a", "b"), "a b ", False),
        (texts("a", "b", max_tokens=2), "a b a", False),
        (texts("a", "b", min_tokens=2), "a", False),
        (texts("a", "b"), 1, False),
        (texts("aa", "a", separator="", max_tokens=2), "aaa", True),
        (texts("aa", "a", separator="", max_tokens=2), "aaaaa", False),
        (texts("aa", "a", separator="", min_tokens=2, max_tokens=2), "aa", True),  # a + a
        (texts("a b", "c", max_tokens=2), "a b c", True),  # a token with the separator in it
        (texts("a", "b", separator=", "), "a, b", True),
    ],
)
def test_membership_of_texts(domain: Domain, text: Any, inside: bool) -> None:
    assert domain.contains(text) is inside


def test_a_text_is_read_as_the_fewest_tokens() -> None:
    domain = texts("a", "aa", separator="", max_tokens=4)
    assert int(domain.plainness("aaaa")) == 2
    assert int(domain.plainness("aaa")) == 2
    with pytest.raises(InvalidDomain, match="'b' is no text of texts"):
        domain.plainness("b")


def test_a_dataset_of_texts_is_a_list() -> None:
    domain = texts("a", "b")
    assert domain.dataset(["a", "b a"]) == ["a", "b a"]
    assert domain.unpack(np.array(["a", "b a"])) == ["a", "b a"]
    assert [type(text) for text in domain.unpack(np.array(["a"]))] == [str]


def test_edges_of_lists() -> None:
    assert lists(integers(0, 9), 2).edges() == ([9, 9], [], [9], [0], [0, 0], [9, 0])
    assert lists(integers(0, 9), 2, 2).edges() == ([9, 9], [0, 0], [9, 0])
    assert lists(categories("a"), 0).edges() == ([],)


def test_lists_hold_other_domains_and_are_copied() -> None:
    domain = lists(records(a=vectors(2, 0, 1)), 3)
    record = [{"a": np.zeros(2)}, {"a": np.ones(2)}]
    data = domain.dataset([record, []])
    data[0][0]["a"][:] = 7.0
    assert record[0]["a"].tolist() == [0.0, 0.0]
    assert [len(row) for row in domain.unpack(data)] == [2, 0]
    assert domain.contains(record)
    assert not domain.contains(tuple(record))
    assert not domain.contains([*record, *record])
    assert not domain.contains([{"a": np.array([0.0, 2.0])}])


@pytest.mark.parametrize(
    ("domain", "data"),
    [
        (dates("2020-01-01", "2021-12-31"), "2020-01-01"),
        (dates("2020-01-01", "2021-12-31"), ["tomorrow"]),
        (dates("2020-01-01", "2021-12-31"), [7]),
        (texts("a"), "a"),
        (texts("a"), None),
        (lists(floats(0, 1), 3), [1.0]),
        (lists(floats(0, 1), 3), np.zeros((2, 2))),
    ],
)
def test_unpack_refuses_what_is_no_dataset(domain: Domain, data: Any) -> None:
    with pytest.raises(InvalidDomain, match="dataset of"):
        domain.unpack(data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dates("2021-01-01", "2020-01-01"), "start <= end, got 2021-01-01 and 2020-01-01"),
        (lambda: dates("soon", "2020-01-01"), "a date such as 2020-12-31, got 'soon'"),
        (lambda: dates(cast(Any, 2020), "2020-01-01"), "got 2020"),
        (lambda: dates(datetime(2020, 1, 1), "2020-01-01"), "got datetime"),
        (lambda: texts(), "at least one token"),
        (lambda: texts([]), "at least one token"),
        (lambda: texts("a", "a"), "'a' twice"),
        (lambda: texts("a", ""), "not empty, got ''"),
        (lambda: texts(1, 2), "not empty, got 1"),
        (lambda: texts("a", separator=cast(Any, None)), "a text for separator, got None"),
        (lambda: texts("a", max_tokens=0), "min_tokens=1, max_tokens=0"),
        (lambda: texts("a", min_tokens=-1), "min_tokens=-1"),
        (lambda: texts("a", max_tokens=cast(Any, 1.5)), "whole number for max_tokens, got 1.5"),
        (lambda: lists(cast(Any, 3), 3), "a domain such as floats"),
        (lambda: lists(cast(Any, floats), 3), "a domain such as floats"),
        (lambda: lists(floats(0, 1), 2, 3), "min_length=3, max_length=2"),
        (lambda: lists(floats(0, 1), -1), "max_length=-1"),
        (lambda: lists(floats(0, 1), cast(Any, "3")), "whole number for max_length, got '3'"),
    ],
)
def test_domains_that_cannot_be(make: Callable[[], Domain], message: str) -> None:
    with pytest.raises(InvalidDomain, match=message):
        make()


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (dates("2020-01-01", "2021-12-31"), "dates(2020-01-01, 2021-12-31)"),
        (texts("a", "b"), "texts('a', 'b', max_tokens=5)"),
        (
            texts("a", min_tokens=0, max_tokens=2, separator="-"),
            "texts('a', max_tokens=2, min_tokens=0, separator='-')",
        ),
        (texts(*"abcdefghij"), "texts('a', 'b', 'c', ..., 'j', max_tokens=5)"),
        (lists(floats(0, 1), 3), "lists(floats(0, 1), 3)"),
        (lists(floats(0, 1), 3, 2), "lists(floats(0, 1), 3, min_length=2)"),
        (floats(0, 1).with_odd_values(), "floats(0, 1) and odd values"),
        (vectors(2, 0, 1).with_odd_values(), "vectors(2, 0, 1) and odd values"),
        (integers(0, 9).filter(bool), "integers(0, 9).filter(bool)"),
        (integers(0, 9).filter(lambda n: n > 1, "big"), "integers(0, 9).filter(big)"),
        (integers(0, 9).map(float, inverse=int), "integers(0, 9).map(float)"),
    ],
    ids=str,
)
def test_in_words(domain: Domain, text: str) -> None:
    assert str(domain) == text


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("dates:2020-01-01:2021-12-31", dates("2020-01-01", "2021-12-31")),
        ("texts:a, b,c", texts("a", "b", "c")),
        ("floats:0:1+odd", floats(0, 1).with_odd_values()),
        (" vectors:2:0:1+odd ", vectors(2, 0, 1).with_odd_values()),
        ("categories:a,b+odd", categories("a", "b").with_odd_values()),
        ("dates:2020-01-01:2020-01-02+odd", dates("2020-01-01", "2020-01-02").with_odd_values()),
    ],
)
def test_parse_domain(text: str, domain: Domain) -> None:
    assert parse_domain(text) == domain


@pytest.mark.parametrize("text", ["dates", "dates:2020-01-01", "texts:", "texts:a,,b", "+odd"])
def test_unreadable_domains_list_the_forms(text: str) -> None:
    with pytest.raises(InvalidDomain, match=r"dates:START:END, texts:A,B,C or .*; \+odd behind"):
        parse_domain(text)


def test_an_unreadable_date_says_how_to_write_one() -> None:
    with pytest.raises(InvalidDomain, match=r"a date such as 2020-12-31, got '01\.02\.2020'"):
        parse_domain("dates:01.02.2020:2021-01-01")


def test_domains_are_values() -> None:
    assert texts("a", "b") == texts(["a", "b"])
    assert hash(lists(dates("2020-01-01", "2020-01-02"), 3)) == hash(
        lists(dates("2020-01-01", "2020-01-02"), 3)
    )
    assert floats(0, 1).with_odd_values() == floats(0, 1).with_odd_values()
    with pytest.raises(AttributeError):
        texts("a").separator = ","  # type: ignore[misc]
