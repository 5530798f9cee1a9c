"""What a mechanism gave back: one output per draw, or an error that says what to do.

Numbers become an array with the draws on the first axis; anything else becomes a list. Which of the
two it is depends on what else came in the same call, so it must make no difference: an array is
made only where each of its entries is read exactly as it would be by itself. Where a draw raised
and errors are outputs, a `Raised` stands in its place.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.errors import InvalidOutput, WrongLength
from dpaudit.outputs.forms import is_plain, readable_copy
from dpaudit.outputs.tensors import brought_here

Outputs: TypeAlias = npt.NDArray[Any] | list[Any]

LARGEST_EXACT = 2**53  # beyond it a float no longer tells an integer from the next
_REAL, _NUMERIC = "biuf", "biufc"  # kinds of dtypes
_INTEGERS = frozenset({int, *(np.dtype(code).type for code in "bhilqBHILQ")})
_FLOATS = frozenset({float, np.float16, np.float32, np.float64})
_COMPLEX = frozenset({complex, np.complex64, np.complex128})
_HINTS: tuple[tuple[Any, str], ...] = (
    (type(None), "Is a return missing?"),
    ((str, bytes, Mapping), "Return a list with one output per draw."),
    (Set, "A set drops equal outputs and their order: return a list."),
    (Iterator, "Return list(...) of it."),
)


def checked(result: object, size: int, name: str) -> Outputs:
    """Turn what a mechanism gave back into outputs of its own, or say why it cannot be.

    >>> checked([1.5, 2], 2, "noisy_sum"), checked(["a", None], 2, "noisy_word")
    (array([1.5, 2. ]), ['a', None])
    """
    result = brought_here(result)
    if isinstance(result, np.ma.MaskedArray):
        result = result.tolist()  # None where masked
    if hasattr(result, "__array__"):
        return _checked_array(np.asarray(result), size, name)
    for kind, hint in _HINTS:
        if isinstance(result, kind):
            raise InvalidOutput(
                f"{name} must return {size} outputs, got {type(result).__name__}. {hint}"
            )
    if isinstance(result, int | float | complex):
        raise WrongLength(_wrong_length((), size, name))
    if not (hasattr(result, "__len__") and hasattr(result, "__iter__")):
        raise InvalidOutput(
            f"{name} must return {size} outputs, got {short(result)} "
            f"({type(result).__name__}). Return an array or a list with one output per draw."
        )
    outputs: list[Any] = list(result)
    if len(outputs) != size:
        raise WrongLength(_wrong_length((len(outputs),), size, name))
    return _received(outputs, name)


def _checked_array(array: npt.NDArray[Any], size: int, name: str) -> Outputs:
    """Check the first axis; what is not plain numbers becomes a list."""
    if array.ndim == 0 or array.shape[0] != size:
        raise WrongLength(_wrong_length(array.shape, size, name))
    if array.dtype.kind in _NUMERIC:
        return array.copy()  # the mechanism may fill this very array again
    names = array.dtype.names
    if names is None:
        return _received(rows(array), name)
    if array.ndim > 1:  # a draw is a table
        return list(array.copy())
    return [dict(zip(names, row, strict=True)) for row in array.tolist()]


def _wrong_length(shape: tuple[int, ...], size: int, name: str) -> str:
    """Word the error for outputs of a wrong shape."""
    if not shape:
        return (
            f"{name} must return {size} outputs, got a single value. Draw noise of shape size, so "
            f"that each output has its own, or wrap the function: dpaudit.one_at_a_time({name}). "
            f"One output repeated {size} times is not {size} outputs."
        )
    hint = f"Return one output per draw: size was {size}."
    if size in shape[1:]:
        hint = "Put the draws on the first axis."
    elif shape[0] == 1:
        hint = f"For one output per call wrap it: dpaudit.one_at_a_time({name})."
    return f"{name} must return {size} outputs, got shape {shape}. {hint}"


def _received(outputs: list[Any], name: str) -> Outputs:
    """Make an array of numbers, or of arrays of one shape; of anything else a list of copies."""
    kinds = frozenset(map(type, outputs))
    if kinds <= {bool, np.bool_}:
        return np.array(outputs, dtype=np.bool_)
    if kinds <= _INTEGERS | _FLOATS:
        numbers = _numbers(outputs, kinds)
        return outputs if numbers is None else numbers
    if kinds <= _COMPLEX:
        return np.array(outputs, dtype=np.complex128)
    if kinds == {np.ndarray}:
        alike = {(output.shape, output.dtype) for output in outputs}
        if len(alike) == 1 and outputs[0].dtype.kind in _NUMERIC:
            return np.stack(outputs)
    if all(map(is_plain, kinds)):
        return outputs
    return [readable_copy(output, name) for output in outputs]


def _numbers(outputs: list[Any], kinds: frozenset[type]) -> npt.NDArray[Any] | None:
    """The array of real numbers; None where one of them would not be the same in it."""
    try:
        if kinds <= _INTEGERS:
            return np.array(list(map(int, outputs)), dtype=np.int64)
        numbers = np.array(outputs, dtype=np.float64)
    except OverflowError:
        return None
    large = np.isfinite(numbers) & (np.abs(numbers) >= LARGEST_EXACT)
    return None if kinds & _INTEGERS and large.any() else numbers


def rows(outputs: Outputs) -> list[Any]:
    """List the outputs one by one; the rows of an array become tuples, which can be counted."""
    if isinstance(outputs, list):
        return outputs
    if outputs.ndim > 1:
        return [tuple(rows(row)) for row in outputs]
    # The tolist of times may give plain integers.
    return list(outputs) if outputs.dtype.kind in "mM" else outputs.tolist()


def common_dtype(arrays: Sequence[npt.NDArray[Any]]) -> np.dtype[Any] | None:
    """The dtype in which arrays can be put together and no output changes; None if there is none.

    >>> common_dtype([np.array([1, 2]), np.array([0.5])])
    dtype('float64')
    >>> common_dtype([np.array([2**60]), np.array([0.5])]) is None
    True
    """
    kinds = {array.dtype.kind for array in arrays}
    if len({array.shape[1:] for array in arrays}) != 1:
        return None
    if not (kinds <= set(_REAL) or kinds == {"c"}):
        return None
    dtype = np.result_type(*(array.dtype for array in arrays))
    rounds = dtype.kind == "f" and len(kinds) > 1
    return None if rounds and any(map(has_large_integers, arrays)) else dtype


def has_large_integers(array: npt.NDArray[Any]) -> bool:
    """Tell whether an array of integers holds one that a float may not."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or array.size == 0:
        return False
    return bool(int(array.max()) > LARGEST_EXACT or int(array.min()) < -LARGEST_EXACT)


