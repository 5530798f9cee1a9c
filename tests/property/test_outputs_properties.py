"""Any nested outputs: equal ones are equal rows, others are not, in whatever order they come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpaudit.outputs import Encoder, Table, stack

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-2, 2),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=2),
)
keys = st.text(max_size=2) | st.integers(-1, 2)
outputs = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
    ),
    max_leaves=6,
)
batches = st.lists(outputs, min_size=1, max_size=8)


def canonical(output: Any) -> Any:
    """Equal for outputs that are to be equal rows, and only for those."""
    if isinstance(output, int) and abs(output) > 2**53:
        return ("integer", int(output))
    if isinstance(output, int | float):
        return ("number", "NaN" if math.isnan(output) else float(output))
    if isinstance(output, list | tuple):
        return ("sequence", tuple(canonical(inner) for inner in output))
    if isinstance(output, dict):
        inside = {(key, canonical(inner)) for key, inner in output.items()}
        return ("mapping", frozenset(inside))
    return (type(output).__name__, output)


def cells(table: Table) -> list[tuple[Any, ...]]:
    """Give each row as a value that can be compared."""
    both = zip((table.numbers + 0.0).tolist(), table.codes().tolist(), strict=True)
    return [(*numbers, *codes) for numbers, codes in both]


def said(encoder: Encoder, table: Table) -> list[frozenset[tuple[str, str]]]:
    """Give each row in words, in whatever order the columns are."""
    return [
        frozenset(
            (name, encoder.value(column, number) if code < 0 else encoder.word(column, code))
            for column, (name, number, code) in enumerate(
                zip(encoder.names, numbers, codes, strict=True)
            )
        )
        for numbers, codes in zip(table.numbers.tolist(), table.codes().tolist(), strict=True)
    ]


@given(batches)
def test_rows_are_equal_exactly_when_outputs_are(batch: list[Any]) -> None:
    rows = cells(Encoder().encode(batch))
    forms = [canonical(output) for output in batch]
    for row, form in zip(rows, forms, strict=True):
        for other_row, other_form in zip(rows, forms, strict=True):
            assert (row == other_row) == (form == other_form)


@given(batches)
def test_the_same_outputs_give_the_same_table(batch: list[Any]) -> None:
    first, second = Encoder(), Encoder()
    assert cells(first.encode(batch)) == cells(second.encode(batch))
    assert first.names == second.names
    assert len(set(first.names)) == len(first.names)


@given(batches, st.randoms(use_true_random=False))
def test_the_order_of_the_draws_does_not_matter(batch: list[Any], random: Any) -> None:
    order = list(range(len(batch)))
    random.shuffle(order)
    there, here = Encoder(), Encoder()
    straight = said(there, there.encode(batch))
    shuffled = said(here, here.encode([batch[i] for i in order]))
    if not any(name.endswith("'") for name in there.names):  # {0: x} and [x], named in turn
        assert shuffled == [straight[i] for i in order]


@given(batches, batches)
def test_known_outputs_are_the_same_rows_in_any_batch(first: list[Any], second: list[Any]) -> None:
    encoder = Encoder()
    older = encoder.encode(first)
    together = encoder.encode(first + second)
    assert cells(encoder.encode(first + second)) == cells(together)
    apart = stack([encoder.encode(first), encoder.encode(second)])
    assert cells(apart) == cells(together)
    wide = encoder.widen(older)
    assert wide.columns == len(encoder.names)
    np.testing.assert_array_equal(wide.numbers[:, : older.columns], older.numbers)
    np.testing.assert_array_equal(wide.codes()[:, : older.columns], older.codes())


@given(
    arrays.arrays(
        st.sampled_from([np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)]),
        arrays.array_shapes(max_dims=3, max_side=4),
    )
)
def test_an_array_and_the_list_of_its_rows_are_one(array: np.ndarray[Any, Any]) -> None:
    encoder = Encoder()
    whole = encoder.encode(array)
    listed = encoder.encode(list(array))
    assert cells(whole) == cells(listed)
    assert whole.columns == int(np.prod(array.shape[1:]))
