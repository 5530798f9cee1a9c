"""The figure of ScaledGD: true and certified divergence by scale, and how often it is refuted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from svg import Line, load, plain, read, write
from table2_figure import COLOURS

RANGE = (0.25, 1.25)  # of the scales
MARKS = {"betting": "o", "renyi": "s"}
NAMES = {"betting": "certified by bets", "renyi": "certified by the Rényi tester"}


def draw(path: Path) -> Path:
    """Draw the lines of a CSV into an SVG of the same name, beside it."""
    lines = read(path)
    return write(path.with_suffix(".svg"), lambda: figure(lines))


def figure(lines: list[Line]) -> Any:
    """Draw the divergences on the left, the share of refutations on the right."""
    whole = load("matplotlib.figure").Figure(figsize=(9.0, 3.9), layout="constrained")
    divergences, shares = whole.subplots(1, 2)
    _divergences(divergences, lines)
    _shares(shares, lines)
    handles, labels = divergences.get_legend_handles_labels()
    whole.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    whole.supxlabel("scale: the noise there is, over the noise accounted for", fontsize=9)
    return whole


def share(line: Line) -> float:
    """Give the share of the audits that refuted.

    >>> share({"refuted": "3", "audits": "10"})
    0.3
    """
    return int(line["refuted"]) / int(line["audits"])


def _divergences(panel: Any, lines: list[Line]) -> None:
    plain(panel, f"Rényi divergence of order {float(lines[0]['order']):g}")
    panel.set(yscale="log", xlim=RANGE)
    ticks = [0.5, 1, 2, 5, 10]
    panel.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.set_yticks([], minor=True)
    exact = {float(line["scale"]): float(line["true_divergence"]) for line in lines}
    panel.plot(list(exact), list(exact.values()), color="#777777", linewidth=1, label="true")
    claimed = float(lines[0]["claimed_divergence"])
    panel.axhline(claimed, color="#777777", linewidth=1, linestyle="--", label="claimed")
    for tester in MARKS:
        own = [line for line in lines if line["tester"] == tester]
        means, lows, highs = (
            [float(line[key]) for line in own]
            for key in ("mean_bound", "least_bound", "largest_bound")
        )
        spread = [
            [mean - low for mean, low in zip(means, lows, strict=True)],
            [high - mean for mean, high in zip(means, highs, strict=True)],
        ]
        panel.errorbar(_scales(own), means, yerr=spread, linestyle="", **_style(tester))


def _shares(panel: Any, lines: list[Line]) -> None:
    plain(panel, "share of the audits that refuted the claim")
    panel.set(ylim=(-0.06, 1.12), xlim=RANGE)
    found = max(
        (float(line["scale"]) for line in lines if line["paper_refuted"] == "yes"), default=0
    )
    panel.axvspan(RANGE[0], found + 0.05, color="#f3f3f3", linewidth=0)
    panel.text(0.27, 0.06, "found in the paper\n(its Rényi tester)", fontsize=8, color="#555555")
    panel.axvline(1.0, color="#777777", linewidth=0.8, linestyle=":")
    panel.text(1.015, 0.5, "claim\nholds", fontsize=8, color="#555555")
    for tester in MARKS:
        own = [line for line in lines if line["tester"] == tester]
        panel.plot(_scales(own), [share(line) for line in own], linewidth=1, **_style(tester))


def _scales(lines: list[Line]) -> list[float]:
    return [float(line["scale"]) for line in lines]


def _style(tester: str) -> dict[str, Any]:
    """The bets are small and filled, so that a mark behind them still shows."""
    colour, small = COLOURS[tester], tester == "betting"
    return {
        "color": colour,
        "marker": MARKS[tester],
        "markersize": 4 if small else 6.5,
        "markerfacecolor": colour if small else "white",
        "zorder": 3 if small else 2,
        "label": NAMES[tester],
    }
