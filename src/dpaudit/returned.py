"""What a mechanism gave back: one output per draw, or an error that says what to do.

Numbers become an array with the draws on the first axis; anything else becomes a list. Where a draw
raised and errors are outputs (`raising.py`), a `Raised` stands in its place.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Outputs: TypeAlias = npt.NDArray[Any] | list[Any]


class InvalidOutput(ValueError):
    """A mechanism gave back something that is not one output per draw."""


class WrongLength(InvalidOutput):
    """A mechanism gave back another number of outputs than it was asked for."""


@dataclass(frozen=True, slots=True, repr=False)
class Raised:
    """A draw that raised: the name of the error's class, and its message.

    >>> Raised.of(KeyError("age")), Raised.of(KeyError("age")).message
    (raises KeyError, "'age'")
    """

    kind: str
    message: str

    @classmethod
    def of(cls, error: BaseException) -> "Raised":
        """What an error says, without the frames and objects that hang on it."""
        try:
            message = str(error)
        except Exception:  # even an error that cannot be shown is an output
            message = ""
        return cls(type(error).__qualname__, message)

    def __repr__(self) -> str:
        return f"raises {self.kind}"


def checked(result: object, size: int, name: str) -> Outputs:
    """Turn what a mechanism gave back into outputs, one per draw, or say why it cannot be.

    >>> checked([1.5, 2], 2, "noisy_sum"), checked(["a", None], 2, "noisy_word")
    (array([1.5, 2. ]), ['a', None])
    """
    if isinstance(result, np.ma.MaskedArray):
        result = result.tolist()  # None where masked
    if hasattr(result, "__array__"):
        return _checked_array(np.asarray(result), size, name)
    reasons: tuple[tuple[Any, str], ...] = (
        (type(None), "Is a return missing?"),
        ((str, bytes), "Return a list with one output per draw."),
        (Mapping, "Return a list with one output per draw."),
        (Set, "A set drops equal outputs and their order: return a list."),
        (Iterator, "Return list(...) of it."),
    )
    for kind, hint in reasons:
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
    return _compact(outputs)


def _checked_array(array: npt.NDArray[Any], size: int, name: str) -> Outputs:
    """Check the first axis; what is not plain numbers becomes a list."""
    if array.ndim == 0 or array.shape[0] != size:
        raise WrongLength(_wrong_length(array.shape, size, name))
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "c":
        return _two_columns(array)
    if array.dtype.names is not None:
        return _records(array)
    return _compact(rows(array))


def _records(array: npt.NDArray[Any]) -> list[Any]:
    """One dict per draw, or one structured array where a draw is a table."""
    if array.ndim > 1:
        return list(array)
    assert array.dtype.names is not None
    return [dict(zip(array.dtype.names, row, strict=True)) for row in array.tolist()]


def _two_columns(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Split complex numbers: two real columns tell no less."""
    return np.stack((array.real, array.imag), axis=-1)


def _wrong_length(shape: tuple[int, ...], size: int, name: str) -> str:
    """Word the error for outputs of a wrong shape."""
    if not shape:
        return (
            f"{name} must return {size} outputs, got a single value. Return size independent "
            f"outputs, or wrap the function: dpaudit.one_at_a_time({name})."
        )
    hint = f"Return one output per draw: size was {size}."
    if size in shape[1:]:
        hint = "Put the draws on the first axis."
    elif shape[0] == 1:
        hint = f"For one output per call wrap it: dpaudit.one_at_a_time({name})."
    return f"{name} must return {size} outputs, got shape {shape}. {hint}"


def _compact(outputs: list[Any]) -> Outputs:
    """Turn a list of numbers, or of vectors of one shape, into an array; keep any other list."""
    kinds = set(map(type, outputs))
    if kinds <= {bool, np.bool_}:
        return np.array(outputs, dtype=np.bool_)
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            return np.array(outputs, dtype=np.int64)
        except OverflowError:
            return outputs
    if all(
        issubclass(kind, int | float | np.integer | np.floating) and kind is not bool
        for kind in kinds
    ):
        return np.array(outputs, dtype=np.float64)
    if all(issubclass(kind, complex | np.complexfloating) for kind in kinds):
        return _two_columns(np.array(outputs, dtype=np.complex128))
    if kinds == {np.ndarray} and len({output.shape for output in outputs}) == 1:
        stacked = np.stack(outputs)
        return stacked if stacked.dtype.kind in "biuf" else outputs
    return outputs


def rows(outputs: Outputs) -> list[Any]:
    """List the outputs one by one; the rows of an array become tuples, which can be counted."""
    if isinstance(outputs, list):
        return outputs
    rows: list[Any] = outputs.tolist()
    return rows if outputs.ndim == 1 else [_nested(row, outputs.ndim - 1) for row in rows]


def joined(pieces: list[Outputs]) -> Outputs:
    """One sample of several pieces: an array where all are arrays of one shape."""
    arrays = [piece for piece in pieces if isinstance(piece, np.ndarray)]
    if len(arrays) == len(pieces) > 0 and len({array.shape[1:] for array in arrays}) == 1:
        return np.concatenate(arrays)
    return [output for piece in pieces for output in rows(piece)]


def _nested(row: list[Any], depth: int) -> tuple[Any, ...]:
    return tuple(row) if depth == 1 else tuple(_nested(inner, depth - 1) for inner in row)


def short(value: object) -> str:
    """The repr of a value, cut after 200 characters."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."
