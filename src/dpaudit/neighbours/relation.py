"""What a relation must offer, and what all of ours are made of."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from dpaudit.domains import Chooser, canonical
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.pair import Pair, Slot

if TYPE_CHECKING:
    from dpaudit.domains import Domain


@runtime_checkable
class Relation(Protocol):
    """Which pairs count as neighbours. Any object with these methods is a relation.

    Ours also say why a pair does not belong to them: `why_not(pair)`, None if it does.
    """

    def edge_pairs(self) -> Iterator[Pair]:
        """The pairs to try first: the same every time, small datasets first, none twice."""

    def random_pair(self, rng: np.random.Generator) -> Pair:
        """A random pair."""

    def contains(self, pair: Pair) -> bool:
        """Whether the two datasets really are different neighbours, either way round."""

    def describe(self) -> str:
        """The relation in one line."""


@runtime_checkable
class Structured(Relation, Protocol):
    """A relation whose pairs can be taken apart, changed record by record, and joined again.

    That is what a search beyond random pairs needs, and what shrinking needs.
    """

    @property
    def domain(self) -> Domain:
        """What either side of a slot may hold."""

    @property
    def most_slots(self) -> int:
        """How many slots a pair has at most."""

    def align(self, pair: Pair) -> tuple[Slot, ...] | None:
        """The two datasets side by side; None if they are not neighbours of this relation."""

    def join(self, slots: Sequence[Slot]) -> Pair | None:
        """The pair of these slots, which it remembers; None if they are not neighbours."""

    def choose(self, chooser: Chooser) -> Pair:
        """A pair built of the chooser's answers; `Unsuitable` if they lead to none."""


def once(candidates: Iterable[Pair]) -> Iterator[Pair]:
    """The pairs of two different datasets, none twice."""
    seen: set[str] = set()
    for pair in candidates:
        key = pair.key()
        if key not in seen and canonical(pair.data) != canonical(pair.neighbour):
            seen.add(key)
            yield pair


def whole_number(name: str, what: str, number: Any) -> int:
    """The number, if it is whole; `name` and `what` say who needs it and for what."""
    try:
        return operator.index(number)
    except TypeError as error:
        raise InvalidRelation(f"{name} needs a whole number for {what}, got {number!r}.") from error
