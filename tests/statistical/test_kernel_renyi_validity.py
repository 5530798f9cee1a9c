"""The kernel Rényi tester accuses mechanisms exactly on their claim with probability at most alpha.

Null: every run refutes with probability at most alpha = 0.1, independently. Of 100 runs more than
28 then do so with probability below 1e-7. Alternative: a tester that refutes with probability 0.4
is caught with probability 0.99. The last test shows that bounds from the wrong side are caught.
Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from counts import most_accusations, power

from dpaudit.bounds import mean_upper
from dpaudit.claims import RenyiDP
from dpaudit.testers import KernelRenyi, pure_renyi

TESTER = KernelRenyi(bound="hoeffding")  # the quickest of the bounds, which have tests of their own
RUNS, ALPHA, DRAWS = 100, 0.1, 2_000


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 28
    assert power(RUNS, ALPHA, 0.4) >= 0.99


def refuted(runs: int = RUNS) -> int:
    """How many runs refute the exact divergence of randomized response with NaN for one bit.

    The features of NaN and a number are orthogonal, so the trace is that of the outputs but for the
    ridge.
    """
    claim, chance = RenyiDP(2.0, pure_renyi(1.0, 2.0)), np.exp(1.0) / (1.0 + np.exp(1.0))
    count = 0
    for run in range(runs):
        rng = np.random.default_rng([5, run])
        x, y = (np.where(rng.random(DRAWS) < p, np.nan, 0.0) for p in (chance, 1 - chance))
        count += TESTER.lower_bound(x, y, claim, alpha=ALPHA, rng=rng) > claim.epsilon
    return count


def test_randomized_response_is_rarely_refuted() -> None:
    assert refuted() <= most_accusations(RUNS, ALPHA)


def test_bounds_from_the_wrong_side_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means that are too high by what they should be too low by refute nearly always."""
    monkeypatch.setattr("dpaudit.testers.kernel_renyi.mean_lower", mean_upper)
    assert refuted(40) > most_accusations(40, ALPHA)
