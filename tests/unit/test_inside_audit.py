"""Audits inside: verdicts that are true of the releases, and loud limits."""

import math
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    InsideVerdict,
    Profile,
    PureDP,
    RenyiDP,
    Verdict,
    audit_inside,
)
from dpaudit.inside import Laplace, RandomizedResponse, release
from dpaudit.inside.bets import Direction, Past, PointBet, bets_on, hedge_of, wanted
from dpaudit.zoo import ZOO

ONE = [(np.array([1.0]), np.array([0.0]))]
Rng = np.random.Generator


def gaussian(data: Any, rng: Rng) -> object:
    return np.sum(data) + rng.normal(scale=1.0)


def laplace(data: Any, rng: Rng) -> object:
    return np.sum(data) + rng.laplace(scale=1.0)


BROKEN = ["ClippedSum", "PrefixSum", "ForgottenBudget", "NoisyHistogramScaleEpsilon"]
BROKEN += ["NonDPLaplace1", "NonDPGaussian1", "ClippedMeanExactCount", "ScaledGD"]
BROKEN += ["SVT3", "SVT4", "SVT5", "SVT6", "NoisyMaxValueLaplace", "NoisyMaxValueExponential"]
BROKEN += ["UnaryEncodingWholeEpsilon", "RapporOneHashClaim", "PrivateMedianHalfNoise"]
BROKEN_IF_REVEALED = ["NonDPLaplace2", "NonDPGaussian2"]
# What these compare, or choose, their output hides: only the black box may accuse them.
SHOW_MORE_THAN_THE_OUTPUT = ["Rappor", "SVT1", "NumericalSVT", "PrivateMedian"]
LEFT_TO_THE_BLACK_BOX = ["FixedSeed", "HistogramThresholdBeforeNoise", "RandomizedResponse"]
LEFT_TO_THE_BLACK_BOX += ["RareLeak", "ThresholdedHistogramNoDelta"]


@pytest.mark.parametrize("name", BROKEN)
def test_broken_mechanisms_of_the_zoo_are_broken_inside(name: str) -> None:
    entry = ZOO[name]
    found = audit_inside(entry.factory(), entry.claim, entry.neighbours(), rng=1, transcripts=400)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE
    assert found.worst is not None
    assert ".py:" in found.worst.release.where


@pytest.mark.parametrize("name", BROKEN_IF_REVEALED)
def test_numbers_that_are_divided_by_can_be_revealed(name: str) -> None:
    entry = ZOO[name]
    found = audit_inside(
        entry.factory(), entry.claim, entry.neighbours(), rng=1, transcripts=400, reveal=True
    )
    assert found.verdict is InsideVerdict.BROKEN_INSIDE


def test_no_correct_mechanism_of_the_zoo_is_accused_and_all_others_are_loud() -> None:
    for name, entry in ZOO.items():
        if name in (*BROKEN, *SHOW_MORE_THAN_THE_OUTPUT, "ClassicalGaussianCountTooLoose"):
            continue
        code, neighbours = entry.factory(), entry.neighbours()
        found = audit_inside(code, entry.claim, neighbours, rng=2, transcripts=60)
        if found.verdict is InsideVerdict.CANNOT_FOLLOW:
            assert ".py:" in found.reason, name
        elif name in LEFT_TO_THE_BLACK_BOX:
            assert found.verdict is InsideVerdict.UNDECIDED, name
        else:
            assert entry.keeps_claim, name
            assert found.verdict is InsideVerdict.NOT_REFUTED, name


def test_the_worst_release_says_where_and_what() -> None:
    found = audit_inside(laplace, PureDP(0.5), ONE, rng=7)
    assert found.worst is not None
    one = found.worst.release
    assert {one.input, one.neighbour_input} == {0.0, 1.0}
    assert one.kernel == one.neighbour_kernel == Laplace(1.0)
    assert abs(found.worst.loss) == abs(one.loss) > 0.5
    text = str(found)
    assert text.startswith("BROKEN INSIDE: laplace, claimed 0.5-DP: loss ")
    assert (
        "The releases in this code break the claim; whether the output shows it is another "
        "question, which confirm() asks." in " ".join(text.split())
    )
    assert "test_inside_audit.py:" in text
    assert "noise       Laplace(scale=1.0)" in text
    assert max(map(len, text.splitlines())) <= 72


@pytest.mark.parametrize(
    ("code", "claim"),
    [
        (gaussian, ApproxDP(1.0, 1e-5)),
        (gaussian, RenyiDP(2.0, 0.5)),
        (gaussian, ZCDP(0.25)),
        (gaussian, GaussianDP(0.5)),
        (gaussian, Profile(GaussianDP(0.5).delta)),
        (laplace, GaussianDP(0.5)),
    ],
)
def test_claims_of_every_kind_are_broken(code: Any, claim: Any) -> None:
    found = audit_inside(code, claim, ONE, rng=3)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE
    assert found.log_wealth >= math.log(1e6)
    assert "evidence    e-value" in str(found)


