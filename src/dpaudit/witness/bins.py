"""Quantile bins and atoms: counts instead of a model, so that no shape escapes them.

`c = (ones + 1/2) / (ones + zeros + 1)` in every bin: the estimate of Krichevsky and Trofimov
(1981), whose total loss to the best constant is about `log(n)/2` nats for each bin.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpaudit.witness.columns import View
from dpaudit.witness.sample import Sample, row_keys

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


class Bins:
    """Histograms of one column, each with its own number of bins of equal weight."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        self.count = len(sizes)
        self._odds: list[Floats] = []

    def fit(self, sample: Sample, view: View) -> Floats:
        """Count the past; the log-odds it gives to the past."""
        extra = view.columns[0].repeats + 1
        places = self._places(view)
        self._odds = [
            _log_odds(size + extra, place, sample.ones, sample.zeros)
            for size, place in zip(self._sizes, places, strict=True)
        ]
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
    """Whole outputs as categories: an output seen before is judged by how it fell then."""

    count = 1

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.uint64)
        self._odds = np.empty(0)

    def fit(self, sample: Sample, view: View) -> Floats:
        """Count the past; the log-odds it gives to the past."""
        self._keys, index = np.unique(row_keys(view.table), return_inverse=True)
        self._odds = _log_odds(len(self._keys), index, sample.ones, sample.zeros)
        return self._odds[index][None, :]

    def logits(self, view: View) -> Floats:
        """The log-odds of `data` for each row; 0 for an output never seen."""
        keys = row_keys(view.table)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._odds[place], 0.0)[None, :]


def _log_odds(bins: int, place: Places, ones: Floats, zeros: Floats) -> Floats:
    up = np.bincount(place, weights=ones, minlength=bins) + 0.5
    down = np.bincount(place, weights=zeros, minlength=bins) + 0.5
    return np.asarray(np.log(up / down))
