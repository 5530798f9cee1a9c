"""Trials of a batch tester: how many, what each may spend of alpha, and both directions of one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from dpaudit.claims import Claim, Scalable
from dpaudit.errors import Underpowered
from dpaudit.guessing import Samples
from dpaudit.testers.batch import BatchTester, Examiner, Finding, refuse_if_powerless

METHODS = ("lower_bound", "threshold")


@dataclass(frozen=True, slots=True)
class Trials:
    """A batch tester and how many trials an audit makes with it, each on a pair of its own.

    The draws are shared evenly among the trials. Without a `count` there is one trial for each of
    the pairs given, or 20 of a search.

    >>> from dpaudit.testers.mmd import MMDTester
    >>> Trials(MMDTester(), count=50).count
    50
    """

    tester: BatchTester
    count: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not is_batch_tester(self.tester):
            raise TypeError(
                f"Trials needs a batch tester, with the methods {' and '.join(METHODS)}, "
                f"got {self.tester!r}."
            )
        whole = isinstance(self.count, int | np.integer) and not isinstance(self.count, bool)
        if self.count is not None and not (whole and self.count >= 1):
            raise ValueError(f"count must be a whole number >= 1, got {self.count!r}.")


def is_batch_tester(tester: Any) -> bool:
    """Whether an object has the two methods of a batch tester. A class is not yet one.

    >>> is_batch_tester("histogram")
    False
    """
    return not isinstance(tester, type) and all(
        callable(getattr(tester, name, None)) for name in METHODS
    )


def share_of_alpha(trial: int, trials: int) -> float:
    """The share of alpha that trial 1, 2, ... may spend: `6 / (pi t)^2`, which sums to 1.

    All of it where there can be no other trial.

    >>> [round(share_of_alpha(trial, 20), 4) for trial in (1, 2, 3)], share_of_alpha(1, 1)
    ([0.6079, 0.152, 0.0675], 1.0)
    """
    return 1.0 if trials == 1 else 6.0 / (math.pi * trial) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trial showed in both directions together.

    `strength_lower` is None for a claim without a parameter. `score` is what a finder is told: the
    bound in the claim's parameter, or `e^(bound - threshold)` where there is none.
    """

    refuted: bool
    strength_lower: float | None
    score: float


class Judge:
    """A batch tester and the claim it is to test, asked in both directions and checked."""

    def __init__(self, tester: BatchTester, claim: Claim) -> None:
        self.tester = tester
        self.claim = claim
        self.threshold = self._number(tester.threshold(claim), "threshold")
        if math.isinf(self.threshold):
            raise ValueError(
                f"{tester!r} gave a threshold of {self.threshold!r} for {claim}. A threshold must "
                "be finite, or no bound can be compared with it."
            )

    def refuse_if_powerless(self, draws: int, neighbour_draws: int, *, alpha: float) -> None:
        """Raise `Underpowered` if neither direction could refute, where the tester can tell."""
        if not isinstance(self.tester, Examiner):
            return
        refusals = []
        for sizes in ((draws, neighbour_draws), (neighbour_draws, draws)):
            try:
                refuse_if_powerless(self.tester, self.claim, *sizes, alpha=alpha / 2)
            except Underpowered as refusal:
                refusals.append(refusal)
        if len(refusals) == 2:
            raise refusals[0]

    def both(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        *,
        alpha: float,
        seeds: tuple[np.random.SeedSequence, np.random.SeedSequence],
    ) -> Outcome:
        """Test both directions, each with half of alpha; one that cannot fire says nothing."""
        directions = ((outputs, neighbour_outputs), (neighbour_outputs, outputs))
        found, refusals = [], []
        for sides, seed in zip(directions, seeds, strict=True):
            try:
                rng = np.random.default_rng(seed)
                found.append(self._finding(*sides, alpha=alpha / 2, rng=rng))
            except Underpowered as refusal:
                refusals.append(refusal)
        if not found:
            raise refusals[0]
        bound = max(each.lower_bound for each in found)
        refuted = bound > self.threshold
        strengths = [each.strength_lower for each in found if each.strength_lower is not None]
        # Above 0 and rising with the bound: a finder knows no scores below 0.
        score = max(strengths, default=math.exp(min(bound - self.threshold, 700.0)))
        return Outcome(
            refuted=refuted, strength_lower=self._strength(refuted, strengths), score=score
        )

    def _finding(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> Finding:
        """One direction; a strength never below 0."""
        claim, tester = self.claim, self.tester
        if not isinstance(tester, Examiner):
            bound = tester.lower_bound(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng)
            return Finding(lower_bound=self._number(bound, "lower bound"), strength_lower=None)
        found = tester.examine(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng)
        strength = found.strength_lower
        if strength is not None:
            strength = max(self._number(strength, "bound on the claim's parameter"), 0.0)
        bound = self._number(found.lower_bound, "lower bound")
        return Finding(lower_bound=bound, strength_lower=strength)

    def _strength(self, refuted: bool, strengths: list[float]) -> float | None:
        """The certified bound on the claim's parameter: a refuted claim's is above its own."""
        if not isinstance(self.claim, Scalable):
            return None
        return max([0.0, *strengths, *([self.claim.strength] if refuted else [])])

    def _number(self, value: object, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
            raise ValueError(
                f"{self.tester!r} gave a {name} of {value!r} for {self.claim}. It must be a "
                "number; where nothing can be bounded, -inf."
            )
        return float(value)
