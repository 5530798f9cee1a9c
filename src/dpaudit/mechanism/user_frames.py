"""Tracebacks of errors that the user's code raised: the user's frames, without ours before them.

Between the line that asks for an audit and the line that raised lie twenty frames of ours, which
say nothing about the error. `DPAUDIT_TRACEBACK=full` in the environment shows them.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

VARIABLE, FULL = "DPAUDIT_TRACEBACK", "full"
_ELSEWHERE = "raised in another process:"
_PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
_CALLING = str(Path(__file__).resolve().parent) + os.sep  # where the user's code is called


class UserFramesFirst:
    """Drops our frames from the traceback of an error that the user's code raises inside.

    >>> from dpaudit.mechanism import as_mechanism
    >>> import traceback
    >>> def broken(data, size):
    ...     raise KeyError("age")
    >>> try:
    ...     with UserFramesFirst():
    ...         as_mechanism(broken).draw([1.0], 1, None)
    ... except KeyError as error:
    ...     print([frame.name for frame in traceback.extract_tb(error.__traceback__)][-1:])
    ['broken']
    """

    def __enter__(self) -> None:
        """Nothing is done yet."""

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not wants_all_frames():
            elsewhere = was_raised_elsewhere(error)
            error.__traceback__ = None if elsewhere else users_part(error.__traceback__)


def note_frames(error: Exception) -> None:
    """Note on an error where the user's code raised it: a traceback does not travel."""
    shown = traceback.format_tb(users_part(error.__traceback__))
    if shown and not was_raised_elsewhere(error):
        error.add_note(f"{_ELSEWHERE}\n{''.join(shown)}".rstrip())


def was_raised_elsewhere(error: BaseException) -> bool:
    """Whether an error has come from another process, with its frames as a note."""
    return any(note.startswith(_ELSEWHERE) for note in getattr(error, "__notes__", ()))


def wants_all_frames() -> bool:
    """Whether the environment asks for whole tracebacks."""
    return os.environ.get(VARIABLE) == FULL


def users_part(trace: TracebackType | None) -> TracebackType | None:
    """What the user's code did, once it was called; all of it where the error is not the user's."""
    entries = list(_entries(trace))
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    called = [
        place + 1
        for place, file in enumerate(files[:-1])
        if file.startswith(_CALLING) and not files[place + 1].startswith(_PACKAGE)
    ]
    if not called or files[-1].startswith(_PACKAGE):
        return trace
    theirs = [
        entry
        for entry, file in zip(entries[called[0] :], files[called[0] :], strict=True)
        if not file.startswith(_PACKAGE)
    ]
    made: TracebackType | None = None
    for entry in reversed(theirs):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
