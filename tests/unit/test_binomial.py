"""Clopper-Pearson bounds against the exact tails they invert, and against exact coverage."""

import math
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
from scipy import stats

from dpaudit.bounds import epsilon_from_event, proportion_lower, proportion_upper

ALPHAS = (0.4, 0.05, 1e-6, 1e-12)
SMALL = [(hits, draws) for draws in (1, 2, 5, 17) for hits in range(draws + 1)]


def at_least(hits: int, draws: int, p: Any) -> Any:
    """`Pr[Binomial(draws, p) >= hits]`, summed in high precision."""
    return sum(math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(hits, draws + 1))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_lower_bound_is_where_the_tail_is_alpha(alpha: float) -> None:
    with mp.workdps(60):
        for hits, draws in SMALL:
            lower = proportion_lower(hits, draws, alpha)
            if hits == 0:
                assert lower == 0.0
                continue
            step = mp.mpf(lower) * mp.mpf("1e-10")
            below, above = (at_least(hits, draws, lower + s) for s in (-step, step))
            assert below < alpha < above, (hits, draws)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_upper_bound_is_where_the_tail_is_alpha(alpha: float) -> None:
    with mp.workdps(60):
        for hits, draws in SMALL:
            upper = proportion_upper(hits, draws, alpha)
            if hits == draws:
                assert upper == 1.0
                continue
            # 1 - p is taken first: misses of 1 - upper are as rare as hits of lower
            miss = 1 - mp.mpf(upper)
            step = miss * mp.mpf("1e-10") + mp.mpf(2) ** -52  # upper is only a double
            misses = draws - hits
            tails = (at_least(misses, draws, max(mp.mpf(0), miss + s)) for s in (-step, step))
            below, above = tails
            assert below < alpha < above, (hits, draws)


