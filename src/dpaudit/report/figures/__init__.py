"""The figures of an audit: what each shows, and `audit.plot`, which draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.report import wording
from dpaudit.report.figures.canvas import FigureKind
from dpaudit.report.figures.curves import CURVE, TRADE_OFF
from dpaudit.report.figures.draws import (
    EVIDENCE,
    NO_OUTPUTS,
    OUTPUTS,
    SEARCH,
    outlines,
    place_of_strongest,
)
from dpaudit.report.figures.releases import RELEASES
from dpaudit.report.figures.trainings import ERRORS, SCORES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit


@dataclass(frozen=True, slots=True)
class Plots:
    """The figures of one audit; each method draws one anew. They need the extra `report`."""

    audit: Audit

    def curve(self) -> Figure:
        """What the claim allows at every epsilon, against what was certified."""
        return CURVE.draw(self.audit)

    def outputs(self) -> Figure:
        """The outputs on both datasets with the event shaded; ValueError if none were kept."""
        return OUTPUTS.draw(self.audit)

    def evidence(self) -> Figure:
        """The wealth of the bets over the draws, with the line of a refutation."""
        return EVIDENCE.draw(self.audit)

    def search(self) -> Figure:
        """What each pair earned and how many draws it got; ValueError without a history."""
        return SEARCH.draw(self.audit)

    def scores(self) -> Figure:
        """The scores of the canaries of a training; ValueError for another audit."""
        return self._of_training(SCORES)

    def errors(self) -> Figure:
        """The errors of guessing by the score of a canary; ValueError for another audit."""
        return self._of_training(ERRORS)

    def _of_training(self, kind: FigureKind) -> Figure:
        if kind not in kinds_of(self.audit):
            raise ValueError("No scores of canaries: this is no audit of a training.")
        return kind.draw(self.audit)

    def trade_off(self) -> Figure:
        """False negatives over false positives: the claim's region and the certified event."""
        return TRADE_OFF.draw(self.audit)


@dataclass(frozen=True, slots=True)
class InsidePlots:
    """The figures of one audit inside. They need the extra `report`."""

    found: InsideAudit

    def releases(self) -> Figure:
        """The loss of each release of the worst transcript; ValueError if none was recorded."""
        if self.found.worst is None or not self.found.worst.releases:
            raise ValueError(f"No release was recorded: {self.found.reason or 'no transcript'}.")
        return RELEASES.draw(self.found)


def kinds_of(audit: Audit) -> list[FigureKind]:
    """The figures for a page: those in which the audit has something to show."""
    if audit.training is not None:
        kinds = [SCORES] if audit.outputs else []
        kinds += [ERRORS] if audit.training.errors else []
        return [*kinds, EVIDENCE] if len(audit.evidence.trace) > 1 else kinds
    kinds = [OUTPUTS] if outlines(audit) else []
    kinds += [CURVE, TRADE_OFF]
    if audit.tester != wording.BETS:  # what else there is to draw is about bets
        return kinds
    return [*kinds, EVIDENCE, *([SEARCH] if len(audit.history) > 1 else [])]
