"""Which pairs of datasets count as neighbours: one file per relation.

A relation (`pairs`, `add_or_remove_one`, `replace_one`, `query_answers`, `group`, and by user
`add_or_remove_user`, `replace_user`) knows its edge pairs, where most bugs show, how to draw a
random pair, and whether a pair belongs to it, or why not. All but `pairs` can also take a pair
apart, record by record, and build one of choices (`Structured`). Both directions of a pair are
always tested, so a relation lists it one way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.neighbours.fixed import FixedPairs, pairs
from dpaudit.neighbours.groups import AddOrRemoveGroup, ReplaceGroup, group
from dpaudit.neighbours.membership import fitted, why_not
from dpaudit.neighbours.queries import QueryAnswers, query_answers
from dpaudit.neighbours.records import AddOrRemoveOne, ReplaceOne, add_or_remove_one, replace_one
from dpaudit.neighbours.relation import InvalidRelation, Relation, Structured
from dpaudit.neighbours.users import (
    AddOrRemoveUser,
    ReplaceUser,
    add_or_remove_user,
    replace_user,
)
from dpaudit.pair import ABSENT, Pair, Slot, shown

if TYPE_CHECKING:
    from dpaudit.finders import Finder

__all__ = [
    "ABSENT",
    "AddOrRemoveGroup",
    "AddOrRemoveOne",
    "AddOrRemoveUser",
    "FixedPairs",
    "InvalidRelation",
    "Pair",
    "QueryAnswers",
    "Relation",
    "ReplaceGroup",
    "ReplaceOne",
    "ReplaceUser",
    "Slot",
    "Structured",
    "add_or_remove_one",
    "add_or_remove_user",
    "as_finder",
    "fitted",
    "group",
    "pairs",
    "query_answers",
    "replace_one",
    "replace_user",
    "why_not",
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
