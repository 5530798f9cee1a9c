"""A user's own domain among ours: what it cannot do is made up from its edges and draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import MOST_SIMPLER, Domain, Explorable, distinct
from dpaudit.domains.refinable import Refinable
from dpaudit.domains.showing import canonical
from dpaudit.domains.wrapping import Wrapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest(Wrapping):
    """A user's domain that a search can steer through already."""

    inner: Explorable


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgesOnly(Refinable):
    """A user's domain of which only edges and draws are known."""

    inner: Domain

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
        edges = self.edges()
        return edges[chooser.one_of(name, len(edges)) if len(edges) > 1 else 0]

    def coordinates(self, record: Any) -> tuple[float, ...]:
        """One of the edges each; a record between them lies at none."""
        key = canonical(record)
        return tuple(float(canonical(edge) == key) for edge in self.edges())

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        return self.draw(rng)

    def plainness(self, record: Any) -> float:
        """The place among the edges; every other record is less plain."""
        keys = [canonical(edge) for edge in distinct(self.edges())]
        key = canonical(record)
        return float(keys.index(key) if key in keys else len(keys))

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return distinct(self.edges())[: int(self.plainness(record))][:MOST_SIMPLER]

    def grid(self, points: int) -> tuple[Any, ...]:
        return distinct(self.edges())

    def __str__(self) -> str:
        return str(self.inner)


def explorable(domain: Domain) -> Explorable:
    """The domain itself if a search can steer through it; else one that makes up what is missing.

    >>> from dpaudit.domains.numbers import floats
    >>> explorable(floats(0, 1)) == floats(0, 1)
    True
    """
    if isinstance(domain, (Refinable, Explorable)):  # ours first: protocols are slow to check
        return domain
    return EdgesOnly(inner=domain)


def refinable(domain: Domain) -> Refinable:
    """The domain as one of ours."""
    if isinstance(domain, Refinable):
        return domain
    return Guest(inner=domain) if isinstance(domain, Explorable) else EdgesOnly(inner=domain)
