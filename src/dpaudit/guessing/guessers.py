"""What a guesser is, and the plain ones: logistic regression on features of columns, and counts.

A guess that is too confident loses money. So linear models for bets shrink their log-odds by the
posterior variance (MacKay 1992), and counts are those of Krichevsky and Trofimov (1981),
`c = (ones + 1/2) / (ones + zeros + 1)`, whose total loss to the best constant is about `log(n)/2`
nats for each bin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpaudit.architecture import Guesser
from dpaudit.arrays import Floats, Index, Labels
from dpaudit.guessing.columns import (
    ColumnSummary,
    FeatureMap,
    described,
    described_past,
    joined_features,
    penalties,
)
from dpaudit.guessing.rows import LabelledRows, Past, row_keys
from dpaudit.outputs import Table

MAX_LOG_ODDS = 30.0  # nats: no guess is surer than this
_MAX_NEWTON_STEPS = 5
_MAX_LOGIT_STEP = 4.0  # nats a Newton step may move any logit: far from the mode it overshoots
_CONVERGED_STEP = 0.01  # nats: finer than any sample can tell
_ROWS_AT_ONCE = 65_536  # weighted, or scored
_MAX_DESIGN_CELLS = 2e7  # numbers in a design: rows beyond are left out
_PRIOR_DRAWS = 4.0  # that the guess of another guesser is worth


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """Ridge logistic regressions `c(x) = 1/(1 + exp(-x.beta))`, each under a Gaussian prior."""

    mode: Floats  # of each model: (models, features)
    covariance: Floats  # (models, features, features)

    def log_odds(self, features: Floats) -> Floats:
        """The log-odds at the mode: (models, rows)."""
        return np.asarray(np.matmul(features, self.mode[:, :, None])[:, :, 0])

    def variance(self, features: Floats) -> Floats:
        """The posterior variance of the log-odds: (models, rows)."""
        return np.asarray((np.matmul(features, self.covariance) * features).sum(axis=-1))


class LinearModels:
    """Additive logistic models over the columns, one for each pair of feature map and penalty.

    All designs have one shape, so that a fit is a few small matrix products and no loop over
    models. Log-odds are shrunk by their uncertainty. Before `min_draws` the models say nothing.
    """

    def __init__(self, models: tuple[tuple[FeatureMap, Floats], ...], *, min_draws: int = 0):
        self._models = models
        self._min_draws = min_draws
        self._summaries: tuple[ColumnSummary, ...] = ()
        self.logistic: Logistic | None = None

    def fit(self, seen: LabelledRows) -> None:
        """Learn the past, starting from the last fit."""
        if seen.draws < self._min_draws:
            return
        table = described_past(seen)
        self._summaries = table.summaries
        penalty = np.stack([penalties(table.summaries, shape) for _, shape in self._models])
        start = np.zeros_like(penalty)
        if self.logistic is not None and self.logistic.mode.shape == penalty.shape:
            start = self.logistic.mode
        found = newton(self.design(table), seen.ones, seen.zeros, penalty, start)
        self.logistic = Logistic(*found)

    def log_odds(self, table: Table) -> Floats:
        """The shrunk log-odds of each model and row."""
        if self.logistic is None:
            return np.zeros((len(self._models), len(table)))
        features = self.design(table)
        variance = self.logistic.variance(features)
        return np.asarray(self.logistic.log_odds(features) / np.sqrt(1.0 + np.pi / 8.0 * variance))

    def design(self, table: Table) -> Floats:
        """The features of each model: (models, rows, features)."""
        table = described(table, self._summaries)
        designs = [table.design(feature_map) for feature_map, _ in self._models]
        return np.stack(designs) if len(designs) > 1 else designs[0][None]  # a large one: no copy


class BalancedLinear:
    """One logistic model on all features of each column; both sides weigh the same.

    Robust shifts and scales, cosines of the rank, bins, and an indicator for every word and
    repeated value. One column, and vectors of few values, are learned as cells with counts.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(1000) < 0.5
    >>> rows = LabelledRows.of(Table(rng.normal(size=(1000, 1)) + labels[:, None], None), labels)
    >>> guesser = BalancedLinear()
    >>> guesser.fit(rows)
    >>> bool(guesser.log_odds(rows.table)[labels].mean() > 0.0)
    True
    """

    def __init__(self, *, max_design_cells: float = _MAX_DESIGN_CELLS) -> None:
        self._max_design_cells = max_design_cells

    def fit(self, seen: LabelledRows) -> None:
        """Learn from single draws."""
        self._past = Past()
        self._past.add(seen.table, seen.labels)
        summaries = described_past(self._past.seen).summaries
        feature_map, shape = joined_features(seen.table.columns)
        part = seen.take(slice(int(self._max_design_cells / len(penalties(summaries, shape)))))
        rows, index = self._past.compress(part.table)
        weights = balanced_weights(part.labels)
        ones, zeros = (
            np.bincount(index, weights * (part.labels == side), len(rows)).astype(np.float64)
            for side in (True, False)
        )
        self._models = LinearModels(((feature_map, shape),))
        exact = np.ones(len(rows), dtype=np.bool_)
        rows = described(rows, summaries)
        self._models.fit(LabelledRows(rows, ones, zeros, exact, part.draws))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every row, at the mode."""
        return self._by_chunks(lambda model, features: model.log_odds(features), table)

    def uncertainty(self, table: Table) -> Floats:
        """The standard deviation of the log-odds of every row."""
        return self._by_chunks(lambda model, features: np.sqrt(model.variance(features)), table)

    def _by_chunks(self, ask: Callable[[Logistic, Floats], Floats], table: Table) -> Floats:
        assert self._models.logistic is not None
        size = max(len(table), 1) if table.columns == 1 else _ROWS_AT_ONCE
        found = [np.empty(0)]
        for start in range(0, len(table), size):
            rows, index = self._past.compress(table.take(slice(start, start + size)))
            found.append(ask(self._models.logistic, self._models.design(rows))[0][index])
        return np.concatenate(found)


