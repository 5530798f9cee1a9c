"""Numbers with noise whose value is not known yet: `base + sum of factor * noise`, in arrays.

Sums and multiples are followed, and so are all functions that only move entries about. A
comparison, `argmax` or `max` is an event: its outcome is drawn, or forced in a replay, and its
probability belongs to the loss. Everything else is refused: an answer that looked at the noise in
another way would have to be part of the loss. With `reveal`, it is: the numbers that went in are
counted as released, and are plain from there on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.inside.kernels import MACHINE, ROUNDINGS
from dpaudit.inside.recording import current, refuse

_CANCELLED = 1e-12  # of the size of two factors: what is left of them is rounding
LARGEST_TABLE = 20_000_000  # terms of one array: beyond it, a product is refused
_WAY_OUT = (
    "An audit inside follows sums, multiples, comparisons, argmax and max of noise. Release the "
    "number first, by dpaudit.release(value, kernel, rng), or pass reveal=True."
)
Ints = npt.NDArray[np.int64]


class Noisy(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of numbers with noise; along their last axis, `atoms` and `factors` are the terms.

    A factor of 0 means no noise. A single number is an array without axes. `off` bounds how far
    `base` may be off by the rounding of floats, in all that it was made of.

    >>> one = Noisy(np.array(1.0), np.array([0]), np.array([1.0]), np.array(0.0))
    >>> 2.0 * one + 3.0
    Noisy(base=array(5.), atoms=array([0]), factors=array([2.]))
    """

    __slots__ = ("atoms", "base", "factors", "off")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000.0
    dtype = np.dtype(np.float64)

    def __init__(self, base: Floats, atoms: Ints, factors: Floats, off: Floats) -> None:
        self.base = base
        self.atoms = atoms
        self.factors = factors
        self.off = off

    @property
    def shape(self) -> tuple[int, ...]:
        return self.base.shape

    @property
    def ndim(self) -> int:
        return self.base.ndim

    @property
    def size(self) -> int:
        return self.base.size

    @property
    def T(self) -> Noisy:  # noqa: N802 -- the name NumPy has for it
        return self.picked(self._places().T)

    @property
    def noisy(self) -> npt.NDArray[np.bool_]:
        """Which entries have noise."""
        return np.asarray((self.factors != 0.0).any(axis=-1))

    def picked(self, places: Any) -> Noisy:
        """The entries at these places of the flat array."""
        count = self.atoms.shape[-1]
        rows = self.size, count
        atoms, factors = self.atoms.reshape(rows), self.factors.reshape(rows)
        base, off = self.base.reshape(-1)[places], self.off.reshape(-1)[places]
        return Noisy(base, atoms[places], factors[places], off)

    def _places(self) -> Ints:
        return np.arange(self.size, dtype=np.int64).reshape(self.shape)

    def __len__(self) -> int:
        return len(self.base)  # raises TypeError for a single number, as NumPy does

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, key: Any) -> Noisy:
        if _any_noisy(key):
            refused("picks a place by noise")
        return self.picked(self._places()[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        if _any_noisy(key):
            refused("picks a place by noise")
        new = as_noisy(value)
        both, places = table([self, new]), self._places() + 1
        places[key] = (new._places() + 1 + self.size) if new.ndim else 1 + self.size
        made = both.picked(places)
        self.become(made)

    def become(self, other: Noisy) -> None:
        """Hold what another array holds, as an array does that is written into."""
        self.base, self.off = other.base, other.off
        self.atoms, self.factors = other.atoms, other.factors

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        from dpaudit.inside.noise.array_functions import called_ufunc

        return called_ufunc(ufunc, method, inputs, settings)

    def __array_function__(self, function: Any, types: Any, args: Any, settings: Any) -> Any:
        from dpaudit.inside.noise.array_functions import called_function

        return called_function(function, args, settings)

    def __getattr__(self, name: str) -> Any:
        """The methods that arrays have, by the functions of NumPy."""
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a noisy number has no attribute {name!r}")
        from dpaudit.inside.noise.array_functions import method_of

        return method_of(self, name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        if dtype is not None and np.dtype(dtype) != object:
            return np.asarray(revealed(self, "makes plain numbers of noise"), dtype=dtype)
        made = np.empty(self.size, dtype=object)
        for place in range(self.size):
            made[place] = self.picked(np.asarray([place]))[0]
        return made.reshape(self.shape)

    def __bool__(self) -> bool:
        return bool(revealed(self, "asks whether a noisy number is zero"))

    def __float__(self) -> float:
        return float(revealed(self, "makes a plain number of noise"))

    def __int__(self) -> int:
        return int(revealed(self, "rounds a noisy number"))

    def __complex__(self) -> complex:
        return complex(revealed(self, "makes a plain number of noise"))

    def __index__(self) -> int:
        refused("takes noise for a place")

    def __round__(self, digits: int | None = None) -> Any:
        plain = float(revealed(self, "rounds a noisy number"))
        return round(plain) if digits is None else round(plain, digits)

    def __trunc__(self) -> int:
        return self.__int__()

    def __copy__(self) -> Noisy:
        return Noisy(self.base.copy(), self.atoms, self.factors, self.off)

    def __deepcopy__(self, memo: Any) -> Noisy:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refused("saves a noisy number")

    def __format__(self, form: str) -> str:
        return format(self.__float__(), form)

    def __repr__(self) -> str:
        if current() is not None:
            return repr(revealed(self, "turns a noisy number into text"))
        return f"Noisy(base={self.base!r}, atoms={self.atoms!r}, factors={self.factors!r})"

    __str__ = __repr__


def as_noisy(value: Any) -> Noisy:
    """A number, an array, or a nested list of numbers and noisy ones, as one array.

    >>> as_noisy([1, 2]).noisy
    array([False, False])
    """
    if isinstance(value, Noisy):
        return value
    plain = np.asarray(value)
    if plain.dtype == object:
        entries = [each if isinstance(each, Noisy) else as_noisy(each) for each in plain.flat]
        if any(entry.ndim for entry in entries):
            refused("puts arrays of noise into an array of objects")
        places = np.arange(1, plain.size + 1, dtype=np.int64).reshape(plain.shape)
        return table(entries).picked(places)
    if plain.dtype.kind not in "biuf":
        refused(f"puts {plain.dtype} beside noise")
    base = plain.astype(np.float64)
    none = np.zeros((*base.shape, 0), np.int64)
    return Noisy(base, none, none.astype(np.float64), ROUNDINGS * _rounding(base))


def _rounding(base: Floats) -> Floats:
    """How far floats of this size may be off after one rounding."""
    return np.asarray(MACHINE * np.nan_to_num(np.abs(base), nan=0.0, posinf=0.0))


def table(arrays: Sequence[Noisy]) -> Noisy:
    """All entries of these arrays in one row; entry 0 is a plain 0, the first one is entry 1."""
    width = max((each.atoms.shape[-1] for each in arrays), default=0)
    rows = 1 + sum(each.size for each in arrays)
    none = np.zeros((rows, width), np.int64)
    made = Noisy(np.zeros(rows), none, none.astype(np.float64), np.zeros(rows))
    first = 1
    for each in arrays:
        last, count = first + each.size, each.atoms.shape[-1]
        made.base[first:last] = each.base.reshape(-1)
        made.off[first:last] = each.off.reshape(-1)
        made.atoms[first:last, :count] = each.atoms.reshape(each.size, count)
        made.factors[first:last, :count] = each.factors.reshape(each.size, count)
        first = last
    return made


def added(one: Noisy, other: Noisy, sign: float = 1.0) -> Noisy:
    """The sum of two arrays, or their difference."""
    base = np.asarray(one.base + sign * other.base)
    off = np.asarray(one.off + other.off + _rounding(base))
    atoms = [
        np.broadcast_to(each.atoms, (*base.shape, each.atoms.shape[-1])) for each in (one, other)
    ]
    factors = [
        np.broadcast_to(each.factors, (*base.shape, each.factors.shape[-1]))
        for each in (one, other)
    ]
    if other.atoms.shape[-1] == 0:
        return Noisy(base, atoms[0], factors[0], off)
    if one.atoms.shape[-1] == 0:
        return Noisy(base, atoms[1], sign * factors[1], off)
    together = np.concatenate([factors[0], sign * factors[1]], axis=-1)
    return merged(base, np.concatenate(atoms, axis=-1), together, off)


def scaled(one: Noisy, by: Any) -> Noisy:
    """The array times plain numbers."""
    numbers = np.asarray(by, dtype=np.float64)
    if not np.isfinite(numbers).all() and one.noisy.any():
        refused("multiplies noise by a number that is not finite")
    base = np.asarray(one.base * numbers)
    shape = (*base.shape, one.atoms.shape[-1])
    factors = np.broadcast_to(one.factors, shape) * numbers[..., None]
    off = _finite(one.off * np.abs(numbers)) + _rounding(base)
    return Noisy(base, np.broadcast_to(one.atoms, shape), factors, off)


def divided(one: Noisy, by: Any) -> Noisy:
    """The array divided by plain numbers."""
    numbers = np.asarray(by, dtype=np.float64)
    if (numbers == 0.0).any() or not np.isfinite(numbers).all():
        refused("divides a noisy number by zero, or by a number that is not finite")
    base = np.asarray(one.base / numbers)
    shape = (*base.shape, one.atoms.shape[-1])
    factors = np.broadcast_to(one.factors, shape) / numbers[..., None]
    off = _finite(one.off / np.abs(numbers)) + _rounding(base)
    return Noisy(base, np.broadcast_to(one.atoms, shape), factors, off)


def _finite(off: Floats) -> Floats:
    return np.asarray(np.nan_to_num(off, nan=0.0, posinf=0.0))


def merged(base: Floats, atoms: Ints, factors: Floats, off: Floats) -> Noisy:
    """The array with every noise once in each entry, and without columns that hold none.

    Factors that cancel but for rounding leave no noise.
    """
    width = atoms.shape[-1]
    if atoms.size > LARGEST_TABLE:
        refused("adds up so many noisy numbers at once that it cannot be followed")
    if width > 1:
        order = np.argsort(atoms, axis=-1, kind="stable")
        atoms = np.take_along_axis(atoms, order, axis=-1)
        factors = np.take_along_axis(factors, order, axis=-1)
        same = atoms[..., 1:] == atoms[..., :-1]
        if same.any():
            factors = factors.copy()
            for column in np.flatnonzero(same.reshape(base.size, width - 1).any(axis=0)):
                here, one = same[..., column], factors[..., column]
                other = factors[..., column + 1]
                total = one + other
                gone = np.abs(total) <= _CANCELLED * (np.abs(one) + np.abs(other))
                factors[..., column + 1] = np.where(here, np.where(gone, 0.0, total), other)
                factors[..., column] = np.where(here, 0.0, one)
    if width:
        used = (factors != 0.0).reshape(base.size, width).any(axis=0)
        if not used.all():
            atoms, factors = atoms[..., used], factors[..., used]
    return Noisy(base, atoms, factors, off)


def revealed(value: Noisy, what: str) -> Any:
    """The plain numbers, counted as released; refused if the audit was not asked to."""
    if not value.noisy.any():
        return value.base.item() if value.ndim == 0 else value.base
    recorder = current()
    if recorder is None or not recorder.reveal:
        refused(what)
    plain = recorder.revealed(value)
    return plain.item() if value.ndim == 0 else plain


def _any_noisy(key: Any) -> bool:
    return isinstance(key, Noisy) or (isinstance(key, tuple) and any(map(_any_noisy, key)))


def refused(what: str) -> NoReturn:
    """Note a use of noise that is not followed, and what to do instead."""
    refuse(f"{what}. {_WAY_OUT}")
