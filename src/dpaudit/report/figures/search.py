"""How the audit went: the evidence over the draws, and what each pair of the search earned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.report import wording
from dpaudit.report.figures import canvas
from dpaudit.report.figures.canvas import BROKEN, DATA, MUTED, RULE, FigureKind
from dpaudit.report.showing import count, upper

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpaudit.results import Audit, PairRecord

NO_HISTORY = "No history of the search was kept with this audit."
MAX_STEPS = 200  # points; of longer searches the best of each few pairs are shown
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _draw_evidence(audit: Audit) -> Figure:
    """The wealth after each batch on a logarithmic scale, with the line of a refutation."""
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
    panel.yaxis.set_major_formatter(ticker.FuncFormatter(lambda power, _: _power_of_ten(power)))
    panel.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.set_xlim(left=0.0)
    panel.margins(y=0.12)
    canvas.finish(panel, "draws", "e-value", loc="best")
    return figure


def _power_of_ten(power: float) -> str:
    """Ten to the power of an integer.

    >>> _power_of_ten(6.0), _power_of_ten(-12.0)
    ('10⁶', '10⁻¹²')
    """
    return f"10{f'{power:.0f}'.translate(_RAISED)}"


def _evidence_in_words(audit: Audit) -> str:
    trace = audit.evidence.trace
    after = f" after {count(trace[-1][0], 'draw')}" if trace else ""
    return (
        f"The evidence{after}: an e-value of {wording.e_value(audit)}; the line of a refutation, "
        f"{upper(1.0 / audit.alpha)}, was {'' if audit.refuted else 'not '}reached."
    )


EVIDENCE = FigureKind(
    name="evidence",
    title="Evidence over the draws",
    caption="The wealth of bets that are fair under the claim, beginning with 1 (an e-value). "
    "Under the claim it reaches 1/alpha with probability at most alpha, whatever was searched.",
    draw=_draw_evidence,
    alt=_evidence_in_words,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Some pairs in a row: the number of the first, the best growth, the mean draws of a pair."""

    number: int
    growth: float
    draws: float


def _draw_search(audit: Audit) -> Figure:
    """Growth and draws over the pairs; ValueError if no history was kept."""
    if not audit.history:
        raise ValueError(NO_HISTORY)
    figure, [above, below] = canvas.panels(2, height=3.5)
    ticker = canvas.needed("matplotlib.ticker")
    steps = thinned(audit.history, MAX_STEPS)
    numbers = [step.number for step in steps]
    above.plot(numbers, [step.growth for step in steps], "o", color=DATA, markersize=2.6)
    above.axhline(0.0, color=MUTED, linewidth=0.8)
    best = audit.strongest
    for number, record in enumerate(audit.history, 1):
        if best and (record.log_wealth, record.pair) == (best.log_wealth, best.pair):
            above.plot([number], [record.growth], "D", color=BROKEN, ms=5.5, fillstyle="none")
            break
    width = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    edges = [number - 0.5 for number in (*numbers, numbers[-1] + width)]
    below.stairs([step.draws for step in steps], edges, fill=True, color=canvas.ALLOWED)
    below.stairs([step.draws for step in steps], edges, color=MUTED, linewidth=0.6)
    above.set_ylabel("nats a draw")
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


def thinned(history: Sequence[PairRecord], most: int) -> list[Step]:
    """At most `most` steps: of a longer history the best of each few pairs and their mean draws."""
    size = -(-len(history) // most)
    groups = [history[start : start + size] for start in range(0, len(history), size)]
    return [
        Step(
            number=1 + size * place,
            growth=max(record.growth for record in group),
            draws=sum(record.samples for record in group) / len(group),
        )
        for place, group in enumerate(groups)
    ]


def _search_in_words(audit: Audit) -> str:
    tried = count(audit.pairs_tried, "pair")
    best = max(record.growth for record in audit.history)
    most = max(record.samples for record in audit.history)
    return (
        f"{tried} tried. The best earned {best:.3g} nats a draw; the most draws a pair got are "
        f"{most:,}."
    )


SEARCH = FigureKind(
    name="search",
    title="The search",
    caption="The pairs in the order in which they were met: above, what a pair earned against the "
    "claim with each draw (nats; the diamond is the strongest pair); below, the draws it got.",
    draw=_draw_search,
    alt=_search_in_words,
)
