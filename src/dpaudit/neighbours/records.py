"""The relations in which records differ: added or removed, or replaced.

Datasets are ordered: neighbours differ in one place, and the other records keep theirs. How several
records differ is written here too (`AddOrRemove`, `Replace`); `groups.py` makes use of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from dpaudit.domains import Chooser, Domain, Unsuitable, explorable
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.choosing import chosen_slots, chosen_whole
from dpaudit.neighbours.drawing import (
    another,
    edge_sizes,
    edges_told_apart,
    random_differing,
    random_records,
    random_size,
)
from dpaudit.neighbours.pair import ABSENT, Pair, Slot
from dpaudit.neighbours.reasons import (
    Records,
    against_adding,
    against_equal,
    against_replacing,
    against_size,
    first_of,
    records_of,
)
from dpaudit.neighbours.relation import once, whole_number
from dpaudit.neighbours.slots import (
    aligned,
    interleaved,
    is_shared,
    joined,
    pair_of,
    removed_and_added,
    shared,
    side_by_side,
    sides,
)

FEWER = 6  # edge pairs for each smaller number of differing records


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRelation(ABC):
    """Datasets of `min_records` to `max_records` records, of which 1 to `apart` differ."""

    domain: Domain
    max_records: int
    min_records: int

    @property
    @abstractmethod
    def apart(self) -> int:
        """How many records differ at most."""

    @property
    @abstractmethod
    def most_slots(self) -> int:
        """How many slots a pair has at most."""

    @abstractmethod
    def random_pair(self, rng: np.random.Generator) -> Pair:
        """A random pair."""

    @abstractmethod
    def describe(self) -> str:
        """The relation in one line."""

    def edge_pairs(self) -> Iterator[Pair]:
        fewer = sorted({self.apart - 1, self.apart // 2, 1} - {0, self.apart}, reverse=True)
        weaker = (islice(once(self._edges(count)), FEWER) for count in fewer)
        return once(chain(self._edges(self.apart), *weaker))

    def contains(self, pair: Pair) -> bool:
        return self.align(pair) is not None

    def why_not(self, pair: Pair) -> str | None:
        if self.contains(pair):
            return None
        records = records_of(self.domain, pair)
        if isinstance(records, str):
            return records
        too_far = self._too_far(records)
        return first_of(
            [
                against_size(records, self.min_records, self.max_records),
                too_far,
                against_equal(pair),
            ]
        )

    def align(self, pair: Pair) -> tuple[Slot, ...] | None:
        return aligned(self, pair, self._layouts)

    def join(self, slots: Sequence[Slot]) -> Pair | None:
        if not all(self.min_records <= len(side) <= self.max_records for side in sides(slots)):
            return None
        changed = [slot for slot in slots if not is_shared(slot)]
        if not 1 <= len(changed) <= self.apart or not all(map(self._is_change, changed)):
            return None
        return joined(self.domain, slots)

    def choose(self, chooser: Chooser) -> Pair:
        pair = self.join(self._chosen(chooser))
        if pair is None:
            raise Unsuitable("the chosen datasets do not differ")
        return pair

    @abstractmethod
    def _edges(self, count: int) -> Iterator[Pair]:
        """Pairs of extreme records, `count` of which differ, the smallest datasets first."""

    @abstractmethod
    def _chosen(self, chooser: Chooser) -> list[Slot]: ...

    @abstractmethod
    def _layouts(self, data: list[Any], neighbour: list[Any]) -> Iterable[Sequence[Slot]]: ...

    @abstractmethod
    def _too_far(self, records: Records) -> str | None:
        """Why the datasets are too far apart, if they are."""

    @staticmethod
    @abstractmethod
    def _is_change(slot: Slot) -> bool: ...

    @staticmethod
    @abstractmethod
    def _change(old: Sequence[Any], new: Sequence[Any]) -> list[Slot]:
        """The records that differ, side by side."""

    def _chosen_around(self, chooser: Chooser, *, others: int, old: int, new: int) -> list[Slot]:
        def ask(name: str) -> Any:
            return explorable(self.domain).choose(chooser, name)

        return chosen_slots(chooser, ask, others=others, old=old, new=new, change=self._change)

    def _pair(
        self, before: Sequence[Any], old: Sequence[Any], new: Sequence[Any], after: Sequence[Any]
    ) -> Pair:
        change = self._change(old, new)
        return pair_of(self.domain, [*map(shared, before), *change, *map(shared, after)])


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOrRemove(RecordRelation):
    """Up to `apart` records added or removed; `data` is the bigger dataset."""

    @property
    def most_slots(self) -> int:
        return self.max_records + self.apart // 2  # half of them removed, half of them added

    def random_pair(self, rng: np.random.Generator) -> Pair:
        count, alike = _random_group(self.apart, rng)
        added = 0 if count == 1 or rng.random() < 0.5 else self._most_added(count)
        removed = count - added
        size = random_size(self._fewest(removed, added), self.max_records, rng)
        rest = random_records(self.domain, size - removed, rng)
        old = random_differing(self.domain, rest, removed, rng)
        place = int(rng.integers(size - removed + 1))
        new = [another(self.domain, old[0], rng) for _ in range(added)]
        if alike:
            old, new = old[:1] * removed, new[:1] * added
        return self._pair(rest[:place], old, new, rest[place:])

    def describe(self) -> str:
        return f"add or remove one of {_sizes_in_words(self, 0)} of {self.domain}"

    def _edges(self, count: int) -> Iterator[Pair]:
        edges = edges_told_apart(self.domain)
        high, low = edges[0], edges[:2][-1]
        many_high, many_low, half_added = [high] * count, [low] * count, self._most_added(count)
        sizes = edge_sizes(self.min_records + count, self.max_records)
        for size in sizes:
            others = size - count
            all_high, all_low = [high] * others, [low] * others
            half = [high] * (others // 2) + [low] * (others - others // 2)
            yield self._pair(all_low, many_high, [], [])
            yield self._pair(all_high, many_high, [], [])
            yield self._pair(all_high, many_low, [], [])
            yield self._pair(all_low, many_low, [], [])
            yield self._pair([], many_high, [], all_low)
            yield self._pair(half, many_high, [], [])
            yield self._pair(half, many_low, [], [])
            if half_added > 0:
                yield self._pair(all_low, many_high[half_added:], many_low[:half_added], [])
            if size == sizes[:2][-1]:  # the less extreme records once, beside another record
                yield from (self._pair(all_low, [edge] * count, [], []) for edge in edges[2:])

    def _chosen(self, chooser: Chooser) -> list[Slot]:
        count = chosen_whole(chooser, "apart", 1, self.apart)
        added = chosen_whole(chooser, "added", 0, self._most_added(count))
        removed = count - added
        fewest = self._fewest(removed, added)
        size = chosen_whole(chooser, "records", fewest, self.max_records)
        return self._chosen_around(chooser, others=size - removed, old=removed, new=added)

    def _most_added(self, count: int) -> int:
        """Half of those that differ: what is removed and added again has to be another record."""
        return count // 2 if count > 1 and len(edges_told_apart(self.domain)) > 1 else 0

    def _fewest(self, removed: int, added: int) -> int:
        """The size of the smallest data that leave enough records on both sides."""
        return removed + max(0, self.min_records - added)

    def _layouts(self, data: list[Any], neighbour: list[Any]) -> Iterable[Sequence[Slot]]:
        slots = interleaved(data, neighbour, self.apart)
        return [] if slots is None else [slots]

    def _too_far(self, records: Records) -> str | None:
        return against_adding(records, self.apart)

    @staticmethod
    def _is_change(slot: Slot) -> bool:
        return slot.data is ABSENT or slot.neighbour is ABSENT

    @staticmethod
    def _change(old: Sequence[Any], new: Sequence[Any]) -> list[Slot]:
        return removed_and_added(old, new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace(RecordRelation):
    """Up to `apart` records replaced by others; both datasets have the same size."""

    @property
    def most_slots(self) -> int:
        return self.max_records

    def random_pair(self, rng: np.random.Generator) -> Pair:
        count, alike = _random_group(self.apart, rng)
        size = random_size(max(self.min_records, count), self.max_records, rng)
        rest = random_records(self.domain, size - count, rng)
        old = random_differing(self.domain, rest, count, rng)
        place = int(rng.integers(size - count + 1))
        if alike:
            old = old[:1] * count
            new = [another(self.domain, old[0], rng)] * count
        else:
            new = [another(self.domain, record, rng) for record in old]
        return self._pair(rest[:place], old, new, rest[place:])

    def describe(self) -> str:
        return f"replace one of {_sizes_in_words(self, 1)} of {self.domain}"

    def _edges(self, count: int) -> Iterator[Pair]:
        edges = edges_told_apart(self.domain)
        high, low, plain = [edges[0]], [edges[1]], [edges[:3][-1]]
        many_high, many_low = high * count, low * count
        sizes = edge_sizes(max(self.min_records, count), self.max_records)
        for size in sizes:
            others = size - count
            half = high * (others // 2) + low * (others - others // 2)
            for rest in (low * others, high * others, half, plain * others):
                yield self._pair(rest, many_high, many_low, [])
            yield self._pair([], many_high, many_low, low * others)
            if size in sizes[:2]:  # the less extreme records, in the smallest datasets
                for edge in edges[2:]:
                    yield self._pair(low * others, many_high, [edge] * count, [])
                for edge in edges[2:4]:
                    yield self._pair(low * others, many_low, [edge] * count, [])

    def _chosen(self, chooser: Chooser) -> list[Slot]:
        count = chosen_whole(chooser, "apart", 1, self.apart)
        fewest = max(self.min_records, count)
        size = chosen_whole(chooser, "records", fewest, self.max_records)
        return self._chosen_around(chooser, others=size - count, old=count, new=count)

    def _layouts(self, data: list[Any], neighbour: list[Any]) -> Iterable[Sequence[Slot]]:
        return side_by_side(data, neighbour)

    def _too_far(self, records: Records) -> str | None:
        return against_replacing(records, self.apart)

    @staticmethod
    def _is_change(slot: Slot) -> bool:
        return slot.data is not ABSENT and slot.neighbour is not ABSENT

    @staticmethod
    def _change(old: Sequence[Any], new: Sequence[Any]) -> list[Slot]:
        return list(map(Slot, old, new))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOrRemoveOne(AddOrRemove):
    """One record more or less; `data` is the bigger dataset."""

    @property
    def apart(self) -> int:
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceOne(Replace):
    """One record replaced by another; both datasets have the same size."""

    @property
    def apart(self) -> int:
        return 1


def add_or_remove_one(
    domain: Domain, *, max_records: int = 10, min_records: int = 0
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
    return AddOrRemoveOne(domain=domain, max_records=max_records, min_records=min_records)


def replace_one(domain: Domain, *, max_records: int = 10, min_records: int = 1) -> ReplaceOne:
    """Neighbours differ in one record ("bounded" differential privacy).

    >>> from dpaudit.domains import floats
    >>> print(next(replace_one(floats(-1, 1), max_records=5).edge_pairs()))
    data=[1.0], neighbour=[-1.0]
    """
    min_records, max_records = _sizes("replace_one", domain, min_records, max_records, 1)
    if len(edges_told_apart(domain)) < 2:
        raise InvalidRelation(
            f"replace_one needs a domain with at least two records, got {domain}. Widen it."
        )
    return ReplaceOne(domain=domain, max_records=max_records, min_records=min_records)


def _random_group(most: int, rng: np.random.Generator) -> tuple[int, bool]:
    """How many records differ (half of the time: all that may), and whether they are alike."""
    if most == 1:
        return 1, False
    count = most if rng.random() < 0.5 else int(rng.integers(1, most, endpoint=True))
    return count, bool(rng.random() < 0.5)


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


def _sizes_in_words(relation: RecordRelation, fewest: int) -> str:
    least, most = relation.min_records, relation.max_records
    if least == most:
        return f"{most} record{'s' if most != 1 else ''}"
    return f"at most {most} records" if least <= fewest else f"{least} to {most} records"
