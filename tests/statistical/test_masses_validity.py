"""Testers of counted masses rarely accuse mechanisms exactly on their claim: as `alpha` says.

Null: every run refutes with probability at most alpha = 0.1, independently. Of 100 runs more than
28 then do so with probability below 1e-7. Alternative: a tester that refutes with probability 0.4
is caught with probability 0.99. The last test shows that plain shares instead of bounds are caught.
Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from counts import most_accusations, power

from dpaudit.arrays import Counts, Floats
from dpaudit.claims import PureDP
from dpaudit.testers import FiniteOutputs, HeldOutTester, PrivacyLossBounds
from dpaudit.testing import tight_pairs

RUNS, ALPHA, DRAWS = 100, 0.1, 600
CLAIM = PureDP(1.0)
TESTERS: tuple[Callable[[], HeldOutTester], ...] = (PrivacyLossBounds, FiniteOutputs)


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 28
    assert power(RUNS, ALPHA, 0.4) >= 0.99


def refuted(tester: HeldOutTester) -> int:
    """How many runs refute randomized response, exactly on its claim."""
    (pair, *_) = tight_pairs(CLAIM, draws=DRAWS)
    count = 0
    for run in range(RUNS):
        rng = np.random.default_rng([6, run])
        sides = pair.data(DRAWS, rng), pair.neighbour(DRAWS, rng)
        count += tester.lower_bound(*sides, CLAIM, alpha=ALPHA, rng=rng) > 0.0
    return count


@pytest.mark.parametrize("tester", TESTERS)
def test_randomized_response_is_rarely_refuted(tester: Callable[[], HeldOutTester]) -> None:
    assert refuted(tester()) <= most_accusations(RUNS, ALPHA)


@pytest.mark.parametrize("tester", TESTERS)
def test_plain_shares_would_be_caught(
    tester: Callable[[], HeldOutTester], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They refute about half of the runs; 41 of 100 or more with probability above 0.95."""

    def share(hits: Counts, draws: int, alpha: float) -> Floats:
        return np.asarray(hits / draws)

    for module in ("finite_outputs", "event_bound"):
        for name in ("proportion_lower", "proportion_upper"):
            monkeypatch.setattr(f"dpaudit.testers.{module}.{name}", share)
    assert refuted(tester()) > most_accusations(RUNS, ALPHA)
