"""The figure of table 1: a block for each tester, the paper's ten runs beside ours, cell by cell.

A cell is the darker, the more of the runs detected the violation. Hatched cells are those in which
a tester cannot be asked to: there is no violation, or too few draws, or none in its divergence.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from svg import Line, load, read, write

TITLES = {
    "histogram": "histogram",
    "hockey-stick": "hockey-stick",
    "renyi": "Rényi",
    "mmd": "MMD",
    "betting": "betting (ours alone)",
}
# Of a line, with its hatch and what it means; "violation" is not hatched.
STATES = {
    "no violation": ("////", "no violation"),
    "too few draws": ("....", "too few draws for any test"),
    "unseen": ("\\\\\\\\", "not in the tester's divergence"),
}
DARKEST, HATCHED, HATCH = "#08519c", "#f4f4f4", "#b5b5b5"
BETTING_WIDTH = 5.4  # cells


def draw(path: Path) -> Path:
    """Draw the lines of a CSV into an SVG of the same name, beside it."""
    lines = read(path)
    return write(path.with_suffix(".svg"), lambda: figure(lines))


def figure(lines: list[Line]) -> Any:
    """Draw one block for each tester of the lines, one row for each mechanism and epsilon."""
    rows = list(dict.fromkeys((line["mechanism"], line["epsilon"]) for line in lines))
    testers = [tester for tester in TITLES if any(line["tester"] == tester for line in lines)]
    sizes = {tester: _sizes(lines, tester) for tester in testers}
    widths = [
        BETTING_WIDTH if tester == "betting" else 2 * len(sizes[tester]) + 0.3 for tester in testers
    ]
    inches = (1.4 + 0.26 * sum(widths), 1.4 + 0.25 * len(rows))
    whole = load("matplotlib.figure").Figure(figsize=inches, layout="constrained")
    blocks = whole.subplots(1, len(testers), width_ratios=widths, sharey=True, squeeze=False)[0]
    for block, tester in zip(blocks, testers, strict=True):
        own = [line for line in lines if line["tester"] == tester]
        _block(block, own, rows, sizes[tester])
    blocks[0].set_yticks(
        range(len(rows)), [f"{mechanism}  {float(epsilon):g}" for mechanism, epsilon in rows]
    )
    whole.legend(handles=_legend(), loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    return whole


def draws(text: str) -> str:
    """Write a number of draws shortly.

    >>> draws("8713639.6"), draws("28.4"), draws("24905.3"), draws("inf")
    ('8.7M', '28', '25k', 'none')
    """
    value = float(text)
    if math.isinf(value):
        return "none"
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * unit or (value >= unit and name == "M"):
            return f"{value / unit:.2g}{name}"
    return f"{value:.0f}"


def _block(panel: Any, lines: list[Line], rows: list[tuple[str, str]], sizes: list[int]) -> None:
    """The cells of one tester: the paper's on the left, ours on the right; or the bets."""
    tester, thousands = lines[0]["tester"], [f"{size / 1_000:g}" for size in sizes]
    panel.set_title(TITLES[tester], fontsize=9)
    panel.tick_params(length=0, labelsize=7)
    panel.spines[:].set_visible(False)
    panel.set(ylim=(len(rows) - 0.5, -0.5))
    bets = tester == "betting"
    right = 0.0 if bets else len(sizes) + 0.3
    for line in lines:
        height, column = (
            rows.index((line["mechanism"], line["epsilon"])),
            sizes.index(int(line["draws"])),
        )
        share = int(line["detected"]) / int(line["runs"])
        _cell(panel, right + column, height, line, line["detected"], share)
        if bets:
            _needed(panel, height, line)
        elif line["paper_detected"] == "":
            panel.text(column, height, "-", ha="center", va="center", fontsize=7)
        else:
            paper = line["paper_detected"]
            _cell(panel, column, height, line, paper, int(paper) / 10)
    if bets:
        panel.set(xlim=(-0.5, BETTING_WIDTH - 0.5))
        panel.set_xticks([0, 2.6], [f"n\n{thousands[0]}k", "draws of a side\n(the floor)"])
        return
    panel.set(xlim=(-0.5, right + len(sizes) - 0.5))
    panel.set_xticks(
        [*range(len(sizes)), *(right + column for column in range(len(sizes)))],
        [_named(thousands, "paper", place) for place in range(len(sizes))]
        + [_named(thousands, "ours", place) for place in range(len(sizes))],
    )


def _named(thousands: list[str], whose: str, place: int) -> str:
    """A size, and under the middle one whose runs they are."""
    return f"{thousands[place]}\n{whose}" if place == len(thousands) // 2 else thousands[place]


def _cell(panel: Any, x: float, y: int, line: Line, text: str, share: float) -> None:
    """A number on the darker ground, the more it is."""
    unfair = STATES.get(line["state"])
    mix = load("matplotlib.colors").LinearSegmentedColormap.from_list("", ["#ffffff", DARKEST])
    ground = mix(share) if unfair is None else HATCHED
    look = {"facecolor": ground, "edgecolor": "#d5d5d5", "linewidth": 0.6}
    if unfair is not None:
        look |= {"hatch": unfair[0], "edgecolor": HATCH, "linewidth": 0.0}
    look["clip_on"] = False  # a clip has a name that is another one in every drawing
    panel.add_patch(load("matplotlib.patches").Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, **look))
    ink = "white" if unfair is None and share > 0.5 else "#111111"
    panel.text(x, y, text, ha="center", va="center", fontsize=7, color=ink)


def _needed(panel: Any, y: int, line: Line) -> None:
    """The draws that the bets needed, and the floor."""
    mean = draws(line["mean_draws"]) if line["mean_draws"] else "-"
    panel.text(0.9, y, f"{mean}  ({draws(line['floor'])})", va="center", fontsize=7)


def _legend() -> list[Any]:
    patch = load("matplotlib.patches").Patch
    grounds = [
        patch(facecolor=DARKEST, edgecolor="#d5d5d5", label="10 of 10 detected"),
        patch(facecolor="white", edgecolor="#d5d5d5", label="missed"),
    ]
    hatched = {"facecolor": HATCHED, "edgecolor": HATCH, "linewidth": 0}
    return grounds + [patch(hatch=hatch, label=why, **hatched) for hatch, why in STATES.values()]


def _sizes(lines: list[Line], tester: str) -> list[int]:
    return sorted({int(line["draws"]) for line in lines if line["tester"] == tester})
