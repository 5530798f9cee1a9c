"""What one run of the audited code leaves behind: its noise, its releases, where it was refused.

A run is a recording, on the first dataset, or a replay, in which every explicit release is forced
to the recorded output. While it lasts, `current()` is its recorder: refusals are noted there, so
that code which catches every exception cannot hide one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from dpaudit.errors import CannotFollow
from dpaudit.inside.kernels import Kernel, rounding_of

_HERE = os.path.dirname(__file__)
_NUMPY = os.path.dirname(np.__file__)
_LAUNCHER = os.path.join("dpaudit", "mechanism")  # its frames call the user's code


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """One explicit release: its kernel, its input, its output, and the line that made it."""

    where: str
    kernel: Kernel
    input: Any
    output: Any


class Atom(NamedTuple):  # of which a release may have many thousands
    """One number of noise: "laplace" or "normal" of a scale, or "geometric" of a probability.

    `call` numbers the call of the generator that made it. `drawn` counts in a recording only.
    """

    call: int
    kind: str
    scale: float
    where: str
    drawn: float


class OtherReleases(Exception):
    """A replay releases something else than was recorded. It ends the replay."""


@dataclass(slots=True, kw_only=True)
class Recorder:
    """The noise and the releases of one run. With `forced`, releases give recorded outputs."""

    noise: np.random.Generator
    forced: tuple[Released, ...] | None = None
    atoms: list[Atom] = field(default_factory=list)
    calls: int = 0
    releases: list[Released] = field(default_factory=list)
    refused: str | None = None
    differs: str | None = None

    def refuse(self, what: str) -> NoReturn:
        """Note what cannot be followed, and where; the first one counts."""
        said = f"{where()}: {what}"
        self.refused = self.refused or said
        raise CannotFollow(said)

    def release(self, value: Any, kernel: Kernel) -> Any:
        """Draw and record an output, or force the recorded one."""
        line, place = where(), len(self.releases)
        if self.forced is None:
            output = kernel.draw(value, self.noise)
        else:
            output = self._forced_output(kernel, line, place)
        kept = _frozen_copy(value), _frozen_copy(output)
        self.releases.append(Released(where=line, kernel=kernel, input=kept[0], output=kept[1]))
        return _frozen_copy(output)

    def _forced_output(self, kernel: Kernel, line: str, place: int) -> Any:
        assert self.forced is not None
        if place >= len(self.forced):
            self.differs = f"{line}: one release more than on the other dataset"
        elif type(self.forced[place].kernel) is not type(kernel):
            kinds = type(self.forced[place].kernel).__name__, type(kernel).__name__
            self.differs = f"{line}: {kinds[0]} on the one dataset, {kinds[1]} on the other"
        if self.differs is not None:
            raise OtherReleases(self.differs)
        return self.forced[place].output


_CURRENT: ContextVar[Recorder | None] = ContextVar("dpaudit_inside", default=None)


def current() -> Recorder | None:
    """The recorder of the run that is going on, if an audit is."""
    return _CURRENT.get()


@contextmanager
def recording(recorder: Recorder | None) -> Iterator[None]:
    """Make this recorder the current one for the time of a run."""
    token = _CURRENT.set(recorder)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def refuse(what: str) -> NoReturn:
    """Refuse to follow: noted in the run that is going on, and raised."""
    recorder = current()
    if recorder is None:
        raise CannotFollow(f"{where()}: {what}")
    recorder.refuse(what)


def where() -> str:
    """The file and the line of the audited code that is running.

    >>> where().startswith("<doctest")
    True
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_audited(frame.f_code.co_filename):
            return _line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return "unknown place"


def where_raised(traceback: TracebackType | None) -> str:
    """The innermost line of the audited code in a traceback."""
    found = "unknown place"
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if _is_audited(file):
            found = _line(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def error_of(kernel: Kernel, released: Released, input: Any) -> float:
    """How far the log density of a release may be off by the rounding of its input."""
    try:
        error = rounding_of(input)
    except (TypeError, ValueError):  # no number: nothing to round
        return 0.0
    return kernel.slack(released.output, input, error)


def _is_audited(file: str) -> bool:
    ours = file.startswith((_HERE, _NUMPY)) or _LAUNCHER in file or file.endswith("contextlib.py")
    return not ours and not file.startswith("<frozen")


def _line(file: str, line: int) -> str:
    return f"{os.path.relpath(file) if os.path.isabs(file) else file}:{line}"


def _frozen_copy(value: Any) -> Any:
    """A copy that later changes of an array or a list do not reach."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return list(value) if isinstance(value, list) else value
