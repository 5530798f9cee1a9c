"""Outputs become tables: one column per place, numbers or codes, shared by all batches."""

import enum
from collections import OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpaudit.outputs import MINUS_INF, MISSING, NAN, NONE, PLUS_INF, Encoder, Table, stack


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Plain:
    """Its repr has an address."""


def said(encoder: Encoder, table: Table) -> list[dict[str, str]]:
    """Put every cell that is there into words."""
    rows = []
    for numbers, codes in zip(table.numbers.tolist(), table.codes().tolist(), strict=True):
        row = {}
        for column, name in enumerate(encoder.names):
            if codes[column] == -1:
                row[name] = encoder.value(column, numbers[column])
            elif codes[column] != MISSING:
                row[name] = encoder.word(column, codes[column])
        rows.append(row)
    return rows


def said_of(outputs: npt.NDArray[Any] | list[Any]) -> list[dict[str, str]]:
    encoder = Encoder()
    return said(encoder, encoder.encode(outputs))


def test_numbers_are_one_column_without_atoms() -> None:
    encoder = Encoder()
    outputs = np.array([1.5, -2.0, 0.0])
    table = encoder.encode(outputs)
    assert encoder.names == ("output",)
    assert table.atoms is None
    assert (len(table), table.columns) == (3, 1)
    np.testing.assert_array_equal(table.numbers[:, 0], outputs)
    outputs[0] = 7.0
    assert table.numbers[0, 0] == 1.5  # a mechanism may use its buffer again


def test_what_is_not_finite_is_an_atom() -> None:
    encoder = Encoder()
    table = encoder.encode(np.array([1.0, np.nan, np.inf, -np.inf]))
    assert table.codes()[:, 0].tolist() == [-1, NAN, PLUS_INF, MINUS_INF]
    assert table.numbers[:, 0].tolist() == [1.0, 0.0, 0.0, 0.0]
    words = [encoder.word(0, code) for code in (MISSING, NAN, PLUS_INF, MINUS_INF, NONE)]
    assert words == ["missing", "NaN", "+inf", "-inf", "None"]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble, np.int8, np.uint64])
def test_every_numeric_type_is_numbers(dtype: type) -> None:
    table = Encoder().encode(np.array([[1, 2], [3, 4]], dtype=dtype))
    assert table.numbers.dtype == np.float64
    np.testing.assert_array_equal(table.numbers, [[1, 2], [3, 4]])


def test_an_array_with_more_axes_is_flattened() -> None:
    encoder = Encoder()
    array = np.arange(12.0).reshape(2, 3, 2)
    table = encoder.encode(array)
    assert encoder.names[:3] == ("output[0][0]", "output[0][1]", "output[1][0]")
    np.testing.assert_array_equal(table.numbers, array.reshape(2, 6))


def test_arrays_lists_and_tuples_are_alike() -> None:
    # Sides of different form are joined as tuples, so the form must not tell them apart.
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    forms: list[npt.NDArray[Any] | list[Any]] = [
        array,
        array.tolist(),
        [tuple(row) for row in array],
        list(array),
        [deque(row) for row in array.tolist()],
        array.astype(object),
    ]
    encoder = Encoder()
    for form in forms:
        table = encoder.encode(form)
        np.testing.assert_array_equal(table.numbers, array)
        assert table.atoms is None
    assert encoder.names == ("output[0]", "output[1]")


def test_leaves_are_told_apart_by_type() -> None:
    outputs = [
        "1",
        1,
        b"1",
        None,
        Colour.RED,
        Level.LOW,
        (),
        {},
        1.5,
        "None",
        {1, 2},
        ValueError(3),
    ]
    assert [row["output"] for row in said_of(outputs)] == [
        "'1'",
        "1",
        "b'1'",
        "None",
        "Colour.RED",
        "1",  # an integer enumeration is a number, as it is in an array
        "[]",
        "{}",
        "1.5",
        "'None'",
        "{1, 2}",
        "ValueError(3)",
    ]


def test_numbers_of_every_type_are_numbers() -> None:
    outputs = [
        np.float32(0.5),
        np.int64(3),
        Fraction(1, 4),
        Decimal(2),
        np.bool_(True),
        np.array(7),
    ]
    table = Encoder().encode(outputs)
    assert table.atoms is None
    assert table.numbers[:, 0].tolist() == [0.5, 3.0, 0.25, 2.0, 1.0, 7.0]


