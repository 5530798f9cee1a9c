"""Classifiers that guess which side an output came from: a score for every output.

Only the order of the scores matters, and only to how much is found: any score gives valid events.
"""

from __future__ import annotations

import copy
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from dpaudit.arrays import Floats
from dpaudit.guessing.columns import Column, View, prepare
from dpaudit.guessing.features import (
    FeatureMap,
    cosines,
    design,
    gaussian,
    laplace,
    normal_scores,
    penalties,
)
from dpaudit.guessing.labelled import Labelled, Labels
from dpaudit.guessing.linear import newton, variances
from dpaudit.guessing.network import Standard, features
from dpaudit.guessing.network import train as train_network
from dpaudit.guessing.sample import Sample, row_keys
from dpaudit.guessing.trees import fitted, log_odds
from dpaudit.outputs import Table

_BINS = 24  # of one column, beside the smooth features: no shape escapes them
_CELLS = 2e7  # numbers in a design: more rows than that many are left out
_CHUNK = 65_536  # rows scored at once
_WORDS = 64  # words of a column that get a 0/1 column of their own
_PRIOR = 4.0  # outputs that a guess is worth
_SUREST = 30.0  # nats: no guess is surer than this


@runtime_checkable
class ProbabilityClassifier(Protocol):
    """A classifier of one's own: scikit-learn's two methods."""

    def fit(self, rows: Floats, labels: npt.NDArray[np.int64], /) -> object:
        """Learn rows of numbers with labels 0 (the neighbour's outputs) and 1 (the data's)."""

    def predict_proba(self, rows: Floats, /) -> npt.NDArray[Any]:
        """The probabilities of the labels, one row each."""


Classifier: TypeAlias = Literal["auto", "linear", "boosted", "neural"] | ProbabilityClassifier


class Score(Protocol):
    """A learned score: larger where an output is likelier on the data."""

    def __call__(self, table: Table, /) -> Floats:
        """The score of every row."""


class LinearScore:
    """Ridge logistic regression on features of each column, added up over the columns.

    Robust shifts and scales, cosines of the rank, bins, and an indicator for every word and
    repeated value. One column, and vectors of few values, are learned as cells with counts.

    >>> from dpaudit.guessing.labelled import Share
    >>> rng = np.random.default_rng(0)
    >>> train, _ = Share(training=0.5, most=1000).part(
    ...     rng.normal(1.0, size=1000), rng.normal(size=1000), rng
    ... )
    >>> score = LinearScore(train)
    >>> bool(score(train.table)[train.labels].mean() > score(train.table)[~train.labels].mean())
    True
    """

    def __init__(self, train: Labelled, *, cells: float = _CELLS) -> None:
        self._sample = Sample()
        self._sample.add(train.table, train.labels)
        self._columns = prepare(self._sample)
        maps, penalty = _features(train.table.columns)
        self._map = _joined(maps)
        shape = penalties(self._columns, penalty)
        rows, index = self._sample.compress(train.table.take(slice(int(cells / len(shape)))))
        labels = train.labels[: len(index)]
        matrix = design(View(self._columns, rows), self._map)
        weights = _even_weights(labels)
        ones, zeros = (
            np.bincount(index, weights * (labels == side), len(rows)).astype(np.float64)
            for side in (True, False)
        )
        start = np.zeros((1, len(shape)))
        mode, covariance = newton(matrix[None], ones, zeros, shape[None], start)
        self._beta, self._covariance = mode[0], covariance[0]

    def __call__(self, table: Table) -> Floats:
        """The log-odds of every row."""
        return _by_chunks(self._scores, table)

    def uncertainty(self, table: Table) -> Floats:
        """The standard deviation of the log-odds of every row, as learned."""
        return _by_chunks(self._deviations, table)

    def _scores(self, table: Table) -> Floats:
        matrix, index = self._design(table)
        return np.asarray((matrix @ self._beta)[index])

    def _deviations(self, table: Table) -> Floats:
        matrix, index = self._design(table)
        return np.asarray(np.sqrt(variances(matrix, self._covariance))[index])

    def _design(self, table: Table) -> tuple[Floats, npt.NDArray[np.intp]]:
        rows, index = self._sample.compress(table)
        return design(View(self._columns, rows), self._map), index


