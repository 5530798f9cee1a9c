"""The hockey-stick tester: an event that a classifier finds, certified on outputs held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import Claim
from dpaudit.guessing import Classifier, LabelledRows, Share, check_classifier, learn
from dpaudit.outputs import Table
from dpaudit.testers.event_choice import EventTester, HeldOutScores, ranked
from dpaudit.testers.tester import Method, Parts, Rng, check_choices

_FOLDS = 2  # classifiers, each of which learns from all folds of the training outputs but one


@dataclass(frozen=True, kw_only=True)
class HockeyStickTester(EventTester):
    """Tell the sides apart with a classifier, and bound `P(A) - e^epsilon Q(A)` of its best event.

    The classifier scores outputs, and `A` is the event that the score exceeds a threshold. Both are
    chosen on four tenths of the outputs, by the bound to be expected on the others. By default the
    classifier is an additive logistic model for one column and boosted trees for several. It can be
    `"neural"` (needs torch, runs on `device`), or any object with scikit-learn's `fit` and
    `predict_proba`, which is copied before it learns. `bound="exact"` is Clopper and Pearson's;
    `"hoeffding"` is that of Kong, Medina, Ribero and Syed 2023, "DP-Auditorium", over all outputs.

    >>> from dpaudit.claims import PureDP
    >>> rng = np.random.default_rng(0)
    >>> ones, zeros = 1.0 + rng.laplace(size=5_000) / 2, rng.laplace(size=5_000) / 2
    >>> finding = HockeyStickTester().examine(ones, zeros, PureDP(1.0), alpha=0.05, rng=rng)
    >>> finding.lower_bound > 0.0, 1.0 < finding.strength_lower < 2.0
    (True, True)
    """

    method: ClassVar[Method] = Method(
        source="Kong, Medina, Ribero and Syed 2023", guarantee="exact"
    )
    classifier: Classifier = "auto"
    bound: Literal["exact", "hoeffding"] = "exact"
    device: str | None = None
    _share = Share(training=0.4, most=100_000)

    def __post_init__(self) -> None:
        check_classifier(self.classifier)
        check_choices(self, bound=("exact", "hoeffding"))

    def _scored(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> HeldOutScores:
        train, held_out = parts
        scores, score = self._learned(train, rng)
        seen = train.labels.astype(np.float64)
        events = ranked(scores, seen, 1.0 - seen)
        return HeldOutScores(events=events, scores=score(held_out.table), labels=held_out.labels)

    def _learned(self, train: LabelledRows, rng: Rng) -> tuple[Floats, Callable[[Table], Floats]]:
        """Score each training output by a classifier that has not seen it, others by their mean."""
        if min(np.count_nonzero(train.labels), np.count_nonzero(~train.labels)) < _FOLDS:
            only = learn(self.classifier, train, device=self.device, rng=rng)
            return only.log_odds(train.table), only.log_odds
        folds = np.empty(len(train.labels), dtype=np.intp)
        for side in (train.labels, ~train.labels):  # equally many of either side in each
            folds[side] = np.arange(np.count_nonzero(side)) % _FOLDS
        rest = [train.take(np.flatnonzero(folds != fold)) for fold in range(_FOLDS)]
        learned = [learn(self.classifier, part, device=self.device, rng=rng) for part in rest]
        scores = np.empty(len(folds))
        for fold, guesser in enumerate(learned):
            unseen = np.flatnonzero(folds == fold)
            scores[unseen] = guesser.log_odds(train.table.take(unseen))

        def mean(table: Table) -> Floats:
            return np.asarray(sum(guesser.log_odds(table) for guesser in learned) / _FOLDS)

        return scores, mean
