"""What a running audit and its result look like in a terminal, and elsewhere."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from dpaudit.cli.failures import Refusal

if TYPE_CHECKING:
    from rich.console import Console

    from dpaudit.results import Audit, Progress, Replayed, Verdict

WIDTH = 80
PLAIN_LINE_SECONDS = 10.0  # off a terminal, for the logs of long audits

# Not green for "not refuted": it is not an all-clear.
STYLES = {"refuted": "bold red", "not refuted": "bold cyan", "undecided": "bold yellow"}


@contextmanager
def following(symbol: str | None) -> Iterator[Callable[[Progress], None]]:
    """Show the progress on stderr: a live line in a terminal, now and then a line elsewhere."""
    from rich.console import Console
    from rich.text import Text

    from dpaudit.report import progress_line

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _plain_lines(symbol)
        return
    width = min(console.width, WIDTH) - 3  # beside the spinner
    with console.status(Text("drawing"), spinner="line") as status:
        yield lambda progress: status.update(
            Text(progress_line(progress, symbol=symbol, width=width), no_wrap=True)
        )


def _plain_lines(symbol: str | None) -> Callable[[Progress], None]:
    from dpaudit.report import progress_line

    due = PLAIN_LINE_SECONDS

    def show(progress: Progress) -> None:
        nonlocal due
        if progress.seconds >= due:
            due = progress.seconds + PLAIN_LINE_SECONDS
            click.echo(progress_line(progress, symbol=symbol), err=True)

    return show


def console(stdout: TextIO | None = None) -> Console:
    """Rich's console, but one that leaves it to us what happens when nobody reads.

    Rich itself would end the process with 1, which is the code of a refutation.
    """
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    return Ours(file=stdout, highlight=False)


def show_audit(audit: Audit, stdout: TextIO | None = None, *, short: bool = False) -> None:
    """Print the audit (its headline only, if `short`), the verdict in colour where there is any."""
    from dpaudit.report import headline, render

    _print(headline(audit) if short else render(audit), audit.verdict, stdout)


def show_replayed(found: Replayed, stdout: TextIO, *, short: bool = False) -> None:
    """Print the replay (its headline only, if `short`) as an audit is printed."""
    from dpaudit.report import replayed, replayed_headline

    _print(replayed_headline(found) if short else replayed(found), found.verdict, stdout)


def print_answer(text: str, stdout: TextIO) -> None:
    """Print text as it is."""
    with _a_reader():
        click.echo(text, nl=False, file=stdout)


def _print(words: str, verdict: Verdict, stdout: TextIO | None) -> None:
    """Print a page, what stands before its first colon in the colour of the verdict."""
    from rich.text import Text

    text = Text(words)
    text.stylize(STYLES[verdict.value], 0, words.index(":"))
    with _a_reader():
        console(stdout).print(text, soft_wrap=True)


@contextmanager
def _a_reader() -> Iterator[None]:
    """Say so where an answer cannot be printed: a full disk, a pipe that nobody reads."""
    try:
        yield
    except OSError as error:
        raise Refusal(f"the answer could not be printed: {error.strerror or error}.") from error