def test_strings_of_numpy_are_strings() -> None:
    assert said_of(np.array(["yes", "no"])) == [{"output": "'yes'"}, {"output": "'no'"}]
    assert said_of([np.str_("yes")]) == [{"output": "'yes'"}]


def test_complex_numbers_have_two_columns() -> None:
    assert said_of([1 + 2j, None]) == [
        {"output.real": "1", "output.imag": "2"},
        {"output": "None"},
    ]


def test_dates_are_words() -> None:
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]")
    assert len({row["output"] for row in said_of(days)}) == 2


def test_integers_that_floats_would_merge_are_words() -> None:
    encoder = Encoder()
    big = 2**53
    rows = said(encoder, encoder.encode(np.array([big, big + 1, -big - 1, 5])))
    assert [row["output"] for row in rows] == [str(n) for n in (big, big + 1, -big - 1, 5)]
    again = said(encoder, encoder.encode([(big + 1), 10**400, 1.5]))
    assert again[0]["output"] == str(big + 1)
    assert again[1]["output"].startswith("0x")
    assert encoder.encode(np.array([2**64 - 1], dtype=np.uint64)).atoms is not None


def test_an_address_tells_nothing() -> None:
    # Objects of the two sides lie in different parts of memory: that must not refute anything.
    table = Encoder().encode([Plain(), Plain(), Plain()])
    assert len(set(table.codes()[:, 0].tolist())) == 1


def test_dicts_are_columns_by_key() -> None:
    encoder = Encoder()
    table = encoder.encode(
        [{"count": 3, "by": {"a": [1, 2]}}, OrderedDict(by={"a": [1, 5]}, count=4)]
    )
    assert encoder.names == ("output['count']", "output['by']['a'][0]", "output['by']['a'][1]")
    assert table.atoms is None
    np.testing.assert_array_equal(table.numbers, [[3, 1, 2], [4, 1, 5]])


def test_lengths_are_a_column_only_where_they_differ() -> None:
    assert said_of([[1, [2]], [3, [4, 5]]]) == [
        {"output[0]": "1", "len(output[1])": "1", "output[1][0]": "2"},
        {"output[0]": "3", "len(output[1])": "2", "output[1][0]": "4", "output[1][1]": "5"},
    ]


def test_a_length_that_changes_between_batches_is_a_column_from_then_on() -> None:
    encoder = Encoder()
    encoder.encode([[1, 2]])
    assert "len(output)" not in encoder.names
    encoder.encode([[1, 2, 3]])
    table = encoder.encode([[1, 2]])
    assert table.numbers[0, encoder.names.index("len(output)")] == 2


def test_a_place_may_hold_a_leaf_or_a_container() -> None:
    assert said_of([1, [2, 3], None, {"a": "x"}, []]) == [
        {"output": "1"},
        {"len(output)": "2", "output[0]": "2", "output[1]": "3"},
        {"output": "None"},
        {"len(output)": "1", "output['a']": "'x'"},
        {"output": "[]", "len(output)": "0"},
    ]


def test_an_index_and_an_equal_key_are_two_places() -> None:
    encoder = Encoder()
    table = encoder.encode([{0: 1}, [1]])
    assert encoder.names == ("output[0]", "output[0]'")
    assert not np.array_equal(table.codes()[0], table.codes()[1])


def test_a_list_inside_itself_ends() -> None:
    endless: list[Any] = []
    endless.append(endless)
    encoder = Encoder()
    encoder.encode([endless, 1])
    assert len(encoder.names) == 2


def test_batches_share_columns_and_words() -> None:
    encoder = Encoder()
    first = encoder.encode(["a", "b"])
    second = encoder.encode([("b", 1.0), "b", "c"])
    assert encoder.names == ("output", "output[0]", "output[1]")
    assert first.codes()[1, 0] == second.codes()[1, 0]
    wide = encoder.widen(first)
    assert wide.columns == 3
    assert wide.codes()[:, 1:].tolist() == [[MISSING, MISSING]] * 2
    assert encoder.widen(second) is second
    both = stack([wide, second])
    assert len(both) == 5
    assert both.take(np.array([0, 2])).codes()[:, 0].tolist() == [first.codes()[0, 0], MISSING]


