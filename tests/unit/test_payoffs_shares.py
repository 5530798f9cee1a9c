"""The best shares of a portfolio: as good as the slow algorithm, in few steps."""

import numpy as np
import pytest

from dpaudit.arrays import Floats
from dpaudit.betting import best_shares


def grown(share: Floats, payoffs: Floats, mass: Floats) -> float:
    return float(mass @ np.log(share @ payoffs))


@pytest.mark.parametrize("seed", range(12))
def test_no_other_shares_grow_faster(seed: int) -> None:
    """At the best shares no bet is worth more than 1 in units of the portfolio (Cover 1984)."""
    rng = np.random.default_rng(seed)
    bets, outcomes = int(rng.integers(2, 16)), int(rng.integers(2, 300))
    payoffs = rng.exponential(size=(bets, outcomes)) * (rng.random((bets, outcomes)) < 0.4) + 1e-3
    mass = rng.dirichlet(np.ones(outcomes))
    share = best_shares(payoffs, mass, np.full(bets, 1.0 / bets))
    assert share.min() >= 0.0
    assert share.sum() == pytest.approx(1.0)
    assert float((payoffs @ (mass / (share @ payoffs))).max()) < 1.0 + 1e-5
    slow = np.full(bets, 1.0 / bets)
    for _ in range(3_000):
        slow = slow * (payoffs @ (mass / (slow @ payoffs)))
    assert grown(share, payoffs, mass) >= grown(slow, payoffs, mass) - 1e-7


def test_a_start_that_lacks_the_best_bet_finds_it() -> None:
    payoffs = np.array([[1.0, 1.0, 1.0], [3.0, 0.1, 0.1], [0.1, 3.0, 0.1]])
    share = best_shares(payoffs, np.array([0.1, 0.8, 0.1]), np.array([0.9, 0.1, 0.0]))
    assert share[2] > 0.5


def test_bets_of_very_different_heights_are_told_apart() -> None:
    payoffs = np.array([[1.0, 1.0], [1e12, 1e-3], [1.0 + 1e-9, 1.0]])
    mass = np.array([1e-9, 1.0 - 1e-9])
    share = best_shares(payoffs, mass, np.array([1.0, 0.0, 0.0]))
    assert grown(share, payoffs, mass) >= grown(np.array([1.0, 0.0, 0.0]), payoffs, mass)
    assert np.isfinite(share).all()
