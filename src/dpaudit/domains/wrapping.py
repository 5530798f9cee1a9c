"""A domain made of another: it does all that the inner one does, but for what it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import Explorable
from dpaudit.domains.refinable import Refinable


class Wrapping(Refinable):
    """Passes every question on to `inner`."""

    __slots__ = ()

    inner: Explorable

    def edges(self) -> tuple[Any, ...]:
        return self.inner.edges()

    def draw(self, rng: np.random.Generator) -> Any:
        return self.inner.draw(rng)

    def dataset(self, records: Sequence[Any]) -> Any:
        return self.inner.dataset(records)

    def unpack(self, data: Any) -> list[Any]:
        return self.inner.unpack(data)

    def contains(self, record: Any) -> bool:
        return self.inner.contains(record)

    def choose(self, chooser: Chooser, name: str) -> Any:
        return self.inner.choose(chooser, name)

    def coordinates(self, record: Any) -> tuple[float, ...]:
        return self.inner.coordinates(record)

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        return self.inner.near(record, rng)

    def plainness(self, record: Any) -> float:
        return self.inner.plainness(record)

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return self.inner.simpler(record)

    def grid(self, points: int) -> tuple[Any, ...]:
        return self.inner.grid(points)

    def __str__(self) -> str:
        return str(self.inner)
