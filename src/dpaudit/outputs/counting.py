"""Outputs counted where they were drawn: a million numbers become some thousand.

Bets on a long past are fixed for cells, not for outputs. So it is enough to know how many outputs
fell into each cell, and what the cells should be next time: the outermost values, and those that
repeat. Sorting tells all of this at once.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.outputs.checked_outputs import Outputs
from dpaudit.outputs.table import MINUS_INF, NAN, PLUS_INF

_MAX_HEAD = 256  # outputs given back as they came
_MAX_REPEATS = 128  # values given back that came more than once: the most frequent
_MAX_EXACT = 2.0**53  # larger integers are no longer told apart as floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedOutputs:
    """What is told of the outputs of one call."""

    reader: bytes  # the digest of what counted them
    size: int
    cells: npt.NDArray[np.int32]  # how many fell into each cell
    words: dict[int, int]  # how many were NaN or infinite, by their code in a table
    low: Floats  # those below the cells' `least`, in rising order
    high: Floats  # and those above `most`
    repeated: Floats  # values that came more than once,
    times: npt.NDArray[np.int32]  # and how often
    head: Outputs  # the first few

    def __len__(self) -> int:
        return self.size


def head_of(received: CountedOutputs | Outputs) -> Outputs:
    """All outputs, or the first few of those that were counted."""
    return received.head if isinstance(received, CountedOutputs) else received


@dataclass(frozen=True, eq=False)
class CellReader:
    """Counts outputs by cell: cell i holds `edges[i - 1] <= x < edges[i]`.

    `known` are values that have a cell of their own. Outputs that are not one number each are given
    back as they are.

    >>> reader = CellReader(np.array([0.0, 1.0]), least=-2.0, most=3.0)
    >>> counted = reader(np.array([0.5, -3.0, 0.5, 9.0, 1.0, np.nan]))
    >>> counted.cells.tolist(), counted.low.tolist(), counted.high.tolist(), counted.words
    ([1, 2, 2], [-3.0], [9.0], {1: 1})
    >>> counted.repeated.tolist(), counted.times.tolist()
    ([0.5], [2])
    >>> reader([None, 1.0])
    [None, 1.0]
    """

    edges: Floats
    least: float
    most: float
    known: Floats = field(default_factory=lambda: np.empty(0))

    def __call__(self, outputs: Outputs) -> CountedOutputs | Outputs:
        """Count the outputs of one call."""
        if not (isinstance(outputs, np.ndarray) and outputs.ndim == 1):
            return outputs
        kind = outputs.dtype.kind
        if kind not in "biuf" or len(outputs) == 0:
            return outputs
        if kind in "iu" and max(abs(int(outputs.max())), abs(int(outputs.min()))) > _MAX_EXACT:
            return outputs
        ordered = np.sort(outputs.astype(np.float64))  # NaN comes last
        ends = np.searchsorted(ordered, [-np.inf, np.inf], side="right")
        begin, end = int(ends[0]), int(np.searchsorted(ordered, np.inf, side="left"))
        words = {
            MINUS_INF: begin,
            PLUS_INF: int(ends[1]) - end,
            NAN: len(ordered) - int(ends[1]),
        }
        finite = ordered[begin:end]
        places = np.searchsorted(finite, self.edges, side="left")
        cells = np.diff(places, prepend=0, append=len(finite)).astype(np.int32)
        low, high = np.searchsorted(finite, self.least), np.searchsorted(finite, self.most, "right")
        return CountedOutputs(
            reader=self.digest,
            size=len(ordered),
            cells=cells,
            words={code: count for code, count in words.items() if count},
            low=finite[:low].copy(),
            high=finite[high:].copy(),
            head=outputs[:_MAX_HEAD].copy(),
            **self._repeats(finite),
        )

    @cached_property
    def digest(self) -> bytes:
        """The same for readers that count alike, and not for others."""
        parts = np.concatenate([[self.least, self.most], self.edges, self.known])
        return hashlib.sha256(parts.tobytes()).digest()[:8]

    def _repeats(self, ordered: Floats) -> dict[str, npt.NDArray[Any]]:
        """The values that come more than once among ordered ones, and how often."""
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        values, counts = np.unique(ordered[again], return_counts=True)
        if len(values) and len(self.known):
            new = ~np.isin(values, self.known)
            values, counts = values[new], counts[new]
        most = np.sort(np.argsort(-counts, kind="stable")[:_MAX_REPEATS])
        return {"repeated": values[most] + 0.0, "times": (counts[most] + 1).astype(np.int32)}
