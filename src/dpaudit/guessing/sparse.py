"""Vectors of which few coordinates differ: models of one column each, averaged.

A model of all columns learns what every column does not show, too. Where one coordinate of two
hundred differs, naming it costs `log(200)` nats; learning two hundred weights costs far more.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import expit, log_expit, logit

from dpaudit.arrays import Floats, Index
from dpaudit.guessing.columns import (
    ColumnSummary,
    DescribedTable,
    described,
    described_past,
    laplace,
    penalties,
)
from dpaudit.guessing.guessers import Logistic, newton
from dpaudit.guessing.rows import LabelledRows
from dpaudit.outputs import Table

_MAX_FITTED = 8  # columns that get a model: those that differ most, by a first look
_PENALTY = np.ones(2)  # of shift and scale


class SingleColumns:
    """A logistic model for each of the few columns that differ most, averaged by their evidence.

    The evidence is that of Bayesian logistic regression by Laplace's method (MacKay 1992).

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(1000) < 0.5
    >>> numbers = rng.laplace(size=(1000, 50))
    >>> numbers[:, 7] += 2.0 * labels
    >>> guesser = SingleColumns()
    >>> guesser.fit(LabelledRows.of(Table(numbers, None), labels))
    >>> told = guesser.log_odds(Table(numbers, None))
    >>> bool(told[labels].mean() > 0.4), bool(told[~labels].mean() < -0.4)
    (True, True)
    """

    def __init__(self) -> None:
        self._fitted: list[tuple[ColumnSummary, Logistic]] = []
        self._weights = np.empty(0)

    def fit(self, seen: LabelledRows) -> None:
        """Look at all columns, fit the few that differ most, and weigh them."""
        table = described_past(seen)
        design, parts = table.design(laplace), _parts(table.summaries)
        fits: list[tuple[ColumnSummary, Logistic]] = []
        evidence = []
        for place in _most_different(design, parts, seen):
            column = (table.summaries[place],)
            features = np.concatenate([design[:, :1], design[:, parts[place]]], axis=1)
            penalty = penalties(column, _PENALTY)[None]
            start = np.zeros_like(penalty)
            model = Logistic(*newton(features[None], seen.ones, seen.zeros, penalty, start))
            fits.append((column[0], model))
            evidence.append(_evidence(model, features, penalty[0], seen))
        self._fitted = fits
        # Columns without a model show as much as a model that guesses 1/2, or less.
        none = -np.log(2.0) * float((seen.ones + seen.zeros).sum())
        others = none + np.log(max(table.columns - len(fits), 1))
        logs = np.array([*evidence, others])
        self._weights = np.exp(logs - np.logaddexp.reduce(logs))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of the average guess."""
        guess = np.full(len(table), 0.5 * self._weights[-1])
        for weight, (column, model) in zip(self._weights, self._fitted, strict=False):
            if weight > 1e-12:
                features = _of_one(table, column).design(laplace)[None]
                shrunk = np.sqrt(1.0 + np.pi / 8.0 * model.variance(features))
                guess += weight * expit(model.log_odds(features) / shrunk)[0]
        return np.asarray(logit(np.clip(guess, 1e-15, 1.0 - 1e-15)))


def _of_one(table: Table, column: ColumnSummary) -> DescribedTable:
    """The table as if it had this column alone."""
    return described(Table(table.numbers, table.atoms), (column,))


def _parts(summaries: tuple[ColumnSummary, ...]) -> list[slice]:
    """Where the features of each column stand in the design of all columns."""
    ends = 1 + np.cumsum([len(penalties((column,), _PENALTY)) - 1 for column in summaries])
    return [slice(*part) for part in pairwise([1, *ends.tolist()])]


def _most_different(design: Floats, parts: list[slice], seen: LabelledRows) -> Index:
    """The columns whose numbers or words differ most between the sides, by their score tests."""
    surprise, total = seen.ones - seen.zeros, seen.ones + seen.zeros
    spread = np.maximum(np.einsum("i,ij,ij->j", total, design, design), 1e-12)
    tests = (surprise @ design) ** 2 / spread
    scores = np.array([tests[part].max(initial=0.0) for part in parts])
    return np.argsort(-scores, kind="stable")[:_MAX_FITTED]


def _evidence(model: Logistic, features: Floats, penalty: Floats, seen: LabelledRows) -> float:
    """The log-probability of the past labels, the weights unknown: Laplace's approximation."""
    told = model.log_odds(features[None])[0]
    fit = log_expit(told) @ seen.ones + log_expit(-told) @ seen.zeros
    prior = 0.5 * float(np.log(penalty).sum() - penalty @ model.mode[0] ** 2)
    return float(fit + prior + 0.5 * np.linalg.slogdet(model.covariance[0])[1])
