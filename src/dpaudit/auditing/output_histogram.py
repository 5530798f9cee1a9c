"""What the outputs looked like, for a figure: counts at the places that tell the sides apart.

The bars are laid out on outputs seen before; the outputs that certify the event are then counted in
them as they are drawn. The figure costs no draws, and only the counts are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index
from dpaudit.events import Above, Below, Between, Event, Outside, singles
from dpaudit.guessing import LabelledRows
from dpaudit.outputs import OTHER, Encoder, Table
from dpaudit.results import OutputHistogram

_MAX_PLACES = 2  # of the output that are shown
_BINS = 36
_MAX_NUMBERS = 32  # a place with more different numbers shows bins
_MAX_WORDS = 10
_TAIL_SHARE = 0.002  # of the outputs, at each end, fall into the outermost bins


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bars:
    """The bars of one column: bins or single numbers, then words, then one for all else."""

    column: int
    edges: Floats  # of the bins, infinite at both ends; empty where numbers are shown one by one
    numbers: Floats
    codes: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return max(len(self.edges) - 1, 0) + len(self.numbers) + len(self.codes) + 1

    def index(self, table: Table) -> Index:
        """The bar of every output."""
        if self.column >= table.columns:
            return np.full(len(table), len(self) - 1)
        numbers, codes = _cells(table, self.column)
        words = max(len(self.edges) - 1, 0) + len(self.numbers)
        found = np.full(len(table), len(self) - 1)
        if len(self.edges) > 0:
            bins = np.searchsorted(self.edges, numbers, side="right") - 1
            found = np.where(codes < 0, bins, found)
        for place, number in enumerate(self.numbers):
            found[(codes < 0) & (numbers == number)] = place
        for place, code in enumerate(self.codes):
            found[codes == code] = words + place
        return found


class HistogramCounter:
    """Counts outputs of both sides in the bars of the places that tell most.

    >>> encoder = Encoder()
    >>> table = encoder.encode(["yes", "no", "yes", "no", "yes", "yes"])
    >>> sample = LabelledRows.of(table, np.array([True, False, True, False, True, False]))
    >>> counter = HistogramCounter(encoder, sample)
    >>> counter.see(0, encoder.encode(["yes", "no", "maybe"]))
    >>> [histogram] = counter.histograms()
    >>> histogram.values, histogram.data
    (("'yes'", "'no'", 'other'), (1, 1, 1))
    """

    def __init__(self, encoder: Encoder, sample: LabelledRows, event: Event | None = None) -> None:
        self._encoder = encoder
        self._bars = _most_telling(sample, event)
        # by place: side, all or hits only, bar
        self._counts = [np.zeros((2, 2, len(bars))) for bars in self._bars]

    def see(self, side: int, table: Table, hits: npt.NDArray[np.bool_] | None = None) -> None:
        """Count outputs of one side (0: data, 1: neighbour), and for which the event happened."""
        for bars, counts in zip(self._bars, self._counts, strict=True):
            index = bars.index(table)
            counts[side, 0] += np.bincount(index, minlength=len(bars))
            if hits is not None:
                counts[side, 1] += np.bincount(index[hits], minlength=len(bars))

    def see_sample(self, sample: LabelledRows) -> None:
        """Count what a sample remembers of both sides."""
        for bars, counts in zip(self._bars, self._counts, strict=True):
            counts[0, 0] += _counted(bars, sample, sample.ones)
            counts[1, 0] += _counted(bars, sample, sample.zeros)

    def histograms(self) -> tuple[OutputHistogram, ...]:
        """What was counted, one histogram for each place."""
        return tuple(map(self._histogram, self._bars, self._counts))

    def _histogram(self, bars: Bars, counts: Floats) -> OutputHistogram:
        column, encoder = bars.column, self._encoder
        values = [encoder.value(column, number) for number in bars.numbers]
        values += [encoder.word(column, code) for code in bars.codes.tolist()]
        kept = len(bars) - int(counts[:, 0, -1].sum() == 0)  # "other" only where there is any
        data, neighbour = (
            [tuple(int(count) for count in row[:kept].round()) for row in side] for side in counts
        )
        return OutputHistogram(
            place=encoder.names[column],
            edges=tuple(bars.edges.tolist()),
            values=(*values, "other")[: kept - max(len(bars.edges) - 1, 0)],
            data=data[0],
            neighbour=neighbour[0],
            data_hits=data[1],
            neighbour_hits=neighbour[1],
        )


def histograms_of(encoder: Encoder, sample: LabelledRows) -> tuple[OutputHistogram, ...]:
    """The histograms of what a sample remembers; none if it is empty."""
    if sample.draws == 0:
        return ()
    counter = HistogramCounter(encoder, sample)
    counter.see_sample(sample)
    return counter.histograms()


def _most_telling(sample: LabelledRows, event: Event | None) -> list[Bars]:
    """The bars of the event's columns, then of those on which the sides differ most."""
    spoken_of = {} if event is None else {part.column: part for part in singles(event)}
    found = []
    for column in spoken_of if len(spoken_of) >= _MAX_PLACES else range(sample.table.columns):
        bars = _bars(sample, column, _threshold(spoken_of.get(column)))
        found.append((column not in spoken_of, -_difference(bars, sample), column, bars))
    return [bars for *_, bars in sorted(found, key=lambda entry: entry[:3])[:_MAX_PLACES]]


