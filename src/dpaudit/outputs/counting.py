"""Outputs counted where they were drawn: a million numbers become some thousand.

Bets on a long past are fixed for cells, not for outputs. So it is enough to know how many outputs
fell into each cell, and what the cells should be next time: the outermost values, and those that
repeat. Sorting tells all of this at once.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.outputs.checked_outputs import Outputs, has_large_integers
from dpaudit.outputs.ordered import Ordered, OrderedHere, OrderedThere
from dpaudit.outputs.table import MINUS_INF, NAN, PLUS_INF
from dpaudit.outputs.tensors import DeviceOutputs

MAX_COUNTED, MAX_COUNTED_ON_DEVICE = 2**20, 2**26  # draws of a shard: they are in memory at once
MAX_OUTERMOST = 256  # outputs given back at either end
_MAX_HEAD = 256  # outputs given back as they came
_MAX_REPEATS = 128  # values given back that came more than once: the most frequent


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedOutputs:
    """What is told of the outputs of one call."""

    reader: bytes  # the digest of what counted them
    size: int
    cells: npt.NDArray[np.int32]  # how many fell into each cell
    words: dict[int, int]  # how many were NaN or infinite, by their code in a table
    low: Floats  # those below the cells' `least`, in rising order: the outermost ones
    high: Floats  # and those above `most`
    repeated: Floats  # values that came more than once,
    times: npt.NDArray[np.int32]  # and how often
    head: Outputs  # the first few
    on_device: bool = False  # whether they were counted on an accelerator

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
    shard: int = MAX_COUNTED  # draws to be counted at once, at most

    def __call__(self, outputs: DeviceOutputs | Outputs) -> CountedOutputs | Outputs:
        """Count the outputs of one call."""
        if isinstance(outputs, DeviceOutputs):
            if len(outputs) == 0 or not outputs.is_exact:
                return outputs.here()
            head, there = outputs.head(_MAX_HEAD), OrderedThere(outputs.tensor)
            return self._counted(there, len(outputs), head, on_device=True)
        if not (isinstance(outputs, np.ndarray) and outputs.ndim == 1 and len(outputs)):
            return outputs
        if outputs.dtype.kind not in "biuf" or has_large_integers(outputs):
            return outputs
        head = outputs[:_MAX_HEAD].copy()
        return self._counted(OrderedHere(outputs), len(outputs), head, on_device=False)

    def _counted(
        self, ordered: Ordered, size: int, head: Outputs, *, on_device: bool
    ) -> CountedOutputs:
        words = dict(zip((MINUS_INF, PLUS_INF, NAN), ordered.words, strict=True))
        finite = size - sum(words.values())
        cells = np.diff(ordered.places(self.edges), prepend=0, append=finite)
        low = int(ordered.places(np.array([self.least]))[0])
        high = int(ordered.places(np.array([self.most]), after=True)[0])
        repeated, times = ordered.repeats(self.known, _MAX_REPEATS)
        return CountedOutputs(
            reader=self.digest,
            size=size,
            cells=cells.astype(np.int32),
            words={code: count for code, count in words.items() if count},
            low=ordered.part(0, min(low, MAX_OUTERMOST)),
            high=ordered.part(max(high, finite - MAX_OUTERMOST), finite),
            repeated=repeated,
            times=times.astype(np.int32),
            head=head,
            on_device=on_device,
        )

    @cached_property
    def digest(self) -> bytes:
        """The same for readers that count alike, and not for others."""
        parts = np.concatenate([[self.least, self.most], self.edges, self.known])
        return hashlib.sha256(parts.tobytes()).digest()[:8]
