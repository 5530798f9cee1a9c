"""The figure of the sample size: certified epsilon above, trials until found below.

A column for each mechanism. Above, a band spans the runs and a line is their mean; below, a mark on
the line "never" says that no run found the bug.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from svg import Line, load, plain, read, write
from table2_figure import COLOURS

FIXED = "fixed pair"
MARKS = {"betting": "o", "histogram": "v", "renyi": "s", "mmd": "D", "hockey-stick": "^"}
LINES = {"gp": "--", "auto": "-"}
NEVER = 110.0  # where "never" stands on the axis of trials
TICKS = {1.0: "1", 2.0: "2", 5.0: "5", 10.0: "10", 20.0: "20", 50.0: "50", NEVER: "never"}


def draw(path: Path) -> Path:
    """Draw the lines of a CSV into an SVG of the same name, beside it."""
    lines = read(path)
    return write(path.with_suffix(".svg"), lambda: figure(lines))


def figure(lines: list[Line]) -> Any:
    """Draw the two panels of each mechanism of the lines."""
    mechanisms = list(dict.fromkeys(line["mechanism"] for line in lines))
    whole = load("matplotlib.figure").Figure(figsize=(9.0, 7.2), layout="constrained")
    fixed = [line for line in lines if line["finder"] == FIXED]
    searched = [line for line in lines if line["finder"] != FIXED]
    parts = whole.subfigures(2, 1)
    for part, own, panel_of, words in (
        (parts[0], fixed, _bounds, "certified epsilon on a fixed pair"),
        (parts[1], searched, _searches, "mean of trials until found"),
    ):
        panels = part.subplots(1, len(mechanisms), squeeze=False)[0]
        for panel, mechanism in zip(panels, mechanisms, strict=True):
            found = [line for line in own if line["mechanism"] == mechanism]
            plain(panel, f"{mechanism}, claims {found[0]['claim']}" if found else mechanism)
            panel_of(panel, found)
        panels[0].set_ylabel(words)
        handles = {
            label: handle
            for panel in panels
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
        }
        part.legend(handles.values(), handles, loc="outside upper center", ncols=6, frameon=False)
    return whole


def height(line: Line) -> float:
    """Give the place of a search on the axis of trials.

    >>> height({"found": "0", "mean_trials": "50"}) == NEVER
    True
    """
    return float(line["mean_trials"]) if int(line["found"]) else NEVER


def _bounds(panel: Any, lines: list[Line]) -> None:
    for exact in {float(line["exact_epsilon"]) for line in lines}:
        panel.axhline(exact, color="#777777", linewidth=1, linestyle=":", label="exact")
    for tester in dict.fromkeys(line["tester"] for line in lines):
        own = [line for line in lines if line["tester"] == tester]
        sizes = [int(line["draws_a_side"]) for line in own]
        low, mean, high = (
            [float(line[key]) for line in own]
            for key in ("least_epsilon", "mean_epsilon", "largest_epsilon")
        )
        panel.fill_between(sizes, low, high, color=COLOURS[tester], alpha=0.15, linewidth=0)
        panel.plot(sizes, mean, label=tester, **_style(tester))
    panel.set_ylim(bottom=-0.03 * panel.get_ylim()[1])
    _draws(panel, lines, "draws a side")


def _searches(panel: Any, lines: list[Line]) -> None:
    panel.set(yscale="log", ylim=(0.8, 160.0))
    panel.set_yticks(list(TICKS), list(TICKS.values()))
    panel.set_yticks([], minor=True)
    panel.axhline(math.sqrt(50.0 * NEVER), color="#999999", linewidth=0.8, linestyle=":")
    for finder, tester in dict.fromkeys((line["finder"], line["tester"]) for line in lines):
        own = [line for line in lines if (line["finder"], line["tester"]) == (finder, tester)]
        sizes = [int(line["draws_a_side"]) for line in own]
        style = _style(tester) | {"linestyle": LINES[finder]}
        panel.plot(sizes, list(map(height, own)), label=f"{tester}, {finder}", **style)
    _draws(panel, lines, "draws a side in a trial")


def _draws(panel: Any, lines: list[Line], words: str) -> None:
    """The axis of the draws, with the sizes that were tried."""
    sizes = sorted({int(line["draws_a_side"]) for line in lines})
    panel.set(xscale="log", xlabel=words)
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
    panel.set_xticks([], minor=True)


def _style(tester: str) -> dict[str, Any]:
    return {
        "color": COLOURS[tester],
        "marker": MARKS[tester],
        "markersize": 4,
        "linewidth": 1.2,
    }
