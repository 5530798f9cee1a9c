"""Records that are one of a few values: `categories`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import EDGE_SHARE, MOST_EDGES, as_list, distinct, moved, one_of, plainer
from dpaudit.domains.numbers import spread_whole
from dpaudit.domains.refinable import Refinable
from dpaudit.errors import InvalidDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories(Refinable):
    """One of a few given values. `1`, `1.0` and `True` are three different categories."""

    values: tuple[Any, ...]

    def edges(self) -> tuple[Any, ...]:
        return (self.values[0], self.values[-1]) if len(self.values) > 1 else self.values

    def draw(self, rng: np.random.Generator) -> Any:
        return one_of(self.edges() if rng.random() < EDGE_SHARE else self.values, rng)

    def dataset(self, records: Sequence[Any]) -> list[Any]:
        return list(records)

    def unpack(self, data: Any) -> list[Any]:
        if isinstance(data, np.ndarray) and data.ndim == 1:
            return list(data.tolist())
        return list(as_list(data, self))

    def contains(self, record: Any) -> bool:
        return self._place(record) is not None

    def choose(self, chooser: Chooser, name: str) -> Any:
        count = len(self.values)
        return self.values[chooser.one_of(name, count) if count > 1 else 0]

    def coordinates(self, record: Any) -> tuple[float, ...]:
        place = self._place(record)
        return tuple(float(each == place) for each in range(len(self.values)))

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        return moved(self, record, rng, lambda: one_of(self.values, rng))

    def plainness(self, record: Any) -> float:
        """The place among the values: name the plainest first."""
        place = self._place(record)
        return float(len(self.values) if place is None else place)

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return plainer(self, record, self.values)

    def grid(self, points: int) -> tuple[Any, ...]:
        places = spread_whole(0, len(self.values) - 1, points)
        return distinct((*self.edges(), *(self.values[place] for place in places)))

    def beyond(self) -> tuple[Any, ...]:
        odd = "" if all(isinstance(value, str) for value in self.values) else None
        return () if self.contains(odd) else (odd,)

    def __str__(self) -> str:
        shown = [repr(value) for value in self.values]
        if len(shown) > MOST_EDGES:
            shown = [*shown[:3], "...", shown[-1]]
        return f"categories({', '.join(shown)})"

    def _place(self, record: Any) -> int | None:
        key = typed(record)
        return next((i for i, value in enumerate(self.values) if typed(value) == key), None)


def categories(*values: Any) -> Categories:
    """Records that are one of the given values, listed one by one or in one sequence.

    >>> categories("red", "green") == categories(["red", "green"])
    True
    """
    given = values
    if len(values) == 1 and isinstance(values[0], np.ndarray):
        given = tuple(values[0].tolist())
    elif len(values) == 1 and isinstance(values[0], Sequence) and not isinstance(values[0], str):
        given = tuple(values[0])
    if not given:
        raise InvalidDomain('categories needs at least one value, got none: categories("a", "b").')
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in given)
    for place, value in enumerate(plain):
        if isinstance(value, (np.ndarray, list, dict, set)):
            raise InvalidDomain(f"a category must be a plain value, got {value!r}. Use a tuple.")
        if any(typed(value) == typed(other) for other in plain[:place]):
            raise InvalidDomain(f"categories must differ, got {value!r} twice. List it once.")
    return Categories(values=plain)


def typed(value: Any) -> tuple[type, Any]:
    """The value with its type: `1 == True`, but they are two categories.

    Floats are told apart to the last bit: NaN is NaN, and 0.0 is not -0.0.

    >>> typed(float("nan")) == typed(float("nan")), typed((0.0,)) == typed((-0.0,))
    (True, False)
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) is float:
        return float, repr(plain)
    if type(plain) is tuple:
        return tuple, tuple(map(typed, plain))
    return type(plain), plain
