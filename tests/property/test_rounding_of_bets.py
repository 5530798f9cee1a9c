"""Rounding may only cost the bettor: computed payoffs never exceed those of a valid bet."""

from __future__ import annotations

import mpmath  # type: ignore[import-untyped]
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.betting.payoffs import Tangents

LOG_ODDS = st.floats(-30.0, 30.0)
SCALED = mpmath.mpf(10) ** -13  # by which the stakes are scaled down


def exact(bet: Tangents, log_odds: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """`S_P` and `S_Q` of a valid bet, with fifty digits (docs/mathematics.md, section 3)."""
    epsilon, delta, stake, low, high = (
        mpmath.mpf(float(part[0]))
        for part in (bet.epsilon, bet.delta, bet.stake, bet.lowest, bet.highest)
    )
    shrink, other = mpmath.exp(-epsilon), 2 - stake

    def guess(odds: mpmath.mpf) -> mpmath.mpf:
        return 1 / (1 + mpmath.exp(-odds))

    def told(c: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
        v = max(c * (stake + other * shrink) - stake, mpmath.mpf(0))
        w = max((1 - c) * (other + stake * shrink) - other, mpmath.mpf(0))
        return v, w

    price = delta * (told(guess(high))[0] + told(guess(low))[1])
    v, w = told(guess(min(max(mpmath.mpf(log_odds), low), high)))
    keep = 2 / (2 + price)
    grow = mpmath.exp(epsilon)
    return keep * (stake + v - grow * w), keep * (other + w - grow * v)


@given(
    epsilon=st.floats(0.0, 12.0),
    delta=st.sampled_from([0.0, 1e-9, 1e-5, 1e-2, 0.3]),
    stake=st.floats(0.02, 1.98),
    bounds=st.tuples(LOG_ODDS, LOG_ODDS).map(sorted),
    log_odds=LOG_ODDS,
)
def test_no_payoff_exceeds_that_of_a_valid_bet(
    epsilon: float, delta: float, stake: float, bounds: list[float], log_odds: float
) -> None:
    low, high = min(bounds[0], -1e-6), max(bounds[1], 1e-6)
    parts = (np.array([one]) for one in (epsilon, delta, stake, low, high))
    bet = Tangents(*parts)
    up, down = bet.log_payoffs(np.array([log_odds]))
    with mpmath.workdps(50):
        for paid, most in zip((up[0, 0], down[0, 0]), exact(bet, log_odds), strict=True):
            assert mpmath.exp(mpmath.mpf(float(paid))) <= most


def test_rounding_costs_less_than_a_nat_in_a_million_million_draws() -> None:
    """A bet that guesses nothing is paid 1 but for the rounding, on either side."""
    bet = Tangents(*(np.array([one]) for one in (1.0, 0.0, 1.0, -1.0, 1.0)))
    up, down = bet.log_payoffs(np.zeros(1))
    for paid in (up[0, 0], down[0, 0]):
        assert -1.0 < 1e12 * paid < 0.0


def test_the_scale_leaves_room_for_ten_times_the_rounding_seen() -> None:
    """Of many bets, the largest excess over a valid bet, the scale taken away, is a tenth of it."""
    worst = mpmath.mpf(0)
    rng = np.random.default_rng(7)
    with mpmath.workdps(50):
        for _ in range(300):
            low, high = -rng.uniform(0, 30), rng.uniform(0, 30)
            values = (rng.uniform(0, 12), rng.choice([0.0, 1e-3]), rng.uniform(0.02, 1.98))
            bet = Tangents(*(np.array([one]) for one in (*values, low, high)))
            log_odds = float(rng.uniform(-30, 30))
            up, down = bet.log_payoffs(np.array([log_odds]))
            for paid, most in zip((up[0, 0], down[0, 0]), exact(bet, log_odds), strict=True):
                worst = max(worst, mpmath.exp(mpmath.mpf(float(paid))) / most / (1 - SCALED) - 1)
    assert 10 * worst < SCALED
