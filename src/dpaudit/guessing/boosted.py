"""Boosted trees, for vectors whose columns tell more together than each alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.guessing.columns import View
from dpaudit.guessing.sample import Sample
from dpaudit.guessing.trees import fitted, log_odds
from dpaudit.outputs import Table

_FIRST = 256  # draws before the first fit
_GROWTH = 1.5  # a fit costs much more than a linear one: the past must have grown by half
_WORDS_BEYOND = 1e6  # words are placed far beyond the numbers, in the order of their codes


class Boosted:
    """Gradient-boosted trees of scikit-learn on the columns as they are."""

    count = 1

    def __init__(self) -> None:
        self._model: Any = None
        self._next = _FIRST

    def fit(self, sample: Sample, view: View) -> Floats:
        """Learn the past, if it has grown enough; the log-odds it gives to the past."""
        if sample.size >= self._next:
            self._refit(sample)
        return self.logits(view)

    def _refit(self, sample: Sample) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        self._next = int(sample.size * _GROWTH) + 1
        rows = _matrix(sample.rows)
        features = np.concatenate([rows, rows])
        labels = np.repeat([1, 0], len(rows))
        weights = np.concatenate([sample.ones, sample.zeros])
        model = HistGradientBoostingClassifier(
            max_iter=60,
            learning_rate=0.1,
            max_leaf_nodes=8,
            min_samples_leaf=20,
            l2_regularization=5.0,
            early_stopping=False,
            random_state=0,
        )
        kept = weights > 0
        weights = weights[kept]
        # Weights make the search for bins many times slower, so they are left out where all are 1.
        uneven = weights if np.any(weights != 1.0) else None
        self._model = fitted(model, features[kept], labels[kept], uneven)

    def logits(self, view: View) -> Floats:
        """The log-odds of `data` for each row; 0 before the first fit."""
        if self._model is None:
            return np.zeros((1, len(view.table)))
        return log_odds(self._model, _matrix(view.table))[None, :]


def _matrix(table: Table) -> Floats:
    """The columns as numbers: NaN, which trees treat as a value of its own, stands for MISSING."""
    if table.atoms is None:
        return table.numbers
    words = np.where(table.atoms == 0, np.nan, _WORDS_BEYOND * (1.0 + table.atoms))
    return np.where(table.atoms < 0, table.numbers, words)
