"""Two neighbouring datasets, whole and laid side by side record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from dpaudit.domains import Domain, canonical, shown


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT  # a slot's side that holds no record


class Slot(NamedTuple):
    """One place of two datasets laid side by side: what either holds there, or `ABSENT`."""

    data: Any
    neighbour: Any

    def swapped(self) -> Slot:
        return Slot(self.neighbour, self.data)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two neighbouring datasets. Equal pairs have equal keys, exact to the last bit of a float.

    `slots` says how a relation built the pair, record by record. It does not count for equality.

    >>> import numpy as np
    >>> print(Pair(np.array([1.0]), np.array([])))
    data=[1.0], neighbour=[]
    """

    data: Any
    neighbour: Any
    slots: tuple[Slot, ...] | None = field(default=None, repr=False, kw_only=True)

    def swapped(self) -> Pair:
        slots = None if self.slots is None else tuple(slot.swapped() for slot in self.slots)
        return Pair(self.neighbour, self.data, slots=slots)

    def key(self) -> str:
        return f"{canonical(self.data)} | {canonical(self.neighbour)}"

    def differs(self) -> bool:
        """Whether a mechanism could tell the two datasets apart."""
        return canonical(self.data) != canonical(self.neighbour)

    def __eq__(self, other: object) -> bool:
        return self.key() == other.key() if isinstance(other, Pair) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key())

    def __str__(self) -> str:
        return f"data={shown(self.data)}, neighbour={shown(self.neighbour)}"


NO_DATASETS = Pair("outputs", "neighbour_outputs")  # stands for the datasets where none are given


def once(candidates: Iterable[Pair | None]) -> Iterator[Pair]:
    """The pairs of two different datasets, none twice."""
    seen: set[str] = set()
    for pair in candidates:
        if pair is not None and (key := pair.key()) not in seen and pair.differs():
            seen.add(key)
            yield pair


def shared(record: Any) -> Slot:
    """The slot of a record that both datasets hold."""
    return Slot(record, record)


def is_shared(slot: Slot) -> bool:
    """Whether both datasets hold the same record here."""
    if slot.data is ABSENT or slot.neighbour is ABSENT:
        return False
    return slot.data is slot.neighbour or canonical(slot.data) == canonical(slot.neighbour)


def sides(slots: Iterable[Slot]) -> tuple[list[Any], list[Any]]:
    """The records of the two datasets."""
    laid = list(slots)
    data = [slot.data for slot in laid if slot.data is not ABSENT]
    return data, [slot.neighbour for slot in laid if slot.neighbour is not ABSENT]


def pair_of(domain: Domain, slots: Sequence[Slot]) -> Pair:
    """The pair of these slots, whatever they hold."""
    data, neighbour = sides(slots)
    return Pair(domain.dataset(data), domain.dataset(neighbour), slots=tuple(slots))


def joined(domain: Domain, slots: Sequence[Slot]) -> Pair | None:
    """The pair of these slots; None if one holds no record of the domain, or nothing differs.

    >>> from dpaudit.domains import floats
    >>> print(joined(floats(0, 1), [Slot(0.5, 0.5), Slot(1.0, ABSENT)]))
    data=[0.5, 1.0], neighbour=[0.5]
    >>> print(joined(floats(0, 1), [Slot(2.0, ABSENT)]), joined(floats(0, 1), [shared(0.5)]))
    None None
    """
    for slot in slots:
        records = slot[:1] if slot.data is slot.neighbour else slot
        present = [record for record in records if record is not ABSENT]
        if not present or not all(map(domain.contains, present)):
            return None
    pair = pair_of(domain, slots)
    return pair if pair.differs() else None


def removed_and_added(old: Iterable[Any], new: Iterable[Any]) -> list[Slot]:
    """The slots of records that only the data hold, then of those that only the neighbour does."""
    return [*(Slot(record, ABSENT) for record in old), *(Slot(ABSENT, record) for record in new)]


def side_by_side(data: Sequence[Any], neighbour: Sequence[Any]) -> list[list[Slot]]:
    """The one layout of datasets of the same size in which no record is absent."""
    return [list(map(Slot, data, neighbour))] if len(data) == len(neighbour) else []


def interleaved(data: Sequence[Any], neighbour: Sequence[Any], most: int) -> list[Slot] | None:
    """The layout with the fewest records absent on a side; None if there are more than `most`.

    The greedy search of Myers (1986): of all paths with the same number of absent records and the
    same balance of the two sides, only the furthest can be part of the best.

    >>> [slot.neighbour for slot in interleaved([1, 2, 3], [1, 3], 1)]
    [1, <Absent.ABSENT: 'absent'>, 3]
    """
    ours, theirs = list(map(canonical, data)), list(map(canonical, neighbour))
    paths: dict[int, tuple[int, list[Slot]]] = {0: (0, [])}  # by balance: records of data passed
    nowhere: tuple[int, list[Slot]] = (-1, [])
    for _ in range(most + 1):
        longer: dict[int, tuple[int, list[Slot]]] = {}
        for balance, (start, slots) in paths.items():
            place = start
            while ours[place : place + 1] == theirs[place - balance : place - balance + 1] != []:
                place += 1
            other = place - balance
            path = [*slots, *map(shared, data[start:place])]
            if place == len(ours) and other == len(theirs):
                return path
            if place < len(ours) and place + 1 > longer.get(balance + 1, nowhere)[0]:
                longer[balance + 1] = place + 1, [*path, Slot(data[place], ABSENT)]
            if other < len(theirs) and place > longer.get(balance - 1, nowhere)[0]:
                longer[balance - 1] = place, [*path, Slot(ABSENT, neighbour[other])]
        paths = longer
    return None
