"""How all figures look, and how one becomes SVG that a page can hold.

The colours can be told apart by everyone and in grey (after Okabe and Ito 2008); nothing is said by
colour alone. On a page they are variables of its style sheet, so that figures follow light and dark
themes. Nothing here touches pyplot.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpaudit.report.showing import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK, MUTED, RULE, PAPER = "#1d2733", "#5a6570", "#d5dae0", "#fffffe"
DATA_COLOURS = DATA, DATA_PALE = "#0b62a8", "#b5d3ec"
NEIGHBOUR_COLOURS = NEIGHBOUR, NEIGHBOUR_PALE = "#b84e0a", "#f5cfae"
ALLOWED, BROKEN = "#e6eaee", "#8e2a5b"

WIDTH_INCHES = 4.8  # two figures side by side on a screen, one on a phone
_VARIABLES = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureKind:
    """A figure that every audit can have: how it is drawn, said in words and captioned."""

    name: str
    title: str
    caption: Callable[[Any], str]  # it speaks of nothing that is not drawn
    draw: Callable[[Any], Figure]
    alt: Callable[[Any], str]


def needed(name: str) -> Any:
    """Import a module of the extra `report`; ImportError says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"pages and figures need {package}, which is not installed: "
            "pip install 'dpaudit[report]'."
        ) from error


def panels(count: int = 1, *, height: float = 3.1) -> tuple[Figure, list[Axes]]:
    """A figure of panels one above the other, with plain axes."""
    matplotlib = needed("matplotlib")
    from dpaudit.report.figures.shown import ShownFigure

    with matplotlib.rc_context(_SETTINGS):
        figure = ShownFigure(figsize=(WIDTH_INCHES, height), layout="constrained")
        found = [figure.add_subplot(count, 1, place + 1) for place in range(count)]
    for panel in found:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(length=2.5, labelsize=8)
        panel.set_axisbelow(True)
    return figure, found


def label(text: str, width: int) -> str:
    """A user's text on one line, in which a dollar begins no formula.

    >>> print(label("$x$", 40))
    \\$x\\$
    """
    return one_line(text, width).replace("$", r"\$")


def legend(panel: Axes, **options: Any) -> None:
    """The legend of a panel, without a frame."""
    panel.legend(frameon=False, fontsize=8, handlelength=1.8, labelcolor=INK, **options)


def finish(panel: Axes, across: str, up: str, *, loc: str) -> None:
    """Name the axes of a panel, and put in its grid and legend."""
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.grid(color=RULE, linewidth=0.6)
    legend(panel, loc=loc)


def as_svg(figure: Figure, *, name: str, alt: str) -> str:
    """The figure as an SVG element: deterministic, with an alternative text and its own ids.

    `name` begins the ids, so that several figures can stand on one page.
    """
    matplotlib, drawn = needed("matplotlib"), io.StringIO()
    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": name}), warnings.catch_warnings():
        # The measuring font lacks some scripts; the reader's fonts have them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = _own_ids(svg, name)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--dpaudit-{variable}, {colour})")
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' version="[^"]*"', "", opening)
    fitting = 'style="max-width: 100%; height: auto"'
    return f'{opening} {fitting} role="img" aria-label="{escape(alt)}">{rest}'.strip()


def _own_ids(svg: str, name: str) -> str:
    """Keep only ids that something refers to, and put the name before them."""
    wanted = re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", svg)
    used = {one or other for one, other in wanted}
    for own in set(re.findall(r' id="([^"]+)"', svg)):
        svg = svg.replace(f' id="{own}"', f' id="{name}-{own}"' if own in used else "")
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    return re.sub(r"href=\"#([^\"]+)\"", rf'href="#{name}-\1"', svg)
