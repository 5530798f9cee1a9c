"""Which pairs of datasets count as neighbours: one file per relation.

A relation (`pairs`, `add_or_remove_one`, `replace_one`, `query_answers`) knows its edge pairs,
where most bugs show, how to draw a random pair, and whether a pair belongs to it. Both directions
of a pair are always tested, so a relation lists it one way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.neighbours.fixed import FixedPairs, pairs
from dpaudit.neighbours.queries import QueryAnswers, query_answers
from dpaudit.neighbours.records import AddOrRemoveOne, ReplaceOne, add_or_remove_one, replace_one
from dpaudit.neighbours.relation import InvalidRelation, Relation
from dpaudit.pair import Pair, shown

if TYPE_CHECKING:
    from dpaudit.finders import Finder

__all__ = [
    "AddOrRemoveOne",
    "FixedPairs",
    "InvalidRelation",
    "Pair",
    "QueryAnswers",
    "Relation",
    "ReplaceOne",
    "add_or_remove_one",
    "as_finder",
    "pairs",
    "query_answers",
    "replace_one",
]


def as_finder(neighbours: Any, rng: np.random.Generator) -> Finder:
    """What proposes the pairs: a relation's finder, the user's own, or one for a list of pairs.

    >>> finder = as_finder([([1.0], [])], np.random.default_rng(0))
    >>> print(finder.ask(), finder.ask())
    data=[1.0], neighbour=[] None
    """
    if isinstance(neighbours, (list, tuple)):
        return pairs(neighbours).search(rng)
    if not isinstance(neighbours, type):  # a class has the methods too, but nobody to call them on
        if isinstance(neighbours, Relation):
            return neighbours.search(rng)
        if all(callable(getattr(neighbours, name, None)) for name in ("ask", "tell")):
            finder: Finder = neighbours
            return finder
    raise TypeError(
        f"neighbours must be a relation such as replace_one(floats(0, 1)), a list of pairs, or an "
        f"object with ask() and tell(pair, score), got {shown(neighbours)}."
    )
