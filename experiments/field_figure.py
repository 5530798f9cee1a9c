"""The figure of the table of testers: who detects what, and who accuses falsely.

One column for each tester, the one that detects most on the left, after a first column for what
anybody could detect at best. Above, one thin row for each false claim, in groups; below, a dot for
each claim that holds.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose shares are shared

from field_tables import detected, ranked, share
from svg import Line, load, plain, read, write

ANYBODY = "anybody, at best"
NEVER, POWERLESS = "#e9dcc6", "#c8ab84"  # where there is no verdict
ALPHA_COLOUR, DOT, DOT_OF_OTHERS = "#c2185b", "#222222", "#8a8a8a"


def draw(path: Path) -> Path:
    """Draw the lines of a CSV into an SVG of the same name, beside it."""
    return write(path.with_suffix(".svg"), lambda: figure(read(path)))


def figure(lines: list[Line]) -> Any:
    """Draw the shares of detections above the shares of false accusations."""
    false = [line for line in lines if line["tight"] == "no"]
    tight = [line for line in lines if line["tight"] == "yes"]
    testers = ranked(lines)
    groups = in_groups(false)
    height = 0.4 + 0.055 * sum(map(len, groups.values()))
    whole = load("matplotlib.figure").Figure(
        figsize=(2.6 + 0.36 * len(testers), 3.6 + height), layout="constrained", facecolor="white"
    )
    above, below = whole.subplots(2, 1, sharex=True, height_ratios=[height, 1.3])
    _detections(above, false, groups, testers)
    _accusations(below, tight, testers)
    whole.legend(handles=_legend(), loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return whole


def in_groups(false: list[Line]) -> dict[str, list[tuple[str, str]]]:
    """The rows of each group, the lowest floor first."""
    floors = {(line["group"], line["row"], line["claim"]): float(line["floor"]) for line in false}
    groups: dict[str, list[tuple[str, str]]] = {}
    for group, row, claim in sorted(floors, key=lambda each: floors[each]):
        groups.setdefault(group, []).append((row, claim))
    return {group: groups[group] for group in dict.fromkeys(line["group"] for line in false)}


def _detections(
    panel: Any, false: list[Line], groups: dict[str, list[tuple[str, str]]], testers: list[str]
) -> None:
    colours = load("matplotlib").colormaps["Blues"]
    cells = {(line["row"], line["claim"], line["tester"]): line for line in false}
    rows = [row for group in groups.values() for row in group]
    boxes, fills = [], []
    for place, row in enumerate(rows):
        own = [cells.get((*row, tester)) for tester in testers]
        known = next(line for line in own if line is not None)
        boxes.append(_box(-1.0, place))
        fills.append(colours(float(known["ceiling"])))
        for column, line in enumerate(own):
            if line is not None:
                boxes.append(_box(column, place))
                fills.append(_fill(line, colours))
    shapes = load("matplotlib.collections").PolyCollection
    panel.add_collection(shapes(boxes, facecolors=fills, edgecolors="#d0d0d0", linewidths=0.15))
    ends = [0]
    for group in groups.values():
        ends.append(ends[-1] + len(group))
    panel.hlines(ends, -1.5, len(testers) - 0.5, color="#555555", linewidth=0.7)
    panel.vlines([-0.5], 0, len(rows), color="#555555", linewidth=1.2)
    plain(panel, "")
    panel.grid(visible=False)
    panel.set(ylim=(len(rows), 0), xlim=(-1.5, len(testers) - 0.5))
    middles = [(start + end) / 2 for start, end in itertools.pairwise(ends)]
    panel.set_yticks(middles, list(groups))
    _heads(panel, false, testers)


def _heads(panel: Any, lines: list[Line], testers: list[str]) -> None:
    """Name the columns above, each with the share it detects in all."""
    guarantees = {line["tester"]: line["guarantee"] for line in lines}
    shown = [
        f"{tester}{'' if guarantees.get(tester) == 'exact' else ' *'}  "
        f"{100 * detected(lines, tester):.0f} %"
        for tester in testers
    ]
    panel.set_xticks(range(-1, len(testers)), [ANYBODY, *shown])
    panel.tick_params(axis="x", labelrotation=60, labeltop=True, labelbottom=False, labelsize=8.5)
    for label in panel.get_xticklabels():
        label.set(horizontalalignment="left", rotation_mode="anchor")


def _box(column: float, row: int) -> list[tuple[float, float]]:
    left, right = column - 0.5, column + 0.5
    return [(left, row), (right, row), (right, row + 1), (left, row + 1)]


def _fill(line: Line, colours: Callable[[float], Any]) -> Any:
    if line["state"] == "underpowered":
        return POWERLESS
    return colours(share(line)) if line["state"] == "answered" else NEVER


def _accusations(panel: Any, tight: list[Line], testers: list[str]) -> None:
    """A dot for each tight row, on a scale that shows small shares."""
    for column, tester in enumerate(testers):
        own = [line for line in tight if line["tester"] == tester and line["state"] == "answered"]
        steps = [0.5 * (place + 0.5) / max(len(own), 1) - 0.25 for place in range(len(own))]
        exact = bool(own) and own[0]["guarantee"] == "exact"
        panel.plot(
            [column + step for step in steps],
            [100 * share(line) for line in own],
            marker="o" if exact else "s",
            markersize=2.6,
            clip_on=False,
            linestyle="none",
            color=DOT if exact else DOT_OF_OTHERS,
        )
    plain(panel, "")
    panel.set_yscale("function", functions=(_root, _square))
    panel.set_ylim(0.0, 100.0)
    panel.set_yticks([0, 1, 5, 20, 50, 100], ["0", "1 %", "5 %", "20 %", "50 %", "100 %"])
    panel.set_ylabel("false accusations", fontsize=8.5)
    alpha = float(tight[0]["alpha"]) if tight else 0.05
    panel.axhline(100 * alpha, color=ALPHA_COLOUR, linewidth=1.0)
    panel.tick_params(axis="x", labelbottom=False)


def _root(values: Any) -> Any:
    return values.clip(min=0.0) ** 0.5


def _square(values: Any) -> Any:
    return values**2


def _legend() -> list[Any]:
    patch, line = load("matplotlib.patches").Patch, load("matplotlib.lines").Line2D
    colours = load("matplotlib").colormaps["Blues"]

    def mark(colour: str, marker: str, label: str) -> Any:
        return line(
            [], [], marker=marker, color=colour, markersize=4, linestyle="none", label=label
        )

    return [
        patch(color=colours(1.0), label="always detected"),
        patch(facecolor=colours(0.0), edgecolor="#aaaaaa", label="never detected"),
        patch(color=NEVER, label="does not apply to claim or outputs"),
        patch(color=POWERLESS, label="can never detect with these draws"),
        mark(DOT, "o", "a claim that holds, an exact tester"),
        mark(DOT_OF_OTHERS, "s", "the same, a tester that is not exact (*)"),
        line([], [], color=ALPHA_COLOUR, linewidth=1.0, label="alpha"),
    ]