class BoostedScore:
    """Gradient-boosted trees of scikit-learn on the columns; words are codes in their own columns.

    >>> from dpaudit.guessing.labelled import Share
    >>> rng = np.random.default_rng(0)
    >>> bits = rng.integers(2, size=(1000, 2))
    >>> train, _ = Share(training=0.5, most=1000).part(bits[bits.sum(axis=1) == 1], bits, rng)
    >>> score = BoostedScore(train)
    >>> bool(score(train.table)[train.labels].min() > 0.0)
    True
    """

    def __init__(self, train: Labelled) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        words = train.table.codes() >= 0
        self._coded, self._numeric = np.flatnonzero(words.any(axis=0)), ~words.all(axis=0)
        model = HistGradientBoostingClassifier(
            max_iter=50,
            learning_rate=0.15,
            max_leaf_nodes=16,
            min_samples_leaf=20,
            l2_regularization=5.0,
            early_stopping=False,
            random_state=0,
        )
        # Weights make the search for bins many times slower: they are given only where they differ.
        even = 2 * np.count_nonzero(train.labels) == len(train.labels)
        weights = None if even else _even_weights(train.labels)
        self._model = fitted(model, self._matrix(train.table), train.labels, weights)

    def __call__(self, table: Table) -> Floats:
        """The log-odds of every row."""
        _, first, index = np.unique(row_keys(table), return_index=True, return_inverse=True)
        rows = table.take(first) if len(first) < len(table) // 2 else table
        scores = log_odds(self._model, self._matrix(rows))
        return scores if rows is table else scores[index]

    def _matrix(self, table: Table) -> Floats:
        if table.atoms is None and len(self._coded) == 0:
            return table.numbers
        codes = table.codes()
        numbers = np.where(codes < 0, table.numbers, np.nan)
        return np.hstack([numbers[:, self._numeric], codes[:, self._coded]])


class NeuralScore:
    """A dense network, trained with torch on `device`."""

    def __init__(self, train: Labelled, *, device: str | None, seed: int) -> None:
        self._like = Standard.of(train.table)
        self._network = train_network(
            features(train.table, self._like),
            train.labels,
            _even_weights(train.labels),
            seed=seed,
            device=device,
        )

    def __call__(self, table: Table) -> Floats:
        """The log-odds of every row."""
        return self._network.scores(features(table, self._like))


class Remembering:
    """A score that judges an output seen before by how it fell then, with its guess as the prior.

    Models are slow to isolate a rare output, or one among many; memory is not.

    >>> from dpaudit.guessing.labelled import Share
    >>> rng = np.random.default_rng(0)
    >>> train, _ = Share(training=0.5, most=1000).part(["a", "b"] * 500, ["b", "b"] * 500, rng)
    >>> score = Remembering(train, lambda table: np.zeros(len(table)))
    >>> bool(score(train.table).max() > 4.0)
    True
    """

    def __init__(self, train: Labelled, guess: Score) -> None:
        self._guess = guess
        keys, index, seen = np.unique(
            row_keys(train.table), return_inverse=True, return_counts=True
        )
        weights = _even_weights(train.labels)
        ones, zeros = (
            np.bincount(index, weights=weights * (train.labels == side)) for side in (True, False)
        )
        self._keys = keys[seen > 1]  # what came once will hardly come again
        self._ones, self._zeros = ones[seen > 1], zeros[seen > 1]

    def __call__(self, table: Table) -> Floats:
        """The log-odds of every row."""
        guess = self._guess(table)
        if len(self._keys) == 0:
            return guess
        keys = row_keys(table)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        known = self._keys[place] == keys
        ones, zeros = self._ones[place] * known, self._zeros[place] * known
        guess = expit(np.clip(guess, -_SUREST, _SUREST))
        return np.asarray(np.log(ones + _PRIOR * guess) - np.log(zeros + _PRIOR * (1.0 - guess)))


