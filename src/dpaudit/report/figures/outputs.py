"""The outputs on both datasets, back to back, with the event shaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.outputs import GRAIN, LAST, LAST_BITS, MAGNITUDE, WIDTH, about_bits
from dpaudit.report.figures import canvas
from dpaudit.report.figures.canvas import FigureKind, label
from dpaudit.report.showing import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpaudit.results import Audit, OutputHistogram

NO_OUTPUTS = "No outputs were kept with this audit."
_MAX_LABEL = 14  # characters of a value under its bar
_MAX_FLAT_LABELS = 46  # characters of all labels; longer ones are turned
_AXES = {
    GRAIN: "lowest set bit of {place}, as a power of 2",
    MAGNITUDE: "highest set bit of {place}, as a power of 2",
    WIDTH: "significant bits of {place}",
    LAST_BITS: "last {last} bits of {place}, as a number",
}


def outlines(audit: Audit) -> tuple[OutputHistogram, ...]:
    """What is kept of the outputs: of the counterexample, or else of the strongest pair."""
    found = audit.counterexample
    return audit.outputs if found is None else found.outputs


def _draw(audit: Audit) -> Figure:
    """One panel for each outlined place; ValueError if no outputs were kept."""
    kept = outlines(audit)
    if not kept:
        raise ValueError(f"{NO_OUTPUTS} Audit again: dpaudit.audit(...) keeps them.")
    figure, drawn = canvas.panels(len(kept), height=3.1 if len(kept) == 1 else 2.4 * len(kept))
    for panel, outline in zip(drawn, kept, strict=True):
        _draw_one(panel, outline)
    low, high = drawn[0].get_ylim()
    drawn[0].set_ylim(low, 1.35 * high)  # room for the legend
    canvas.legend(drawn[0], loc="upper left", ncols=2, borderaxespad=0.2)
    return figure


def _in_words(audit: Audit) -> str:
    places = " and ".join(one_line(axis_name(outline.place), 60) for outline in outlines(audit))
    text = f"Bars of {places}: draws on A above the line, on B below."
    found = audit.counterexample
    if found is None:
        return text
    return (
        f"{text} The event, {found.event}, holds {found.data.rate:.1%} of the draws on A and "
        f"{found.neighbour.rate:.1%} of those on B."
    )


def _draw_one(panel: Axes, outline: OutputHistogram) -> None:
    """Both datasets of one place, back to back."""
    edges, order = _laid_out(outline)
    hit = any(outline.data_hits) or any(outline.neighbour_hits)
    data = ("A", 1.0, outline.data, outline.data_hits, canvas.DATA_COLOURS)
    neighbour = ("B", -1.0, outline.neighbour, outline.neighbour_hits, canvas.NEIGHBOUR_COLOURS)
    for name, sign, counts, hits, (dark, pale) in (data, neighbour):
        whole, part = (sign * _heights(row, sum(counts), order) for row in (counts, hits))
        said = f"on {name}, in the event" if hit else f"on {name}"
        panel.stairs(whole, edges, fill=True, color=pale, label=None if hit else said)
        if hit:
            panel.stairs(part, edges, fill=True, color=dark, label=said)
        panel.stairs(whole, edges, color=dark, linewidth=0.7)
    panel.axhline(0.0, color=canvas.MUTED, linewidth=0.8)
    panel.grid(axis="y", color=canvas.RULE, linewidth=0.6)
    _label_axes(panel, outline)


def _laid_out(outline: OutputHistogram) -> tuple[list[float], list[int]]:
    """Where bars begin and end, and which count each holds; -1 for a gap.

    Bar `k` stands around `k`: bins touch each other, values stand apart.
    """
    bins, places = range(outline.bins), range(outline.bins, len(outline.data))
    edges = [-0.5, *(place + 0.5 for place in bins)]
    edges += [place + side for place in places for side in (-0.36, 0.36)]
    return edges, [*bins, *(each for place in places for each in (-1, place))]


def _heights(counts: tuple[int, ...], total: int, order: list[int]) -> Floats:
    shares = np.array([*counts, 0]) / max(total, 1)
    return np.asarray(shares[order])


def _label_axes(panel: Axes, outline: OutputHistogram) -> None:
    """Numbers under the bins, texts under the values, shares without a sign on the left."""
    ticker = canvas.needed("matplotlib.ticker")
    ticks, texts = [], []
    inner = np.array(outline.edges[1:-1])
    if len(inner) > 1:
        for number in ticker.MaxNLocator(5).tick_values(inner[0], inner[-1]):
            if inner[0] <= number <= inner[-1]:
                ticks.append(float(np.interp(number, inner, np.arange(len(inner)) + 0.5)))
                texts.append(f"{number:g}")
    ticks += [float(place) for place in range(outline.bins, len(outline.data))]
    texts += [label(value, _MAX_LABEL) for value in outline.values]
    turned = sum(map(len, outline.values)) + 2 * len(outline.values) > _MAX_FLAT_LABELS
    panel.set_xticks(ticks, texts, rotation=45 if turned else 0, ha="right" if turned else "center")
    panel.set_xlabel(label(axis_name(outline.place), 60))
    panel.set_ylabel("share of draws")
    panel.yaxis.set_major_locator(ticker.MaxNLocator(6))
    panel.yaxis.set_major_formatter(ticker.FuncFormatter(lambda share, _: f"{abs(share):.3g}"))
    low, high = panel.get_ylim()
    reach = max(abs(low), abs(high))
    panel.set_ylim(-reach, reach)


def axis_name(place: str) -> str:
    """The name of a place under a figure.

    >>> axis_name("grain(output)"), axis_name("output")
    ('lowest set bit of output, as a power of 2', 'output')
    """
    found = about_bits(place)
    return place if found is None else _AXES[found[0]].format(place=found[1], last=LAST)


OUTPUTS = FigureKind(
    name="outputs",
    title="Outputs on both datasets",
    caption="Shares of the draws: on A upwards, on B downwards. Dark bars are draws in the event. "
    "The outermost bars of a histogram hold all draws beyond.",
    caption_without_event="Shares of the draws: on A upwards, on B downwards. The outermost bars "
    "of a histogram hold all draws beyond.",
    draw=_draw,
    alt=_in_words,
)