@pytest.mark.parametrize(
    ("code", "claim"),
    [
        (laplace, PureDP(1.0)),
        (gaussian, GaussianDP(1.0)),
        (gaussian, RenyiDP(2.0, 1.0)),
        (gaussian, ZCDP(0.5)),
        (gaussian, ApproxDP(1.0, GaussianDP(1.0).delta(1.0))),
        (gaussian, Profile(GaussianDP(1.0).delta)),
    ],
)
def test_tight_mechanisms_are_not_accused(code: Any, claim: Any) -> None:
    accused = 0
    for seed in range(20):
        found = audit_inside(code, claim, ONE, rng=seed, alpha=0.05, transcripts=40)
        accused += found.verdict is InsideVerdict.BROKEN_INSIDE
    assert accused <= 6  # 20 audits at 0.05: more than 6 has probability below 1e-4


def test_a_bet_has_mean_at_most_one_under_its_claim() -> None:
    """By quadrature over the losses of the Gaussian mechanism: `L ~ N(1/2, 1)`."""
    losses = np.linspace(-9.5, 30.5, 40_001)
    weights = np.exp(-0.5 * (losses - 0.5) ** 2) / np.sqrt(2.0 * np.pi) * (losses[1] - losses[0])
    claims = (GaussianDP(1.0), RenyiDP(2.0, 1.0), ZCDP(0.5))
    for bet in [bet for claim in claims for bet in bets_on(claim)]:
        excess = [bet.excess(loss) for loss in losses]
        assert float(np.dot(weights, excess)) <= 1e-6
        assert min(excess) >= -1.0
    hedges = [hedge_of(loss) for loss in losses]
    assert float(np.dot(weights, hedges)) == pytest.approx(0.0, abs=1e-6)
    assert min(hedges) >= -1.0


def test_no_bet_wins_on_average_whatever_it_has_learned() -> None:
    """By quadrature, as above: the factor of a past that has won, under the tight claim."""
    losses = np.linspace(-9.5, 30.5, 12_001)
    weights = np.exp(-0.5 * (losses - 0.5) ** 2) / np.sqrt(2.0 * np.pi) * (losses[1] - losses[0])
    for claim in (GaussianDP(1.0), RenyiDP(2.0, 1.0), ZCDP(0.5)):
        past = Past(bets_on(claim))
        for loss in (3.0, 2.0, 3.0, 4.0):
            past.learn(loss, loss)
        assert past.earned > 1.0
        factors = [past.factor(loss, loss) for loss in losses]
        assert max(factors) > 1.5
        assert float(np.dot(weights, factors)) <= 1.0 + 1e-5


def test_a_loss_that_is_known_roughly_wins_less_than_one_in_its_range() -> None:
    past = Past((PointBet(0.0, 0.1),))
    for loss in (1.0, 2.0, 1.0):
        past.learn(loss, loss)
    rough = past.factor(0.5, 0.7)
    assert all(rough <= past.factor(loss, loss) for loss in (0.5, 0.6, 0.7))
    assert past.factor(-math.inf, math.inf) <= past.factor(-math.inf, -math.inf)


def test_stakes_depend_on_the_past_only() -> None:
    bets = (PointBet(0.0, 0.1),)
    first, second = Direction(bets), Direction(bets)
    for loss in (1.0, 1.0):
        first.see("pair", loss, loss)
        second.see("pair", loss, loss)
    before = first.log_wealth
    first.see("pair", -1.0, -1.0)
    second.see("pair", 5.0, 5.0)
    assert first.log_wealth < before < second.log_wealth
    first.see("other", 5.0, 5.0)  # nothing is known of it: nothing is staked
    assert first.log_wealth < before


