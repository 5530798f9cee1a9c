"""A running audit in one line."""

from __future__ import annotations

import math

from dpaudit.evidence import Progress
from dpaudit.report.showing import duration, lower, one_line, short_count

LINE = 80


def progress_line(progress: Progress, *, symbol: str | None = None, width: int = LINE) -> str:
    """A running audit in one line; `symbol` is the claim's ("epsilon", "mu" or "rho").

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
    48k of 300k draws, 1.2 s, epsilon >= 0.844, evidence 35%, pair 3: data=[1.0],...
    """
    of_budget = "" if progress.budget is None else f" of {short_count(progress.budget)}"
    parts = [f"{short_count(progress.samples)}{of_budget} draws", duration(progress.seconds)]
    if progress.lower_bound is not None and progress.lower_bound > 0.0:
        parts.append(f"{symbol or 'bound'} >= {lower(progress.lower_bound)}")
    share = progress.log_wealth / -math.log(progress.alpha)
    parts.append(f"evidence {math.floor(100 * min(max(share, 0.0), 1.0))}%")
    line = ", ".join([*parts, f"pair {progress.pairs:,}"])
    room = width - len(line) - 2
    if room < 12 or not progress.pair:
        return one_line(line, width)
    pair = " ".join(progress.pair.split())
    return f"{line}: {pair if len(pair) <= room else f'{pair[: room - 3]}...'}"
