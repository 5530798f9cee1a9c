"""Where answers go: the progress and the result in a terminal or elsewhere, and `--output`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from dpaudit.cli.failures import STDERR, STDOUT, Refusal

if TYPE_CHECKING:
    from rich.console import Console

    from dpaudit.inside import InsideAudit, InsideProgress
    from dpaudit.results import Audit, Progress, Replayed

WIDTH = 80  # columns
PLAIN_LINE_SECONDS = 10.0  # between lines of progress off a terminal, for the logs of long audits

# Not green for "not refuted": it is not an all-clear.
STYLES = {
    **{"refuted": "bold red", "broken inside": "bold red", "not refuted": "bold cyan"},
    **dict.fromkeys(("undecided", "suspected", "cannot follow"), "bold yellow"),
}


def followed(symbol: str | None) -> AbstractContextManager[Callable[[Progress], None]]:
    """Show the progress on stderr: a live line in a terminal, a line now and then elsewhere."""
    from dpaudit.report import progress_line

    return _told(partial(progress_line, symbol=symbol), "drawing")


def inside_followed() -> AbstractContextManager[Callable[[InsideProgress], None]]:
    """The same for an audit inside."""
    from dpaudit.report import inside_line

    return _told(inside_line, "recording")


@contextmanager
def _told(line: Callable[..., str], first: str) -> Iterator[Callable[[Any], None]]:
    from rich.console import Console

    from dpaudit.report import in_terminal

    due = PLAIN_LINE_SECONDS

    def print_line(progress: Progress | InsideProgress) -> None:
        nonlocal due
        if progress.seconds >= due:
            due = progress.seconds + PLAIN_LINE_SECONDS
            click.echo(line(progress), err=True)

    with in_terminal(Console(stderr=True), first=first) as (show, width):
        if show is None:
            yield print_line
        else:
            yield lambda progress: show(line(progress, width=width))


def console(stdout: TextIO | None = None) -> Console:
    """Rich's console, but one that raises an error when nobody reads.

    Rich itself would end the process with 1, which is the code of a refutation.
    """
    from rich.console import Console

    class Raising(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    return Raising(file=stdout, highlight=False)


def show(
    found: Audit | InsideAudit | Replayed,
    stdout: TextIO | None = None,
    *,
    as_json: bool = False,
    short: bool = False,
) -> None:
    """Print a result: as JSON, in words or only its headline.

    The words before the first colon have the colour of the verdict, where there is any.
    """
    from rich.text import Text

    from dpaudit.results import lines_of_json

    if as_json:
        print_answer(lines_of_json(found.to_json()), stdout)
        return
    text = Text(_headline(found) if short else str(found))
    text.stylize(STYLES[found.verdict.value], 0, text.plain.index(":"))
    with _printing():
        console(stdout).print(text, soft_wrap=True)


def _headline(found: Audit | InsideAudit | Replayed) -> str:
    """A result in one line."""
    from dpaudit.report import headline, inside_headline, replayed_headline
    from dpaudit.results import Audit, Replayed

    if isinstance(found, Replayed):
        return replayed_headline(found)
    return headline(found) if isinstance(found, Audit) else inside_headline(found)


def print_answer(text: str, stdout: TextIO | None) -> None:
    """Print text as it is."""
    with _printing():
        click.echo(text, nl=False, file=stdout)


@contextmanager
def _printing() -> Iterator[None]:
    """Refuse where an answer cannot be printed: a full disk, a pipe that nobody reads."""
    try:
        yield
    except OSError as error:
        raise Refusal(f"the answer could not be printed: {error.strerror or error}.") from error


def refuse_output(path: Path, *, option: str = "--output") -> None:
    """Refuse to write into no folder, or in the place of a device, a pipe, or what we print to."""
    from dpaudit.report import refuse_special_file

    try:
        refuse_special_file(path)
    except FileExistsError as error:
        raise Refusal(f"{option}: {error}") from error
    except (OSError, ValueError) as error:  # what cannot be the name of a file
        raise Refusal(f"{option}: {str(path)!r} cannot be written: {error}.") from error
    if any(_is_open_as(path, descriptor) for descriptor in (STDOUT, STDERR)):
        raise Refusal(f"{option}: {path} is what this command prints to. Name another file.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise Refusal(f"{option}: there is no folder {str(folder)!r}.")


def _is_open_as(path: Path, descriptor: int) -> bool:
    """Whether a file is one of our standard streams, such as /dev/stdout."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
