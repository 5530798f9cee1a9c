"""How all figures look, and how one becomes SVG that a page can hold.

Colours are chosen to be told apart by everyone and in grey (after Okabe and Ito 2008); nothing is
said by colour alone. In a page they are variables of its style sheet, so that figures follow light
and dark. Nothing here touches pyplot.
"""

from __future__ import annotations

import io
import re
import warnings
from html import escape
from typing import TYPE_CHECKING, Any

from dpaudit.report.extra import needed
from dpaudit.report.showing import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, RULE, PAPER = "#1d2733", "#5a6570", "#d5dae0", "#fffffe"
DATA, DATA_PALE = "#0b62a8", "#b5d3ec"
NEIGHBOUR, NEIGHBOUR_PALE = "#b84e0a", "#f5cfae"
ALLOWED, BROKEN = "#e6eaee", "#8e2a5b"

WIDTH = 4.8  # inches: two figures side by side on a screen, one on a phone
_NAMES = {
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    PAPER: "paper",
    DATA: "data",
    DATA_PALE: "data-pale",
    NEIGHBOUR: "neighbour",
    NEIGHBOUR_PALE: "neighbour-pale",
    ALLOWED: "allowed",
    BROKEN: "broken",
}
_SETTINGS = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.unicode_minus": True,
    "font.size": 9.0,
    "hatch.color": BROKEN,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",  # words stay words: small, searchable, read aloud
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
}


def panels(count: int = 1, *, height: float = 3.1) -> tuple[Figure, list[Axes]]:
    """A figure of panels one above the other, with quiet axes."""
    figures, matplotlib = needed("matplotlib.figure"), needed("matplotlib")
    with matplotlib.rc_context(_SETTINGS):
        figure = figures.Figure(figsize=(WIDTH, height), layout="constrained")
        found = [figure.add_subplot(count, 1, place + 1) for place in range(count)]
    for panel in found:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(length=2.5, labelsize=8)
        panel.set_axisbelow(True)
    return figure, found


def label(text: str, width: int) -> str:
    """A user's text on one line, in which a dollar is a dollar and begins no formula.

    >>> print(label("$x$", 40))
    \\$x\\$
    """
    return one_line(text, width).replace("$", r"\$")


def legend(panel: Axes, **options: Any) -> None:
    """The legend of a panel, without a frame."""
    panel.legend(frameon=False, fontsize=8, handlelength=1.8, labelcolor=INK, **options)


def as_svg(figure: Figure, *, name: str, alt: str) -> str:
    """The figure as an SVG element: deterministic, with an alternative text and its own ids.

    `name` begins the ids, so that several figures can stand on one page.
    """
    matplotlib, drawn = needed("matplotlib"), io.StringIO()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}), warnings.catch_warnings():
        # Words in scripts that the measuring font lacks: the reader's fonts will have them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = _own_ids(svg, name)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    for colour, variable in _NAMES.items():
        svg = svg.replace(colour, f"var(--dpaudit-{variable}, {colour})")
    return _labelled(svg, alt).strip()


def _own_ids(svg: str, name: str) -> str:
    """Ids that something refers to, with the name before them; no others."""
    wanted = set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", svg))
    used = {one or other for one, other in wanted}

    def replaced(found: re.Match[str]) -> str:
        return f' id="{name}-{found[1]}"' if found[1] in used else ""

    svg = re.sub(r' id="([^"]+)"', replaced, svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    return re.sub(r"href=\"#([^\"]+)\"", rf'href="#{name}-\1"', svg)


def _labelled(svg: str, alt: str) -> str:
    """The element with a role and an alternative text, never wider than its place."""
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' version="[^"]*"', "", opening)
    fitting = 'style="max-width: 100%; height: auto"'
    return f'{opening} {fitting} role="img" aria-label="{escape(alt)}">{rest}'
