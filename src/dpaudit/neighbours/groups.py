"""Group privacy: neighbours that are several steps of a relation apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

from dpaudit.domains import shown
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.queries import QueryAnswers, query_answers
from dpaudit.neighbours.records import AddOrRemove, AddOrRemoveOne, Replace, ReplaceOne
from dpaudit.neighbours.relation import whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOrRemoveGroup(AddOrRemove):
    """Up to `size` records added or removed, in any mixture."""

    size: int

    @property
    def apart(self) -> int:
        return self.size

    def describe(self) -> str:
        return f"groups of at most {self.size}: {AddOrRemove.describe(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceGroup(Replace):
    """Up to `size` records replaced."""

    size: int

    @property
    def apart(self) -> int:
        return self.size

    def describe(self) -> str:
        return f"groups of at most {self.size}: {Replace.describe(self)}"


@overload
def group(relation: AddOrRemoveOne, size: int) -> AddOrRemoveGroup: ...
@overload
def group(relation: ReplaceOne, size: int) -> ReplaceGroup: ...
@overload
def group(relation: QueryAnswers, size: int) -> QueryAnswers: ...
def group(
    relation: AddOrRemoveOne | ReplaceOne | QueryAnswers, size: int
) -> AddOrRemoveGroup | ReplaceGroup | QueryAnswers:
    """Neighbours are up to `size` steps of the relation apart: a family, not a person.

    The claim to audit is the one for the group. A mechanism that is epsilon-DP for one record is
    (size * epsilon)-DP for a group (Dwork and Roth 2014, theorem 2.2), so `PureDP(size * epsilon)`
    follows from `PureDP(epsilon)`, and refuting it refutes both. Query answers move `size` times as
    far; a range that was left out grows with them.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours.records import replace_one
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
        case AddOrRemoveOne(domain=domain, max_records=most, min_records=least):
            _check_room(size, most - least, "max_records - min_records")
            return AddOrRemoveGroup(domain=domain, max_records=most, min_records=least, size=size)
        case ReplaceOne(domain=domain, max_records=most, min_records=least):
            _check_room(size, most, "max_records")
            return ReplaceGroup(domain=domain, max_records=most, min_records=least, size=size)
        case QueryAnswers():
            return _further(relation, size)
    raise TypeError(
        f"group needs add_or_remove_one, replace_one or query_answers, got {shown(relation)}. "
        f"List the pairs of other groups: pairs([(a, b), ...])."
    )


def _check_room(size: int, room: int, what: str) -> None:
    if size > room:
        raise InvalidRelation(
            f"a group of {size} needs {what} of at least {size}, got {room}. Raise max_records."
        )


def _further(relation: QueryAnswers, size: int) -> QueryAnswers:
    length, far = relation.length, size * relation.sensitivity
    kept: dict[str, Any] = {"norm": relation.norm}
    if relation == query_answers(length, relation.sensitivity, **kept):
        return query_answers(length, far, **kept)
    return query_answers(length, far, low=relation.low, high=relation.high, **kept)
