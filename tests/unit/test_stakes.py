"""Bounds on trials that count differently: exact, monotone, and Clopper and Pearson's for one."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from dpaudit.bounds import log_tail, proportion_lower, staked_proportion_lower


def enumerated(points: int, stakes: Sequence[int], trials: Sequence[int], p: float) -> float:
    """The probability of so many points or more, summed over all outcomes."""
    found = 0.0
    for hits in itertools.product(*(range(size + 1) for size in trials)):
        if sum(map(int.__mul__, stakes, hits)) >= points:
            found += math.prod(map(stats.binom.pmf, hits, trials, [p] * len(hits)))
    return found


@pytest.mark.parametrize(
    ("stakes", "trials"), [((1, 2, 4), (3, 4, 5)), ((1, 16), (12, 3)), ((3, 5), (6, 7))]
)
@pytest.mark.parametrize("p", [0.01, 0.37, 0.9])
def test_the_tail_is_that_of_all_outcomes(
    stakes: tuple[int, ...], trials: tuple[int, ...], p: float
) -> None:
    most = int(np.dot(stakes, trials))
    for points in range(most + 1):
        found = log_tail(points, np.array(stakes), np.array(trials), p)
        exact = enumerated(points, stakes, trials, p)
        assert math.exp(found) == pytest.approx(exact, rel=1e-9)


def test_a_tail_far_out_keeps_its_digits() -> None:
    one_kind = log_tail(9_000, np.array([1]), np.array([10_000]), 0.5)
    ways = sum(math.comb(10_000, heads) for heads in range(9_000, 10_001))  # exp(-3685) in all
    assert one_kind == pytest.approx(math.log(ways) - 10_000 * math.log(2.0), rel=1e-9)
    split = log_tail(9_000, np.array([1, 1]), np.array([4_000, 6_000]), 0.5)
    assert split == pytest.approx(one_kind, rel=1e-9)


@pytest.mark.parametrize(("hits", "trials"), [(60, 100), (0, 100), (100, 100), (0, 0)])
def test_one_stake_gives_the_bound_of_clopper_and_pearson(hits: int, trials: int) -> None:
    found = staked_proportion_lower([1, 8], [0, hits], [0, trials], 0.01)
    assert found == (proportion_lower(hits, trials, 0.01) if trials else 0.0)


def test_equal_stakes_give_the_bound_of_clopper_and_pearson() -> None:
    for alpha in (0.2, 1e-3, 1e-12):
        found = staked_proportion_lower([2, 2], [300, 260], [500, 400], alpha)
        assert found == pytest.approx(proportion_lower(560, 900, alpha), rel=1e-8)
        assert found <= proportion_lower(560, 900, alpha)


@pytest.mark.parametrize("alpha", [0.5, 0.1, 1e-6])
def test_at_the_bound_the_points_seen_have_probability_alpha(alpha: float) -> None:
    stakes, hits, trials = (1, 4, 16), (5, 6, 3), (9, 8, 4)
    found = staked_proportion_lower(stakes, hits, trials, alpha)
    points = int(np.dot(stakes, hits))
    assert enumerated(points, stakes, trials, found) == pytest.approx(alpha, rel=1e-6)
    assert enumerated(points, stakes, trials, found) <= alpha


def test_a_right_guess_more_never_lowers_the_bound() -> None:
    trials = (20, 20, 20)
    found = [staked_proportion_lower((1, 2, 4), (9, hits, 12), trials, 0.05) for hits in range(21)]
    assert found == sorted(found)
    assert all(0.0 < bound < 1.0 for bound in found)


def test_all_right_or_all_wrong() -> None:
    all_right = staked_proportion_lower((1, 2), (30, 70), (30, 70), 0.05)
    assert all_right == pytest.approx(0.05 ** (1 / 100), rel=1e-8)
    assert staked_proportion_lower((1, 2), (0, 0), (30, 70), 0.05) == 0.0


def test_an_alpha_that_is_no_chance_is_refused() -> None:
    with pytest.raises(ValueError, match=r"alpha must be in \(0, 1\), got 1.5"):
        staked_proportion_lower((1, 2), (3, 4), (5, 6), 1.5)


@pytest.mark.parametrize("p", [0.4, 0.525, 0.8])
def test_where_every_chance_is_p_the_bound_is_above_it_at_most_in_a_share_alpha(p: float) -> None:
    """Exactly on the claim, over all outcomes: what `measure_epsilon` promises of its guesses."""
    stakes, trials, alpha = (1, 2, 16), (4, 3, 2), 0.2
    above = 0.0
    for hits in itertools.product(*(range(size + 1) for size in trials)):
        if staked_proportion_lower(stakes, hits, trials, alpha) > p:
            above += math.prod(map(stats.binom.pmf, hits, trials, [p] * len(hits)))
    assert 0.0 < above <= alpha
