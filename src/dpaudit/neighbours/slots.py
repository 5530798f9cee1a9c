"""Two datasets laid side by side, record by record: joined into a pair, found again in a pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dpaudit.domains import Domain, canonical
from dpaudit.neighbours.pair import ABSENT, Pair, Slot
from dpaudit.neighbours.relation import Structured

Layouts = Callable[[list[Any], list[Any]], Iterable[Sequence[Slot]]]


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
    return None if canonical(pair.data) == canonical(pair.neighbour) else pair


def aligned(relation: Structured, pair: Pair, layouts: Layouts) -> tuple[Slot, ...] | None:
    """The slots that the pair remembers, or else the first layout of its records that joins.

    What a pair remembers counts only if it gives the very same datasets. A mapped domain may know
    no way back from its datasets to the records, so memory comes first.
    """
    if pair.slots is not None and relation.join(pair.slots) == pair:
        return pair.slots
    try:
        data, neighbour = relation.domain.unpack(pair.data), relation.domain.unpack(pair.neighbour)
    except Exception:  # not its datasets: the inverse of a map may raise anything
        return None
    for slots in layouts(data, neighbour):
        if (found := relation.join(slots)) is not None:
            return found.slots
    return None


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
