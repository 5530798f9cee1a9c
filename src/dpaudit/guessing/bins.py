"""Quantile bins and atoms: counts instead of a model, so that no shape escapes them.

`c = (ones + 1/2) / (ones + zeros + 1)` in every bin: the estimate of Krichevsky and Trofimov
(1981), whose total loss to the best constant is about `log(n)/2` nats for each bin. Mirrored bins
lose half of that: noise is mostly symmetric, so the log-odds of a shift change sign with the rank,
and each bin learns from its mirror image too.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.guessing.columns import View
from dpaudit.guessing.sample import Sample, row_keys
from dpaudit.outputs import Table

Places = npt.NDArray[np.intp]


class Bins:
    """Histograms of one column, each with its own number of bins of equal weight."""

    def __init__(self, sizes: tuple[int, ...], *, mirrored: tuple[int, ...] = ()) -> None:
        self._sizes = (*mirrored, *sizes)
        self._mirrored = len(mirrored)
        self.count = len(self._sizes)
        self._odds: list[Floats] = []

    def fit(self, sample: Sample, view: View) -> Floats:
        """Count the past; the log-odds it gives to the past."""
        extra = view.columns[0].repeats + 1
        places = self._places(view)
        self._odds = []
        for number, (size, place) in enumerate(zip(self._sizes, places, strict=True)):
            up, down = _counts(size + extra, place, sample.ones, sample.zeros)
            if number < self._mirrored:
                mirror = np.arange(size)[::-1]
                up[:size], down[:size] = up[:size] + down[mirror], down[:size] + up[mirror]
            self._odds.append(_log_odds(up, down))
        return self._look_up(places)

    def logits(self, view: View) -> Floats:
        """The log-odds of `data` for each histogram and row."""
        return self._look_up(self._places(view))

    def _look_up(self, places: list[Places]) -> Floats:
        return np.stack([odds[place] for odds, place in zip(self._odds, places, strict=True)])

    def _places(self, view: View) -> list[Places]:
        """The bin of each row: by rank, or one of its own for what repeats, or the last."""
        column = view.columns[0]
        rank, plain = view.rank(column), column.plain(view.table)
        places = [np.minimum((rank * size).astype(np.intp), size - 1) for size in self._sizes]
        if plain is None:
            return places
        special = np.full(len(view.table), column.repeats)
        if column.repeats:
            indicators = view.indicators(column)
            special = np.where(indicators.any(axis=1), indicators.argmax(axis=1), special)
        return [
            np.where(plain, place, size + special)
            for place, size in zip(places, self._sizes, strict=True)
        ]


class Atoms:
    """Outputs as categories: one seen before is judged by how it fell then.

    Nothing is said of outputs that do not come twice, so that a value which leaks once in a
    thousand draws is not drowned by the noise of all others. `part="words"` looks only at where an
    output has words (missing, NaN, None, text) and which: enough where a mechanism tells more by
    what it leaves out than by the numbers it gives.
    """

    count = 1

    def __init__(self, part: Literal["all", "words"] = "all") -> None:
        self._part = part
        self._keys = np.empty(0, dtype=np.uint64)
        self._odds = np.empty(0)

    def fit(self, sample: Sample, view: View) -> Floats:
        """Count the past; the log-odds it gives to the past."""
        self._keys, index = np.unique(self._row_keys(view.table), return_inverse=True)
        told = sample.exact if self._part == "all" else np.ones(len(index), dtype=np.bool_)
        ones, zeros = sample.ones * told, sample.zeros * told
        self._odds = _log_odds(*_counts(len(self._keys), index, ones, zeros))
        return self._odds[index][None, :]

    def logits(self, view: View) -> Floats:
        """The log-odds of `data` for each row; 0 for an output never seen."""
        keys = self._row_keys(view.table)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._odds[place], 0.0)[None, :]

    def _row_keys(self, table: Table) -> npt.NDArray[np.uint64]:
        if self._part == "all":
            return row_keys(table)
        return row_keys(Table(np.zeros_like(table.numbers), table.atoms))


def _counts(bins: int, place: Places, ones: Floats, zeros: Floats) -> tuple[Floats, Floats]:
    """How often each bin was met on either side."""
    up = np.bincount(place, weights=ones, minlength=bins)
    down = np.bincount(place, weights=zeros, minlength=bins)
    return up.astype(np.float64), down.astype(np.float64)


def _log_odds(up: Floats, down: Floats) -> Floats:
    return np.asarray(np.log((up + 0.5) / (down + 0.5)))
