"""Domains: edges, draws, packing, membership, parsing and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from dpaudit import categories, floats, integers, records, tables, vectors
from dpaudit.domains import MAX_EDGES, Domain, parse_domain
from dpaudit.errors import InvalidDomain

DOMAINS: list[Domain] = [
    floats(-1, 1),
    floats(5, 5),
    floats(-1.7e308, 1.7e308),
    floats(5e-324, 5e-324),
    integers(-3, 12),
    integers(-(2**63), 2**63 - 1),
    categories("a", "b", "c"),
    categories(None, 1, True, 1.0),
    vectors(3, -1, 1),
    vectors(1, 2, 3),
    records(age=integers(0, 120), city=categories("x", "y"), place=vectors(2, 0, 1)),
    records({f"f{i}": floats(0, 1) for i in range(20)}),
]


@pytest.mark.parametrize(
    ("domain", "edges"),
    [
        (floats(0, 1), (1.0, 0.0, 0.5)),
        (floats(-1, 1), (1.0, -1.0, 0.0, 1e-6, -1e-6)),
        (floats(-1000, 1000), (1000.0, -1000.0, 0.0, 1.0, -1.0, 1e-6, -1e-6)),
        (floats(-1, 3), (3.0, -1.0, 0.0, 1.0, 1e-6, -1e-6)),
        (floats(2, 2), (2.0,)),
        (integers(-4, 10), (10, -4, 0, 1, 3, -1)),
        (integers(1, 1), (1,)),
        (categories("a", "b", "c"), ("a", "c")),
        (categories("a"), ("a",)),
        (
            records(a=integers(0, 2), b=categories("x", "y")),
            ({"a": 2, "b": "x"}, {"a": 0, "b": "x"}, {"a": 2, "b": "y"}, {"a": 0, "b": "y"}),
        ),
    ],
)
def test_edges(domain: Domain, edges: tuple[Any, ...]) -> None:
    assert domain.edges() == edges


def test_rows_of_numbers_around_zero_have_a_row_of_zeros_among_their_edges() -> None:
    model = records(x=floats(-1000, 1000), y=floats(-1000, 1000), label=categories("a", "b"))
    assert {"x": 0.0, "y": 0.0, "label": "a"} in model.edges()


def test_edges_of_vectors() -> None:
    assert [row.tolist() for row in vectors(3, -1, 2).edges()] == [
        [2, 2, 2],
        [-1, -1, -1],
        [0, 0, 0],
        [2, 0, 0],
        [-1, 0, 0],
        [0, 0, 2],
        [2, -1, 2],
    ]
    assert [row.tolist() for row in vectors(1, 2, 3).edges()] == [[3], [2], [2.5]]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: str(domain)[:40])
def test_edges_and_draws_belong_to_the_domain(domain: Domain) -> None:
    edges = domain.edges()
    assert 1 <= len(edges) <= MAX_EDGES
    assert all(domain.contains(edge) for edge in edges)
    rng = np.random.default_rng(7)
    assert all(domain.contains(domain.draw(rng)) for _ in range(200))


def test_draws_mix_edges_with_the_inside() -> None:
    """A quarter of the draws are edges.

    Null: a share of 0.25; 4000 draws leave (0.2, 0.3) with a chance of 5e-13. Alternative: a share
    of at most 0.15 or at least 0.35; power 1 - 1e-11.
    """
    rng = np.random.default_rng(7)
    domain = floats(0, 1)
    at_edge = sum(domain.draw(rng) in domain.edges() for _ in range(4000))
    assert 0.2 < at_edge / 4000 < 0.3


@pytest.mark.parametrize(
    ("domain", "given", "shape", "dtype"),
    [
        (floats(0, 1), [], (0,), np.float64),
        (floats(0, 1), [0.5, 1], (2,), np.float64),
        (integers(0, 9), [], (0,), np.int64),
        (integers(0, 9), [3], (1,), np.int64),
        (vectors(3, 0, 1), [], (0, 3), np.float64),
        (vectors(3, 0, 1), [np.zeros(3), np.ones(3)], (2, 3), np.float64),
    ],
)
def test_packed_arrays(domain: Domain, given: list[Any], shape: Any, dtype: Any) -> None:
    data = domain.dataset(given)
    assert data.shape == shape
    assert data.dtype == dtype
    assert len(domain.unpack(data)) == len(given)


def test_packed_lists_are_copies() -> None:
    row = {"a": 1}
    data = records(a=integers(0, 2)).dataset([row, row])
    data[0]["a"] = 2
    assert row == {"a": 1}
    assert data[1] == {"a": 1}
    assert categories("a", "b").dataset(("a", "b")) == ["a", "b"]
    assert categories("a", "b").unpack(np.array(["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("domain", "data"),
    [
        (floats(0, 1), ["a"]),
        (floats(0, 1), [[0.5]]),
        (floats(0, 1), 0.5),
        (floats(0, 1), [True]),
        (integers(0, 1), [0.5]),
        (vectors(2, 0, 1), [[0.0, 0.0, 0.0]]),
        (vectors(2, 0, 1), [0.0, 0.0]),
        (categories("a"), "a"),
        (categories("a"), None),
        (records(a=floats(0, 1)), {"a": 1.0}),
        (records(a=floats(0, 1)), [1.0]),
    ],
)
def test_unpack_refuses_what_is_no_dataset(domain: Domain, data: Any) -> None:
    with pytest.raises(InvalidDomain, match="dataset of"):
        domain.unpack(data)


@pytest.mark.parametrize(
    ("domain", "record", "inside"),
    [
        (floats(0, 1), 1, True),
        (floats(0, 1), np.float32(0.5), True),
        (floats(0, 1), 1.5, False),
        (floats(0, 1), float("nan"), False),
        (floats(0, 1), True, False),
        (floats(0, 1), "0.5", False),
        (integers(0, 1), np.int8(1), True),
        (integers(0, 1), 1.0, False),
        (integers(0, 1), True, False),
        (integers(0, 1), 2, False),
        (categories("a", 1), np.str_("a"), True),
        (categories("a", 1), 1, True),
        (categories("a", 1), True, False),
        (categories("a", 1), np.ones(2), False),
        (vectors(2, 0, 1), [0, 1], True),
        (vectors(2, 0, 1), [0, 2], False),
        (vectors(2, 0, 1), [0.0, float("nan")], False),
        (vectors(2, 0, 1), [0.0], False),
        (vectors(2, 0, 1), [[0.0], 1.0], False),
        (vectors(2, 0, 1), ["a", "b"], False),
        (records(a=floats(0, 1)), {"a": 0.5}, True),
        (records(a=floats(0, 1)), {"a": 2.0}, False),
        (records(a=floats(0, 1)), {"a": 0.5, "b": 1}, False),
        (records(a=floats(0, 1)), 0.5, False),
    ],
)
def test_contains(domain: Domain, record: Any, inside: bool) -> None:
    assert domain.contains(record) is inside


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: floats(1, 0), "floats needs low <= high, got low=1, high=0"),
        (lambda: floats(float("nan"), 1), "number for low, got nan"),
        (lambda: floats(0, float("inf")), "finite high, got inf"),
        (lambda: floats(0, 10**400), "finite high"),
        (lambda: floats(cast(Any, "0"), 1), "number for low, got '0'"),
        (lambda: floats(True, 1), "number for low, got True"),
        (lambda: integers(2, 1), "integers needs low <= high"),
        (lambda: integers(cast(Any, 0.5), 1), "whole number for low, got 0.5"),
        (lambda: integers(0, True), "whole number for high, got True"),
        (lambda: integers(0, 2**63), "64 bits"),
        (lambda: categories(), "at least one value"),
        (lambda: categories([]), "at least one value"),
        (lambda: categories("a", "a"), "'a' twice"),
        (lambda: categories(["a"], ["b"]), "plain value"),
        (lambda: vectors(0, 0, 1), "at least 1, got 0"),
        (lambda: vectors(2, 1, 0), "vectors needs low <= high"),
        (lambda: records(), "at least one field"),
        (lambda: records({}), "at least one field"),
        (lambda: records(cast(Any, [1])), "a dict of fields"),
        (lambda: records({"a": floats(0, 1)}, a=floats(0, 1)), "'a' twice"),
        (lambda: records(a=cast(Any, 1)), "such as floats"),
        (lambda: records(a=cast(Any, floats)), "such as floats"),
        (lambda: records(cast(Any, {1: floats(0, 1)})), "a name and a domain"),
    ],
)
def test_domains_that_cannot_be(make: Callable[[], Domain], message: str) -> None:
    with pytest.raises(InvalidDomain, match=message):
        make()


def test_categories_one_by_one_or_in_one_sequence() -> None:
    assert categories("ab").values == ("ab",)
    assert categories(("a", "b")) == categories(["a", "b"]) == categories("a", "b")
    assert categories(np.array([1, 2])).values == (1, 2)
    assert categories(range(3)).values == (0, 1, 2)
    assert categories(1, True, 1.0).values == (1, True, 1.0)


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (floats(-1, 0.5), "floats(-1, 0.5)"),
        (floats(-0.0, 1e300), "floats(0, 1e+300)"),
        (integers(0, 10), "integers(0, 10)"),
        (categories("a", 1), "categories('a', 1)"),
        (categories(list(range(30))), "categories(0, 1, 2, ..., 29)"),
        (vectors(3, -1, 1), "vectors(3, -1, 1)"),
        (records(a=floats(0, 1), b=integers(0, 1)), "records(a=floats(0, 1), b=integers(0, 1))"),
    ],
)
def test_in_words(domain: Domain, text: str) -> None:
    assert str(domain) == text


def test_domains_are_values() -> None:
    assert floats(0, 1) == floats(0.0, 1.0)
    assert hash(records(a=floats(0, 1))) == hash(records({"a": floats(0, 1)}))
    with pytest.raises(AttributeError):
        floats(0, 1).low = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("floats:-1:1", floats(-1, 1)),
        (" floats:1e-3:2 ", floats(0.001, 2)),
        ("integers:0:10", integers(0, 10)),
        ("categories:a,b, c", categories("a", "b", "c")),
        ("categories:a:b", categories("a:b")),
        ("vectors:3:-1:1", vectors(3, -1, 1)),
        ("tables(a=floats:0:1)", tables(a=floats(0, 1))),
        (
            "tables( a = integers:0:9+odd , b=categories:x,y,form=numpy)",
            tables(a=integers(0, 9).with_odd_values(), b=categories("x", "y"), form="numpy"),
        ),
        ("tables(form=floats:0:1)", tables({"form": floats(0, 1)})),
        ("tables(a=floats:0:1)+odd", tables(a=floats(0, 1)).with_odd_values()),
    ],
)
def test_parse_domain(text: str, domain: Domain) -> None:
    assert parse_domain(text) == domain


@pytest.mark.parametrize(
    "text", ["", "floats", "floats:1", "floats:a:b", "integers:0:1.5", "categories:", "words:1:2"]
)
def test_unreadable_domains_list_the_forms(text: str) -> None:
    with pytest.raises(InvalidDomain, match="Write floats:LOW:HIGH, integers:LOW:HIGH, categ"):
        parse_domain(text)


def test_readable_but_wrong_domains_say_why() -> None:
    with pytest.raises(InvalidDomain, match="needs low <= high"):
        parse_domain("floats:1:-1")