@pytest.mark.parametrize("alpha", [0.05, 1e-6, 1e-12])
@pytest.mark.parametrize("draws", [1000, 300_000])
def test_large_counts_against_scipy(draws: int, alpha: float) -> None:
    hits = np.array([1, 3, 40, draws // 10, draws // 2, draws - 40])
    lower = proportion_lower(hits, draws, alpha)
    upper = proportion_upper(hits, draws, alpha)
    for h, low, high in zip(hits.tolist(), lower.tolist(), upper.tolist(), strict=True):
        assert stats.binom.sf(h - 1, draws, low * (1 - 1e-8)) < alpha
        assert stats.binom.sf(h - 1, draws, low * (1 + 1e-8)) > alpha
        assert stats.binom.cdf(h, draws, 1 - (1 - high) * (1 + 1e-8)) > alpha
        assert stats.binom.cdf(h, draws, 1 - (1 - high) * (1 - 1e-8)) < alpha


@pytest.mark.parametrize("alpha", [0.3, 0.05, 0.001])
@pytest.mark.parametrize("draws", [1, 2, 7, 20])
def test_the_exact_chance_of_missing_the_truth_is_at_most_alpha(draws: int, alpha: float) -> None:
    hits = np.arange(draws + 1)
    lower = proportion_lower(hits, draws, alpha)
    upper = proportion_upper(hits, draws, alpha)
    grid = np.linspace(0.0, 1.0, 201)
    # the worst truths are just beyond a bound
    truths = np.unique(np.concatenate([grid, lower - 1e-9, upper + 1e-9]).clip(0.0, 1.0))
    chances = stats.binom.pmf(hits[None, :], draws, truths[:, None])
    too_high = (chances * (lower[None, :] > truths[:, None])).sum(axis=1)
    too_low = (chances * (upper[None, :] < truths[:, None])).sum(axis=1)
    assert too_high.max() <= alpha
    assert too_low.max() <= alpha
    assert too_high.max() > alpha * 0.999  # and no wider than it must be
    assert too_low.max() > alpha * 0.999


def test_the_ends_in_closed_form() -> None:
    for draws in (1, 10, 10**6):
        for alpha in ALPHAS:
            assert proportion_lower(draws, draws, alpha) == pytest.approx(
                alpha ** (1 / draws), rel=1e-13
            )
            none = -math.expm1(math.log(alpha) / draws)
            assert proportion_upper(0, draws, alpha) == pytest.approx(none, rel=1e-13)
    assert (proportion_lower(0, 0, 0.05), proportion_upper(0, 0, 0.05)) == (0.0, 1.0)


def test_arrays_broadcast_and_scalars_stay_plain() -> None:
    hits, draws = np.array([[0], [3], [5]]), np.array([5, 9])
    for bound in (proportion_lower, proportion_upper):
        table = bound(hits, draws, 0.01)
        assert table.shape == (3, 2)
        for i in range(3):
            for j in range(2):
                assert table[i, j] == bound(int(hits[i, 0]), int(draws[j]), 0.01)
        assert type(bound(3, 9, 0.01)) is float
        assert type(bound(np.int64(3), np.int64(9), 0.01)) is float  # type: ignore[call-overload]
        assert bound(3, draws, 0.01).shape == (2,)
    assert hits.tolist() == [[0], [3], [5]]
    assert draws.tolist() == [5, 9]


@pytest.mark.parametrize("bound", [proportion_lower, proportion_upper])
@pytest.mark.parametrize(
    ("hits", "draws", "alpha", "message"),
    [
        (-1, 5, 0.05, "hits must be between 0 and draws, got -1 of 5"),
        (6, 5, 0.05, "hits must be between 0 and draws, got 6 of 5"),
        (np.array([1, 6]), 5, 0.05, "hits must be between 0 and draws"),
        (1.0, 5, 0.05, "hits must be whole numbers"),
        (1, 5.5, 0.05, "draws must be whole numbers"),
        (True, 5, 0.05, "hits must be whole numbers"),
        (1, 5, 0.0, r"alpha must be in \(0, 1\), got 0.0"),
        (1, 5, 1.0, "alpha must be in"),
        (1, 5, math.nan, "alpha must be in"),
    ],
)
def test_nonsense_is_refused(bound: Any, hits: Any, draws: Any, alpha: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bound(hits, draws, alpha)


def test_unsigned_counts_do_not_wrap() -> None:
    hits, draws = np.array([6], dtype=np.uint8), np.array([5], dtype=np.uint8)
    with pytest.raises(ValueError, match="hits must be between 0 and draws"):
        proportion_lower(hits, draws, 0.05)
    assert proportion_upper(draws, hits, 0.05)[0] == proportion_upper(5, 6, 0.05)


def test_epsilon_from_event() -> None:
    assert epsilon_from_event(0.5, 0.1, 0.0) == pytest.approx(math.log(5), rel=1e-15)
    assert epsilon_from_event(0.5, 0.1, 0.2) == pytest.approx(math.log(3), rel=1e-15)
    assert epsilon_from_event(1e-9, 1e-12, 0.0) == pytest.approx(math.log(1000), rel=1e-13)
    assert epsilon_from_event(0.5, 0.5, 0.0) == 0.0
    assert epsilon_from_event(0.1, 0.5, 0.0) == 0.0
    assert epsilon_from_event(0.1, 0.0, 0.2) == 0.0  # all of it may be delta
    assert epsilon_from_event(0.1, 0.0, 0.1) == 0.0
    assert epsilon_from_event(0.1, 0.0, 0.0) == math.inf
    assert epsilon_from_event(1.0, 5e-324, 0.0) == pytest.approx(744.44, abs=0.01)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_epsilon_from_event_wants_probabilities(bad: float) -> None:
    for place, name in enumerate(("p_lower", "q_upper", "delta")):
        values = [0.5, 0.1, 0.0]
        values[place] = bad
        with pytest.raises(ValueError, match=f"{name} must be a probability"):
            epsilon_from_event(*values)
