"""Kernels on outputs: how alike two outputs are, from 0 to 1.

The squared discrepancy of `P` and `Q` is `E k(x,x') - 2 E k(x,y) + E k(y,y')`. Each block of
outputs gives one unbiased estimate of it (docs/mathematics.md, section 7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index
from dpaudit.outputs import Table, stack

Codes: TypeAlias = npt.NDArray[np.int32]
Kind: TypeAlias = Literal["rbf", "laplacian"]

MAX_COORDINATE = 1e100  # so that squares are finite
_RANKING_OUTPUTS = 2_048  # of a side, from which ranks are learned
_SIMILARITIES_AT_ONCE = 32_768  # what a processor's cache holds


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Outputs as points, columns first: a coordinate for every cell, a code where it is an atom."""

    coordinates: Floats  # (columns, points) or (columns, points of a block, blocks); 0.0 for atoms
    codes: Codes | None  # likewise; -1 for numbers; None if there are no atoms at all

    @property
    def count(self) -> int:
        """The number of points, or of points in each block."""
        return int(self.coordinates.shape[1])

    def each(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Points:
        """The points after the same change of both arrays."""
        return Points(change(self.coordinates), None if self.codes is None else change(self.codes))

    def blocks(self, count: int, size: int) -> Points:
        """The first `count * size` points in blocks: shape (columns, size, count)."""
        return self.each(lambda part: part[:, : size * count].reshape(len(part), size, count))

    def along(self, columns: slice) -> Points:
        """Some of the columns."""
        return self.each(lambda part: part[columns])

    def part(self, chosen: slice | Index) -> Points:
        """Some of the points, or of the blocks."""
        return self.each(lambda part: part[..., chosen])

    def code(self, column: int) -> Codes:
        """The codes of a column; one -1 for all where there are no atoms."""
        return np.array(-1, dtype=np.int32) if self.codes is None else self.codes[column]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """How alike two points are: `exp(-d^2 / 2b^2)` (rbf) or `exp(-d / b)` (laplacian).

    The distance is Euclidean for rbf and the sum over columns for laplacian. An atom is at distance
    `far` from every number and every other atom of its column, and at none from itself. That may
    cost the kernel its positive definiteness, which the bound does not need.

    >>> from dpaudit.outputs import Encoder
    >>> points = as_they_are(Encoder().encode([0.0, 2.0, None]))
    >>> kernel = Kernel(kind="rbf", bandwidth=2.0, far=6.0)
    >>> np.rint(1000 * kernel.similarity(points, points.part(slice(1)))).tolist()
    [1000.0, 607.0, 11.0]
    """

    kind: Kind
    bandwidth: float
    far: float

    def similarity(self, first: Points, second: Points) -> npt.NDArray[np.float32]:
        """The kernel at pairs of points; arrays broadcast."""
        total = _distance(self.kind, self.far, first, second)
        scale = 2.0 * self.bandwidth**2 if self.kind == "rbf" else self.bandwidth
        with np.errstate(over="ignore"):  # exp(-inf) is 0; of float32, exp is six times as fast
            exponent = np.multiply(total, -1.0 / scale, out=total).astype(np.float32)
        return np.exp(exponent, out=exponent)


def _distance(kind: Kind, far: float, first: Points, second: Points) -> Floats:
    """The distances that a kernel uses: squared for rbf."""
    total = np.zeros(())
    for column in range(len(first.coordinates)):
        gap = first.coordinates[column] - second.coordinates[column]
        if first.codes is not None or second.codes is not None:
            np.copyto(gap, far, where=first.code(column) != second.code(column))
        gap = np.multiply(gap, gap, out=gap) if kind == "rbf" else np.abs(gap, out=gap)
        total = gap if column == 0 else np.add(total, gap, out=total)
    return total


def radial(first: Points, second: Points, bandwidth: float) -> Floats:
    """`exp(-d^2 / 2b^2)` in double precision, at pairs of points; arrays broadcast.

    An atom is like itself (1) and like nothing else (0), column by column: a product of positive
    definite kernels, and so positive definite.
    """
    squared = _distance("rbf", np.inf, first, second)
    with np.errstate(over="ignore"):  # exp(-inf) is 0
        return np.asarray(np.exp(-squared / (2.0 * bandwidth**2)))


def median_bandwidth(points: Points) -> float:
    """The median distance of all points that differ, those told apart by an atom left out.

    It is 1 where there are none.
    """
    first, second = _pairs(points.count)
    squared = _distance("rbf", np.inf, points.part(first), points.part(second))
    some = squared[(squared > 0.0) & np.isfinite(squared)]
    return float(np.median(np.sqrt(some))) if len(some) else 1.0


ToPoints: TypeAlias = Callable[[Table, slice], Points]  # of some columns


def median_distance(kind: Kind, far: float, first: Points, second: Points) -> float:
    """The median distance of outputs that differ, within and across the sides; 1 if none do."""
    length = min(first.count, second.count) // 2 * 2
    even, odd = slice(0, length, 2), slice(1, length, 2)
    pairs = [
        (first.part(slice(length)), second.part(slice(length))),
        (first.part(even), first.part(odd)),
        (second.part(even), second.part(odd)),
    ]
    distances = np.concatenate([_distance(kind, far, *pair) for pair in pairs])
    distances = distances[distances > 0.0]
    if len(distances) == 0:
        return 1.0
    middle = float(np.median(distances))
    return middle**0.5 if kind == "rbf" else middle


def block_means(
    kernel: Kernel, first: Points, second: Points, *, blocks: int, sizes: tuple[int, int]
) -> Floats:
    """One estimate of the squared discrepancy from every block of `sizes` points of the two sides.

    Within a side every two different points of a block are compared, across the sides all of them:
    the unbiased two-sample U-statistic (Gretton et al. 2012, "A kernel two-sample test", lemma 6).

    >>> from dpaudit.outputs import Encoder
    >>> data, neighbour = (as_they_are(Encoder().encode([x] * 4)) for x in (0.0, 9.0))
    >>> kernel = Kernel(kind="laplacian", bandwidth=0.1, far=1.0)
    >>> block_means(kernel, data, neighbour, blocks=2, sizes=(2, 2))
    array([2., 2.])
    """
    data, neighbour = first.blocks(blocks, sizes[0]), second.blocks(blocks, sizes[1])
    means = np.empty(blocks)
    step = _SIMILARITIES_AT_ONCE // (sizes[0] * sizes[1]) + 1
    for start in range(0, blocks, step):
        chosen = slice(start, start + step)
        left, right = data.part(chosen), neighbour.part(chosen)
        means[chosen] = _within(kernel, left) + _within(kernel, right)
        every = left.each(lambda part: part[:, :, None]), right.each(lambda part: part[:, None])
        across = kernel.similarity(*every)
        means[chosen] -= 2.0 * across.mean(axis=(0, 1), dtype=np.float64)
    return means


def _within(kernel: Kernel, points: Points) -> Floats:
    """The mean similarity of two different points of each block."""
    first, second = _pairs(points.count)
    sides = points.each(lambda part: part[:, first]), points.each(lambda part: part[:, second])
    return np.asarray(kernel.similarity(*sides).mean(axis=0, dtype=np.float64))


@cache
def _pairs(size: int) -> tuple[Index, Index]:
    """The two places of every pair among `size` points."""
    return np.triu_indices(size, k=1)


def as_they_are(table: Table, columns: slice = slice(None)) -> Points:
    """Outputs as points in their own units, up to 1e100 from the origin."""
    numbers = np.clip(table.numbers[:, columns], -MAX_COORDINATE, MAX_COORDINATE)
    return Points(np.ascontiguousarray(numbers.T), _codes(table, columns))


def _codes(table: Table, columns: slice) -> Codes | None:
    return None if table.atoms is None else np.ascontiguousarray(table.atoms[:, columns].T)


def ranks_of(data: Table, neighbour: Table) -> ToPoints:
    """Scales that need no units: of each column, the share of the training outputs below.

    >>> from dpaudit.outputs import Encoder
    >>> table = Encoder().encode(np.array([0.0, 1e-9, 1e300, np.inf]))
    >>> ranks_of(table, table)(table, slice(None)).coordinates.round(3)
    array([[0.167, 0.5 , 0.833, 0. ]])
    """
    training = stack([side.take(slice(_RANKING_OUTPUTS)) for side in (data, neighbour)])
    scales = [_mid_ranks(training, column) for column in range(training.columns)]

    def points(table: Table, columns: slice) -> Points:
        chosen = range(table.columns)[columns]
        coordinates = np.stack([_rank(table.numbers[:, each], *scales[each]) for each in chosen])
        if table.atoms is not None:
            coordinates[table.atoms[:, columns].T >= 0] = 0.0
        return Points(coordinates, _codes(table, columns))

    return points


def _mid_ranks(table: Table, column: int) -> tuple[Floats, Floats]:
    """The numbers of a column, in order, each once, and the mid-rank of each, in (0, 1)."""
    numbers = table.numbers[:, column]
    if table.atoms is not None:
        numbers = numbers[table.atoms[:, column] < 0]
    values, counts = np.unique(numbers, return_counts=True)
    return values, (np.cumsum(counts) - 0.5 * counts) / max(len(numbers), 1)


def _rank(numbers: Floats, values: Floats, middle: Floats) -> Floats:
    if len(values) == 0:
        return np.zeros(len(numbers))
    place = np.searchsorted(values, numbers)
    nearest = np.minimum(place, len(values) - 1)
    between = np.concatenate([[0.0], 0.5 * (middle[1:] + middle[:-1]), [1.0]])
    return np.where(values[nearest] == numbers, middle[nearest], between[place])
