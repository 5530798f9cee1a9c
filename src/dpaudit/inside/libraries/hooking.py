"""Functions of a library, replaced for the time of a run or an audit, and put back after it.

While a run is followed, a replaced function releases through the recorder of that run; for all
others, it is the library's own. Noise that is drawn in a thread which the run has started is
noticed, and refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, NamedTuple

from dpaudit.inside.kernels import Kernel
from dpaudit.inside.lines import where
from dpaudit.inside.recording import OtherReleases, Recorder, current


class Replaced(NamedTuple):
    """An attribute of a class or a module, and what stands there during a run."""

    owner: Any
    name: str
    function: Any


Hook = Callable[[Any], Iterable[Replaced]]  # what to replace in a module of a library

_LOCK = threading.RLock()
_FOLLOWED: list[Recorder] = []  # of all runs that are going on, in any thread
_HOLDERS: list[object] = []  # runs and audits: while there is one, what was replaced stays so
_PLACED: set[str] = set()
_UNDO = ExitStack()


@contextmanager
def hooked(recorder: Recorder, modules: dict[str, tuple[Any, Hook]]) -> Iterator[None]:
    """Replace what these hooks say for the time of a run, once for all runs at that time."""
    with held():
        with _LOCK:
            _FOLLOWED.append(recorder)
            for name, (module, hook) in modules.items():
                if name not in _PLACED:
                    _PLACED.add(name)
                    for each in list(hook(module)):
                        _UNDO.callback(_put_back(each))
        try:
            yield
        finally:
            with _LOCK:
                _FOLLOWED[:] = [one for one in _FOLLOWED if one is not recorder]


@contextmanager
def held() -> Iterator[None]:
    """Put nothing back for a time, such as that of an audit: replacing takes longer than a run."""
    holder = object()
    with _LOCK:
        _HOLDERS.append(holder)
    try:
        yield
    finally:
        with _LOCK:
            _HOLDERS.remove(holder)
            if not _HOLDERS:
                _PLACED.clear()
                _UNDO.close()


def _put_back(replaced: Replaced) -> Callable[[], None]:
    """Place a replacement; what it gives undoes that."""
    owner, name, function = replaced
    own, before = name in vars(owner), vars(owner).get(name)
    setattr(owner, name, function)

    def undo() -> None:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)

    return undo


def following(plain: Callable[..., Any], follow: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `follow(recorder, ...)` in a run that is followed, else `plain(...)`.

    >>> def one() -> int:
    ...     return 1
    >>> following(one, lambda recorder: 2)()
    1
    """

    @wraps(plain)
    def either(*arguments: Any, **named: Any) -> Any:
        recorder = current()
        if recorder is not None:
            return follow(recorder, *arguments, **named)
        for one in _FOLLOWED:
            said = f"{where()}: draws noise in another thread, which is not followed."
            one.refused = one.refused or said
        return plain(*arguments, **named)

    return either


def refusing(plain: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A function that refuses in a run that is followed."""

    def refuse(recorder: Recorder, *arguments: Any, **named: Any) -> Any:
        recorder.refuse(f"draws from {what}, whose law is not known here. {WAY_OUT}")

    return following(plain, refuse)


WAY_OUT = "Release its output with dpaudit.inside.release and a kernel of your own."


def released(recorder: Recorder, value: Any, kernel: Kernel) -> Any:
    """A release of a library. Where single outputs have a probability, both datasets must agree.

    Beside a density, a probability counts as an infinite loss, which no log density can say.
    """
    forced, place = recorder.forced, len(recorder.releases)
    if forced is not None and place < len(forced):
        before = forced[place].kernel
        if getattr(before, "atoms", ()) != getattr(kernel, "atoms", ()):
            recorder.differs = f"{where()}: other bounds of the output on the other dataset"
            raise OtherReleases(recorder.differs)
    return recorder.release(value, kernel)
