"""How fast a mechanism is, and how many draws fit into the time that is left.

A call of the mechanism cannot be interrupted, so a call is sized to take a small part of what is
left. Sizes follow from how long earlier calls took. That keeps every bet fair: a bet on the next
output may depend on all of the past, and so may how many outputs come next (see
`testers/bettor.py`). What must never happen is that the audit goes on after it has dropped a batch
because of what was in it, or because of how long it took: a batch that was begun counts, or is
the last.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

_SHARE = 1 / 8  # of the time that is left, for one call: as much slower may it turn out to be
_CAUTION = 16.0  # as much slower than the last dataset may be one of which little was drawn
_HANDLING = 1e-5  # seconds to read and count an output, about
_FADING = 0.7  # what an old call, or an old pause for thought, still says at the next one


@dataclass(slots=True)
class _Cost:
    """What the draws of one dataset, or pair, have cost of late."""

    draws: int = 0
    seconds: float = 0.0
    _late: tuple[float, float] = (0.0, 0.0)  # draws and seconds, the older the less of them
    _latest: float = 0.0  # seconds a draw

    def add(self, draws: int, seconds: float) -> None:
        self.draws += draws
        self.seconds += seconds
        self._late = _FADING * self._late[0] + draws, _FADING * self._late[1] + seconds
        self._latest = seconds / draws

    @property
    def of_one(self) -> float:
        """Seconds a draw, to be safe: a mechanism may slow down, and a call may be lucky."""
        draws, seconds = self._late
        return max(self._latest, seconds / draws)


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

    @property
    def by_more(self) -> float:
        """How many times more draws could be had by larger calls, about; 1 or more.

        Where thinking, or the call itself, takes longer than drawing, whatever is drawn.
        """
        thought = self.thinking / max(self.drawing, 1e-9)
        return max(thought, self._call / max(self._draw, 1e-9), 1.0) if self.draws else 1.0

    def affordable(self, left: float) -> float:
        """About how many draws can be made in `left` seconds; infinite if nothing is known."""
        if self._last is None:
            return math.inf
        return max(left, 0.0) / (self._last.seconds / self._last.draws + _HANDLING)

    def fitting(self, wanted: int, left: float, *, of: Hashable) -> int:
        """How many of the wanted draws to make in the next call, with so many seconds left.

        One draw is made as long as it fits. More of them may take an eighth of the time. The draws
        of a dataset of which little is known begin with few and double.
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
        thought = 0.0 if math.isinf(self._thought) else self._thought
        most = _SHARE * room / max(cost.of_one + thought, 1e-9)
        safe = _SHARE * room / max(_CAUTION * cost.of_one + thought, 1e-9)
        seen = 0 if known is None else known.draws
        return int(min(wanted, max(min(most, max(seen, safe)), 1)))
