"""The trade-off plane: errors of telling the two datasets apart, allowed and certified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpaudit.report.extra import needed
from dpaudit.report.figures.canvas import (
    ALLOWED,
    BROKEN,
    DATA,
    INK,
    MUTED,
    RULE,
    label,
    legend,
    panels,
)
from dpaudit.report.regions import error_box, trade_off
from dpaudit.report.showing import lower, one_line, upper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpaudit.results import Audit

TITLE = "Trade-off of errors"
CAPTION = (
    "A test that accuses one dataset whenever an output is in the event errs in two ways. The "
    "claim says that no test can be better than the line: the grey region is allowed. The box "
    "holds the errors of the certified event."
)
CAPTION_WITHOUT_EVENT = (
    "The errors of any test that tells the two datasets apart: by the claim none is better than "
    "the line, and the grey region is allowed. No event was certified."
)
_POINTS = 161


def draw(audit: Audit) -> Figure:
    """False negatives over false positives: the claim's region and the certified box."""
    figure, [panel] = panels(height=3.5)
    rates = np.linspace(0.0, 1.0, _POINTS) ** 2  # finer where the line is steep
    least = np.array(trade_off(audit.claim, rates.tolist()))
    name = label(str(audit.claim), 30)
    panel.fill_between(rates, least, 1.0, color=ALLOWED, linewidth=0.0)
    panel.plot(rates, least, color=INK, linewidth=1.4, label=f"limit of {name}")
    panel.text(0.66, 0.56, "allowed", color=MUTED, fontsize=8)
    panel.plot([0.0, 1.0], [1.0, 0.0], ":", color=MUTED, linewidth=1.0, label="guessing")
    if audit.counterexample is not None:
        _draw_box(panel, audit)
    panel.set_xlim(-0.02, 1.0)  # an event that never errs is seen too
    panel.set_ylim(-0.02, 1.0)
    panel.set_xlabel("false positive rate")
    panel.set_ylabel("false negative rate")
    panel.grid(color=RULE, linewidth=0.6)
    legend(panel, loc="upper right")
    return figure


def _draw_box(panel: Axes, audit: Audit) -> None:
    assert audit.counterexample is not None
    box, patches = error_box(audit.counterexample), needed("matplotlib.patches")
    (left, x, right), (bottom, y, top) = box.false_positive, box.false_negative
    colour = BROKEN if audit.counterexample.breaks(audit.claim) else DATA
    panel.add_patch(
        patches.Rectangle(
            (left, bottom),
            right - left,
            top - bottom,
            facecolor="none",
            edgecolor=colour,
            linewidth=1.4,
        )
    )
    panel.plot([x], [y], "s", color=colour, markersize=2.0, label="certified event")


def alt(audit: Audit) -> str:
    """The figure in words."""
    text = f"The region of errors that {one_line(str(audit.claim), 60)} allows"
    if audit.counterexample is None:
        return f"{text}. No event was certified."
    box = error_box(audit.counterexample)
    rate = box.false_positive[2]
    [least] = trade_off(audit.claim, [rate])
    return (
        f"{text}. The event has a false positive rate of at most {upper(rate)} and a false "
        f"negative rate of at most {upper(box.false_negative[2])}, where the claim asks for "
        f"at least {lower(least)}."
    )
