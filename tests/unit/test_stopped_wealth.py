"""The stopped wealth, enumerated: its mean, how often it reaches its aim, and what it may know."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpaudit.arrays import Labels
from dpaudit.claims import ApproxDP, GaussianDP, PureDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.training.stopped_wealth import (
    Bets,
    Stakes,
    learned_accuracies,
    log_wealth,
    planned_shift,
    play,
    stakes,
    stopped_wealth,
    wealth_ceiling,
    within_reach,
)

M = 10
SEQUENCES = [np.array(hits) for hits in itertools.product([False, True], repeat=M)]


def bet(hits: Labels, terms: Stakes, shift: float) -> Bets:
    return play(hits, learned_accuracies(hits), terms, canaries=M, shift=shift)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.02])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_randomized_response_that_sometimes_reveals_all_does_not_win(
    epsilon: float, delta: float, alpha: float
) -> None:
    """All sequences of right and wrong guesses, each with its probability."""
    terms = stakes(epsilon, delta, canaries=M, alpha=alpha)
    p = 1.0 / (1.0 + math.exp(-epsilon))
    for shift in (planned_shift(terms, M), 1.0, 6.0):
        mean = reached = 0.0
        for hits in SEQUENCES:
            right = int(hits.sum())
            chance = (1.0 - delta) * p**right * (1.0 - p) ** (M - right)
            chance += delta if right == M else 0.0
            ended = bet(hits, terms, shift)
            mean += chance * math.exp(ended.log_evidence)
            reached += chance * ended.reached
        assert mean <= 1.0
        assert reached <= alpha


def test_naming_one_canary_at_a_time_does_not_win() -> None:
    """Each guess is right for sure with probability delta, else as randomized response."""
    epsilon, delta = 0.5, 0.02
    terms = stakes(epsilon, delta, canaries=M, alpha=0.3)
    p = delta + (1.0 - delta) / (1.0 + math.exp(-epsilon))
    mean = sum(
        p ** int(hits.sum())
        * (1.0 - p) ** (M - int(hits.sum()))
        * math.exp(bet(hits, terms, 2.0).log_evidence)
        for hits in SEQUENCES
    )
    assert mean <= 1.0


def test_the_aim_and_the_charge_make_up_alpha() -> None:
    for delta in (0.0, 1e-5, 1e-3, 0.5):
        terms = stakes(1.0, delta, canaries=10_000, alpha=0.05)
        assert (1.0 + terms.charge) / terms.aim == pytest.approx(0.05)
        assert terms.most_gain <= math.exp(-1.0)
        assert terms.most <= terms.fair * (1.0 + terms.most_gain)


def test_a_gain_is_at_most_what_the_charge_pays_for() -> None:
    terms = stakes(0.3, 0.02, canaries=M, alpha=0.3)
    hits = np.ones(M, dtype=np.bool_)
    wealth = [0.0] + [
        play(
            hits[: k + 1],
            learned_accuracies(hits[: k + 1]),
            terms,
            canaries=M,
            shift=9.0,
        ).log_evidence
        for k in range(M)
    ]
    steps = np.diff(wealth[1:])
    assert (steps <= math.log1p(terms.most_gain) + 1e-12).all()


def test_what_is_learned_before_a_guess_does_not_know_its_result() -> None:
    rng = np.random.default_rng(3)
    hits = rng.random(200) < 0.7
    for place in (0, 1, 57, 199):
        changed = hits.copy()
        changed[place:] ^= True
        for before, after in zip(
            learned_accuracies(hits), learned_accuracies(changed), strict=True
        ):
            np.testing.assert_array_equal(before[:, : place + 1], after[:, : place + 1])


def test_the_learned_accuracies_are_a_naive_sum() -> None:
    hits = np.random.default_rng(4).random(50) < 0.6
    for keep, (right, made) in zip(
        (0.5 ** (1 / 50), 0.5 ** (1 / 500), 1.0), learned_accuracies(hits), strict=True
    ):
        for place in range(50):
            weights = keep ** np.arange(place - 1, -1, -1.0)
            assert made[place] == pytest.approx(weights.sum())
            assert right[place] == pytest.approx(weights @ hits[:place])


def test_a_wealth_is_the_product_of_its_factors() -> None:
    hits = np.array([True, True, False, True])
    predicted = np.array([0.9, 0.8, 0.75, 0.95])
    p = 1.0 / (1.0 + math.exp(-1.0))
    factors = np.where(hits, predicted / p, (1.0 - predicted) / (1.0 - p))
    np.testing.assert_allclose(np.exp(log_wealth(hits, predicted, 1.0)), np.cumprod(factors))


def test_perfect_guesses_within_reach_refute_and_others_do_not() -> None:
    assert within_reach(5.0, 0.0, canaries=1_000, alpha=0.05)
    assert not within_reach(5.9, 0.0, canaries=1_000, alpha=0.05)
    assert not within_reach(1_000.0, 0.0, canaries=10**9, alpha=0.05)
    ceiling = wealth_ceiling(PureDP(1.0), canaries=1_000, alpha=0.05)
    assert ceiling < math.log(1_000 / math.log(20.0)) + 0.02
    bits = np.random.default_rng(1).random(1_000) < 0.5
    finding = stopped_wealth(np.where(bits, 1.0, 0.0), bits, PureDP(1.0))
    assert finding.refuted
    assert finding.lower_bound is not None
    assert 0.8 * ceiling < finding.lower_bound <= ceiling


def test_claims_beyond_every_run_are_not_refuted() -> None:
    bits = np.random.default_rng(1).random(200) < 0.5
    finding = stopped_wealth(np.where(bits, 1.0, 0.0), bits, ApproxDP(700.0, 1e-5))
    assert not finding.refuted
    assert finding.log_evidence == 0.0


def test_missing_and_equal_scores_win_nothing() -> None:
    bits = np.random.default_rng(1).random(500) < 0.5
    for scores in (np.full(500, np.nan), np.zeros(500)):
        assert not stopped_wealth(scores, bits, PureDP(0.5)).refuted


def test_curves_are_not_its_business() -> None:
    with pytest.raises(UnsupportedClaim, match="Use error_recursion"):
        stopped_wealth([1.0, 2.0], np.array([True, False]), GaussianDP(1.0))


def test_alpha_must_be_a_probability_of_error() -> None:
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        stopped_wealth([1.0, 2.0], np.array([True, False]), PureDP(1.0), alpha=1.0)
