"""A domain and a few values that should not be there: `domain.with_odd_values()`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import ODD_SHARE, distinct, moved, odd_edges, one_of, plainer
from dpaudit.domains.refinable import Refinable
from dpaudit.domains.showing import canonical

HARD_TO_READ = 1000.0  # the plainness of the first odd value
SUDDEN = 0.2  # of the changes of a plain record: to an odd one


@dataclass(frozen=True, slots=True, kw_only=True)
class WithOdd(Refinable):
    """The records of a plain domain, and a few odd ones beside them.

    Half of the draws are plain. An odd value is told apart to the last bit: of NaN, 0.0 and -0.0
    each is a record of its own.
    """

    plain: Refinable
    odd: tuple[Any, ...]
    keys: tuple[str, ...] = field(repr=False)  # of the odd values: they are asked for all the time

    def edges(self) -> tuple[Any, ...]:
        return odd_edges(self.plain.edges(), self.odd)

    def draw(self, rng: np.random.Generator) -> Any:
        if rng.random() < ODD_SHARE:
            return one_of(self.odd, rng)
        return self.plain.draw(rng)

    def dataset(self, records: Sequence[Any]) -> Any:
        return self.plain.dataset(records)

    def unpack(self, data: Any) -> list[Any]:
        return self.plain.unpack(data)

    def released(self, record: Any) -> Any:
        return self.plain.released(record)

    def restored(self, seen: Any) -> Any:
        return self.plain.restored(seen)

    def contains(self, record: Any) -> bool:
        return self._place(record) is not None or self.plain.contains(record)

    def choose(self, chooser: Chooser, name: str) -> Any:
        if chooser.one_of(f"{name}#odd", 2) == 0:
            return self.plain.choose(chooser, name)
        return self.odd[chooser.one_of(f"{name}#which", len(self.odd))]

    def coordinates(self, record: Any) -> tuple[float, ...]:
        """Those of the plain domain and one for each odd value: each lies in its own corner."""
        place = self._place(record)
        ordinary = self.plain.coordinates(self.plain.edges()[0] if place is not None else record)
        if place is not None:
            ordinary = (0.0,) * len(ordinary)
        return (*ordinary, *(float(each == place) for each in range(len(self.odd))))

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        """From a plain record a near one or an odd one; from an odd record any other."""
        is_odd = self._place(record) is not None

        def change() -> Any:
            if is_odd:
                return self.draw(rng)
            return one_of(self.odd, rng) if rng.random() < SUDDEN else self.plain.near(record, rng)

        return moved(self, record, rng, change)

    def plainness(self, record: Any) -> float:
        place = self._place(record)
        return self.plain.plainness(record) if place is None else HARD_TO_READ + place

    def simpler(self, record: Any) -> tuple[Any, ...]:
        if self._place(record) is None:
            return plainer(self, record, self.plain.simpler(record))
        return plainer(self, record, (*self.plain.edges(), *self.odd))

    def grid(self, points: int) -> tuple[Any, ...]:
        return distinct((*self.edges(), *self.plain.grid(points), *self.odd[:points]))

    def with_odd_values(self) -> Refinable:
        return self

    def without_odd_values(self) -> Refinable:
        return self.plain

    def odd_values(self) -> tuple[Any, ...]:
        return self.odd

    def __str__(self) -> str:
        return f"{self.plain} and odd values"

    def _place(self, record: Any) -> int | None:
        key = canonical(record)
        return self.keys.index(key) if key in self.keys else None


def with_odd(plain: Refinable, odd: Sequence[Any]) -> Refinable:
    """The domain with these values beside it; the domain itself if there are none but edges."""
    known = {canonical(edge) for edge in plain.edges()}
    left = tuple(value for value in distinct(odd) if canonical(value) not in known)
    if not left:
        return plain
    return WithOdd(plain=plain, odd=left, keys=tuple(map(canonical, left)))
