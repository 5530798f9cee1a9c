"""The relation of the pairs that the user lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.domains import shown
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.pair import Pair


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
        return f"{len(self.listed)} given pair{'s' if len(self.listed) != 1 else ''}"


def _as_lists(pair: Pair) -> str:
    """The key of the pair with lists in the place of arrays of plain numbers."""
    sides = (pair.data, pair.neighbour)
    plain = [
        side.tolist() if type(side) is np.ndarray and side.dtype.kind in "biufU" else side
        for side in sides
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
