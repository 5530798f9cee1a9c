"""The hockey-stick tester: an event that a classifier finds, certified on outputs held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.claims import Claim
from dpaudit.guessing import Classifier, LabelledRows, Samples, Share, check_classifier, learn
from dpaudit.outputs import Table
from dpaudit.testers.batch import Examiner, Finding, refuse_if_powerless
from dpaudit.testers.event_bound import (
    Curve,
    allowed,
    curve_finding,
    exact,
    hoeffding,
    level_finding,
)
from dpaudit.testers.event_choice import Trial, best_level, ranked

_SHARE = Share(training=0.4, most=100_000)
_FOLDS = 2  # classifiers, each of which learns from all training outputs but one in so many


@dataclass(frozen=True, kw_only=True)
class HockeyStickTester(Examiner):
    """Tell the sides apart with a classifier, and bound `P(A) - e^epsilon Q(A)` of its best event.

    A classifier scores outputs, `A` is the event that the score exceeds a threshold, and both are
    chosen on four tenths of the outputs by the bound they promise on the others. By default an
    additive logistic model for one column and boosted trees for several; `"neural"` (needs torch,
    runs on `device`), or any object with scikit-learn's `fit` and `predict_proba`, which is copied
    before it learns. `bound="exact"` is Clopper and Pearson's; `"hoeffding"` is the one of Kong,
    Medina, Ribero and Syed 2023, "DP-Auditorium", made to count all outputs.

    >>> from dpaudit.claims import PureDP
    >>> rng = np.random.default_rng(0)
    >>> ones, zeros = 1.0 + rng.laplace(size=5_000) / 2, rng.laplace(size=5_000) / 2
    >>> finding = HockeyStickTester().examine(ones, zeros, PureDP(1.0), alpha=0.05, rng=rng)
    >>> finding.lower_bound > 0.0, 1.0 < finding.strength_lower < 2.0
    (True, True)
    """

    classifier: Classifier = "auto"
    bound: Literal["exact", "hoeffding"] = "exact"
    device: str | None = None

    def __post_init__(self) -> None:
        check_classifier(self.classifier)
        if self.bound not in ("exact", "hoeffding"):
            raise ValueError(f'bound must be "exact" or "hoeffding", got {self.bound!r}.')

    def threshold(self, claim: Claim) -> float:
        """The claim's delta; 0 for a profile, of which the excess is bounded."""
        return allowed(claim)

    def examine(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> Finding:
        """Find an event and certify it, in the divergence and in the claim's own parameter."""
        train, held_out = _SHARE.part(outputs, neighbour_outputs, rng)
        refuse_if_powerless(self, claim, len(outputs), len(neighbour_outputs), alpha=alpha)
        return self._trial(train, held_out, rng).finding(claim, alpha=alpha, bound=self.bound)

    def curve(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> Curve:
        """Certify the whole privacy profile from below, with exact bounds on a dozen events."""
        train, held_out = _SHARE.part(outputs, neighbour_outputs, rng)
        return self._trial(train, held_out, rng).curve(alpha=alpha)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What would be certified if every held-out output of the data hit, and none other did."""
        n, m = _SHARE.held_out(draws), _SHARE.held_out(neighbour_draws)
        if self.bound == "exact":
            return curve_finding(claim, exact(np.array([n]), n, np.array([0]), m, alpha=alpha))
        certified = hoeffding(n, n, 0, m, alpha=alpha)
        return level_finding(claim, certified, best_level(claim, certified))

    def _trial(
        self, train: LabelledRows, held_out: LabelledRows, rng: np.random.Generator
    ) -> Trial:
        scores, score = self._learned(train, rng)
        seen = train.labels.astype(np.float64)
        return Trial(
            events=ranked(scores, seen, 1.0 - seen),
            scores=score(held_out.table),
            labels=held_out.labels,
        )

    def _learned(
        self, train: LabelledRows, rng: np.random.Generator
    ) -> tuple[Floats, Callable[[Table], Floats]]:
        """Score each training output by a classifier that has not seen it, others by their mean."""
        if min(np.count_nonzero(train.labels), np.count_nonzero(~train.labels)) < _FOLDS:
            only = learn(self.classifier, train, device=self.device, rng=rng)
            return only.log_odds(train.table), only.log_odds
        folds = _folds(train)
        rest = [train.take(np.flatnonzero(folds != fold)) for fold in range(_FOLDS)]
        learned = [learn(self.classifier, part, device=self.device, rng=rng) for part in rest]
        scores = np.empty(len(folds))
        for fold, guesser in enumerate(learned):
            unseen = np.flatnonzero(folds == fold)
            scores[unseen] = guesser.log_odds(train.table.take(unseen))

        def mean(table: Table) -> Floats:
            return np.asarray(sum(guesser.log_odds(table) for guesser in learned) / _FOLDS)

        return scores, mean


def _folds(train: LabelledRows) -> npt.NDArray[np.intp]:
    """The fold of each row: on either side they follow each other, so that all are as large."""
    folds = np.empty(len(train.labels), dtype=np.intp)
    for side in (True, False):
        rows = np.flatnonzero(train.labels == side)
        folds[rows] = np.arange(len(rows)) % _FOLDS
    return folds
