"""Records that are arrays of numbers: `vectors`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import (
    EDGE_SHARE,
    ODD_SHARE,
    as_array,
    between,
    bounds,
    distinct,
    odd_edges,
    one_of,
    plainer,
    short,
    whole,
)
from dpaudit.domains.numbers import Floats
from dpaudit.domains.products import (
    change_parts,
    choose_parts,
    join_coordinates,
    simplify_parts,
    spread_parts,
)
from dpaudit.domains.refinable import Refinable
from dpaudit.errors import InvalidDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors(Refinable):
    """Arrays of a fixed length, every entry between two bounds."""

    length: int
    low: float
    high: float

    def edges(self) -> tuple[NDArray[np.float64], ...]:
        plain = 0.0 if self.low <= 0.0 <= self.high else between(self.low, self.high, 0.5)
        rows = [np.full(self.length, level) for level in (self.high, self.low, plain)]
        for place, level in ((0, self.high), (0, self.low), (-1, self.high)):
            one_hot = np.full(self.length, plain)
            one_hot[place] = level
            rows.append(one_hot)
        rows.append(np.where(np.arange(self.length) % 2 == 0, self.high, self.low))
        return tuple({row.tobytes(): row for row in rows}.values())

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        if rng.random() < EDGE_SHARE:
            row: NDArray[np.float64] = one_of(self.edges(), rng)
            return row
        share = rng.random(self.length)
        return np.clip((1.0 - share) * self.low + share * self.high, self.low, self.high)

    def dataset(self, records: Sequence[Any]) -> NDArray[np.float64]:
        return np.array(list(records), dtype=np.float64).reshape(len(records), self.length)

    def unpack(self, data: Any) -> list[NDArray[np.float64]]:
        table = as_array(data, self, kinds="fiu", ndim=2)
        if len(table) and table.shape[1] != self.length:
            raise InvalidDomain(f"a dataset of {self} has {self.length} columns, got {data!r}.")
        return [row.astype(np.float64) for row in table]

    def contains(self, record: Any) -> bool:
        row = as_row(record)
        if row is None or row.shape != (self.length,):
            return False
        return bool(np.all((self.low <= row) & (row <= self.high)))

    def choose(self, chooser: Chooser, name: str) -> NDArray[np.float64]:
        labels = [f"{name}[{place}]" for place in range(self.length)]
        return as_vector(choose_parts(self._entries(), chooser, name, labels))

    def coordinates(self, record: Any) -> tuple[float, ...]:
        return join_coordinates(self._entries(), as_numbers(record))

    def near(self, record: Any, rng: np.random.Generator) -> NDArray[np.float64]:
        return as_vector(change_parts(self._entries(), as_numbers(record), rng))

    def plainness(self, record: Any) -> float:
        entry = self.entry()
        return sum(map(entry.plainness, as_numbers(record)))

    def simpler(self, record: Any) -> tuple[NDArray[np.float64], ...]:
        simplified = simplify_parts(self._entries(), as_numbers(record))
        return plainer(self, record, map(as_vector, simplified))

    def grid(self, points: int) -> tuple[NDArray[np.float64], ...]:
        return distinct((*self.edges(), *map(as_vector, spread_parts(self._entries(), points))))

    def with_odd_values(self) -> OddVectors:
        return OddVectors(length=self.length, low=self.low, high=self.high)

    def entry(self) -> Refinable:
        """The domain of one entry."""
        return Floats(low=self.low, high=self.high)

    def __str__(self) -> str:
        return f"vectors({self.length}, {short(self.low)}, {short(self.high)})"

    def _entries(self) -> list[Refinable]:
        return [self.entry()] * self.length


@dataclass(frozen=True, slots=True, kw_only=True)
class OddVectors(Vectors):
    """Vectors of which any entry may be odd; what is drawn or chosen has one or all odd."""

    def edges(self) -> tuple[NDArray[np.float64], ...]:
        return odd_edges(self.without_odd_values().edges(), self.odd_values())

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        row = self.without_odd_values().draw(rng)
        if rng.random() < ODD_SHARE:
            odd = one_of(self.entry().odd_values(), rng)
            row[one_of((slice(None), int(rng.integers(self.length))), rng)] = odd
        return row

    def contains(self, record: Any) -> bool:
        row = as_row(record)
        if row is None or row.shape != (self.length,):
            return False
        entry = self.entry()
        return all(map(entry.contains, as_numbers(row)))

    def with_odd_values(self) -> OddVectors:
        return self

    def without_odd_values(self) -> Vectors:
        return Vectors(length=self.length, low=self.low, high=self.high)

    def odd_values(self) -> tuple[NDArray[np.float64], ...]:
        """For each odd number: only the first entry odd, and all; by turns, as edges are few."""
        plain = 0.0 if self.low <= 0.0 <= self.high else between(self.low, self.high, 0.5)
        odd = self.entry().odd_values()
        one = [as_vector([number, *[plain] * (self.length - 1)]) for number in odd]
        every = [as_vector([number] * self.length) for number in odd]
        turns = [(one, every)[place % 2][place] for place in range(len(odd))]
        return distinct([*turns, *one, *every])

    def entry(self) -> Refinable:
        return _odd_entry(self.low, self.high)

    def __str__(self) -> str:
        return f"{self.without_odd_values()} and odd values"


def vectors(length: int, low: float, high: float) -> Vectors:
    """Records that are arrays of a fixed length with every entry in [low, high].

    >>> vectors(2, 0, 1).dataset([]).shape
    (0, 2)
    """
    length = whole("vectors", "length", length)
    if length < 1:
        raise InvalidDomain(f"vectors needs a length of at least 1, got {length}.")
    low, high = bounds("vectors", low, high)
    return Vectors(length=length, low=low, high=high)


@lru_cache(maxsize=64)  # asked for with every entry of every vector
def _odd_entry(low: float, high: float) -> Refinable:
    return Floats(low=low, high=high).with_odd_values()


def as_row(record: Any) -> NDArray[Any] | None:
    """The record as an array of numbers; None if it is none."""
    try:
        row = np.asarray(record)
    except ValueError:  # lists within lists, of different lengths
        return None
    return row if row.dtype.kind in "fiu" else None


def as_vector(numbers: Iterable[float]) -> NDArray[np.float64]:
    """A record of these entries."""
    return np.array(list(numbers), dtype=np.float64)


def as_numbers(record: Any) -> list[float]:
    """The entries of a record."""
    return [float(number) for number in np.asarray(record, dtype=np.float64).tolist()]
