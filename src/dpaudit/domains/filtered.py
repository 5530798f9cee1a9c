"""The records of a domain that a predicate lets through: `domain.filter(predicate)`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser, Unsuitable
from dpaudit.domains.domain import distinct, moved, plainer
from dpaudit.domains.mapped import name_of
from dpaudit.domains.refinable import Refinable
from dpaudit.domains.wrapping import Wrapping
from dpaudit.errors import InvalidDomain

MOST_TRIES = 100  # draws in a row that may be refused
SAMPLE = 1000  # records drawn to see whether any fits
ENOUGH = 50  # fitting records of the sample
FEW_EDGES = 3  # fewer that fit are filled up from the sample
FINER = (1, 2, 4, 8, 16)  # grids tried until enough of one fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered(Wrapping):
    """The records of `inner` of which the predicate is true.

    The predicate sees what a mechanism would see of the record (behind `map`, the mapped one), as a
    copy. Records are drawn until one fits, so a predicate that few records fit is better written as
    a `map`: `integers(0, 500).map(lambda n: 2 * n)`, not a filter for even numbers.
    """

    inner: Refinable
    predicate: Callable[[Any], object]
    name: str
    fitting: tuple[Any, ...] = field(repr=False, compare=False)

    def edges(self) -> tuple[Any, ...]:
        return self.fitting

    def draw(self, rng: np.random.Generator) -> Any:
        for _ in range(MOST_TRIES):
            record = self.inner.draw(rng)
            if self.fits(record):
                return record
        raise InvalidDomain(
            f"the filter {self.name} refused {MOST_TRIES} records of {self.inner} in a row. "
            f"Narrow the domain, or build the records that fit with map()."
        )

    def contains(self, record: Any) -> bool:
        return self.inner.contains(record) and self.fits(record)

    def choose(self, chooser: Chooser, name: str) -> Any:
        record = self.inner.choose(chooser, name)
        if not self.fits(record):
            raise Unsuitable(f"{name}={record!r} does not fit the filter {self.name}")
        return record

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        def change() -> Any:
            changed = self.inner.near(record, rng)
            return changed if self.fits(changed) else record

        return moved(self, record, rng, change)

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return plainer(self, record, (*self.inner.simpler(record), *self.fitting))

    def grid(self, points: int) -> tuple[Any, ...]:
        found = self.fitting
        for finer in FINER:
            fitting = (record for record in self.inner.grid(finer * points) if self.fits(record))
            found = distinct((*self.fitting, *fitting))
            if 2 * len(found) >= points:
                break
        return found

    def released(self, record: Any) -> Any:
        return self.inner.released(record)

    def restored(self, seen: Any) -> Any:
        return self.inner.restored(seen)

    def beyond(self) -> tuple[Any, ...]:
        return tuple(filter(self.fits, self.inner.with_odd_values().odd_values()))

    def fits(self, record: Any) -> bool:
        """Whether the predicate is true of this record of the inner domain."""
        try:
            return bool(self.predicate(self.inner.released(record)))
        except Exception as error:
            error.add_note(f"while asking the filter {self.name} about {record!r}")
            raise

    def __str__(self) -> str:
        return f"{self.inner}.filter({self.name})"


def filtered(inner: Refinable, predicate: Callable[[Any], object], name: str | None) -> Filtered:
    """The domain with a filter, if any record is seen to fit."""
    if not callable(predicate):
        raise InvalidDomain(f"filter needs a function of one record, got {predicate!r}.")
    named = name_of(predicate, name)
    domain = Filtered(inner=inner, predicate=predicate, name=named, fitting=())
    edges = [edge for edge in inner.edges() if domain.fits(edge)]
    if len(edges) < FEW_EDGES:
        rng = np.random.default_rng(0)
        drawn = (inner.draw(rng) for _ in range(SAMPLE))
        fitting = itertools.islice(filter(domain.fits, drawn), ENOUGH)
        edges = _far_apart(inner, edges, list(fitting))
    if not edges:
        raise InvalidDomain(
            f"no edge and none of {SAMPLE} random records of {inner} fits the filter {named}. "
            f"Narrow the domain, or build the records that fit with map()."
        )
    return dataclasses.replace(domain, fitting=tuple(edges))


def _far_apart(inner: Refinable, edges: Sequence[Any], drawn: Sequence[Any]) -> list[Any]:
    """The edges and, until they are enough, the drawn record farthest from all of them."""
    left = distinct([*edges, *drawn])
    places = np.array([inner.coordinates(record) for record in left])
    chosen = list(range(len(edges))) or list(range(min(1, len(left))))
    while 0 < len(chosen) < min(FEW_EDGES, len(left)):
        apart = np.square(places[:, None, :] - places[chosen][None, :, :]).sum(axis=2).min(axis=1)
        apart[chosen] = -1.0
        chosen.append(int(np.argmax(apart)))
    return [left[place] for place in chosen]
