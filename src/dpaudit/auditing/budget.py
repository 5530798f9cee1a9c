"""How much an audit may spend: draws, seconds, or both.

A call of the mechanism cannot be interrupted, so each call is sized to take at most a tenth of the
time that is left, at the speed seen so far. That keeps every bet fair: a bet on the next output may
depend on all of the past, and so may the number of outputs that come next (`betting/bettor.py`).
What must never happen is that an audit goes on after dropping a batch because of what was in it or
because of how long it took: a batch that was begun either counts or is the last.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dpaudit.auditing.pace import Pace
from dpaudit.bounds import make_ready

DEFAULT_SAMPLES = 300_000
MAX_CERTIFYING_DRAWS = 80_000  # both sides together
_MIN_CERTIFYING_DRAWS = 64
_SEARCH_SHARE = 0.9  # of the seconds; the rest is for certifying
CHOOSING_SECONDS = 5e-7  # to look for an event, per cell of the table, on a busy machine
FITTING_SECONDS = 4e-6  # to train the guessers, per cell of the table, on a busy machine
_WORK_SHARE = 0.2  # of the time left, for one piece of work after the search
_SECONDS_TO_PRELOAD = 10.0  # a limit this long leaves time to load libraries before the first draw

CALL_SHARE = 1 / 10  # of the time left, for one call at most
ROUND_SHARE = 1 / 12  # for each of the two calls of a round: the second then fits a tenth too
_SLOWDOWN = 16.0  # how many times slower a dataset may turn out when little was drawn from it
_SAME_DURATION = 1.25  # times as long as one draw: fewer draws would save nothing
_HANDLING_SECONDS = 1e-5  # to read and count one output
_FADING = 0.7  # weight that an old call, or an old pause, keeps at the next one


class Budget:
    """The draws and seconds left. A part of both is reserved for certifying what is found.

    Without a limit on the seconds the clock decides nothing: an audit is the same draw for draw.
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
        self._speed = Speed()
        self.reserve = _reserve(self.samples)
        self.spent = 0
        self.pace: Pace | None = None
        self.watch: Callable[[], None] = lambda: None

    def extend(self, samples: int) -> None:
        """Allow so many draws in all."""
        self.samples = samples
        self.reserve = _reserve(samples)

    @property
    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return self._clock() - self._start

    @property
    def left(self) -> int:
        """Draws not spent yet."""
        return max(self.samples - self.spent, 0)

    @property
    def hurry(self) -> float:
        """How many times larger batches should be when time, not draws, runs out; at least 1."""
        if self.seconds is None or self.spent == 0:
            return 1.0
        speed, left = self._speed, max(_SEARCH_SHARE * self.seconds - self.elapsed, 1e-9)
        seconds_per_draw = (speed.drawing + speed.pausing) / speed.draws
        missing = (self.samples - self.reserve - self.spent) * seconds_per_draw / left
        return max(min(missing, speed.gain_of_more), 1.0)

    @property
    def expected(self) -> int:
        """About how many draws the search will have made in the end."""
        left = self.samples - self.reserve - self.spent
        return self.spent + int(min(left, self._in_time(_SEARCH_SHARE)))

    def make_ready(self) -> None:
        """Load what certifying needs, if the time is limited but long enough for that."""
        if self.seconds is not None and self.seconds >= _SECONDS_TO_PRELOAD:
            make_ready()

    def allows(self, wanted: int, *, key: Hashable = None) -> int:
        """How many of the wanted draws the search may make now; 0 once its budget is used up."""
        left = self.samples - self.spent - self.reserve
        return self.timely(min(wanted, left), key=key, by=_SEARCH_SHARE)

    def timely(
        self, wanted: int, share: float = CALL_SHARE, *, key: Hashable, by: float = 1.0
    ) -> int:
        """How many draws to make in one call that should end by a share of the limit.

        More than one draw takes at most a `share` of the time left, at the speed seen so far. `key`
        says what is drawn from: each dataset or pair has a speed of its own.
        """
        if self.seconds is None:
            return max(wanted, 0)
        now = self.elapsed
        self._speed.settle(now)
        return self._speed.fitting(wanted, by * self.seconds - now, key=key, share=share)

    def affordable(self, *, by: float = 1.0) -> int:
        """About how many draws are left, or fit into the time up to a share of the limit."""
        return int(min(self.samples - self.spent, self._in_time(by)))

    def most_in_time(self, draws: int, *, by: float) -> int:
        """How many of these draws large calls could make up to a share of the limit."""
        if self.seconds is None:
            return draws
        return int(min(draws, self._in_time(by) * self._speed.gain_of_larger_calls))

    def steps(self, seconds_each: float, *, share: float = _WORK_SHARE) -> float:
        """How many steps of this length fit into a share of the time left."""
        if self.seconds is None:
            return math.inf
        return share * max(self.seconds - self.elapsed, 0.0) / seconds_each

    def forget_work(self) -> None:
        """Plan no time for what was done since the last call: it will not be repeated."""
        self._speed.forget_pause(self.elapsed)

    def until(self, share: float, *, by: float = 1.0) -> float:
        """The share of the limit at which this share of the time left up to `by` is used up."""
        if self.seconds is None:
            return by
        gone = self.elapsed / self.seconds
        return gone + share * max(by - gone, 0.0)

    @contextmanager
    def spending(self, draws: int, *, key: Hashable) -> Iterator[None]:
        """Time a call of the mechanism; its draws are spent once it has returned them."""
        began = self.elapsed
        yield
        ended = self.elapsed
        self._speed.note(key, draws, began=began, ended=ended)
        if self.pace is not None:
            self.pace.note(draws, ended - began)
        self.spent += draws
        self.watch()

    def _in_time(self, by: float) -> float:
        """About how many draws can be made up to a share of the limit."""
        if self.seconds is None:
            return math.inf
        now = self.elapsed
        self._speed.settle(now)
        return self._speed.affordable(by * self.seconds - now)


