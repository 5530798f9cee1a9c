"""The testers of others: their formulas against scipy and by hand, what they find and refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from samples import SIZE, examine, laplace, normal

from dpaudit.bounds import proportion_lower, proportion_upper
from dpaudit.claims import ApproxDP, GaussianDP, Profile, PureDP
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.testers import DPSniper, Examiner, method_of
from dpaudit.testers.dp_sniper import top_share
from dpaudit.testers.logistic import PlainLogistic, bits_of
from dpaudit.testing import check_tester

TESTERS = [DPSniper()]
each_tester = pytest.mark.parametrize("tester", TESTERS, ids=lambda one: type(one).__name__)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- all of them ----------------------------------------------------------------------------------


@each_tester
def test_it_conforms_and_takes_every_kind_of_output(tester: Examiner) -> None:
    check_tester(tester, runs=6, draws=600)


@each_tester
def test_it_says_where_it_comes_from_and_is_exact(tester: Examiner) -> None:
    assert method_of(tester).refutes
    assert " 20" in method_of(tester).source


@each_tester
def test_the_bound_is_that_of_the_finding_and_follows_the_seed(tester: Examiner) -> None:
    a, b = laplace(2.0), laplace(0.0, seed=1)
    claim = PureDP(0.3)
    first = tester.examine(a, b, claim, alpha=0.025, rng=rng(1))
    assert first == tester.examine(a, b, claim, alpha=0.025, rng=rng(1))
    bound = tester.lower_bound(a, b, claim, alpha=0.025, rng=rng(1))
    assert bound == first.lower_bound > tester.threshold(claim)
    assert first.strength_lower is not None
    assert 0.3 < first.strength_lower < 2.0


@each_tester
def test_rows_of_words_and_numbers_are_told_apart(tester: Examiner) -> None:
    ones = [("yes", number) for number in laplace(1.0).tolist()]
    zeros = [("no", number) for number in laplace(0.0, seed=1).tolist()]
    assert examine(tester, ones, zeros, PureDP(1.0)).lower_bound > tester.threshold(PureDP(1.0))


@each_tester
def test_far_numbers_and_infinities_are_told_apart(tester: Examiner) -> None:
    far = 1e300 * laplace(0.0)
    mixed = np.where(rng(2).random(SIZE) < 0.3, math.inf, laplace(0.0))
    for sides in ((far, -np.abs(far)), (mixed, laplace(0.0, seed=1))):
        both = [examine(tester, *each).lower_bound for each in (sides, sides[::-1])]
        assert max(both) > tester.threshold(PureDP(0.3))


@each_tester
@pytest.mark.parametrize("output", [0.0, "a", None, ()])
def test_constant_outputs_are_not_refuted(tester: Examiner, output: Any) -> None:
    finding = examine(tester, [output] * 800, [output] * 800, PureDP(0.1), alpha=1e-7)
    assert finding.lower_bound <= tester.threshold(PureDP(0.1))
    assert finding.strength_lower == 0.0


@each_tester
def test_too_few_outputs_are_refused(tester: Examiner) -> None:
    with pytest.raises(Underpowered, match="can never refute 1-DP with 4 and 4 samples"):
        examine(tester, np.zeros(4), np.ones(4), PureDP(1.0), alpha=1e-6)


# --- DP-Sniper ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.5, 0.995])
@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_the_top_holds_exactly_its_share(share: float, decimals: int) -> None:
    scores = np.round(rng(3).normal(size=250), decimals)
    event = top_share(scores, share)
    ties = np.count_nonzero(scores == event.threshold)
    assert 0.0 <= event.tie <= 1.0
    assert np.count_nonzero(scores > event.threshold) + event.tie * ties == pytest.approx(
        share * 250
    )


def test_a_tie_is_a_coin_from_the_given_generator() -> None:
    """Null: a share 0.25 of 4 000 ties; 16 % or 34 % come with probability below 1e-30."""
    event = top_share(np.array([1.0, 0.0, 0.0, 0.0, 0.0]), 0.4)
    assert event.tie == 0.25
    held = event.holds(np.zeros(4_000), rng(1))
    assert 0.16 < held.mean() < 0.34
    assert np.array_equal(held, event.holds(np.zeros(4_000), rng(1)))
    assert event.holds(np.array([1.0, -1.0]), rng()).tolist() == [True, False]


def test_a_certain_leak_certifies_the_bound_of_a_known_event() -> None:
    """All outputs of the data hit, and a hundredth of the neighbour's, by coins."""
    found = examine(DPSniper(), np.ones(10_000), np.zeros(10_000), PureDP(1.0))
    best = DPSniper().best(PureDP(1.0), 10_000, 10_000, alpha=0.025)
    lower, upper = (
        proportion_lower(4_000, 4_000, 0.0125),
        proportion_upper(40, 4_000, 0.0125),
    )
    assert best.lower_bound == pytest.approx(math.log(lower / upper), rel=1e-12)
    assert best.lower_bound < math.log(100.0)
    assert found.lower_bound == pytest.approx(best.lower_bound, abs=1.0)
    allowed = DPSniper().best(ApproxDP(1.0, 0.2), 10_000, 10_000, alpha=0.025)
    assert allowed.lower_bound == pytest.approx(math.log((lower - 0.2) / upper), rel=1e-12)


