"""Pairs: wording, and what makes two of them equal."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from dpaudit.domains import canonical
from dpaudit.neighbours import Pair


def test_a_pair_in_words() -> None:
    assert str(Pair(np.array([1.0]), np.array([]))) == "data=[1.0], neighbour=[]"
    assert str(Pair(np.float64(1), [np.int64(2)])) == "data=1.0, neighbour=[2]"
    assert str(Pair(np.zeros((1, 2)), [])) == "data=[[0.0, 0.0]], neighbour=[]"
    assert str(Pair([{"a": np.float64(1)}], [])) == "data=[{'a': 1.0}], neighbour=[]"
    assert str(Pair(np.arange(12), [])).count("...") == 0


def test_a_long_pair_is_elided_in_the_middle() -> None:
    shown = "data=[0, 1, 2, 3, 4, 5, ..., 94, 95, 96, 97, 98, 99], neighbour=[]"
    assert str(Pair(np.arange(100), [])) == shown
    assert len(str(Pair("x" * 1000, "y\n" * 1000))) < 200
    assert "\n" not in str(Pair(np.zeros((50, 50)), []))


def test_swapped() -> None:
    pair = Pair([1.0], [])
    assert pair.swapped() == Pair([], [1.0])
    assert pair.swapped().swapped() == pair


def test_equal_pairs_have_equal_keys() -> None:
    one, same = Pair(np.array([0.1]), []), Pair(np.array([0.1]), [])
    assert one == same
    assert hash(one) == hash(same)
    assert one != Pair(np.array([np.nextafter(0.1, 1)]), [])
    assert one != "pair"
    assert len({one, same}) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("1", 1),
        ([1], (1,)),
        ([[1], [2]], [[1, 2]]),
        (np.zeros(2), np.zeros((1, 2))),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (np.zeros(2000), np.append(np.zeros(1999), 5e-324)),
        (np.array(["a"]), np.array(["b"])),
        ({"a": 1}, {"a": 2}),
        ({1}, {2}),
        (np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
        (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
        (lambda: 1, lambda: 1),
    ],
)
def test_canonical_tells_apart(a: Any, b: Any) -> None:
    assert canonical(a) != canonical(b)
    assert canonical(a) == canonical(a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.float64(0.1), 0.1),
        (np.str_("a"), "a"),
        ({1, 2}, {2, 1}),
        (np.arange(6)[::2], np.array([0, 2, 4])),
        (datetime.date(2020, 1, 1), datetime.date(2020, 1, 1)),
    ],
)
def test_canonical_agrees(a: Any, b: Any) -> None:
    assert canonical(a) == canonical(b)


def test_canonical_of_object_arrays_looks_inside() -> None:
    one, other = np.array([None, "a"], dtype=object), np.array([None, "b"], dtype=object)
    assert canonical(one) == canonical(one.copy())
    assert canonical(one) != canonical(other)
