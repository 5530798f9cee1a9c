"""The relation of the pairs that the user lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.neighbours.relation import InvalidRelation, finder_named
from dpaudit.pair import Pair, shown

if TYPE_CHECKING:
    from dpaudit.finders import Finder


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPairs:
    """The pairs that the user listed, and no others."""

    listed: tuple[Pair, ...]

    def edge_pairs(self) -> Iterator[Pair]:
        return iter(self.listed)

    def random_pair(self, rng: np.random.Generator) -> Pair:
        return self.listed[int(rng.integers(len(self.listed)))]

    def contains(self, pair: Pair) -> bool:
        return pair in self.listed or pair.swapped() in self.listed

    def search(self, rng: np.random.Generator) -> Finder:
        return finder_named("fixed", self, rng)

    def describe(self) -> str:
        return f"{len(self.listed)} given pair{'s' if len(self.listed) != 1 else ''}"


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