def test_what_is_rarer_than_its_share_is_left_alone() -> None:
    with pytest.raises(Underpowered, match=r"can never refute 5-DP"):
        examine(DPSniper(), np.ones(500_000), np.zeros(500_000), PureDP(5.0))
    assert examine(
        DPSniper(c=1e-3), np.ones(100_000), np.zeros(100_000), PureDP(5.0)
    ).lower_bound > (5.0)


def test_a_network_shoots_as_well() -> None:
    pytest.importorskip("torch", reason="the neural classifier needs torch")
    tester = DPSniper(classifier="neural", c=0.1, device="cpu")
    assert examine(tester, laplace(2.0), laplace(0.0, seed=1)).lower_bound > 0.3


@pytest.mark.parametrize("settings", [{"c": 0.0}, {"c": 1.0}, {"classifier": "trees"}], ids=str)
def test_unknown_settings_of_dp_sniper_are_errors(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        DPSniper(**settings)


def test_dp_sniper_refuses_whole_profiles() -> None:
    for claim in (GaussianDP(1.0), Profile(PureDP(1.0).delta)):
        with pytest.raises(UnsupportedClaim, match="DPSniper bounds an epsilon"):
            examine(DPSniper(), laplace(1.0), laplace(0.0), claim)


# --- plain logistic regression --------------------------------------------------------------------


def test_the_regression_is_that_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    labels = rng(0).random(600) < 0.5
    rows = rng(1).normal(size=(600, 3)) * [1.0, 10.0, 0.1] + labels[:, None]
    ours = PlainLogistic(features="values", ridge=1e-3)
    ours.fit(rows, labels.astype(np.int64))
    scaled = np.column_stack([(rows - rows.mean(axis=0)) / rows.std(axis=0), np.ones(600)])
    weights = np.where(labels, 300.0 / labels.sum(), 300.0 / (~labels).sum())
    theirs = LogisticRegression(C=1.0 / (2.0 * 1e-3 * 600), tol=1e-8, fit_intercept=False)
    theirs.fit(scaled, labels, sample_weight=weights)
    expected = theirs.predict_proba(scaled)[:, 1]
    assert ours.predict_proba(rows)[:, 1] == pytest.approx(expected, abs=1e-5)


def test_the_bits_are_those_in_which_a_float_is_stored() -> None:
    numbers = [0.0, -0.0, 1.0, -1.5, 3.1e-310, 1e300, 0.1 + 0.2]
    for number in numbers:
        expected = [float(bit) for bit in f"{np.float64(number).view(np.uint64):064b}"]
        assert bits_of(np.array([[number]]))[0].tolist() == expected
