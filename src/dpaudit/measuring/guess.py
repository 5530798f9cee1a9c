"""Guessing which side an output came from, or not: what is counted in the end.

Labels are tossed fairly, so where a mechanism is `epsilon`-DP a guess is right with probability at
most `e^epsilon / (1 + e^epsilon)`, whatever the output. Draws are independent, so of `k` guesses no
more are right than a binomial variable would have it: one exact bound (Clopper and Pearson 1934)
for both directions together. Steinke, Nasr and Jagielski (2023), "Privacy auditing with one (1)
training run", count guesses in this way too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dpaudit.measuring.views import View
from dpaudit.outputs import Table
from dpaudit.stats.binomial import proportion_lower
from dpaudit.testers.classifiers import Score
from dpaudit.testers.event_choice import ranked

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]

_CAUTION = 1.5  # standard errors by which counts are set back: the best of many is partly luck
_KNOTS = (
    0.001,
    0.01,
    0.1,
    0.9,
    0.99,
    0.999,
)  # quantiles of the scores between which odds are straight


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reader:
    """A way to look at outputs, and a score: the larger, the likelier the output is on the data."""

    name: str
    view: View
    score: Score

    def __call__(self, table: Table) -> Floats:
        """The score of every output."""
        return self.score(self.view(table))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Guess:
    """Guess `data` above one threshold, `neighbour` below the other, and nothing in between."""

    reader: Reader
    above: float
    below: float
    promise: float

    def count(self, table: Table, labels: Labels) -> tuple[int, int]:
        """How many of the guesses are right, and how many guesses there are."""
        scores = self.reader(table)
        data, neighbour = scores > self.above, scores < self.below
        right = np.count_nonzero(data & labels) + np.count_nonzero(neighbour & ~labels)
        return int(right), int(np.count_nonzero(data) + np.count_nonzero(neighbour))


def epsilon_of_guesses(right: int, guesses: int, alpha: float) -> float:
    """The epsilon that so many right guesses certify; 0 if they certify nothing.

    >>> round(epsilon_of_guesses(900, 1000, 0.05), 3)  # the logit of the lower bound on 90 %
    2.021
    >>> epsilon_of_guesses(50, 100, 0.05)
    0.0
    """
    share = proportion_lower(right, guesses, alpha)
    return max(0.0, math.log(share) - math.log1p(-share)) if 0.0 < share < 1.0 else 0.0


def best_guess(
    reader: Reader, scores: Floats, labels: Labels, *, draws: int, alpha: float
) -> Guess:
    """The two thresholds that promise the largest epsilon on so many fresh draws.

    `scores` are of outputs that the reader has not learned. Counts are smoothed: the rarest outputs
    are where luck is largest, and the thresholds with the most luck would be chosen.
    """
    ones = smoothed(scores, labels)
    zeros = 1.0 - ones
    high, low = ranked(scores, ones, zeros), ranked(-scores, zeros, ones)
    above, below = np.append(np.inf, high.thresholds), np.append(-np.inf, -low.thresholds)
    right = np.append(0.0, high.hits)[:, None] + np.append(0.0, low.hits)
    wrong = np.append(0.0, high.neighbour_hits)[:, None] + np.append(0.0, low.neighbour_hits)
    promise = _promise(right, wrong, draws / len(labels), alpha)
    promise[above[:, None] < below] = -np.inf  # the two would overlap
    place = np.unravel_index(int(np.argmax(promise)), promise.shape)
    return Guess(
        reader=reader,
        above=float(above[place[0]]),
        below=float(below[place[1]]),
        promise=float(promise[place]),
    )


def smoothed(scores: Floats, labels: Labels) -> Floats:
    """The probability of `data` by the score: log-odds that are straight between a few knots.

    >>> scores = np.repeat([0.0, 1.0], 1000)
    >>> labels = np.arange(2000) % np.where(scores > 0.0, 4, 2) > 0  # one half, three quarters
    >>> smoothed(scores, labels)[[0, -1]].round(2).tolist()
    [0.5, 0.75]
    """
    from sklearn.linear_model import LogisticRegression

    if labels.all() or not labels.any():
        return labels.astype(np.float64)
    centred = scores - np.median(scores)
    centred = centred / max(float(np.std(centred)), 1e-300)
    knots = np.unique(np.quantile(centred, _KNOTS))
    bends = [np.maximum(centred - knot, 0.0) for knot in knots[knots > 0.0]]
    bends += [np.minimum(centred - knot, 0.0) for knot in knots[knots < 0.0]]
    columns = np.column_stack([centred, *bends])
    model = LogisticRegression(C=100.0, max_iter=200).fit(columns, labels)
    return np.asarray(model.predict_proba(columns)[:, 1], dtype=np.float64)


def _promise(right: Floats, wrong: Floats, growth: float, alpha: float) -> Floats:
    """The bound to expect from counts that are `growth` times these."""
    right, wrong = right + 0.5, wrong + 1.0
    error = np.sqrt(1.0 / right + 1.0 / wrong)
    quantile = NormalDist().inv_cdf(1.0 - alpha) / math.sqrt(growth)
    return np.asarray(np.log(right / wrong) - (quantile + _CAUTION) * error)
