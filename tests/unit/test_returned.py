"""What a mechanism gives back becomes one output per draw, or an error that says what to do."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from dpaudit.errors import InvalidOutput, WrongLength
from dpaudit.mechanism import Mechanism

SIZE = 6


def returning(result: object) -> Mechanism:
    """A mechanism that gives back always the same object, whatever it is asked."""
    return Mechanism(name="fixed", function=lambda data, size, rng: result)


def draw(result: object, size: int = SIZE) -> np.ndarray[Any, Any] | list[Any]:
    return returning(result).draw([0], size, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (np.arange(SIZE), "i"),
        (np.arange(SIZE, dtype=np.float32), "f"),
        (np.ones(SIZE, dtype=bool), "b"),
        (list(range(SIZE)), "i"),
        (range(SIZE), "i"),
        ([0.5] * SIZE, "f"),
        ((1, 2.5, math.nan, math.inf, 0, 0), "f"),
        ([np.float32(2)] * SIZE, "f"),
        ([np.int8(2), 7, 1, 1, 1, 1], "i"),
        ([True] * SIZE, "b"),
        (np.array([1.5] * SIZE, dtype=object), "f"),
        ([np.array(3)] * SIZE, "i"),
    ],
)
def test_numbers_become_an_array(result: object, kind: str) -> None:
    outputs = draw(result)
    assert isinstance(outputs, np.ndarray)
    assert outputs.shape == (SIZE,)
    assert outputs.dtype.kind == kind


@pytest.mark.parametrize(
    "result",
    [
        ["a"] * SIZE,
        [None, 1, 2, 3, 4, 5],
        [(1, 2)] * SIZE,
        [{"a": 1}] * SIZE,
        [True, 1, 2, 3, 4, 5],
        [2**70, 1, 2, 3, 4, 5],
        [Decimal(1)] * SIZE,
        [[1], [1, 2], [], [], [], []],
    ],
)
def test_anything_else_stays_a_list(result: list[object]) -> None:
    outputs = draw(result)
    assert isinstance(outputs, list)
    assert outputs == result


def test_arrays_of_other_things_become_lists() -> None:
    assert draw(np.array(["a", "bc"] * 3)) == ["a", "bc"] * 3
    assert draw(np.array([None, "bc"] * 3)) == [None, "bc"] * 3
    structured = np.array([(1, 0.5)] * SIZE, dtype=[("count", int), ("mean", float)])
    assert draw(structured) == [{"count": 1, "mean": 0.5}] * SIZE
    tables = draw(np.stack([structured] * SIZE))
    assert isinstance(tables, list)
    np.testing.assert_array_equal(tables[0], structured)
    assert draw(np.array([["a", "b"]] * SIZE)) == [("a", "b")] * SIZE
    masked = np.ma.MaskedArray([1.0] * SIZE, mask=[True] + [False] * (SIZE - 1))
    assert draw(masked) == [None] + [1.0] * (SIZE - 1)


def test_complex_numbers_become_an_array() -> None:
    for result in (np.array([1 + 2j] * SIZE), [1 + 2j] * SIZE):
        np.testing.assert_array_equal(draw(result), [1 + 2j] * SIZE)


def test_a_table_is_taken_as_an_array() -> None:
    class Series:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
            return np.arange(SIZE)

    np.testing.assert_array_equal(draw(Series()), np.arange(SIZE))


def test_vectors_of_different_lengths_stay_a_list() -> None:
    assert isinstance(draw([np.zeros(2), np.zeros(3)] * 3), list)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, r"fixed must return 6 outputs, got NoneType\. Is a return missing\?"),
        ("abcdef", r"got str\. Return a list"),
        ({"a": 1}, r"got dict\. Return a list"),
        ({1, 2, 3, 4, 5, 6}, r"got set\. A set drops equal outputs"),
        (iter([1] * SIZE), r"Return list\(\.\.\.\) of it"),
        (object, r"got <class 'object'> \(type\)\. Return an array or a list"),
    ],
)
def test_what_is_not_one_output_per_draw_is_refused(result: object, message: str) -> None:
    with pytest.raises(InvalidOutput, match=message):
        draw(result)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (3.0, r"a single value\. Draw noise of shape size.* or wrap.*one_at_a_time\(fixed\)"),
        (np.float64(3.0), r"a single value"),
        (np.zeros((2, SIZE)), r"got shape \(2, 6\)\. Put the draws on the first axis\."),
        (np.zeros(5), r"must return 6 outputs, got shape \(5,\)\. Return one output per draw"),
        ([1] * 7, r"got shape \(7,\)"),
        ([], r"got shape \(0,\)"),
        ([1.0], r"got shape \(1,\)\. For one output per call wrap it: dpaudit\.one_at_a_time"),
    ],
)
def test_a_wrong_number_of_outputs_says_what_to_do(result: object, message: str) -> None:
    with pytest.raises(WrongLength, match=message) as caught:
        draw(result)
    assert caught.value.__notes__ == ["while drawing 6 outputs from fixed on data=[0]"]
