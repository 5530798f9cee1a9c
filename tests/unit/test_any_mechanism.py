"""One main test spends alpha, chosen before any score is seen; hopeless trainings are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.arrays import Floats, Labels
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import Underpowered
from dpaudit.results import Null
from dpaudit.training.any_mechanism import (
    any_mechanism,
    main_test,
    refuse_if_hopeless,
    run_ceiling,
)
from dpaudit.training.levels import point_claim

CLAIMS: list[Claim] = [
    *(PureDP(1.0), ApproxDP(1.5, 1e-5), GaussianDP(0.8), ZCDP(0.3)),
    *(RenyiDP(order=8.0, epsilon=1.0), Profile(GaussianDP(0.8).delta)),
]


def canaries(count: int, mu: float, seed: int = 1) -> tuple[Floats, Labels]:
    rng = np.random.default_rng(seed)
    bits = rng.random(count) < 0.5
    return rng.normal(size=count) + mu * bits, bits


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_every_finding_names_its_null_and_keeps_below_its_ceiling(claim: Claim) -> None:
    main, further = any_mechanism(*canaries(1_000, 1.0), claim)
    assert len(further) == 2
    assert main.test == main_test(1_000, claim, 0.05)
    assert len({finding.test for finding in (main, *further)}) == 3
    for finding in (main, *further):
        assert finding.null is Null.ANY_MECHANISM
        assert math.copysign(1.0, finding.log_evidence) == 1.0 or finding.log_evidence < 0.0
        assert 0 <= finding.right <= finding.guesses <= 1_000
        if finding.lower_bound is not None:
            assert finding.ceiling is not None
            assert 0.0 <= finding.lower_bound <= finding.ceiling


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_training_without_noise_is_found_and_one_without_leak_is_not(claim: Claim) -> None:
    assert any_mechanism(*canaries(2_000, 50.0), claim)[0].refuted
    main, further = any_mechanism(*canaries(2_000, 0.0), claim)
    assert not any(finding.refuted for finding in (main, *further))


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_main_test_and_its_guesses_do_not_depend_on_the_scores(claim: Claim) -> None:
    first, second = (
        any_mechanism(*canaries(1_000, mu, seed), claim)[0] for mu, seed in ((0.0, 1), (9.0, 2))
    )
    assert (first.test, first.ceiling) == (second.test, second.ceiling)
    if first.test != "stopped wealth":  # which counts what was staked before it stopped
        assert first.guesses == second.guesses


def test_further_bounds_of_a_curve_are_epsilons_at_a_named_delta() -> None:
    scores, bits = canaries(2_000, 3.0)
    _, further = any_mechanism(scores, bits, GaussianDP(0.5), delta=1e-6)
    assert all(finding.bounds == "epsilon at delta 1e-06" for finding in further)
    implied = point_claim(GaussianDP(0.5), 1e-6)
    assert implied is not None
    assert (
        GaussianDP(0.5).delta(implied.strength)
        <= 1e-6
        < GaussianDP(0.5).delta(implied.strength - 1e-9)
    )
    assert all(finding.refuted for finding in further)


def test_a_curve_that_never_falls_to_delta_has_no_further_bounds() -> None:
    main, further = any_mechanism(*canaries(200, 1.0), Profile(lambda epsilon: 0.01))
    assert (main.test, further) == ("error recursion", ())


def test_a_bound_grows_with_the_leak() -> None:
    bounds = [
        any_mechanism(*canaries(4_000, mu), GaussianDP(1.0))[0].lower_bound or 0.0
        for mu in (0.2, 0.6, 1.2, 2.5)
    ]
    assert bounds == sorted(bounds)
    assert all(bound < mu for bound, mu in zip(bounds, (0.2, 0.6, 1.2, 2.5), strict=True))


def test_rescaled_scores_and_another_order_of_canaries_say_the_same() -> None:
    scores, bits = canaries(1_001, 1.5)
    other = np.random.default_rng(5).permutation(1_001)
    first, _ = any_mechanism(scores, bits, GaussianDP(0.5))
    second, _ = any_mechanism(np.exp(scores)[other], bits[other], GaussianDP(0.5))
    assert abs(first.right - second.right) <= 1  # equally sure canaries at the end change places


def test_hopeless_trainings_are_refused_with_what_would_help() -> None:
    with pytest.raises(Underpowered, match=r"^perfect guesses of all 50 .* at least \d+ canaries"):
        refuse_if_hopeless(50, PureDP(4.0))
    with pytest.raises(Underpowered, match="the best possible bound is"):
        refuse_if_hopeless(100, GaussianDP(3.0))
    with pytest.raises(Underpowered, match=r"reveal everything with probability 0\.01"):
        refuse_if_hopeless(10_000, ApproxDP(1.0, 0.01), alpha=0.01)
    with pytest.raises(Underpowered, match="several runs"):
        refuse_if_hopeless(10_000, Profile(lambda epsilon: 0.2))
    with pytest.raises(Underpowered, match="canaries would not refute privacy profile"):
        refuse_if_hopeless(10, Profile(GaussianDP(2.0).delta))


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_who_is_not_refused_is_refuted_by_perfect_guesses(claim: Claim) -> None:
    refuse_if_hopeless(1_000, claim)
    bits = canaries(1_000, 0.0)[1]
    main, _ = any_mechanism(np.where(bits, 1.0, -1.0), bits, claim)
    assert main.refuted


def test_the_ceiling_is_what_perfect_guesses_reach_where_as_many_are_made() -> None:
    """Levels far below the ceiling plan fewer guesses, and so may end the way up before it."""
    bits = np.random.default_rng(2).random(1_000) < 0.5
    for claim in (PureDP(1.0), GaussianDP(1.0)):
        ceiling = run_ceiling(1_000, claim)
        main, _ = any_mechanism(np.where(bits, 1.0, -1.0), bits, claim)
        assert ceiling is not None
        assert main.lower_bound is not None
        assert 0.7 * ceiling <= main.lower_bound <= ceiling
    assert run_ceiling(1_000, Profile(GaussianDP(1.0).delta)) is None
