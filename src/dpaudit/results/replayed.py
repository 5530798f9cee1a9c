"""A counterexample counted again, beside what was saved of it."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.betting import draws_wanted
from dpaudit.claims import Claim
from dpaudit.report import replayed
from dpaudit.results.values import Counterexample, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A counterexample as it was saved, and the same event counted again on fresh draws.

    `target` names the code that was called this time. An event that no longer breaks the claim
    shows nothing about other events.
    """

    mechanism: str
    target: str | None
    claim: Claim
    before: Counterexample
    again: Counterexample

    @property
    def verdict(self) -> Verdict:
        """Refuted if the event breaks the claim again; undecided after too few draws for that."""
        if self.again.breaks(self.claim):
            return Verdict.REFUTED
        draws = self.again.data.draws + self.again.neighbour.draws
        enough = draws >= draws_wanted(self.claim, self.again.alpha)
        return Verdict.NOT_REFUTED if enough else Verdict.UNDECIDED

    def __str__(self) -> str:
        return replayed(self)

    def to_json(self) -> dict[str, object]:
        """The replay as plain JSON values."""
        from dpaudit.results.saving import replayed_to_json

        return replayed_to_json(self)
