"""The figure of an audit inside: the loss of each release, as a bar."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpaudit.claims import point_of
from dpaudit.report.figures import canvas
from dpaudit.report.figures.canvas import DATA, INK, NEIGHBOUR, FigureKind, label
from dpaudit.report.releases import shown_releases, signed_loss
from dpaudit.report.showing import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpaudit.inside import InsideAudit

_BAR_INCHES = 0.24
_FRAME_INCHES = 1.2
_BEYOND = 1.25  # an infinite loss is a bar that is longer than all others, by this factor


def _draw(found: InsideAudit) -> Figure:
    assert found.worst is not None
    shown, _ = shown_releases(found.worst.releases)
    figure, [panel] = canvas.panels(height=_FRAME_INCHES + _BAR_INCHES * max(len(shown), 3))
    point = point_of(found.claim)
    finite = [abs(one.loss) for one in shown if math.isfinite(one.loss)]
    longest = _BEYOND * max([*finite, point[0] if point else 0.0, 1e-9])
    lengths = [max(-longest, min(longest, one.loss)) for one in shown]
    places = range(len(shown))
    colours = [DATA if length >= 0.0 else NEIGHBOUR for length in lengths]
    panel.barh(places, lengths, height=0.7, color=colours)
    panel.axvline(0.0, color=INK, linewidth=0.8)
    for place, one in zip(places, shown, strict=True):
        if math.isinf(one.loss):
            panel.annotate(
                "infinite",
                (lengths[place], place),
                xytext=(-4, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                color=canvas.PAPER,
                fontsize=8,
            )
    if point is not None:
        limits = [side for side in (point[0], -point[0]) if _is_reached(side, lengths)]
        named = f"epsilon of {label(str(found.claim), 30)}"
        for side in limits or [point[0]]:
            panel.axvline(side, color=INK, linestyle=":", linewidth=1.2, label=named)
            named = ""  # one entry in the legend
    panel.set_yticks(places, [f"{one.number}" for one in shown])
    panel.invert_yaxis()
    panel.set_xlabel("loss (likelier on A to the right, on B to the left)")
    panel.set_ylabel("release")
    panel.grid(axis="x", color=canvas.RULE, linewidth=0.6)
    if point is not None:
        canvas.legend(panel, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _is_reached(side: float, lengths: list[float]) -> bool:
    """Whether any bar points to this side."""
    return any(length * side > 0.0 for length in lengths)


def _in_words(found: InsideAudit) -> str:
    assert found.worst is not None
    releases = found.worst.releases
    shown, _ = shown_releases(releases)
    first = max(shown, key=lambda one: abs(one.loss))
    return (
        f"A bar for the loss of each of {count(len(shown), 'release')}, of {len(releases):,} in "
        f"the transcript. The longest is number {first.number}, {first.where}: {first.said}. "
        f"Together they make {signed_loss(found.worst.loss)}."
    )


def _caption(found: InsideAudit) -> str:
    limit = "; the dotted line is the epsilon that was claimed for all of them"
    return (
        "A bar to the right: what was released is likelier on A. To the left: likelier on B. The "
        "losses, logarithms of how many times as likely, add up to that of the transcript"
        f"{'' if point_of(found.claim) is None else limit}."
    )


RELEASES = FigureKind(
    name="releases",
    title="Loss by release",
    caption=_caption,
    draw=_draw,
    alt=_in_words,
)