def _threshold(part: Event | None) -> float | None:
    if isinstance(part, Above | Below):
        return part.threshold
    return part.low if isinstance(part, Between | Outside) else None


def _difference(bars: Bars, sample: LabelledRows) -> float:
    """The total variation between the sides, as the bars see it."""
    index, sides = bars.index(sample.table), (sample.ones, sample.zeros)
    shares = [_weighed(index, side, len(bars)) / max(side.sum(), 1.0) for side in sides]
    return float(np.abs(shares[0] - shares[1]).sum() / 2.0)


def _bars(sample: LabelledRows, column: int, threshold: float | None) -> Bars:
    rows, weights = sample.table, sample.ones + sample.zeros
    numbers, codes = _cells(rows, column)
    finite = codes < 0
    values, where = np.unique(numbers[finite], return_inverse=True)
    counts = _weighed(where.reshape(-1), weights[finite], len(values))
    values, counts = values[counts > 0], counts[counts > 0]
    few = len(values) <= _MAX_NUMBERS and counts.sum() >= 2 * len(values)
    return Bars(
        column=column,
        edges=np.empty(0) if few else _edges(values, counts, threshold),
        numbers=values if few else np.empty(0),
        codes=_words(codes[~finite], weights[~finite]),
    )


def _words(codes: npt.NDArray[np.int32], weights: Floats) -> npt.NDArray[np.int32]:
    """The most frequent words; those without a code of their own are not among them."""
    seen, where = np.unique(codes, return_inverse=True)
    counts = _weighed(where.reshape(-1), weights, len(seen))
    counts[seen == OTHER] = 0.0
    often = np.argsort(-counts, kind="stable")[:_MAX_WORDS]
    return np.sort(seen[often[counts[often] > 0]])


def _edges(values: Floats, counts: Floats, threshold: float | None) -> Floats:
    """Even bins over all but the tails, with an edge at the threshold, or between whole numbers."""
    share = np.cumsum(counts) / counts.sum()
    ends = np.searchsorted(share, (_TAIL_SHARE, 1.0 - _TAIL_SHARE)).clip(max=len(values) - 1)
    low, high = values[ends] if ends[0] < ends[1] else values[[0, -1]]
    width = float(high / _BINS - low / _BINS)
    if np.all(values == np.floor(values)) and width < 1e9:
        low, width = np.floor(low) - 0.5, max(float(np.ceil(width)), 1.0)
    elif threshold is not None and low < threshold < high and width > 0.0:
        low = threshold - np.ceil((threshold - low) / width) * width
    with np.errstate(over="ignore"):  # numbers as far apart as floats can be
        inner = np.unique(low + width * np.arange(_BINS + 1))
    return np.concatenate([[-np.inf], inner[np.isfinite(inner)], [np.inf]])


def _counted(bars: Bars, sample: LabelledRows, weights: Floats) -> Floats:
    """The counts of a sample; a cell of similar outputs is spread over the room around it."""
    counts = _weighed(bars.index(sample.table), weights, len(bars))
    if len(bars.edges) == 0 or sample.exact.all():
        return counts
    numbers, codes = _cells(sample.table, bars.column)
    centres, held = numbers[codes < 0], weights[codes < 0]
    order = np.argsort(centres, kind="stable")
    reached = np.cumsum(held[order]) - held[order] / 2.0  # half of a cell lies below its centre
    below = np.interp(bars.edges[1:-1], centres[order], reached, left=0.0, right=held.sum())
    counts[: len(bars.edges) - 1] = np.diff(np.concatenate([[0.0], below.round(), [held.sum()]]))
    return counts


def _cells(table: Table, column: int) -> tuple[Floats, npt.NDArray[np.int32]]:
    """The numbers and the codes of one column."""
    numbers = table.numbers[:, column]
    if table.atoms is None:
        return numbers, np.full(len(numbers), -1, dtype=np.int32)
    return numbers, table.atoms[:, column]


def _weighed(index: Index, weights: Floats, count: int) -> Floats:
    return np.bincount(index, weights, minlength=count).astype(np.float64)
