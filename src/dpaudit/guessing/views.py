"""Ways to look at outputs: as they are, by steps from column to column, one column, sum or end.

A leak may show in one of them and be hidden from the others: what a running total adds at each step
is a step, not a total, and which query stopped a mechanism shows in where its output ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpaudit.outputs import MINUS_INF, MISSING, NAN, NONE, PLUS_INF, Table

View: TypeAlias = Callable[[Table], Table]

_MOST_COLUMNS = 32  # of outputs that are looked at in more than one way
_FEW = 8  # values: so few are words rather than numbers


def views(table: Table) -> dict[str, View]:
    """The ways to look at outputs like these, by name.

    >>> sorted(views(Table(np.zeros((5, 2)), None)))
    ['column 0', 'column 1', 'steps', 'sums', 'whole']
    >>> list(views(Table(np.zeros((5, 1)), None)))
    ['whole']
    """
    found: dict[str, View] = {"whole": lambda outputs: outputs}
    if not 1 < table.columns <= _MOST_COLUMNS:
        return found
    if table.atoms is None:
        found["steps"] = steps
    found |= _endings(table) or {"sums": Sums(words=table.atoms is not None)}
    return found | {f"column {place}": Single(place) for place in range(table.columns)}


def steps(table: Table) -> Table:
    """The first column, and what each one adds to the one before.

    >>> steps(Table(np.array([[1.0, 3.0, 2.0]]), None)).numbers.tolist()
    [[1.0, 2.0, -1.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        added = np.diff(table.numbers, axis=1, prepend=0.0)
    return Table(np.nan_to_num(added), None)


@dataclass(frozen=True, slots=True)
class Sums:
    """How many cells are numbers, their total, least and largest; if there are words, how many too.

    >>> table = Table(np.array([[4.0, 2.0, 0.0]]), np.array([[-1, -1, 1]]))
    >>> Sums(words=True)(table).numbers.tolist()
    [[2.0, 6.0, 2.0, 4.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    >>> Sums(words=False)(table).numbers.tolist()
    [[2.0, 6.0, 2.0, 4.0]]
    """

    words: bool

    def __call__(self, table: Table) -> Table:
        """One row for each output."""
        codes = table.codes()
        is_number = codes < 0
        numbers = np.where(is_number, table.numbers, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [
                is_number.sum(axis=1),
                numbers.sum(axis=1),
                np.where(is_number, numbers, np.inf).min(axis=1),
                np.where(is_number, numbers, -np.inf).max(axis=1),
            ]
        if self.words:
            kinds = (MISSING, NAN, PLUS_INF, MINUS_INF, NONE)
            columns += [(codes == kind).sum(axis=1) for kind in kinds]
        return Table(np.nan_to_num(np.column_stack(columns).astype(np.float64)), None)


def ending(table: Table) -> Table:
    """The place of the last number in each row, and the number; None where there is none.

    >>> ending(Table(np.array([[0.0, 7.0, 0.0]]), np.array([[3, -1, 0]]))).numbers.tolist()
    [[1.0, 7.0]]
    """
    is_number = table.codes() < 0
    place = table.columns - 1 - np.argmax(is_number[:, ::-1], axis=1)
    numbers = np.column_stack([place, table.numbers[np.arange(len(table)), place]])
    found = np.asarray(is_number.any(axis=1))[:, None]
    atoms = np.where(found, -1, NONE).repeat(2, axis=1).astype(np.int32)
    return Table(np.where(found, numbers, 0.0), atoms)


def _endings(table: Table) -> dict[str, View]:
    """The view `ending` where rows have one number at most, not always at the same place."""
    is_number = table.codes() < 0
    single = is_number.sum(axis=1).max(initial=0) == 1 and is_number.any(axis=0).sum() > 1
    values = len(np.unique(table.numbers[is_number])) if single else 0
    return {"ending": ending} if values > _FEW else {}


class Single:
    """One column alone."""

    def __init__(self, place: int) -> None:
        self._place = [place]

    def __call__(self, table: Table) -> Table:
        atoms = None if table.atoms is None else table.atoms[:, self._place]
        return Table(table.numbers[:, self._place], atoms)
