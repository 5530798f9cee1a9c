"""Histograms of one column that guess the label: bins of equal weight or ever smaller, and nested.

The counts are those of Krichevsky and Trofimov (1981), as in `guessers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import betaln, logit

from dpaudit.arrays import Floats, Index
from dpaudit.guessing.columns import ColumnSummary, DescribedTable, described, described_past
from dpaudit.guessing.guessers import counts_of
from dpaudit.guessing.rows import LabelledRows
from dpaudit.outputs import Table

_LOG_HALVED = math.log(0.5)  # the prior log-probability that a bin is halved
_BINS_PER_DOUBLING = 2.0  # of the rarity, in either tail

Spacing: TypeAlias = Callable[[Floats, int], Index]  # ranks and a number of bins: which bin each


def even(rank: Floats, size: int) -> Index:
    """Bins of equal weight.

    >>> even(np.array([0.1, 0.5, 0.99]), 4).tolist()
    [0, 2, 3]
    """
    return np.minimum((rank * size).astype(np.intp), size - 1)


def towards_the_ends(rank: Floats, size: int) -> Index:
    """Bins that are halved in every second step from the median to either end.

    >>> towards_the_ends(np.array([1e-9, 0.01, 0.3, 0.5, 0.7, 0.999]), 16).tolist()
    [0, 0, 6, 8, 9, 15]
    """
    doublings = -np.log2(2.0 * np.minimum(rank, 1.0 - rank))
    depth = np.minimum(_BINS_PER_DOUBLING * doublings, size // 2 - 1).astype(np.intp)
    return np.where(rank < 0.5, size // 2 - 1 - depth, size // 2 + depth)


class Bins:
    """Histograms of one column, each with its own number of bins of equal weight.

    Mirrored bins lose half as much to learning: noise is mostly symmetric, so the log-odds of a
    shift change sign with the rank, and each bin learns from its mirror image too.
    """

    def __init__(self, sizes: tuple[int, ...], *, mirrored: tuple[int, ...] = ()) -> None:
        self._sizes = (*mirrored, *sizes)
        self._mirrored = len(mirrored)
        self._summaries: tuple[ColumnSummary, ...] = ()
        self._odds: list[Floats] = []

    def fit(self, seen: LabelledRows) -> None:
        """Count the past."""
        table = described_past(seen)
        self._summaries, self._odds = table.summaries, []
        counted = _binned(table, self._sizes, seen)
        for number, (size, (up, down)) in enumerate(zip(self._sizes, counted, strict=True)):
            if number < self._mirrored:
                mirror = np.arange(size)[::-1]
                up[:size], down[:size] = up[:size] + down[mirror], down[:size] + up[mirror]
            self._odds.append(np.log((up + 0.5) / (down + 0.5)))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of each histogram and row."""
        places = _bins_of(described(table, self._summaries), self._sizes)
        return np.stack([odds[place] for odds, place in zip(self._odds, places, strict=True)])


