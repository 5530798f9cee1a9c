"""Several guessers as one: their guesses averaged by how well each has guessed so far.

`c(x) = sum_k weight_k c_k(x)` with `weight_k` proportional to the likelihood that guesser `k` gave
to the past labels, each guessed before it was seen: Bayesian model averaging. A small part is
always shared out anew, so that a guesser that needs a long past can still take over.

Guessers of vectors take long to learn. One that weighs less than what is shared out sleeps: it
neither learns nor guesses until the past has doubled, and keeps its weight meanwhile, as if it had
guessed what the others guess together (Freund, Schapire, Singer and Warmuth 1997, "Using and
combining predictors that specialize"). It then wakes, learns and guesses at least until the next
fit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit, log_expit, logit

from dpaudit.architecture import Guesser
from dpaudit.arrays import Floats, Index
from dpaudit.guessing.bins import Bins, NestedBins, towards_the_ends
from dpaudit.guessing.columns import (
    ColumnSummary,
    FeatureMap,
    cauchy,
    cosines,
    described,
    described_past,
    gaussian,
    laplace,
    normal_scores,
    tails,
)
from dpaudit.guessing.guessers import MAX_LOG_ODDS, LinearModels, OutputCounts
from dpaudit.guessing.rows import LabelledRows
from dpaudit.guessing.sparse import SingleColumns
from dpaudit.guessing.trees import Boosted
from dpaudit.outputs import Table

_MAX_REFUNDED_SHARE = 1e-3  # of the weight, given back by the prior at every fit
_MIN_DRAWS_TO_SLEEP = 4_096  # below, learning takes no time, and every guesser may still be right
_SLEEP_GROWTH = 2.0  # by which the past has grown when a guesser wakes
_COARSE_BINS = (
    9,
    11,
)  # for one column: seven shifts, scales or tails, two waves, then three bins, mirrored


_CAUTION = 1.5  # standard deviations by which what is far out is guessed nearer to a half
_MIN_SPARSE_COLUMNS = 4  # from which on columns are also guessed by one at a time


class Ensemble:
    """The guessers for outputs of a given number of columns, and the weight of each."""

    def __init__(self, columns: int) -> None:
        self._guessers, self._models = zip(*_guessers(columns), strict=True)
        counts = self._models
        # Shift-or-scale models come first, twice as likely as any other single model.
        weights = np.repeat([2.0] + [1.0] * (len(counts) - 1), counts)
        self.prior = np.asarray(weights / np.sum(weights))
        self.coarse = _COARSE_BINS if columns == 1 else ()  # the places of the plainest bins
        self._log_prior = np.log(self.prior)
        self._log_weight = self._log_prior
        self._sleeps = columns > 1
        self._wakes_at = np.zeros(len(counts))  # the draws at which each guesser is awake again
        self.awake: Index = np.arange(len(self.prior))  # the places of the models that guess now
        self._summaries: tuple[ColumnSummary, ...] = ()
        self._learned: tuple[Table, Floats] | None = None  # the last past, and the guesses there

    def fit(self, seen: LabelledRows, shown: Table | None = None) -> Floats:
        """Let the guessers that are awake learn the past; the log-odds each gives to `shown`.

        Without `shown` these are the log-odds of the past itself.
        """
        # What is refunded bounds the log-odds of the average, so it shrinks as the past grows.
        refunded = min(_MAX_REFUNDED_SHARE, 1.0 / max(seen.draws, 1))
        self._put_to_sleep(seen.draws, refunded)
        past = replace(seen, table=described_past(seen))
        for guesser in self._guessers_awake():
            guesser.fit(past)
        self._summaries = described_past(past).summaries
        self._log_weight = np.logaddexp(
            self._log_weight + np.log1p(-refunded), self._log_prior + np.log(refunded)
        )
        self._learned = None
        if shown is not None and shown is not seen.table:
            return self.guesses(shown)
        self._learned = seen.table, self.guesses(past.table)
        return self._learned[1]

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of `data` that the guessers together give to each row."""
        return self.average(self.guesses(table))

    def guesses(self, table: Table) -> Floats:
        """The log-odds of `data` by each model that is awake (rows of the result), by output."""
        if self._learned is not None and table is self._learned[0]:
            return self._learned[1]  # a long past stands in cells, and so does what comes next
        table = described(table, self._summaries)
        found = [np.atleast_2d(guesser.log_odds(table)) for guesser in self._guessers_awake()]
        return np.asarray(np.clip(np.concatenate(found), -MAX_LOG_ODDS, MAX_LOG_ODDS))

    def average(self, guesses: Floats) -> Floats:
        """The log-odds of `data` that follow from those of each guesser that is awake."""
        weight = np.exp(self._log_weight[self.awake] - self._log_weight_awake())
        return np.asarray(logit(weight @ expit(guesses)))

    def score(self, guesses: Floats, ones: Floats, zeros: Floats) -> None:
        """Weigh the guessers by the labels that came: `ones[i]`, `zeros[i]` times on row `i`.

        Those that are awake share their weight anew; those that sleep keep theirs.
        """
        likelihood = log_expit(guesses) @ ones + log_expit(-guesses) @ zeros
        weight = self._log_weight[self.awake] + likelihood
        weight += self._log_weight_awake() - np.logaddexp.reduce(weight)
        self._log_weight = self._log_weight.copy()
        self._log_weight[self.awake] = weight

    def _put_to_sleep(self, draws: int, refunded: float) -> None:
        """Before a fit: those sleep of which no model weighs more than what it would be refunded.

        So one that did not fall behind since the last fit stays awake.
        """
        if not self._sleeps or draws < _MIN_DRAWS_TO_SLEEP:
            return
        ends = np.cumsum(self._models)
        above = self._log_weight > self._log_prior + np.log(refunded)
        falls_behind = ~np.logical_or.reduceat(above, ends - self._models)
        was_awake = np.isin(ends - 1, self.awake)
        self._wakes_at[was_awake & falls_behind] = _SLEEP_GROWTH * draws
        self.awake = np.flatnonzero(np.repeat(self._wakes_at <= draws, self._models))

    def _guessers_awake(self) -> list[Guesser]:
        awake = np.isin(np.cumsum(self._models) - 1, self.awake)
        return [
            guesser for guesser, is_awake in zip(self._guessers, awake, strict=True) if is_awake
        ]

    def _log_weight_awake(self) -> float:
        """The logarithm of the weight of all that are awake: 0 if nobody sleeps."""
        if len(self.awake) == len(self._log_weight):
            return 0.0
        return float(np.logaddexp.reduce(self._log_weight[self.awake]))


