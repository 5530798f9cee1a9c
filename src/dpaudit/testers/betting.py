"""The default tester: sequential bets on the label, growth-optimal, valid at all times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class BettingTester:
    """Bet against the claim, sample by sample, and stop when the wealth refutes it.

    `after_refuting="stop"` spends what is left of the effort on certifying one event in words;
    `"sharpen"` goes on betting to the end of the budget, for the highest lower bound.

    >>> BettingTester(after_refuting="sharpen")
    BettingTester(after_refuting='sharpen')
    """

    after_refuting: Literal["stop", "sharpen"] = "stop"

    def __post_init__(self) -> None:
        if self.after_refuting not in ("stop", "sharpen"):
            raise ValueError(
                f'after_refuting must be "stop" or "sharpen", got {self.after_refuting!r}.'
            )
