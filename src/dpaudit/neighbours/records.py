"""The relations in which one record differs: added or removed, or replaced.

Datasets are ordered: neighbours differ in one place, and the other records keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.domains import Domain
from dpaudit.neighbours.relation import InvalidRelation, finder_named, once, whole_number
from dpaudit.pair import Pair, canonical

if TYPE_CHECKING:
    from dpaudit.finders import Finder

TRIES = 100  # draws of another record before an edge is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOrRemoveOne:
    """One record more or less; `data` is the bigger dataset."""

    domain: Domain
    max_records: int
    min_records: int
    finder: str

    def edge_pairs(self) -> Iterator[Pair]:
        return once(self._candidates())

    def random_pair(self, rng: np.random.Generator) -> Pair:
        size = _random_size(self.min_records + 1, self.max_records, rng)
        rest = _random_records(self.domain, size - 1, rng)
        record = rest[0] if rest and rng.random() < 0.25 else self.domain.draw(rng)
        place = int(rng.integers(size))
        return self._pair(rest[:place], record, rest[place:])

    def contains(self, pair: Pair) -> bool:
        bigger, smaller = _keys(self, pair.data), _keys(self, pair.neighbour)
        if bigger is None or smaller is None:
            return False
        if len(bigger) < len(smaller):
            bigger, smaller = smaller, bigger
        alike = 0
        while alike < len(smaller) and smaller[alike] == bigger[alike]:
            alike += 1
        return len(bigger) == len(smaller) + 1 and smaller[alike:] == bigger[alike + 1 :]

    def search(self, rng: np.random.Generator) -> Finder:
        return finder_named(self.finder, self, rng)

    def describe(self) -> str:
        return f"add or remove one of {_sizes_in_words(self, 0)} of {self.domain}"

    def _candidates(self) -> Iterator[Pair]:
        edges = self.domain.edges()
        high, low = edges[0], edges[1 if len(edges) > 1 else 0]
        sizes = _edge_sizes(self.min_records + 1, self.max_records)
        for size in sizes:
            others = size - 1
            all_high, all_low = [high] * others, [low] * others
            half = [high] * (others // 2) + [low] * (others - others // 2)
            yield self._pair(all_low, high, [])
            yield self._pair(all_high, high, [])
            yield self._pair(all_high, low, [])
            yield self._pair(all_low, low, [])
            yield self._pair([], high, all_low)
            yield self._pair(half, high, [])
            yield self._pair(half, low, [])
            if size == sizes[:2][-1]:  # the less extreme records once, beside another record
                yield from (self._pair(all_low, edge, []) for edge in edges[2:])

    def _pair(self, before: list[Any], record: Any, after: list[Any]) -> Pair:
        data = self.domain.dataset([*before, record, *after])
        return Pair(data, self.domain.dataset([*before, *after]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceOne:
    """One record replaced by another; both datasets have the same size."""

    domain: Domain
    max_records: int
    min_records: int
    finder: str

    def edge_pairs(self) -> Iterator[Pair]:
        return once(self._candidates())

    def random_pair(self, rng: np.random.Generator) -> Pair:
        size = _random_size(self.min_records, self.max_records, rng)
        rest = _random_records(self.domain, size - 1, rng)
        old = rest[0] if rest and rng.random() < 0.25 else self.domain.draw(rng)
        place = int(rng.integers(size))
        return self._pair(rest[:place], old, _another(self.domain, old, rng), rest[place:])

    def contains(self, pair: Pair) -> bool:
        data, neighbour = _keys(self, pair.data), _keys(self, pair.neighbour)
        if data is None or neighbour is None or len(data) != len(neighbour):
            return False
        return sum(a != b for a, b in zip(data, neighbour, strict=True)) == 1

    def search(self, rng: np.random.Generator) -> Finder:
        return finder_named(self.finder, self, rng)

    def describe(self) -> str:
        return f"replace one of {_sizes_in_words(self, 1)} of {self.domain}"

    def _candidates(self) -> Iterator[Pair]:
        edges = self.domain.edges()
        high, low, plain = edges[0], edges[1], edges[:3][-1]
        sizes = _edge_sizes(self.min_records, self.max_records)
        for size in sizes:
            others = size - 1
            half = [high] * (others // 2) + [low] * (others - others // 2)
            yield self._pair([low] * others, high, low, [])
            yield self._pair([high] * others, high, low, [])
            yield self._pair(half, high, low, [])
            yield self._pair([plain] * others, high, low, [])
            yield self._pair([], high, low, [low] * others)
            if size in sizes[:2]:  # the less extreme records, in the smallest datasets
                yield from (self._pair([low] * others, high, edge, []) for edge in edges[2:])
                yield from (self._pair([low] * others, low, edge, []) for edge in edges[2:4])

    def _pair(self, before: list[Any], old: Any, new: Any, after: list[Any]) -> Pair:
        data = self.domain.dataset([*before, old, *after])
        return Pair(data, self.domain.dataset([*before, new, *after]))


def add_or_remove_one(
    domain: Domain, *, max_records: int = 10, min_records: int = 0, finder: str = "auto"
) -> AddOrRemoveOne:
    """Neighbours have one record more or less ("unbounded" differential privacy).

    Both datasets have `min_records` to `max_records` records; `min_records=1` spares a mechanism
    that cannot take empty data.

    >>> from dpaudit.domains import floats
    >>> print(next(add_or_remove_one(floats(0, 1)).edge_pairs()))
    data=[1.0], neighbour=[]
    """
    min_records, max_records = _sizes("add_or_remove_one", domain, min_records, max_records, 0)
    if max_records == min_records:
        raise InvalidRelation(
            f"add_or_remove_one needs max_records above min_records, got {max_records} for both."
        )
    return AddOrRemoveOne(
        domain=domain, max_records=max_records, min_records=min_records, finder=finder
    )


def replace_one(
    domain: Domain, *, max_records: int = 10, min_records: int = 1, finder: str = "auto"
) -> ReplaceOne:
    """Neighbours differ in one record ("bounded" differential privacy).

    >>> from dpaudit.domains import floats
    >>> print(next(replace_one(floats(-1, 1), max_records=5).edge_pairs()))
    data=[1.0], neighbour=[-1.0]
    """
    min_records, max_records = _sizes("replace_one", domain, min_records, max_records, 1)
    if len(domain.edges()) < 2:
        raise InvalidRelation(
            f"replace_one needs a domain with at least two records, got {domain}. Widen it."
        )
    return ReplaceOne(
        domain=domain, max_records=max_records, min_records=min_records, finder=finder
    )


def _keys(relation: AddOrRemoveOne | ReplaceOne, data: Any) -> list[str] | None:
    """The canonical records of a dataset; None if it is not a dataset of the relation."""
    domain = relation.domain
    try:
        found = domain.unpack(data)
    except (ValueError, TypeError):
        return None
    if not relation.min_records <= len(found) <= relation.max_records:
        return None
    return [canonical(record) for record in found] if all(map(domain.contains, found)) else None


def _edge_sizes(fewest: int, most: int) -> list[int]:
    return sorted({size for size in (fewest, fewest + 1, fewest + 2, most) if size <= most})


def _random_size(fewest: int, most: int, rng: np.random.Generator) -> int:
    """Log-uniform: small datasets are the likely ones, the biggest still turn up."""
    return min(most, int(fewest * ((most + 1) / fewest) ** rng.random()))


def _random_records(domain: Domain, size: int, rng: np.random.Generator) -> list[Any]:
    """All equal, of two values, or each drawn anew (half of the time)."""
    kind = rng.integers(4)
    if kind == 0:
        return [domain.draw(rng)] * size
    if kind == 1:
        values = [domain.draw(rng), domain.draw(rng)]
        return [values[which] for which in rng.integers(2, size=size)]
    return [domain.draw(rng) for _ in range(size)]


def _another(domain: Domain, record: Any, rng: np.random.Generator) -> Any:
    for _ in range(TRIES):
        if canonical(drawn := domain.draw(rng)) != canonical(record):
            return drawn
    return next(edge for edge in domain.edges() if canonical(edge) != canonical(record))


def _sizes(name: str, domain: Any, least: Any, most: Any, fewest: int) -> tuple[int, int]:
    if isinstance(domain, type) or not isinstance(domain, Domain):
        raise TypeError(f"{name} needs a domain such as floats(0, 1), got {domain!r}.")
    least, most = whole_number(name, "min_records", least), whole_number(name, "max_records", most)
    if least < fewest:
        raise InvalidRelation(f"{name} needs min_records of at least {fewest}, got {least}.")
    if most < max(least, 1):
        raise InvalidRelation(
            f"{name} needs max_records of at least {max(least, 1)}, got {most}. Raise it."
        )
    return least, most


def _sizes_in_words(relation: AddOrRemoveOne | ReplaceOne, fewest: int) -> str:
    least, most = relation.min_records, relation.max_records
    if least == most:
        return f"{most} record{'s' if most != 1 else ''}"
    return f"at most {most} records" if least <= fewest else f"{least} to {most} records"
