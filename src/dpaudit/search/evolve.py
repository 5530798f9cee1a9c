"""The finder "evolve": the best pairs so far, changed record by record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.domains import Explorable, explorable, one_of
from dpaudit.neighbours import ABSENT, Pair, Slot, Structured, is_shared, shared
from dpaudit.search.finder import RelationFinder
from dpaudit.search.spread import SpreadFinder

POPULATION_SIZE = 16  # the best pairs, which may become parents
TOURNAMENT_SIZE = 3  # pairs drawn from them; the best of these becomes a parent
FRESH_SHARE = 0.1  # of the proposals: from anywhere in the relation
FRESH_SHARE_UNSCORED = 0.7  # the same, as long as nothing has scored
CROSSED_SHARE = 0.2  # of the proposals: with two parents
MAX_CHANGES = 20  # that leave the relation, before a parent is given up
FURTHER_CHANCE = 0.4  # of one more change after each

Slots = Sequence[Slot]
Change = Callable[[Slots, Explorable, np.random.Generator], "list[Slot] | None"]


class EvolveFinder(RelationFinder):
    """Proposes changes of the best pairs: a record doubled, dropped, moved, made the differing one.

    It climbs from a pair that shows a little to one that shows much, in any domain. A relation
    whose pairs cannot be taken apart (only those of `Structured` relations can) gets random pairs.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> relation = replace_one(floats(0, 1), max_records=3)
    >>> finder = EvolveFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """

    def prepare(self) -> None:
        self._spread = SpreadFinder(self.relation, self.rng, self.memory)
        self._mutations = None if self.structured is None else Mutations(self.structured, self.rng)

    def propose(self) -> Pair | None:
        if self._mutations is None:
            return self._spread.propose()
        chance = self.rng.random()
        parent = self._parent(self._mutations)
        fresh = FRESH_SHARE if self.memory.best_score > 0.0 else FRESH_SHARE_UNSCORED
        if parent is None or chance < fresh:
            return self._spread.propose()
        if chance < fresh + CROSSED_SHARE:
            other = self._parent(self._mutations)
            return None if other is None else self._mutations.crossed(parent, other)
        return self._mutations.changed(parent)

    def _parent(self, mutations: Mutations) -> Slots | None:
        """The winner of a tournament; None if nothing was scored, or it is not of the relation."""
        population = self.memory.best(POPULATION_SIZE)
        if not population:
            return None
        drawn = self.rng.integers(len(population), size=TOURNAMENT_SIZE)
        winner = max((population[one] for one in drawn), key=lambda one: one.score)
        return mutations.slots(winner.pair)


class Mutations:
    """Makes new pairs of a relation out of others."""

    def __init__(self, relation: Structured, rng: np.random.Generator) -> None:
        self._relation = relation
        self._domain = explorable(relation.domain)
        self._rng = rng

    def slots(self, pair: Pair) -> Slots | None:
        """The slots of the pair; None if it is not of the relation.

        A pair from `join` or `choose` remembers them, which saves checking it again.
        """
        return self._relation.align(pair) if pair.slots is None else pair.slots

    def changed(self, slots: Slots) -> Pair | None:
        """A pair that differs from these slots in one thing or a few; None if none was found."""
        rng = self._rng
        for _ in range(MAX_CHANGES):
            found: Slots | None = slots
            while found:
                found = one_of(CHANGES, rng)(found, self._domain, rng)
                if rng.random() >= FURTHER_CHANCE:
                    break
            if found and (pair := self._relation.join(found)) is not None:
                return pair
        return None

    def crossed(self, one: Slots, other: Slots) -> Pair | None:
        """A pair with shared records of both and the difference of one; None if none was found."""
        pool = [slot for slot in (*one, *other) if is_shared(slot)]
        for _ in range(MAX_CHANGES):
            first, second = (one, other) if self._rng.random() < 0.5 else (other, one)
            child = []
            for place, slot in enumerate(first):
                if is_shared(slot):
                    child.append(one_of(pool, self._rng))
                else:  # relations in which every record may move mix the moves, too
                    opposite = second[place] if place < len(second) else slot
                    mixes = not is_shared(opposite) and self._rng.random() < 0.5
                    child.append(opposite if mixes else slot)
            if (pair := self._relation.join(child)) is not None:
                return pair
        return None


def _duplicate(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    place = int(rng.integers(len(slots) + 1))
    return [*slots[:place], shared(_record(one_of(slots, rng), rng)), *slots[place:]]


def _drop(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    places = _places(slots, same=True)
    if not places:
        return None
    place = one_of(places, rng)
    return [*slots[:place], *slots[place + 1 :]]


def _swap(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    if len(slots) < 2:
        return None
    one, other = rng.choice(len(slots), size=2, replace=False)
    return _with(_with(slots, one, slots[other]), other, slots[one])


def _to_edge(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    place = int(rng.integers(len(slots)))
    return _with_record(slots, place, lambda _: one_of(domain.edges(), rng), rng)


def _copy(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    """One record onto another: equal records are rare by chance and often what matters."""
    place = int(rng.integers(len(slots)))
    return _with_record(slots, place, lambda _: _record(one_of(slots, rng), rng), rng)


def _copy_slot(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    """One slot onto another, with its difference: this is how query answers move together."""
    return _with(slots, int(rng.integers(len(slots))), one_of(slots, rng))


def _nudge(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot]:
    place = int(rng.integers(len(slots)))
    return _with_record(slots, place, lambda record: domain.near(record, rng), rng)


def _nudge_apart(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    """Nudge one of the records that differ."""
    places = _places(slots, same=False)
    if not places:
        return None
    return _with_record(slots, one_of(places, rng), lambda record: domain.near(record, rng), rng)


def _pass_on(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    """Make a shared record the differing one, and the differing one shared."""
    same, apart = _places(slots, same=True), _places(slots, same=False)
    if not same or not apart:
        return None
    to, source = one_of(same, rng), one_of(apart, rng)
    record, (old, new) = slots[to].data, slots[source]
    passed = Slot(ABSENT, record) if old is ABSENT else Slot(record, new)
    kept = shared(new if old is ABSENT else old)
    return _with(_with(slots, to, passed), source, kept)


def _turn(slots: Slots, domain: Explorable, rng: np.random.Generator) -> list[Slot] | None:
    """Swap the two sides of one of several differences."""
    places = _places(slots, same=False)
    if len(places) < 2:
        return None
    place = one_of(places, rng)
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
    *(_nudge, _nudge_apart) * 3,  # most of a climb is small steps
)


def _with_record(
    slots: Slots, place: int, new: Callable[[Any], Any], rng: np.random.Generator
) -> list[Slot]:
    """The slots with a new record at this place: on both sides if they share it, else on one."""
    slot = slots[place]
    old = _record(slot, rng)
    record = new(old)
    if is_shared(slot):
        return _with(slots, place, shared(record))
    return _with(slots, place, Slot(*(record if side is old else side for side in slot)))


def _with(slots: Slots, place: int, slot: Slot) -> list[Slot]:
    return [*slots[:place], slot, *slots[place + 1 :]]


def _places(slots: Slots, *, same: bool) -> list[int]:
    """The places of the shared records, or of those that differ."""
    return [place for place, slot in enumerate(slots) if is_shared(slot) is same]


def _record(slot: Slot, rng: np.random.Generator) -> Any:
    return one_of([side for side in slot if side is not ABSENT], rng)
