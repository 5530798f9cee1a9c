"""An audit refutes a mechanism exactly on its claim with probability at most alpha.

Null: every audit reaches a p-value of alpha = 0.1 with probability at most alpha, independently. Of
80 audits more than 25 then do so with probability below 1e-7. Alternative: audits that do so with
probability 0.45 are caught with probability 0.99. The final wealth, cut off at 1/alpha, has a mean
of at most 1: a sum of such obeys the Chernoff bound as it does for a binomial (Hoeffding 1963,
theorem 1), so it has the same false-alarm rate. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counts import most_accusations, power

import dpaudit
from dpaudit import ApproxDP, Audit, GaussianDP, PureDP, RenyiDP, Verdict
from dpaudit.auditing import BettingLoop, Budget, Run
from dpaudit.claims import Claim
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import add_or_remove_one, pairs
from dpaudit.search import as_finder
from dpaudit.zoo import (
    ClippedSum,
    GaussianCount,
    Geometric,
    LaplaceCount,
    NonDPLaplace1,
    RandomizedResponse,
)

AUDITS, ALPHA = 80, 0.1
RECORDS = add_or_remove_one(dpaudit.floats(0, 1), max_records=3)
BITS = pairs([([0], [1]), ([1], [0])] * 4)
ONE_RECORD = pairs([([1.0], [])])


def normal_count(data: Any, size: int, rng: np.random.Generator) -> Any:
    return len(data) + rng.normal(size=size)


def small_audit(
    mechanism: Any, claim: Claim, neighbours: Any, draws: int, seed: int
) -> BettingLoop:
    """An audit with a search and early stopping, without certifying an event."""
    run = Run(
        mechanism=as_mechanism(mechanism),
        claim=claim,
        alpha=ALPHA,
        budget=Budget(draws, None),
        entropy=seed,
    )
    loop = BettingLoop(run, as_finder(neighbours, "auto", np.random.default_rng(seed)))
    loop.search()
    return loop


def test_the_stated_power() -> None:
    assert most_accusations(AUDITS, ALPHA) == 25
    assert power(AUDITS, ALPHA, 0.45) >= 0.99


@pytest.mark.parametrize(
    ("mechanism", "claim", "neighbours", "draws"),
    [
        (LaplaceCount(1.0), PureDP(1.0), RECORDS, 600),
        (Geometric(0.5), PureDP(0.5), RECORDS, 500),
        (RandomizedResponse(1.0), PureDP(1.0), BITS, 800),
        (RandomizedResponse(1.0), PureDP(1.0), pairs([([0], [1])]), 500),
        (GaussianCount(0.5, 0.05), ApproxDP(0.5, 0.05), RECORDS, 500),
        (normal_count, GaussianDP(1.0), RECORDS, 400),
        pytest.param(normal_count, RenyiDP(2.0, 1.0), RECORDS, 400, marks=pytest.mark.nightly),
    ],
    ids=["laplace", "geometric", "bits", "one-pair", "gaussian", "gdp", "renyi"],
)
def test_a_mechanism_on_its_claim_is_rarely_refuted(
    mechanism: Callable[..., object], claim: Claim, neighbours: Any, draws: int
) -> None:
    found = [
        small_audit(mechanism, claim, neighbours, draws, seed).evidence for seed in range(AUDITS)
    ]
    accused = sum(evidence.p_value <= ALPHA * (1 + 1e-9) for evidence in found)
    assert accused <= most_accusations(AUDITS, ALPHA)
    share = ALPHA * float(np.mean([min(evidence.e_value, 1 / ALPHA) for evidence in found]))
    rest = (1 - share) * math.log((1 - share) / (1 - ALPHA))
    chernoff = AUDITS * (share * math.log(share / ALPHA) + rest)
    assert share <= ALPHA or chernoff <= math.log(1e7)


@pytest.mark.parametrize(
    ("mechanism", "neighbours"),
    [(RandomizedResponse(0.9), BITS), (LaplaceCount(0.9), RECORDS)],
    ids=["bits", "laplace"],
)
def test_the_level_that_holds_is_rarely_refuted_by_ladder_or_claim(
    mechanism: Callable[..., object], neighbours: Any
) -> None:
    """A mechanism exactly on a level below its claim: verdict and bound share one alpha.

    Null, false alarm and power as above: either is wrong with probability at most alpha.
    """
    accused = 0
    for seed in range(AUDITS):
        loop = small_audit(mechanism, PureDP(1.0), neighbours, 500, seed)
        bound = loop.lower_bound
        assert bound is not None
        accused += loop.account.refuted or bound >= 0.9
    assert 0.9 in loop.book.levels.round(12)
    assert accused <= most_accusations(AUDITS, ALPHA)


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
    """The other half of the truth: each was refuted with 20 of 20 seeds."""
    audit: Audit = dpaudit.audit(mechanism, claim, neighbours, rng=5, samples=20_000)
    assert audit.verdict is Verdict.REFUTED
    assert audit.evidence.p_value <= 1e-6
