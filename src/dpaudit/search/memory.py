"""What a search remembers: the pairs it met, what they scored, and which are still out.

Memory is bounded: the told pairs that scored best and those told of last are kept whole, all others
as a fingerprint, so that none is proposed twice.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit.domains import canonical, decoded, encoded
from dpaudit.neighbours import ABSENT, Pair, Relation, Slot, Structured

REMEMBERED = 256  # told pairs that are kept whole
LATEST = 128  # of them, at least, those told of last
AWAITED = 64  # proposed pairs whose score is still waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A pair and its latest score; how many times it was told of says how sure the score is."""

    mark: str
    pair: Pair
    score: float
    times: int


class Memory:
    """The pairs that were met, told of and waited for. Several searches may share one.

    A pair and its swap are one pair here: both directions are always tested together.

    >>> memory, pair = Memory(), Pair([1.0], [])
    >>> memory.meet(pair), memory.meet(pair.swapped())
    (True, False)
    >>> memory.tell(pair, 0.5)
    >>> [(str(told.pair), told.score) for told in memory.best(3)]
    [('data=[1.0], neighbour=[]', 0.5)]
    """

    def __init__(self, *, repeat: bool = False) -> None:
        self.repeat = repeat
        self._seen: set[str] = set()
        self._told: dict[str, Told] = {}  # the one told of last comes last
        self._awaited: dict[str, Pair] = {}

    def meet(self, pair: Pair) -> bool:
        """Whether the pair may be proposed: it is new, or pairs may repeat. Now it was met."""
        mark = fingerprint(pair)
        if not self._may_come(mark):
            return False
        self._seen.add(mark)
        self._awaited[mark] = pair
        if len(self._awaited) > AWAITED:
            del self._awaited[next(iter(self._awaited))]
        return True

    def is_new(self, pair: Pair) -> bool:
        """Whether the pair may be proposed."""
        return self._may_come(fingerprint(pair))

    def tell(self, pair: Pair, score: float) -> None:
        """Remember the score; it replaces an earlier one."""
        if not score >= 0.0:
            raise ValueError(f"a score must be a number of at least 0, got {score!r}.")
        mark = fingerprint(pair)
        self._seen.add(mark)
        self._awaited.pop(mark, None)
        before = self._told.pop(mark, None)
        times = 1 if before is None else before.times + 1
        known = min(float(score), sys.float_info.max)  # an infinite score is still only the best
        self._told[mark] = Told(mark=mark, pair=pair, score=known, times=times)
        if len(self._told) > REMEMBERED:
            old = list(self._told)[-LATEST - 1 :: -1]  # of equals the first stay: the edge pairs
            del self._told[min(old, key=lambda one: self._told[one].score)]

    @property
    def told(self) -> list[Told]:
        """The pairs with a score, the one told of last at the end."""
        return list(self._told.values())

    @property
    def awaited(self) -> list[Pair]:
        """The pairs that were proposed and not told of yet."""
        return list(self._awaited.values())

    @property
    def best_score(self) -> float:
        """The best score there is; 0 before anything was told."""
        return max((told.score for told in self._told.values()), default=0.0)

    def best(self, count: int) -> list[Told]:
        """The best told pairs, the best first."""
        return sorted(self._told.values(), key=lambda told: -told.score)[:count]

    def state(self, relation: Relation) -> dict[str, Any]:
        """The memory as plain JSON values."""
        return {
            "seen": sorted(self._seen),
            "told": [[_written(t.pair, relation), t.score, t.times] for t in self._told.values()],
            "awaited": [_written(pair, relation) for pair in self._awaited.values()],
        }

    def restore(self, state: dict[str, Any], relation: Relation) -> None:
        """Remember what another memory did. A record that JSON cannot hold is not met again."""
        self._seen = set(state["seen"])
        self._told, self._awaited = {}, {}
        for form, score, times in state["told"]:
            if (pair := _read(form, relation)) is not None:
                mark = fingerprint(pair)
                self._told[mark] = Told(mark=mark, pair=pair, score=score, times=times)
        for form in state["awaited"]:
            if (pair := _read(form, relation)) is not None:
                self._awaited[fingerprint(pair)] = pair

    def _may_come(self, mark: str) -> bool:
        return self.repeat or mark not in self._seen


def fingerprint(pair: Pair) -> str:
    """A short text that two pairs share only if they are equal, or each other's swap.

    >>> fingerprint(Pair([1.0], [])) == fingerprint(Pair([], [1.0]))
    True
    """
    sides = sorted((canonical(pair.data), canonical(pair.neighbour)))
    return hashlib.blake2b(" | ".join(sides).encode(), digest_size=10).hexdigest()


def _written(pair: Pair, relation: Relation) -> dict[str, Any]:
    """The pair by its slots where they say all: some datasets (tables) are no JSON values."""
    if pair.slots is not None and isinstance(relation, Structured):
        joined = relation.join(pair.slots)
        if joined is not None and joined == pair:
            return {"slots": [_written_slot(slot) for slot in pair.slots]}
    return {"data": encoded(pair.data), "neighbour": encoded(pair.neighbour)}


def _written_slot(slot: Slot) -> dict[str, Any]:
    if slot.data is slot.neighbour:
        return {"both": encoded(slot.data)}
    sides = (("data", slot.data), ("neighbour", slot.neighbour))
    return {side: encoded(record) for side, record in sides if record is not ABSENT}


def _read(form: dict[str, Any], relation: Relation) -> Pair | None:
    if "slots" not in form:
        return Pair(decoded(form["data"]), decoded(form["neighbour"]))
    if not isinstance(relation, Structured):
        raise ValueError(f"the state belongs to another relation than {relation.describe()}.")
    return relation.join(_read_slots(form["slots"]))


def _read_slots(forms: Sequence[dict[str, Any]]) -> list[Slot]:
    slots = []
    for form in forms:
        if "both" in form:
            record = decoded(form["both"])
            slots.append(Slot(record, record))
        else:
            sides = (form.get("data", ABSENT), form.get("neighbour", ABSENT))
            slots.append(Slot(*(one if one is ABSENT else decoded(one) for one in sides)))
    return slots
