"""A running audit in one line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpaudit.report.showing import duration, lower, one_line, short_count

if TYPE_CHECKING:
    from dpaudit.results import Progress

LINE = 80


def progress_line(progress: Progress, *, symbol: str | None = None, width: int = LINE) -> str:
    """A running audit in one line; `symbol` is the claim's ("epsilon", "mu" or "rho").

    The time left is at most that: a refutation ends the search.

    >>> from dpaudit.results import Progress
    >>> progress = Progress(
    ...     pairs=3,
    ...     samples=48_000,
    ...     budget=300_000,
    ...     seconds=1.23,
    ...     lower_bound=0.8444,
    ...     log_wealth=4.9,
    ...     alpha=1e-6,
    ...     pair="data=[1.0], neighbour=[]",
    ... )
    >>> print(progress_line(progress, symbol="epsilon"))
    48k of 300k draws, 39k/s, 6.5 s left, epsilon >= 0.844, evidence 35%, pair 3
    """
    of_budget = "" if progress.budget is None else f" of {short_count(progress.budget)}"
    draws = f"{short_count(progress.samples)}{of_budget} draws"
    found = [f"evidence {_evidence(progress)}%", f"pair {progress.pairs:,}"]
    if progress.lower_bound is not None and progress.lower_bound > 0.0:
        found.insert(0, f"{symbol or 'bound'} >= {lower(progress.lower_bound)}")
    times = [_speed(progress), duration(progress.seconds), _left(progress)]
    shown = [draws, *filter(None, times), *found]
    for spare in times[1::-1]:  # what is left says more than what is past, and than the speed
        if len(", ".join(shown)) > width and spare in shown:
            shown.remove(spare)
    line = ", ".join(shown)
    room = width - len(line) - 2
    if room < 12 or not progress.pair:
        return one_line(line, width)
    pair = " ".join(progress.pair.split())
    return f"{line}: {pair if len(pair) <= room else f'{pair[: room - 3]}...'}"


def _evidence(progress: Progress) -> int:
    """How far the evidence has come on its way to a refutation, in percent."""
    share = progress.log_wealth / -math.log(progress.alpha)
    return math.floor(100 * min(max(share, 0.0), 1.0))


def _speed(progress: Progress) -> str:
    """Draws a second, or what one takes; nothing before the first."""
    if progress.samples == 0 or progress.seconds <= 0.0:
        return ""
    speed = progress.samples / progress.seconds
    return f"{short_count(int(speed))}/s" if speed >= 1.0 else f"{duration(1.0 / speed)} each"


def _left(progress: Progress) -> str:
    """The time left, at most: up to the limit, or until all draws are made at this speed."""
    ends = []
    if progress.limit is not None:
        ends.append(progress.limit - progress.seconds)
    if progress.budget is not None and progress.samples > 0:
        left = progress.budget - progress.samples
        ends.append(progress.seconds / progress.samples * left)
    return f"{duration(max(min(ends), 0.0))} left" if ends else ""
