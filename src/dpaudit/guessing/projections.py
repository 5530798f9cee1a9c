"""Ways to look at outputs: as they are, by steps from column to column, one column, sums, or ends.

A leak may show in one of them and be hidden from the others: what a running total adds at each step
is a step, not a total, and which query stopped a mechanism shows in where its output ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpaudit.arrays import Floats, Index
from dpaudit.guessing.guessers import Logistic, newton
from dpaudit.guessing.rows import LabelledRows
from dpaudit.outputs import MINUS_INF, MISSING, NAN, NONE, PLUS_INF, Table

Projection: TypeAlias = Callable[[Table], Table]

MIN_DRAWS_FOR_FINE = 1_000_000  # outputs: more than a coarse surface can use
_MAX_COLUMNS = 32  # of outputs that are looked at in more than one way
_MAX_WORDLIKE_VALUES = 8  # numbers with so few values are words rather than numbers
_QUANTILES = 400  # that stand for the numbers; every place has its own counts of them
_PLACE_PENALTY, _SHAPE_PENALTY = 4.0, 100.0  # of ridge regression
# Quantiles of the number where the slope of a surface may change, and waves over the places.
_COARSE = ((0.002, 0.01, 0.05, 0.2, 0.5, 0.95), 2)
_FINE = ((0.002, 0.01, 0.05, 0.15, 0.3, 0.5, 0.75, 0.95), 4)


def projections_for(table: Table) -> dict[str, Projection]:
    """The ways to look at outputs like these, by name.

    >>> sorted(projections_for(Table(np.zeros((5, 2)), None)))
    ['column 0', 'column 1', 'steps', 'sums', 'whole']
    >>> list(projections_for(Table(np.zeros((5, 1)), None)))
    ['whole']
    """
    found: dict[str, Projection] = {"whole": lambda outputs: outputs}
    if not 1 < table.columns <= _MAX_COLUMNS:
        return found
    if table.atoms is None:
        found["steps"] = steps
    if _has_endings(table):
        found["ending"] = ending
    else:
        found["sums"] = Sums(words=table.atoms is not None)
    return found | {f"column {place}": SingleColumn(place) for place in range(table.columns)}


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


@dataclass(frozen=True, slots=True)
class SingleColumn:
    """One column alone."""

    place: int

    def __call__(self, table: Table) -> Table:
        atoms = None if table.atoms is None else table.atoms[:, [self.place]]
        return Table(table.numbers[:, [self.place]], atoms)


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


def _has_endings(table: Table) -> bool:
    """Whether rows have one number at most, not always at the same place."""
    is_number = table.codes() < 0
    if is_number.sum(axis=1).max(initial=0) != 1 or is_number.any(axis=0).sum() < 2:
        return False
    return len(np.unique(table.numbers[is_number])) > _MAX_WORDLIKE_VALUES


class EndingSurface:
    """Guesses by where outputs end and with which number, as `ending` gives them.

    A mechanism that stops tells by when it stops, by the number it gives then, and most of all by
    both together. Log-odds that add up over the columns learn each place for itself, from the few
    outputs that end there. These are smooth over the places, so that neighbouring places teach each
    other: ridge logistic regression on ramps of the number, waves of the place and their products.

    >>> rng = np.random.default_rng(0)
    >>> place, value, labels = rng.integers(3, size=9000), rng.normal(size=9000), rng.random(9000)
    >>> labels = labels < np.where((place == 1) & (value < 0.0), 0.9, 0.5)
    >>> surface = EndingSurface()
    >>> surface.fit(LabelledRows.of(Table(np.column_stack([place, value]) * 1.0, None), labels))
    >>> shown = Table(np.array([[0.0, -1.0], [1.0, -1.0], [1.0, 1.0]]), None)
    >>> int(surface.log_odds(shown).argmax())
    1
    """

    def fit(self, seen: LabelledRows) -> None:
        """Learn from single draws; many of them teach a finer surface."""
        plain = seen.table.codes()[:, 0] < 0
        places, values = seen.table.numbers[plain].T
        knots, waves = _COARSE if len(seen.table) < MIN_DRAWS_FOR_FINE else _FINE
        self._last = float(places.max(initial=0.0))
        self._knots = np.unique(np.quantile(values, knots))
        self._waves = np.arange(1, waves + 1)
        # Quantiles of equal shares in the middle, and of ever smaller ones towards both ends.
        tail = np.geomspace(1e-5, 0.5, _QUANTILES // 2)
        grid = np.unique(np.quantile(values, np.concatenate([tail, 1.0 - tail])))
        cells, index = _cells(seen.table, grid)
        ones, zeros = (
            np.bincount(index[seen.labels == side], minlength=len(cells)).astype(np.float64)
            for side in (True, False)
        )
        features = self._features(cells)
        penalty = np.full(features.shape[2], _SHAPE_PENALTY)
        penalty[: int(self._last) + 2] = _PLACE_PENALTY
        start = np.zeros((1, len(penalty)))
        self._logistic = Logistic(*newton(features, ones, zeros, penalty[None], start))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every row."""
        return np.asarray(self._logistic.log_odds(self._features(table))[0])

    def uncertainty(self, table: Table) -> Floats:
        """The standard deviation of the log-odds of every row."""
        return np.asarray(np.sqrt(self._logistic.variance(self._features(table))[0]))

    def _features(self, table: Table) -> Floats:
        plain = (table.codes()[:, 0] < 0)[:, None]
        place, value = table.numbers[:, [0]], table.numbers[:, [1]]
        at_place = plain & (place == np.arange(self._last + 1))
        low, high = self._knots[:-1], self._knots[1:]
        ramps = plain * np.clip((high - value) / (high - low), 0.0, 1.0)
        waves = np.cos(np.pi * self._waves * (place + 0.5) / (self._last + 1.0))
        shapes = waves / (1.0 + self._waves / 2.0)
        products = (ramps[:, :, None] * shapes[:, None, :]).reshape(len(table), -1)
        return np.hstack([~plain, at_place, ramps, products])[None]


def _cells(table: Table, grid: Floats) -> tuple[Table, Index]:
    """Few rows that stand for all, the number moved to the grid, and the row of every output."""
    nearest = grid[np.searchsorted((grid[1:] + grid[:-1]) / 2.0, table.numbers[:, 1])]
    plain = table.codes()[:, 0] < 0
    rows = np.column_stack([plain, table.numbers[:, 0], np.where(plain, nearest, 0.0)])
    cells, index = np.unique(rows, axis=0, return_inverse=True)
    atoms = np.where(cells[:, [0]] > 0.0, -1, NONE).repeat(2, axis=1).astype(np.int32)
    return Table(cells[:, 1:], atoms), index.ravel()
