"""Two neighbouring datasets: how they are told apart and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from dpaudit.domains import canonical, shown


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT  # a slot's side that holds no record


class Slot(NamedTuple):
    """One place of two datasets laid side by side: what either holds there, or `ABSENT`."""

    data: Any
    neighbour: Any

    def swapped(self) -> Slot:
        return Slot(self.neighbour, self.data)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two neighbouring datasets. Equal pairs have equal keys, exact to the last bit of a float.

    `slots` says how a relation built the pair, record by record; it is no part of what the pair is.

    >>> import numpy as np
    >>> print(Pair(np.array([1.0]), np.array([])))
    data=[1.0], neighbour=[]
    """

    data: Any
    neighbour: Any
    slots: tuple[Slot, ...] | None = field(default=None, repr=False, kw_only=True)

    def swapped(self) -> Pair:
        slots = None if self.slots is None else tuple(slot.swapped() for slot in self.slots)
        return Pair(self.neighbour, self.data, slots=slots)

    def key(self) -> str:
        return f"{canonical(self.data)} | {canonical(self.neighbour)}"

    def __eq__(self, other: object) -> bool:
        return self.key() == other.key() if isinstance(other, Pair) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key())

    def __str__(self) -> str:
        return f"data={shown(self.data)}, neighbour={shown(self.neighbour)}"


NO_DATASETS = Pair("outputs", "neighbour_outputs")  # stands for the datasets where none are given