def one_in_twenty(samples: int) -> int:
    """The draws reserved for certifying when there are many draws."""
    return min(samples // 20, MAX_CERTIFYING_DRAWS)


def _reserve(samples: int) -> int:
    """Draws reserved for certifying: one in twenty, but 64 if that is at most a third.

    >>> [_reserve(samples) for samples in (3, 90, 300, 10_000, 300_000, 10_000_000)]
    [1, 30, 64, 500, 15000, 80000]
    """
    return max(one_in_twenty(samples), min(_MIN_CERTIFYING_DRAWS, samples // 3))


@dataclass(slots=True)
class _Cost:
    """What the recent draws of one dataset, or pair, have cost."""

    draws: int = 0
    seconds: float = 0.0
    _recent: tuple[float, float] = (0.0, 0.0)  # draws and seconds; older calls weigh less
    _latest: tuple[int, float] = (0, 0.0)  # draws and seconds of the latest call
    _single: float = 0.0  # seconds of the quickest call for a single draw

    def add(self, draws: int, seconds: float) -> None:
        self.draws += draws
        self.seconds += seconds
        self._recent = _FADING * self._recent[0] + draws, _FADING * self._recent[1] + seconds
        self._latest = draws, seconds
        if draws == 1:
            self._single = min(self._single or seconds, seconds)

    @property
    def per_draw(self) -> float:
        """Seconds per draw, on the safe side: a mechanism may slow down, a call may be lucky."""
        draws, seconds = self._recent
        return max(self._latest[1] / self._latest[0], seconds / draws)

    @property
    def as_quick_as_one(self) -> int:
        """How many draws take about as long as one, where the call itself takes all the time."""
        draws, seconds = self._latest
        return draws if seconds <= _SAME_DURATION * self._single else 1


@dataclass(slots=True)
class Speed:
    """How fast the mechanism is, and how many draws fit into the time that is left.

    >>> speed = Speed()
    >>> speed.fitting(1000, 60.0, key="a pair")  # nothing is known yet: one draw will show
    1
    >>> speed.note("a pair", 1, began=0.0, ended=2.0)
    >>> [speed.fitting(1000, left, key="a pair") for left in (58.0, 3.0, 1.0)]
    [1, 1, 0]
    """

    drawing: float = 0.0  # seconds inside calls of the mechanism
    pausing: float = 0.0  # seconds between them: training, betting
    draws: int = 0
    _costs: dict[Hashable, _Cost] = field(default_factory=dict)
    _last: _Cost | None = None
    _last_call: tuple[int, float] | None = None  # its draws and when it ended
    _pause: float = 0.0  # the longest recent pause
    _pause_per_draw: float = math.inf  # at least: the part of a pause that grows with the draws
    _quickest_call: float = math.inf
    _quickest_draw: float = math.inf

    def note(self, key: Hashable, draws: int, *, began: float, ended: float) -> None:
        """Note a call and its draws."""
        self.settle(began)
        self.drawing += ended - began
        self.draws += draws
        self._quickest_call = min(self._quickest_call, ended - began)
        self._quickest_draw = min(self._quickest_draw, (ended - began) / draws)
        self._last = self._costs.setdefault(key, _Cost())
        self._last.add(draws, ended - began)
        self._last_call = draws, ended

    def settle(self, now: float) -> None:
        """End the pause after the last call."""
        if self._last_call is None:
            return
        draws, ended = self._last_call
        self._last_call = None
        pause = now - ended
        self.pausing += pause
        self._pause = max(pause, _FADING * self._pause)
        self._pause_per_draw = min(self._pause_per_draw, pause / draws)

    def forget_pause(self, now: float) -> None:
        """Expect no further pause like the one since the last call.

        >>> speed = Speed()
        >>> speed.note("a pair", 1, began=0.0, ended=1.0)
        >>> speed.forget_pause(9.0)
        >>> speed.fitting(1, 2.0, key="a pair")
        1
        """
        self.settle(now)
        self._pause = 0.0

    @property
    def gain_of_more(self) -> float:
        """About how many times more draws larger batches could make; at least 1."""
        return max(self.pausing / max(self.drawing, 1e-9), self.gain_of_larger_calls)

    @property
    def gain_of_larger_calls(self) -> float:
        """The same where the call itself takes most of the time."""
        quickest = self._quickest_call / max(self._quickest_draw, 1e-9)
        return max(quickest, 1.0) if self.draws else 1.0

    def affordable(self, left: float) -> float:
        """About how many draws can be made in `left` seconds; infinite if nothing is known."""
        if self._last is None:
            return math.inf
        return max(left, 0.0) / (self._last.seconds / self._last.draws + _HANDLING_SECONDS)

    def fitting(self, wanted: int, left: float, *, key: Hashable, share: float = CALL_SHARE) -> int:
        """How many of the wanted draws to make in the next call, with `left` seconds to go.

        One draw is made as long as it fits. More may take a `share` of the time. The first call on
        a dataset is one draw, however fast others were: it may be any number of times slower. The
        next calls start small and double.
        """
        if wanted < 1 or left <= 0.0:
            return 0
        known = self._costs.get(key)
        cost = known or self._last
        if cost is None:
            return 1
        room = left - self._pause
        if cost.per_draw > room:
            return 0
        if known is None:
            return 1
        pause = 0.0 if math.isinf(self._pause_per_draw) else self._pause_per_draw
        most = share * room / max(cost.per_draw + pause, 1e-9)
        safe = share * room / max(_SLOWDOWN * cost.per_draw + pause, 1e-9)
        return int(min(wanted, max(min(most, max(known.draws, safe)), known.as_quick_as_one)))
