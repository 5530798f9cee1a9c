"""How much an audit may spend: draws, seconds, or both."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from dpaudit.auditing.pace import Pace
from dpaudit.stats.binomial import make_ready

DEFAULT_SAMPLES = 300_000
_FOR_SEARCH = 0.9  # of the seconds; the rest is for certifying
_LONG = 10.0  # seconds that can bear the loading of libraries before the first draw


class Budget:
    """Draws and seconds left. A part of both is kept for certifying what is found.

    Without a limit on the seconds the clock has no say: an audit is the same draw for draw.
    `watch` is called after every call of the mechanism.
    """

    def __init__(
        self,
        samples: int | None,
        seconds: float | None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.samples = DEFAULT_SAMPLES if samples is None else samples
        self.seconds = seconds
        self._clock = clock
        self._start = clock()
        self._pace = Pace()
        self.reserve = min(self.samples // 20, 80_000)
        self.spent = 0
        self.watch: Callable[[], None] = _nobody

    @property
    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return self._clock() - self._start

    @property
    def hurry(self) -> float:
        """How many times larger batches had better be, where the time costs draws; 1 or more."""
        if self.seconds is None or self.spent == 0:
            return 1.0
        pace, left = self._pace, max(_FOR_SEARCH * self.seconds - self.elapsed, 1e-9)
        of_one = (pace.drawing + pace.thinking) / pace.draws
        missing = (self.samples - self.reserve - self.spent) * of_one / left
        return max(min(missing, pace.by_more), 1.0)

    @property
    def expected(self) -> int:
        """About how many draws the search will have made in the end."""
        left = self.samples - self.reserve - self.spent
        return self.spent + int(min(left, self._in_time(_FOR_SEARCH)))

    def make_ready(self) -> None:
        """Load what certifying needs while there is time, if the time is limited."""
        if self.seconds is not None and self.seconds >= _LONG:
            make_ready()

    def allows(self, wanted: int, *, of: Hashable = None) -> int:
        """How many of the wanted draws the search may make now; 0 when its budget is used up."""
        left = self.samples - self.spent - self.reserve
        return self.timely(min(wanted, left), of=of, by=_FOR_SEARCH)

    def timely(self, wanted: int, *, of: Hashable, by: float = 1.0) -> int:
        """How many draws `of` something to make in one call, to be done by a share of the time."""
        if self.seconds is None:
            return max(wanted, 0)
        now = self.elapsed
        self._pace.settle(now)
        return self._pace.fitting(wanted, by * self.seconds - now, of=of)

    def affordable(self, *, by: float = 1.0) -> int:
        """About how many draws are left, or fit into the time up to a share of the limit."""
        return int(min(self.samples - self.spent, self._in_time(by)))

    def until(self, share: float, *, by: float = 1.0) -> float:
        """The share of the limit at which such a share of what is left up to `by` is used up."""
        if self.seconds is None:
            return by
        gone = self.elapsed / self.seconds
        return gone + share * max(by - gone, 0.0)

    @contextmanager
    def spending(self, draws: int, *, of: Hashable) -> Iterator[None]:
        """A call of the mechanism for so many draws; they are spent once it has given them."""
        began = self.elapsed
        yield
        self._pace.note(of, draws, began=began, ended=self.elapsed)
        self.spent += draws
        self.watch()

    def _in_time(self, by: float) -> float:
        """About how many draws can be made up to a share of the limit."""
        if self.seconds is None:
            return math.inf
        now = self.elapsed
        self._pace.settle(now)
        return self._pace.affordable(by * self.seconds - now)


def _nobody() -> None:
    """Nobody is watching."""
