"""What a test of a training says, and under which assumption it says it."""

from __future__ import annotations

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
    of as many canaries.
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
