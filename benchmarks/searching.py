"""An audit up to its verdict: search and bets, without the draws that certify an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.auditing import Budget, Campaign
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
) -> Campaign:
    """Search as `dpaudit.audit(..., rng=entropy)` does, and stop at the verdict."""
    seed = np.random.SeedSequence(entropy, spawn_key=(2,))
    campaign = Campaign(
        as_mechanism(mechanism),
        claim,
        as_finder(neighbours, finder, np.random.default_rng(seed)),
        alpha=alpha,
        budget=Budget(samples, None),
        entropy=entropy,
        progress=None,
    )
    campaign.run(beyond_refutation=False)
    return campaign