class NestedBins:
    """Bins of one column halved again and again, wherever the labels ask for it.

    All histograms that halving the range of ranks can make are averaged, by how well each would
    have guessed the past labels: context-tree weighting (Willems, Shtarkov and Tjalkens 1995), with
    counts as in `Bins`. So a narrow spike is cut out of a range that is one wide bin elsewhere,
    and with bins `towards_the_ends` what lies far out and comes once in a million outputs.

    Each guess is moved towards a half by so many `deviations` of what is known of it. A tail that
    is exactly on a claim then costs nothing, and one that shows the dataset for sure is bet on.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(2000) < 0.5
    >>> spike = labels & (rng.random(2000) < 0.2)
    >>> outputs = np.where(spike, 0.7 + 0.003 * rng.random(2000), rng.normal(size=2000))
    >>> guesser = NestedBins()
    >>> guesser.fit(LabelledRows.of(Table(outputs[:, None], None), labels))
    >>> (guesser.log_odds(Table(np.array([[-1.0], [0.701], [2.0]]), None)) > 3.0).tolist()
    [False, True, False]
    """

    def __init__(
        self, halvings: int = 9, spacing: Spacing = even, *, deviations: float = 0.0
    ) -> None:
        self._size, self._spacing, self._deviations = 2**halvings, spacing, deviations
        self._summaries: tuple[ColumnSummary, ...] = ()
        self._odds = np.empty(0)

    def fit(self, seen: LabelledRows) -> None:
        """Count the past in the finest bins, weigh every halving upwards, average downwards."""
        table = described_past(seen)
        self._summaries = table.summaries
        ((up, down),) = _binned(table, (self._size,), seen, self._spacing)
        self._odds = np.log((up + 0.5) / (down + 0.5))  # right for what has a bin of its own
        levels, splits = _weighed_halvings(up[: self._size], down[: self._size])
        log_reached, moments = np.zeros(1), np.zeros((2, 1))
        for (ones, zeros), log_split in zip(levels, splits, strict=True):
            stopped = np.exp(log_reached) * -np.expm1(log_split)
            moments = moments + stopped * _moments(ones, zeros)
            if len(log_reached) < self._size:
                moments, log_reached = (
                    np.repeat(moments, 2, 1),
                    np.repeat(log_reached + log_split, 2),
                )
        guess, square = moments
        most = self._deviations * np.sqrt(np.maximum(square - guess**2, 0.0))
        guess = guess - np.clip(guess - 0.5, -most, most)
        self._odds[: self._size] = logit(np.clip(guess, 1e-15, 1.0 - 1e-15))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of each row."""
        (place,) = _bins_of(described(table, self._summaries), (self._size,), self._spacing)
        return np.asarray(self._odds[place])


def _weighed_halvings(
    ones: Floats, zeros: Floats
) -> tuple[list[tuple[Floats, Floats]], list[Floats]]:
    """The counts of the bins, widest first, and the log-probability that each one is halved."""
    levels, log_marginal = [(ones, zeros)], _log_marginal(ones, zeros)
    splits = [np.full(len(ones), -np.inf)]
    while len(ones) > 1:
        ones, zeros = ones.reshape(-1, 2).sum(axis=1), zeros.reshape(-1, 2).sum(axis=1)
        halved = log_marginal.reshape(-1, 2).sum(axis=1) + _LOG_HALVED
        log_marginal = np.logaddexp(
            _log_marginal(ones, zeros) + np.log1p(-np.exp(_LOG_HALVED)), halved
        )
        levels.append((ones, zeros))
        splits.append(np.minimum(halved - log_marginal, -1e-300))
    return levels[::-1], splits[::-1]


def _moments(ones: Floats, zeros: Floats) -> Floats:
    """Mean and mean square of the chance of a one in each bin, given the counts."""
    up, draws = ones + 0.5, ones + zeros + 1.0
    return np.stack([up / draws, up * (up + 1.0) / (draws * (draws + 1.0))])


def _log_marginal(ones: Floats, zeros: Floats) -> Floats:
    """The log-probability of labels in one bin, its chance unknown (Krichevsky and Trofimov)."""
    return np.asarray(betaln(ones + 0.5, zeros + 0.5) - betaln(0.5, 0.5))


def _binned(
    table: DescribedTable, sizes: tuple[int, ...], seen: LabelledRows, spacing: Spacing = even
) -> list[tuple[Floats, Floats]]:
    """How often each bin of each histogram was met on either side."""
    extra = table.summaries[0].repeats + 1
    places = _bins_of(table, sizes, spacing)
    return [
        counts_of(size + extra, place, seen.ones, seen.zeros)
        for size, place in zip(sizes, places, strict=True)
    ]


def _bins_of(table: DescribedTable, sizes: tuple[int, ...], spacing: Spacing = even) -> list[Index]:
    """The bin of each row: by rank, or one of its own for what repeats, or the last."""
    column = table.summaries[0]
    rank, plain = table.rank(column), column.plain(table)
    places = [spacing(rank, size) for size in sizes]
    if plain is None:
        return places
    special = np.full(len(table), column.repeats)
    if column.repeats:
        indicators = table.indicators(column)
        special = np.where(indicators.any(axis=1), indicators.argmax(axis=1), special)
    return [
        np.where(plain, place, size + special) for place, size in zip(places, sizes, strict=True)
    ]
