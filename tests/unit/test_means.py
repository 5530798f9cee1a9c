"""Bounds on means: exact chance of missing the truth, closed forms, edges and widths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpaudit.bounds import (
    bernstein_width,
    chernoff_slack,
    mean_lower,
    mean_reach,
    mean_upper,
    means,
    normal_quantile,
)


def sequences(points: tuple[float, ...], draws: int) -> Iterator[np.ndarray[Any, Any]]:
    for values in itertools.product(points, repeat=draws):
        yield np.array(values)


@pytest.mark.parametrize("alpha", [0.4, 0.1])
@pytest.mark.parametrize("draws", [1, 2, 6])
@pytest.mark.parametrize("guess", [None, (0.0, 1.0, 0.0), (1.0,) * 20], ids=["none", "fair", "off"])
def test_betting_on_coins_misses_with_chance_at_most_alpha(
    draws: int, alpha: float, guess: tuple[float, ...] | None
) -> None:
    """All sequences of `draws` coins, against every truth at which a bound is just missed."""
    earlier = None if guess is None else np.array(guess)
    tossed = list(sequences((0.0, 1.0), draws))
    hits = np.array([values.sum() for values in tossed])
    lower = np.array([mean_lower(values, alpha, guess=earlier) for values in tossed])
    upper = np.array([mean_upper(values, alpha, guess=earlier) for values in tossed])
    truths = np.unique(np.concatenate([np.linspace(0, 1, 101), lower - 1e-9, upper + 1e-9]))
    truths = truths[(truths >= 0) & (truths <= 1)][:, None]
    chance = truths**hits * (1 - truths) ** (draws - hits)
    assert ((lower > truths) * chance).sum(axis=1).max() <= alpha
    assert ((upper < truths) * chance).sum(axis=1).max() <= alpha
    if draws == 6 and guess is None:
        assert lower.max() > 0.35  # and it does say something
        assert upper.min() < 0.65


@pytest.mark.parametrize("alpha", [0.4, 0.1])
def test_betting_on_three_values_misses_with_chance_at_most_alpha(alpha: float) -> None:
    points = (0.0, 0.05, 1.0)
    drawn = list(sequences(points, 4))
    counts = np.array([[(values == point).sum() for point in points] for values in drawn])
    lower = np.array([mean_lower(values, alpha) for values in drawn])
    upper = np.array([mean_upper(values, alpha) for values in drawn])
    steps = np.linspace(0, 1, 21)
    for first, second in itertools.product(steps, steps):
        if first + second > 1:
            continue
        shares = np.array([first, second, max(0.0, 1 - first - second)])
        truth = float(shares @ points)
        chance = np.prod(shares**counts, axis=1)
        assert chance[lower > truth + 1e-12].sum() <= alpha, shares
        assert chance[upper < truth - 1e-12].sum() <= alpha, shares


def test_betting_stops_at_the_first_candidate_that_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate refuted beyond one that stands proves nothing: only an unbroken run does."""
    asked: list[Any] = []

    def all_but_the_fourth(values: Any, candidates: Any, *_: Any, **__: Any) -> Any:
        asked.append(candidates)
        return np.arange(len(candidates)) != 3

    monkeypatch.setattr(means, "_refuted", all_but_the_fourth)
    assert mean_lower(np.full(50, 0.5), 0.05) == asked[0][2] < asked[0][3]
    assert mean_upper(np.full(50, 0.5), 0.05) == asked[1][2] > asked[1][3]


@pytest.mark.parametrize("bound", ["bernstein", "hoeffding"])
@pytest.mark.parametrize("draws", [2, 40, 300])
def test_closed_forms_on_coins_miss_with_chance_at_most_alpha(bound: str, draws: int) -> None:
    alpha = 0.2
    coins = [np.repeat([1.0, 0.0], [hits, draws - hits]) for hits in range(draws + 1)]
    lower = np.array([mean_lower(values, alpha, bound=bound) for values in coins])
    upper = np.array([mean_upper(values, alpha, bound=bound) for values in coins])
    truths = np.linspace(0, 1, 201)[:, None]
    chance = stats.binom.pmf(np.arange(draws + 1), draws, truths)
    assert ((lower > truths) * chance).sum(axis=1).max() <= alpha
    assert ((upper < truths) * chance).sum(axis=1).max() <= alpha


