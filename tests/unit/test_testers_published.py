"""The testers of others: their formulas against scipy and by hand, what they find and refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from samples import SIZE, examine, laplace, normal
from scipy import stats

from dpaudit.bounds import proportion_lower, proportion_upper
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.testers import (
    DeltaSiege,
    DPSniper,
    Examiner,
    NearestNeighbours,
    StatDP,
    gaussian_mu,
    method_of,
)
from dpaudit.testers.dp_sniper import top_share
from dpaudit.testers.event_bound import curve_finding
from dpaudit.testers.logistic import PlainLogistic, bits_of
from dpaudit.testers.nearest_neighbours import NeighbourVotes, error_box, half_width
from dpaudit.testing import check_tester

TESTERS = [StatDP(), DPSniper(), DeltaSiege(), NearestNeighbours()]
each_tester = pytest.mark.parametrize("tester", TESTERS, ids=lambda one: type(one).__name__)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- all of them ----------------------------------------------------------------------------------


@each_tester
def test_it_conforms_and_takes_every_kind_of_output(tester: Examiner) -> None:
    check_tester(tester, runs=3, draws=600)


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
    assert 0.16 < np.count_nonzero(held) / 4_000 < 0.34
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


# --- Delta-Siege ----------------------------------------------------------------------------------

EVERY_CLAIM = [PureDP(0.3), ApproxDP(0.3, 0.05), GaussianDP(0.5), ZCDP(0.1), RenyiDP(2.0, 0.2)]


@pytest.mark.parametrize("tester", [DeltaSiege(), NearestNeighbours()], ids=repr)
@pytest.mark.parametrize("claim", EVERY_CLAIM, ids=str)
def test_gaussian_noise_is_refuted_where_it_breaks_a_claim(tester: Examiner, claim: Any) -> None:
    finding = examine(tester, *normal(12_000), claim)
    assert finding.lower_bound > tester.threshold(claim)
    assert finding.strength_lower is not None
    assert finding.strength_lower > claim.strength


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 12.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2])
def test_the_least_gaussian_noise_just_keeps_the_claim(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(ApproxDP(epsilon, delta))
    assert GaussianDP(mu).delta(epsilon) == pytest.approx(delta, rel=1e-6)
    assert GaussianDP(mu).delta(epsilon) >= delta  # the weaker of two nearly equal claims


def test_the_whole_frontier_refutes_noise_that_its_own_point_does_not() -> None:
    """At delta = 1e-6 few draws say nothing; elsewhere on the frontier they do."""
    claim = ApproxDP(2.0, 1e-6)
    mu = gaussian_mu(claim)
    ones, zeros = 1.5 * mu + rng(0).normal(size=30_000), rng(1).normal(size=30_000)
    tester, noise = DeltaSiege(), GaussianDP(mu)
    assert examine(tester, ones, zeros, claim).lower_bound <= tester.threshold(claim)
    assert examine(tester, ones, zeros, noise).lower_bound > tester.threshold(noise) == 0.0


def test_a_mechanism_that_is_not_gaussian_is_not_taken_for_it() -> None:
    """It keeps its claim exactly, and says for sure with probability delta; no such noise does."""
    claim = ApproxDP(0.5, 0.2)
    tail, body = 0.2, 0.8 / (1.0 + math.exp(-0.5))
    chances = [tail, body, 0.8 - body, 0.0]
    ones = rng(0).choice(4, size=40_000, p=chances)
    zeros = rng(1).choice(4, size=40_000, p=chances[::-1])
    for said, accused in ((claim, False), (GaussianDP(gaussian_mu(claim)), True)):
        found = examine(DeltaSiege(), -ones, -zeros, said, alpha=1e-7)
        assert (found.lower_bound > DeltaSiege().threshold(said)) is accused


def test_the_bits_of_floats_show_what_their_values_hide() -> None:
    """Halves on one side, halves less a rounding error on the other."""
    ones = rng(0).integers(100, size=8_000) / 2.0 + 1.0
    zeros = np.nextafter(rng(1).integers(100, size=8_000) / 2.0 + 1.0, 0.0)
    claim = PureDP(1.0)
    assert examine(DeltaSiege(), ones, zeros, claim).lower_bound <= 0.0
    assert examine(DeltaSiege(features="bits"), ones, zeros, claim).lower_bound > 0.9


def test_the_bits_of_the_first_sixteen_columns_are_seen() -> None:
    """With those of all, a fit would take the cube of 64 times their number."""
    rows = rng(0).normal(size=(100, 40))
    model = PlainLogistic(features="bits", ridge=1e-4)
    model.fit(rows, np.arange(100) % 2)
    for column, seen in ((15, True), (16, False)):
        moved = rows.copy()
        moved[:, column] *= -3.0
        assert np.array_equal(model.predict_proba(moved), model.predict_proba(rows)) is not seen


def test_unknown_settings_of_delta_siege_are_errors() -> None:
    with pytest.raises(ValueError, match="must be one of"):
        DeltaSiege(features="words")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedClaim, match="no Gaussian noise keeps"):
        gaussian_mu(ApproxDP(1.0, 0.0))


# --- nearest neighbours ---------------------------------------------------------------------------


def test_the_box_is_that_of_hoeffding() -> None:
    width = math.sqrt(math.log(4.0 / 0.05) / 2_000.0)
    assert half_width(1_000, 0.05) == pytest.approx(width, rel=1e-12)
    inside, outside = error_box(0.7, 0.2, (width, 2.0 * width)).events
    assert inside == pytest.approx((0.7 - width, 0.2 + 2.0 * width))
    assert outside == pytest.approx((0.8 - 2.0 * width, 0.3 + width))
    assert error_box(0.01, 0.99, (0.1, 0.1)).events == ((0.0, 1.0), (0.0, 1.0))


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_a_box_refutes_where_it_lies_below_the_trade_off_curve(mu: float) -> None:
    """For Gaussian noise the curve is `Phi(Phi^-1(1 - a) - mu)`; corners by it are clear."""
    for rate in (0.01, 0.1, 0.4, 0.7, 0.95):
        allowed = float(stats.norm.cdf(stats.norm.isf(rate) - mu))
        for error, refuted in ((0.97 * allowed, True), (1.03 * allowed, False)):
            found = curve_finding(GaussianDP(mu), error_box(1.0 - error, rate, (0.0, 0.0)))
            assert (found.lower_bound > 0.0) is refuted, (rate, error)


def test_a_certain_leak_is_certified_up_to_its_box() -> None:
    tester = NearestNeighbours()
    found = examine(tester, np.zeros(4_000), np.ones(4_000), PureDP(1.0))
    assert found == tester.best(PureDP(1.0), 4_000, 4_000, alpha=0.025)
    width = half_width(2_000, 0.025)
    assert found.strength_lower == pytest.approx(math.log((1.0 - width) / width), abs=1e-6)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("wanted", [1, 4, None])
def test_votes_are_those_of_scikit_learn(columns: int, wanted: int | None) -> None:
    from sklearn.neighbors import KNeighborsClassifier

    rows, asked = rng(0).normal(size=(401, columns)), rng(1).normal(size=(150, columns))
    labels = (rng(2).random(401) < 0.4).astype(np.int64)
    votes = NeighbourVotes(wanted)
    votes.fit(rows, labels)
    size = {1: 1, 4: 5, None: 201}[wanted]  # 10 sqrt(401) is more than half; odd, so no ties
    theirs = KNeighborsClassifier(n_neighbors=size).fit(rows, labels)
    assert votes.predict_proba(asked) == pytest.approx(theirs.predict_proba(asked))
    assert votes.predict_proba(asked[:0]).shape == (0, 2)


def test_ten_square_roots_are_asked() -> None:
    votes = NeighbourVotes(None)
    votes.fit(np.arange(10_000.0)[:, None], np.arange(10_000) // 5_000)
    assert votes.predict_proba(np.array([[5_000.0]]))[0, 1] == pytest.approx(501 / 1_001)


def test_an_interaction_of_two_columns_is_found_by_neighbours() -> None:
    bits = rng(0).integers(2, size=(4_000, 2))
    noise = rng(1).laplace(size=(4_000, 2)) / 9
    equal = np.column_stack([bits[:, 0], bits[:, 0]])
    assert examine(NearestNeighbours(), equal + noise, bits + noise[::-1]).lower_bound > 0.2


@pytest.mark.parametrize("neighbours", [0, 2.0, True])
def test_an_unknown_number_of_neighbours_is_an_error(neighbours: Any) -> None:
    with pytest.raises(ValueError, match="neighbours must be a whole number"):
        NearestNeighbours(neighbours=neighbours)


def test_a_user_s_claim_is_tested_without_a_strength() -> None:
    claim: Claim = Profile(GaussianDP(0.4).delta)
    for tester in (DeltaSiege(), NearestNeighbours()):
        finding = examine(tester, *normal(12_000), claim)
        assert finding.lower_bound > tester.threshold(claim) == 0.0
        assert finding.strength_lower is None


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
