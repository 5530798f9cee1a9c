"""What tests of a training say, and under which assumption they say it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import Enum


class Null(Enum):
    """What is refuted, if a test refutes. No bound is ever shown without it."""

    ANY_MECHANISM = "any mechanism with this claim"
    INDEPENDENT_CANARIES = "this claim and independent canaries"
    EVERY_STEP = "this claim for every step, given all before it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one test says of a claim.

    `log_evidence` is the logarithm of an e-value, or `-log` of a p-value where the test gives one.
    `lower_bound` is certified in the claim's own parameter (None for a `Profile`), with error at
    most the alpha of the test; `ceiling` is the most that it could have been with perfect guesses
    of as many canaries. Where both are in another parameter, `bounds` says in which.
    """

    test: str
    source: str
    null: Null
    refuted: bool
    log_evidence: float
    lower_bound: float | None
    ceiling: float | None
    guesses: int
    right: int
    bounds: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEvidence:
    """What an audit of a training saw, and every test of it.

    The first of `findings` decides; the others are further bounds, each with an alpha of its own.
    `what` says what the canaries were: `canaries` of them in each run (observations, if steps were
    audited), of which `included` were in. `separations` are the differences of the mean scores, in
    or out, in standard deviations, run by run. `detectable` estimates the separation that the test
    which decides would have refuted half of the time, if canaries are independent and Gaussian; it
    is None where there is no estimate. `errors` are points (false positive rate, false
    negative rate) of "the score is at least t", over all thresholds.
    """

    what: str
    canaries: int
    included: tuple[int, ...]
    findings: tuple[Finding, ...]
    separations: tuple[float, ...] = ()
    detectable: float | None = None
    errors: tuple[tuple[float, float], ...] = ()

    @property
    def deciding(self) -> Finding:
        """The finding that the verdict rests on."""
        return self.findings[0]

    @property
    def null(self) -> Null:
        """What the verdict is about."""
        return self.deciding.null

    @property
    def runs(self) -> int:
        """How many trainings there were."""
        return len(self.included)

    @property
    def dispersion(self) -> float | None:
        """How much more the separations vary from run to run than chance alone would have it.

        About 1 where canaries are independent; more where runs share randomness. None for one run.
        """
        if self.runs < 2 or len(self.separations) < 2:
            return None
        chance = (4.0 + statistics.fmean(self.separations) ** 2 / 2.0) / self.canaries
        return statistics.variance(self.separations) / chance
