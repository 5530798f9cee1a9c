"""How a figure of an experiment is made: from the lines of a CSV to an SVG beside it."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Line = dict[str, str]


def read(path: Path) -> list[Line]:
    """Read the lines of a CSV."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(target: Path, figure: Callable[[], Any]) -> Path:
    """Draw what `figure` makes into an SVG; the same figures give the same file."""
    matplotlib = load("matplotlib")
    settings = {
        "font.size": 9,
        "svg.fonttype": "none",  # words stay words
        "svg.hashsalt": target.stem,
    }
    with matplotlib.rc_context(settings):
        figure().savefig(target, metadata={"Date": None})
    return target


def plain(panel: Any, title: str) -> None:
    """Give a panel its title and quiet axes."""
    panel.set_title(title, fontsize=9)
    panel.tick_params(length=0, which="both", labelsize=8)
    panel.spines[:].set_visible(False)
    panel.grid(color="#e4e4e4", linewidth=0.6)
    panel.set_axisbelow(True)


def load(name: str) -> Any:
    """Give a module of matplotlib, or an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            'the figure needs matplotlib, which is not installed: pip install "dpaudit[report]"'
        ) from error