def _guessers(columns: int) -> list[tuple[Guesser, int]]:
    """Guessers, and how many models each holds: the more columns, the fewer and plainer."""
    even = np.ones(2)
    shift_or_scale: list[tuple[FeatureMap, Floats]] = [
        (laplace, even),
        (gaussian, even),
        (normal_scores, even),
    ]
    if columns == 1:
        shift_or_scale += [
            (cauchy(0.25), 3 * even),
            (cauchy(0.12), 3 * even),
            (tails(4.0), even),
            (tails(6.0), even),
        ]
    elif columns > 16:
        shift_or_scale = [(laplace, even)]
    found: list[tuple[Guesser, int]] = [(LinearModels(tuple(shift_or_scale)), len(shift_or_scale))]
    order = 12 if columns == 1 else 6 if columns <= 8 else 0
    if order:
        waves, smooth = cosines(order), np.arange(1.0, order + 1) ** 2
        found.append(
            (LinearModels(((waves, 0.3 * smooth), (waves, 3.0 * smooth)), min_draws=48), 2)
        )
    if columns == 1:
        found.append((Bins((2, 3, 6, 24, 1), mirrored=(3,)), 6))
        found += [(NestedBins(), 1), (NestedBins(7, towards_the_ends, deviations=_CAUTION), 1)]
    else:
        found += [(Boosted(), 1), (OutputCounts("words"), 1)]
    if columns >= _MIN_SPARSE_COLUMNS:
        found.append((SingleColumns(), 1))
    return [*found, (OutputCounts(), 1)]
