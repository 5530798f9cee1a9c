"""The grid: a fixed order, ever finer, and complete where the domain is finite."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dpaudit.domains import categories, floats, integers
from dpaudit.neighbours import (
    ABSENT,
    Slot,
    Structured,
    add_or_remove_one,
    group,
    query_answers,
    replace_one,
)
from dpaudit.search import GridFinder, fingerprint


def _all(relation: Structured, most: int = 10_000) -> list[Any]:
    finder = GridFinder(relation, np.random.default_rng(7))
    found = list(itertools.islice(iter(finder.ask, None), most))
    assert len({fingerprint(pair) for pair in found}) == len(found)
    return found


@pytest.mark.parametrize(
    "relation",
    [
        add_or_remove_one(categories("a", "b"), max_records=4),
        replace_one(categories("a", "b", "c"), max_records=3),
        replace_one(integers(1, 4), max_records=2),
        group(add_or_remove_one(categories("a", "b"), max_records=3), 2),
    ],
    ids=lambda relation: relation.describe(),
)
def test_a_finite_domain_is_searched_completely(relation: Structured) -> None:
    values = relation.domain.edges()
    if "integers" in str(relation.domain):
        values = (1, 2, 3, 4)
    elif "'c'" in str(relation.domain):
        values = ("a", "b", "c")
    sides = [ABSENT, *values]
    slots = [Slot(*both) for both in itertools.product(sides, sides) if both != (ABSENT, ABSENT)]
    expected = set()
    for size in range(1, relation.most_slots + 1):
        for laid in itertools.product(slots, repeat=min(size, 4)):
            if (pair := relation.join(laid)) is not None:
                expected.add(fingerprint(pair))
    assert {fingerprint(pair) for pair in _all(relation)} >= expected


def test_the_smallest_datasets_come_first() -> None:
    found = _all(add_or_remove_one(floats(0, 1), max_records=3), 12)
    sizes = [len(pair.data) for pair in found]
    assert sizes == sorted(sizes)
    assert sizes[:4] == [1, 1, 1, 2]
    assert {float(number) for pair in found for number in pair.data} == {0.0, 0.5, 1.0}


def test_the_grid_grows_finer() -> None:
    found = _all(replace_one(floats(0, 1), max_records=1), 40)
    values = [{float(number) for pair in found[:most] for number in pair.data} for most in (1, 40)]
    assert values[1] >= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert len(values[0]) < len(values[1])


def test_all_sizes_are_searched() -> None:
    found = _all(add_or_remove_one(floats(0, 1), max_records=8), 400)
    assert {len(pair.data) for pair in found} == set(range(1, 9))


def test_answers_move_together_from_the_answers_of_the_grid() -> None:
    found = _all(query_answers(2, low=0, high=2), 60)
    assert all(len(set(pair.data.tolist())) == 1 for pair in found)
    assert {float(pair.data[0]) for pair in found} >= {0.0, 1.0, 2.0}
