"""The relations in which one record differs, or a group of them: added or removed, or replaced.

Datasets are ordered: neighbours differ in a few places, and all other records keep theirs.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any, overload

import numpy as np

from dpaudit.domains import Chooser, Domain, chosen_whole, explorable, is_domain, shown
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.pair import (
    ABSENT,
    Pair,
    Slot,
    interleaved,
    is_shared,
    joined,
    once,
    pair_of,
    removed_and_added,
    shared,
    side_by_side,
    sides,
)
from dpaudit.neighbours.queries import QueryAnswers, query_answers
from dpaudit.neighbours.relation import (
    ALIKE,
    SIDES,
    StructuredRelation,
    chosen_slots,
    counted,
    edge_sizes,
    random_records,
    random_size,
    seen_by_mechanism,
    told_apart,
    whole_number,
)

MAX_WEAKER_EDGES = 6  # edge pairs for each smaller number of differing records
MAX_RECORD_DRAWS = 100  # of another record before an edge is taken
REPEAT_SHARE = 0.25  # of the random pairs: the first record that differs repeats another one


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRelation(StructuredRelation):
    """Datasets of `min_records` to `max_records` records, of which 1 to `apart` differ."""

    domain: Domain = field()  # or the property of `Structured` would be its default
    max_records: int
    min_records: int
    apart: int = 1

    def edge_pairs(self) -> Iterator[Pair]:
        fewer = sorted({self.apart - 1, self.apart // 2, 1} - {0, self.apart}, reverse=True)
        weaker = (islice(once(self._edges(count)), MAX_WEAKER_EDGES) for count in fewer)
        return once(chain(self._edges(self.apart), *weaker))

    def join(self, slots: Sequence[Slot]) -> Pair | None:
        if not all(self.min_records <= len(side) <= self.max_records for side in sides(slots)):
            return None
        changed = [slot for slot in slots if not is_shared(slot)]
        if not 1 <= len(changed) <= self.apart or not all(map(self._is_change, changed)):
            return None
        return joined(self.domain, slots)

    @abstractmethod
    def _edges(self, count: int) -> Iterator[Pair]:
        """Pairs of extreme records, `count` of which differ, the smallest datasets first."""

    @abstractmethod
    def _chosen_counts(self, chooser: Chooser, count: int) -> tuple[int, int, int]:
        """If `count` records differ: how many are old, how many new; the fewest records of data."""

    @abstractmethod
    def _slots(self, data: list[Any], neighbour: list[Any], most: int) -> list[Slot] | None:
        """The datasets side by side with at most `most` records differing; None if impossible."""

    @abstractmethod
    def _is_change(self, slot: Slot) -> bool:
        """Whether a slot that is not shared may be part of a pair."""

    @abstractmethod
    def _change(self, old: Sequence[Any], new: Sequence[Any]) -> list[Slot]:
        """The records that differ, side by side."""

    def _reasons(self, data: list[Any], neighbour: list[Any]) -> Iterator[str | None]:
        least, most = self.min_records, self.max_records
        for name, records in zip(SIDES, (data, neighbour), strict=True):
            found = f"{name} has {counted(len(records), 'record')}"
            yield f"{found}, at most {most} are allowed" if len(records) > most else None
            yield f"{found}, at least {least} are needed" if len(records) < least else None
        slots = self._slots(data, neighbour, len(data) + len(neighbour))
        if slots is None:
            sizes = f"data has {counted(len(data), 'record')} and neighbour {len(neighbour)}"
            yield f"{sizes}: where records are replaced, both have as many"
            return
        changed, most = sum(not is_shared(slot) for slot in slots), self.apart
        far = f"the datasets differ in {counted(changed, 'record')}, at most {most} may differ"
        yield ALIKE if changed == 0 else far if changed > most else None

    def _layouts(self, data: list[Any], neighbour: list[Any]) -> list[list[Slot]]:
        slots = self._slots(data, neighbour, self.apart)
        return [] if slots is None else [slots]

    def _chosen(self, chooser: Chooser) -> Pair | None:
        count = chosen_whole(chooser, "apart", 1, self.apart)
        old, new, fewest = self._chosen_counts(chooser, count)
        others = chosen_whole(chooser, "records", fewest, self.max_records) - old
        ask = partial(explorable(self.domain).choose, chooser)
        change = self._change
        return self.join(chosen_slots(chooser, ask, others=others, old=old, new=new, change=change))

    def _edge_records(self) -> list[Any]:
        """The edges of the domain that a mechanism can tell apart."""
        return told_apart(self.domain, self.domain.edges())

    def _random_old(self, rest: list[Any], count: int, rng: np.random.Generator) -> list[Any]:
        """Records that will differ: sometimes the first repeats one of the rest."""
        repeats = len(rest) > 0 and rng.random() < REPEAT_SHARE
        first = rest[0] if repeats else self.domain.draw(rng)
        return [first, *(self.domain.draw(rng) for _ in range(count - 1))]

    def _another(self, record: Any, rng: np.random.Generator) -> Any:
        """A random record that a mechanism can tell from this one."""
        seen = seen_by_mechanism(self.domain, record)
        for _ in range(MAX_RECORD_DRAWS):
            drawn = self.domain.draw(rng)
            if seen_by_mechanism(self.domain, drawn) != seen:
                return drawn
        edges = self.domain.edges()
        return next(edge for edge in edges if seen_by_mechanism(self.domain, edge) != seen)

    def _in_words(self, how: str, fewest: int) -> str:
        least, most = self.min_records, self.max_records
        sizes = f"at most {most} records" if least <= fewest else f"{least} to {most} records"
        sizes = counted(most, "record") if least == most else sizes
        groups = f"groups of at most {self.apart}: " if self.apart > 1 else ""
        return f"{groups}{how} one of {sizes} of {self.domain}"

    def _pair(
        self,
        before: Sequence[Any],
        old: Sequence[Any],
        new: Sequence[Any],
        after: Sequence[Any] = (),
    ) -> Pair:
        change = self._change(old, new)
        return pair_of(self.domain, [*map(shared, before), *change, *map(shared, after)])


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOrRemove(RecordRelation):
    """Up to `apart` records added or removed; `data` is the bigger dataset."""

    @property
    def most_slots(self) -> int:
        return self.max_records + self.apart // 2  # half of them removed, half of them added

    def _random(self, rng: np.random.Generator) -> Pair:
        count, alike = _random_group(self.apart, rng)
        added = 0 if count == 1 or rng.random() < 0.5 else self._most_added(count)
        removed = count - added
        size = random_size(self._fewest(removed, added), self.max_records, rng)
        rest = random_records(self.domain, size - removed, rng)
        old = self._random_old(rest, removed, rng)
        place = int(rng.integers(size - removed + 1))
        new = [self._another(old[0], rng) for _ in range(added)]
        if alike:
            old, new = old[:1] * removed, new[:1] * added
        return self._pair(rest[:place], old, new, rest[place:])

    def describe(self) -> str:
        return self._in_words("add or remove", 0)

    def _edges(self, count: int) -> Iterator[Pair]:
        edges = self._edge_records()
        high, low = edges[0], edges[:2][-1]
        many_high, many_low, half_added = [high] * count, [low] * count, self._most_added(count)
        sizes = edge_sizes(self.min_records + count, self.max_records)
        for size in sizes:
            others = size - count
            all_high, all_low = [high] * others, [low] * others
            half = [high] * (others // 2) + [low] * (others - others // 2)
            yield self._pair(all_low, many_high, [])
            yield self._pair(all_high, many_high, [])
            yield self._pair(all_high, many_low, [])
            yield self._pair(all_low, many_low, [])
            yield self._pair([], many_high, [], all_low)
            yield self._pair(half, many_high, [])
            yield self._pair(half, many_low, [])
            if half_added > 0:
                yield self._pair(all_low, many_high[half_added:], many_low[:half_added])
            if size == sizes[:2][-1]:  # the less extreme records once, beside another record
                yield from (self._pair(all_low, [edge] * count, [], []) for edge in edges[2:])

    def _chosen_counts(self, chooser: Chooser, count: int) -> tuple[int, int, int]:
        added = chosen_whole(chooser, "added", 0, self._most_added(count))
        return count - added, added, self._fewest(count - added, added)

    def _most_added(self, count: int) -> int:
        """Half of those that differ; none where all records are alike to a mechanism."""
        return count // 2 if count > 1 and len(self._edge_records()) > 1 else 0

    def _fewest(self, removed: int, added: int) -> int:
        """The size of the smallest data that leave enough records on both sides."""
        return removed + max(0, self.min_records - added)

    def _slots(self, data: list[Any], neighbour: list[Any], most: int) -> list[Slot] | None:
        return interleaved(data, neighbour, most)

    def _is_change(self, slot: Slot) -> bool:
        return slot.data is ABSENT or slot.neighbour is ABSENT

    def _change(self, old: Sequence[Any], new: Sequence[Any]) -> list[Slot]:
        return removed_and_added(old, new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace(RecordRelation):
    """Up to `apart` records replaced by others; both datasets have the same size."""

    @property
    def most_slots(self) -> int:
        return self.max_records

    def _random(self, rng: np.random.Generator) -> Pair:
        count, alike = _random_group(self.apart, rng)
        size = random_size(max(self.min_records, count), self.max_records, rng)
        rest = random_records(self.domain, size - count, rng)
        old = self._random_old(rest, count, rng)
        place = int(rng.integers(size - count + 1))
        if alike:
            old = old[:1] * count
            new = [self._another(old[0], rng)] * count
        else:
            new = [self._another(record, rng) for record in old]
        return self._pair(rest[:place], old, new, rest[place:])

    def describe(self) -> str:
        return self._in_words("replace", 1)

    def _edges(self, count: int) -> Iterator[Pair]:
        edges = self._edge_records()
        high, low, plain = [edges[0]], [edges[1]], [edges[:3][-1]]
        many_high, many_low = high * count, low * count
        sizes = edge_sizes(max(self.min_records, count), self.max_records)
        for size in sizes:
            others = size - count
            half = high * (others // 2) + low * (others - others // 2)
            for rest in (low * others, high * others, half, plain * others):
                yield self._pair(rest, many_high, many_low)
            yield self._pair([], many_high, many_low, low * others)
            if size in sizes[:2]:  # the less extreme records, in the smallest datasets
                for edge in edges[2:]:
                    yield self._pair(low * others, many_high, [edge] * count)
                for edge in edges[2:4]:
                    yield self._pair(low * others, many_low, [edge] * count)

    def _chosen_counts(self, chooser: Chooser, count: int) -> tuple[int, int, int]:
        return count, count, max(self.min_records, count)

    def _slots(self, data: list[Any], neighbour: list[Any], most: int) -> list[Slot] | None:
        return next(iter(side_by_side(data, neighbour)), None)

    def _is_change(self, slot: Slot) -> bool:
        return slot.data is not ABSENT and slot.neighbour is not ABSENT

    def _change(self, old: Sequence[Any], new: Sequence[Any]) -> list[Slot]:
        return list(map(Slot, old, new))


def add_or_remove_one(
    domain: Domain, *, max_records: int = 10, min_records: int = 0
) -> AddOrRemove:
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
    return AddOrRemove(domain=domain, max_records=max_records, min_records=min_records)


def replace_one(domain: Domain, *, max_records: int = 10, min_records: int = 1) -> Replace:
    """Neighbours differ in one record ("bounded" differential privacy).

    >>> from dpaudit.domains import floats
    >>> print(next(replace_one(floats(-1, 1), max_records=5).edge_pairs()))
    data=[1.0], neighbour=[-1.0]
    """
    min_records, max_records = _sizes("replace_one", domain, min_records, max_records, 1)
    if len(told_apart(domain, domain.edges())) < 2:
        raise InvalidRelation(
            f"replace_one needs a domain with at least two records, got {domain}. Widen it."
        )
    return Replace(domain=domain, max_records=max_records, min_records=min_records)


def _random_group(most: int, rng: np.random.Generator) -> tuple[int, bool]:
    """How many records differ (half of the time as many as allowed), and whether they are alike."""
    if most == 1:
        return 1, False
    count = most if rng.random() < 0.5 else int(rng.integers(1, most, endpoint=True))
    return count, bool(rng.random() < 0.5)


def _sizes(name: str, domain: Any, least: Any, most: Any, fewest: int) -> tuple[int, int]:
    if not is_domain(domain):
        raise TypeError(f"{name} needs a domain such as floats(0, 1), got {domain!r}.")
    least, most = whole_number(name, "min_records", least), whole_number(name, "max_records", most)
    if least < fewest:
        raise InvalidRelation(f"{name} needs min_records of at least {fewest}, got {least}.")
    if most < max(least, 1):
        raise InvalidRelation(
            f"{name} needs max_records of at least {max(least, 1)}, got {most}. Raise it."
        )
    return least, most


@overload
def group(relation: AddOrRemove, size: int) -> AddOrRemove: ...
@overload
def group(relation: Replace, size: int) -> Replace: ...
@overload
def group(relation: QueryAnswers, size: int) -> QueryAnswers: ...
def group(
    relation: AddOrRemove | Replace | QueryAnswers, size: int
) -> AddOrRemove | Replace | QueryAnswers:
    """Neighbours are up to `size` steps of the relation apart: a family, not a person.

    Audit the claim for the group. A mechanism that is epsilon-DP for one record is
    (size * epsilon)-DP for a group (Dwork and Roth 2014, theorem 2.2), so refuting that refutes
    both. Query answers move `size` times as far; a range that was left out grows with them.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> couples = group(replace_one(floats(0, 1), max_records=5), 2)
    >>> print(couples.describe())
    groups of at most 2: replace one of at most 5 records of floats(0, 1)
    >>> print(next(couples.edge_pairs()))
    data=[1.0, 1.0], neighbour=[0.0, 0.0]
    """
    size = whole_number("group", "size", size)
    if size < 1:
        raise InvalidRelation(f"group needs a size of at least 1, got {size}.")
    match relation:
        case AddOrRemove(apart=1, max_records=most, min_records=least):
            room, what = most - least, "max_records - min_records"
        case Replace(apart=1, max_records=most):
            room, what = most, "max_records"
        case QueryAnswers(length=length, sensitivity=step, norm=norm, low=low, high=high):
            left_out = relation == query_answers(length, step, norm=norm)
            limits = {} if left_out else {"low": low, "high": high}
            return query_answers(length, size * step, norm=norm, **limits)
        case _:
            raise TypeError(
                f"group needs add_or_remove_one, replace_one or query_answers, got "
                f"{shown(relation)}. List the pairs of other groups: pairs([(a, b), ...])."
            )
    if size > room:
        raise InvalidRelation(
            f"a group of {size} needs {what} of at least {size}, got {room}. Raise max_records."
        )
    return dataclasses.replace(relation, apart=size)
