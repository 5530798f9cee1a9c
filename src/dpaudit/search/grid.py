"""The finders without chance: "fixed" (the given pairs, or the edges) and "grid" (all pairs)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpaudit.domains import canonical, explorable
from dpaudit.neighbours import (
    ABSENT,
    Pair,
    QueryAnswers,
    Relation,
    Slot,
    Structured,
    is_shared,
    shared,
)
from dpaudit.search.finder import RelationFinder

MAX_STALLED_GRIDS = 4  # finer grids without a new record, before a domain counts as finite

Slots = Sequence[Slot]
Shape = tuple[tuple[int | None, int | None], ...]  # the number of the record on either side


class FixedFinder:
    """Proposes the edge pairs of a relation (for `pairs`: all of them) in their order, then None.

    >>> from dpaudit.neighbours import pairs
    >>> finder = FixedFinder(pairs([([1.0], [])]), np.random.default_rng(7))
    >>> print(finder.ask(), finder.ask())
    data=[1.0], neighbour=[] None
    """

    def __init__(self, relation: Relation, rng: np.random.Generator) -> None:
        self._pairs = list(relation.edge_pairs())
        self._left = iter(self._pairs)

    def __len__(self) -> int:
        """How many pairs there are in all."""
        return len(self._pairs)

    def ask(self) -> Pair | None:
        """The next pair; None after the last."""
        return next(self._left, None)

    def tell(self, pair: Pair, score: float) -> None:
        """Learn nothing: the pairs and their order are given."""


class GridFinder(RelationFinder):
    """Proposes the pairs of grids of 2, 3, 5, 9, ... records, until there are no others.

    It takes the pairs of the relation's edges and replaces their records by those of the grid: all
    shared ones by the same record, the differing ones by every other. Then come all sizes between.
    Query answers move as they do at the edges, from every answer of the grid. A relation whose
    pairs cannot be taken apart gets its edge pairs only.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import add_or_remove_one
    >>> relation = add_or_remove_one(floats(0, 1), max_records=2)
    >>> finder = GridFinder(relation, np.random.default_rng(7))
    >>> for _ in range(3):
    ...     print(finder.ask())
    data=[1.0], neighbour=[]
    data=[0.0], neighbour=[]
    data=[0.5], neighbour=[]
    """

    def prepare(self) -> None:
        self._pairs = _grid_pairs(self.relation)

    def ask(self) -> Pair | None:
        return next(filter(self.memory.meet, self._pairs), None)


def _grid_pairs(relation: Relation) -> Iterator[Pair]:
    """All pairs of ever finer grids; the pairs of a coarser grid come again in the finer."""
    if not isinstance(relation, Structured):
        yield from relation.edge_pairs()
        return
    for slots in _grid_slots(relation):
        if (pair := relation.join(slots)) is not None:
            yield pair


def _grid_slots(relation: Structured) -> Iterator[Slots]:
    """The slots of what may be pairs of the grids."""
    laid = [slots for pair in relation.edge_pairs() if (slots := relation.align(pair)) is not None]
    shapes = _shapes(laid, relation.most_slots)
    values: Sequence[Any] = ()
    for values in _finer_grids(relation):
        if isinstance(relation, QueryAnswers):
            yield from _moved_answers(relation, values)
            continue
        for shape in shapes:
            numbers = 1 + max(which for sides in shape for which in sides if which is not None)
            for filling in itertools.product(values, repeat=numbers):
                yield [_filled(sides, filling) for sides in shape]
    yield from _all_slots(relation, laid, values)


def _finer_grids(relation: Structured) -> Iterator[Sequence[Any]]:
    """The grids that have more records than the one before; it ends where the domain is finite."""
    domain, before, stalled, points = explorable(relation.domain), 0, 0, 2
    while stalled < MAX_STALLED_GRIDS:
        values = domain.grid(points)
        stalled = stalled + 1 if len(values) == before else 0
        if stalled == 0:
            yield values
        before, points = len(values), 2 * points - 1


def _shapes(laid: Sequence[Slots], most: int) -> list[Shape]:
    """The shapes of the edge pairs, whatever their records; then the same in all sizes between."""
    edges = sorted(dict.fromkeys(map(_shape, laid)), key=len)
    between: list[Shape] = []
    for shape in edges:
        same = [sides for sides in shape if sides[0] == sides[1]]
        if len(set(same)) == 1:
            place = shape.index(same[0])
            stretches = [same[:1] * more for more in range(1, most - len(shape) + 1)]
            between += [(*shape[:place], *stretch, *shape[place:]) for stretch in stretches]
    return list(dict.fromkeys([*edges, *sorted(between, key=len)]))


def _shape(slots: Slots) -> Shape:
    """The records as numbers: equal ones with the same part in the pair have the same number."""
    numbers: dict[str, int] = {}

    def number(part: str, record: Any) -> int | None:
        if record is ABSENT:
            return None
        return numbers.setdefault(f"{part} {canonical(record)}", len(numbers))

    found = []
    for slot in slots:
        parts = ("both", "both") if is_shared(slot) else ("data", "neighbour")
        found.append((number(parts[0], slot.data), number(parts[1], slot.neighbour)))
    return tuple(found)


def _filled(sides: tuple[int | None, int | None], filling: Sequence[Any]) -> Slot:
    return Slot(*(ABSENT if which is None else filling[which] for which in sides))


def _moved_answers(relation: QueryAnswers, values: Sequence[float]) -> Iterator[Slots]:
    """The moves of the edge pairs, from every answer of the grid."""
    for edge in relation.edge_pairs():
        moves = (edge.neighbour - edge.data).tolist()
        for value in values:
            yield [Slot(value, value + move) for move in moves]


def _all_slots(
    relation: Structured, laid: Sequence[Slots], values: Sequence[Any]
) -> Iterator[Slots]:
    """All slots of these records: as many differ, and in the ways, as in the edge pairs."""
    apart = [[slot for slot in slots if not is_shared(slot)] for slots in laid]
    ways = dict.fromkeys(tuple(s is ABSENT for s in slot) for slots in apart for slot in slots)
    sides = [[[ABSENT] if absent else values for absent in way] for way in ways]
    options = [Slot(*records) for way in sides for records in itertools.product(*way)]
    same = [shared(value) for value in values]
    for size in range(1, relation.most_slots + 1):
        for count in range(1, min(size, max(map(len, apart))) + 1):
            for places in itertools.combinations(range(size), count):
                choices = [options if place in places else same for place in range(size)]
                yield from itertools.product(*choices)
