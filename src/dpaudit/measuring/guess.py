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
from scipy.special import expit

from dpaudit.measuring.views import View
from dpaudit.outputs import Table
from dpaudit.stats.binomial import proportion_lower
from dpaudit.testers.classifiers import Score
from dpaudit.testers.event_choice import ranked

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]

_CAUTION = 0.5  # standard errors by which a promise is set back: the surest outputs are few
_NEARLY = 0.98  # of the largest promise: of all guesses that promise so much, the most are made


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
    """Guess the likelier side where the odds are high enough, and nothing elsewhere."""

    reader: Reader
    odds: Odds
    least: float  # of the log-odds, either way

    def count(self, table: Table, labels: Labels) -> tuple[int, int]:
        """How many of the guesses are right, and how many guesses there are."""
        log_odds = self.odds(self.reader(table))
        made = np.abs(log_odds) > self.least
        right = np.count_nonzero(made & ((log_odds > 0.0) == labels))
        return int(right), int(np.count_nonzero(made))


class Odds:
    """The log-odds of `data` by the score: a straight line, learned from labels (Platt 1999).

    Scores of outputs that nobody has learned make over-confident readers modest again.

    >>> scores = np.repeat([0.0, 1.0], 1000)
    >>> labels = np.arange(2000) % np.where(scores > 0.0, 4, 2) > 0  # one half, three quarters
    >>> np.exp(Odds(scores, labels)(np.array([0.0, 1.0]))).round(1).tolist()
    [1.0, 3.0]
    """

    def __init__(self, scores: Floats, labels: Labels) -> None:
        from sklearn.linear_model import LogisticRegression

        self._centre = float(np.median(scores))
        self._scale = max(float(np.std(scores)), 1e-300)
        self._model = LogisticRegression(C=100.0, max_iter=200).fit(self._standard(scores), labels)

    def __call__(self, scores: Floats) -> Floats:
        return np.asarray(self._model.decision_function(self._standard(scores)), dtype=np.float64)

    def likelihoods(self, scores: Floats, labels: Labels) -> Floats:
        """The log-likelihood of each label."""
        log_odds = self(scores)
        return np.asarray(-np.logaddexp(0.0, np.where(labels, -log_odds, log_odds)))

    def _standard(self, scores: Floats) -> Floats:
        return np.asarray((scores[:, None] - self._centre) / self._scale)


def epsilon_of_guesses(right: int, guesses: int, alpha: float) -> float:
    """The epsilon that so many right guesses certify; 0 if they certify nothing.

    >>> round(epsilon_of_guesses(900, 1000, 0.05), 3)  # the logit of the lower bound on 90 %
    2.021
    >>> epsilon_of_guesses(50, 100, 0.05)
    0.0
    """
    share = proportion_lower(right, guesses, alpha)
    return max(0.0, math.log(share) - math.log1p(-share)) if 0.0 < share < 1.0 else 0.0


def best_guess(reader: Reader, odds: Odds, outputs: Table, *, draws: int, alpha: float) -> Guess:
    """The guess that promises the largest epsilon on so many fresh draws, if the odds are right."""
    certainty = np.abs(odds(reader(outputs)))
    right = expit(certainty)
    events = ranked(certainty, right, 1.0 - right)
    promise = _promise(events.hits, events.neighbour_hits, draws / len(outputs), alpha)
    largest = float(promise.max())
    enough = promise >= (_NEARLY * largest if largest > 0.0 else largest)
    most = int(np.flatnonzero(enough)[-1])
    return Guess(reader=reader, odds=odds, least=float(events.thresholds[most]))


def _promise(right: Floats, wrong: Floats, growth: float, alpha: float) -> Floats:
    """The bound to expect from counts that are `growth` times these."""
    right, wrong = right + 0.5, wrong + 1.0
    error = np.sqrt(1.0 / right + 1.0 / wrong)
    quantile = NormalDist().inv_cdf(1.0 - alpha) / math.sqrt(growth)
    return np.asarray(np.log(right / wrong) - (quantile + _CAUTION) * error)
