"""An audit up to its verdict: search and bets, without the draws that certify an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpaudit.auditing import BettingLoop, Budget, Run, Stream
from dpaudit.claims import Claim
from dpaudit.mechanism import as_mechanism
from dpaudit.search import as_finder


def search(
    mechanism: Callable[..., object],
    claim: Claim,
    neighbours: Any,
    *,
    alpha: float,
    samples: int,
    entropy: int,
    finder: str = "auto",
) -> BettingLoop:
    """Search as `dpaudit.audit(..., rng=entropy)` does, and stop at the verdict."""
    run = Run(
        mechanism=as_mechanism(mechanism),
        claim=claim,
        alpha=alpha,
        budget=Budget(samples, None),
        entropy=entropy,
    )
    loop = BettingLoop(run, as_finder(neighbours, finder, run.rng(Stream.FINDER)))
    loop.search()
    return loop
