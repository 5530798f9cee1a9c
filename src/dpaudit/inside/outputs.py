"""The output of one run, taken apart into numbers: which of them are noisy, and which are plain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.inside.noisy import Noisy
from dpaudit.inside.recording import Recorder

_NEAR = 1e-9  # of the size of all terms: how far two ways to add them up may lie apart
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


@dataclass(frozen=True, slots=True)
class Laid:
    """An output as its form (types, shapes, keys) and its leaves, in a fixed order.

    >>> laid = Laid.of({"sum": 1.5, "counts": np.array([1, 2])}, Recorder(noise=None))
    >>> laid.leaves
    (1.5, 1, 2)
    """

    form: str
    leaves: tuple[Any, ...]

    @classmethod
    def of(cls, output: Any, recorder: Recorder) -> Laid:
        """Take an output apart; the recorder refuses what cannot be."""
        leaves: list[Any] = []
        return cls(_form(output, leaves, recorder), tuple(leaves))

    def same(self, other: Laid) -> bool:
        """Whether two outputs are the same bit for bit, noise included."""
        if self.form != other.form or len(self.leaves) != len(other.leaves):
            return False
        return all(map(_same, self.leaves, other.leaves))

    def gives(self, plain: Laid, values: Sequence[float]) -> bool:
        """Whether this output is the plain one where noise has these values."""
        if self.form != plain.form or len(self.leaves) != len(plain.leaves):
            return False
        return all(
            _gives(ours, theirs, values)
            for ours, theirs in zip(self.leaves, plain.leaves, strict=True)
        )


def is_noisy(leaf: Any) -> bool:
    """Whether a leaf holds noise."""
    return isinstance(leaf, Noisy) and bool(leaf.terms)


def plain_of(leaf: Any) -> Any:
    """The plain value of a leaf without noise."""
    return leaf.base if isinstance(leaf, Noisy) else leaf


def same_value(one: Any, other: Any) -> bool:
    """Whether two plain values are equal; NaN is itself."""
    if type(one) is float and type(other) is float:
        return one == other or (math.isnan(one) and math.isnan(other))
    if type(one) in (list, tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(same_value, one, other))
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape or first.dtype.kind != second.dtype.kind:
        return bool(first.shape == second.shape == () and one == other)
    return bool(np.array_equal(first, second, equal_nan=first.dtype.kind in "fc"))


def _form(value: Any, leaves: list[Any], recorder: Recorder) -> str:
    if isinstance(value, (Noisy, *_PLAIN)):
        leaves.append(value)
        return "."
    if isinstance(value, np.ndarray):
        parts = [_form(each, leaves, recorder) for each in value.ravel().tolist()]
        nested = "" if all(part == "." for part in parts) else ",".join(parts)
        return f"array{value.shape}{nested}"
    if type(value) in (list, tuple):
        parts = [_form(each, leaves, recorder) for each in value]
        return f"{type(value).__name__}({','.join(parts)})"
    if type(value) is dict:
        parts = [f"{key!r}:{_form(each, leaves, recorder)}" for key, each in value.items()]
        return "{" + ",".join(parts) + "}"
    recorder.refuse(f"gives an output of type {type(value).__name__}, which is not looked into.")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Noisy) and isinstance(other, Noisy):
        return same_value(one.base, other.base) and one.terms == other.terms
    if isinstance(one, Noisy) or isinstance(other, Noisy):
        return False
    return type(one) is type(other) and same_value(one, other)


def _gives(leaf: Any, plain: Any, values: Sequence[float]) -> bool:
    if not isinstance(leaf, Noisy):
        return same_value(leaf, plain)
    parts = [leaf.base, *(factor * values[atom] for atom, factor in leaf.terms)]
    total, size = sum(parts), sum(map(abs, parts))
    if not isinstance(plain, (int, float, np.number)):
        return False
    return same_value(float(total), float(plain)) or abs(total - plain) <= _NEAR * size + 1e-300
