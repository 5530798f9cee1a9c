"""What is running, in one line: an audit, an audit inside, a measurement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpaudit.report.releases import signed_loss
from dpaudit.report.showing import duration, lower, one_line, short_count

if TYPE_CHECKING:
    from dpaudit.inside import InsideProgress
    from dpaudit.results import Progress

_LEAST_OF_A_PAIR = 12  # columns: in fewer, nothing of a pair could be read


def progress_line(progress: Progress, *, symbol: str | None = None, width: int = 80) -> str:
    """A running audit in one line; `symbol` is the claim's ("epsilon", "mu" or "rho").

    The time left is at most that: a refutation ends the search.

    >>> from dpaudit.results import Progress
    >>> made = {"pairs": 3, "samples": 48_000, "budget": 300_000, "seconds": 1.23}
    >>> found = Progress(**made, lower_bound=0.8444, log_wealth=4.9, alpha=1e-6, pair="")
    >>> print(progress_line(found, symbol="epsilon"))
    48k of 300k draws, 39k/s, 6.5 s left, epsilon 0.844 leaks, evidence 35%, pair 3
    """
    of_budget = "" if progress.budget is None else f" of {short_count(progress.budget)}"
    found = [_evidence(progress), f"pair {progress.pairs:,}"]
    if progress.lower_bound is not None and progress.lower_bound > 0.0:
        found.insert(0, f"{symbol or 'at least'} {lower(progress.lower_bound)} leaks")
    ends = [] if progress.limit is None else [progress.limit - progress.seconds]
    ends += _until_made(progress.samples, progress.budget, progress.seconds)
    return _shown(
        f"{short_count(progress.samples)}{of_budget} draws",
        [_speed(progress.samples, progress.seconds), duration(progress.seconds), _left(ends)],
        found,
        pair=progress.pair,
        width=width,
    )


def inside_line(progress: InsideProgress, *, width: int = 80) -> str:
    """A running audit inside in one line: of a pure claim one loss decides, of others many.

    >>> from dpaudit.inside import InsideProgress
    >>> made = {"pairs": 3, "transcripts": 48, "budget": 400, "seconds": 1.23, "log_wealth": 0.0}
    >>> found = InsideProgress(**made, allowed=1.0, largest=0.8444, alpha=1e-6, pair="")
    >>> print(inside_line(found))
    48 of 400 transcripts, 39/s, 9.0 s left, largest loss 0.844 of 1 allowed, pair 3
    """
    found = [f"pair {progress.pairs:,}"]
    if progress.allowed is None:
        found.insert(0, _evidence(progress))
    if progress.largest is not None:
        of_claim = "" if progress.allowed is None else f" of {progress.allowed:.12g} allowed"
        found.insert(0, f"largest loss {signed_loss(progress.largest)}{of_claim}")
    ends = _until_made(progress.transcripts, progress.budget, progress.seconds)
    return _shown(
        f"{short_count(progress.transcripts)} of {short_count(progress.budget)} transcripts",
        [_speed(progress.transcripts, progress.seconds), duration(progress.seconds), _left(ends)],
        found,
        pair=progress.pair,
        width=width,
    )


def draws_line(made: int, wanted: int, seconds: float, *, width: int = 80) -> str:
    """A running measurement in one line.

    >>> print(draws_line(48_000, 300_000, 1.23))
    48k of 300k draws, 39k/s, 1.2 s, 6.5 s left
    """
    drawn = f"{short_count(made)} of {short_count(wanted)} draws"
    times = [_speed(made, seconds), duration(seconds), _left(_until_made(made, wanted, seconds))]
    return one_line(", ".join([drawn, *filter(None, times)]), width)


def _shown(made: str, times: Sequence[str], found: Sequence[str], *, pair: str, width: int) -> str:
    """All of it, in at most so many columns: less of the pair, then of the times."""
    shown = [made, *filter(None, times), *found]
    for spare in times[1::-1]:  # what is left says more than what is past, and than the speed
        if len(", ".join(shown)) > width and spare in shown:
            shown.remove(spare)
    line = ", ".join(shown)
    room = width - len(line) - 2
    if room < _LEAST_OF_A_PAIR or not pair:
        return one_line(line, width)
    pair = " ".join(pair.split())
    return f"{line}: {pair if len(pair) <= room else f'{pair[: room - 3]}...'}"


def _evidence(progress: Progress | InsideProgress) -> str:
    """How far the wealth is on its way to a refutation, on a logarithmic scale."""
    share = min(max(progress.log_wealth / -math.log(progress.alpha), 0.0), 1.0)
    return f"evidence {math.floor(100 * share)}%"


def _speed(made: int, seconds: float) -> str:
    """Draws or transcripts a second, or what one takes; nothing before the first."""
    if made == 0 or seconds <= 0.0:
        return ""
    speed = made / seconds
    return f"{short_count(int(speed))}/s" if speed >= 1.0 else f"{duration(1.0 / speed)} each"


def _until_made(made: int, wanted: int | None, seconds: float) -> list[float]:
    """The seconds until all is made at this speed, where that is known."""
    return [] if wanted is None or made == 0 else [seconds / made * (wanted - made)]


def _left(ends: Sequence[float]) -> str:
    """The time left, at most."""
    return f"{duration(max(min(ends), 0.0))} left" if ends else ""
