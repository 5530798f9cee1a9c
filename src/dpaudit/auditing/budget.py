"""How much an audit may spend: draws, seconds, or both."""

from __future__ import annotations

import math
import time

DEFAULT_SAMPLES = 300_000


class Budget:
    """Draws and seconds left. A part of the draws is kept for certifying what is found."""

    def __init__(self, samples: int | None, seconds: float | None) -> None:
        self.samples = DEFAULT_SAMPLES if samples is None else samples
        self._seconds = math.inf if seconds is None else seconds
        self._start = time.perf_counter()
        self.reserve = min(self.samples // 4, 80_000)
        self.spent = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return time.perf_counter() - self._start

    @property
    def timely(self) -> bool:
        """Whether there is time left."""
        return self.elapsed < self._seconds

    def allows(self, wanted: int, *, from_reserve: bool = False) -> int:
        """How many of the wanted draws may be made now; 0 when the budget is used up.

        With a limit in seconds a batch is also kept to what the time left holds, at the speed seen
        so far.
        """
        left = self.samples - self.spent - (0 if from_reserve else self.reserve)
        allowed = min(wanted, left)
        if self._seconds < math.inf and self.spent:
            left_seconds = self._seconds - self.elapsed
            allowed = min(allowed, math.ceil(left_seconds * self.spent / self.elapsed))
        return max(allowed, 0) if self.timely else 0
