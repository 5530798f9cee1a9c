"""Code of the user's inside a command: it chooses no exit code, and prints nothing into the answer.

While it runs, standard output is standard error, down to the file descriptor, so that subprocesses
and libraries written in C are covered too. The answer goes to a stream that only we have.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from dpaudit.cli.failures import Refusal

if TYPE_CHECKING:
    from dpaudit.mechanism import CtrlC

STDOUT, STDERR = 1, 2
MOST_SHOWN = 200  # letters of an error in a line
_OURS = (Refusal, click.UsageError)  # as they are, and nothing made of them
_OF_CLICK = (click.ClickException, click.exceptions.Exit, click.Abort)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """What a command has while code of the user's runs: where to answer, and whether to stop."""

    stdout: TextIO
    ctrl_c: CtrlC


@contextmanager
def user_code(culprit: str) -> Iterator[Answering]:
    """Run code of the user's: whatever it raises, only a verdict has the exit code of one."""
    from dpaudit.mechanism import watched_ctrl_c

    with watched_ctrl_c() as ctrl_c, _stdout_kept() as stdout:
        try:
            yield Answering(stdout=stdout, ctrl_c=ctrl_c)
        except Exception as error:
            if type(error) in _OURS or not isinstance(error, _OF_CLICK):
                raise
            raise Refusal(_left(culprit, error)) from error
        except BaseException as error:
            if ctrl_c.pressed:
                raise KeyboardInterrupt from error
            raise Refusal(_left(culprit, error)) from error


def _left(culprit: str, error: BaseException) -> str:
    try:
        shown = repr(error)
    except BaseException:
        shown = type(error).__name__
    shown = " ".join(shown.split())[:MOST_SHOWN]
    return (
        f"{culprit} raised {shown}, which is neither an output nor an ordinary error. It stopped "
        "before a verdict: return outputs, or raise an ordinary error."
    )


@contextmanager
def _stdout_kept() -> Iterator[TextIO]:
    """Give standard output to us alone; all that others print goes to standard error."""
    before = sys.stdout
    _flush(before)
    kept = _duplicate(STDOUT)
    answers = _answers(before, kept)
    _point_at_stderr()
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
    if before is None or kept is None:  # closed by the shell: >&-
        return Path(os.devnull).open("w", encoding="utf-8")
    try:
        real = before.fileno() == STDOUT
    except (OSError, ValueError, AttributeError):
        real = False
    if not real:
        return before
    return os.fdopen(os.dup(kept), "w", encoding=before.encoding, errors=before.errors)


def end_of_answers() -> None:
    """Let whatever is printed from now on, by threads or at exit, go to standard error."""
    _flush(sys.stdout)
    _point_at_stderr()


def nobody_reads() -> None:
    """Let what is still to be printed go nowhere, as Python would complain at exit."""
    with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), STDOUT)


def _point_at_stderr() -> None:
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # closed by the shell: 2>&-
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), STDOUT)


def _duplicate(descriptor: int) -> int | None:
    try:
        return os.dup(descriptor)
    except OSError:
        return None


def _flush(stream: TextIO | None) -> None:
    with suppress(OSError, ValueError, AttributeError):  # closed, or not there
        if stream is not None:
            stream.flush()


def _flush_c() -> None:
    """Write what C code has printed and not yet written."""
    import ctypes

    with suppress(OSError, TypeError, AttributeError):  # where there is no such library
        ctypes.CDLL(None).fflush(None)
