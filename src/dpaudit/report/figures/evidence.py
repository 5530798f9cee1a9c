"""The evidence over the draws: the wealth of the bets against the claim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpaudit.report.extra import needed
from dpaudit.report.figures.canvas import BROKEN, DATA, MUTED, RULE, legend, panels
from dpaudit.report.showing import count, upper
from dpaudit.report.wording import e_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpaudit.results import Audit

TITLE = "Evidence over the draws"
CAPTION = (
    "The wealth of bets that are fair under the claim, beginning with 1 (an e-value). Under the "
    "claim it reaches 1/alpha with probability at most alpha, whatever was searched."
)
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(audit: Audit) -> Figure:
    """The wealth after each batch on a logarithmic scale, with the line of a refutation."""
    figure, [panel] = panels()
    ticker = needed("matplotlib.ticker")
    steps = [(0, 0.0), *audit.evidence.trace]
    heights = [wealth / math.log(10.0) for _, wealth in steps]
    floor = min((height for height in heights if math.isfinite(height)), default=0.0) - 1.0
    shown = [height if math.isfinite(height) else floor for height in heights]
    goal = -math.log10(audit.alpha)
    panel.axhline(
        goal,
        color=BROKEN,
        linestyle="--",
        linewidth=1.4,
        label=f"1/alpha = {upper(1.0 / audit.alpha)}",
    )
    panel.axhline(0.0, color=MUTED, linewidth=0.8)
    panel.plot([draws for draws, _ in steps], shown, color=DATA, linewidth=1.6, label="wealth")
    panel.plot([steps[-1][0]], [shown[-1]], "o", color=DATA, markersize=3.5)
    panel.yaxis.set_major_locator(ticker.MaxNLocator(6, integer=True))
    panel.yaxis.set_major_formatter(ticker.FuncFormatter(lambda power, _: _power_of_ten(power)))
    panel.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda draws, _: f"{draws:,.0f}"))
    panel.set_xlim(left=0.0)
    panel.margins(y=0.12)
    panel.set_xlabel("draws")
    panel.set_ylabel("e-value")
    panel.grid(color=RULE, linewidth=0.6)
    legend(panel, loc="best")
    return figure


def _power_of_ten(power: float) -> str:
    """The power of ten of a whole number.

    >>> _power_of_ten(6.0), _power_of_ten(-12.0)
    ('10⁶', '10⁻¹²')
    """
    return f"10{f'{power:.0f}'.translate(_RAISED)}"


def alt(audit: Audit) -> str:
    """The figure in words."""
    ends = (
        f"The evidence after {count(audit.evidence.trace[-1][0], 'draw')}"
        if (audit.evidence.trace)
        else "The evidence"
    )
    reached = audit.refuted
    return (
        f"{ends}: an e-value of {e_value(audit)}; the line of a refutation, "
        f"{upper(1.0 / audit.alpha)}, was {'' if reached else 'not '}reached."
    )
