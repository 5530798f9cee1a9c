"""The cells in which one column is kept: even in the middle, finer in the tails.

They are cut on the first draws of a pair, and again where later draws show something new: values
farther out than any before, and values that come more than once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.outputs import MAX_OUTERMOST, CountedOutputs, Table

MAX_ALONE = 1_024  # values with a cell of their own
_CELLS = 512  # of the continuous part; at most three times that with tails and repeated values
_GRID_CELLS = 16_384  # of a lookup
_GRID_OUTSIDE = 0.02  # of the edges on either side of the grid
_MIN_LOOKUPS = 1_024  # numbers from which the grid is worth it
_MIN_REPEATS = 3  # times a value is seen, compared with others, to get a cell of its own
_MAX_REPEATS = 1_024  # values remembered that repeated in one call
_FEW_REPEATS, _STANDS_OUT = 16, 3.0  # more values than these must repeat so many times the average

KnownCounts: TypeAlias = tuple[Floats, Floats]  # values; zeros and ones of each: (2, values)


class Codebook:
    """One column in at most some thousand cells, so that a million outputs cost what a thousand do.

    Guesses that are constant on cells cost resolution, never validity. A value that repeats among
    others that do not has a cell of its own, however rare it is, and the tails are cut finer than
    the middle: much privacy is lost through rare outputs.
    """

    def __init__(self, edges: Floats, centres: Floats, alone: Labels, words: int) -> None:
        self.edges = edges
        self._lookup = Lookup(edges)
        self._alone = alone  # which cells hold one value
        self._numbers, self._words = len(centres), words
        # One cell for each word known so far, and one for every word still to come.
        atoms = np.concatenate([np.full(len(centres), -1), np.arange(words + 1)])
        numbers = np.concatenate([centres, np.zeros(words + 1)])
        self.rows = Table(numbers[:, None], atoms.astype(np.int32)[:, None])
        self.exact = np.concatenate([alone, np.full(words, True), [False]])

    @classmethod
    def of(cls, table: Table) -> Self:
        """Cells for outputs like these."""
        numbers, words = table.numbers[:, 0], 0
        if table.atoms is not None:
            codes = table.atoms[:, 0]
            numbers, words = numbers[codes < 0], int(codes.max(initial=-1)) + 1
        return cls(*_cells(np.sort(numbers)), words)

    @property
    def values(self) -> Floats:
        """The values that have a cell of their own."""
        return self.rows.numbers[: self._numbers, 0][self._alone]

    def index(self, table: Table) -> Index:
        """The cell of every output: a row of `self.rows`."""
        cells = self._lookup.index(table.numbers[:, 0])
        if table.atoms is None:
            return cells
        codes = table.atoms[:, 0]
        return np.where(codes < 0, cells, self._numbers + np.minimum(codes, self._words))

    def counts(self, received: CountedOutputs | Table) -> Floats:
        """How many outputs fell into each cell."""
        if isinstance(received, Table):
            found = np.bincount(self.index(received), minlength=len(self.rows))
            return found.astype(np.float64)
        counts = np.zeros(len(self.rows))
        counts[: self._numbers] = received.cells
        for code, count in received.words.items():
            counts[self._numbers + min(code, self._words)] += count
        return counts

    def cut(
        self, new: Floats, alone: Floats, counts: Floats, known: Sequence[KnownCounts]
    ) -> tuple[Codebook, Floats]:
        """The cells with more edges, and their counts; `alone` are values with cells of their own.

        Where a cell is cut, the outputs whose value is known are counted where they belong, and the
        others are shared evenly: what is learned from them is right about the whole cell.
        """
        edges = np.union1d(self.edges, new)
        lower, upper = np.concatenate([[-np.inf], edges]), np.append(edges, np.inf)
        parent = np.searchsorted(self.edges, lower, side="right")
        is_cut = np.bincount(parent, minlength=self._numbers)[parent] > 1
        before = self.rows.numbers[: self._numbers, 0][parent]
        kept = (lower <= before) & (before < upper)
        own = np.isin(lower, alone)
        # A cell of one value may hold others by now; those not known are taken for that value.
        sharing = is_cut & ~own & (kept | ~self._alone[parent])
        values = np.concatenate([some for some, _ in known])
        place = np.searchsorted(edges, values, side="right")
        cells = []
        for side in (0, 1):
            weights = np.concatenate([of_values[side] for _, of_values in known])
            told = np.where(is_cut, np.bincount(place, weights, len(lower)), 0.0)
            cells.append(_shared_out(counts[side, : self._numbers], told, parent, is_cut, sharing))
        centres = np.where(kept, before, _middles(lower, upper))
        made = Codebook(edges, centres, own | (kept & self._alone[parent]), self._words)
        return made, np.concatenate([np.array(cells), counts[:, self._numbers :]], axis=1)


def _middles(lower: Floats, upper: Floats) -> Floats:
    """A value inside each cell."""
    with np.errstate(invalid="ignore"):
        middle = 0.5 * lower + 0.5 * upper
    ends = np.where(np.isfinite(lower), lower, np.nextafter(upper, -np.inf))
    return np.where(np.isfinite(middle), middle, ends)


def _shared_out(
    before: Floats, told: Floats, parent: Index, is_cut: Labels, sharing: Labels
) -> Floats:
    """The counts of new cells: what is told of them, and even shares of the rest of their parent.

    `before` are the counts of the parents. A cell that was not cut keeps its own.
    """
    rest = np.maximum(before - np.bincount(parent, told, len(before)), 0.0)
    parts = np.maximum(np.bincount(parent, sharing, len(before)), 1.0)
    return np.where(is_cut, told + sharing * (rest / parts)[parent], before[parent])


class Outermost:
    """The outermost outputs seen, by which the outermost cells are cut again and again."""

    def __init__(self, every: KnownCounts) -> None:
        self._low, self._high = _outermost(every, 1.0), _outermost(every, -1.0)

    @classmethod
    def of(cls, table: Table, counts: Floats) -> Self:
        """Those of some outputs; `counts` are zeros and ones of each."""
        numbers = table.numbers[:, 0]
        if table.atoms is not None:
            finite = table.atoms[:, 0] < 0
            numbers, counts = numbers[finite], counts[:, finite]
        return cls((numbers, counts))

    @property
    def least(self) -> float:
        """Outputs below this are new to it."""
        return float(self._low[0][-1]) if len(self._low[0]) else -np.inf

    @property
    def most(self) -> float:
        """Outputs above this are new to it."""
        return float(self._high[0][-1]) if len(self._high[0]) else np.inf

    def add(self, side: int, received: CountedOutputs) -> None:
        """Take in what came from one side beyond `least` and `most`."""
        self._low = _outermost(_joined(self._low, side, received.low), 1.0)
        self._high = _outermost(_joined(self._high, side, received.high), -1.0)

    def cuts(self, edges: Floats) -> Floats:
        """Edges for what lies beyond all edges: each cell holds half as many as the next."""
        low, high = (values for values, _ in self._beyond(edges))
        return np.concatenate([low[_halvings(len(low))], high[_halvings(len(high)) - 1]])

    def known(self, edges: Floats) -> KnownCounts:
        """What lies beyond all edges: values, and how often each came from either side."""
        (low, below), (high, above) = self._beyond(edges)
        return np.concatenate([low, high]), np.concatenate([below, above], axis=1)

    def _beyond(self, edges: Floats) -> tuple[KnownCounts, KnownCounts]:
        (low, below), (high, above) = self._low, self._high
        if len(edges) == 0:
            return (low[:0], below[:, :0]), (high[:0], above[:, :0])
        left, right = low < edges[0], high >= edges[-1]
        return (low[left], below[:, left]), (high[right], above[:, right])


class Repeats:
    """Values that came more than once in one call, and how often they came from either side."""

    def __init__(self) -> None:
        self._found: dict[float, Floats] = {}

    def add(self, side: int, received: CountedOutputs) -> None:
        """Take in what repeated in one call; the rarest are forgotten if there are too many."""
        for value, times in zip(received.repeated.tolist(), received.times.tolist(), strict=True):
            self._found.setdefault(value, np.zeros(2))[side] += times
        if len(self._found) > 2 * _MAX_REPEATS:
            ordered = sorted(self._found.items(), key=lambda one: -one[1].sum())
            self._found = dict(ordered[:_MAX_REPEATS])

    def often(self) -> Floats:
        """The values that stand out: they deserve a cell of their own."""
        total = sum(float(counts.sum()) for counts in self._found.values())
        least = float(_MIN_REPEATS)
        if len(self._found) > _FEW_REPEATS:
            least = max(least, _STANDS_OUT * total / len(self._found))
        found = [value for value, counts in self._found.items() if counts.sum() >= least]
        return np.sort(np.array(found, dtype=np.float64))

    def forget(self, values: Floats) -> None:
        """They have a cell of their own now."""
        for value in values.tolist():
            self._found.pop(value, None)

    def counted(self, values: Floats) -> KnownCounts:
        """How often these values were seen to repeat."""
        counts = [self._found[value] for value in values.tolist()]
        return values, np.array(counts).reshape(-1, 2).T


def _halvings(size: int) -> Index:
    """The numbers 1, 2, 4, ... below a size."""
    return 2 ** np.arange(max(size - 1, 0).bit_length())


def _joined(known: KnownCounts, side: int, values: Floats) -> KnownCounts:
    more = np.zeros((2, len(values)))
    more[side] = 1.0
    return np.concatenate([known[0], values]), np.concatenate([known[1], more], axis=1)


def _outermost(known: KnownCounts, sign: float) -> KnownCounts:
    values, counts = known
    signed, some = sign * values, np.arange(len(values))
    if len(values) > MAX_OUTERMOST:
        farthest = np.partition(signed, MAX_OUTERMOST - 1)[MAX_OUTERMOST - 1]
        some = np.flatnonzero(signed <= farthest)
    order = some[np.argsort(signed[some], kind="stable")][:MAX_OUTERMOST]
    return values[order], counts[:, order]


class Lookup:
    """`np.searchsorted(edges, numbers, side="right")`, several times as fast for many numbers.

    A fine even grid says between which edges a number lies, but for one edge in its own grid cell.
    The grid spans the middle of the edges; what lies outside, or in a grid cell with several edges,
    is searched for.

    >>> numbers = np.random.default_rng(0).normal(size=5000)
    >>> edges = np.sort(numbers)[::10]
    >>> bool((Lookup(edges).index(numbers) == np.searchsorted(edges, numbers, "right")).all())
    True
    """

    def __init__(self, edges: Floats) -> None:
        self._edges = edges
        if len(edges) < 2:
            return
        outside = int(_GRID_OUTSIDE * len(edges))
        self._low, high = float(edges[outside]), float(edges[-1 - outside])
        with np.errstate(divide="ignore", over="ignore"):
            self._scale = float(np.float64(_GRID_CELLS) / np.float64(high - self._low))
        if not math.isfinite(self._scale) or self._scale == 0.0:
            self._scale = 1.0
        inside = np.bincount(self._grid(edges), minlength=_GRID_CELLS + 2)
        # The place is monotone in the number: all edges of lower grid cells lie below it.
        self._below = np.cumsum(inside) - inside
        self._several = inside > 1
        self._padded = np.append(edges, np.inf)

    def index(self, numbers: Floats) -> Index:
        """The number of edges at or below each number."""
        if len(numbers) < _MIN_LOOKUPS or len(self._edges) < 2:
            return np.searchsorted(self._edges, numbers, side="right")
        grid = self._grid(numbers)
        found = self._below[grid]
        found += numbers >= self._padded[found]
        several = np.flatnonzero(self._several[grid])
        found[several] = np.searchsorted(self._edges, numbers[several], side="right")
        return found

    def _grid(self, numbers: Floats) -> Index:
        with np.errstate(over="ignore"):
            place = (numbers - self._low) * self._scale
        return np.clip(place, -1.0, _GRID_CELLS, out=place).astype(np.intp) + 1


def _cells(ordered: Floats) -> tuple[Floats, Floats, Labels]:
    """Edges of the cells `[edge, next edge)`, a value for each cell, and which hold one value."""
    if len(ordered) == 0:
        return np.empty(0), np.zeros(1), np.zeros(1, dtype=np.bool_)
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    values, counts = ordered[begins], np.diff(begins, append=len(ordered))
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


def _often(values: Floats, counts: Index) -> Floats:
    """The values that repeat more than others do: the most frequent, if there are many."""
    total = int(counts.sum())
    least = max(_MIN_REPEATS, min(total // _CELLS, _MIN_REPEATS * total // len(values)))
    repeated = np.flatnonzero(counts >= least)
    chosen = repeated[np.argsort(-counts[repeated], kind="stable")[:_CELLS]]
    return values[np.sort(chosen)]


def _cuts(size: int) -> Index:
    """Positions of the cuts in `size` ordered values: even in the middle, doubling in the tails."""
    even = np.linspace(0, size, _CELLS + 1)[1:-1].astype(np.intp)
    doubling = 2 ** np.arange(int(np.log2(max(size / _CELLS, 1))) + 1)
    return np.unique(np.concatenate([even, doubling, size - doubling]))
