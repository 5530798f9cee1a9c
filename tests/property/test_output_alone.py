"""The row of an output depends on that output and on earlier batches, on nothing else.

If it depended on the other outputs of its call or of its side, the row would tell the side, and a
bet on it would win against a mechanism that keeps its claim.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import os
import string
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpaudit.auditing import in_hand
from dpaudit.events import Equals, Event, IsWord, rule_of
from dpaudit.mechanism import Mechanism, draw_labelled, one_at_a_time, with_errors
from dpaudit.neighbours import Pair
from dpaudit.outputs import NONE, Encoder, Outputs, Raised, Table, checked, joined

pytestmark = pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")  # sides of two forms
EXAMPLES = 5_000 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 500
many = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Word(enum.StrEnum):
    YES = "yes"


@dataclasses.dataclass
class Release:
    total: Any
    _seed: int = 0


class Plain:
    __slots__ = ("count",)

    def __init__(self, count: Any) -> None:
        self.count = count


class MyInt(int):
    pass


UNITS = ("Y", "M", "D", "s", "ms", "ns")
numbers = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 2**60 + 1, 2**63, -(2**63), 2**64 - 1, 2**70, 10**400]),
    st.floats(),
    st.sampled_from([1.0, 2.0**60, np.nan, np.inf, -np.inf, -0.0]),
    st.sampled_from([*Level, *Flags, MyInt(2), MyInt(2**60)]),
    st.decimals() | st.fractions(),
    st.fractions().map(lambda fraction: fraction * 10**400),
    *(st.floats(width=16).map(kind) for kind in (np.float16, np.float32, np.float64)),
    st.floats().map(np.longdouble) | st.just(np.longdouble("1e400")),
    *(
        st.integers(0, int(np.iinfo(kind).max)).map(kind)
        for kind in (np.int8, np.uint8, np.int64, np.uint64)
    ),
    st.booleans().map(np.bool_),
)
leaves = st.one_of(
    numbers,
    st.complex_numbers() | st.sampled_from([1 + 0j, np.complex64(1 + 2j), 0j]),
    st.none(),
    st.text(string.ascii_lowercase, max_size=2) | st.text(max_size=2),
    st.sampled_from([np.str_("a"), np.bytes_(b"a"), Word.YES, "yes", *Colour]),
    st.binary(max_size=2) | st.binary(max_size=2).map(bytearray),
    st.builds(np.datetime64, st.integers(-9, 9), st.sampled_from(UNITS)),
    st.builds(np.timedelta64, st.integers(-9, 9), st.sampled_from([*UNITS, "W", "generic"])),
    st.sampled_from([np.datetime64("NaT"), np.timedelta64("NaT")]),
    st.datetimes() | st.dates() | st.timedeltas(),
    st.builds(Raised, st.sampled_from(["KeyError", "ValueError"]), st.text(max_size=1)),
    st.frozensets(st.integers(0, 3) | st.text("ab", max_size=1), max_size=3),
)
arrays: st.SearchStrategy[npt.NDArray[Any]] = hnp.arrays(
    st.sampled_from([*map(np.dtype, ("f8", "i8", "f4", "c16", "?", "M8[D]", "m8[s]"))]),
    hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3),
)
keys = (
    st.text("ab", max_size=2) | st.integers(-1, 2) | st.sampled_from([1.0, True, np.nan, Level.LOW])
)
outputs = st.recursive(
    leaves | arrays,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        inner.map(Release) | inner.map(Plain),
    ),
    max_leaves=5,
)
# Many alike, so that a call is an array as often as a list.
alike = st.one_of(
    *(
        st.lists(one, max_size=4)
        for one in (st.integers(-3, 3), st.floats(), numbers, st.sampled_from(Level), arrays)
    )
)
calls = st.one_of(alike, st.lists(outputs, max_size=4))


def said(output: object) -> str:
    return f"{type(output)} {output!r}"


def row_of(table: Table, place: int) -> tuple[list[float], list[int]]:
    return (table.numbers[place] + 0.0).tolist(), table.codes()[place].tolist()


def received(output: Any, others: list[Any]) -> Iterator[tuple[str, Outputs, int]]:
    """An output as it comes among others: in a call, on a side, in two pieces, under labels."""
    call = [*others[:2], output, *others[2:]]
    place = min(2, len(others))
    found = checked(call, len(call), "mechanism")
    yield "a call", found, place
    yield "two pieces", joined([found, checked([output], 1, "mechanism")]), len(call)
    boxed = np.empty(len(call), dtype=object)
    boxed[:] = call
    yield "an array of objects", checked(boxed, len(call), "mechanism"), place
    if len(others) > 0:
        # One side of vectors of length 1 and one of plain numbers are taken for alike.
        sides = in_hand([output, output], [*others, output])
        yield "one of two sides in hand", joined(sides), 0
    given = {"data": [output], "neighbour": others or [output]}
    mechanism = Mechanism(
        name="given",
        function=lambda data, size, rng: [given[data][i % len(given[data])] for i in range(size)],
    )
    batch = draw_labelled(mechanism, Pair("data", "neighbour"), 12, np.random.SeedSequence(1))
    yield "a labelled batch", batch.outputs, int(np.argmax(batch.labels))


def encoded(past: list[Any], outputs: Outputs, floats: Any) -> tuple[Encoder, Table]:
    encoder = Encoder(floats=floats)
    if past:
        encoder.encode(checked(past, len(past), "mechanism"))
    known = encoder.known
    return encoder, encoder.encode(outputs).as_known(known)


def check_row_is_its_own(past: list[Any], output: Any, others: list[Any], floats: Any) -> None:
    alone = checked([output], 1, "mechanism")
    encoder, table = encoded(past, alone, floats)
    expected = row_of(table, 0)
    rules = [rule_of(event, encoder) for event in events_of(table, encoder)]
    for where, found, place in received(output, others):
        row = row_of(encoded(past, found, floats)[1], place)
        assert row == expected, f"{said(output)} in {where} beside {others!r}"
        for rule in rules:
            assert rule.holds(found)[place] == rule.holds(alone)[0], (rule, where)


def events_of(table: Table, encoder: Encoder) -> list[Event]:
    """Events that this output is in, column by column."""
    known = encoder.known
    numbers, codes = row_of(table, 0)
    return [
        Equals(column, number) if code < 0 else IsWord(column, code)
        for column, (number, code) in enumerate(zip(numbers, codes, strict=True))
        if code <= max(int(known[column]), NONE)
    ]


@many
@given(past=calls, output=outputs, others=calls, floats=st.sampled_from(["real", "bits"]))
def test_the_row_of_an_output_is_its_own(
    past: list[Any], output: Any, others: list[Any], floats: Any
) -> None:
    check_row_is_its_own(past, output, others, floats)
    check_row_is_its_own([*past, output, *others], output, others, floats)


@many
@given(past=calls, output=outputs, others=calls)
def test_the_row_of_an_output_is_its_own_when_columns_and_words_run_out(
    past: list[Any], output: Any, others: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpaudit.outputs.table.MAX_COLUMNS", 2)
    check_row_is_its_own([*past, {"a": 1, "b": [2, "c"]}], output, others, "real")
    check_row_is_its_own([*past, [1, [2, "c"], None], output], output, others, "real")


@pytest.mark.parametrize(
    "make",
    [
        lambda buffer: buffer,
        lambda buffer: {"count": buffer},
        lambda buffer: [buffer, "x"],
        lambda buffer: Release(buffer),
    ],
    ids=["list", "dict", "nested", "object"],
)
def test_a_mechanism_may_fill_one_object_again_and_again(make: Any) -> None:
    buffer: list[float] = [0.0]
    kept = make(buffer)

    def fill(data: list[float], rng: np.random.Generator) -> Any:
        buffer[0] = data[0] + rng.random()
        return kept

    def fresh(data: list[float], rng: np.random.Generator) -> Any:
        return make([data[0] + rng.random()])

    def table(function: Any) -> npt.NDArray[np.float64]:
        mechanism = with_errors(one_at_a_time(function), "output")
        batch = draw_labelled(mechanism, Pair([0.0], [9.0]), 50, np.random.SeedSequence(2))
        return Encoder().encode(batch.outputs).numbers

    np.testing.assert_array_equal(table(fill), table(fresh))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, "U5", "M8[s]", object])
def test_a_mechanism_may_fill_one_array_again_and_again(dtype: Any) -> None:
    buffer = np.zeros(100, dtype=dtype)

    def fill(data: list[int], size: int, rng: np.random.Generator) -> Any:
        buffer[:size] = np.array(data[0] + rng.integers(5, size=size)).astype(dtype)
        return buffer[:size]

    def fresh(data: list[int], size: int, rng: np.random.Generator) -> Any:
        return np.array(data[0] + rng.integers(5, size=size)).astype(dtype)

    def batch(function: Any) -> Outputs:
        mechanism = Mechanism(name="filling", function=function)
        return draw_labelled(mechanism, Pair([0], [9]), 50, np.random.SeedSequence(2)).outputs

    assert list(batch(fill)) == list(batch(fresh))


def test_an_array_that_numpy_changed_beside_other_outputs_is_refused() -> None:
    from dpaudit.errors import InvalidOutput

    for odd in (2j, "none", np.datetime64("2020-01-01"), b"x"):
        mechanism = with_errors(
            lambda data, size, odd=odd: np.array([data[0]] * size) if data[0] else np.array([odd]),
            "output",
        )
        mechanism.draw([1], 3, np.random.default_rng(0))
        with pytest.raises(InvalidOutput, match="gives all outputs in an array one form"):
            mechanism.draw([0], 1, np.random.default_rng(0))
    large = with_errors(lambda data, size: np.array(data * size), "output")
    large.draw([2**60 + 1], 3, np.random.default_rng(0))
    with pytest.raises(InvalidOutput, match="int64 at one call and of float64"):
        large.draw([np.nan], 1, np.random.default_rng(0))


def test_durations_and_moments_are_alike_in_whatever_unit() -> None:
    encoder = Encoder()
    day = [np.timedelta64(1, "D"), np.timedelta64(86_400 * 10**9, "ns"), datetime.timedelta(days=1)]
    assert encoder.encode(day[:2]).numbers.tolist() == [[86_400.0]] * 2
    assert encoder.encode(day[2:]).numbers[0, 0] == 86_400.0
    moments = [np.datetime64("2024-05-01"), np.datetime64("2024-05-01T00:00:00.000")]
    assert len(np.unique(Encoder().encode(moments).codes())) == 1


def test_a_series_that_pandas_changed_beside_other_outputs_is_refused() -> None:
    from dpaudit.errors import InvalidOutput

    pandas = pytest.importorskip("pandas")
    mechanism = with_errors(lambda data, size: pandas.Series(data * size), "output")
    mechanism.draw([2**60 + 1], 3, np.random.default_rng(0))
    with pytest.raises(InvalidOutput, match="int64 at one call and of float64"):
        mechanism.draw([np.nan], 1, np.random.default_rng(0))