def test_an_infinite_loss_breaks_bounded_divergences_at_once() -> None:
    def twice(data: Any, rng: Rng) -> object:
        noise = rng.normal()
        return np.sum(data) + noise, noise

    for claim in (RenyiDP(2.0, 0.5), ZCDP(0.5), GaussianDP(1.0)):
        found = audit_inside(twice, claim, ONE, rng=1)
        assert (found.verdict, found.transcripts) == (InsideVerdict.BROKEN_INSIDE, 1)
        assert "a transcript of infinite loss" in str(found)
        assert found.e_value == math.inf
    found = audit_inside(twice, ApproxDP(1.0, 1e-5), ONE, rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE
    assert found.transcripts > 1


def test_no_release_is_undecided() -> None:
    found = audit_inside(lambda data, rng: 3.0, PureDP(1.0), ONE, rng=1)
    assert found.verdict is InsideVerdict.UNDECIDED
    assert "no release was followed" in found.reason


def test_releases_that_do_not_depend_on_data_are_undecided() -> None:
    for claim in (PureDP(1.0), GaussianDP(1.0)):
        found = audit_inside(lambda data, rng: rng.laplace(), claim, ONE, rng=1, transcripts=60)
        assert found.verdict is InsideVerdict.UNDECIDED
        assert "every loss was 0" in found.reason


def test_rounding_that_hides_the_loss_is_undecided() -> None:
    far = [(np.array([1e16, 2.0]), np.array([1e16, 0.0]))]
    found = audit_inside(laplace, PureDP(3.0), far, rng=1)
    assert found.verdict is InsideVerdict.UNDECIDED
    assert "rounding hides the loss" in found.reason


@pytest.mark.parametrize("off", [math.inf, math.nan])
@pytest.mark.parametrize("claim", [PureDP(1.0), ApproxDP(1.0, 0.1), RenyiDP(2.0, 0.5)])
def test_a_loss_that_is_not_known_is_no_evidence(off: float, claim: Any) -> None:
    class Vague(Laplace):
        def log_density(self, output: Any, input: Any) -> float:
            return -math.inf if input == 0.0 else 0.0

        def slack(self, output: Any, input: Any, error: Any) -> float:
            return off

    found = audit_inside(lambda data, rng: release(float(data[0]), Vague(1.0), rng), claim, ONE)
    assert found.verdict is not InsideVerdict.BROKEN_INSIDE
    assert found.log_wealth == 0.0


def test_too_few_transcripts_are_undecided() -> None:
    assert wanted(ApproxDP(5.0, 0.6), 1e-6) > 10
    found = audit_inside(gaussian, ApproxDP(5.0, 0.6), ONE, rng=1, transcripts=10)
    assert found.verdict is InsideVerdict.UNDECIDED
    assert "too few" in found.reason


def test_no_pair_is_undecided() -> None:
    class Nothing:
        def ask(self) -> None:
            """Propose nothing."""

        def tell(self, pair: Any, score: float) -> None:
            raise AssertionError

    found = audit_inside(laplace, PureDP(1.0), Nothing(), rng=1)
    assert (found.verdict, found.transcripts) == (InsideVerdict.UNDECIDED, 0)
    with pytest.raises(ValueError, match="no pair to confirm"):
        found.confirm()


def test_what_cannot_be_followed_says_file_and_line() -> None:
    found = audit_inside(lambda data, rng: rng.integers(2), PureDP(1.0), ONE, rng=1)
    assert found.verdict is InsideVerdict.CANNOT_FOLLOW
    assert "test_inside_audit.py:" in found.reason
    assert str(found).startswith("CANNOT FOLLOW")


def test_nan_is_found_among_odd_values() -> None:
    records = dpaudit.replace_one(dpaudit.floats(0, 1).with_odd_values(), max_records=2)

    def clipped(data: Any, rng: Rng) -> object:
        return np.clip(data, 0.0, 1.0).sum() + rng.laplace(scale=1.0)  # clip keeps NaN

    found = audit_inside(clipped, PureDP(1.0), records, rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE
    assert found.worst is not None
    assert math.isinf(found.worst.loss)


def rejection_sampler(data: Any, rng: Rng) -> float:
    """A noisy sum that is drawn until it lies between 0 and 1: 1-DP, for 1/2 is paid twice.

    Every draw that is thrown away costs 1/2 in the transcript, and nothing in the output.
    """
    while True:
        noisy = float(release(float(np.sum(data)), Laplace(2.0), rng))
        if 0.0 < noisy < 1.0:
            return noisy


def rappor(data: Any, rng: Rng) -> int:
    """A bit that is answered at random twice over; the first answer is never shown."""
    permanent = release(int(data[0]), RandomizedResponse(epsilon=2.0), rng)
    return int(release(permanent, RandomizedResponse(epsilon=1.0), rng))


@pytest.mark.parametrize(("code", "pair"), [(rejection_sampler, ONE), (rappor, [([1], [0])])])
def test_hidden_releases_are_broken_inside_but_never_refuted(code: Any, pair: Any) -> None:
    for seed in range(3):
        found = audit_inside(code, PureDP(1.0), pair, rng=seed)
        assert found.verdict is InsideVerdict.BROKEN_INSIDE
        assert found.confirm(samples=4_000).verdict is not Verdict.REFUTED


def test_a_real_leak_is_refuted_by_confirm() -> None:
    entry = ZOO["ClippedSum"]
    found = audit_inside(entry.factory(), entry.claim, entry.neighbours(), rng=1)
    assert found.confirm().verdict is Verdict.REFUTED


def test_an_unexplained_difference_can_be_confirmed() -> None:
    found = audit_inside(
        lambda data, rng: (np.sum(data), rng.laplace()), PureDP(1.0), ONE, rng=1, transcripts=2
    )
    assert found.verdict is InsideVerdict.UNDECIDED
    assert found.confirm(samples=20_000).verdict is Verdict.REFUTED


def test_the_same_rng_gives_the_same_audit() -> None:
    records = dpaudit.replace_one(dpaudit.floats(0, 2), max_records=3)
    settings: Any = {"rng": 5, "transcripts": 120}
    first, second = (audit_inside(gaussian, GaussianDP(2.5), records, **settings) for _ in "ab")
    assert first == second


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_transcripts_are_counted(wrong: Any) -> None:
    with pytest.raises(ValueError, match="transcripts must be a whole number >= 1"):
        audit_inside(laplace, PureDP(1.0), ONE, transcripts=wrong)
