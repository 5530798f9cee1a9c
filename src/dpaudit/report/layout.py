"""How text is laid out: lines of at most 72 columns, labels and their texts, blocks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dpaudit.neighbours import Pair
from dpaudit.report.showing import dataset
from dpaudit.report.wording import GLUE

WIDTH = 72  # beside the margin of a failed test this still fits into 80 columns
FIRST_WIDTH = 46  # of a failed test's first line, which pytest begins with the name of the error
INDENT = "  "
LABEL_WIDTH = 12


def pair_lines(pair: Pair) -> list[str]:
    """Both datasets, each on a line."""
    room = WIDTH - len(f"{INDENT}A = ")
    sides = (("A", pair.data), ("B", pair.neighbour))
    return [line for name, side in sides for line in sentences(f"{name} = {dataset(side, room)}")]


def joined(*blocks: Sequence[str]) -> str:
    """Blocks of lines, with an empty line between two."""
    return "\n\n".join("\n".join(block) for block in blocks if block)


def sentences(*texts: str, most: int = 5) -> list[str]:
    """Each text on lines of its own."""
    return [line for text in texts for line in wrapped(text, first=INDENT, rest=INDENT, most=most)]


def row(label: str, text: str, *, most: int = 4) -> list[str]:
    """A label and, beside it, its text."""
    margin = INDENT + " " * LABEL_WIDTH
    return wrapped(text, first=f"{INDENT}{label:<{LABEL_WIDTH}}", rest=margin, most=most)


def wrapped(
    text: str, *, first: str = "", rest: str, most: int = 4, width: int = WIDTH
) -> list[str]:
    """The lines of a text, of which there are at most so many."""
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        max_lines=most,
        placeholder=" ...",
        break_on_hyphens=False,
    )
    return [line.replace(GLUE, " ") for line in lines]
