"""The figure of the running time: seconds of a trial by draws, on a CPU and on a GPU.

The two CSVs come from two machines and make one figure; what was not measured is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from svg import Line, load, plain, read, write

CPU, GPU = "running_time", "running_time_gpu"
# The bets stand out; a tester keeps its colour with and without a network.
COLOURS = {
    "betting, until refuted": "#111111",
    "betting, all draws": "#111111",
    "histogram": "#e69f00",
    "mmd": "#0072b2",
    "hockey-stick linear": "#cc5599",
    "renyi chebyshev": "#009e73",
    "hockey-stick neural": "#cc5599",
    "renyi neural": "#009e73",
}
DASHED = ("betting, until refuted", "hockey-stick neural", "renyi neural")
MARKS = {"betting": "o", "histogram": "v", "mmd": "D", "hockey-stick": "^", "renyi": "s"}


def draw(path: Path) -> Path:
    """Draw the CSVs of a CPU and of a GPU, as far as they are there, into one SVG beside them."""
    partial = ".partial" if path.stem.endswith(".partial") else ""
    paths = [path.with_name(f"{name}{partial}.csv") for name in (CPU, GPU)]
    if not any(each.exists() for each in paths):
        raise FileNotFoundError(f"there is neither {paths[0]} nor {paths[1]}.")
    cpu, gpu = (read(each) if each.exists() else [] for each in paths)
    return write(paths[0].with_suffix(".svg"), lambda: figure(cpu, gpu))


def figure(cpu: list[Line], gpu: list[Line]) -> Any:
    """Draw a panel for each machine of which there are lines."""
    titles = ("on a CPU, one thread", "testers that train a network, beside a GPU")
    panels = [
        (title, lines)
        for title, lines in zip(titles, map(measured, (cpu, gpu)), strict=True)
        if lines
    ]
    inches = (4.6 * max(len(panels), 1), 4.6)
    whole = load("matplotlib.figure").Figure(figsize=inches, layout="constrained")
    axes = whole.subplots(1, max(len(panels), 1), squeeze=False, sharey=True)[0]
    for panel, (title, lines) in zip(axes, panels, strict=False):
        _panel(panel, title, lines)
    axes[0].set_ylabel("mean seconds of one trial")
    return whole


def measured(lines: list[Line]) -> list[Line]:
    """Leave out what was not measured.

    >>> measured([{"mean_seconds": "0.25"}, {"mean_seconds": ""}])
    [{'mean_seconds': '0.25'}]
    """
    return [line for line in lines if line["mean_seconds"] != ""]


def _panel(panel: Any, title: str, lines: list[Line]) -> None:
    plain(panel, title)
    panel.set(xscale="log", yscale="log", xlabel="draws a side")
    sizes = sorted({int(line["draws_a_side"]) for line in lines})
    panel.set_xticks(sizes, [f"{size // 1000}k" for size in sizes])
    panel.set_xticks([], minor=True)
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("")
    several = len({line["device"] for line in lines}) > 1
    for tester, device in dict.fromkeys((line["tester"], line["device"]) for line in lines):
        own = [line for line in lines if (line["tester"], line["device"]) == (tester, device)]
        dashed = device != "cpu" if several else tester in DASHED
        panel.plot(
            [int(line["draws_a_side"]) for line in own],
            [float(line["mean_seconds"]) for line in own],
            color=COLOURS[tester],
            marker=MARKS[tester.split(",")[0].split(" ")[0]],
            markersize=4,
            linewidth=1.2,
            linestyle="--" if dashed else "-",
            label=f"{tester}, {device}" if several else tester,
        )
    panel.legend(fontsize=8, frameon=False)