class OutputCounts:
    """Outputs as categories: one seen before is judged by the labels it had then.

    It says nothing of outputs that do not come twice, so that a value which leaks once in a
    thousand draws is not drowned by the noise of all others. `part="words"` looks only at where an
    output has words (missing, NaN, None, text) and which: enough where a mechanism tells more by
    what it leaves out than by the numbers it gives.
    """

    def __init__(self, part: Literal["all", "words"] = "all") -> None:
        self._part = part
        self._keys = np.empty(0, dtype=np.uint64)
        self._odds = np.empty(0)

    def fit(self, seen: LabelledRows) -> None:
        """Count the past."""
        self._keys, index = np.unique(self._row_keys(seen.table), return_inverse=True)
        told = seen.exact if self._part == "all" else np.ones(len(index), dtype=np.bool_)
        up, down = counts_of(len(self._keys), index, seen.ones * told, seen.zeros * told)
        self._odds = np.log((up + 0.5) / (down + 0.5))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of each row; 0 for an output never seen."""
        place, known = _found(self._keys, self._row_keys(table))
        return np.where(known, self._odds[place], 0.0)

    def _row_keys(self, table: Table) -> npt.NDArray[np.uint64]:
        if self._part == "all":
            return row_keys(table)
        return row_keys(Table(np.zeros_like(table.numbers), table.atoms))


class Remembering:
    """Judges an output seen before by its labels then, with the guess of another as the prior.

    Models are slow to isolate a rare output, or one among many; memory is not.

    >>> labels = np.arange(1000) % 2 == 0
    >>> outputs = np.where(labels, np.arange(1000.0) % 3, 0.0)  # a neighbour always gives 0
    >>> rows = LabelledRows.of(Table(outputs[:, None], None), labels)
    >>> guesser = Remembering(BalancedLinear())
    >>> guesser.fit(rows)
    >>> bool(guesser.log_odds(rows.table).max() > 4.0)
    True
    """

    def __init__(self, guesser: Guesser) -> None:
        self._guesser = guesser

    def fit(self, seen: LabelledRows) -> None:
        """Learn from single draws; both sides weigh the same."""
        self._guesser.fit(seen)
        keys, index, times = np.unique(
            row_keys(seen.table), return_inverse=True, return_counts=True
        )
        weights, often = balanced_weights(seen.labels), times > 1  # what came once stays rare
        ones, zeros = counts_of(len(keys), index, weights * seen.labels, weights * ~seen.labels)
        self._keys, self._ones, self._zeros = keys[often], ones[often], zeros[often]

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every row."""
        guess = self._guesser.log_odds(table)
        if len(self._keys) == 0:
            return guess
        place, known = _found(self._keys, row_keys(table))
        ones, zeros = self._ones[place] * known, self._zeros[place] * known
        prior = expit(np.clip(guess, -MAX_LOG_ODDS, MAX_LOG_ODDS))
        zeros += _PRIOR_DRAWS * (1.0 - prior)
        return np.asarray(np.log(ones + _PRIOR_DRAWS * prior) - np.log(zeros))


