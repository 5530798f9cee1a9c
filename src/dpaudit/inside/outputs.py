"""The output of one run, taken apart: which of its numbers are noisy, and which are plain."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.inside.noise.noisy import Noisy, as_noisy
from dpaudit.inside.recording import Recorder, value_with

_NEAR = 1e-9  # of the size of all terms: how far two ways to add them up may lie apart
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


@dataclass(frozen=True, slots=True)
class Laid:
    """An output as its form (types, shapes, keys) and its leaves, in a fixed order.

    A leaf is one plain value, or an array of numbers, with noise or without.

    >>> laid = Laid.of({"sum": 1.5, "counts": np.array([1, 2])}, Recorder(noise=None))
    >>> laid.leaves
    (1.5, array([1, 2]))
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

    def gives(self, plain: Laid, drawn: Floats) -> bool:
        """Whether this output is the plain one where noise has these values."""
        if self.form != plain.form or len(self.leaves) != len(plain.leaves):
            return False
        each = zip(self.leaves, plain.leaves, strict=True)
        return all(_gives(ours, theirs, drawn) for ours, theirs in each)


def is_noisy(leaf: Any) -> bool:
    """Whether a leaf holds noise."""
    return isinstance(leaf, Noisy) and bool(leaf.noisy.any())


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


def same_kernel(one: Any, other: Any) -> bool:
    """Whether two kernels are equal; settings may be arrays, which have no single answer to that.

    >>> from dpaudit.inside.kernels import Gaussian, Laplace
    >>> same_kernel(Laplace(1.0), Laplace(1.0)), same_kernel(Laplace(1.0), Gaussian(1.0))
    (True, False)
    """
    if is_dataclass(one) and type(one) is type(other):
        names = [field.name for field in fields(one)]
        return all(same_kernel(getattr(one, name), getattr(other, name)) for name in names)
    if type(one) in (list, tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(same_kernel, one, other))
    return same_value(one, other)


def _form(value: Any, leaves: list[Any], recorder: Recorder) -> str:
    if isinstance(value, _PLAIN) or (isinstance(value, Noisy) and value.ndim == 0):
        leaves.append(value)
        return "."
    if isinstance(value, Noisy) or (isinstance(value, np.ndarray) and _is_numeric(value)):
        leaves.append(as_noisy(value) if value.dtype == object else value)
        return f"array{value.shape}"
    if isinstance(value, np.ndarray):
        parts = [_form(each, leaves, recorder) for each in value.ravel().tolist()]
        return f"array{value.shape}{','.join(parts)}"
    if type(value) in (list, tuple):
        parts = [_form(each, leaves, recorder) for each in value]
        return f"{type(value).__name__}({','.join(parts)})"
    if type(value) is dict:
        parts = [f"{key!r}:{_form(each, leaves, recorder)}" for key, each in value.items()]
        return "{" + ",".join(parts) + "}"
    recorder.refuse(f"gives an output of type {type(value).__name__}, which is not looked into.")


def _is_numeric(array: Any) -> bool:
    if array.dtype != object:
        return array.dtype.kind in "biufSU"
    numbers = (bool, int, float, np.number, np.bool_)
    return all(
        isinstance(each, numbers) or (isinstance(each, Noisy) and each.ndim == 0)
        for each in array.flat
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Noisy) and isinstance(other, Noisy):
        return same_noisy(one, other)
    if isinstance(one, Noisy) or isinstance(other, Noisy):
        return False
    return type(one) is type(other) and same_value(one, other)


def same_noisy(one: Noisy, other: Noisy) -> bool:
    """Whether two arrays have the same plain part and the same noise."""
    return (
        same_value(one.base, other.base)
        and np.array_equal(one.atoms, other.atoms)
        and np.array_equal(one.factors, other.factors)
    )


def _gives(leaf: Any, plain: Any, drawn: Floats) -> bool:
    if not isinstance(leaf, Noisy):
        return same_value(leaf, plain)
    found = np.asarray(plain)
    if found.dtype.kind not in "biuf" or found.shape != leaf.shape:
        return False
    total = value_with(leaf, drawn)
    largest = Noisy(np.abs(leaf.base), leaf.atoms, np.abs(leaf.factors), leaf.off)
    sizes = np.nan_to_num(value_with(largest, np.abs(drawn)), nan=0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(total - found) <= _NEAR * sizes + 16.0 * leaf.off + 1e-300
    same = (total == found) | (np.isnan(total) & np.isnan(found.astype(np.float64)))
    return bool((same | near).all())
