"""The figure of table 2: a panel for each finder, a band by mechanism, a lane by tester.

A hollow mark is the paper's mean of trials, a filled one ours; a line joins the two.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from svg import Line, load, read, write

TITLES = {
    "gp": "gp\nGaussian process bandit",
    "random": "random",
    "grid": "grid",
    "auto": "auto\nour default",
}
# The bets, which are ours alone, stand out; the others are told apart by the colour-blind too.
COLOURS = {
    "betting": "#111111",
    "histogram": "#e69f00",
    "renyi": "#009e73",
    "mmd": "#0072b2",
    "hockey-stick": "#cc5599",
}
NEVER = 140.0  # where "never" stands on the axis of trials
TICKS = {1.0: "1", 2.0: "2", 5.0: "5", 10.0: "10", 20.0: "20", 50.0: "50", NEVER: "never"}
LANE = 0.155  # of a band


def draw(path: Path) -> Path:
    """Draw the lines of a CSV into an SVG of the same name, beside it."""
    return write(path.with_suffix(".svg"), lambda: figure(read(path)))


def figure(lines: list[Line]) -> Any:
    """Draw one panel for each finder of the lines."""
    finders, mechanisms = (list(dict.fromkeys(_of(lines, key))) for key in ("finder", "mechanism"))
    inches = (9.0, 1.7 + 0.62 * len(mechanisms))
    whole = load("matplotlib.figure").Figure(figsize=inches, layout="constrained")
    panels = whole.subplots(1, len(finders), sharex=True, sharey=True, squeeze=False)[0]
    for panel, finder in zip(panels, finders, strict=True):
        _panel(panel, [line for line in lines if line["finder"] == finder], mechanisms)
        panel.set_title(TITLES[finder], fontsize=9)
    whole.supxlabel("mean of trials until found (not found in a run: 50)", fontsize=9)
    testers = dict.fromkeys(_of(lines, "tester"))
    whole.legend(handles=_legend(list(testers)), loc="outside upper center", ncols=7, frameon=False)
    return whole


def place(line: Line, *, paper: bool) -> float | None:
    """Give the place of a mark on the axis; None for no mark.

    >>> place({"mean_trials": "50", "found": "0"}, paper=False) == NEVER
    True
    """
    text = line["paper_trials" if paper else "mean_trials"]
    if text == "":
        return None
    never = float(text) >= 50.0 if paper else int(line["found"]) == 0
    return NEVER if never else float(text)


def _panel(panel: Any, lines: list[Line], mechanisms: list[str]) -> None:
    panel.set(xscale="log", xlim=(0.8, 230.0), ylim=(len(mechanisms) - 0.5, -0.5))
    panel.set_xticks(list(TICKS), list(TICKS.values()))
    panel.set_xticks([], minor=True)
    panel.set_yticks(range(len(mechanisms)), mechanisms)
    panel.tick_params(length=0, labelsize=8)
    panel.spines[:].set_visible(False)
    panel.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.axvline(math.sqrt(50.0 * NEVER), color="#999999", linewidth=0.8, linestyle=":")
    for band in range(0, len(mechanisms), 2):
        panel.axhspan(band - 0.5, band + 0.5, color="#f6f6f6", linewidth=0)
    for line in lines:
        _lane(panel, line, mechanisms.index(line["mechanism"]))


def _lane(panel: Any, line: Line, band: int) -> None:
    """The two marks of a tester on a mechanism, and what lies between them."""
    lanes, colour = list(COLOURS), COLOURS[line["tester"]]
    height = band + LANE * (lanes.index(line["tester"]) - (len(lanes) - 1) / 2)
    ours, theirs = place(line, paper=False), place(line, paper=True)
    if theirs is not None:
        panel.plot([ours, theirs], [height, height], color=colour, linewidth=0.8, alpha=0.5)
        panel.plot(theirs, height, **_hollow(colour))
    panel.plot(ours, height, **_filled(colour))


def _hollow(colour: str) -> dict[str, Any]:
    return {"marker": "o", "markersize": 6.5, "markerfacecolor": "white", "color": colour}


def _filled(colour: str) -> dict[str, Any]:
    return {"marker": "o", "markersize": 4.5, "color": colour, "markeredgewidth": 0}


def _legend(testers: list[str]) -> list[Any]:
    """The colours of the testers, and the two marks."""
    mark = load("matplotlib.lines").Line2D
    colours = [
        mark([], [], linestyle="", label=tester, **_filled(COLOURS[tester])) for tester in testers
    ]
    ours = mark([], [], linestyle="", label="ours", **_filled("#777777"))
    return [*colours, mark([], [], linestyle="", label="the paper's", **_hollow("#777777")), ours]


def _of(lines: list[Line], key: str) -> list[str]:
    return [line[key] for line in lines]