def balanced_weights(labels: Labels) -> Floats:
    """Weights with which both sides weigh the same, however many outputs each has; 1 on average."""
    share = float(labels.mean())
    return np.where(labels, 0.5 / share, 0.5 / (1.0 - share))


def newton(
    features: Floats, ones: Floats, zeros: Floats, penalty: Floats, start: Floats
) -> tuple[Floats, Floats]:
    """Posterior mode and covariance of each model: `features` is (models, rows, features).

    >>> features, penalty = np.ones((1, 2, 1)), np.full((1, 1), 1e-9)
    >>> ones, zeros = np.array([30.0, 0.0]), np.array([0.0, 10.0])
    >>> mode, _ = newton(features, ones, zeros, penalty, np.zeros((1, 1)))
    >>> print(round(float(mode[0, 0]), 3))  # log(30 / 10)
    1.099
    """
    beta, total = start, ones + zeros
    diagonal = np.arange(features.shape[2])
    starts = range(0, max(features.shape[1], 1), _ROWS_AT_ONCE)
    for _ in range(_MAX_NEWTON_STEPS):
        gradient, hessian = -penalty * beta, np.zeros((*penalty.shape, penalty.shape[1]))
        for block in (slice(first, first + _ROWS_AT_ONCE) for first in starts):
            part = features[:, block]
            transposed = part.transpose(0, 2, 1)
            guess = expit(np.matmul(part, beta[:, :, None])[:, :, 0])
            surprise = ones[block] - total[block] * guess
            gradient += np.matmul(transposed, surprise[:, :, None])[:, :, 0]
            weight = total[block] * np.maximum(guess * (1.0 - guess), 1e-6)
            hessian += np.matmul(transposed * weight[:, None, :], part)
        hessian[:, diagonal, diagonal] += penalty
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        reach = np.abs(np.matmul(features, step[:, :, None])[:, :, 0]).max(axis=1, initial=0.0)
        beta = beta + step * np.minimum(1.0, _MAX_LOGIT_STEP / np.maximum(reach, 1e-300))[:, None]
        if reach.max() < _CONVERGED_STEP:
            break
    return beta, np.linalg.inv(hessian)


def counts_of(bins: int, place: Index, ones: Floats, zeros: Floats) -> tuple[Floats, Floats]:
    """How often each bin was met on either side."""
    up, down = (np.bincount(place, weights=side, minlength=bins) for side in (ones, zeros))
    return up.astype(np.float64), down.astype(np.float64)


def _found(keys: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint64]) -> tuple[Index, Labels]:
    """The place of each wanted key among ordered keys, and whether it is there at all."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return place, np.asarray(keys[place] == wanted)
