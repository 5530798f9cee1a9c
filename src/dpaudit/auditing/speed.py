"""How fast a mechanism is, and how many draws fit into the time that is left.

A call of the mechanism cannot be interrupted, so a call is sized to take at most a tenth of what is
left. Sizes follow from how long earlier calls took. That keeps every bet fair: a bet on the next
output may depend on all of the past, and so may how many outputs come next (see
`betting/bettor.py`). What must never happen is that the audit goes on after it has dropped a batch
because of what was in it, or because of how long it took: a batch that was begun counts, or is
the last.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

CALL_SHARE = 1 / 10  # of the time that is left, for one call at the most
ROUND_SHARE = 1 / 12  # for each of the two calls of a round: the second is then within a tenth too
_CAUTION = 16.0  # how many times slower a dataset may turn out of which little was drawn
_HARDLY_LONGER = 1.25  # times as long as one draw: fewer draws would save nothing
_HANDLING = 1e-5  # seconds to read and count an output, about
_FADING = 0.7  # what an old call, or an old pause for thought, still says at the next one


@dataclass(slots=True)
class _Cost:
    """What the draws of one dataset, or pair, have cost of late."""

    draws: int = 0
    seconds: float = 0.0
    _late: tuple[float, float] = (0.0, 0.0)  # draws and seconds, the older the less of them
    _latest: tuple[int, float] = (0, 0.0)  # draws and seconds of the latest call
    _alone: float = 0.0  # seconds of the quickest call for a single draw

    def add(self, draws: int, seconds: float) -> None:
        self.draws += draws
        self.seconds += seconds
        self._late = _FADING * self._late[0] + draws, _FADING * self._late[1] + seconds
        self._latest = draws, seconds
        if draws == 1:
            self._alone = min(self._alone or seconds, seconds)

    @property
    def of_one(self) -> float:
        """Seconds a draw, to be safe: a mechanism may slow down, and a call may be lucky."""
        draws, seconds = self._late
        return max(self._latest[1] / self._latest[0], seconds / draws)

    @property
    def as_one(self) -> int:
        """How many draws take about as long as one: where the call itself takes all the time."""
        draws, seconds = self._latest
        return draws if seconds <= _HARDLY_LONGER * self._alone else 1


@dataclass(slots=True)
class Pace:
    """The speed so far, by what was drawn from.

    >>> pace = Pace()
    >>> pace.fitting(1000, 60.0, of="a pair")  # nothing is known yet: one draw will show
    1
    >>> pace.note("a pair", 1, began=0.0, ended=2.0)
    >>> [pace.fitting(1000, left, of="a pair") for left in (58.0, 3.0, 1.0)]
    [1, 1, 0]
    """

    drawing: float = 0.0  # seconds in calls of the mechanism
    thinking: float = 0.0  # seconds after them
    draws: int = 0
    _costs: dict[Hashable, _Cost] = field(default_factory=dict)
    _last: _Cost | None = None
    _thought_of: tuple[int, float] | None = None  # the draws of the last call, and when it ended
    _pause: float = 0.0  # the longest thought of late
    _thought: float = math.inf  # seconds a draw, at the least: the part that grows with the draws
    _call: float = math.inf  # seconds of the quickest call
    _draw: float = math.inf  # seconds a draw, at the least

    def note(self, of: Hashable, draws: int, *, began: float, ended: float) -> None:
        """Note a call that gave so many draws."""
        self.settle(began)
        self.drawing += ended - began
        self.draws += draws
        self._call = min(self._call, ended - began)
        self._draw = min(self._draw, (ended - began) / draws)
        self._last = self._costs.setdefault(of, _Cost())
        self._last.add(draws, ended - began)
        self._thought_of = draws, ended

    def settle(self, now: float) -> None:
        """Close the last step: whatever was done since its call was thought about its draws."""
        if self._thought_of is None:
            return
        draws, ended = self._thought_of
        self._thought_of = None
        thought = now - ended
        self.thinking += thought
        self._pause = max(thought, _FADING * self._pause)
        self._thought = min(self._thought, thought / draws)

    def forget_pause(self, now: float) -> None:
        """Take what was done since the last call for a thing of its own, that will not come again.

        >>> pace = Pace()
        >>> pace.note("a pair", 1, began=0.0, ended=1.0)
        >>> pace.forget_pause(9.0)
        >>> pace.fitting(1, 2.0, of="a pair")
        1
        """
        self.settle(now)
        self._pause = 0.0

    @property
    def by_more(self) -> float:
        """How many times more draws could be had by larger calls, about; 1 or more.

        Where thinking, or the call itself, takes longer than drawing, whatever is drawn.
        """
        thought = self.thinking / max(self.drawing, 1e-9)
        return max(thought, self.by_larger_calls)

    @property
    def by_larger_calls(self) -> float:
        """How many times more draws could be had where the call itself takes most of the time."""
        return max(self._call / max(self._draw, 1e-9), 1.0) if self.draws else 1.0

    def affordable(self, left: float) -> float:
        """About how many draws can be made in `left` seconds; infinite if nothing is known."""
        if self._last is None:
            return math.inf
        return max(left, 0.0) / (self._last.seconds / self._last.draws + _HANDLING)

    def fitting(self, wanted: int, left: float, *, of: Hashable, share: float = CALL_SHARE) -> int:
        """How many of the wanted draws to make in the next call, with so many seconds left.

        One draw is made as long as it fits. More of them may take a `share` of the time. The first
        call of a dataset is one draw, however fast others were: it may be any number of times
        slower. The next are few, and double.
        """
        if wanted < 1 or left <= 0.0:
            return 0
        known = self._costs.get(of)
        cost = known or self._last
        if cost is None:
            return 1
        room = left - self._pause
        if cost.of_one > room:
            return 0
        if known is None:
            return 1
        thought = 0.0 if math.isinf(self._thought) else self._thought
        most = share * room / max(cost.of_one + thought, 1e-9)
        safe = share * room / max(_CAUTION * cost.of_one + thought, 1e-9)
        return int(min(wanted, max(min(most, max(known.draws, safe)), known.as_one)))
