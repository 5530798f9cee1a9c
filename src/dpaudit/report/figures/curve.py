"""The privacy curve: what the claim allows at every epsilon, and what was certified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpaudit.claims import ApproxDP, PureDP, Scalable
from dpaudit.report.figures.canvas import BROKEN, DATA, INK, MUTED, RULE, label, legend, panels
from dpaudit.report.regions import delta_lower, last_level
from dpaudit.report.showing import lower, one_line, upper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpaudit.results import Audit

TITLE = "Privacy curve"
CAPTION = (
    "The delta that the claim allows at each epsilon, and the delta that the certified event shows "
    "at least. Where the second curve is above the first the claim is broken (hatched)."
)
CAPTION_WITHOUT_EVENT = (
    "The delta that the claim allows at each epsilon. No event was certified, so nothing is known "
    "to lie above a curve; the certified bound is marked."
)
_POINTS = 201


def draw(audit: Audit) -> Figure:
    """The claim's delta over epsilon, with the certified curve or bound."""
    figure, [panel] = panels()
    claim, found = audit.claim, audit.counterexample
    levels = np.linspace(0.0, last_level(claim, found, audit.lower_bound), _POINTS)
    allowed = np.array([claim.delta(level) for level in levels.tolist()])
    name = label(str(claim), 30)
    panel.plot(levels, allowed, color=INK, linewidth=1.4, label=f"allowed by {name}")
    if found is not None:
        shown = np.array([delta_lower(found, level) for level in levels.tolist()])
        panel.plot(levels, shown, "--", color=DATA, linewidth=1.8, label="certified, at least")
        panel.fill_between(
            levels,
            allowed,
            shown,
            where=(shown > allowed).tolist(),
            facecolor="none",
            edgecolor=BROKEN,
            hatch="////",
            linewidth=0.0,
            label="more than allowed",
        )
    else:
        _mark_bound(panel, audit, levels)
    panel.set_xlim(0.0, float(levels[-1]))
    panel.set_ylim(bottom=0.0)
    panel.set_xlabel("epsilon")
    panel.set_ylabel("delta")
    panel.grid(color=RULE, linewidth=0.6)
    legend(panel, loc="upper right")
    return figure


def _mark_bound(panel: Axes, audit: Audit, levels: npt.NDArray[np.float64]) -> None:
    """What was certified without an event: a least epsilon, or the curve of the least strength."""
    claim, bound = audit.claim, audit.lower_bound
    if bound is None or bound <= 0.0 or not isinstance(claim, Scalable):
        return
    said = f"certified: {claim.symbol} >= {lower(bound)}"
    if isinstance(claim, PureDP | ApproxDP):
        panel.axvline(
            bound,
            ymax=0.78,  # below the legend
            color=DATA,
            linestyle="--",
            linewidth=1.6,
            label=said,
        )
        return
    least = claim.with_strength(min(bound, claim.strength))
    curve = [least.delta(level) for level in levels.tolist()]
    panel.plot(levels, curve, "--", color=MUTED, linewidth=1.4, label=f"{said}, that curve")


def alt(audit: Audit) -> str:
    """The figure in words."""
    claim, found = audit.claim, audit.counterexample
    text = f"The curve of {one_line(str(claim), 60)} allows delta {upper(claim.delta(0.0))} at 0"
    if isinstance(claim, PureDP | ApproxDP):
        text += f" and {upper(claim.delta(claim.epsilon))} at epsilon {claim.epsilon:.12g}"
    if found is None:
        refuted = audit.verdict.value == "refuted"
        return f"{text}. No event was certified{'; all draws together refute' if refuted else ''}."
    text += f". The certified event shows at least {lower(delta_lower(found, 0.0))} at 0"
    if isinstance(claim, PureDP | ApproxDP):
        shown = delta_lower(found, claim.epsilon)
        text += f" and at least {lower(shown)} at epsilon {claim.epsilon:.12g}"
    return f"{text}."
