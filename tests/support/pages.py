"""The code of a page of the documentation, and what it prints.

    python tests/support/pages.py                 # every page
    python tests/support/pages.py docs/tutorial.md

A `text` block right under a `python` block is what that block prints. The blocks of a page run in
order and share their names. Pages leave out when, where and on which code an audit ran. A block
under `<!-- needs: opendp -->` runs where that library is installed. Run as a script this writes
what they print into the pages; the tests compare the two.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(
    r"(?:^<!-- needs: (?P<needs>\w+) -->\n)?"
    r"^```python\n(?P<code>.*?)^```\n(?:\n?```text\n(?P<printed>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
_SECONDS = re.compile(r"(?<=draws, )\d[\d. a-z]*$", re.MULTILINE)  # no two runs take equally long
_PROVENANCE = re.compile(  # when, on which code and machine: pages leave it out
    r"\n\n  audited     .*(?:\n  (?:code  |machine  |auditor  |purpose  | {12}).*)*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of code, the line it begins at, and what the page says it prints, if it says so.

    `needs` is the library without which it does not run.
    """

    code: str
    needs: str | None
    line: int
    printed: str | None
    span: tuple[int, int]


def pages() -> list[Path]:
    """The pages with code in them; none in a source distribution."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if page.exists() and blocks(page.read_text(encoding="utf-8"))]


def blocks(text: str) -> list[Block]:
    """The pieces of code on a page, in order."""
    return [
        Block(
            code=found["code"],
            needs=found["needs"],
            line=text.count("\n", 0, found.start("code")),
            printed=found["printed"],
            span=found.span("printed"),
        )
        for found in _BLOCK.finditer(text)
    ]


def run(text: str, name: str) -> Iterator[tuple[Block, str]]:
    """Run the code of a page as far as its libraries are here: each piece, and what it printed."""
    names: dict[str, object] = {"__name__": "documentation"}
    for block in blocks(text):
        if block.needs is not None and find_spec(block.needs) is None:
            continue
        placed = "\n" * block.line + block.code  # so that a traceback names the line of the page
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            exec(compile(placed, name, "exec"), names)
        yield block, without_provenance(written.getvalue())


def without_provenance(printed: str) -> str:
    """What was printed, less when it was, and on which code and machine."""
    return _PROVENANCE.sub("", printed)


def without_seconds(printed: str) -> str:
    """What was printed, less the time it took.

    >>> without_seconds("cost        81,628 draws, 1.1 s")
    'cost        81,628 draws, ...'
    """
    return _SECONDS.sub("...", printed)


def filled(text: str, name: str) -> str:
    """The page with what its code prints now; where only the time differs it stays as it was."""
    for block, printed in reversed(list(run(text, name))):
        if block.printed is not None and without_seconds(printed) != without_seconds(block.printed):
            start, end = block.span
            text = text[:start] + printed + text[end:]
    return text


def main() -> None:
    """Write what the code prints into the pages named, or into all of them."""
    named = [Path(name).resolve() for name in sys.argv[1:]] or pages()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what a page saves
        for page in named:
            text = page.read_text(encoding="utf-8")
            page.write_text(filled(text, str(page)), encoding="utf-8")


if __name__ == "__main__":
    main()
