"""A number with noise whose value is not known yet: `base + sum of coefficient * noise`.

Sums and multiples of it are followed, alone or as entries of an array of objects, on which NumPy
calls the same operators. Everything else is refused: comparisons, functions that are not affine,
products of two noisy numbers, conversions to a float or a text. An answer that looked at the noise
would have to be part of the loss.
"""

from __future__ import annotations

import numbers
from typing import Any, NoReturn

import numpy as np

from dpaudit.inside.recording import refuse

_WAY_OUT = (
    "An audit inside follows sums and multiples of noise only. Release the number first: "
    "dpaudit.inside.release(value, kernel, rng)."
)


class Noisy:
    """A number with noise; `terms` are pairs of the number of a noise and its coefficient.

    >>> (2.0 * Noisy(1.0, ((0, 1.0),)) + 3.0)
    Noisy(5.0, ((0, 2.0),))
    """

    __slots__ = ("base", "terms")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: float, terms: tuple[tuple[int, float], ...]) -> None:
        self.base = base
        self.terms = terms

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Noisy):
            merged = dict(self.terms)
            for atom, factor in other.terms:
                merged[atom] = merged.get(atom, 0.0) + factor
            return Noisy(self.base + other.base, _without_zeros(merged))
        number = _plain(other)
        return NotImplemented if number is None else Noisy(self.base + number, self.terms)

    __radd__ = __add__

    def __neg__(self) -> Noisy:
        return Noisy(-self.base, tuple((atom, -factor) for atom, factor in self.terms))

    def __pos__(self) -> Noisy:
        return self

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Noisy):
            return self + -other
        number = _plain(other)
        return NotImplemented if number is None else Noisy(self.base - number, self.terms)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Noisy):
            _refused("multiplies two noisy numbers")
        number = _plain(other)
        if number is None:
            return NotImplemented
        scaled = {atom: factor * number for atom, factor in self.terms}
        return Noisy(self.base * number, _without_zeros(scaled))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Noisy):
            _refused("divides by a noisy number")
        number = _plain(other)
        if number is None:
            return NotImplemented
        if number == 0.0:
            _refused("divides a noisy number by zero")
        divided = {atom: factor / number for atom, factor in self.terms}
        return Noisy(self.base / number, _without_zeros(divided))

    def __repr__(self) -> str:
        from dpaudit.inside.recording import current

        if current() is not None:
            _refused("turns a noisy number into text")
        return f"Noisy({self.base!r}, {self.terms!r})"

    def __format__(self, spec: str) -> str:
        _refused("turns a noisy number into text")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # NumPy and copy look for protocols
        _refused(f"asks a noisy number for {name!r}")


def _refused(what: str) -> NoReturn:
    refuse(f"{what}. {_WAY_OUT}")


def _plain(value: Any) -> float | None:
    """A plain real number, or None for anything else, on which Python then raises."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, numbers.Real):
        return float(value)
    return None


def _without_zeros(terms: dict[int, float]) -> tuple[tuple[int, float], ...]:
    return tuple((atom, factor) for atom, factor in terms.items() if factor != 0.0)


def _refusing(what: str) -> Any:
    def refused(*_: Any, **__: Any) -> NoReturn:
        _refused(what)

    return refused


for _names, _what in (
    ("lt le gt ge eq ne", "compares a noisy number"),
    ("bool", "asks whether a noisy number is zero"),
    ("float int complex index round trunc floor ceil", "converts or rounds a noisy number"),
    ("abs pow rpow mod rmod floordiv rfloordiv divmod rdivmod", "takes a function of noise"),
    ("rtruediv", "divides by a noisy number"),
    ("reduce_ex", "saves a noisy number"),
):
    for _name in _names.split():
        setattr(Noisy, f"__{_name}__", _refusing(_what))
Noisy.__copy__ = Noisy.__pos__  # type: ignore[attr-defined]
Noisy.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]
