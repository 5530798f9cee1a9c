"""Group privacy: neighbours that are several steps of a relation apart."""

from __future__ import annotations

import dataclasses
from typing import Any, overload

from dpaudit.domains import shown
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.queries import QueryAnswers, query_answers
from dpaudit.neighbours.records import AddOrRemove, Replace
from dpaudit.neighbours.relation import whole_number


@overload
def group(relation: AddOrRemove, size: int) -> AddOrRemove: ...
@overload
def group(relation: Replace, size: int) -> Replace: ...
@overload
def group(relation: QueryAnswers, size: int) -> QueryAnswers: ...
def group(
    relation: AddOrRemove | Replace | QueryAnswers, size: int
) -> AddOrRemove | Replace | QueryAnswers:
    """Neighbours are up to `size` steps of the relation apart: a family, not a person.

    The claim to audit is the one for the group. A mechanism that is epsilon-DP for one record is
    (size * epsilon)-DP for a group (Dwork and Roth 2014, theorem 2.2), so `PureDP(size * epsilon)`
    follows from `PureDP(epsilon)`, and refuting it refutes both. Query answers move `size` times as
    far; a range that was left out grows with them.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> couples = group(replace_one(floats(0, 1), max_records=5), 2)
    >>> print(couples.describe())
    groups of at most 2: replace one of at most 5 records of floats(0, 1)
    >>> print(next(couples.edge_pairs()))
    data=[1.0, 1.0], neighbour=[0.0, 0.0]
    """
    size = whole_number("group", "size", size)
    if size < 1:
        raise InvalidRelation(f"group needs a size of at least 1, got {size}.")
    match relation:
        case AddOrRemove(apart=1, max_records=most, min_records=least):
            room, what = most - least, "max_records - min_records"
        case Replace(apart=1, max_records=most):
            room, what = most, "max_records"
        case QueryAnswers():
            return _further(relation, size)
        case _:
            raise TypeError(
                f"group needs add_or_remove_one, replace_one or query_answers, got "
                f"{shown(relation)}. List the pairs of other groups: pairs([(a, b), ...])."
            )
    if size > room:
        raise InvalidRelation(
            f"a group of {size} needs {what} of at least {size}, got {room}. Raise max_records."
        )
    return dataclasses.replace(relation, apart=size)


def _further(relation: QueryAnswers, size: int) -> QueryAnswers:
    length, far = relation.length, size * relation.sensitivity
    kept: dict[str, Any] = {"norm": relation.norm}
    if relation == query_answers(length, relation.sensitivity, **kept):
        return query_answers(length, far, **kept)
    return query_answers(length, far, low=relation.low, high=relation.high, **kept)
