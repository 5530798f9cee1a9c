"""The histogram tester: cells that are likelier on one side, certified on outputs held out.

Cells are products of bins of the columns, or whole outputs. They are made from training outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Counts, Floats, Index
from dpaudit.claims import Claim
from dpaudit.guessing import LabelledRows, Share, row_keys
from dpaudit.outputs import Table
from dpaudit.testers.event_bound import LevelBound, gilbert_mcmillan, level_finding
from dpaudit.testers.event_choice import (
    EventTester,
    HeldOutScores,
    Ranked,
    Sizes,
    best_level,
    expected_exact,
    ranked,
    strongest,
)
from dpaudit.testers.tester import Finding, Method, Parts, Rng, check_choices

Keys: TypeAlias = npt.NDArray[np.uint64]
KeyMaker: TypeAlias = Callable[[Table], Callable[[Table], Keys]]

_FOLDS = 4  # a cell's score comes from the other folds than the outputs it ranks
_HEAVY_SHARE = (
    0.01  # a value with this share of a column is a cell of its own, however few the bins
)
_COLUMN_BINS = (2, 4, 8, 16, 32, 64, 128, 512)  # numbers of bins tried for one column
_FINE_BINS = 64  # from this number of bins on, the tails are cut finer
_MIN_TAIL_OUTPUTS = 8  # in the outermost cell of a tail
# Numbers of columns, and of bins of each, tried for vectors; and of bins of all columns.
_VECTOR_BINS = ((1, 8), (1, 32), (2, 4), (2, 8), (3, 4), (4, 2), (8, 2))
_ALL_COLUMNS_BINS = (2, 4, 8)
_MIN_REPEATS = 3  # times that a whole output was seen to be a cell
_MIN_CELL_OUTPUTS = 4  # training outputs in a cell, on average
_RANKING_OUTPUTS = 20_000  # by which columns are ranked
_MAX_GRID_COLUMNS = 32


@dataclass(frozen=True, kw_only=True)
class HistogramTester(EventTester):
    """Count both sides in cells, and bound `P(A) - e^epsilon Q(A)` of the cells that tell most.

    `bins` is a number of bins for every column, `"atoms"` for whole outputs, or `"auto"`, which
    tries several on four tenths of the outputs and takes those with the best bound to be expected
    on the others. Words, NaN, infinities and repeated values are cells of their own. With
    `bound="exact"` one set of cells is bounded as by Clopper and Pearson; `"gilbert-mcmillan"`
    bounds the sum over all cells (Gilbert and McMillan 2018, "Property testing for differential
    privacy").

    >>> from dpaudit.claims import PureDP
    >>> rng = np.random.default_rng(0)
    >>> yes, no = ["yes"] * 900 + ["no"] * 100, ["yes"] * 100 + ["no"] * 900
    >>> finding = HistogramTester().examine(yes, no, PureDP(1.0), alpha=0.05, rng=rng)
    >>> finding.lower_bound > 0.0, 1.0 < finding.strength_lower < 2.2  # log(9) = 2.197
    (True, True)
    """

    method: ClassVar[Method] = Method(source="Gilbert and McMillan 2018", guarantee="exact")
    bins: int | Literal["auto", "atoms"] = "auto"
    bound: Literal["exact", "gilbert-mcmillan"] = "exact"
    _share = Share(training=0.4, most=50_000)

    def __post_init__(self) -> None:
        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool) and self.bins >= 2
        if not whole and self.bins not in ("auto", "atoms"):
            raise ValueError(
                f'bins must be "auto", "atoms" or a whole number >= 2, got {self.bins!r}.'
            )
        check_choices(self, bound=("exact", "gilbert-mcmillan"))

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        if self.bound == "exact":
            return super()._certify(parts, claim, alpha=alpha, rng=rng)
        learned, held_out = parts
        sizes = Sizes.of(held_out.labels, alpha)

        def excess(cells: Partition) -> tuple[float, float]:
            expected = _expected_plug_in(cells.counts(learned), sizes)
            level = best_level(claim, expected)
            return expected(level) - claim.delta(level), level

        choice = [(*excess(cells), cells) for cells in candidates(learned, self.bins)]
        _, level, cells = max(choice, key=lambda each: each[0])
        ones, zeros = cells.counts(held_out)
        certified = gilbert_mcmillan(ones, sizes.draws, zeros, sizes.neighbour_draws, alpha=alpha)
        return level_finding(claim, certified, level)

    def _scored(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> HeldOutScores:
        """The cells expected to refute the largest strength, scored by their log-odds."""
        train, held_out = parts
        sizes = Sizes.of(held_out.labels, alpha)
        choice = []
        for cells in candidates(train, self.bins):
            events, log_odds = _ranked_cells(train, cells)
            strength, _ = strongest(claim, expected_exact(events, sizes))
            choice.append((strength, cells, events, log_odds))
        _, cells, events, log_odds = max(choice, key=lambda each: each[0])
        scores = log_odds[cells.index(held_out.table)]
        return HeldOutScores(events=events, scores=scores, labels=held_out.labels)


def _ranked_cells(train: LabelledRows, cells: Partition) -> tuple[Ranked, Floats]:
    """Events of cells above a log-odds, counted in folds that did not set it; and all log-odds."""
    index, folds = cells.index(train.table), np.arange(len(train.labels)) % _FOLDS
    shape = (cells.count, 2, _FOLDS)
    place = np.ravel_multi_index((index, train.labels.astype(np.intp), folds), shape)
    counts = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    total = counts.sum(axis=2)
    scores = [_log_odds(total - counts[:, :, fold]) for fold in range(_FOLDS)]
    zeros, ones = (counts[:, side, :].T.ravel() for side in (0, 1))
    seen = ones + zeros > 0
    return ranked(np.concatenate(scores)[seen], ones[seen], zeros[seen]), _log_odds(total)


def _log_odds(counts: Floats) -> Floats:
    """Log-odds of cells, columns (neighbour, data), as if half an output more had hit each."""
    draws = np.maximum(counts.sum(axis=0), 1.0)
    shares = counts / draws + 0.25 * (1.0 / draws).sum()
    return np.asarray(np.log(shares[:, 1]) - np.log(shares[:, 0]))


def _expected_plug_in(counts: tuple[Counts, Counts], sizes: Sizes) -> LevelBound:
    """The bound on held-out outputs if their sum were that of training, less its expected error."""
    ones, zeros = counts
    nothing = np.zeros_like(ones)
    sure = gilbert_mcmillan(ones, int(ones.sum()), zeros, int(zeros.sum()), alpha=1.0)
    penalty = gilbert_mcmillan(
        nothing, sizes.draws, nothing, sizes.neighbour_draws, alpha=sizes.alpha
    )
    return lambda epsilon: sure(epsilon) + penalty(epsilon)


class Partition:
    """A partition of the outputs; those unlike all training outputs share the last cell.

    >>> from dpaudit.outputs import Encoder
    >>> encoder = Encoder()
    >>> cells = Partition(Encoder().encode(np.arange(100.0)), grid(columns=(0,), bins=4))
    >>> np.bincount(cells.index(encoder.encode(np.arange(100.0)))).tolist(), cells.count
    ([25, 25, 25, 25], 5)
    """

    def __init__(self, table: Table, key_maker: KeyMaker) -> None:
        self._keys_of = key_maker(table)
        keys, counts = np.unique(self._keys_of(table), return_counts=True)
        self._keys = keys[counts >= (_MIN_REPEATS if key_maker is whole else 1)]
        self.count = len(self._keys) + 1

    def index(self, table: Table) -> Index:
        """The cell of every output."""
        if len(self._keys) == 0:
            return np.zeros(len(table), dtype=np.intp)
        keys = self._keys_of(table)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, place, len(self._keys))

    def counts(self, part: LabelledRows) -> tuple[Counts, Counts]:
        """How many outputs of the data, and of the neighbour, each cell holds."""
        index = self.index(part.table)
        ones = np.bincount(index[part.labels], minlength=self.count)
        return ones, np.bincount(index[~part.labels], minlength=self.count)


def whole(_: Table) -> Callable[[Table], Keys]:
    """Whole outputs that repeat as cells."""
    return row_keys


def grid(*, columns: tuple[int, ...], bins: int) -> KeyMaker:
    """Products of bins: of equal weight for numbers, one for every word and repeated value."""

    def make(table: Table) -> Callable[[Table], Keys]:
        edges = [_edges(table, column, bins) for column in columns]

        def keys(table: Table) -> Keys:
            places = np.empty((len(table), len(columns)))
            for at, column in enumerate(columns):
                places[:, at] = np.searchsorted(edges[at], table.numbers[:, column], side="right")
                if table.atoms is not None:
                    codes = table.atoms[:, column]
                    places[:, at] = np.where(codes < 0, places[:, at], -1.0 - codes)
            return row_keys(Table(places, None))

        return keys

    return make


def candidates(train: LabelledRows, bins: int | Literal["auto", "atoms"]) -> list[Partition]:
    """The partitions to choose from: the one given, or several, coarse ones first."""
    table = train.table
    if bins == "atoms":
        return [Partition(table, whole)]
    if bins != "auto":
        return [Partition(table, grid(columns=tuple(range(table.columns)), bins=bins))]
    made = [Partition(table, key_maker) for key_maker in _automatic(train)]
    most = max(2, len(table) // _MIN_CELL_OUTPUTS)
    few = [cells for cells in made if cells.count <= most]
    return few or [min(made, key=lambda cells: cells.count)]


def _automatic(train: LabelledRows) -> Iterator[KeyMaker]:
    if train.table.columns == 1:
        for bins in _COLUMN_BINS:
            yield grid(columns=(0,), bins=bins)
    else:
        ordered = _telling_columns(train)
        tried = *_VECTOR_BINS, *((_MAX_GRID_COLUMNS, bins) for bins in _ALL_COLUMNS_BINS)
        shapes = {(min(wide, len(ordered)), bins) for wide, bins in tried}
        for columns, bins in sorted(shapes, key=lambda shape: shape[1] ** shape[0]):
            yield grid(columns=tuple(ordered[:columns]), bins=bins)
    yield whole


def _telling_columns(train: LabelledRows) -> list[int]:
    """The columns by how far the sides differ in each alone: by a chi-squared distance."""
    some = train.take(slice(_RANKING_OUTPUTS))
    distances = []
    for column in range(some.table.columns):
        ones, zeros = Partition(some.table, grid(columns=(column,), bins=8)).counts(some)
        p, q = ones / max(ones.sum(), 1), zeros / max(zeros.sum(), 1)
        distances.append(float(((p - q) ** 2 / np.maximum(p + q, 1e-300)).sum()))
    return sorted(range(len(distances)), key=lambda column: -distances[column])


def _edges(table: Table, column: int, bins: int) -> Floats:
    """Edges of the cells `[edge, next edge)`: quantiles, and both sides of repeated values."""
    numbers = table.numbers[:, column]
    ordered = np.sort(numbers if table.atoms is None else numbers[table.atoms[:, column] < 0])
    if len(ordered) == 0:
        return np.empty(0)
    values, counts = np.unique(ordered, return_counts=True)
    heavy = counts >= max(4.0, min(_HEAVY_SHARE, 0.25 / bins) * len(ordered))
    often = values[heavy | (counts >= 8.0 * max(len(ordered) / len(values), 1.0))]
    rest = ordered[~np.isin(ordered, often)] if len(often) else ordered
    cuts = rest[_cuts(len(rest), bins)] if len(rest) else rest
    return np.unique(np.concatenate([cuts, often, np.nextafter(often, np.inf)]))


def _cuts(size: int, bins: int) -> Index:
    """Where to cut `size` ordered values: evenly, and from fine bins on doubling in the tails."""
    even = (np.arange(1, bins) * size) // bins
    if bins < _FINE_BINS:
        return np.unique(even)
    doublings = int(np.log2(max(size / bins / _MIN_TAIL_OUTPUTS, 1.0))) + 1
    doubling = _MIN_TAIL_OUTPUTS * 2 ** np.arange(doublings)
    doubling = doubling[doubling < size]
    return np.unique(np.concatenate([even, doubling, size - doubling]))
