"""Quantile bins and atoms: counts instead of a model, so that no shape escapes them.

`c = (ones + 1/2) / (ones + zeros + 1)` in every bin: the estimate of Krichevsky and Trofimov
(1981), whose total loss to the best constant is about `log(n)/2` nats for each bin.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpaudit.outputs import Table
from dpaudit.witness.columns import Column
from dpaudit.witness.sample import Sample, row_keys

Floats = npt.NDArray[np.float64]


class Bins:
    """Histograms of one column, each with its own number of bins of equal weight."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        self.count = len(sizes)
        self._column: Column | None = None
        self._tables: list[Floats] = []

    def fit(self, sample: Sample, columns: tuple[Column, ...]) -> None:
        """Count the past."""
        self._column = columns[0]
        place = self._places(sample.rows)
        self._tables = [
            _log_odds(bins, cells, sample.ones, sample.zeros)
            for bins, cells in zip(self._cells_per_size(), place, strict=True)
        ]

    def logits(self, table: Table) -> Floats:
        """The log-odds of `data` for each histogram and row."""
        return np.stack(
            [odds[cells] for odds, cells in zip(self._tables, self._places(table), strict=True)]
        )

    def _cells_per_size(self) -> list[int]:
        assert self._column is not None
        extra = len(self._column.words) + len(self._column.repeated) + 1
        return [size + extra for size in self._sizes]

    def _places(self, table: Table) -> list[npt.NDArray[np.intp]]:
        """The bin of each row: by rank, or one of its own for what repeats, or the rest."""
        assert self._column is not None
        column = self._column
        rank = column.rank(table.numbers[:, column.place])
        plain = column.plain(table)
        places = [np.minimum((rank * size).astype(np.intp), size - 1) for size in self._sizes]
        if plain is None:
            return places
        indicators = column.indicators(table)
        special = np.where(
            indicators.any(axis=1), indicators.argmax(axis=1) if indicators.size else 0, -1
        )
        rest = indicators.shape[1]
        special = np.where(special < 0, rest, special)
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

    def fit(self, sample: Sample, columns: tuple[Column, ...]) -> None:
        """Count the past."""
        self._keys, index = np.unique(row_keys(sample.rows), return_inverse=True)
        self._odds = _log_odds(len(self._keys), index, sample.ones, sample.zeros)

    def logits(self, table: Table) -> Floats:
        """The log-odds of `data` for each row; 0 for an output never seen."""
        keys = row_keys(table)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._odds[place], 0.0)[None, :]


def _log_odds(bins: int, place: npt.NDArray[np.intp], ones: Floats, zeros: Floats) -> Floats:
    up = np.bincount(place, weights=ones, minlength=bins) + 0.5
    down = np.bincount(place, weights=zeros, minlength=bins) + 0.5
    return np.asarray(np.log(up / down))
