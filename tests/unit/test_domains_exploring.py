"""The way from one record to another: choices, coordinates, near and plainer records, grids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pytest
from choosers import ScriptedChooser

from dpaudit import categories, dates, floats, integers, lists, records, tables, texts, vectors
from dpaudit.domains import Domain, Explorable, canonical, explorable
from dpaudit.errors import InvalidDomain


@dataclass(frozen=True)
class Bare:
    """A user's own domain with nothing but what a domain must have."""

    values: tuple[Any, ...]

    def edges(self) -> tuple[Any, ...]:
        return self.values[:3]

    def draw(self, rng: np.random.Generator) -> Any:
        return self.values[int(rng.integers(len(self.values)))]

    def dataset(self, records: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(records)

    def unpack(self, data: Any) -> list[Any]:
        return list(data)

    def contains(self, record: Any) -> bool:
        return record in self.values


BARE = Bare(("d", "c", "b", "a"))


@pytest.mark.parametrize(
    ("domain", "answers", "record"),
    [
        (floats(0, 2), {"r": 0.5}, 0.5),
        (floats(3, 3), {}, 3.0),
        (floats(-1.7e308, 1.7e308), {"r": 0.5}, 0.0),  # a share: the width is no float
        (integers(-5, 5), {"r": 3}, 3),
        (integers(3, 3), {}, 3),
        (categories("a", "b", "c"), {"r": 1}, "b"),
        (categories("a"), {}, "a"),
        (vectors(2, 0, 1), {"r[0]": 0.25, "r[1]": 1.0}, np.array([0.25, 1.0])),
        (dates("2020-01-01", "2020-12-31"), {"r": 737484}, date(2020, 2, 29)),
        (lists(integers(0, 9), 3), {"r#length": 2, "r[0]": 7, "r[1]": 8}, [7, 8]),
        (lists(integers(0, 9), 3), {"r#length": 0}, []),
        (texts("a", "b"), {"r#length": 3, "r[0]": 1, "r[1]": 0, "r[2]": 1}, "b a b"),
        (
            records({"age": integers(0, 120), "the city": categories("x", "y")}),
            {"r.age": 31, "r.'the city'": 1},
            {"age": 31, "the city": "y"},
        ),
        (
            tables(age=integers(0, 120), place=vectors(1, 0, 1), form="columns"),
            {"r.age": 31, "r.place[0]": 0.5},
            {"age": 31, "place": np.array([0.5])},
        ),
    ],
    ids=lambda given: str(given)[:40],
)
def test_records_are_built_from_the_answers_to_named_questions(
    domain: Explorable, answers: dict[str, Any], record: Any
) -> None:
    assert canonical(domain.choose(ScriptedChooser(answers), "r")) == canonical(record)


def test_an_answer_beyond_the_bounds_is_drawn_back() -> None:
    class Careless(ScriptedChooser):
        def real(self, name: str, low: float, high: float) -> float:
            return 1e9

        def whole(self, name: str, low: int, high: int) -> int:
            return -(10**9)

    assert floats(0, 1).choose(Careless({}), "r") == 1.0
    assert integers(0, 1).choose(Careless({}), "r") == 0


def test_fields_with_odd_names_ask_different_questions() -> None:
    inner = records({"b": integers(0, 1)})
    domain = records({"a": inner, "a.b": integers(0, 1)})
    assert domain.choose(ScriptedChooser({"r.a.b": 0, "r.'a.b'": 1}), "r") == {
        "a": {"b": 0},
        "a.b": 1,
    }


@pytest.mark.parametrize(
    ("domain", "record", "coordinates"),
    [
        (floats(-1, 3), 0.0, (0.25,)),
        (floats(2, 2), 2.0, (0.0,)),
        (floats(-1.7e308, 1.7e308), 0.0, (0.5,)),
        (integers(0, 4), 1, (0.25,)),
        (integers(-(2**63), 2**63 - 1), 2**63 - 1, (1.0,)),
        (categories("a", 1, True), True, (0.0, 0.0, 1.0)),
        (vectors(2, 0, 2), [0, 1], (0.0, 0.5)),
        (dates("2020-01-01", "2020-01-05"), date(2020, 1, 2), (0.25,)),
        (lists(integers(0, 4), 2), [1], (0.5, 0.25, 0.0)),
        (texts("a", "b", max_tokens=2), "b", (0.0, 0.0, 1.0, 0.0, 0.0)),
        (records(a=integers(0, 4), b=categories("x", "y")), {"b": "y", "a": 4}, (1.0, 0.0, 1.0)),
    ],
    ids=lambda given: str(given)[:40],
)
def test_coordinates(domain: Explorable, record: Any, coordinates: tuple[float, ...]) -> None:
    assert domain.coordinates(record) == coordinates


def test_steps_of_a_number_are_of_every_scale_and_go_to_the_edges_too() -> None:
    """Steps are log-uniform over six decades, and a fifth of the changes go to an edge.

    Null: of the steps that end inside (about 15,100), each decade holds a share of 0.176, the
    largest 0.1185, as some of its steps are cut at the bounds; one falls to 0.1 with a chance of
    3e-13. Alternative: steps uniform in size, of which the small decades hold below 0.01; power 1.
    """
    rng = np.random.default_rng(0)
    domain = floats(0, 100)
    moved = [domain.near(33.0, rng) for _ in range(20_000)]
    steps = np.array([abs(number - 33.0) for number in moved])
    inside = steps[~np.isin(moved, domain.edges())]
    for decade in range(-4, 2):
        assert np.mean((10.0**decade <= inside) & (inside < 10.0 ** (decade + 1))) > 0.1
    assert np.isin(domain.edges(), moved).all()


def test_whole_numbers_move_by_one_at_least() -> None:
    """Null: a step of 1 either way has a share of 0.0117 of the changes in a million numbers.

    One of the two is missing among 3000 changes with a chance below 1e-15, and among 50 changes of
    three numbers with one of 2e-15. Alternative: no such step; power 1.
    """
    rng = np.random.default_rng(0)
    assert {integers(4, 6).near(5, rng) for _ in range(50)} == {4, 6}
    assert {integers(0, 10**6).near(500, rng) - 500 for _ in range(3000)} > {-1, 1}


@pytest.mark.parametrize(
    ("domain", "record"),
    [
        (floats(2, 2), 2.0),
        (integers(2, 2), 2),
        (categories("a"), "a"),
        (vectors(2, 1, 1), np.ones(2)),
        (dates("2020-01-01", "2020-01-01"), date(2020, 1, 1)),
        (lists(integers(0, 9), 0), []),
        (texts("a", max_tokens=1), "a"),
        (records(a=floats(2, 2)), {"a": 2.0}),
    ],
    ids=lambda given: str(given)[:40],
)
def test_the_only_record_has_no_other_near_it(domain: Explorable, record: Any) -> None:
    assert canonical(domain.near(record, np.random.default_rng(0))) == canonical(record)
    assert len(domain.edges()) == 1
    assert len(domain.grid(7)) == 1


def test_the_least_float_apart_still_moves() -> None:
    assert floats(0, 5e-324).near(0.0, np.random.default_rng(0)) == 5e-324


def test_most_changes_of_a_record_touch_one_field() -> None:
    """The number of changed fields is geometric.

    Null: one field in a share of 0.7; 2000 changes leave (0.6, 0.8) with a chance of 2e-21, and
    none of them touches three fields with a chance of 1e-81. Alternative: a share of at most 0.5 or
    at least 0.9; power 1 - 1e-15.
    """
    rng = np.random.default_rng(0)
    domain = records({f"f{place}": floats(0, 1) for place in range(6)})
    start = {f"f{place}": 0.5 for place in range(6)}
    found = [domain.near(start, rng) for _ in range(2000)]
    touched = [sum(value != 0.5 for value in record.values()) for record in found]
    assert min(touched) == 1
    assert 0.6 < np.mean(np.array(touched) == 1) < 0.8
    assert max(touched) > 2


def test_lists_grow_shrink_and_change() -> None:
    rng = np.random.default_rng(0)
    domain = lists(integers(0, 9), 3, 1)
    found = [domain.near([4, 5], rng) for _ in range(200)]
    assert {len(record) for record in found} == {1, 2, 3}
    assert any(4 in record and 5 in record and len(record) == 3 for record in found)


@pytest.mark.parametrize(
    ("domain", "ordered"),
    [
        (floats(-5, 50.5), [0.0, 1.0, -1.0, 50.5, -5.0, 2.0, -2.0, 40.0, 0.5, 0.25, 0.1 + 0.2]),
        (integers(-7, 10**7), [0, 1, -1, 10**7, -7, 2, -3, 999, 5000, 10**6, 1234, 1234567]),
        (categories("b", "a"), ["b", "a"]),
        (texts("b", "a"), ["b", "a", "b b", "b a", "a a", "b b b"]),
        (
            dates("2019-03-05", "2021-12-31"),
            [
                *(date(2019, 3, 5), date(2020, 2, 29), date(2021, 12, 31)),
                *(date(2021, 1, 1), date(2020, 5, 1), date(2020, 5, 2), date(2020, 5, 3)),
            ],
        ),
        (lists(integers(0, 9), 3), [[], [0], [0, 0], [1], [0, 0, 0], [5]]),
        (vectors(2, -1, 1), [np.zeros(2), np.array([0, 1.0]), np.ones(2), np.array([0.25, 0])]),
        (
            records(a=integers(0, 9), b=categories("x", "y")),
            [{"a": 0, "b": "x"}, {"a": 0, "b": "y"}],
        ),
    ],
    ids=lambda given: str(given)[:40],
)
def test_from_the_plainest_to_the_least_plain(domain: Explorable, ordered: list[Any]) -> None:
    scores = [domain.plainness(record) for record in ordered]
    assert scores[0] == 0.0 or not domain.contains(0.0)
    assert scores == sorted(scores)
    assert len({canonical(record) for record in ordered}) == len(ordered)


def test_hard_to_read_numbers_come_last() -> None:
    domain = floats(-1, 1)
    readable = domain.plainness(0.1234567890123456)
    assert readable < domain.plainness(5e-324) < float("inf")
    assert 0.0 == domain.plainness(0.0) < domain.plainness(-0.0)
    assert canonical(domain.simpler(-0.0)) == "(0.0,)"


@pytest.mark.parametrize(
    ("domain", "record", "simpler"),
    [
        (floats(-10, 1000), 123.456, (0, 1, -1, 1000, -10, 61, 100, 120, 123, 123.46)),
        (floats(0.2, 0.9), 0.555, (0.9, 0.2, 0.6, 0.56)),
        (integers(5, 99), 77, (99, 5, 38, 58)),
        (integers(5, 99), 5, (99,)),
        (categories("a", "b", "c"), "c", ("a", "b")),
        (texts("a", "b", max_tokens=2), "b b", ("b", "a a", "a b", "b a")),
        (lists(integers(0, 9), 2), [0, 1], ([], [0], [1], [0, 0])),
        (dates("2020-01-01", "2020-01-09"), date(2020, 1, 1), ()),
        (records(a=integers(0, 1), b=integers(0, 1)), {"a": 0, "b": 1}, ({"a": 0, "b": 0},)),
    ],
    ids=lambda given: str(given)[:40],
)
def test_simpler_records(domain: Explorable, record: Any, simpler: tuple[Any, ...]) -> None:
    assert domain.simpler(record) == simpler


def test_many_fields_are_simplified_together_and_one_by_one() -> None:
    domain = vectors(16, 0, 1)
    start = np.full(16, 0.3)
    zeros = [int(np.sum(row == 0.0)) for row in domain.simpler(start)]
    assert zeros == [16, 8, 8, 4, 4, 4, 4, 1, 1, 1, 1, 1]
    start[5] = 0.123456789  # the least plain one is tried first
    assert any(row[5] == 0.0 and np.sum(row == 0.0) == 1 for row in domain.simpler(start))


@pytest.mark.parametrize(
    ("domain", "points", "grid"),
    [
        (floats(0, 1), 5, (1.0, 0.0, 0.5, 0.25, 0.75)),
        (floats(0, 1), 1, (1.0, 0.0, 0.5)),
        (integers(0, 3), 10, (3, 0, 1, 2)),
        (integers(-8, 8), 3, (8, -8, 0, 1, -1)),
        (categories(*"abcdefg"), 3, ("a", "g", "d")),
        (categories(*"abc"), 9, ("a", "c", "b")),
        (
            dates("2021-01-02", "2021-01-04"),
            3,
            (date(2021, 1, 4), date(2021, 1, 2), date(2021, 1, 3)),
        ),
        (lists(categories("a"), 2), 9, (["a", "a"], [], ["a"])),
        (texts("a", "b", max_tokens=1), 4, ("a", "b")),
        (
            records(a=categories("x", "y"), b=integers(1, 2)),
            4,
            ({"a": "x", "b": 2}, {"a": "y", "b": 2}, {"a": "x", "b": 1}, {"a": "y", "b": 1}),
        ),
    ],
    ids=lambda given: str(given)[:40],
)
def test_grids(domain: Explorable, points: int, grid: tuple[Any, ...]) -> None:
    assert domain.grid(points) == grid


def test_more_points_make_a_finer_grid() -> None:
    domain = records({name: floats(0, 1) for name in "abc"})
    sizes = [len(domain.grid(points)) for points in (1, 10, 100, 1000)]
    assert sizes == sorted(sizes)
    assert 500 <= sizes[-1] <= 1100


def test_a_grid_too_big_to_be_full_still_spreads_evenly() -> None:
    domain = vectors(5, 0, 1)
    rows = np.array(domain.grid(200))
    assert len(rows) <= 200 + len(domain.edges())
    for axes in itertools.combinations(range(5), 3):  # as many in each eighth, within a half
        eighths = np.bincount(((rows[:, axes] > 0.5) @ [1, 2, 4]).astype(int), minlength=8)
        assert eighths.min() * 2 >= eighths.max()


@pytest.mark.parametrize("points", [0, -1])
@pytest.mark.parametrize(
    "domain",
    [floats(0, 1), integers(0, 9), categories("a"), dates("2020-01-01", "2021-01-01")],
    ids=lambda given: str(given)[:40],
)
def test_a_grid_without_points_is_refused(domain: Explorable, points: int) -> None:
    with pytest.raises(InvalidDomain, match=f"at least 1 point, got {points}"):
        domain.grid(points)


def test_our_domains_are_explorable_as_they_are() -> None:
    for domain in (floats(0, 1), vectors(2, 0, 1), records(a=floats(0, 1))):
        assert explorable(domain) is domain


def test_a_bare_domain_becomes_explorable() -> None:
    domain = explorable(BARE)
    rng = np.random.default_rng(0)
    assert isinstance(domain, Explorable)
    assert domain.choose(ScriptedChooser({"r": 2}), "r") == "b"
    assert domain.coordinates("c") == (0.0, 1.0, 0.0)
    assert domain.coordinates("a") == (0.0, 0.0, 0.0)
    assert [domain.plainness(record) for record in "dcba"] == [0, 1, 2, 3]
    assert domain.simpler("b") == ("d", "c")
    assert domain.simpler("a") == ("d", "c", "b")
    assert domain.grid(100) == ("d", "c", "b")
    assert {domain.near("a", rng) for _ in range(50)} == set("abcd")
    assert domain.dataset(domain.unpack(("a", "b"))) == ("a", "b")
    assert domain.contains("a")
    assert not domain.contains("z")


def test_a_bare_domain_works_inside_ours() -> None:
    domain = records(a=BARE, b=integers(0, 9))
    record = domain.choose(ScriptedChooser({"r.a": 1, "r.b": 5}), "r")
    assert record == {"a": "c", "b": 5}
    assert domain.unpack(domain.dataset([record])) == [record]
    assert {"a": "d", "b": 0} in domain.simpler(record)
    assert lists(BARE, 2).edges()[0] == ["d", "d"]


def test_an_explorable_domain_of_a_user_is_asked_itself() -> None:
    class Guided(Bare):
        def choose(self, chooser: Any, name: str) -> str:
            return "chosen"

        def coordinates(self, record: Any) -> tuple[float, ...]:
            return (0.125,)

        def near(self, record: Any, rng: np.random.Generator) -> str:
            return "near"

        def plainness(self, record: Any) -> float:
            return 7.0

        def simpler(self, record: Any) -> tuple[Any, ...]:
            return ()

        def grid(self, points: int) -> tuple[Any, ...]:
            return ("grid",)

    guided: Domain = Guided(("d",))
    assert explorable(guided) is guided
    domain = records(a=guided)
    assert domain.choose(ScriptedChooser({}), "r") == {"a": "chosen"}
    assert domain.coordinates({"a": "d"}) == (0.125,)
    assert domain.plainness({"a": "d"}) == 7.0
    assert domain.near({"a": "d"}, np.random.default_rng(0)) == {"a": "near"}
