"""The pairs that a user lists, and whether a pair from elsewhere belongs to a relation.

A pair may come from a pin, a file or a list beside the relation. A relation of ours says why it
does not belong (`why_not`); a user's own relation has `contains`. A user's own finder, with `ask()`
and `tell()` alone, cannot be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.architecture import Structured
from dpaudit.domains import shown
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.pair import Pair
from dpaudit.neighbours.relation import UNRELATED, counted


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPairs:
    """The pairs that the user listed, and no others."""

    listed: tuple[Pair, ...]

    def edge_pairs(self) -> Iterator[Pair]:
        return iter(self.listed)

    def random_pair(self, rng: np.random.Generator) -> Pair:
        return self.listed[int(rng.integers(len(self.listed)))]

    def contains(self, pair: Pair) -> bool:
        return self.listed_as(pair) is not None

    def why_not(self, pair: Pair) -> str | None:
        return None if self.contains(pair) else f"it is none of the {self.describe()}"

    def listed_as(self, pair: Pair) -> Pair | None:
        """The listed pair that this is, either way round; a list may stand for an array.

        >>> pairs([(np.array([1.0]), np.array([]))]).listed_as(Pair([], [1.0])).data
        array([], dtype=float64)
        """
        for form in (Pair.key, _as_lists):
            ours, swapped = form(pair), form(pair.swapped())
            for listed in self.listed:
                if form(listed) == ours:
                    return listed
                if form(listed) == swapped:
                    return listed.swapped()
        return None

    def describe(self) -> str:
        return counted(len(self.listed), "given pair")


def _as_lists(pair: Pair) -> str:
    """The key of the pair with lists in the place of arrays of plain numbers."""
    plain = [
        side.tolist() if type(side) is np.ndarray and side.dtype.kind in "biufU" else side
        for side in (pair.data, pair.neighbour)
    ]
    return Pair(*plain).key()


def pairs(listed: Iterable[Pair | tuple[Any, Any]]) -> FixedPairs:
    """The given pairs, in the given order.

    >>> pairs([([1.0], []), ([1.0, 2.0], [1.0])]).describe()
    '2 given pairs'
    """
    found = []
    for entry in listed:
        if not isinstance(entry, Pair) and not (isinstance(entry, tuple) and len(entry) == 2):
            raise TypeError(
                f"pairs needs Pairs or 2-tuples, got {shown(entry)}. Write pairs([(a, b), ...])."
            )
        found.append(entry if isinstance(entry, Pair) else Pair(*entry))
    if not found:
        raise InvalidRelation("pairs needs at least one pair, got none: pairs([(a, b)]).")
    return FixedPairs(listed=tuple(found))


def why_not(neighbours: Any, pair: Pair) -> str | None:
    """Why a pair does not belong to these neighbours; None if it does, or they cannot be asked.

    What cannot be checked does not belong, for example behind a map without an inverse.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> why_not(replace_one(floats(0, 1)), Pair([0.0], [50.0]))
    '50.0 is not in floats(0, 1)'
    """
    relation = pairs(neighbours) if isinstance(neighbours, (list, tuple)) else neighbours
    ask: Callable[[Pair], str | None] | None = getattr(relation, "why_not", None)
    if callable(ask):
        return ask(pair)
    contains = getattr(relation, "contains", None)
    return None if not callable(contains) or contains(pair) else UNRELATED


def fitted(neighbours: Any, pair: Pair, *, what: str, remedy: str = "") -> Pair:
    """The pair as these neighbours make it; InvalidRelation with the reason if it is none of them.

    What a user writes may have another form than what a mechanism is given: a list of numbers for
    an array. `what` names the pair in the error, `remedy` says what to do.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> fitted(replace_one(floats(0, 1)), Pair([0], [1]), what="the pair").data
    array([0.])
    """
    relation = pairs(neighbours) if isinstance(neighbours, (list, tuple)) else neighbours
    if (reason := why_not(relation, pair)) is not None:
        describe = getattr(relation, "describe", None)
        words = describe() if callable(describe) else type(relation).__name__
        raise InvalidRelation(
            f"{what} is not a pair of {words}: {reason}. The pair: {pair}.{remedy}"
        )
    if isinstance(relation, FixedPairs):
        return relation.listed_as(pair) or pair
    if isinstance(relation, Structured) and not isinstance(relation, type):
        slots = relation.align(pair)
        return (None if slots is None else relation.join(slots)) or pair
    return pair
