"""Guesses at canaries come from scores alone: ties, infinities and missing scores among them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.errors import InvalidSamples
from dpaudit.training.guesses import guess, right_by_sureness


def said(scores: list[float]) -> dict[int, bool]:
    guesses = guess(scores)
    return dict(zip(guesses.order.tolist(), guesses.said_in.tolist(), strict=True))


def test_the_outermost_come_first_and_high_scores_are_guessed_in() -> None:
    scores = np.random.default_rng(1).normal(size=101)
    guesses = guess(scores)
    ranks = np.argsort(np.argsort(scores))[guesses.order]
    distance = np.abs(ranks - 50)
    assert (np.diff(distance) <= 0).all()
    assert (guesses.said_in == (ranks > 50)).all()
    assert sorted(guesses.order.tolist()) == list(range(101))


def test_only_the_order_of_scores_counts() -> None:
    scores = np.random.default_rng(2).normal(size=60)
    before, after = guess(scores), guess(np.exp(30.0 * scores))
    assert before.order.tolist() == after.order.tolist()
    assert before.said_in.tolist() == after.said_in.tolist()


def test_equal_scores_get_the_same_guess_and_the_rarer_answer_is_surer() -> None:
    guesses = said([0.0] * 3 + [1.0] * 7)
    assert [guesses[place] for place in range(10)] == [False] * 3 + [True] * 7
    assert sorted(list(guesses)[:3]) == [0, 1, 2]


def test_the_order_of_the_arrays_breaks_no_tie() -> None:
    """All canaries that are in are listed first, and all scores are equal: nothing is known."""
    bits = np.arange(2_000) < 1_000
    hits = right_by_sureness(np.zeros(2_000), bits)
    assert 60 < hits[:200].sum() < 140


def test_minus_zero_and_zero_are_equal() -> None:
    assert len(set(said([-0.0, 0.0, -0.0, 0.0]).values())) == 1


def test_infinite_scores_are_the_surest_and_missing_ones_get_no_guess() -> None:
    guesses = said([math.inf, -math.inf, 0.3, math.nan, 0.2, math.inf, 0.1, -math.inf])
    assert set(list(guesses)[:4]) == {0, 1, 5, 7}
    assert (guesses[0], guesses[5], guesses[1], guesses[7]) == (True, True, False, False)
    assert 3 not in guesses
    assert said([math.nan] * 3) == {}


@pytest.mark.parametrize("scores", [[], [[1.0, 2.0]], ["a"], [1 + 2j], 3.0])
def test_what_is_no_row_of_numbers_is_refused(scores: object) -> None:
    with pytest.raises(InvalidSamples, match="scores must be one row of numbers"):
        right_by_sureness(scores, np.array([True]))  # type: ignore[arg-type]


@pytest.mark.parametrize("bits", [[0, 1, 1], [True, False], [[True, False, True]]])
def test_bits_that_do_not_fit_are_refused(bits: object) -> None:
    with pytest.raises(InvalidSamples, match="bits must be 3 booleans"):
        right_by_sureness([1.0, 2.0, 3.0], np.asarray(bits))
