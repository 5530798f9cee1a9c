"""Plainer pairs: fewer records, fewer that differ, equal records, rounder values.

Every candidate costs a reader strictly less than the pair it came from, so shrinking ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dpaudit.domains import canonical, explorable
from dpaudit.neighbours import ABSENT, Pair, Slot, Structured, is_shared

Slots = tuple[Slot, ...]
Cost = tuple[int, int, int, float]


def plainer(relation: Structured, pair: Pair) -> Iterator[Pair]:
    """Pairs of the relation that are plainer than this one, the boldest changes first.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> relation = replace_one(floats(-1, 1), max_records=5)
    >>> print(next(plainer(relation, relation.join([Slot(0.25, 0.25), Slot(0.7, -0.31)]))))
    data=[0.7], neighbour=[-0.31]
    """
    slots = relation.align(pair)
    if slots is None:
        return
    now, seen = cost(relation, slots), {pair.key()}
    for changed in _changes(relation, slots):
        if cost(relation, changed) < now:
            found = relation.join(changed)
            if found is not None and found.key() not in seen:
                seen.add(found.key())
                yield found


def cost(relation: Structured, slots: Sequence[Slot]) -> Cost:
    """What a reader has to take in: records, differences, different values, and how plain each is.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> cost(replace_one(floats(-1, 1)), [Slot(0.0, 0.0), Slot(0.0, 1.0)])[:3]
    (2, 1, 2)
    """
    plainness = explorable(relation.domain).plainness
    records = {canonical(record): record for slot in slots for record in _records(slot)}
    return (
        len(slots),
        sum(not is_shared(slot) for slot in slots),
        len(records),
        sum(plainness(record) for slot in slots for record in _records(slot)),
    )


def _changes(relation: Structured, slots: Slots) -> Iterator[Slots]:
    yield from _fewer(slots)
    yield from _taking_over(slots)
    yield from _less_different(slots)
    yield from _more_alike(slots)
    yield from _rounder(relation, slots)


def _fewer(slots: Slots) -> Iterator[Slots]:
    """Without all shared records, a half of them, a quarter, ..., one."""
    shared = [place for place, slot in enumerate(slots) if is_shared(slot)]
    size = len(shared)
    while size > 0:
        for start in range(0, len(shared), size):
            gone = set(shared[start : start + size])
            yield tuple(slot for place, slot in enumerate(slots) if place not in gone)
        size //= 2


def _taking_over(slots: Slots) -> Iterator[Slots]:
    """Without one shared record, which takes the place of a record that differs."""
    for gone, slot in enumerate(slots):
        if is_shared(slot):
            for place, other in enumerate(slots):
                if not is_shared(other):
                    for taken in _replaced(other, slot.data):
                        left = _with(slots, place, taken)
                        yield left[:gone] + left[gone + 1 :]


def _replaced(slot: Slot, record: Any) -> list[Slot]:
    """The slot with another record on one side, where there is one."""
    found = [] if slot.data is ABSENT else [Slot(record, slot.neighbour)]
    return found if slot.neighbour is ABSENT else [*found, Slot(slot.data, record)]


def _less_different(slots: Slots) -> Iterator[Slots]:
    """With one difference less: taken away, or the same record on both sides."""
    for place, slot in enumerate(slots):
        if not is_shared(slot):
            yield slots[:place] + slots[place + 1 :]
            for record in _records(slot):
                yield _with(slots, place, Slot(record, record))


def _more_alike(slots: Slots) -> Iterator[Slots]:
    """With all shared records equal, or one equal to another."""
    found = {canonical(record): record for slot in slots for record in _records(slot)}
    for record in found.values():
        yield tuple(Slot(record, record) if is_shared(slot) else slot for slot in slots)
    for place, slot in enumerate(slots):
        if is_shared(slot):
            for record in found.values():
                yield _with(slots, place, Slot(record, record))


def _rounder(relation: Structured, slots: Slots) -> Iterator[Slots]:
    """With a plainer record: everywhere it stands, on one side, or in one place."""
    simpler = explorable(relation.domain).simpler
    found = {canonical(record): record for slot in slots for record in _records(slot)}
    for key, record in found.items():
        for plain in simpler(record):
            yield tuple(Slot(*(_swapped(side, key, plain) for side in slot)) for slot in slots)
    for place, slot in enumerate(slots):
        if not is_shared(slot):
            for record in _records(slot):
                for plain in simpler(record):
                    yield from (_with(slots, place, one) for one in _replaced(slot, plain))


def _swapped(side: Any, key: str, plain: Any) -> Any:
    return plain if side is not ABSENT and canonical(side) == key else side


def _with(slots: Slots, place: int, slot: Slot) -> Slots:
    return (*slots[:place], slot, *slots[place + 1 :])


def _records(slot: Slot) -> list[Any]:
    """The records of a slot, a shared one once."""
    sides = slot[:1] if is_shared(slot) else slot
    return [side for side in sides if side is not ABSENT]
