"""A score of where outputs end and with which number, smooth in both together.

A mechanism that stops tells by when it stops, by the number it gives then, and most of all by both:
an early stop may speak for one side with a small number and for the other with a large one. A
score that adds up over the columns learns each place for itself, from the few outputs that end
there. This one is smooth over the places, so that neighbours teach each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.arrays import Floats, Index
from dpaudit.guessing.labelled import Labelled
from dpaudit.guessing.linear import newton, variances
from dpaudit.outputs import NONE, Table

_MANY = 1_000_000  # outputs: so many teach more than a coarse grain can say
_CELLS = 400  # quantiles that stand for the numbers; every place has its own counts of them
_PLACE, _SHAPE = 4.0, 100.0  # ridge penalties


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grain:
    """How fine a surface is: quantiles of the number where its slope may change, waves of place."""

    knots: tuple[float, ...]
    waves: int


_COARSE = _Grain(knots=(0.002, 0.01, 0.05, 0.2, 0.5, 0.95), waves=2)
_FINE = _Grain(knots=(0.002, 0.01, 0.05, 0.15, 0.3, 0.5, 0.75, 0.95), waves=4)


class Surface:
    """Ridge logistic regression on ramps of the number, waves of the place and their products.

    It reads what the view `ending` gives. Many outputs teach a finer one than few.

    >>> rng = np.random.default_rng(0)
    >>> place, value, labels = rng.integers(3, size=9000), rng.normal(size=9000), rng.random(9000)
    >>> labels = labels < np.where((place == 1) & (value < 0.0), 0.9, 0.5)
    >>> table = Table(np.column_stack([place, value]).astype(float), None)
    >>> score = Surface(Labelled(table, labels))
    >>> int(score(Table(np.array([[0.0, -1.0], [1.0, -1.0], [1.0, 1.0]]), None)).argmax())
    1
    """

    def __init__(self, seen: Labelled) -> None:
        plain = seen.table.codes()[:, 0] < 0
        places, values = seen.table.numbers[plain].T
        grain = _COARSE if len(seen.table) < _MANY else _FINE
        self._last = float(places.max(initial=0.0))
        self._knots = np.unique(np.quantile(values, grain.knots))
        self._waves = np.arange(1, grain.waves + 1)
        cells, index = _cells(seen.table, np.unique(np.quantile(values, _middles(_CELLS))))
        ones, zeros = (
            np.bincount(index[seen.labels == side], minlength=len(cells)).astype(np.float64)
            for side in (True, False)
        )
        features = self._features(cells)
        penalty = np.full(features.shape[1], _SHAPE)
        penalty[: int(self._last) + 2] = _PLACE
        start = np.zeros((1, len(penalty)))
        mode, covariance = newton(features[None], ones, zeros, penalty[None], start)
        self._beta, self._covariance = mode[0], covariance[0]

    def __call__(self, table: Table) -> Floats:
        """The log-odds of every row."""
        return np.asarray(self._features(table) @ self._beta)

    def uncertainty(self, table: Table) -> Floats:
        """The standard deviation of the log-odds of every row, as learned."""
        return np.sqrt(variances(self._features(table), self._covariance))

    def _features(self, table: Table) -> Floats:
        plain = (table.codes()[:, 0] < 0)[:, None]
        place, value = table.numbers[:, [0]], table.numbers[:, [1]]
        at_place = plain & (place == np.arange(self._last + 1))
        low, high = self._knots[:-1], self._knots[1:]
        ramps = plain * np.clip((high - value) / (high - low), 0.0, 1.0)
        waves = np.cos(np.pi * self._waves * (place + 0.5) / (self._last + 1.0))
        shapes = waves / (1.0 + self._waves / 2.0)
        products = (ramps[:, :, None] * shapes[:, None, :]).reshape(len(table), -1)
        return np.hstack([~plain, at_place, ramps, products])


def _middles(count: int) -> Floats:
    """Quantiles of equal shares in the middle, and of ever smaller ones towards both ends."""
    tail = np.geomspace(1e-5, 0.5, count // 2)
    return np.concatenate([tail, 1.0 - tail])


def _cells(table: Table, grid: Floats) -> tuple[Table, Index]:
    """Few rows that stand for all, the number moved to the grid, and the row of every output."""
    nearest = grid[np.searchsorted((grid[1:] + grid[:-1]) / 2.0, table.numbers[:, 1])]
    plain = table.codes()[:, 0] < 0
    rows = np.column_stack([plain, table.numbers[:, 0], np.where(plain, nearest, 0.0)])
    cells, index = np.unique(rows, axis=0, return_inverse=True)
    atoms = np.where(cells[:, [0]] > 0.0, -1, NONE).repeat(2, axis=1).astype(np.int32)
    return Table(cells[:, 1:], atoms), index.ravel()
