"""Code that is audited cannot end the audit: what would end the process is an error like others.

`sys.exit(0)` in a mechanism would end a script, or a command, as if nothing were wrong with the
claim. Only Ctrl-C may end an audit early, and Python raises the same `KeyboardInterrupt` for it
that any code can raise. What tells them apart is the signal.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from dpaudit.errors import UnexpectedExit

__all__ = ["CtrlC", "UnexpectedExit", "exits_as_errors", "watched_ctrl_c"]


@dataclass(slots=True)
class CtrlC:
    """Whether the signal of Ctrl-C came."""

    pressed: bool = False


@contextmanager
def watched_ctrl_c() -> Iterator[CtrlC]:
    """Notice Ctrl-C; whoever handled it before still does.

    Python hands signals to its main thread alone, so there is nothing to notice in another.

    >>> import signal
    >>> with watched_ctrl_c() as ctrl_c:
    ...     try:
    ...         signal.raise_signal(signal.SIGINT)
    ...     except KeyboardInterrupt:
    ...         print(ctrl_c.pressed)
    True
    """
    seen = CtrlC()
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def noticed(number: int, frame: FrameType | None) -> None:
        seen.pressed = True
        before(number, frame)

    signal.signal(signal.SIGINT, noticed)
    try:
        yield seen
    finally:
        if signal.getsignal(signal.SIGINT) is noticed:
            signal.signal(signal.SIGINT, before)


@contextmanager
def exits_as_errors(culprit: str) -> Iterator[None]:
    """Turn what would end the process into an `UnexpectedExit`, unless Ctrl-C was pressed.

    >>> with exits_as_errors("noisy_sum"):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
    dpaudit.errors.UnexpectedExit: noisy_sum raised SystemExit(0), which ends a process. ...
    """
    with watched_ctrl_c() as ctrl_c:
        try:
            yield
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            if ctrl_c.pressed:
                raise
            raise UnexpectedExit(
                f"{culprit} raised {error!r}, which ends a process. An audit ends with a verdict "
                "only: return outputs, or raise an ordinary error."
            ) from error
