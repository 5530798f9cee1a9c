"""`audit.plot`: the figures of an audit, as Matplotlib figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpaudit.results import Audit


@dataclass(frozen=True, slots=True)
class Plots:
    """The figures of one audit; each method draws one anew. They need the extra `report`."""

    audit: Audit

    def curve(self) -> Figure:
        """What the claim allows at every epsilon, against what was certified."""
        from dpaudit.report.figures import curve

        return curve.draw(self.audit)

    def outputs(self) -> Figure:
        """The outputs of both sides with the event shaded; ValueError if none were kept."""
        from dpaudit.report.figures import outputs

        return outputs.draw(self.audit)

    def evidence(self) -> Figure:
        """The wealth of the bets over the draws, with the line of a refutation."""
        from dpaudit.report.figures import evidence

        return evidence.draw(self.audit)

    def search(self) -> Figure:
        """What each pair earned and how many draws it got; ValueError without a history."""
        from dpaudit.report.figures import search

        return search.draw(self.audit)

    def trade_off(self) -> Figure:
        """False negatives over false positives: the claim's region and the certified event."""
        from dpaudit.report.figures import trade_off

        return trade_off.draw(self.audit)
