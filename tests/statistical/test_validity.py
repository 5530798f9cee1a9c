"""The promise: a mechanism exactly on its claim is refuted with probability at most alpha.

Null: every audit refutes with probability at most alpha = 0.1, independently. Of 60 audits more
than `binom.isf(1e-7, 60, 0.1)` then refute with probability below 1e-7. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import dpaudit
from dpaudit import ApproxDP, Audit, GaussianDP, PureDP, RenyiDP, Verdict
from dpaudit.auditing.budget import Budget
from dpaudit.auditing.campaign import Campaign
from dpaudit.claims import Claim
from dpaudit.mechanism import as_mechanism
from dpaudit.mechanisms import (
    ClippedSum,
    GaussianCount,
    Geometric,
    LaplaceCount,
    NonDPLaplace1,
    RandomizedResponse,
)
from dpaudit.neighbours import add_or_remove_one, as_finder, pairs

AUDITS, ALPHA = 60, 0.1
RECORDS = add_or_remove_one(dpaudit.floats(0, 1), max_records=3)
BITS = pairs([([0], [1]), ([1], [0])] * 4)
ONE_RECORD = pairs([([1.0], [])])


def normal_count(data: Any, size: int, rng: np.random.Generator) -> Any:
    return len(data) + rng.normal(size=size)


def refutes(mechanism: Any, claim: Claim, neighbours: Any, seed: int) -> bool:
    """One small audit with a search and early stopping, without certifying an event."""
    campaign = Campaign(
        as_mechanism(mechanism),
        claim,
        as_finder(neighbours, np.random.default_rng(seed)),
        alpha=ALPHA,
        budget=Budget(1_200, None),
        entropy=seed,
        progress=None,
    )
    campaign.run(beyond_refutation=False)
    return campaign.account.refuted


@pytest.mark.parametrize(
    ("mechanism", "claim", "neighbours"),
    [
        (LaplaceCount(1.0), PureDP(1.0), RECORDS),
        (Geometric(0.5), PureDP(0.5), RECORDS),
        (RandomizedResponse(1.0), PureDP(1.0), BITS),
        (RandomizedResponse(1.0), PureDP(1.0), pairs([([0], [1])])),
        (GaussianCount(0.5, 0.05), ApproxDP(0.5, 0.05), RECORDS),
        (normal_count, GaussianDP(1.0), ONE_RECORD),
        (normal_count, RenyiDP(2.0, 1.0), ONE_RECORD),
    ],
    ids=["laplace", "geometric", "bits", "one-pair", "gaussian", "gdp", "renyi"],
)
def test_a_mechanism_on_its_claim_is_rarely_refuted(
    mechanism: Callable[..., object], claim: Claim, neighbours: Any
) -> None:
    refuted = sum(refutes(mechanism, claim, neighbours, seed) for seed in range(AUDITS))
    assert refuted <= binom.isf(1e-7, AUDITS, ALPHA)


@pytest.mark.parametrize(
    ("mechanism", "claim", "neighbours"),
    [
        (
            ClippedSum(1.0),
            PureDP(1.0),
            dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5),
        ),
        (NonDPLaplace1(0.1), PureDP(0.1), pairs([([0.0], [0.0, 1.0])])),
        (
            lambda data, size, rng: len(data) + rng.normal(scale=0.5, size=size),
            GaussianDP(1.0),
            ONE_RECORD,
        ),
    ],
    ids=["clipped-sum", "mean", "gaussian"],
)
def test_a_broken_mechanism_is_refuted(
    mechanism: Callable[..., object], claim: Claim, neighbours: Any
) -> None:
    audit: Audit = dpaudit.audit(mechanism, claim, neighbours, rng=5, samples=20_000)
    assert audit.verdict is Verdict.REFUTED
    assert audit.evidence.p_value <= 1e-6