def test_a_batch_of_old_columns_only_is_missing_from_the_new_ones() -> None:
    encoder = Encoder()
    encoder.encode([(1, 2)])
    assert encoder.encode(np.array([1.0, 2.0])).codes().tolist() == [[MISSING, MISSING, -1]] * 2


def test_nothing_drawn_is_a_table_without_rows() -> None:
    encoder = Encoder()
    assert encoder.encode([]).numbers.shape == (0, 0)
    encoder.encode(np.zeros((2, 3)))
    assert encoder.encode([]).numbers.shape == (0, 3)


def test_outputs_without_places_are_one_word() -> None:
    assert said_of(np.zeros((2, 0))) == [{"output": "[]"}] * 2


@pytest.mark.parametrize(
    ("batches", "number", "said"),
    [
        ([np.array([True, False])], 1.0, "True"),
        ([[True, None]], 0.0, "False"),
        ([np.array([True]), np.array([2])], 1.0, "1"),
        ([np.array([True]), np.array([2.5])], 1.0, "1"),
        ([np.array([3])], 3.0, "3"),
        ([np.array([3])], 2.5, "2.5"),
        ([np.array([3])], 2.0**60, str(2**60)),
        ([np.array([0.5])], 3.0, "3"),
        ([np.array([0.5])], 0.1 + 0.2, "0.30000000000000004"),
        ([np.array([0.5])], 1e-7, "1e-07"),
        ([np.array([0.5])], 1e300, "1e+300"),
        ([np.array([0.5])], -0.0, "0"),
    ],
)
def test_numbers_are_written_as_their_column_is(
    batches: list[npt.NDArray[Any] | list[Any]], number: float, said: str
) -> None:
    encoder = Encoder()
    for batch in batches:
        encoder.encode(batch)
    assert encoder.value(0, number) == said


def test_places_beyond_the_last_column_share_a_column_of_hashes() -> None:
    encoder = Encoder()
    array = np.zeros((3, 300))
    array[1, 290] = 1.0
    array[2, 290] = -0.0  # is zero
    table = encoder.encode(array)
    assert len(encoder.names) == 257
    assert encoder.names[-1] == "output (rest)"
    codes = table.codes()[:, -1]
    assert codes[0] == codes[2] != codes[1]
    listed = encoder.encode([tuple(row) for row in array.tolist()])
    np.testing.assert_array_equal(listed.codes(), table.codes())
    short = encoder.encode([[1.0], ["a"]])
    assert short.codes()[:, -1].tolist() != [MISSING, MISSING]  # the length, which now differs
    assert len(encoder.names) == 257


def test_many_keys_do_not_make_many_columns() -> None:
    encoder = Encoder()
    table = encoder.encode([{f"key {i}": i} for i in range(2000)])
    assert len(encoder.names) == 257
    assert table.codes()[0, -1] == MISSING
    assert len(set(table.codes()[256:, -1].tolist())) == 2000 - 256


def test_words_beyond_the_last_code_share_one() -> None:
    encoder = Encoder()
    table = encoder.encode([f"word {i}" for i in range(5000)])
    codes = table.codes()[:, 0]
    assert len(set(codes.tolist())) == 4097
    assert codes[4096] == codes[4999]
    assert encoder.word(0, int(codes[4999])) == "other"
    assert encoder.word(0, int(codes[4095])) == "'word 4095'"


def test_long_words_are_cut_but_stay_apart() -> None:
    rows = said_of(["x" * 1000 + "a", "x" * 1000 + "b"])
    assert rows[0] != rows[1]
    assert all(len(row["output"]) < 210 for row in rows)


def test_a_table_of_another_encoder_is_refused() -> None:
    with pytest.raises(ValueError, match="a table with 3 columns is not of this encoder"):
        Encoder().widen(Encoder().encode(np.zeros((2, 3))))


def test_tables_of_different_width_are_not_stacked() -> None:
    with pytest.raises(ValueError, match=r"same number of columns, got \[1, 2\]"):
        stack([Encoder().encode(np.zeros(2)), Encoder().encode(np.zeros((2, 2)))])
