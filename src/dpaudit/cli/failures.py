"""How a command ends when something goes wrong, whatever the user's code does.

Exit codes are verdicts, and standard output is the answer. So the user's code may neither choose
the exit code nor print into the answer: while it runs, standard output is standard error, down to
the file descriptor, which covers subprocesses and C libraries too. The answer goes to a stream that
only we have.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from dpaudit.mechanism import CtrlC

ERROR = 2
INTERRUPTED = 130  # as a shell counts it: 128 + SIGINT
STDOUT, STDERR = 1, 2
MAX_ERROR_CHARACTERS = 200  # of an error that is quoted in a line

_OWN_FOLDER = str(Path(__file__).resolve().parent.parent)
_CLICK_FOLDER = str(Path(click.__file__).resolve().parent)


class Refusal(click.ClickException):
    """The command makes no sense as given; its message is one line, without a traceback."""

    exit_code = ERROR


@contextmanager
def refusing(
    kinds: type[Exception] | tuple[type[Exception], ...], before: str = "", *, end: str = ""
) -> Iterator[None]:
    """Turn errors of these kinds into refusals: their words, and notes of what was running."""
    try:
        yield
    except kinds as error:
        words = "\n".join([str(error), *getattr(error, "__notes__", [])])
        raise Refusal(f"{before}{words}{end}") from error


def show_failure(error: Exception) -> None:
    """Print to stderr a traceback of the user's code, with the notes of what was running."""
    from dpaudit.mechanism import wants_all_frames, was_raised_elsewhere

    report = traceback.TracebackException.from_exception(error)
    if not wants_all_frames():
        _keep_user_frames(report)
        if was_raised_elsewhere(error):
            report.stack = traceback.StackSummary.from_list([])  # a note has the user's frames
    for part in report.format():
        click.echo(part, err=True, nl=False)
    click.echo("Error: it stopped before a verdict.", err=True)


def _keep_user_frames(report: traceback.TracebackException | None) -> None:
    """Drop our frames and click's, unless there are no others: then the mistake is ours."""
    if report is None:
        return
    theirs = [
        frame
        for frame in report.stack
        if not str(Path(frame.filename).resolve()).startswith((_OWN_FOLDER, _CLICK_FOLDER))
    ]
    if theirs:
        report.stack = traceback.StackSummary.from_list(theirs)
    _keep_user_frames(report.__cause__)
    _keep_user_frames(report.__context__)


@contextmanager
def user_code(name: str) -> Iterator[tuple[TextIO, CtrlC]]:
    """Run the user's code: whatever it raises, only a verdict has the exit code of one.

    It yields the stream for the answer, and what knows whether Ctrl-C was pressed.
    """
    from dpaudit.mechanism import watched_ctrl_c

    with watched_ctrl_c() as ctrl_c, _stdout_kept() as stdout:
        try:
            yield stdout, ctrl_c
        except BaseException as error:
            if ctrl_c.pressed and not isinstance(error, Exception):
                raise KeyboardInterrupt from error
            of_click = isinstance(error, click.ClickException | click.exceptions.Exit | click.Abort)
            ours = type(error) in (Refusal, click.UsageError)
            if ours or (isinstance(error, Exception) and not of_click):
                raise
            raise Refusal(_raised(name, error)) from error


def _raised(name: str, error: BaseException) -> str:
    try:
        shown = repr(error)
    except BaseException:
        shown = type(error).__name__
    shown = " ".join(shown.split())[:MAX_ERROR_CHARACTERS]
    return (
        f"{name} raised {shown}, which is neither an output nor an ordinary error. It stopped "
        "before a verdict: return outputs, or raise an ordinary error."
    )


@contextmanager
def _stdout_kept() -> Iterator[TextIO]:
    """Keep standard output for us alone; all that others print goes to standard error."""
    before = sys.stdout
    _flush(before)
    try:
        kept = os.dup(STDOUT)
    except OSError:  # closed by the shell: >&-
        kept = None
    answers = _answers(before, kept)
    _send_stdout_to_stderr()
    sys.stdout = sys.stderr
    try:
        yield answers
    finally:
        for stream in (sys.stdout, before, answers):
            _flush(stream)
        _flush_c()
        sys.stdout = before
        if answers is not before:
            with suppress(OSError):  # a reader that went away was noticed when we wrote
                answers.close()
        if kept is not None:
            os.dup2(kept, STDOUT)
            os.close(kept)


def _answers(before: TextIO | None, kept: int | None) -> TextIO:
    """Standard output under a descriptor of our own; in a test, whatever stands in for it."""
    if before is None or kept is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    with suppress(OSError, ValueError, AttributeError):
        if before.fileno() == STDOUT:
            return os.fdopen(os.dup(kept), "w", encoding=before.encoding, errors=before.errors)
    return before


def end_answers() -> None:
    """Send what is printed from now on, by threads or at exit, to standard error."""
    _flush(sys.stdout)
    _send_stdout_to_stderr()


def discard_stdout() -> None:
    """Send what is still to be printed nowhere, as Python would complain at exit."""
    with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), STDOUT)


def _send_stdout_to_stderr() -> None:
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # closed by the shell: 2>&-
        discard_stdout()


def _flush(stream: TextIO | None) -> None:
    with suppress(OSError, ValueError, AttributeError):  # closed, or not there
        if stream is not None:
            stream.flush()


def _flush_c() -> None:
    """Write what C code has printed and not yet written."""
    import ctypes

    with suppress(OSError, TypeError, AttributeError):  # where there is no such library
        ctypes.CDLL(None).fflush(None)
