"""Records that are one of a few values: `categories`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.architecture import Chooser
from dpaudit.domains.domain import MAX_EDGES, Refinable, distinct, one_of
from dpaudit.domains.ranges import spread_whole
from dpaudit.domains.showing import plain
from dpaudit.errors import InvalidDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories(Refinable):
    """One of a few given values. `1`, `1.0` and `True` are three different categories."""

    values: tuple[Any, ...]

    def edges(self) -> tuple[Any, ...]:
        return (self.values[0], self.values[-1]) if len(self.values) > 1 else self.values

    def draw_anywhere(self, rng: np.random.Generator) -> Any:
        return one_of(self.values, rng)

    def dataset(self, records: Sequence[Any]) -> list[Any]:
        return list(records)

    def contains(self, record: Any) -> bool:
        return self._place(record) is not None

    def choose(self, chooser: Chooser, name: str) -> Any:
        count = len(self.values)
        return self.values[chooser.one_of(name, count) if count > 1 else 0]

    def coordinates(self, record: Any) -> tuple[float, ...]:
        place = self._place(record)
        return tuple(float(each == place) for each in range(len(self.values)))

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        return self.moved(record, rng, lambda: one_of(self.values, rng))

    def plainness(self, record: Any) -> float:
        """The place among the values: the first is the plainest."""
        place = self._place(record)
        return float(len(self.values) if place is None else place)

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return self.plainer(record, self.values)

    def grid(self, points: int) -> tuple[Any, ...]:
        places = spread_whole(0, len(self.values) - 1, points)
        return distinct((*self.edges(), *(self.values[place] for place in places)))

    def beyond(self) -> tuple[Any, ...]:
        odd = "" if all(isinstance(value, str) for value in self.values) else None
        return () if self.contains(odd) else (odd,)

    def __str__(self) -> str:
        return f"categories({elided(self.values)})"

    def _place(self, record: Any) -> int | None:
        key = _typed(record)
        return next((i for i, value in enumerate(self.values) if _typed(value) == key), None)


def categories(*values: Any) -> Categories:
    """Records that are one of the given values, listed one by one or in one sequence.

    >>> categories("red", "green") == categories(["red", "green"])
    True
    """
    given = one_by_one(values)
    if not given:
        raise InvalidDomain('categories needs at least one value, got none: categories("a", "b").')
    found = tuple(map(plain, given))
    for place, value in enumerate(found):
        if isinstance(value, (np.ndarray, list, dict, set)):
            raise InvalidDomain(f"a category must be a plain value, got {value!r}. Use a tuple.")
        if any(_typed(value) == _typed(other) for other in found[:place]):
            raise InvalidDomain(f"categories must differ, got {value!r} twice. List it once.")
    return Categories(values=found)


def one_by_one(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, also where the only one is a sequence or an array of them."""
    if len(values) == 1 and isinstance(values[0], np.ndarray):
        return tuple(values[0].tolist())
    in_one = len(values) == 1 and isinstance(values[0], Sequence) and not isinstance(values[0], str)
    return tuple(values[0]) if in_one else values


def elided(values: Sequence[Any]) -> str:
    """The values as arguments of a call; of many only the first three and the last."""
    shown = list(map(repr, values))
    return ", ".join(shown if len(shown) <= MAX_EDGES else [*shown[:3], "...", shown[-1]])


def _typed(value: Any) -> tuple[type, Any]:
    """The value with its type: `1 == True`, but they are two categories.

    Floats are told apart to the last bit: NaN is NaN, and 0.0 is not -0.0.
    """
    found = plain(value)
    if type(found) is float:
        return float, repr(found)
    if type(found) is tuple:
        return tuple, tuple(map(_typed, found))
    return type(found), found
