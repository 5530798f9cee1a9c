"""Thresholds that can be read: as few decimals as keep an event about as strong as it was."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from dpaudit.events.kinds import Above, Below, Between, Both, Event, Outside

_Kind = TypeVar("_Kind", bound=Event)

_LOSS = 0.01  # of the score, for each threshold


def rounded(event: Event, score: Callable[[Event], float], *, enough: float = math.inf) -> Event:
    """Round every threshold of an event as far as its score hardly falls, or is still `enough`.

    >>> rounded(Above(0, 0.7731), lambda event: 1 - abs(event.threshold - 0.7731))
    Above(column=0, threshold=0.77)
    """
    if isinstance(event, Both):
        second = event.second
        first = rounded(event.first, lambda part: score(Both(part, second)), enough=enough)
        return Both(first, rounded(second, lambda part: score(Both(first, part)), enough=enough))
    if isinstance(event, Above | Below):
        return _shorter(event.threshold, lambda to: replace(event, threshold=to), score, enough)
    if isinstance(event, Between | Outside):
        low = _shorter(event.low, lambda to: replace(event, low=to), score, enough)
        return _shorter(low.high, lambda to: replace(low, high=to), score, enough)
    return event


def _shorter(
    exact: float,
    make: Callable[[float], _Kind],
    score: Callable[[Event], float],
    enough: float,
) -> _Kind:
    """Try ever more decimals for one threshold, rounded down and up."""
    if exact == 0 or not 1e-290 < abs(exact) < 1e290:
        return make(exact)
    before = score(make(exact))
    enough = min(enough, before - _LOSS * max(abs(before), 1.0))
    leading = math.floor(math.log10(abs(exact)))
    for exponent in range(leading + 1, leading - 15, -1):
        scaled = exact / 10.0**exponent
        wholes = sorted(  # of two that are as good: zero, or the nearer
            (math.floor(scaled), math.ceil(scaled)), key=lambda n: (n != 0, abs(n - scaled))
        )
        tries = [make(float(f"{whole}e{exponent}") + 0.0) for whole in wholes]
        best = max(tries, key=score)
        if score(best) >= enough:
            return best
    return make(exact)
