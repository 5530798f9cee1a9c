"""The figure of the peers' suite: a lane for each mechanism, marks for what was certified on it.

Hollow marks are DP-Sniper's, filled ones ours; a bar stands at the true epsilon where it is finite.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from svg import Line, load, plain, read, write

OURS, THEIRS = "#111111", "#cc5599"
FEW, MANY = "o", "D"  # the marks of few and of many draws
LEAST = 0.012  # where nothing certified stands


def draw(path: Path) -> Path:
    """Draw the lines of a CSV into an SVG of the same name, beside it."""
    return write(path.with_suffix(".svg"), lambda: figure(read(path)))


def figure(lines: list[Line]) -> Any:
    """Draw one lane for each mechanism."""
    rows = list(dict.fromkeys(line["row"] for line in lines))
    whole = load("matplotlib.figure").Figure(
        figsize=(8.0, 1.3 + 0.3 * len(rows)), layout="constrained"
    )
    panel = whole.subplots()
    plain(panel, "")
    panel.set(xscale="log", xlim=(LEAST * 0.9, 20.0), ylim=(len(rows) - 0.4, -0.6))
    panel.set_yticks(range(len(rows)), rows)
    ticks = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    panel.set_xticks([LEAST, *ticks], ["none", *(f"{tick:g}" for tick in ticks)])
    panel.set_xlabel("epsilon certified at 90 % confidence (all claim 0.1)", fontsize=9)
    samples = sorted({int(line["samples"]) for line in lines})
    for line in lines:
        few = int(line["samples"]) == samples[0]
        _lane(panel, line, rows.index(line["row"]), few=few)
    whole.legend(
        handles=_legend(samples), loc="outside upper center", ncols=3, frameon=False, fontsize=8
    )
    return whole


def place(text: str) -> float:
    """Give the place of an epsilon on the axis.

    >>> place("0.5"), place("") == place("0") == LEAST
    (0.5, True)
    """
    return max(float(text or 0.0), LEAST)


def _lane(panel: Any, line: Line, lane: int, *, few: bool) -> None:
    ours, theirs = (lane + 0.13, lane - 0.17)
    if few:
        if not math.isinf(float(line["true_epsilon"])):
            at = float(line["true_epsilon"])
            panel.plot([at, at], [lane - 0.4, lane + 0.4], color="#0072b2", linewidth=2.0)
        panel.plot(place(line["sniper_best"]), theirs, **_mark(FEW, THEIRS, filled=False))
        panel.plot(place(line["sniper_200m"]), theirs, **_mark(MANY, THEIRS, filled=False))
    panel.plot(place(line["median"]), ours, **_mark(FEW if few else MANY, OURS, filled=True))


def _mark(marker: str, colour: str, *, filled: bool) -> dict[str, Any]:
    return {
        "marker": marker,
        "markersize": 5.5,
        "markerfacecolor": colour if filled else "white",
        "color": colour,
        "linestyle": "none",
    }


def _legend(samples: list[int]) -> list[Any]:
    line = load("matplotlib.lines").Line2D
    handles = [
        line(
            [], [], label="DP-Sniper, 2.3 million (best of 3)", **_mark(FEW, THEIRS, filled=False)
        ),
        line([], [], label="DP-Sniper, 200 million", **_mark(MANY, THEIRS, filled=False)),
        line([], [], color="#0072b2", linewidth=2.0, label="true epsilon"),
    ]
    for marker, size in zip((FEW, MANY), samples, strict=False):
        label = f"dpaudit, {size / 1e6:g} million (median)"
        handles.append(line([], [], label=label, **_mark(marker, OURS, filled=True)))
    return handles
