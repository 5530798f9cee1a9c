"""StatDP: Fisher's exact test against scipy, the events it knows, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from samples import examine, laplace
from scipy import stats

from dpaudit.arrays import Floats
from dpaudit.bounds import fisher_log_tail
from dpaudit.claims import ApproxDP, GaussianDP, PureDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import LabelledRows
from dpaudit.outputs import MISSING, NAN, Encoder, Table
from dpaudit.testers import StatDP
from dpaudit.testers.statdp import thinned_p_value
from dpaudit.testers.statdp_events import counted_events, described


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("draws", "neighbour_draws"), [(1, 1), (5, 3), (17, 40), (100, 100), (3, 200)]
)
def test_fishers_tail_is_that_of_scipy(draws: int, neighbour_draws: int) -> None:
    for hits in range(draws + 1):
        others = np.arange(neighbour_draws + 1)
        ours = np.exp(fisher_log_tail(hits, draws, others, neighbour_draws))
        total = draws + neighbour_draws
        exact = stats.hypergeom.sf(hits - 1, total, draws, hits + others)
        assert np.all(ours >= np.minimum(exact, 1.0 - 1e-9))  # rounding is added to it
        assert ours == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize(
    ("hits", "others"), [(5_000, 5_200), (5_000, 4_000), (250_000, 150_000), (30, 2), (40_000, 0)]
)
def test_fishers_tail_of_many_draws_is_that_of_scipy(hits: int, others: int) -> None:
    ours = float(fisher_log_tail(hits, 500_000, others, 500_000)[0])
    exact = float(stats.hypergeom.logsf(hits - 1, 1_000_000, 500_000, hits + others))
    assert exact < ours == pytest.approx(exact, rel=1e-6)


def test_the_p_value_is_that_of_the_thinned_hits() -> None:
    luck = rng(2).random(7)
    kept = stats.binom.ppf(luck, 60, math.exp(-0.4))
    each = stats.hypergeom.sf(kept - 1, 220, 100, kept + 25)
    found = [
        thinned_p_value(60, 100, 25, 120, epsilon=0.4, luck=one)
        for one in (luck, *(luck[[place]] for place in range(7)))
    ]
    assert found[1:] == pytest.approx(each, rel=1e-7)  # one thinning: the plain test
    assert found[0] == pytest.approx(2.0 * np.mean(each), rel=1e-7)


def test_the_p_value_does_not_fall_as_epsilon_grows() -> None:
    """So "the largest epsilon refuted with all below" errs only where the true one is refuted."""
    luck = rng(3).random(20)
    levels = np.linspace(0.0, 3.0, 60)
    found = [thinned_p_value(80, 100, 20, 90, epsilon=level, luck=luck) for level in levels]
    assert np.all(np.diff(found) >= -1e-12)
    assert found[0] < 1e-10 < found[-1]


def events_of(ones: Any, zeros: Any) -> list[tuple[int, int]]:
    """All events that outputs suggest: hits as counted at once, and those of asking row by row."""
    table = Encoder().encode([*ones, *zeros])
    labels = np.arange(len(table)) < len(ones)
    events, hits, others = counted_events(LabelledRows.of(table, labels))
    for event, hit, other in zip(events, hits.tolist(), others.tolist(), strict=True):
        held = event.holds(table)
        assert (np.count_nonzero(held & labels), np.count_nonzero(held & ~labels)) == (hit, other)
    return list(zip(hits.tolist(), others.tolist(), strict=True))


def test_values_and_words_are_events_where_they_are_few() -> None:
    assert sorted(events_of(["a", "b", "b"], ["b", "c", "c"])) == [(0, 2), (1, 0), (2, 1)]
    assert sorted(events_of([0, 0, 1], [1, 1, 1])) == [(1, 3), (2, 0)]


def test_intervals_between_ten_cuts_of_the_densest_part_are_events() -> None:
    ones, zeros = laplace(1.0, 300), laplace(0.0, 300, seed=1)
    found = events_of(ones, zeros)
    assert len(found) == 66  # of 11 cells: 11 * 12 / 2 runs
    both = np.sort(np.concatenate([ones, zeros]))
    size = int(0.7 * 600)
    start = int(np.argmin(both[size:] - both[:-size]))
    low, high = both[start], both[start + size]
    inside = [int(np.count_nonzero((low <= side) & (side < high))) for side in (ones, zeros)]
    assert tuple(inside) in found


def test_what_is_computed_from_a_row_is_an_event_too() -> None:
    rows = np.array([[1.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    codes = np.array([[-1, -1, -1], [NAN, MISSING, -1]], dtype=np.int32)
    made = described(Table(rows, codes))
    mean, least, most, present, nan, plus, minus, none, zero, one, _ = made.numbers[:, 3:].T
    assert mean == pytest.approx([5.0 / 3.0, 0.0])
    assert least.tolist() == [0.0, 0.0]
    assert most.tolist() == [4.0, 0.0]
    assert present.tolist() == [3.0, 2.0]
    assert nan.tolist() == [0.0, 1.0]
    assert [plus.tolist(), minus.tolist(), none.tolist()] == [[0.0, 0.0]] * 3
    assert zero.tolist() == [1.0, 1.0]
    assert one.tolist() == [1.0, 0.0]
    sums = rng(0).integers(2, size=(400, 6)).astype(float)
    assert len(events_of(sums[:200], sums[200:])) > 6


def test_statdp_finds_what_only_a_count_within_a_row_tells() -> None:
    """Six coins, of which an even number falls heads on one side, and an odd on the other."""
    coins = rng(0).integers(2, size=(6_000, 6))
    odd = coins.copy()
    odd[:, 0] = (1 + coins[:, 1:].sum(axis=1)) % 2
    coins[:, 0] = coins[:, 1:].sum(axis=1) % 2
    assert examine(StatDP(), coins, odd, PureDP(1.0)).lower_bound > 2.0


def test_more_thinnings_turn_less_on_luck() -> None:
    spread = [
        np.std([_log_p_value(rng(seed).random(thinnings)) for seed in range(20)])
        for thinnings in (1, 200)
    ]
    assert spread[1] < 0.4 * spread[0]
    a, b = laplace(1.0, 4_000), laplace(0.0, 4_000, seed=1)
    assert examine(StatDP(thinnings=1), a, b).lower_bound > 0.3


def _log_p_value(luck: Floats) -> float:
    return math.log(thinned_p_value(500, 2_000, 200, 2_000, epsilon=0.7, luck=luck))


@pytest.mark.parametrize("thinnings", [0, 1.5, True])
def test_an_unknown_number_of_thinnings_is_an_error(thinnings: Any) -> None:
    with pytest.raises(ValueError, match="thinnings must be a whole number"):
        StatDP(thinnings=thinnings)


def test_statdp_tests_pure_claims_only() -> None:
    for claim in (ApproxDP(1.0, 1e-6), GaussianDP(1.0)):
        with pytest.raises(UnsupportedClaim, match="StatDP thins by"):
            examine(StatDP(), laplace(1.0), laplace(0.0), claim)
