"""The testers of others accuse an honest mechanism with probability at most alpha.

Null: every run on a mechanism exactly on its claim refutes with probability at most alpha = 0.2,
independently. Of 100 runs more than 43 do so with probability below 1e-7. Alternative: a tester
that refutes with probability 0.56 is caught with probability 0.99. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counts import most_accusations, power

from dpaudit.claims import Claim, GaussianDP, PureDP
from dpaudit.guessing import LabelledRows
from dpaudit.outputs import Encoder
from dpaudit.testers import DeltaSiege, DPSniper, Examiner, NearestNeighbours, StatDP
from dpaudit.testers.statdp import thinned_p_value
from dpaudit.testers.statdp_events import counted_events
from dpaudit.zoo import LaplaceCount, RandomizedResponse

RUNS, ALPHA, DRAWS = 100, 0.2, 300

Draw = Callable[[np.random.Generator], tuple[Any, Any]]


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 43
    assert power(RUNS, ALPHA, 0.56) >= 0.99


def bits(rng: np.random.Generator) -> tuple[Any, Any]:
    mechanism = RandomizedResponse(0.1)
    return mechanism([0], DRAWS, rng), mechanism([1], DRAWS, rng)


def laplace(rng: np.random.Generator) -> tuple[Any, Any]:
    mechanism = LaplaceCount(0.1)
    return mechanism([1.0], DRAWS, rng), mechanism([], DRAWS, rng)


def gaussian(rng: np.random.Generator) -> tuple[Any, Any]:
    return 0.5 + rng.normal(size=DRAWS), rng.normal(size=DRAWS)


def vectors(rng: np.random.Generator) -> tuple[Any, Any]:
    """Four coordinates with Laplace noise, of which one moves."""
    return rng.laplace(size=(DRAWS, 4)), rng.laplace(size=(DRAWS, 4)) + 0.1 * np.eye(4)[1]


CASES: dict[str, tuple[Examiner, Claim, Draw]] = {
    "statdp-bits": (StatDP(thinnings=1), PureDP(0.1), bits),
    "statdp-vectors": (StatDP(thinnings=8), PureDP(0.1), vectors),
    "dp-sniper-bits": (DPSniper(c=0.25), PureDP(0.1), bits),
    "dp-sniper-laplace": (DPSniper(c=0.25), PureDP(0.1), laplace),
    "delta-siege-gaussian": (DeltaSiege(), GaussianDP(0.5), gaussian),
    "delta-siege-laplace": (DeltaSiege(), PureDP(0.1), laplace),
    "neighbours-gaussian": (NearestNeighbours(), GaussianDP(0.5), gaussian),
    "neighbours-vectors": (NearestNeighbours(), PureDP(0.1), vectors),
}


@pytest.mark.parametrize("case", CASES)
def test_an_honest_mechanism_is_rarely_accused(case: str) -> None:
    tester, claim, draw = CASES[case]
    found = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        finding = tester.examine(*draw(rng), claim, alpha=ALPHA, rng=rng)
        found += finding.lower_bound > tester.threshold(claim)
    assert found <= most_accusations(RUNS, ALPHA)


def test_events_tested_on_the_outputs_that_chose_them_would_be_caught() -> None:
    """The check is not blind: one of 60 words is the likelier one on the same outputs."""
    found = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        words = rng.integers(60, size=2 * DRAWS).astype(str).tolist()
        rows = LabelledRows.of(Encoder().encode(words), np.arange(2 * DRAWS) < DRAWS)
        _, hits, others = counted_events(rows)
        best = int(np.argmax(hits - others))
        counts = int(hits[best]), DRAWS, int(others[best]), DRAWS
        found += thinned_p_value(*counts, epsilon=0.1, luck=rng.random(1)) <= ALPHA
    assert found > most_accusations(RUNS, ALPHA)
