"""How a command ends when something is wrong: one clear line, or the user's part of a traceback."""

import traceback
from pathlib import Path

import click

ERROR = 2
INTERRUPTED = 130  # as a shell counts it: 128 + SIGINT

# Frames of the machinery say nothing about a mistake in a mechanism.
_OURS = str(Path(__file__).resolve().parent.parent)
_CLICK = str(Path(click.__file__).resolve().parent)


class Refusal(click.ClickException):
    """Something about the command cannot be meant; its message is one line, without a traceback."""

    exit_code = ERROR


def show_failure(error: Exception) -> None:
    """Print to stderr a traceback of the user's code, with the notes of what was running."""
    report = traceback.TracebackException.from_exception(error)
    _keep_user_frames(report)
    for part in report.format():
        click.echo(part, err=True, nl=False)
    click.echo("Error: it stopped before a verdict.", err=True)


def _keep_user_frames(report: traceback.TracebackException | None) -> None:
    """Drop our frames and click's, unless no other is left: then the mistake is ours."""
    if report is None:
        return
    theirs = [
        frame
        for frame in report.stack
        if not str(Path(frame.filename).resolve()).startswith((_OURS, _CLICK))
    ]
    if theirs:
        report.stack = traceback.StackSummary.from_list(theirs)
    _keep_user_frames(report.__cause__)
    _keep_user_frames(report.__context__)


def with_notes(error: BaseException) -> str:
    """The message of an error, and the notes of what was running."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])
