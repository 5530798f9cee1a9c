"""How much an audit may spend: draws, seconds, or both."""

from __future__ import annotations

import math
import time

DEFAULT_SAMPLES = 300_000
_FOR_SEARCH = 0.75  # of the seconds; the rest is for certifying


class Budget:
    """Draws and seconds left. A part of the draws is kept for certifying what is found."""

    def __init__(self, samples: int | None, seconds: float | None) -> None:
        self.samples = DEFAULT_SAMPLES if samples is None else samples
        self._seconds = math.inf if seconds is None else seconds
        self._start = time.perf_counter()
        self.reserve = min(self.samples // 20, 80_000)
        self.spent = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return time.perf_counter() - self._start

    def allows(self, wanted: int) -> int:
        """How many of the wanted draws the search may make now; 0 when its budget is used up."""
        left = self.samples - self.spent - self.reserve
        return self.timely(min(wanted, left), by=_FOR_SEARCH)

    def timely(self, wanted: int, *, by: float) -> int:
        """How many draws fit into the time up to a share of the limit, at the speed seen so far."""
        elapsed, limit = self.elapsed, by * self._seconds
        if elapsed >= limit:
            return 0
        if self.spent and limit < math.inf:
            wanted = min(wanted, math.ceil((limit - elapsed) * self.spent / elapsed))
        return max(wanted, 0)
