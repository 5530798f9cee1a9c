"""Finders: order, no repetition, giving up, names."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.domains import categories, floats
from dpaudit.finders import FINDERS, Finder, make_finder
from dpaudit.neighbours import (
    Pair,
    Relation,
    add_or_remove_one,
    pairs,
    query_answers,
    replace_one,
)

RELATIONS: list[Relation] = [
    replace_one(floats(-1, 1), max_records=5),
    add_or_remove_one(categories("a", "b", "c"), max_records=4),
    query_answers(3),
]


def _asked(finder: Finder, most: int) -> list[Pair]:
    found: list[Pair] = []
    while len(found) < most and (pair := finder.ask()) is not None:
        found.append(pair)
        finder.tell(pair, 0.0)
    return found


@pytest.mark.parametrize("name", sorted(FINDERS))
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.describe())
def test_every_finder_proposes_new_pairs_of_its_relation(name: str, relation: Relation) -> None:
    found = _asked(make_finder(name, relation, np.random.default_rng(7)), 80)
    again = _asked(make_finder(name, relation, np.random.default_rng(7)), 80)
    assert found
    assert [pair.key() for pair in found] == [pair.key() for pair in again]
    assert len({pair.key() for pair in found}) == len(found)
    assert all(relation.contains(pair) for pair in found)


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.describe())
def test_auto_begins_with_the_edges_and_goes_on(relation: Relation) -> None:
    edges = list(relation.edge_pairs())
    found = _asked(make_finder("auto", relation, np.random.default_rng(7)), len(edges) + 20)
    assert found[: len(edges)] == edges
    assert len(found) == len(edges) + 20


@pytest.mark.parametrize("name", ["auto", "random"])
def test_a_finder_gives_up_when_nothing_is_new(name: str) -> None:
    relation = add_or_remove_one(categories("a"), max_records=3)  # three pairs in all
    finder = make_finder(name, relation, np.random.default_rng(7))
    assert len(_asked(finder, 1000)) == 3
    assert finder.ask() is None


@pytest.mark.parametrize("name", ["auto", "random"])
def test_a_pair_told_of_is_not_proposed(name: str) -> None:
    relation = replace_one(categories("a", "b"), max_records=1)  # one pair, two ways round
    finder = make_finder(name, relation, np.random.default_rng(7))
    for pair in [Pair(["a"], ["b"]), Pair(["b"], ["a"])]:
        finder.tell(pair, 0.0)
    assert finder.ask() is None


def test_given_pairs_come_once_and_in_order() -> None:
    given = [Pair([3.0], []), Pair([1.0], []), Pair([2.0], [])]
    finder = pairs(given).search(np.random.default_rng(7))
    assert _asked(finder, 10) == given
    assert finder.ask() is None


def test_the_name_of_the_finder_is_followed() -> None:
    relation = replace_one(floats(0, 1), finder="random")
    found = _asked(relation.search(np.random.default_rng(7)), 5)
    assert found == _asked(make_finder("random", relation, np.random.default_rng(7)), 5)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"one of 'auto', .*'random'.*, got 'oracle'"):
        replace_one(floats(0, 1), finder="oracle").search(np.random.default_rng(7))
