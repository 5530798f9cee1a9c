"""Guessing which side an output came from, for a stake: what `measure_epsilon` counts in the end.

Labels are tossed fairly, so where a mechanism is `epsilon`-DP a guess is right with probability at
most `e^epsilon / (1 + e^epsilon)`, whatever the output. Draws are independent, so guesses with
stakes that were fixed beforehand earn no more than binomial variables would: one exact bound for
both directions together (docs/mathematics.md, section 8). Steinke, Nasr and Jagielski (2023),
"Privacy auditing with one (1) training run", count guesses in this way too. The stakes follow
Neyman and Pearson (1933): a guess weighs by how much likelier it is right than under the claim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import add
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from dpaudit.architecture import Guesser
from dpaudit.arrays import Floats, Labels
from dpaudit.bounds import staked_proportion_lower
from dpaudit.outputs import Table

STAKES = (1, 2, 4, 8, 16)
_HEIGHTS = (0.5, 0.6, 0.7, 0.8, 0.9)  # quantiles of the log-odds at which a line may end
_AIMED_SHARE = 0.9  # of the epsilon expected: where odds hardly rise, the surest are the luckiest
_MAX_AIM = 36.0  # log-odds: more is more than a float can tell from 1
_SCALES = 12  # halvings of the largest excess that may earn the largest stake


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessCounts:
    """For each of `STAKES`: how many guesses were made, and how many of them were right."""

    right: tuple[int, ...] = (0,) * len(STAKES)
    guesses: tuple[int, ...] = (0,) * len(STAKES)

    def __add__(self, other: GuessCounts) -> GuessCounts:
        return GuessCounts(
            right=tuple(map(add, self.right, other.right)),
            guesses=tuple(map(add, self.guesses, other.guesses)),
        )

    def epsilon_lower(self, alpha: float) -> float:
        """The epsilon that these right guesses certify; 0 if they certify nothing.

        >>> sure = GuessCounts(right=(0, 0, 0, 0, 900), guesses=(0, 0, 0, 0, 1000))
        >>> round(sure.epsilon_lower(0.05), 3)  # the logit of the lower bound on 90 %
        2.021
        """
        share = staked_proportion_lower(STAKES, self.right, self.guesses, alpha)
        return max(0.0, math.log(share) - math.log1p(-share)) if 0.0 < share < 1.0 else 0.0


class Calibration:
    """The log-odds of `data` by those of a guesser: a straight line, learned from labels.

    Labels of outputs that the guesser has not learned correct its overconfidence (Platt 1999). Many
    mechanisms are nowhere surer than their epsilon, where the line goes on rising: so it is an
    average of lines that end at some height, each as likely as it makes the labels.

    >>> scores = np.repeat([0.0, 9.0], 1000)
    >>> labels = (np.arange(2000) % 4 > 0) == (scores > 0.0)  # one quarter, three quarters
    >>> np.exp(Calibration(scores, labels)(np.array([0.0, 9.0]))).round(1).tolist()
    [0.3, 3.0]
    """

    def __init__(self, scores: Floats, labels: Labels) -> None:
        from sklearn.linear_model import LogisticRegression

        self._centre = float(np.median(scores))
        self._scale = float(np.std(scores)) or 1.0
        # Labels are tossed fairly: that more of one kind came up says nothing of the next.
        model = LogisticRegression(C=100.0, max_iter=200, class_weight="balanced")
        self._model = model.fit(self._standard(scores), labels)
        line = self._line(scores)
        self._heights = np.append(np.quantile(np.abs(line), _HEIGHTS), np.inf)
        likelihoods = [
            _log_likelihoods(np.clip(line, -height, height), labels).sum()
            for height in self._heights
        ]
        self._shares = softmax(np.array(likelihoods))

    def __call__(self, scores: Floats) -> Floats:
        line = self._line(scores)
        parts = zip(self._shares, self._heights, strict=True)
        return np.asarray(sum(share * np.clip(line, -height, height) for share, height in parts))

    def likelihoods(self, scores: Floats, labels: Labels) -> Floats:
        """The log-likelihood of each label."""
        return _log_likelihoods(self(scores), labels)

    def _line(self, scores: Floats) -> Floats:
        return np.asarray(self._model.decision_function(self._standard(scores)), dtype=np.float64)

    def _standard(self, scores: Floats) -> Floats:
        return np.asarray((scores[:, None] - self._centre) / self._scale)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GuessRule:
    """Guess the likelier side of an output, for a stake that grows with how sure the guess is.

    What counts is by how much the chance of being right exceeds that of a mechanism with an
    epsilon of `aim`; from `scale` on the stake is the largest, without an excess there is none.
    """

    guesser: Guesser
    calibration: Calibration
    aim: float
    scale: float

    def count(self, table: Table, labels: Labels) -> GuessCounts:
        """How many guesses there are of each stake, and how many of them are right."""
        log_odds = self.calibration(self.guesser.log_odds(table))
        steps = _steps(_excess(np.abs(log_odds), self.aim), self.scale)
        made = steps >= 0
        right = made & ((log_odds > 0.0) == labels)
        return GuessCounts(right=_per_step(steps[right]), guesses=_per_step(steps[made]))


def best_rule(
    guesser: Guesser, calibration: Calibration, outputs: Table, *, draws: int, alpha: float
) -> GuessRule:
    """The rule with the largest expected epsilon on `draws` fresh draws, if the odds are right."""
    certainty = np.abs(calibration(guesser.log_odds(outputs)))
    errors = NormalDist().inv_cdf(1.0 - alpha) / math.sqrt(draws / len(outputs))
    aim = _AIMED_SHARE * _aim(certainty, errors)
    excess = _excess(certainty, aim)
    scales = float(excess.max()) / 2.0 ** np.arange(_SCALES)
    scale = max(scales, key=lambda each: _signal(_stakes(_steps(excess, each)), excess))
    return GuessRule(guesser=guesser, calibration=calibration, aim=aim, scale=float(scale))


def _log_likelihoods(log_odds: Floats, labels: Labels) -> Floats:
    return np.asarray(-np.logaddexp(0.0, np.where(labels, -log_odds, log_odds)))


def _aim(certainty: Floats, errors: float) -> float:
    """The largest epsilon that lies `errors` standard errors below what outputs should show."""
    from scipy.optimize import brentq

    def beyond(epsilon: float) -> float:
        excess = _excess(certainty, epsilon)
        return _signal(excess, excess) / math.sqrt(expit(epsilon) * expit(-epsilon)) - errors

    most = min(float(certainty.max()), _MAX_AIM)
    return float(brentq(beyond, 0.0, most)) if beyond(0.0) > 0.0 else 0.0


def _excess(certainty: Floats, epsilon: float) -> Floats:
    """How much likelier a guess is right than under `epsilon`; 0 where it is not."""
    return np.maximum(expit(-epsilon) - expit(-certainty), 0.0)


def _signal(stakes: Floats, excess: Floats) -> float:
    """The points to expect beyond chance, in units of their spread for one."""
    spread = math.sqrt(float(stakes @ stakes))
    return float(stakes @ excess) / spread if spread > 0.0 else 0.0


def _steps(excess: Floats, scale: float) -> npt.NDArray[np.int_]:
    """The place in `STAKES` for each excess: each is twice the one before; below 0 for none."""
    with np.errstate(divide="ignore"):
        steps = np.rint(np.log2(excess / scale)) if scale > 0.0 else np.full(len(excess), -np.inf)
    top = len(STAKES) - 1
    return np.asarray(np.clip(steps + top, -1, top), dtype=np.int_)


def _stakes(steps: npt.NDArray[np.int_]) -> Floats:
    return np.asarray(np.array([*STAKES, 0], dtype=np.float64)[steps])


def _per_step(steps: npt.NDArray[np.int_]) -> tuple[int, ...]:
    return tuple(np.bincount(steps, minlength=len(STAKES)).tolist())
