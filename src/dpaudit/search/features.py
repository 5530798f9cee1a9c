"""A pair as a row of numbers, for a model that predicts its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains import canonical, explorable
from dpaudit.neighbours import ABSENT, QueryAnswers, Slot, Structured, is_shared

MOST_COORDINATES = 16  # of a record; more are averaged in stretches
MOST_PLACED = 12  # slots laid out one by one where each has a part of its own
MOST_APART = 4  # slots laid out one by one where only a few differ

SIZE, DIFFERENCE, REST = range(3)  # the groups of columns, each with its own scale


class Features:
    """Turns the slots of a pair into numbers in [0, 1], as many for every pair of the relation.

    What differs is laid out side by side. The shared records, whose order seldom matters, are
    summed up: how many are different, their mean, their least and greatest coordinates. Query
    answers keep their places instead, for each has a part of its own.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> features = Features(replace_one(floats(0, 1), max_records=2))
    >>> features.row([Slot(1.0, 0.25)]).tolist()[:7]
    [0.5, 0.5, 0.0, 1.0, 1.0, 1.0, 0.25]
    """

    def __init__(self, relation: Structured) -> None:
        self._domain = explorable(relation.domain)
        self._most = relation.most_slots
        self._placed = isinstance(relation, QueryAnswers)
        self._laid_out = min(self._most, MOST_PLACED if self._placed else MOST_APART)
        self._width = len(self._coordinates(self._domain.edges()[0]))
        self._step = 2 + 2 * self._width
        columns = [3, self._laid_out * self._step, 1 + 3 * self._width]
        self.groups = np.repeat([SIZE, DIFFERENCE, REST], columns)
        self._rest = sum(columns[:2])  # where the columns of the shared records begin

    def row(self, slots: Sequence[Slot]) -> NDArray[np.float64]:
        """The numbers of the pair with these slots."""
        apart = [place for place, slot in enumerate(slots) if self._placed or not is_shared(slot)]
        shown = apart[: self._laid_out]
        row = np.zeros(len(self.groups))
        row[0] = sum(slot.data is not ABSENT for slot in slots) / self._most
        row[1] = sum(slot.neighbour is not ABSENT for slot in slots) / self._most
        row[2] = shown[0] / self._most if shown else 0.0
        for turn, place in enumerate(shown):
            start = 3 + turn * self._step
            row[start : start + self._step] = self._laid(slots[place])
        rest = [slot.data for place, slot in enumerate(slots) if place not in shown]
        if rest:
            row[self._rest :] = self._summed_up(rest)
        return row

    def _laid(self, slot: Slot) -> NDArray[np.float64]:
        here = [float(side is not ABSENT) for side in slot]
        return np.concatenate([here, *map(self._coordinates, slot)])

    def _summed_up(self, records: Sequence[Any]) -> NDArray[np.float64]:
        table = np.array(list(map(self._coordinates, records)))
        different = len(set(map(canonical, records))) / self._most
        return np.concatenate([[different], table.mean(0), table.min(0), table.max(0)])

    def _coordinates(self, record: Any) -> NDArray[np.float64]:
        if record is ABSENT:
            return np.zeros(self._width)
        found = np.asarray(self._domain.coordinates(record), dtype=np.float64)
        if len(found) <= MOST_COORDINATES:
            return found
        return np.array([part.mean() for part in np.array_split(found, MOST_COORDINATES)])
