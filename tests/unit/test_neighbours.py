"""Relations: edges, membership, wording and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from dpaudit import categories, floats, integers, records, vectors
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours import (
    Pair,
    Relation,
    add_or_remove_one,
    pairs,
    query_answers,
    replace_one,
)
from dpaudit.search import as_finder

WRONG: Any = "1.5"


def _shown(relation: Relation) -> list[tuple[Any, Any]]:
    return [
        (np.asarray(p.data).tolist(), np.asarray(p.neighbour).tolist())
        for p in relation.edge_pairs()
    ]


def test_first_edges_of_replace_one() -> None:
    edges = _shown(replace_one(floats(-1, 1), max_records=5))
    assert edges[0] == ([1.0], [-1.0])
    assert edges[1] == ([1.0], [0.0])
    assert ([-1.0] * 4 + [1.0], [-1.0] * 5) in edges
    assert ([1.0] * 5, [1.0] * 4 + [-1.0]) in edges


def test_first_edges_of_add_or_remove_one() -> None:
    edges = _shown(add_or_remove_one(floats(0, 1)))
    assert edges[:4] == [
        ([1.0], []),
        ([0.0], []),
        ([0.0, 1.0], [0.0]),
        ([1.0, 1.0], [1.0]),
    ]
    assert ([0.0] * 9 + [1.0], [0.0] * 9) in edges


def test_min_records_avoids_empty_data() -> None:
    relation = add_or_remove_one(floats(0, 1), min_records=1)
    assert all(len(pair.neighbour) >= 1 for pair in relation.edge_pairs())
    assert not relation.contains(Pair(np.ones(1), np.ones(0)))
    assert len(_shown(add_or_remove_one(floats(0, 1), max_records=1))) == 3


def test_edges_of_query_answers() -> None:
    edges = _shown(query_answers(10))
    half = [1.0] * 5 + [0.0] * 5
    assert edges[0] == (half, half[::-1])
    for shape in [
        (half[::-1], half),
        ([1.0] * 10, [0.0] * 10),
        ([2.0] * 10, [1.0] * 10),
        ([1.0] + [0.0] * 9, [0.0] * 10),
        ([0.0] + [1.0] * 9, [1.0] * 10),
        ([1.0] * 5 + [-1.0] * 5, [0.0] * 10),
        ([1.0, 0.0] * 5, [0.0, 1.0] * 5),
        ([2.0] + [0.0] * 9, [1.0] * 10),
    ]:
        assert shape in edges
    assert _shown(query_answers(1))[0] == ([1.0], [0.0])


def test_query_answers_keep_their_range() -> None:
    relation = query_answers(4, 0.7, low=0.1, high=0.9)
    found = list(relation.edge_pairs())
    assert all(relation.contains(pair) for pair in found)
    assert query_answers(4, 2).low == -2
    assert query_answers(4, 2, low=3).high == 9
    assert query_answers(4, 2, high=3).low == -3


@pytest.mark.parametrize(
    ("relation", "modest"),
    [
        (add_or_remove_one(floats(-1, 1)), True),
        (add_or_remove_one(records(a=integers(0, 9), b=floats(0, 1)), max_records=100), True),
        (replace_one(vectors(3, -1, 1)), True),
        (replace_one(categories("a", "b")), True),
        (query_answers(10), True),
        (replace_one(categories("a", "b"), max_records=1), False),
    ],
)
def test_a_modest_number_of_edges_small_ones_first(relation: Relation, modest: bool) -> None:
    found = list(relation.edge_pairs())
    sizes = [len(pair.data) for pair in found]
    assert sizes == sorted(sizes)
    assert len(found) <= 60
    assert len(found) >= 10 or not modest


@pytest.mark.parametrize(
    ("data", "neighbour", "inside"),
    [
        ([0.0], [], True),
        ([], [0.0], True),
        ([0.0, 1.0, 0.5], [0.0, 0.5], True),
        ([1.0, 1.0], [1.0], True),
        ([0.0, 1.0, 0.5], [0.5, 0.0], False),
        ([1.0], [0.0], False),
        ([1.0], [1.0], False),
        ([0.0, 0.0, 0.0], [0.0], False),
        ([0.0] * 4, [0.0] * 3, False),
        ([2.0], [], False),
        (["a"], [], False),
        (None, [0.0], False),
        ([0.0], "", False),
    ],
)
def test_add_or_remove_one_contains(data: Any, neighbour: Any, inside: bool) -> None:
    assert add_or_remove_one(floats(0, 1), max_records=3).contains(Pair(data, neighbour)) is inside


@pytest.mark.parametrize(
    ("data", "neighbour", "inside"),
    [
        ([0.0], [1.0], True),
        ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0], True),
        ([0.0], [0.0], False),
        ([0.0, 1.0], [1.0, 0.0], False),
        ([0.0], [], False),
        ([], [], False),
        ([0.0] * 4, [0.0] * 3 + [1.0], False),
        ([0.0], [2.0], False),
        (None, None, False),
        (["a"], [0.0], False),
    ],
)
def test_replace_one_contains(data: Any, neighbour: Any, inside: bool) -> None:
    assert replace_one(floats(0, 1), max_records=3).contains(Pair(data, neighbour)) is inside


@pytest.mark.parametrize(
    ("data", "neighbour", "inside"),
    [
        ([0.0, 0.0], [1.0, -1.0], True),
        ([0, 0], [1, 0], True),
        ([0.0, 0.0], [0.0, 0.0], False),
        ([0.0, 0.0], [1.5, 0.0], False),
        ([0.0], [1.0], False),
        ([2.0, 2.0], [3.0, 2.0], False),
        (["a", "b"], [0.0, 0.0], False),
        ([[0.0], 1.0], [0.0, 0.0], False),
        ([0.0, float("nan")], [0.0, 0.0], False),
    ],
)
def test_query_answers_contains(data: Any, neighbour: Any, inside: bool) -> None:
    assert query_answers(2).contains(Pair(data, neighbour)) is inside


@pytest.mark.parametrize(
    ("norm", "moves", "inside"),
    [
        (1, [0.5, -0.5], True),
        (1, [0.75, -0.5], False),
        (2, [0.6, -0.8], True),
        (2, [0.6, -0.9], False),
        (2, [0.0, 1.0], True),
        (np.inf, [1.0, -1.0], True),
    ],
)
def test_a_norm_bounds_all_moves_together(norm: float, moves: list[float], inside: bool) -> None:
    assert query_answers(2, norm=norm).contains(Pair([0.0, 0.0], moves)) is inside


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_edges_use_up_the_whole_sensitivity(norm: float) -> None:
    for pair in query_answers(5, 0.7, norm=norm).edge_pairs():
        size = np.linalg.norm(pair.data - pair.neighbour, ord=norm)
        assert 0.7 * (1 - 1e-12) <= size <= 0.7


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_random_moves_keep_the_norm_also_where_they_end_beside_zero(norm: float) -> None:
    relation = query_answers(4, norm=norm)
    rng = np.random.default_rng(3)
    for _ in range(300):
        pair = relation.random_pair(rng)
        assert 0 < np.linalg.norm(pair.data - pair.neighbour, ord=norm) <= 1


def test_given_pairs() -> None:
    relation = pairs([([1.0], []), Pair("a", "b")])
    assert list(relation.edge_pairs()) == [Pair([1.0], []), Pair("a", "b")]
    assert relation.contains(Pair("a", "b"))
    assert relation.contains(Pair("b", "a"))
    assert not relation.contains(Pair("a", "c"))
    rng = np.random.default_rng(7)  # one of the two is missing among 50 draws once in 2**49
    assert {str(relation.random_pair(rng)) for _ in range(50)} == {
        str(pair) for pair in relation.edge_pairs()
    }


@pytest.mark.parametrize(
    ("relation", "text"),
    [
        (
            replace_one(floats(-1, 1), max_records=5),
            "replace one of at most 5 records of floats(-1, 1)",
        ),
        (
            replace_one(floats(-1, 1), max_records=1),
            "replace one of 1 record of floats(-1, 1)",
        ),
        (
            add_or_remove_one(integers(0, 1), min_records=2),
            "add or remove one of 2 to 10 records of integers(0, 1)",
        ),
        (
            add_or_remove_one(integers(0, 1)),
            "add or remove one of at most 10 records of integers(0, 1)",
        ),
        (query_answers(10), "10 query answers in [-1, 2], each moving by at most 1"),
        (query_answers(3, norm=1), "3 query answers in [-1, 2], whose moves add up to at most 1"),
        (
            query_answers(3, norm=2),
            "3 query answers in [-1, 2], whose moves have a length of at most 1",
        ),
        (
            query_answers(1, 0.5, low=0, high=1),
            "1 query answer in [0, 1], each moving by at most 0.5",
        ),
        (pairs([(1, 2)]), "1 given pair"),
        (pairs([(1, 2), (3, 4)]), "2 given pairs"),
    ],
)
def test_in_words(relation: Relation, text: str) -> None:
    assert relation.describe() == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pairs([]), "at least one pair"),
        (lambda: replace_one(floats(0, 1), max_records=0), "max_records of at least 1, got 0"),
        (lambda: replace_one(floats(0, 1), min_records=0), "min_records of at least 1, got 0"),
        (lambda: replace_one(floats(0, 1), min_records=11), "max_records of at least 11, got 10"),
        (lambda: replace_one(floats(1, 1)), "at least two records, got floats"),
        (lambda: replace_one(floats(0, 1), max_records=WRONG), "whole number for max_records"),
        (lambda: add_or_remove_one(floats(0, 1), min_records=10), "above min_records, got 10"),
        (lambda: add_or_remove_one(floats(0, 1), min_records=-1), "at least 0, got -1"),
        (lambda: query_answers(0), "length of at least 1"),
        (lambda: query_answers(WRONG), "whole number for length"),
        (lambda: query_answers(2, 0), r"sensitivity in \(0, inf\), got 0"),
        (lambda: query_answers(2, float("nan")), "sensitivity"),
        (lambda: query_answers(2, WRONG), "needs numbers, got '1.5'"),
        (lambda: query_answers(2, low=1, high=1), "low < high"),
        (lambda: query_answers(2, low=float("nan")), "low < high"),
        (lambda: query_answers(2, high=float("inf"), low=0), "finite answers"),
        (lambda: query_answers(2, 1e308, low=-1e308), "finite answers"),
        (lambda: query_answers(2, 1e-9, low=1e9, high=2e9), "vanishes"),
    ],
)
def test_relations_without_pairs(make: Callable[[], Relation], message: str) -> None:
    with pytest.raises(InvalidRelation, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pairs(cast(Any, ([1.0], [2.0]))), r"Write pairs\(\[\(a, b\), ...\]\)"),
        (lambda: pairs(cast(Any, [(1, 2, 3)])), "2-tuples, got"),
        (lambda: replace_one(cast(Any, floats)), "a domain such as floats"),
        (lambda: add_or_remove_one(WRONG), "a domain such as floats"),
    ],
)
def test_wrong_kinds_of_arguments(make: Callable[[], Relation], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_random_pairs_cover_the_sizes() -> None:
    """The sizes are log-uniform: of 1 to 10, the last has the least share, log(11/10)/log(11).

    Null: that share, 0.04; a size is missing among 1000 draws with a chance below 3e-17.
    Alternative: a size that is never drawn; power 1.
    """
    relation = replace_one(floats(0, 1), max_records=10)
    rng = np.random.default_rng(7)
    sizes = [len(relation.random_pair(rng).data) for _ in range(1000)]
    assert set(sizes) == set(range(1, 11))
    assert sizes.count(1) > sizes.count(10)


def test_as_finder_takes_relations_lists_and_finders() -> None:
    rng = np.random.default_rng(7)
    assert as_finder(replace_one(floats(0, 1)), "auto", rng).ask() == Pair(
        np.array([1.0]), np.array([0.0])
    )
    assert as_finder([Pair("a", "b")], "auto", rng).ask() == Pair("a", "b")

    class Mine:
        def ask(self) -> Pair | None:
            return None

        def tell(self, pair: Pair, score: float) -> None: ...

    mine = Mine()
    assert as_finder(mine, "auto", rng) is mine
    with pytest.raises(TypeError, match="neighbours must be"):
        as_finder(Mine, "auto", rng)


@pytest.mark.parametrize("given", [None, 3, "pairs", floats(0, 1), replace_one, Pair(1, 2)])
def test_as_finder_refuses_the_rest(given: Any) -> None:
    with pytest.raises(TypeError, match=r"neighbours must be a relation such as replace_one"):
        as_finder(given, "auto", np.random.default_rng(7))
