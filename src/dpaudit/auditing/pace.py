"""The pace of the draws: how long all of them would take, where nobody has set a limit.

A mechanism may take long for each draw, or for each call whatever its size. The first calls are
small and later ones large, so the time of a draw says little until calls of two sizes are known.
So what is estimated is the least that the rest takes.
"""

from __future__ import annotations

import inspect
import statistics
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from dpaudit.architecture import DefaultSamples, Source
from dpaudit.errors import SlowMechanism
from dpaudit.report import duration

LONG_SECONDS = 600.0  # an audit that takes longer is worth a warning
_MIN_SECONDS = 2.0  # of draws, before anything is said
_MIN_BATCHES = 3
_LATER_BATCHES = 60  # at least: 300 000 draws of one pair
_MAX_BATCHES = 200  # looked at; then no warning comes any more
_OWN_FOLDER = str(Path(__file__).resolve().parent.parent)


@dataclass(slots=True, kw_only=True)
class Pace:
    """Notes how long batches of draws take, and warns once if all of them would take long.

    `singly` says that each draw is a call of its own.

    >>> pace = Pace(name="fit", singly=True)
    >>> for _ in range(3):
    ...     pace.note(8, 1.6)
    >>> round(pace.least(300_000 - 24))
    59995
    """

    name: str
    singly: bool
    _batches: list[tuple[int, float]] = field(default_factory=list)
    _over: bool = False

    def note(self, draws: int, seconds: float) -> None:
        """Note a batch of draws."""
        if not self._over:
            self._batches.append((draws, seconds))
            self._over = len(self._batches) >= _MAX_BATCHES

    def least(self, left: int) -> float:
        """The least number of seconds that so many draws should take; 0 if nothing is known."""
        drawn, spent = self._so_far()
        if spent < _MIN_SECONDS or len(self._batches) < _MIN_BATCHES:
            return 0.0
        if self.singly:
            return spent / drawn * left
        small = min(draws for draws, _ in self._batches)
        usual = statistics.median(seconds for draws, seconds in self._batches if draws == small)
        each = [
            (seconds - usual) / (draws - small)
            for draws, seconds in self._batches
            if draws >= 2 * small
        ]
        of_draws = max(min(each, default=0.0), 0.0) * left
        return max(of_draws, min(left, _LATER_BATCHES) * usual)

    def _so_far(self) -> tuple[int, float]:
        """The draws and seconds of all batches."""
        return sum(draws for draws, _ in self._batches), sum(spent for _, spent in self._batches)

    def warn(self, left: int, samples: int) -> None:
        """Warn, once, if the draws that are left would take long."""
        if self._over or (seconds := self.least(left)) <= LONG_SECONDS:
            return
        self._over = True
        drawn, spent = self._so_far()
        file, line, module = _asked_from()
        warnings.warn_explicit(
            f"{self.name} is slow: its first {drawn:,} draws took {duration(spent)}. The "
            f"{samples:,} draws of this audit would take at least {duration(seconds)}, unless the "
            "claim is refuted before. Give a limit: seconds=600, or fewer samples= (--seconds "
            "600, --samples on the command line).",
            SlowMechanism,
            file,
            line,
            module=module,
        )


def pace_of(mechanism: Source, samples: int | None, seconds: float | None) -> Pace | None:
    """The pace of an audit; None where its user has said how much it may spend."""
    if seconds is not None or not (samples is None or isinstance(samples, DefaultSamples)):
        return None
    errors = mechanism.errors
    return Pace(name=mechanism.name, singly=errors is not None and errors.one_by_one)


def _asked_from() -> tuple[str, int, str]:
    """The line outside of this package that asked for the audit: its file, number and module."""
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN_FOLDER):
            return file, frame.f_lineno, str(frame.f_globals.get("__name__", "__main__"))
        frame = frame.f_back
    return sys.executable, 1, "__main__"