@pytest.mark.parametrize("floor", [0.05, 0.4])
def test_chernoff_on_two_values_misses_with_chance_at_most_alpha(floor: float) -> None:
    alpha, draws = 0.2, 400
    hits = np.arange(draws + 1)
    sample = floor + (1 - floor) * hits / draws
    lower = sample / (1 + chernoff_slack(floor, draws, alpha, upper=False))
    upper = sample / (1 - chernoff_slack(floor, draws, alpha, upper=True))
    shares = np.linspace(0, 1, 201)[:, None]
    truths = floor + (1 - floor) * shares
    chance = stats.binom.pmf(hits, draws, shares)
    assert ((lower > truths) * chance).sum(axis=1).max() <= alpha
    assert ((upper < truths) * chance).sum(axis=1).max() <= alpha


def test_chernoff_is_void_where_it_says_nothing() -> None:
    log = math.log(1 / 0.05)
    assert chernoff_slack(0.5, 100, 0.05, upper=False) == pytest.approx(math.sqrt(3 * log / 50))
    assert chernoff_slack(0.5, 100, 0.05, upper=True) == pytest.approx(math.sqrt(2 * log / 50))
    assert chernoff_slack(0.0, 100, 0.05, upper=True) == math.inf
    at_one = 3 * log / 100  # eta is 1 there, up to rounding
    assert chernoff_slack(at_one * 1.0001, 100, 0.05, upper=False) <= 1
    assert chernoff_slack(at_one * 0.9999, 100, 0.05, upper=False) == math.inf
    assert chernoff_slack(2 * log / 100 * 0.9999, 100, 0.05, upper=True) == math.inf
    assert chernoff_slack(np.array([1.0, 1e-9]), 100, 0.05, upper=True)[1] == math.inf


def test_formulas_by_hand() -> None:
    values = np.array([0.1, 0.5, 0.9, 0.3])
    log = math.log(2 / 0.05)
    width = math.sqrt(2 * values.var(ddof=1) * log / 4) + 7 * log / 9
    assert bernstein_width(values.var(ddof=1), 4, 0.05) == pytest.approx(width, rel=1e-14)
    assert mean_lower(values, 0.05, bound="bernstein") == 0.0  # never below what is known
    many = np.tile(values, 500)
    width = math.sqrt(2 * many.var(ddof=1) * log / 2000) + 7 * log / (3 * 1999)
    assert mean_lower(many, 0.05, bound="bernstein") == pytest.approx(0.45 - width, rel=1e-12)
    width = math.sqrt(math.log(20) / 4000)
    assert mean_upper(many, 0.05, bound="hoeffding") == pytest.approx(0.45 + width, rel=1e-12)
    assert normal_quantile(0.0125) == pytest.approx(stats.norm.isf(0.0125), rel=1e-12)


@pytest.mark.parametrize("bound", means.BOUNDS)
def test_edges(bound: str) -> None:
    none, one = np.empty(0), np.array([0.7])
    assert (mean_lower(none, 0.05, bound=bound), mean_upper(none, 0.05, bound=bound)) == (0, 1)
    assert 0 <= mean_lower(one, 0.05, bound=bound) < 0.7 < mean_upper(one, 0.05, bound=bound) <= 1
    for value in (0.0, 0.3, 1.0):
        same = np.full(5000, value)
        low, high = mean_lower(same, 0.05, bound=bound), mean_upper(same, 0.05, bound=bound)
        assert 0 <= low <= value <= high <= 1
        assert high - low < 0.05


