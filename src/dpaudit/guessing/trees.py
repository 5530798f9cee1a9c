"""Boosted trees of scikit-learn, for vectors whose columns tell more together than each alone."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.guessing.guessers import balanced_weights
from dpaudit.guessing.rows import LabelledRows, row_keys
from dpaudit.outputs import Table

MIN_CELLS_FOR_THREADS = 2_000_000  # numbers from which a pool of threads is worth its making
_LARGEST = np.finfo(np.float64).max / 4  # trees average two neighbouring values, as their sum
_MIN_DRAWS = 256  # before the first fit
_GROWTH = 1.5  # a fit costs much more than a linear one: the past must have grown by half
_GROWTH_WHEN_FULL = 4.0  # where no more draws are kept than at the last fit: little is new
_WORDS_BEYOND = 1e6  # words are placed far beyond the numbers, in the order of their codes


class Boosted:
    """Trees on the columns as they are, for a past that grows: fitted anew now and then.

    A word is a number far beyond the others; what is missing is NaN.
    """

    def __init__(self) -> None:
        self._model: Any = None
        self._next = _MIN_DRAWS
        self._learned = self._kept = 0.0  # draws at the last fit: in all, and in memory

    def fit(self, seen: LabelledRows) -> None:
        """Learn the past, if it has grown enough."""
        if seen.draws < self._next:
            return
        weights = np.concatenate([seen.ones, seen.zeros])
        kept = float(weights.sum())
        if kept <= self._kept and seen.draws < _GROWTH_WHEN_FULL * self._learned:
            return
        self._next = int(seen.draws * _GROWTH) + 1
        self._learned, self._kept = float(seen.draws), kept
        rows = self._matrix(seen.table)
        met = weights > 0
        features, labels = np.concatenate([rows, rows]), np.repeat([True, False], len(rows))
        model = _untrained(max_iter=60, learning_rate=0.1, max_leaf_nodes=8)
        self._model = fitted(model, features[met], labels[met], weights[met])

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of each row; 0 before the first fit."""
        if self._model is None:
            return np.zeros(len(table))
        return log_odds(self._model, self._matrix(table))

    def _matrix(self, table: Table) -> Floats:
        if table.atoms is None:
            return table.numbers
        words = np.where(table.atoms == 0, np.nan, _WORDS_BEYOND * (1.0 + table.atoms))
        return np.where(table.atoms < 0, table.numbers, words)


class BalancedBoosted:
    """Trees fitted once, where both sides weigh the same; words are codes in their own columns.

    >>> bits = np.random.default_rng(0).integers(2, size=(1000, 2))
    >>> labels = (np.arange(1000) % 2 == 0) & (bits.sum(axis=1) == 1)
    >>> rows, guesser = LabelledRows.of(Table(bits * 1.0, None), labels), BalancedBoosted()
    >>> guesser.fit(rows)
    >>> bool(guesser.log_odds(rows.table)[labels].min() > 0.0)
    True
    """

    def fit(self, seen: LabelledRows) -> None:
        """Learn from single draws."""
        words = seen.table.codes() >= 0
        self._coded, self._numeric = np.flatnonzero(words.any(axis=0)), ~words.all(axis=0)
        model = _untrained(max_iter=50, learning_rate=0.15, max_leaf_nodes=16)
        weights = balanced_weights(seen.labels)
        self._model = fitted(model, self._matrix(seen.table), seen.labels, weights)

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every row; equal rows are asked for once where they are most."""
        _, first, index = np.unique(row_keys(table), return_index=True, return_inverse=True)
        if len(first) >= len(table) // 2:
            return log_odds(self._model, self._matrix(table))
        return log_odds(self._model, self._matrix(table.take(first)))[index]

    def _matrix(self, table: Table) -> Floats:
        if table.atoms is None and len(self._coded) == 0:
            return table.numbers
        codes = table.codes()
        numbers = np.where(codes < 0, table.numbers, np.nan)
        return np.hstack([numbers[:, self._numeric], codes[:, self._coded]])


def fitted(model: Any, rows: Floats, labels: Any, weights: Floats) -> Any:
    """The model, fitted to rows of numbers; NaN stands for what is missing."""
    # Weights make the search for bins many times slower: they are given only where they differ.
    uneven = weights if np.any(weights != 1.0) else None
    # Trees have no bins for a column without numbers: zeros where a column is missing in all rows.
    known = np.where(np.isnan(rows).all(axis=0), 0.0, _moderate(rows))
    with _few_threads(rows):
        return model.fit(known, labels, sample_weight=uneven)


def log_odds(model: Any, rows: Floats) -> Floats:
    """The log-odds that a fitted model gives to each row."""
    with _few_threads(rows):
        return np.asarray(model.decision_function(_moderate(rows)), dtype=np.float64)


def _untrained(**shape: float) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        min_samples_leaf=20,
        l2_regularization=5.0,
        early_stopping=False,
        random_state=0,
        **shape,
    )


def _moderate(rows: Floats) -> Floats:
    """The rows with the largest numbers pulled in: only their order matters to a tree."""
    return np.clip(rows, -_LARGEST, _LARGEST)


def _few_threads(rows: Floats) -> AbstractContextManager[object]:
    """One thread for few rows: on a busy machine, threads wait long for each other."""
    many = rows.size >= MIN_CELLS_FOR_THREADS
    return nullcontext() if many else _pools().limit(limits=1, user_api="openmp")


@cache
def _pools() -> Any:
    """The pools of threads of this process, once scikit-learn has made them."""
    import sklearn.ensemble  # noqa: F401 -- its pool is there only once it is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
