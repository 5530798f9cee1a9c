"""Which pairs of datasets count as neighbours.

A relation (`pairs`, `add_or_remove_one`, `replace_one`, `query_answers`, `group`, and by user
`add_or_remove_user`, `replace_user`) knows its edge pairs, where most bugs show, how to draw a
random pair, and whether a pair belongs to it, or why not. All but `pairs` can also take a pair
apart, record by record, and build one of choices (`Structured`). Both directions of a pair are
always tested, so a relation lists it one way round.
"""

from dpaudit.architecture import Relation, Structured
from dpaudit.neighbours.fixed import FixedPairs, fitted, pairs, why_not
from dpaudit.neighbours.pair import (
    ABSENT,
    NO_DATASETS,
    Pair,
    Slot,
    interleaved,
    is_shared,
    pair_of,
    shared,
    side_by_side,
)
from dpaudit.neighbours.queries import QueryAnswers, query_answers
from dpaudit.neighbours.records import (
    AddOrRemove,
    RecordRelation,
    Replace,
    add_or_remove_one,
    group,
    replace_one,
)
from dpaudit.neighbours.users import UserRelation, add_or_remove_user, replace_user