def joined(pieces: Sequence[Outputs]) -> Outputs:
    """One sample of several pieces: an array where all are arrays that fit together."""
    arrays = [piece for piece in pieces if isinstance(piece, np.ndarray)]
    if len(arrays) == len(pieces) > 0:
        dtype = common_dtype(arrays)
        if dtype is not None:
            return np.concatenate(arrays, dtype=dtype)
    return [output for piece in pieces for output in rows(piece)]


@dataclass(slots=True)
class ArrayForms:
    """Notices NumPy changing outputs because of others in the same array.

    `np.array([1, 2j])` makes a complex number of 1, and `np.array([1, "x"])` a text: which form an
    output has then depends on the other outputs of its call, and the form would tell the sides
    apart although the mechanism does not. The arrays of one mechanism must be of one form.

    >>> forms = ArrayForms()
    >>> forms.see(np.array([1, 2]), "noisy")
    >>> forms.see(np.array(["1", "none"]), "noisy")
    Traceback (most recent call last):
    dpaudit.errors.InvalidOutput: noisy returned an array of int64 at one call and of <U4 at
    another. NumPy gives all outputs in an array one form, so what an output looks like depends on
    the others. Return a list, or always the same dtype.
    """

    _first: dict[str, np.dtype[Any]] = field(default_factory=dict)

    def see(self, result: object, name: str) -> None:
        """Look at what a call gave back; `InvalidOutput` if it is of another form than before."""
        if not hasattr(result, "__array__"):
            return
        array = np.asarray(result)
        if array.dtype.kind == "O":
            return
        self._first.setdefault(_form(array), array.dtype)
        self._check(name)

    def take_over(self, other: Self, name: str) -> None:
        """Take note of the forms that another process has seen."""
        for form, dtype in other._first.items():
            self._first.setdefault(form, dtype)
        self._check(name)

    def _check(self, name: str) -> None:
        forms = set(self._first)
        if len(forms) > 1 and forms != {"real", "integer"} and forms != {"real", "float"}:
            dtypes = self._first.values()
            first, *_, last = (one.name if one.kind in _NUMERIC else str(one) for one in dtypes)
            raise InvalidOutput(
                f"{name} returned an array of {first} at one call and of {last} at another. NumPy "
                "gives all outputs in an array one form, so what an output looks like depends on "
                "the others. Return a list, or always the same dtype."
            )


def _form(array: npt.NDArray[Any]) -> str:
    """What cannot be mixed: large integers and floats, reals and complex numbers, texts, times."""
    if array.dtype.kind == "f":
        return "float"
    if array.dtype.kind in "iub":
        return "integer" if has_large_integers(array) else "real"
    return array.dtype.kind


def short(value: object) -> str:
    """The repr of a value, cut after 200 characters."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."
