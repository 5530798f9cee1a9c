"""The Rényi tester: thresholds, what it finds in which outputs, what it refuses; its networks."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest

from dpaudit.claims import ZCDP, ApproxDP, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.report import lower
from dpaudit.testers import Examiner, Finding, RenyiTester, mironov, pure_renyi

ALPHA = 0.05
NEEDS_TORCH = "the neural testers need torch: pip install 'dpaudit[neural]'"


def examined(outputs: Any, others: Any, claim: Any, seed: int = 0, **settings: Any) -> Finding:
    rng = np.random.default_rng(seed)
    return RenyiTester(**settings).examine(outputs, others, claim, alpha=ALPHA, rng=rng)


# What claims allow


@pytest.mark.parametrize("order", [1.001, 1.1, 2.0, 7.5, 64.0, 1000.0])
@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.3, 1.0, 5.7, 50.0])
def test_the_sharp_threshold_against_high_precision(epsilon: float, order: float) -> None:
    with mp.workdps(60):
        a, e = mp.mpf(order), mp.mpf(epsilon)
        ratio = (mp.sinh(a * e) - mp.sinh((a - 1) * e)) / mp.sinh(e)
        expected = mp.log(ratio) / (a - 1)
        p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))  # randomized response, by the definition
        divergence = mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)
        assert abs(divergence - expected) < mp.mpf(10) ** -40 * (1 + 1 / (a - 1))
    assert pure_renyi(epsilon, order) == pytest.approx(float(expected), rel=1e-11)
    assert pure_renyi(epsilon, order) <= mironov(epsilon, order) * (1 + 1e-12)
    assert pure_renyi(0.0, order) == mironov(0.0, order) == 0.0


@pytest.mark.parametrize(
    ("claim", "order", "allowed"),
    [
        (RenyiDP(3.0, 0.7), None, 0.7),
        (RenyiDP(3.0, 0.7), 3.0, 0.7),
        (ZCDP(0.5), 4.0, 2.0),
        (GaussianDP(2.0), 1.5, 3.0),
        (PureDP(1.0), 2.0, math.log(math.cosh(1.5) / math.cosh(0.5))),
    ],
)
def test_thresholds(claim: Any, order: float | None, allowed: float) -> None:
    assert RenyiTester(order=order).threshold(claim) == pytest.approx(allowed, rel=1e-14)


def test_default_orders_and_rules() -> None:
    tester = RenyiTester()
    assert tester.order_for(PureDP(1.0)) == 64.0
    assert tester.order_for(ZCDP(1.0)) == tester.order_for(GaussianDP(1.0)) == 1.1
    assert tester.order_for(RenyiDP(1.5, 1.0)) == 1.5
    loose = RenyiTester(threshold_rule="mironov")
    assert loose.threshold(PureDP(1.0)) == 1.0 > tester.threshold(PureDP(1.0))


@pytest.mark.parametrize(
    "claim", [PureDP(1.0), ZCDP(1.0), GaussianDP(1.0), RenyiDP(64.0, 1.0)], ids=str
)
@pytest.mark.parametrize("rule", ["sharp", "mironov"])
@pytest.mark.parametrize("strength", [1e-4, 0.03, 1.0, 6.0])
def test_the_strength_is_the_one_that_allows_the_divergence(
    claim: Any, rule: str, strength: float
) -> None:
    tester = RenyiTester(threshold_rule=rule)
    allowed = tester.threshold(claim.with_strength(strength))
    assert tester._with_strength(claim, allowed).strength_lower == pytest.approx(strength, rel=1e-9)
    for nothing in (-math.inf, 0.0):
        assert tester._with_strength(claim, nothing).strength_lower == 0.0


@pytest.mark.parametrize(
    "claim", [ApproxDP(1.0, 1e-6), Profile(PureDP(1.0).delta, name="other")], ids=["approx", "any"]
)
def test_claims_about_no_divergence_are_refused(claim: Any) -> None:
    message = "bounds no Rényi divergence.*use HockeyStickTester or HistogramTester"
    with pytest.raises(UnsupportedClaim, match=message):
        RenyiTester().threshold(claim)
    with pytest.raises(UnsupportedClaim, match=message):
        examined(np.zeros(100), np.ones(100), claim)


def test_another_order_is_refused() -> None:
    message = re.escape("use RenyiTester(order=3), or leave the order out")
    with pytest.raises(UnsupportedClaim, match=message):
        RenyiTester(order=2.0).threshold(RenyiDP(3.0, 1.0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 1.0}, "order must be a number > 1, got 1.0"),
        ({"order": math.inf}, "order must be a number > 1, got inf"),
        ({"order": math.nan}, "order must be a number > 1, got nan"),
        ({"degree": 0}, "degree must be at least 1, got 0"),
        ({"witness": "linear"}, "witness must be one of 'chebyshev', 'neural', got 'linear'"),
        ({"bound": "hoeffding"}, "bound must be one of 'betting', 'bernstein', 'chernoff', got"),
        (
            {"threshold_rule": "tight"},
            "threshold_rule must be one of 'sharp', 'mironov', got",
        ),
    ],
    ids=["one", "infinite", "nan", "degree", "witness", "bound", "rule"],
)
def test_settings_that_mean_nothing(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RenyiTester(**settings)


# What it finds


@pytest.mark.parametrize(
    ("bound", "epsilon"), [("betting", 8.5), ("bernstein", 7.5), ("chernoff", 5.7)]
)
def test_a_deterministic_leak_is_flagged(bound: str, epsilon: float) -> None:
    """At half of alpha = 0.05, which is what a direction gets."""
    tester, claim = RenyiTester(bound=bound), PureDP(epsilon)
    outputs, others = np.zeros(50_000), np.ones(50_000)
    rng = np.random.default_rng(1)
    finding = tester.examine(outputs, others, claim, alpha=ALPHA / 2, rng=rng)
    assert finding.lower_bound > tester.threshold(claim)
    assert finding.strength_lower is not None
    assert finding.strength_lower > epsilon
    best = tester.best(claim, 50_000, 50_000, alpha=ALPHA / 2)
    assert best.lower_bound - 0.15 < finding.lower_bound < best.lower_bound


def test_gaussian_noise_is_measured_at_several_orders() -> None:
    """`R_order = order mu^2 / 2`; the bound is below it, and not far."""
    rng = np.random.default_rng(3)
    outputs, others = 1.0 + rng.normal(size=30_000), rng.normal(size=30_000)
    for order, share in ((1.1, 0.85), (2.0, 0.75), (4.0, 0.5)):
        truth = order / 2.0
        finding = examined(outputs, others, RenyiDP(order, truth))
        assert share * truth < finding.lower_bound < truth
    for claim in (GaussianDP(0.8), ZCDP(0.32)):
        assert examined(outputs, others, claim).lower_bound > RenyiTester().threshold(claim)


@pytest.mark.parametrize("where", [np.nan, np.inf, -np.inf])
def test_a_rare_value_on_one_side_only_is_found(where: float) -> None:
    rng = np.random.default_rng(4)
    outputs, others = rng.normal(size=(2, 30_000))
    outputs[rng.random(30_000) < 0.01] = where
    finding = examined(outputs, others, PureDP(1.0))
    assert finding.strength_lower is not None
    assert finding.strength_lower > 2.0
    assert examined(others, outputs, PureDP(1.0)).lower_bound < 0.1  # the other way it is no leak


def test_words_and_mixed_objects() -> None:
    rng = np.random.default_rng(5)
    words = [f"word {i}" for i in rng.integers(0, 100, 12_000)]
    fewer = [f"word {i}" for i in rng.integers(0, 98, 12_000)]
    assert examined(words, fewer, PureDP(1.0)).lower_bound > 1.0
    mixed = [None if i % 3 else ("yes" if i % 2 else 2.5) for i in range(6_000)]
    plain = [2.5 if i % 3 else ("yes" if i % 2 else None) for i in range(6_000)]
    truth = math.log(4.0)  # None: 4/6 against 1/6
    finding = examined(mixed, plain, PureDP(1.0))
    assert finding.strength_lower is not None
    assert 1.2 < finding.strength_lower < truth


def test_a_pattern_of_integers_is_found() -> None:
    rng = np.random.default_rng(6)
    even, any_integer = 2 * rng.integers(0, 60, 20_000), rng.integers(0, 120, 20_000)
    assert examined(any_integer, even, PureDP(2.0)).lower_bound > 5.0
    finding = examined(even, any_integer, PureDP(0.5))
    assert finding.strength_lower is not None
    assert 0.6 < finding.strength_lower < math.log(2.0)


def test_fifty_dimensions() -> None:
    rng = np.random.default_rng(7)
    outputs, others = rng.normal(size=(2, 6_000, 50))
    outputs[:, 17] += 2.0
    finding = examined(outputs, others, GaussianDP(1.0))
    assert finding.strength_lower is not None
    assert 1.2 < finding.strength_lower < 2.0


def test_constant_outputs_say_nothing() -> None:
    assert examined(np.ones(500), np.ones(500), PureDP(0.5)).lower_bound <= 0.0
    assert examined(["a"] * 500, ["a"] * 500, PureDP(0.5)).strength_lower == 0.0


def test_unequal_sizes_and_shapes() -> None:
    zeros, ones = np.zeros(200), np.ones(20_000)
    many = examined(zeros, ones, PureDP(1.0)).lower_bound
    few = examined(np.zeros(20_000), np.ones(200), PureDP(1.0)).lower_bound
    assert many > few > 1.0  # it is the neighbour's draws that show how rare an output is
    rng = np.random.default_rng(8)
    outputs, others = rng.laplace(size=(2, 3_000))
    flat = examined(outputs + 2, others, PureDP(1.0))
    assert flat == examined(outputs[:, None] + 2, others, PureDP(1.0))
    assert flat == examined(outputs + 2, others[:, None], PureDP(1.0))


def test_more_columns_on_one_side_are_a_leak() -> None:
    rng = np.random.default_rng(9)
    one, two = rng.normal(size=3_000), rng.normal(size=(3_000, 2))
    assert examined(one, two, PureDP(1.0)).lower_bound > 1.0


# What it refuses, and the protocol


@pytest.mark.parametrize("size", [0, 1])
def test_too_few_outputs_are_refused(size: int) -> None:
    for pair in ((np.zeros(size), np.ones(9)), (np.ones(9), np.zeros(size))):
        with pytest.raises(ValueError, match=f"must hold at least 2 outputs.*got {size}"):
            examined(*pair, PureDP(1.0))


@pytest.mark.parametrize("size", [2, 5, 6, 10])
def test_a_handful_of_outputs_can_never_refute(size: int) -> None:
    with pytest.raises(Underpowered, match="can never refute 1-DP"):
        examined(np.zeros(size), np.ones(size), PureDP(1.0))


@pytest.mark.parametrize("bound", ["betting", "bernstein", "chernoff"])
def test_powerless_settings_name_the_smallest_violation(bound: str) -> None:
    tester = RenyiTester(bound=bound)
    best = tester.best(PureDP(20.0), 3000, 3000, alpha=ALPHA)
    assert best.strength_lower is not None
    reach = re.escape(f"epsilon >= {lower(best.strength_lower)}")
    with pytest.raises(Underpowered, match=f"can never refute 20-DP with 3000 and 3000.*{reach}"):
        examined(np.zeros(3000), np.ones(3000), PureDP(20.0), bound=bound)
    within = PureDP(0.9 * best.strength_lower)
    finding = examined(np.zeros(3000), np.ones(3000), within, bound=bound)
    assert finding.lower_bound > tester.threshold(within)


@pytest.mark.parametrize("alpha", [0.0, 1.0, math.nan])
def test_alpha_is_a_probability(alpha: float) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"alpha must be in \(0, 1\)"):
        RenyiTester().examine(np.zeros(99), np.ones(99), PureDP(1.0), alpha=alpha, rng=rng)


def test_the_protocol_and_the_same_rng() -> None:
    tester = RenyiTester()
    assert isinstance(tester, Examiner)
    rng = np.random.default_rng(10)
    outputs, others = 1.0 + rng.laplace(size=2_000), rng.laplace(size=2_000)
    kept = outputs.copy()
    finding = examined(outputs, others, PureDP(0.3), seed=1)
    bound = tester.lower_bound(
        outputs, others, PureDP(0.3), alpha=ALPHA, rng=np.random.default_rng(1)
    )
    assert bound == finding.lower_bound
    assert (outputs == kept).all()
    assert examined(outputs, others, PureDP(0.3), seed=2).lower_bound != bound


def test_words_that_never_repeat_tell_nothing() -> None:
    """More words than a table can tell apart, of a mechanism that ignores its data."""
    rng = np.random.default_rng(11)
    outputs, others = ([f"{word:x}" for word in rng.integers(2**60, size=9_000)] for _ in range(2))
    found = RenyiTester().examine(outputs, others, PureDP(0.1), alpha=1e-6, rng=rng)
    assert found.strength_lower is not None
    assert found.strength_lower <= 0.1


# Networks


def test_without_torch_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    rng = np.random.default_rng(0)
    with pytest.raises(ImportError, match=re.escape('pip install "dpaudit[neural]"')):
        RenyiTester(witness="neural").examine(
            np.zeros(500), np.ones(500), PureDP(1.0), alpha=ALPHA, rng=rng
        )


def test_the_neural_tester_finds_what_no_sum_over_columns_does() -> None:
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    rng = np.random.default_rng(15)
    first, second = rng.normal(size=(2, 6_000, 2))
    same = np.stack([first[:, 0], first[:, 0] + 0.3 * first[:, 1]], axis=1)
    opposite = np.stack([second[:, 0], -second[:, 0] + 0.3 * second[:, 1]], axis=1)
    claim = PureDP(1.0)
    neural = [examined(same, opposite, claim, witness="neural", device="cpu") for _ in range(2)]
    assert neural[0].lower_bound > 2.0
    assert neural[0] == neural[1]
    assert examined(same, opposite, claim).lower_bound < 0.5


def test_the_neural_tester_sees_atoms() -> None:
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    rng = np.random.default_rng(16)
    outputs, others = rng.normal(size=(2, 6_000))
    outputs[:300] = np.nan
    finding = examined(outputs, others, PureDP(1.0), witness="neural", device="cpu")
    assert finding.strength_lower is not None
    assert finding.strength_lower > 2.0
