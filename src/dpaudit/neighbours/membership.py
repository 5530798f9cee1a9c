"""Whether a pair that came from elsewhere belongs to a relation: pinned, kept or given beside it.

A relation of ours says why not (`why_not`). A user's own has `contains`, which is all that a
relation needs. A finder of the user's own, with `ask()` and `tell()` alone, cannot be asked.
"""

from __future__ import annotations

from typing import Any

from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.fixed import FixedPairs, pairs
from dpaudit.neighbours.pair import Pair
from dpaudit.neighbours.reasons import OTHERWISE
from dpaudit.neighbours.relation import Structured


def why_not(neighbours: Any, pair: Pair) -> str | None:
    """Why a pair does not belong to these neighbours; None if it does, or nobody can be asked.

    What cannot be checked does not belong: a map without an inverse, for one.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours.records import replace_one
    >>> why_not(replace_one(floats(0, 1)), Pair([0.0], [50.0]))
    '50.0 is not in floats(0, 1)'
    """
    relation = pairs(neighbours) if isinstance(neighbours, (list, tuple)) else neighbours
    ask = getattr(relation, "why_not", None)
    if callable(ask):
        reason: str | None = ask(pair)
        return reason
    contains = getattr(relation, "contains", None)
    return None if not callable(contains) or contains(pair) else OTHERWISE


def fitted(neighbours: Any, pair: Pair, *, what: str, remedy: str = "") -> Pair:
    """The pair as these neighbours make it; InvalidRelation with the reason if it is none of them.

    What a user writes may have another form than what a mechanism is given: a list of numbers for
    an array. `what` names the pair in the error, `remedy` says what to do.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours.records import replace_one
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
        made = None if slots is None else relation.join(slots)
        return pair if made is None else made
    return pair
