"""Domains made of another: filtered, mapped, with odd values, or a user's own made one of ours."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpaudit.architecture import Chooser
from dpaudit.domains.domain import MAX_SIMPLER, ODD_SHARE, Refinable, Unsuitable, distinct, one_of
from dpaudit.domains.showing import canonical, shown
from dpaudit.errors import InvalidDomain

MAX_REFUSED_DRAWS = 100  # in a row, by a filter
SAMPLE_DRAWS = 1000  # to see whether any record fits a filter
ENOUGH_FITTING = 50  # records of that sample
MIN_FITTING_EDGES = 3  # fewer are filled up from that sample
FINER_GRIDS = (1, 2, 4, 8, 16)  # factors tried until enough of a grid fits
FIRST_ODD_PLAINNESS = 1000.0  # of the first odd value: no plain record is as hard to read
TO_ODD_SHARE = 0.2  # of the changes of a plain record


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapping(Refinable):
    """Passes every call on to `inner`; alone, it makes a user's explorable domain one of ours."""

    inner: Any

    def edges(self) -> tuple[Any, ...]:
        return tuple(self.inner.edges())

    def draw(self, rng: np.random.Generator) -> Any:
        return self.inner.draw(rng)

    def dataset(self, records: Sequence[Any]) -> Any:
        return self.inner.dataset(records)

    def unpack(self, data: Any) -> list[Any]:
        return list(self.inner.unpack(data))

    def contains(self, record: Any) -> bool:
        return bool(self.inner.contains(record))

    def choose(self, chooser: Chooser, name: str) -> Any:
        return self.inner.choose(chooser, name)

    def coordinates(self, record: Any) -> tuple[float, ...]:
        return tuple(self.inner.coordinates(record))

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        return self.inner.near(record, rng)

    def plainness(self, record: Any) -> float:
        return float(self.inner.plainness(record))

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return tuple(self.inner.simpler(record))

    def grid(self, points: int) -> tuple[Any, ...]:
        return tuple(self.inner.grid(points))

    def __str__(self) -> str:
        return str(self.inner)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgesOnly(Wrapping):
    """A user's domain of which only edges and draws are known: the rest is made up from them."""

    def choose(self, chooser: Chooser, name: str) -> Any:
        edges = self.edges()
        return edges[chooser.one_of(name, len(edges)) if len(edges) > 1 else 0]

    def coordinates(self, record: Any) -> tuple[float, ...]:
        """One for each edge; all are 0 for a record that is no edge."""
        key = canonical(record)
        return tuple(float(canonical(edge) == key) for edge in self.edges())

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        return self.draw(rng)

    def plainness(self, record: Any) -> float:
        """The place among the edges; every other record is less plain."""
        keys = [canonical(edge) for edge in self.grid(1)]
        key = canonical(record)
        return float(keys.index(key) if key in keys else len(keys))

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return self.grid(1)[: int(self.plainness(record))][:MAX_SIMPLER]

    def grid(self, points: int) -> tuple[Any, ...]:
        return distinct(self.edges())


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined(Wrapping):
    """A domain made of one of ours."""

    inner: Refinable

    def why_not_part(self, record: Any) -> str | None:
        return self.inner.why_not(record)

    def released(self, record: Any) -> Any:
        return self.inner.released(record)

    def restored(self, seen: Any) -> Any:
        return self.inner.restored(seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered(Refined):
    """The records of `inner` of which the predicate is true.

    The predicate sees what a mechanism would see of the record (behind `map`, the mapped one), as a
    copy. Records are drawn until one fits. Where few records fit, a `map` is better than a filter:
    `integers(0, 500).map(lambda n: 2 * n)`, not a filter for even numbers.
    """

    predicate: Callable[[Any], object]
    name: str
    fitting: tuple[Any, ...] = field(repr=False, compare=False)

    def edges(self) -> tuple[Any, ...]:
        return self.fitting

    def draw(self, rng: np.random.Generator) -> Any:
        for _ in range(MAX_REFUSED_DRAWS):
            record = self.inner.draw(rng)
            if self.fits(record):
                return record
        raise InvalidDomain(
            f"the filter {self.name} refused {MAX_REFUSED_DRAWS} records of {self.inner} in a row. "
            f"Narrow the domain, or build the records that fit with map()."
        )

    def contains(self, record: Any) -> bool:
        return self.inner.contains(record) and self.fits(record)

    def why_not_part(self, record: Any) -> str | None:
        return self.inner.why_not(record) or f"{shown(record)} does not fit the filter {self.name}"

    def choose(self, chooser: Chooser, name: str) -> Any:
        record = self.inner.choose(chooser, name)
        if not self.fits(record):
            raise Unsuitable(f"{name}={record!r} does not fit the filter {self.name}")
        return record

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        def change() -> Any:
            changed = self.inner.near(record, rng)
            return changed if self.fits(changed) else record

        return self.moved(record, rng, change)

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return self.plainer(record, (*self.inner.simpler(record), *self.fitting))

    def grid(self, points: int) -> tuple[Any, ...]:
        for finer in FINER_GRIDS:
            fitting = filter(self.fits, self.inner.grid(finer * points))
            found = distinct((*self.fitting, *fitting))
            if 2 * len(found) >= points:
                break
        return found

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
    """The domain with a filter; InvalidDomain if no edge and no drawn record fits."""
    if not callable(predicate):
        raise InvalidDomain(f"filter needs a function of one record, got {predicate!r}.")
    named = name_of(predicate, name)
    domain = Filtered(inner=inner, predicate=predicate, name=named, fitting=())
    edges = [edge for edge in inner.edges() if domain.fits(edge)]
    if len(edges) < MIN_FITTING_EDGES:
        rng = np.random.default_rng(0)
        drawn = (inner.draw(rng) for _ in range(SAMPLE_DRAWS))
        fitting = itertools.islice(filter(domain.fits, drawn), ENOUGH_FITTING)
        edges = _far_apart(inner, edges, list(fitting))
    if not edges:
        raise InvalidDomain(
            f"no edge and none of {SAMPLE_DRAWS} random records of {inner} fits the filter "
            f"{named}. Narrow the domain, or build the records that fit with map()."
        )
    return replace(domain, fitting=tuple(edges))


def _far_apart(inner: Refinable, edges: Sequence[Any], drawn: Sequence[Any]) -> list[Any]:
    """The edges and, until they are enough, the drawn record farthest from all of them."""
    left = distinct([*edges, *drawn])
    places = np.array([inner.coordinates(record) for record in left])
    chosen = list(range(len(edges))) or list(range(min(1, len(left))))
    while 0 < len(chosen) < min(MIN_FITTING_EDGES, len(left)):
        apart = np.square(places[:, None, :] - places[chosen][None, :, :]).sum(axis=2).min(axis=1)
        apart[chosen] = -1.0
        chosen.append(int(np.argmax(apart)))
    return [left[place] for place in chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped(Refined):
    """The records of `inner`, of which a mechanism sees what a function makes of them.

    The records themselves stay those of `inner`, so a search moves in the space it knows. Only
    `released` and `dataset` apply the function, and only `restored` and `unpack` need `inverse`.
    A dataset is a list. A field of `records`, a column of `tables` and an entry of `lists` may be
    mapped alike.
    """

    function: Callable[[Any], Any]
    inverse: Callable[[Any], Any] | None
    name: str

    dataset, unpack = Refinable.dataset, Refinable.unpack

    def released(self, record: Any) -> Any:
        try:  # a copy: the function may hand out the same object twice
            return copy.deepcopy(self.function(self.inner.released(record)))
        except Exception as error:
            error.add_note(f"while applying the map {self.name} to {record!r}")
            raise

    def restored(self, seen: Any) -> Any:
        if self.inverse is None:
            raise InvalidDomain(
                f"a dataset of {self} cannot be unpacked, for the map has no inverse. "
                f"Give it one: map({self.name}, inverse=...)."
            )
        try:
            return self.inner.restored(self.inverse(seen))
        except Exception as error:
            error.add_note(f"while inverting the map {self.name} at {seen!r}")
            raise

    def with_odd_values(self) -> Refinable:
        return replace(self, inner=self.inner.with_odd_values())

    def without_odd_values(self) -> Refinable:
        return replace(self, inner=self.inner.without_odd_values())

    def odd_values(self) -> tuple[Any, ...]:
        return self.inner.odd_values()

    def __str__(self) -> str:
        return f"{self.inner}.map({self.name})"


def name_of(function: Callable[..., Any], name: str | None) -> str:
    """The name that was given, or the function's own."""
    return name if name is not None else str(getattr(function, "__name__", type(function).__name__))


@dataclass(frozen=True, slots=True, kw_only=True)
class WithOdd(Refined):
    """The records of `inner`, and a few odd ones beside them.

    Half of the draws come from `inner`. Odd values are told apart to the last bit: NaN, 0.0 and
    -0.0 are three records.
    """

    odd: tuple[Any, ...]
    keys: tuple[str, ...] = field(repr=False)  # of the odd values, which are looked up all the time

    edges = Refinable.edges

    def draw(self, rng: np.random.Generator) -> Any:
        return one_of(self.odd, rng) if rng.random() < ODD_SHARE else self.inner.draw(rng)

    def contains(self, record: Any) -> bool:
        return self._place(record) is not None or self.inner.contains(record)

    def why_not_part(self, record: Any) -> str | None:
        return self.inner.why_not_part(record)

    def choose(self, chooser: Chooser, name: str) -> Any:
        if chooser.one_of(f"{name}#odd", 2) == 0:
            return self.inner.choose(chooser, name)
        return self.odd[chooser.one_of(f"{name}#which", len(self.odd))]

    def coordinates(self, record: Any) -> tuple[float, ...]:
        """Those of `inner`, then one for each odd value: each odd value has its own corner."""
        place = self._place(record)
        corner = (float(each == place) for each in range(len(self.odd)))
        if place is None:
            return (*self.inner.coordinates(record), *corner)
        return (*(0.0,) * len(self.inner.coordinates(self.inner.edges()[0])), *corner)

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        """From a plain record a near one or an odd one; from an odd record any other."""
        is_odd = self._place(record) is not None

        def change() -> Any:
            if is_odd:
                return self.draw(rng)
            to_odd = rng.random() < TO_ODD_SHARE
            return one_of(self.odd, rng) if to_odd else self.inner.near(record, rng)

        return self.moved(record, rng, change)

    def plainness(self, record: Any) -> float:
        place = self._place(record)
        return self.inner.plainness(record) if place is None else FIRST_ODD_PLAINNESS + place

    def simpler(self, record: Any) -> tuple[Any, ...]:
        if self._place(record) is None:
            return self.plainer(record, self.inner.simpler(record))
        return self.plainer(record, (*self.inner.edges(), *self.odd))

    def grid(self, points: int) -> tuple[Any, ...]:
        return distinct((*self.edges(), *self.inner.grid(points), *self.odd[:points]))

    def with_odd_values(self) -> Refinable:
        return self

    def without_odd_values(self) -> Refinable:
        return self.inner

    def odd_values(self) -> tuple[Any, ...]:
        return self.odd

    def __str__(self) -> str:
        return f"{self.inner} and odd values"

    def _place(self, record: Any) -> int | None:
        key = canonical(record)
        return self.keys.index(key) if key in self.keys else None


def with_odd(inner: Refinable, odd: Sequence[Any]) -> Refinable:
    """The domain with these values beside it; the domain itself if all of them are its edges."""
    known = {canonical(edge) for edge in inner.edges()}
    left = tuple(value for value in distinct(odd) if canonical(value) not in known)
    if not left:
        return inner
    return WithOdd(inner=inner, odd=left, keys=tuple(map(canonical, left)))
