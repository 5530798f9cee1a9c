"""The MMD tester: estimates against naive loops, thresholds, bad inputs, and what it must find."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.testers import Examiner, MMDTester
from dpaudit.testers.kernels import (
    Kind,
)

KINDS: tuple[Kind, ...] = ("rbf", "laplacian")
ROOT2 = math.sqrt(2.0)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def flagged(outputs: Any, neighbour_outputs: Any, claim: Claim, **settings: Any) -> bool:
    """Whether the tester refutes at the alpha that one direction of a run at 0.05 gets."""
    tester = MMDTester(**settings)
    bound = tester.lower_bound(outputs, neighbour_outputs, claim, alpha=0.025, rng=rng())
    return bound > tester.threshold(claim)


# Thresholds


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 3.0, 800.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
def test_the_threshold_is_root_two_times_total_variation(epsilon: float, delta: float) -> None:
    likely = math.tanh(epsilon / 2.0)  # (e^epsilon - 1) / (e^epsilon + 1)
    unlikely = 2.0 / (math.exp(min(epsilon, 700.0)) + 1.0)
    expected = ROOT2 * (likely + unlikely * delta)
    assert MMDTester().threshold(ApproxDP(epsilon, delta)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "claim", [GaussianDP(1.0), ZCDP(0.5), RenyiDP(2.0, 0.5), Profile(PureDP(1.0).delta)], ids=str
)
def test_every_claim_has_a_threshold_but_not_by_the_papers_rule(claim: Claim) -> None:
    assert MMDTester().threshold(claim) == ROOT2 * claim.delta(0.0)
    with pytest.raises(UnsupportedClaim, match='rule="paper" knows PureDP and ApproxDP, got'):
        MMDTester(rule="paper").threshold(claim)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.3])
def test_the_papers_threshold_is_larger(epsilon: float, delta: float) -> None:
    paper = MMDTester(rule="paper").threshold(ApproxDP(epsilon, delta))
    assert paper == pytest.approx(math.exp(epsilon) - 1 + (1 + math.exp(-epsilon)) * delta)
    assert paper >= MMDTester().threshold(ApproxDP(epsilon, delta))


def test_an_epsilon_beyond_floats_has_a_threshold_by_the_papers_rule() -> None:
    assert math.isfinite(MMDTester(rule="paper").threshold(PureDP(1e6)))


@pytest.mark.parametrize(
    "claim", [PureDP(0.2), ApproxDP(0.2, 0.05), GaussianDP(0.2), ZCDP(0.02)], ids=str
)
def test_the_strength_bound_is_where_the_threshold_meets_the_bound(claim: Any) -> None:
    tester, generator = MMDTester(), rng(0)
    data, neighbour = generator.random(20_000) < 0.8, generator.random(20_000) < 0.2
    found = tester.examine(data, neighbour, claim, alpha=0.025, rng=rng(1))
    assert found.strength_lower is not None
    met = tester.threshold(claim.with_strength(found.strength_lower))
    assert met == pytest.approx(found.lower_bound, abs=1e-9)
    assert met <= found.lower_bound


def test_there_is_no_strength_without_a_dial_nor_below_zero() -> None:
    tester, (x, y) = MMDTester(), rng(0).normal(size=(2, 5_000))
    profile = Profile(PureDP(0.2).delta)
    assert tester.examine(x, y, profile, alpha=0.025, rng=rng(1)).strength_lower is None
    assert tester.examine(x, y, PureDP(0.2), alpha=0.025, rng=rng(1)).strength_lower == 0.0


# What it must show


@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "laplacian"}, {"estimator": "linear"}], ids=str
)
def test_a_deterministic_leak_is_flagged_at_epsilon_1(settings: dict[str, Any]) -> None:
    zeros, ones = np.zeros(50_000), np.ones(50_000)
    assert flagged(zeros, ones, PureDP(1.0), **settings)
    assert flagged(ones, zeros, PureDP(1.0), **settings)
    assert flagged(zeros, ones, PureDP(7.0), **settings)


def test_the_papers_rule_is_refused_where_it_can_never_refute() -> None:
    """`e^epsilon - 1` passes the largest possible discrepancy, root 2, at log(1 + root 2)."""
    paper = MMDTester(rule="paper")
    zeros, ones = np.zeros(50_000), np.ones(50_000)
    with pytest.raises(Underpowered, match=r"The most it could certify is epsilon >= 0.881\."):
        paper.lower_bound(zeros, ones, PureDP(1.0), alpha=0.025, rng=rng())
    assert flagged(zeros, ones, PureDP(0.8), rule="paper")
    with pytest.raises(Underpowered):
        paper.lower_bound(zeros, ones, PureDP(math.log1p(ROOT2)), alpha=1e-300, rng=rng())


def test_settings_without_power_are_refused_with_what_they_could_detect() -> None:
    few = np.zeros(20), np.ones(20)
    with pytest.raises(Underpowered, match=r"with 20 and 20 samples .* epsilon >= [01]\.\d+\."):
        MMDTester().lower_bound(*few, PureDP(8.0), alpha=0.025, rng=rng())
    with pytest.raises(Underpowered, match=r"The most it could certify is epsilon >= 0\."):
        MMDTester().lower_bound([0.0] * 2, [1.0] * 2, PureDP(0.1), alpha=0.9, rng=rng())


@pytest.mark.parametrize("size", range(3, 13))
@pytest.mark.parametrize("settings", [{}, {"bandwidth": 0.1}], ids=["median", "fixed"])
def test_a_handful_of_samples_gives_a_bound(size: int, settings: dict[str, Any]) -> None:
    tester, claim = MMDTester(**settings), PureDP(0.0)
    found = tester.examine([0.0] * size, [1.0] * size, claim, alpha=0.9, rng=rng())
    assert 0.0 <= found.lower_bound <= tester.best(claim, size, size, alpha=0.9).lower_bound


@pytest.mark.parametrize("bound", ["betting", "bernstein", "hoeffding"])
@pytest.mark.parametrize("estimator", ["block", "linear"])
@pytest.mark.parametrize("sizes", [(2_000, 3_000), (300, 300), (20_000, 5_000)], ids=str)
def test_nothing_beats_sides_that_differ_at_a_glance(
    bound: Any, estimator: Any, sizes: tuple[int, int]
) -> None:
    tester, claim = MMDTester(bound=bound, estimator=estimator), PureDP(0.01)
    best = tester.best(claim, *sizes, alpha=0.025).lower_bound
    data, neighbour = ["a"] * sizes[0], ["b"] * sizes[1]
    found = tester.lower_bound(data, neighbour, claim, alpha=0.025, rng=rng())
    assert 0.98 * best < found <= best


# Outputs of all kinds


def leaks() -> dict[str, tuple[Any, Any]]:
    noise = rng(7).normal(size=(2, 4_000, 50))
    marked = noise[1].copy()
    marked[:, 17] += 3.0
    numbers = noise[:, :, 0]
    half = rng(8).random(4_000) < 0.7
    return {
        "nan on one side": (numbers[0], np.where(half, np.nan, numbers[1])),
        "inf on one side": (np.where(half, np.inf, numbers[0]), numbers[1]),
        "inf and -inf": (np.full(4_000, np.inf), np.full(4_000, -np.inf)),
        "None on one side": (numbers[0].tolist(), [None] * 4_000),
        "words": (["yes"] * 4_000, ["yes", "no", "no", "no"] * 1_000),
        "words and numbers": ([1.0, "a", None] * 2_000, [1.0, "b", (2, 3)] * 2_000),
        "objects": ([{"a": 1}] * 4_000, [{"a": 2, "b": [3]}] * 3_000),
        "integers": (np.zeros(4_000, dtype=np.int8), np.ones(4_000, dtype=np.uint64)),
        "big integers": ([10**30] * 4_000, [10**30 + 1] * 4_000),
        "booleans": (np.zeros(4_000, dtype=bool), half),
        "a column and a row": (np.zeros((4_000, 1)), np.ones(4_000)),
        "unequal sizes": (np.zeros(40_000), np.ones(500)),
        "lengths": ([[0.0]] * 4_000, [[0.0, 0.0]] * 4_000),
        "one of 50 columns": (noise[0], marked),
        "50 columns": (noise[0], noise[1] + 0.8),
        "constants a hair apart": (np.full(4_000, 1.0), np.full(4_000, np.nextafter(1.0, 2.0))),
        "astronomic": (10.0 ** (300 * half), -(10.0 ** (300 * half))),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", leaks())
def test_a_leak_is_found_whatever_the_outputs(name: str, kind: Kind) -> None:
    data, neighbour = leaks()[name]
    assert flagged(data, neighbour, PureDP(0.3), kernel=kind)
    assert flagged(neighbour, data, PureDP(0.3), kernel=kind)


@pytest.mark.parametrize("name", leaks())
def test_sides_that_are_alike_are_not_flagged(name: str) -> None:
    """The other half of the truth; the same outputs in another order, so that nothing is luck."""
    for side in leaks()[name]:
        assert not flagged(side, side[::-1], PureDP(0.3))


def words_used_once(seed: int) -> list[str]:
    return [f"{number:x}" for number in rng(seed).integers(2**62, size=9_000)]


def keys_of_all_kinds(seed: int) -> list[dict[int, int]]:
    return [{int(key): 1} for key in rng(seed).integers(600, size=1_000)]


@pytest.mark.parametrize("draw", [words_used_once, keys_of_all_kinds])
def test_more_words_and_fields_than_a_table_holds_are_no_leak(draw: Any) -> None:
    """Were the sides tabled one after the other, the first would have the words and columns."""
    assert not flagged(draw(0), draw(1), PureDP(0.0))


def test_a_bandwidth_in_the_outputs_own_units() -> None:
    x, y = rng(0).normal(size=(2, 6_000))
    assert not flagged(x, y + 2.0, PureDP(0.3), bandwidth=1e6)
    assert flagged(x, y + 2.0, PureDP(0.3), bandwidth=1.0)
    assert flagged(1e9 * x, 1e9 * (y + 2.0), PureDP(0.3), bandwidth=1e9)
    assert flagged(np.where(x > 0, x, np.nan), y, PureDP(0.3), bandwidth=1.0)


def test_the_larger_side_counts_too() -> None:
    """Of a side 30 times as large, more than the smaller side's number of outputs is used."""
    tester, claim = MMDTester(), PureDP(0.01)
    x, y = rng(0).normal(size=300_000), rng(1).normal(size=10_000) + 0.8
    unequal = tester.lower_bound(x, y, claim, alpha=0.025, rng=rng())
    equal = tester.lower_bound(x[:10_000], y, claim, alpha=0.025, rng=rng())
    assert unequal > equal


