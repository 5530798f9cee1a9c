"""The search: which pair got how many draws, and what it earned with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.report.extra import needed
from dpaudit.report.figures.canvas import ALLOWED, BROKEN, DATA, MUTED, RULE, panels
from dpaudit.report.showing import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpaudit.results import Audit, PairRecord

TITLE = "The search"
CAPTION = (
    "The pairs in the order in which they were met: above, what a pair earned against the claim "
    "with each draw (nats; the diamond is the strongest pair); below, the draws it got."
)
NOT_KEPT = "No history of the search was kept with this audit."
_MOST = 200  # points; of longer searches the best of each few pairs are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Some pairs in a row: the number of the first, the best growth, the mean draws of a pair."""

    number: int
    growth: float
    draws: float


def draw(audit: Audit) -> Figure:
    """Growth and draws over the pairs; ValueError if no history was kept."""
    if not audit.history:
        raise ValueError(NOT_KEPT)
    figure, [upper, lower] = panels(2, height=3.5)
    ticker = needed("matplotlib.ticker")
    steps = thinned(audit.history, _MOST)
    numbers = [step.number for step in steps]
    upper.plot(numbers, [step.growth for step in steps], "o", color=DATA, markersize=2.6)
    upper.axhline(0.0, color=MUTED, linewidth=0.8)
    strongest = _place(audit)
    if strongest is not None:
        growth = audit.history[strongest].growth
        upper.plot([strongest + 1], [growth], "D", color=BROKEN, markersize=5.5, fillstyle="none")
    width = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    edges = [number - 0.5 for number in (*numbers, numbers[-1] + width)]
    lower.stairs([step.draws for step in steps], edges, fill=True, color=ALLOWED)
    lower.stairs([step.draws for step in steps], edges, color=MUTED, linewidth=0.6)
    upper.set_ylabel("nats a draw")
    upper.tick_params(labelbottom=False)
    lower.set_ylabel("draws")
    lower.set_xlabel("pair")
    for panel in (upper, lower):
        panel.set_xlim(0.0, max(edges[-1], 8.5))  # few pairs are not spread over all the width
        panel.xaxis.set_major_locator(ticker.MaxNLocator(8, integer=True))
        panel.yaxis.set_major_locator(ticker.MaxNLocator(4))
        panel.grid(axis="y", color=RULE, linewidth=0.6)
    lower.yaxis.set_major_formatter(ticker.FuncFormatter(lambda draws, _: f"{draws:,.0f}"))
    return figure


def thinned(history: Sequence[PairRecord], most: int) -> list[Step]:
    """At most so many steps: of a longer history the best of each few pairs, and their mean draws.

    >>> from dpaudit.neighbours import Pair
    >>> from dpaudit.results import PairRecord
    >>> pair = Pair([1], [0])
    >>> records = [
    ...     PairRecord(pair=pair, samples=10 * n, log_wealth=0.0, growth=-0.1 * n) for n in range(4)
    ... ]
    >>> [(step.number, step.draws) for step in thinned(records, 2)]
    [(1, 5.0), (3, 25.0)]
    """
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


def _place(audit: Audit) -> int | None:
    """Where the strongest pair stands in the history; None if it does not."""
    found = audit.strongest
    if found is None:
        return None
    at = (
        place
        for place, record in enumerate(audit.history)
        if record.log_wealth == found.log_wealth and record.pair == found.pair
    )
    return next(at, None)


def alt(audit: Audit) -> str:
    """The figure in words."""
    tried = count(audit.pairs_tried, "pair")
    best = max(record.growth for record in audit.history)
    most = max(record.samples for record in audit.history)
    return (
        f"{tried} tried. The best earned {best:.3g} nats a draw; the most draws a pair got are "
        f"{most:,}."
    )
