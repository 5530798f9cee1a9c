"""Changes of a pair, record by record, that keep most of it; and what two pairs have in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.domains import Explorable, explorable
from dpaudit.neighbours import ABSENT, Pair, Slot, Structured, is_shared, shared

TRIES = 20  # changes that leave the relation before a parent is given up
FURTHER = 0.4  # chance of one more change after each

Slots = Sequence[Slot]
Change = Callable[[Slots, Explorable, np.random.Generator], "list[Slot] | None"]


class Mutations:
    """Makes new pairs of a relation out of others."""

    def __init__(self, relation: Structured, rng: np.random.Generator) -> None:
        self._relation = relation
        self._domain = explorable(relation.domain)
        self._rng = rng

    def slots(self, pair: Pair) -> Slots | None:
        """How the pair was built, or else how it can be laid out; None if it is of elsewhere.

        A pair from `join` or `choose` remembers, and to lay it out again would check it again.
        """
        return self._relation.align(pair) if pair.slots is None else pair.slots

    def changed(self, slots: Slots) -> Pair | None:
        """A pair that differs in one thing or a few from the pair of these slots, if one came."""
        rng = self._rng
        for _ in range(TRIES):
            found: Slots | None = slots
            while found:
                found = CHANGES[int(rng.integers(len(CHANGES)))](found, self._domain, rng)
                if rng.random() >= FURTHER:
                    break
            if found and (pair := self._relation.join(found)) is not None:
                return pair
        return None

    def crossed(self, one: Slots, other: Slots) -> Pair | None:
        """A pair with shared records of both, and the difference of one of them, if one came."""
        pool = [slot for slot in (*one, *other) if is_shared(slot)]
        for _ in range(TRIES):
            first, second = (one, other) if self._rng.random() < 0.5 else (other, one)
            child = []
            for place, slot in enumerate(first):
                if is_shared(slot):
                    child.append(_one(pool, self._rng))
                else:  # relations in which every record may move mix the moves, too
                    twin = second[place] if place < len(second) else slot
                    mixes = not is_shared(twin) and self._rng.random() < 0.5
                    child.append(twin if mixes else slot)
            if (pair := self._relation.join(child)) is not None:
                return pair
        return None


def _duplicate(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    place = int(rng.integers(len(slots) + 1))
    return [*slots[:place], shared(_record(slots, rng)), *slots[place:]]


def _drop(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    places = [place for place, slot in enumerate(slots) if is_shared(slot)]
    if not places:
        return None
    place = _one(places, rng)
    return [*slots[:place], *slots[place + 1 :]]


def _swap(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    if len(slots) < 2:
        return None
    one, other = rng.choice(len(slots), size=2, replace=False)
    changed = list(slots)
    changed[one], changed[other] = slots[other], slots[one]
    return changed


def _to_edge(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    place = int(rng.integers(len(slots)))
    slot = slots[place]
    return _with(slots, place, _exchanged(slot, _present(slot, rng), _one(domain.edges(), rng)))


def _copy(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    """One record onto another: equal records are rare by chance and often what matters."""
    place = int(rng.integers(len(slots)))
    slot = slots[place]
    return _with(slots, place, _exchanged(slot, _present(slot, rng), _record(slots, rng)))


def _copy_slot(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    """One slot onto another, with its difference: this is how query answers move together."""
    return _with(slots, int(rng.integers(len(slots))), _one(slots, rng))


def _nudge(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    return _near(slots, int(rng.integers(len(slots))), domain, rng)


def _nudge_difference(
    slots: Slots, domain: Explorable, rng: np.random.Generator
) -> list[Slot] | None:
    places = [place for place, slot in enumerate(slots) if not is_shared(slot)]
    return _near(slots, _one(places, rng), domain, rng) if places else None


def _pass_on(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    """Make a shared record the differing one, and the differing one shared."""
    same = [place for place, slot in enumerate(slots) if is_shared(slot)]
    apart = [place for place, slot in enumerate(slots) if not is_shared(slot)]
    if not same or not apart:
        return None
    to, source = _one(same, rng), _one(apart, rng)
    record, (old, new) = slots[to].data, slots[source]
    passed = Slot(ABSENT, record) if old is ABSENT else Slot(record, new)
    kept = shared(new if old is ABSENT else old)
    return _with(_with(slots, to, passed), source, kept)


def _turn(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    """Turn one of several differences round."""
    places = [place for place, slot in enumerate(slots) if not is_shared(slot)]
    if len(places) < 2:
        return None
    place = _one(places, rng)
    return _with(slots, place, slots[place].swapped())


CHANGES: tuple[Change, ...] = (
    _duplicate,
    _drop,
    _swap,
    _to_edge,
    _copy,
    _copy_slot,
    _pass_on,
    _turn,
    *(_nudge, _nudge_difference) * 3,  # most of a climb is small steps
)


def _near(slots: Slots, place: int, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    """Move one record of a slot a little, or a long way."""
    record = _present(slots[place], rng)
    return _with(slots, place, _exchanged(slots[place], record, domain.near(record, rng)))


def _exchanged(slot: Slot, old: Any, new: Any) -> Slot:
    """The slot with another record: on both sides of a shared one, on one side of another."""
    if is_shared(slot):
        return shared(new)
    return Slot(*(new if side is old else side for side in slot))


def _record(slots: Slots, rng: np.random.Generator) -> Any:
    return _present(_one(slots, rng), rng)


def _present(slot: Slot, rng: np.random.Generator) -> Any:
    return _one([side for side in slot if side is not ABSENT], rng)


def _with(slots: Slots, place: int, slot: Slot) -> list[Slot]:
    return [*slots[:place], slot, *slots[place + 1 :]]


def _one(choices: Sequence[Any], rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]
