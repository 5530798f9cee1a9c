"""One column in at most a thousand cells, so that a million outputs cost what a thousand do.

A guess that is constant on cells is as good a witness as any other: cells cost resolution, never
validity. A value that repeats among others that do not has a cell of its own, be it ever so rare,
and the tails are cut finer than the middle: rare outputs are where much privacy is lost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.outputs import Table

_CELLS = 512  # of the continuous part; at most three times that with tails and repeated values
_REPEATS = 3  # a value seen so many times more often than others is more than a number


class Codebook:
    """Cells of one column, made from past outputs: `index` finds the cell of an output."""

    def __init__(self, table: Table) -> None:
        numbers = _finite(table)
        self._edges, centres, exact = _cells(np.sort(numbers))
        codes = table.codes()[:, 0]
        self._codes = int(codes.max(initial=-1)) + 1
        # One cell for each word known so far, and one for every word still to come.
        self.rows = Table(
            numbers=np.concatenate([centres, np.zeros(self._codes + 1)])[:, None],
            atoms=np.concatenate([np.full(len(centres), -1), np.arange(self._codes + 1)]).astype(
                np.int32
            )[:, None],
        )
        self._numbers = len(centres)
        # Which cells hold one value only.
        self.exact = np.concatenate([exact, np.full(self._codes, True), [False]])

    def index(self, table: Table) -> npt.NDArray[np.intp]:
        """The cell of every output: a row of `self.rows`."""
        cells = np.searchsorted(self._edges, table.numbers[:, 0], side="right")
        if table.atoms is None:
            return cells
        codes = table.atoms[:, 0]
        return np.where(codes < 0, cells, self._numbers + np.minimum(codes, self._codes))


def _finite(table: Table) -> Floats:
    numbers = table.numbers[:, 0]
    return numbers if table.atoms is None else numbers[table.atoms[:, 0] < 0]


def _cells(ordered: Floats) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Edges of the cells `[edge, next edge)`, a value for each cell, and which hold one value."""
    if len(ordered) == 0:
        return np.empty(0), np.zeros(1), np.zeros(1, dtype=np.bool_)
    values, counts = np.unique(ordered, return_counts=True)
    if len(values) <= _CELLS:
        return values[1:], values, np.ones(len(values), dtype=np.bool_)
    often = _often(values, counts)
    edges = np.concatenate([ordered[_cuts(len(ordered))], often, np.nextafter(often, np.inf)])
    edges = np.unique(edges)
    # The value of a cell is its middle member; an empty cell stands for its edge.
    lower = np.concatenate([[-np.inf], edges])
    first = np.searchsorted(ordered, lower, side="left")
    last = np.concatenate([first[1:], [len(ordered)]])
    middle = np.minimum((first + last) // 2, len(ordered) - 1)
    centres = np.where(last > first, ordered[middle], np.concatenate([ordered[:1], edges]))
    return edges, centres, np.isin(lower, often)


def _often(values: Floats, counts: npt.NDArray[np.intp]) -> Floats:
    """The values that repeat more than their kind: the most frequent ones, if there are many."""
    total = int(counts.sum())
    least = max(_REPEATS, min(total // _CELLS, _REPEATS * total // len(values)))
    repeated = np.flatnonzero(counts >= least)
    chosen = repeated[np.argsort(-counts[repeated], kind="stable")[:_CELLS]]
    return values[np.sort(chosen)]


def _cuts(size: int) -> npt.NDArray[np.intp]:
    """Positions of the cuts in `size` ordered values: even in the middle, doubling in the tails."""
    even = np.linspace(0, size, _CELLS + 1)[1:-1].astype(np.intp)
    doubling = 2 ** np.arange(int(np.log2(max(size / _CELLS, 1))) + 1)
    return np.unique(np.concatenate([even, doubling, size - doubling]))
