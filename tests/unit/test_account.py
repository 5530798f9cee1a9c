"""What the bets on many pairs are worth together, by hand."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from dpaudit.betting import Account, Stake

Floats = npt.NDArray[np.float64]


def logs(*wealths: float) -> Floats:
    return np.log(np.array(wealths, dtype=np.float64))


def account(levels: int = 1, place: int = 0, alpha: float = 0.05) -> Account:
    return Account(levels, place, alpha)


# --- Stake: what one pair contributes


def test_a_whole_stake_is_the_pairs_own_wealth() -> None:
    stake = Stake(1.0)
    assert np.allclose(np.exp(stake.log_factor(logs(0.5, 1.0, 8.0))), [0.5, 1.0, 8.0])


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_a_fraction_of_the_wealth_takes_part(fraction: float) -> None:
    stake = Stake(fraction)
    wealth = np.array([1e-300, 1.0, 20.0])
    factor = np.exp(stake.log_factor(np.log(wealth)))
    assert np.allclose(factor, 1.0 - fraction + fraction * wealth, rtol=1e-12)


@pytest.mark.parametrize("fraction", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("target", [-0.02, 0.0, 0.7, 3.0, 14.0, 600.0])
def test_the_wealth_needed_gives_the_factor_wanted(fraction: float, target: float) -> None:
    stake = Stake(fraction)
    needed = stake.wealth_needed(target)
    assert stake.log_factor(np.array([needed]))[0] == pytest.approx(target, abs=1e-9)


def test_a_factor_below_what_was_not_staked_needs_no_wealth() -> None:
    assert Stake(0.5).wealth_needed(math.log(0.4)) == -math.inf  # it has it anyway


# --- Account: the product over the pairs


def test_the_wealth_is_the_product_of_the_factors() -> None:
    ours = account(levels=2, place=1)
    ours.update(0, logs(2.0, 3.0), crossed=False)
    ours.update(1, logs(5.0, 0.5), crossed=False)
    assert math.exp(ours.log_wealth) == pytest.approx(1.5)
    ours.update(0, logs(1.0, 4.0), crossed=False)  # a pair's new factor replaces its old one
    assert math.exp(ours.log_wealth) == pytest.approx(2.0)
    assert math.exp(ours.peak) == pytest.approx(3.0)
    ours.update(1, logs(1.0, 0.1), crossed=False)
    assert math.exp(ours.peak) == pytest.approx(3.0)  # what was reached stays reached


def test_the_target_is_where_the_product_reaches_the_goal() -> None:
    ours = account(alpha=0.01)
    ours.update(0, logs(4.0), crossed=False)
    stake = Stake(0.5)
    target = ours.target(1, stake)
    assert math.exp(target) == pytest.approx(2 * 25.0 - 1.0)  # 4 * (1/2 + 1/2 w) = 100
    ours.update(1, stake.log_factor(np.array([target - 1e-6])), crossed=False)
    assert not ours.refuted
    ours.update(1, stake.log_factor(np.array([target + 1e-6])), crossed=False)
    assert ours.refuted


def test_a_crossing_inside_a_batch_counts_even_if_the_wealth_fell_after_it() -> None:
    ours = account(alpha=0.05)
    ours.update(0, logs(19.0), crossed=True)
    assert ours.refuted
    assert math.exp(-ours.peak) <= 0.05 * (1 + 1e-12)


def test_only_an_unbroken_run_of_levels_is_settled() -> None:
    ours = account(levels=4, place=0, alpha=0.1)
    ours.update(0, logs(20.0, 1.0, 20.0, 1.0), crossed=False)
    assert (ours.settled, ours.refuted) == (1, True)  # the third level waits for the second
    ours.update(0, logs(0.1, 20.0, 0.1, 1.0), crossed=False)  # levels keep their peaks
    assert ours.settled == 3
    ours.update(0, logs(1.0, 1.0, 1.0, 10.0 + 1e-9), crossed=False)  # a log may be rounded
    assert ours.settled == 4


def test_a_level_below_the_claim_is_refuted_by_its_own_wealth_and_the_claims() -> None:
    """Two parts of its own bets' wealth, three of the claim's."""
    ours = account(levels=3, place=1, alpha=0.1)
    ours.update(0, logs(17.4, 5.0, 1.0), crossed=False)
    assert ours.settled == 0  # though its own bets alone would have refuted it
    ours.update(0, logs(17.6, 5.0, 1.0), crossed=False)
    assert (ours.settled, ours.refuted) == (1, False)


def test_the_claim_waits_for_the_levels_below_but_not_for_ever() -> None:
    """One alpha for verdict and bound: the claim is refuted with all lower levels or not at all."""
    ours, stake = account(levels=3, place=2, alpha=0.1), Stake(1.0)
    assert math.exp(ours.target(0, stake)) == pytest.approx(10.0)
    ours.update(0, logs(30.0, 1.0, 10.0), crossed=True)
    assert (ours.settled, ours.refuted) == (1, False)  # the second: 0.4 * 1 + 0.6 * 10 < 10
    enough = 10.0 / 0.6  # the claim's part alone settles every lower level
    assert math.exp(ours.target(0, stake)) == pytest.approx(enough)
    ours.update(0, logs(1e-9, 1e-9, enough - 0.1), crossed=False)
    assert not ours.refuted
    ours.update(0, logs(1e-9, 1e-9, enough), crossed=True)
    assert (ours.settled, ours.refuted) == (3, True)


def test_nothing_is_settled_at_the_start() -> None:
    ours = account(levels=3, place=2)
    assert (ours.settled, ours.refuted, ours.log_wealth, ours.peak) == (0, False, 0.0, 0.0)


def test_settled_never_goes_down() -> None:
    rng, ours, settled = np.random.default_rng(4), account(levels=6, place=3, alpha=0.2), 0
    for _ in range(200):
        falling = np.sort(rng.normal(scale=2.0, size=6))[::-1]
        ours.update(int(rng.integers(5)), falling, crossed=False)
        assert ours.settled >= settled
        settled = ours.settled
    assert settled > 0


@pytest.mark.parametrize("fraction", [0.02, 0.5])
def test_fifty_dead_pairs_lose_at_most_their_fractions(fraction: float) -> None:
    ours = account()
    for pair in range(50):
        ours.update(pair, Stake(fraction).log_factor(np.array([-1e9])), crossed=False)
    assert ours.log_wealth == pytest.approx(50 * math.log1p(-fraction))