@pytest.mark.parametrize("outputs", [[], [1.0], np.empty((0, 3))], ids=["none", "one", "rows"])
def test_too_few_outputs_are_a_clear_error(outputs: Any) -> None:
    enough = [1.0] * 9
    for data, neighbour, name in ((outputs, enough, ""), (enough, outputs, "neighbour_")):
        with pytest.raises(
            ValueError, match=rf"^{name}outputs must hold at least 2 outputs.* got "
        ):
            MMDTester().lower_bound(data, neighbour, PureDP(1.0), alpha=0.05, rng=rng())


def test_what_is_no_sample_is_a_clear_error() -> None:
    with pytest.raises(TypeError, match="outputs must be an array or a list, got float"):
        MMDTester().lower_bound(1.0, [1.0] * 9, PureDP(1.0), alpha=0.05, rng=rng())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "linear"}, r"kernel must be one of 'rbf', 'laplacian', got 'linear'"),
        ({"estimator": "full"}, r"estimator must be one of 'block', 'linear', got 'full'"),
        ({"bound": "exact"}, r"bound must be one of .*'betting'.*, got 'exact'"),
        ({"rule": "tight"}, r"rule must be one of 'total-variation', 'paper', got 'tight'"),
        ({"bandwidth": "mean"}, r'bandwidth must be "median" or a number > 0, got \'mean\''),
        ({"bandwidth": 0.0}, r"a number > 0, got 0.0"),
        ({"bandwidth": math.nan}, r"a number > 0, got nan"),
        ({"bandwidth": True}, r"a number > 0, got True"),
    ],
    ids=lambda part: "-".join(map(str, *part.items())) if isinstance(part, dict) else "",
)
def test_settings_that_cannot_be_meant_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MMDTester(**settings)


def test_the_same_rng_gives_the_same_bound_and_arguments_stay() -> None:
    x, y = rng(0).normal(size=(2, 3_000))
    kept = x.copy(), y.copy()
    bounds = {
        MMDTester().lower_bound(x, y + 1.0, PureDP(0.1), alpha=0.025, rng=rng(seed))
        for seed in (1, 1, 2)
    }
    assert len(bounds) == 2
    assert np.array_equal(x, kept[0])
    assert np.array_equal(y, kept[1])


def test_it_is_an_examiner_and_a_value() -> None:
    assert isinstance(MMDTester(), Examiner)
    assert MMDTester() == MMDTester()
    assert hash(MMDTester()) == hash(MMDTester(kernel="rbf"))
