"""The live line of progress: in a terminal or a notebook, and nowhere else.

An audit shows it by itself where somebody looks: where standard error is a terminal, or in a
notebook. In a log or a pipe there is nothing. Who writes to a terminal of their own meanwhile, as
pytest does, may name it: the line is then shown `below` what they write.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from dpaudit.report.progress import draws_line, inside_line, progress_line

if TYPE_CHECKING:
    from rich.console import Console

    from dpaudit.inside import InsideProgress
    from dpaudit.results import Progress

WIDTH = 80  # columns
SPINNER = 3  # columns beside the line
XDIST = "PYTEST_XDIST_WORKER"  # in the environment of one of several test processes
UPDATE_SECONDS = 0.1  # between two updates of the line
# Erases what stands after the cursor, makes sure that there is a line below, and goes there.
_DOWN = "\x1b[J" + "\x1bD\x1b[A" + "\x1b7\x1b[B\r"
_UP, _ERASED = "\x1b8", "\x1b[J"

Show: TypeAlias = Callable[[str], None]
Told: TypeAlias = Callable[["Progress"], None]
ToldInside: TypeAlias = Callable[["InsideProgress"], None]
ToldCounts: TypeAlias = Callable[[int, int], None]
_ONE_LINE = threading.Lock()  # of several audits at a time, one is shown


def followed(
    progress: Told | Literal[False] | None, symbol: str | None, *, below: TextIO | None = None
) -> AbstractContextManager[Told | None]:
    """Who is told of the progress of an audit: the user's function, a live line, or nobody.

    None looks for somebody who watches, False tells nobody. `symbol` is the claim's ("epsilon",
    "mu" or "rho").
    """
    return _told(progress, partial(progress_line, symbol=symbol), below=below)


def inside_followed(
    progress: ToldInside | Literal[False] | None, *, below: TextIO | None = None
) -> AbstractContextManager[ToldInside | None]:
    """The same for an audit inside."""
    return _told(progress, inside_line, "recording", below=below)


def counts_followed(
    progress: ToldCounts | Literal[False] | None,
) -> AbstractContextManager[ToldCounts | None]:
    """The same for a measurement, which tells the draws made and wanted."""
    start = time.perf_counter()

    def line(made: int, wanted: int, *, width: int) -> str:
        return draws_line(made, wanted, time.perf_counter() - start, width=width)

    return _told(progress, line)


@contextmanager
def _told(
    progress: Any, line: Callable[..., str], first: str = "drawing", *, below: TextIO | None = None
) -> Iterator[Any]:
    if progress is not None:
        yield _function(progress)
        return
    with _line(first, below) as (show, width):

        def tell(*told: Any) -> None:
            assert show is not None
            show(line(*told, width=width))

        yield show and tell


def _function(progress: Any) -> Any:
    """The user's function, or None where nobody shall be told."""
    if progress is False:
        return None
    if callable(progress):
        return progress
    raise TypeError(
        f"progress must be a function, False for silence, or None for a live line where somebody "
        f"watches, got {progress!r}."
    )


@contextmanager
def _line(first: str, below: TextIO | None) -> Iterator[tuple[Show | None, int]]:
    """How to show a line, and how wide it may be; None where nobody watches."""
    if not _ONE_LINE.acquire(blocking=False):
        yield None, WIDTH
        return
    try:
        display = _notebook()
        if display is not None:
            with _in_notebook(display, first) as show:
                yield show, WIDTH
        elif below is not None:
            with _below(below) as shown:
                yield shown
        elif _is_terminal(sys.stderr) and XDIST not in os.environ:
            with in_terminal(first=first) as shown:
                yield shown
        else:
            yield None, WIDTH
    finally:
        _ONE_LINE.release()


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError):  # it stands in for one, or is closed
        return False


@contextmanager
def in_terminal(
    console: Console | None = None, *, first: str = "drawing"
) -> Iterator[tuple[Show | None, int]]:
    """A line on standard error, with a spinner; nothing in a terminal that cannot move back."""
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    screen = console or Console(stderr=True)
    width = min(screen.width, WIDTH) - SPINNER
    if not screen.is_terminal or screen.is_dumb_terminal:
        yield None, width
        return
    spinner = Spinner("line", Text(first), style="status.spinner")
    with Live(
        spinner,
        console=screen,
        refresh_per_second=12.5,
        transient=True,
        redirect_stdout=_is_terminal(
            sys.stdout
        ),  # else what is printed would end on standard error
    ):
        yield lambda line: spinner.update(text=Text(line, no_wrap=True)), width


@contextmanager
def _below(terminal: TextIO) -> Iterator[tuple[Show, int]]:
    """A line below the cursor, which stays where somebody else has put it; nothing in the end.

    Only what moves and restores the cursor is written, so it does not matter where that is.
    """
    columns, due = 0, 0.0
    with suppress(OSError):
        columns = os.get_terminal_size(terminal.fileno()).columns

    def write(text: str) -> None:
        with suppress(OSError):  # a terminal that was closed is no reason for an audit to end
            terminal.write(text)
            terminal.flush()

    def show(line: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + UPDATE_SECONDS
            write(f"{_DOWN}{line}{_UP}")

    try:
        yield show, min(columns - 1, WIDTH) if columns else WIDTH
    finally:
        if due:
            write(_ERASED)


def _notebook() -> Callable[..., Any] | None:
    """What displays an output in this notebook; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:  # a shell in a terminal has none
        return None
    found: Callable[..., Any] = importlib.import_module("IPython.display").display
    return found


@contextmanager
def _in_notebook(display: Callable[..., Any], first: str) -> Iterator[Show]:
    """A line below the cell, updated in its place and empty in the end."""
    cell, due = display({"text/plain": first}, raw=True, display_id=True), 0.0

    def show(line: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + UPDATE_SECONDS
            cell.update({"text/plain": line}, raw=True)

    try:
        yield show
    finally:
        cell.update({"text/plain": ""}, raw=True)