class OwnScore:
    """A user's classifier: it sees numbers, and a 0/1 column for every frequent word."""

    def __init__(self, train: Labelled, classifier: ProbabilityClassifier) -> None:
        self._words = _frequent_words(train.table)
        self._name = type(classifier).__name__
        self._model = copy.deepcopy(classifier)  # the one that was given stays as it is
        self._model.fit(self._matrix(train.table), train.labels.astype(np.int64))

    def __call__(self, table: Table) -> Floats:
        """The log-odds of every row."""
        given = np.asarray(self._model.predict_proba(self._matrix(table)), dtype=np.float64)
        if given.shape != (len(table), 2) or not np.all((given >= 0.0) & (given <= 1.0)):
            raise ValueError(
                f"{self._name}.predict_proba must give {len(table)} rows of two probabilities, for "
                f"labels 0 and 1, got shape {given.shape}. Train on both labels and give numbers "
                "in [0, 1]."
            )
        return np.asarray(np.clip(logit(given[:, 1]), -_SUREST, _SUREST))

    def _matrix(self, table: Table) -> Floats:
        indicators = [
            table.codes()[:, [column]] == words for column, words in enumerate(self._words)
        ]
        return np.hstack([table.numbers, *indicators]).astype(np.float64)


def learn(
    classifier: Classifier, train: Labelled, *, device: str | None, rng: np.random.Generator
) -> Score:
    """Train a classifier, by name or one's own, on labelled outputs."""
    if train.table.columns == 0:  # outputs such as (), which all look the same
        return lambda table: np.zeros(len(table))
    if classifier == "auto":
        classifier = "linear" if train.table.columns == 1 else "boosted"
    if classifier == "linear":
        return Remembering(train, LinearScore(train))
    if classifier == "boosted":
        return Remembering(train, BoostedScore(train))
    if classifier == "neural":
        return NeuralScore(train, device=device, seed=int(rng.integers(2**32)))
    assert not isinstance(classifier, str)
    return OwnScore(train, classifier)


def check_classifier(classifier: object) -> None:
    """Refuse what is neither a known name nor a classifier."""
    names = ("auto", "linear", "boosted", "neural")
    if isinstance(classifier, str) and classifier in names:
        return
    if isinstance(classifier, ProbabilityClassifier) and not isinstance(classifier, type):
        return
    raise ValueError(
        f"classifier must be one of {', '.join(map(repr, names))}, or an object with fit and "
        f"predict_proba, got {classifier!r}."
    )


def _even_weights(labels: Labels) -> Floats:
    """Weights with which both sides weigh the same, however many outputs each has; 1 on average."""
    share = float(labels.mean())
    return np.where(labels, 0.5 / share, 0.5 / (1.0 - share))


def _features(columns: int) -> tuple[tuple[FeatureMap, ...], Floats]:
    """Feature maps for a column and their ridge penalties: the more columns, the fewer of them."""
    if columns == 1:
        waves = 12
        maps: tuple[FeatureMap, ...] = (laplace, gaussian, normal_scores, cosines(waves), _bins)
        parts = [np.ones(6), 0.3 * np.arange(1.0, waves + 1) ** 2, np.full(_BINS, 3.0)]
        return maps, np.concatenate(parts)
    if columns <= 16:
        waves = 6
        smooth = 0.3 * np.arange(1.0, waves + 1) ** 2
        return (laplace, gaussian, cosines(waves)), np.concatenate([np.ones(4), smooth])
    return (laplace,), np.ones(2)


def _joined(maps: tuple[FeatureMap, ...]) -> FeatureMap:
    def features(column: Column, view: View) -> Floats:
        return np.concatenate([each(column, view) for each in maps], axis=1)

    return features


def _bins(column: Column, view: View) -> Floats:
    place = np.minimum((view.rank(column) * _BINS).astype(np.intp), _BINS - 1)
    return np.asarray(place[:, None] == np.arange(_BINS), dtype=np.float64)


def _by_chunks(score: Score, table: Table) -> Floats:
    if len(table) <= _CHUNK or table.columns == 1:
        return score(table)
    starts = range(0, len(table), _CHUNK)
    return np.concatenate([score(table.take(slice(start, start + _CHUNK))) for start in starts])


def _frequent_words(table: Table) -> list[npt.NDArray[np.int64]]:
    """The most frequent codes of each column."""
    if table.atoms is None:
        return [np.empty(0, dtype=np.int64)] * table.columns
    counts = [np.bincount(codes[codes >= 0]) for codes in table.atoms.T]
    return [
        np.sort(np.argsort(-count, kind="stable")[: min(_WORDS, np.count_nonzero(count))])
        for count in counts
    ]
