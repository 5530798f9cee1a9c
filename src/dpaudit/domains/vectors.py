"""Records that are arrays of numbers: `vectors`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.arrays import Floats
from dpaudit.domains.domain import (
    ODD_SHARE,
    Refinable,
    distinct,
    first_why_not,
    odd_edges,
    one_of,
    whole,
)
from dpaudit.domains.ranges import FloatRange, as_array, between, bounds, short
from dpaudit.domains.records import Parts, Product
from dpaudit.errors import InvalidDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors(Product):
    """Arrays of a fixed length, every entry between two bounds.

    Where odd values are allowed, any entry may be odd; what is drawn has one odd entry or all.
    """

    length: int
    plain: FloatRange
    entry: Refinable  # `plain`, with odd values where they are allowed

    def edges(self) -> tuple[Floats, ...]:
        if odd := self.odd_values():
            return odd_edges(self.without_odd_values().edges(), odd)
        low, high, plain = self.plain.low, self.plain.high, self._plainest()
        rows = [np.full(self.length, level) for level in (high, low, plain)]
        for place, level in ((0, high), (0, low), (-1, high)):
            one_hot = np.full(self.length, plain)
            one_hot[place] = level
            rows.append(one_hot)
        rows.append(np.where(np.arange(self.length) % 2 == 0, high, low))
        return tuple({row.tobytes(): row for row in rows}.values())

    def draw(self, rng: np.random.Generator) -> Any:
        if not (odd := self.entry.odd_values()):
            return Refinable.draw(self, rng)
        row = self.without_odd_values().draw(rng)
        if rng.random() < ODD_SHARE:
            number = one_of(odd, rng)
            row[one_of((slice(None), int(rng.integers(self.length))), rng)] = number
        return row

    def draw_anywhere(self, rng: np.random.Generator) -> Floats:
        share, low, high = rng.random(self.length), self.plain.low, self.plain.high
        return np.clip((1.0 - share) * low + share * high, low, high)

    def dataset(self, records: Sequence[Any]) -> Floats:
        return np.array(list(records), dtype=np.float64).reshape(len(records), self.length)

    def unpack(self, data: Any) -> list[Floats]:
        table = as_array(data, self, kinds="fiu", ndim=2)
        if len(table) and table.shape[1] != self.length:
            raise InvalidDomain(f"a dataset of {self} has {self.length} columns, got {data!r}.")
        return [row.astype(np.float64) for row in table]

    def contains(self, record: Any) -> bool:
        row = _as_row(record)
        if row is None or row.shape != (self.length,):
            return False
        plain = np.all((self.plain.low <= row) & (row <= self.plain.high))
        return bool(plain) or all(map(self.entry.contains, self.values(row)))

    def why_not_part(self, record: Any) -> str | None:
        row = _as_row(record)
        if row is None:
            return None
        if row.shape != (self.length,):
            return f"a vector of shape {row.shape}, where {self} has {self.length} entries"
        return first_why_not(
            (f"entry {place}", self.entry, number) for place, number in enumerate(self.values(row))
        )

    def with_odd_values(self) -> Vectors:
        return dataclasses.replace(self, entry=self.plain.with_odd_values())

    def without_odd_values(self) -> Vectors:
        return dataclasses.replace(self, entry=self.plain)

    def odd_values(self) -> tuple[Floats, ...]:
        """Vectors with only the first entry odd and with all odd, in turn, as edges are few."""
        odd, rest = self.entry.odd_values(), [self._plainest()] * (self.length - 1)
        one = [self.joined([number, *rest]) for number in odd]
        every = [self.joined([number] * self.length) for number in odd]
        turns = [(one, every)[place % 2][place] for place in range(len(odd))]
        return distinct([*turns, *one, *every])

    def parts(self) -> Parts:
        return Parts([self.entry] * self.length)

    def labels(self, name: str) -> list[str]:
        return [f"{name}[{place}]" for place in range(self.length)]

    def values(self, record: Any) -> list[float]:
        return [float(number) for number in np.asarray(record, dtype=np.float64).tolist()]

    def joined(self, values: Iterable[float]) -> Floats:
        return np.array(list(values), dtype=np.float64)

    def __str__(self) -> str:
        odd = " and odd values" if self.entry.odd_values() else ""
        return f"vectors({self.length}, {short(self.plain.low)}, {short(self.plain.high)}){odd}"

    def _plainest(self) -> float:
        low, high = self.plain.low, self.plain.high
        return 0.0 if low <= 0.0 <= high else between(low, high, 0.5)


def vectors(length: int, low: float, high: float) -> Vectors:
    """Records that are arrays of a fixed length with every entry in [low, high].

    >>> vectors(2, 0, 1).dataset([]).shape
    (0, 2)
    """
    length = whole("vectors", "length", length)
    if length < 1:
        raise InvalidDomain(f"vectors needs a length of at least 1, got {length}.")
    low, high = bounds("vectors", low, high)
    plain = FloatRange(low=low, high=high)
    return Vectors(length=length, plain=plain, entry=plain)


def _as_row(record: Any) -> NDArray[Any] | None:
    """The record as an array of numbers; None if it is none."""
    try:
        row = np.asarray(record)
    except ValueError:  # lists within lists, of different lengths
        return None
    return row if row.dtype.kind in "fiu" else None
