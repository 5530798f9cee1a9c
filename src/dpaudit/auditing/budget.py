"""How much an audit may spend: draws, seconds, or both."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from dpaudit.auditing.speed import CALL_SHARE, Pace
from dpaudit.bounds import make_ready

DEFAULT_SAMPLES = 300_000
_FEWEST_CERTIFYING, _MOST_CERTIFYING = 64, 80_000  # draws of both sides together
_FOR_SEARCH = 0.9  # of the seconds; the rest is for certifying
CHOOSING_SECONDS = 5e-7  # to look for an event, by cell of the table, on a busy machine
FITTING_SECONDS = 4e-6  # to let experts learn, by cell of the table, on a busy machine
_WORK_SHARE = 0.2  # of what is left, for one piece of work after the search
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
        self.reserve = _reserve(self.samples)
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

    def timely(
        self, wanted: int, share: float = CALL_SHARE, *, of: Hashable, by: float = 1.0
    ) -> int:
        """How many draws `of` something to make in one call, to be done by a part of the time.

        More than one draw takes at most a `share` of what is then left, at the speed seen so far.
        """
        if self.seconds is None:
            return max(wanted, 0)
        now = self.elapsed
        self._pace.settle(now)
        return self._pace.fitting(wanted, by * self.seconds - now, of=of, share=share)

    def affordable(self, *, by: float = 1.0) -> int:
        """About how many draws are left, or fit into the time up to a share of the limit."""
        return int(min(self.samples - self.spent, self._in_time(by)))

    def most_in_time(self, draws: int, *, by: float) -> int:
        """How many of so many draws could be made up to a share of the limit, by large calls."""
        if self.seconds is None:
            return draws
        return int(min(draws, self._in_time(by) * self._pace.by_larger_calls))

    def steps(self, of_one: float, *, share: float = _WORK_SHARE) -> float:
        """How many steps of so many seconds fit into a share of what is left of the time."""
        if self.seconds is None:
            return math.inf
        return share * max(self.seconds - self.elapsed, 0.0) / of_one

    def forget_work(self) -> None:
        """What was done since the last call will not come again: plan no time for it."""
        self._pace.forget_pause(self.elapsed)

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


def one_in_twenty(samples: int) -> int:
    """Draws kept for certifying where there are many of them."""
    return min(samples // 20, _MOST_CERTIFYING)


def _reserve(samples: int) -> int:
    """Draws kept for certifying: one in twenty, but 32 rounds of two calls if a third allows it.

    >>> [_reserve(samples) for samples in (3, 90, 300, 10_000, 300_000, 10_000_000)]
    [1, 30, 64, 500, 15000, 80000]
    """
    return max(one_in_twenty(samples), min(_FEWEST_CERTIFYING, samples // 3))


def _nobody() -> None:
    """Nobody is watching."""
