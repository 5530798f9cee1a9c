"""The finder "grid": every pair of ever finer grids, the smallest datasets first, no chance."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpaudit.domains import canonical, explorable
from dpaudit.neighbours import ABSENT, Pair, QueryAnswers, Relation, Slot, Structured, is_shared
from dpaudit.search.memory import Memory
from dpaudit.search.searching import Search

STALLED = 4  # finer grids without a new record after which a domain counts as finite

Shape = tuple[
    tuple[int | None, int | None], ...
]  # for either side of a slot: which record, or none


class GridFinder(Search):
    """Proposes the pairs of grids of 2, 3, 5, 9, ... records, until there are no others.

    In the pairs of the relation's edges the records are replaced by those of the grid: all shared
    ones by the same, the differing ones by every other. Then come all sizes between. Query answers
    move as they do at the edges, from every answer of the grid. A relation whose pairs cannot be
    taken apart gets its edge pairs only.

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

    name = "grid"

    def __init__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> None:
        super().__init__(relation, rng, memory)
        self._pairs = grid_pairs(relation)
        self._passed = 0

    def ask(self) -> Pair | None:
        for pair in self._pairs:
            self._passed += 1
            if self.memory.meet(pair):
                return pair
        return None

    def own_state(self) -> dict[str, Any]:
        return {"passed": self._passed}

    def restore_own(self, state: dict[str, Any]) -> None:
        self._passed = state["passed"]
        self._pairs = itertools.islice(grid_pairs(self.relation), self._passed, None)


def grid_pairs(relation: Relation) -> Iterator[Pair]:
    """All pairs of ever finer grids; a coarser grid's pairs come again in the finer."""
    if not isinstance(relation, Structured):
        yield from relation.edge_pairs()
        return
    laid = [slots for pair in relation.edge_pairs() if (slots := relation.align(pair)) is not None]
    shapes = _shapes(laid, relation.most_slots)
    values: Sequence[Any] = ()
    for values in _finer_grids(relation):
        if isinstance(relation, QueryAnswers):
            yield from _moved_answers(relation, values)
            continue
        for shape in shapes:
            labels = 1 + max(which for sides in shape for which in sides if which is not None)
            for filling in itertools.product(values, repeat=labels):
                yield from _joined(relation, [_filled(sides, filling) for sides in shape])
    yield from _all_pairs(relation, laid, values)


def _finer_grids(relation: Structured) -> Iterator[Sequence[Any]]:
    """The grids that have a record more than the one before; ends where the domain is finite."""
    domain, before, stalled, points = explorable(relation.domain), 0, 0, 2
    while stalled < STALLED:
        values = domain.grid(points)
        stalled = stalled + 1 if len(values) == before else 0
        if stalled == 0:
            yield values
        before, points = len(values), 2 * points - 1


def _shapes(laid: Sequence[Sequence[Slot]], most: int) -> list[Shape]:
    """How the edge pairs lie, whatever their records; then the same in all sizes between."""
    edges = sorted(dict.fromkeys(map(_shape, laid)), key=len)
    between: list[Shape] = []
    for shape in edges:
        shared = [sides for sides in shape if sides[0] == sides[1]]
        if len(set(shared)) == 1:
            place = shape.index(shared[0])
            stretches = [shared[:1] * more for more in range(1, most - len(shape) + 1)]
            between += [(*shape[:place], *stretch, *shape[place:]) for stretch in stretches]
    return list(dict.fromkeys([*edges, *sorted(between, key=len)]))


def _shape(slots: Sequence[Slot]) -> Shape:
    """Numbers for the records: equal ones have one number if their part in the pair is the same."""
    numbers: dict[str, int] = {}

    def number(part: str, record: Any) -> int | None:
        if record is ABSENT:
            return None
        return numbers.setdefault(f"{part} {canonical(record)}", len(numbers))

    found = []
    for slot in slots:
        same = is_shared(slot)
        sides = zip(("data", "neighbour"), slot, strict=True)
        data, neighbour = (number("both" if same else side, record) for side, record in sides)
        found.append((data, neighbour))
    return tuple(found)


def _filled(sides: tuple[int | None, int | None], filling: Sequence[Any]) -> Slot:
    return Slot(*(ABSENT if which is None else filling[which] for which in sides))


def _moved_answers(relation: QueryAnswers, values: Sequence[float]) -> Iterator[Pair]:
    """The moves of the edge pairs, from every answer of the grid."""
    for edge in relation.edge_pairs():
        for value in values:
            moves = (edge.neighbour - edge.data).tolist()
            yield from _joined(relation, [Slot(value, value + move) for move in moves])


def _all_pairs(
    relation: Structured, laid: Sequence[Sequence[Slot]], values: Sequence[Any]
) -> Iterator[Pair]:
    """Every pair of these records: as many differ, and in the ways, as in the edge pairs."""
    apart = [[slot for slot in slots if not is_shared(slot)] for slots in laid]
    ways = dict.fromkeys(tuple(s is ABSENT for s in slot) for slots in apart for slot in slots)
    sides = [[[ABSENT] if absent else values for absent in way] for way in ways]
    options = [Slot(*records) for way in sides for records in itertools.product(*way)]
    same = [Slot(value, value) for value in values]
    for size in range(1, relation.most_slots + 1):
        for count in range(1, min(size, max(map(len, apart))) + 1):
            for places in itertools.combinations(range(size), count):
                choices = [options if place in places else same for place in range(size)]
                for slots in itertools.product(*choices):
                    yield from _joined(relation, slots)


def _joined(relation: Structured, slots: Sequence[Slot]) -> Iterator[Pair]:
    pair = relation.join(slots)
    if pair is not None:
        yield pair
