"""Whatever a dataset is made of, it comes back from JSON as it was, to the last bit."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpaudit.domains import Unsaved, canonical, decoded, encoded
from dpaudit.neighbours import Pair

plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.binary(),
)
dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(endianness="?"),
    hnp.unicode_string_dtypes(endianness="?"),
    hnp.byte_string_dtypes(),
    hnp.datetime64_dtypes(endianness="?"),
    hnp.timedelta64_dtypes(endianness="?"),
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
datasets = st.recursive(
    st.one_of(plain, arrays, st.frozensets(plain), st.sets(plain)),
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.one_of(plain, st.tuples(plain)), inner),
    ),
    max_leaves=8,
)


def through_json(value: Any) -> Any:
    return decoded(json.loads(json.dumps(encoded(value), allow_nan=False, sort_keys=True)))


@given(datasets)
def test_a_dataset_comes_back_equal(value: Any) -> None:
    back = through_json(value)
    assert type(back) is type(value)
    assert Pair(back, 1) == Pair(value, 1)


@given(arrays)
def test_an_array_comes_back_to_the_bit(array: npt.NDArray[Any]) -> None:
    back = through_json(array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()
    assert back.flags.writeable


@given(arrays.filter(lambda array: array.size > 0))
def test_a_numpy_scalar_keeps_its_type(array: npt.NDArray[Any]) -> None:
    scalar = array.reshape(-1)[0]
    back = through_json(scalar)
    assert type(back) is type(scalar)
    assert canonical(back) == canonical(scalar)


@given(st.dictionaries(st.text(), st.integers()))
def test_a_dict_keeps_its_order(value: dict[str, int]) -> None:
    assert list(through_json(value).items()) == list(value.items())


@given(st.lists(plain))
def test_an_array_of_objects_keeps_its_objects(entries: list[Any]) -> None:
    array = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        array[place] = entry
    back = through_json(array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert canonical(back.tolist()) == canonical(array.tolist())


@given(st.text())
def test_what_cannot_be_saved_comes_back_as_its_repr(text: str) -> None:
    class Odd:
        def __repr__(self) -> str:
            return text

    back = through_json([Odd()])
    assert back == [Unsaved(text)]
    assert repr(back[0]) == text
    assert through_json(back) == back
