"""What was drawn: the outputs on both datasets, the evidence over the draws, and the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.outputs import GRAIN, LAST, LAST_BITS, MAGNITUDE, WIDTH, about_bits
from dpaudit.report import wording
from dpaudit.report.figures import canvas
from dpaudit.report.figures.canvas import BROKEN, DATA, MUTED, RULE, FigureKind, label
from dpaudit.report.showing import count, one_line, power_of_ten, upper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpaudit.results import Audit, OutputHistogram, PairRecord

NO_OUTPUTS = "No outputs were kept with this audit."
_MAX_LABEL = 14  # characters of a value under its bar
_MAX_FLAT_LABELS = 46  # characters of all labels; longer ones are turned
_MAX_STEPS = 200  # points; of longer searches the best of each few pairs are shown
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


def _draw_outputs(audit: Audit) -> Figure:
    kept = outlines(audit)
    if not kept:
        raise ValueError(f"{NO_OUTPUTS} Audit again: dpaudit.audit(...) keeps them.")
    figure, drawn = canvas.panels(len(kept), height=3.1 if len(kept) == 1 else 2.4 * len(kept))
    for panel, outline in zip(drawn, kept, strict=True):
        draw_place(panel, outline)
    low, high = drawn[0].get_ylim()
    drawn[0].set_ylim(low, 1.35 * high)  # room for the legend
    canvas.legend(drawn[0], loc="upper left", ncols=2, borderaxespad=0.2)
    return figure


def _outputs_in_words(audit: Audit) -> str:
    places = " and ".join(one_line(axis_name(outline.place), 60) for outline in outlines(audit))
    text = f"Bars of {places}: draws on A above the line, on B below."
    found = audit.counterexample
    if found is None:
        return text
    return (
        f"{text} The event, {found.event}, holds {found.data.rate:.1%} of the draws on A and "
        f"{found.neighbour.rate:.1%} of those on B."
    )


def draw_place(
    panel: Axes, outline: OutputHistogram, *, names: tuple[str, str] = ("on A", "on B")
) -> None:
    """Bars of both sides at one place of the output, one upwards and one downwards."""
    edges, order = _laid_out(outline)
    hit = any(outline.data_hits) or any(outline.neighbour_hits)
    above, below = names
    data = (above, 1.0, outline.data, outline.data_hits, canvas.DATA_COLOURS)
    neighbour = (below, -1.0, outline.neighbour, outline.neighbour_hits, canvas.NEIGHBOUR_COLOURS)
    for name, sign, counts, hits, (dark, pale) in (data, neighbour):
        total = max(sum(counts), 1)
        whole, part = (sign * (np.array([*row, 0]) / total)[order] for row in (counts, hits))
        said = f"{name}, in the event" if hit else name
        panel.stairs(whole, edges, fill=True, color=pale, label=None if hit else said)
        if hit:
            panel.stairs(part, edges, fill=True, color=dark, label=said)
        panel.stairs(whole, edges, color=dark, linewidth=0.7)
    panel.axhline(0.0, color=MUTED, linewidth=0.8)
    panel.grid(axis="y", color=RULE, linewidth=0.6)
    _label_axes(panel, outline)


def _laid_out(outline: OutputHistogram) -> tuple[list[float], list[int]]:
    """Where bars begin and end, and which count each holds; -1 for a gap.

    Bar `k` stands around `k`: bins touch each other, values stand apart.
    """
    bins, places = range(outline.bins), range(outline.bins, len(outline.data))
    edges = [-0.5, *(place + 0.5 for place in bins)]
    edges += [place + side for place in places for side in (-0.36, 0.36)]
    return edges, [*bins, *(each for place in places for each in (-1, place))]


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


def _outputs_caption(audit: Audit) -> str:
    kept = outlines(audit)
    hit = any(any(each.data_hits) or any(each.neighbour_hits) for each in kept)
    return (
        "Shares of the draws: on A upwards, on B downwards."
        + (" Dark bars are draws in the event." if hit else "")
        + (" The outermost bars hold all draws beyond." if any(each.bins for each in kept) else "")
    )


OUTPUTS = FigureKind(
    name="outputs",
    title="Outputs on both datasets",
    caption=_outputs_caption,
    draw=_draw_outputs,
    alt=_outputs_in_words,
)


def _draw_evidence(audit: Audit) -> Figure:
    figure, [panel] = canvas.panels()
    ticker = canvas.needed("matplotlib.ticker")
    steps = [(0, 0.0), *audit.evidence.trace]
    heights = [wealth / math.log(10.0) for _, wealth in steps]
    floor = min((height for height in heights if math.isfinite(height)), default=0.0) - 1.0
    shown = [height if math.isfinite(height) else floor for height in heights]
    goal = -math.log10(audit.alpha)
    said = f"1/alpha = {upper(1.0 / audit.alpha)}"
    panel.axhline(goal, color=BROKEN, linestyle="--", linewidth=1.4, label=said)
    panel.axhline(0.0, color=MUTED, linewidth=0.8)
    panel.plot([draws for draws, _ in steps], shown, color=DATA, linewidth=1.6, label="wealth")
    panel.plot([steps[-1][0]], [shown[-1]], "o", color=DATA, markersize=3.5)
    panel.yaxis.set_major_locator(ticker.MaxNLocator(6, integer=True))
    panel.yaxis.set_major_formatter(ticker.FuncFormatter(lambda at, _: power_of_ten(round(at))))
    panel.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.set_xlim(left=0.0)
    panel.margins(y=0.12)
    canvas.finish(panel, "draws", "wealth", loc="best")
    return figure


def _evidence_in_words(audit: Audit) -> str:
    trace = audit.evidence.trace
    after = f" after {count(trace[-1][0], 'draw')}" if trace else ""
    return (
        f"The evidence{after}: a wealth of {wording.e_value(audit)}; the line of a refutation, "
        f"{upper(1.0 / audit.alpha)}, was {'' if audit.refuted else 'not '}reached."
    )


def _evidence_caption(audit: Audit) -> str:
    goal = f"{1.0 / audit.alpha:,.0f}" if audit.alpha > 1e-12 else upper(1.0 / audit.alpha)
    return (
        "What 1 has become by bets against the claim. If the claim holds, the wealth ever reaches "
        "1,000 with a probability of at most a thousandth, whatever was searched, and 1/alpha = "
        f"{goal} (dashed) with a probability of at most alpha."
    )


EVIDENCE = FigureKind(
    name="evidence",
    title="Evidence over the draws",
    caption=_evidence_caption,
    draw=_draw_evidence,
    alt=_evidence_in_words,
)


def _draw_search(audit: Audit) -> Figure:
    if not audit.history:
        raise ValueError("No history of the search was kept with this audit.")
    figure, [above, below] = canvas.panels(2, height=3.5)
    ticker = canvas.needed("matplotlib.ticker")
    numbers, growths, draws = zip(*thinned(audit.history, _MAX_STEPS), strict=True)
    above.plot(numbers, [_percent(growth) for growth in growths], "o", color=DATA, markersize=2.6)
    above.axhline(0.0, color=MUTED, linewidth=0.8)
    if (number := place_of_strongest(audit)) is not None:
        growth = _percent(audit.history[number - 1].growth)
        above.plot([number], [growth], "D", color=BROKEN, ms=5.5, fillstyle="none")
    width = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    edges = [number - 0.5 for number in (*numbers, numbers[-1] + width)]
    below.stairs(draws, edges, fill=True, color=canvas.ALLOWED)
    below.stairs(draws, edges, color=MUTED, linewidth=0.6)
    above.set_ylabel("% a draw")
    above.tick_params(labelbottom=False)
    below.set_ylabel("draws")
    below.set_xlabel("pair")
    for panel in (above, below):
        panel.set_xlim(0.0, max(edges[-1], 8.5))  # few pairs are not spread over all the width
        panel.xaxis.set_major_locator(ticker.MaxNLocator(8, integer=True))
        panel.yaxis.set_major_locator(ticker.MaxNLocator(4))
        panel.grid(axis="y", color=RULE, linewidth=0.6)
    below.yaxis.set_major_formatter("{x:,.0f}")
    return figure


def _percent(growth: float) -> float:
    """By how many per cent the wealth grew with each draw."""
    return 100.0 * math.expm1(min(growth, 1.0))


def place_of_strongest(audit: Audit) -> int | None:
    """The number of the strongest pair in the history, from 1; None if it is not there.

    Its record may hold more draws than that of the history, so the pair decides.
    """
    best = audit.strongest
    if best is None:
        return None
    same = (number for number, each in enumerate(audit.history, 1) if each.pair == best.pair)
    return next(same, None)


def thinned(history: Sequence[PairRecord], most: int) -> list[tuple[int, float, float]]:
    """The number of each pair, its growth and its draws, in at most `most` steps.

    A step of a longer history has the best growth of a few pairs and their mean draws.
    """
    size = -(-len(history) // most)
    groups = [history[start : start + size] for start in range(0, len(history), size)]
    best = (max(record.growth for record in group) for group in groups)
    draws = (sum(record.samples for record in group) / len(group) for group in groups)
    return list(zip(range(1, len(history) + 1, size), best, draws, strict=True))


def _search_in_words(audit: Audit) -> str:
    best = max(record.growth for record in audit.history)
    most = max(record.samples for record in audit.history)
    return (
        f"{count(audit.pairs_tried, 'pair')} tried. On the best the wealth grew by "
        f"{_percent(best):.3g} % a draw; the most draws a pair got are {most:,}."
    )


def _search_caption(audit: Audit) -> str:
    marked = "" if place_of_strongest(audit) is None else " (the diamond is the strongest pair)"
    return (
        "The pairs in the order in which they were met: above, by how many per cent the wealth "
        f"grew with each draw of a pair{marked}; below, the draws it got."
    )


SEARCH = FigureKind(
    name="search",
    title="The search",
    caption=_search_caption,
    draw=_draw_search,
    alt=_search_in_words,
)
