"""What an audit inside gives back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from dpaudit.auditing import audit
from dpaudit.claims import Claim
from dpaudit.inside.transcripts import ReleaseLoss
from dpaudit.mechanism import Mechanism
from dpaudit.neighbours import Pair, pairs
from dpaudit.report import inside_in_words
from dpaudit.results import Audit


class InsideVerdict(Enum):
    """What an audit inside says. Only the black box, by `confirm()`, says "refuted"."""

    BROKEN_INSIDE = "broken inside"
    NOT_REFUTED = "not refuted"
    UNDECIDED = "undecided"
    CANNOT_FOLLOW = "cannot follow"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstTranscript:
    """The transcript that shows most: its pair, its whole loss, and its most telling release.

    `loss` is that of the output on `pair.data` against `pair.neighbour`, exact up to `tolerance`.
    `release` says which line drew, what went in on both sides, under which noise, and its own loss.
    """

    pair: Pair
    loss: float
    tolerance: float
    release: ReleaseLoss
    releases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideAudit:
    """The result of `dpaudit.audit_inside`.

    `reason` says why the verdict is not a plain one. `differs` is a pair on which a replay did
    something that no loss explains. `e_value` is the evidence where the claim is not pure, and 0
    for a pure claim, which a single loss breaks.
    """

    name: str
    claim: Claim
    verdict: InsideVerdict
    reason: str
    worst: WorstTranscript | None
    differs: Pair | None
    transcripts: int
    pairs_tried: int
    log_wealth: float
    alpha: float
    rng_seed: int
    mechanism: Mechanism = field(repr=False)

    @property
    def e_value(self) -> float:
        """The evidence against a claim that is not pure; at most `1/alpha` by chance."""
        return math.inf if self.log_wealth > 700.0 else math.exp(self.log_wealth)

    def confirm(self, **settings: Any) -> Audit:
        """Ask the black box about the pair that was found: only this can refute the output.

        `settings` are those of `dpaudit.audit`, such as `samples`. The releases of a run show more
        than its output does, so the output of code that is broken inside may keep the claim.
        """
        pair = self.differs
        if self.worst is not None and (pair is None or self.verdict is InsideVerdict.BROKEN_INSIDE):
            pair = self.worst.pair
        if pair is None:
            raise ValueError("there is no pair to confirm: no transcript was recorded.")
        return audit(
            self.mechanism,
            self.claim,
            pairs([(pair.data, pair.neighbour)]),
            **{"alpha": self.alpha, "rng": self.rng_seed} | settings,
        )

    def __str__(self) -> str:
        return inside_in_words(self)
