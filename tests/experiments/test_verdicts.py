"""An audit up to its verdict: by bets and by trials, of a broken and of an honest mechanism."""

import doctest
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scripts import imported

from dpaudit import BettingTester, PureDP
from dpaudit.search import as_finder
from dpaudit.testers import HistogramTester, Trials

verdicts = imported("verdicts")


def laplace_count(data: Any, size: int, rng: np.random.Generator) -> Any:
    return len(data) + rng.laplace(scale=0.25, size=size)  # of epsilon 4


def how_it_ended(verdicts: ModuleType, tester: Any, *, epsilon: float, samples: int) -> Any:
    finder = as_finder([([1.0], [])], "auto", np.random.default_rng(0))
    claim = PureDP(epsilon)
    return verdicts.ended(
        laplace_count, claim, finder, tester, alpha=0.05, samples=samples, entropy=4
    )


def test_the_doctests_pass(verdicts: ModuleType) -> None:
    assert doctest.testmod(verdicts).failed == 0
    assert doctest.testmod(verdicts).attempted > 0


def test_sharpening_goes_on_after_the_same_refutation(verdicts: ModuleType) -> None:
    """Null: 4-DP is refuted as 1-DP; the bound is above 4 with probability at most 0.05.

    Held for 28 of 28 other seeds. Alternative: sharpening that stops there or never; caught.
    """
    stopped = how_it_ended(verdicts, BettingTester(), epsilon=1.0, samples=4_000)
    sharp = how_it_ended(
        verdicts, BettingTester(after_refuting="sharpen"), epsilon=1.0, samples=4_000
    )
    assert stopped.refuted
    assert stopped.draws == sharp.draws < 4_000
    assert 1.0 <= stopped.lower_bound < sharp.lower_bound <= 4.0


def test_a_batch_tester_gets_all_draws_in_one_trial(verdicts: ModuleType) -> None:
    """Null: 4000 draws refute; the bound is above the true 4 with probability at most 0.05.

    Held for 28 of 28 other seeds. Alternative: a part of the draws, or no verdict; caught always.
    """
    found = how_it_ended(verdicts, Trials(HistogramTester()), epsilon=1.0, samples=4_000)
    assert (found.refuted, found.pairs, found.draws) == (True, 1, 4_000)
    assert 1.0 < found.lower_bound <= 4.0


@pytest.mark.parametrize(
    "tester", [BettingTester(), Trials(HistogramTester())], ids=["bets", "trials"]
)
def test_a_claim_that_holds_is_not_refuted_and_takes_all_draws(
    verdicts: ModuleType, tester: Any
) -> None:
    """Null: exactly on its claim: accused with probability at most 0.05 (a fixed seed).

    Held for 28 of 28 other seeds. Alternative: a tester that accuses in 0.99 of runs: power 0.99.
    """
    found = how_it_ended(verdicts, tester, epsilon=4.0, samples=4_000)
    assert (found.refuted, found.pairs, found.draws) == (False, 1, 4_000)
    assert 0.0 <= found.lower_bound <= 4.0
