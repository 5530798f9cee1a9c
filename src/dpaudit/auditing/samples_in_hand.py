"""Outputs already in hand: checked, shuffled, and dealt like draws of a mechanism."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from dpaudit.errors import InvalidSamples
from dpaudit.mechanism import Mechanism
from dpaudit.neighbours import NO_DATASETS
from dpaudit.outputs import Outputs, checked, common_dtype

OUTPUTS, NEIGHBOUR_OUTPUTS = NO_DATASETS.data, NO_DATASETS.neighbour


def in_hand(outputs: Any, neighbour_outputs: Any) -> tuple[Outputs, Outputs]:
    """Both samples as arrays where they are numbers, as lists where not.

    What tells the sides apart stays; how a sample happens to be stored does not: a single column
    is a plain array, and whole numbers are like any other.

    >>> first, second = in_hand(np.ones((3, 1), dtype=int), [0.5, 1.0])
    >>> first.shape, first.dtype == second.dtype, in_hand(["yes", None], [0, 1])[0]
    ((3,), True, ['yes', None])
    """
    _refuse_if_converted(outputs, neighbour_outputs)
    first, second = (
        _read(outputs, OUTPUTS),
        _read(neighbour_outputs, NEIGHBOUR_OUTPUTS),
    )
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        if {first.shape[1:], second.shape[1:]} == {(), (1,)}:
            first, second = first.reshape(len(first)), second.reshape(len(second))
        # NumPy makes floats of integers where one output is NaN, and complex numbers of floats: of
        # arrays it is not known what their numbers were before, so both are read as the wider.
        stored = all(hasattr(one, "__array__") for one in (outputs, neighbour_outputs))
        dtype = np.result_type(first, second) if stored else common_dtype([first, second])
        if dtype is not None and first.shape[1:] == second.shape[1:]:
            first, second = first.astype(dtype), second.astype(dtype)
    return first, second


def _refuse_if_converted(outputs: Any, neighbour_outputs: Any) -> None:
    """Refuse a text array beside one of numbers: NumPy makes texts of numbers beside one word."""
    given = (outputs, neighbour_outputs)
    arrays = [np.asarray(one) for one in given if hasattr(one, "__array__")]
    kinds = {"number" if one.dtype.kind in "biufc" else one.dtype.kind for one in arrays} - {"O"}
    if len(kinds) > 1:
        raise InvalidSamples(
            f"{OUTPUTS} is an array of {arrays[0].dtype} and {NEIGHBOUR_OUTPUTS} one of "
            f"{arrays[1].dtype}. NumPy gives all outputs in an array one form, beside a single "
            "word even numbers become texts: pass lists, or arrays with dtype=object."
        )


def _read(outputs: Any, name: str) -> Outputs:
    size = _size(outputs)
    if size is None:
        raise InvalidSamples(
            f"{name} must be an array or a list with one output per draw, "
            f"got {type(outputs).__name__}."
        )
    if size < 2:
        raise InvalidSamples(
            f"{name} must hold at least 2 outputs, got {size}. Draw more: each one counts."
        )
    found = checked(outputs, size, name)
    if isinstance(found, list) and set(map(type, found)) <= {list, tuple}:
        return _stacked(found, name)
    return found


def _size(outputs: Any) -> int | None:
    """How many outputs there are; None if it is nothing that holds them one by one."""
    if isinstance(outputs, str | bytes | Mapping | Set | Iterator | type):
        return None
    try:
        return len(outputs)
    except TypeError:  # no length, or an array without an axis
        return None


def _stacked(vectors: list[Any], name: str) -> Outputs:
    """Vectors of numbers as one array, if they have one length."""
    lengths = set(map(len, vectors))
    if len(lengths) != 1 or lengths == {0}:
        return vectors
    entries = [entry for vector in vectors for entry in vector]
    flat = checked(entries, len(entries), name)
    whole = isinstance(flat, np.ndarray) and flat.ndim == 1 and flat.dtype.kind in "biuf"
    return np.reshape(flat, (len(vectors), -1)) if whole else vectors


class Deck:
    """Both samples, each shuffled once and dealt from the top: no output is seen twice.

    >>> deck = Deck([1.0, 2.0, 3.0], [4.0, 5.0], np.random.default_rng(0))
    >>> len(deck.deal("outputs", 2)), deck.left("outputs"), deck.left("neighbour_outputs")
    (2, 1, 2)
    """

    def __init__(self, outputs: Outputs, neighbour_outputs: Outputs, rng: np.random.Generator):
        self._cards = {
            side: taken(cards, rng.permutation(len(cards)))
            for side, cards in (
                (OUTPUTS, outputs),
                (NEIGHBOUR_OUTPUTS, neighbour_outputs),
            )
        }
        self._dealt = dict.fromkeys(self._cards, 0)

    def left(self, side: str) -> int:
        """How many outputs of a side have not been dealt."""
        return len(self._cards[side]) - self._dealt[side]

    @property
    def fewest(self) -> int:
        """How many are left of the side that has fewer."""
        return min(self.left(side) for side in self._cards)

    def deal(self, side: str, size: int) -> Outputs:
        """The next outputs of a side."""
        if size > self.left(side):
            raise ValueError(f"{size} {side} are wanted, but only {self.left(side)} are left.")
        start = self._dealt[side]
        self._dealt[side] += size
        return self._cards[side][start : start + size]

    def mechanism(self, name: str) -> Mechanism:
        """Something to draw from; the datasets are those of `NO_DATASETS`."""
        return Mechanism(name=name, function=lambda side, size, rng: self.deal(side, size))


def taken(outputs: Outputs, index: Any) -> Outputs:
    """The outputs at some positions.

    >>> taken(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    return outputs[index] if isinstance(outputs, np.ndarray) else [outputs[i] for i in index]