def test_reach_is_what_values_all_alike_come_close_to() -> None:
    for draws, alpha in ((60, 0.05), (4000, 0.0125), (100_000, 1e-6)):
        reach = mean_reach(draws, alpha)
        guess = np.zeros(draws // 4)
        upper = mean_upper(np.zeros(draws), alpha, guess=guess)
        lower = mean_lower(np.ones(draws), alpha, guess=1 - guess)
        assert reach <= upper <= 1.1 * reach
        assert reach <= 1 - lower <= 1.1 * reach
        assert reach <= 1.15 * (1 - alpha ** (1 / draws))  # the least that any bound can give
        for bound in ("bernstein", "hoeffding"):
            reached = mean_upper(np.zeros(draws), alpha, bound=bound)
            assert mean_reach(draws, alpha, bound) == pytest.approx(reached, rel=1e-12)
    assert mean_reach(0, 0.05) == 1.0


@pytest.mark.parametrize("power", [1, 6, 30])
def test_betting_is_nearly_as_narrow_as_the_normal_approximation(power: int) -> None:
    """Skewed to the left: at power 30 nine values in ten are below 0.05, a few near 1.

    Null: the width is below 1.3 normal ones; held for 40 of 40 seeds, the widest 1.21.
    Alternative: bounds as wide as at alpha / 10, or Bernstein's, caught for 40 of 40 seeds.
    """
    rng = np.random.default_rng(11)
    values, guess = rng.random(20_000) ** power, rng.random(8_000) ** power
    error = normal_quantile(0.0125) * values.std() / math.sqrt(len(values))
    low = values.mean() - mean_lower(values, 0.0125, guess=guess)
    high = mean_upper(values, 0.0125, guess=guess) - values.mean()
    assert max(low, high) < 1.3 * error
    assert max(low, high) < mean_upper(values, 0.0125, bound="bernstein") - values.mean()


def test_betting_is_near_clopper_pearson_on_rare_events() -> None:
    """Null: the bound is below 1.4 times the exact one; held for 40 of 40 seeds, the largest 1.11.

    Alternative: Hoeffding's bound, 3 times the exact one or more where events are rarer than 0.02,
    caught for 40 of 40 seeds.
    """
    rng = np.random.default_rng(5)
    for chance in (0.0005, 0.002, 0.02):
        values, guess = (rng.random(size) < chance for size in (30_000, 10_000))
        hits = int(values.sum())
        exact = stats.beta.isf(0.0125, hits + 1, len(values) - hits)
        assert mean_upper(values.astype(float), 0.0125, guess=guess.astype(float)) < 1.4 * exact


def test_a_wrong_guess_costs_power_only() -> None:
    values = np.tile([0.2, 0.4], 3000)
    for guess in (np.zeros(1000), np.ones(1000), np.full(1000, 0.9)):
        assert 0.0 < mean_lower(values, 0.01, guess=guess) < 0.3
        assert 0.3 < mean_upper(values, 0.01, guess=guess) < 1.0


def test_lower_and_upper_mirror_each_other() -> None:
    rng = np.random.default_rng(2)
    values, guess = rng.beta(0.5, 3, 3000), rng.beta(0.5, 3, 1000)
    for bound in means.BOUNDS:
        upper = mean_upper(values, 0.02, bound=bound, guess=guess)
        mirrored = 1 - mean_lower(1 - values, 0.02, bound=bound, guess=1 - guess)
        assert upper == pytest.approx(mirrored, rel=1e-9)


def test_a_smaller_alpha_gives_a_wider_bound_and_arguments_stay() -> None:
    values = np.random.default_rng(3).random(2000)
    before = values.copy()
    for bound in means.BOUNDS:
        wide, narrow = (mean_lower(values, alpha, bound=bound) for alpha in (1e-6, 0.1))
        assert wide < narrow < values.mean()
        assert mean_lower(values, 0.1, bound=bound) == narrow
    assert (values == before).all()


@pytest.mark.parametrize("function", [mean_lower, mean_upper])
@pytest.mark.parametrize(
    ("values", "alpha", "bound", "message"),
    [
        ([0.5, 1.5], 0.05, "betting", r"values must be in \[0, 1\], got 0.5 to 1.5. Scale them"),
        ([-0.1, 0.5], 0.05, "betting", r"values must be in \[0, 1\], got -0.1 to 0.5"),
        ([0.5, math.nan], 0.05, "betting", r"values must be in \[0, 1\], got nan"),
        ([[0.5]], 0.05, "betting", r"values must be in one row, got an array of shape \(1, 1\)"),
        ([0.5], 0.0, "betting", r"alpha must be in \(0, 1\), got 0.0"),
        ([0.5], math.nan, "betting", r"alpha must be in \(0, 1\), got nan"),
        ([0.5], 0.05, "student", "bound must be one of betting, bernstein, hoeffding, got 'stud"),
    ],
)
def test_nonsense_is_refused(
    function: Any, values: list[Any], alpha: float, bound: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        function(np.array(values), alpha, bound=bound)
