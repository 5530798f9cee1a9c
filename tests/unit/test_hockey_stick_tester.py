"""The hockey-stick tester: its classifiers. What it shares is in test_event_testers.py.

The finding about an honest mechanism is asked for at alpha = 1e-7: that test fails by chance with
that probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from samples import SIZE, Memory, examine, laplace

from dpaudit.arrays import Floats
from dpaudit.claims import PureDP
from dpaudit.guessing import BalancedBoosted, BalancedLinear, Guesser, Share
from dpaudit.testers import HockeyStickTester


class First(Memory):
    """A classifier that believes in its first column."""

    def predict_proba(self, rows: Floats) -> Floats:
        ones = np.clip(rows[:, 0] / 10.0 + 0.5, 0.0, 1.0)
        return np.column_stack([1.0 - ones, ones])


@pytest.mark.parametrize("size", [2, 3, 5, 10_000])
def test_every_output_is_learned_from_or_held_out(size: int) -> None:
    share = Share(training=0.4, most=1_000)
    learn, held_out = share.part(
        np.arange(size), np.arange(size, 2 * size + 3), np.random.default_rng(0)
    )
    both = np.concatenate([learn.table.numbers, held_out.table.numbers])[:, 0]
    assert sorted(both.tolist()) == list(range(2 * size + 3))
    assert np.count_nonzero(held_out.labels) == share.held_out(size)
    assert np.count_nonzero(~held_out.labels) == share.held_out(size + 3)
    for part in (learn, held_out):
        assert np.array_equal(part.labels, part.table.numbers[:, 0] < size)


def test_what_is_learned_does_not_depend_on_what_is_held_out() -> None:
    """Words are coded from the outputs learned from; all new ones are alike."""
    share = Share(training=0.4, most=1_000)
    learn, held_out = share.part(
        [str(i) for i in range(50)], [str(i) for i in range(25, 75)], np.random.default_rng(3)
    )
    order = np.random.default_rng(3).permutation(50)
    kept = set(order[:20].tolist())
    changed = [str(i) if i in kept else ("never", i) for i in range(50)]
    again, _ = share.part(changed, [str(i) for i in range(25, 75)], np.random.default_rng(3))
    assert np.array_equal(learn.table.codes(), again.table.codes())
    known = set(learn.table.codes().ravel().tolist())
    assert len(set(held_out.table.codes().ravel().tolist()) - known) == 1


@pytest.mark.parametrize("classifier", ["linear", "boosted"])
def test_one_of_fifty_columns_is_found(classifier: Any) -> None:
    shifted = laplace(0.0, (SIZE, 50)) + 3.0 * np.eye(50)[17]
    tester = HockeyStickTester(classifier=classifier)
    finding = examine(tester, shifted, laplace(0.0, (SIZE, 50), seed=1))
    assert finding.lower_bound > 0.4


def test_trees_find_what_no_column_tells_alone() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(2, size=(SIZE, 2))
    equal = np.column_stack([bits[:, 0], bits[:, 0]])
    assert examine(HockeyStickTester(), equal + laplace(0.0, (SIZE, 2)) / 9, bits).lower_bound > 0.3


def test_both_bounds_are_on_the_same_divergence() -> None:
    """At epsilon = 0 it is the total variation, 0.3935 for Laplace noise shifted by its scale."""
    a, b = laplace(1.0, 20_000), laplace(0.0, 20_000, seed=1)
    for tester in (HockeyStickTester(), HockeyStickTester(bound="hoeffding")):
        finding = examine(tester, a, b, PureDP(0.0))
        assert 0.36 < finding.lower_bound < 1.0 - math.exp(-0.5)


def test_one_s_own_classifier_sees_numbers_and_words_and_is_not_changed() -> None:
    own = First()
    mixed = [None, 3.0] * 1_000
    finding = examine(HockeyStickTester(classifier=own), mixed, laplace(0.0).tolist())
    assert finding.lower_bound > 0.3
    assert own.seen == {}


def test_a_classifier_that_only_remembers_certifies_nothing() -> None:
    tester = HockeyStickTester(classifier=Memory())
    finding = examine(tester, laplace(1.0), laplace(0.0, seed=1), alpha=1e-7)
    assert finding.lower_bound <= 0.0


class Wrong(Memory):
    def predict_proba(self, rows: Floats) -> Floats:
        return np.full(len(rows), 0.5)


def test_wrong_probabilities_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"Wrong\.predict_proba must give 800 rows of two"):
        examine(HockeyStickTester(classifier=Wrong()), laplace(1.0), laplace(0.0))


@pytest.mark.parametrize("classifier", ["forest", 3, Memory])
def test_an_unknown_classifier_is_an_error(classifier: Any) -> None:
    with pytest.raises(ValueError, match=r"classifier must be one of 'auto', 'linear'"):
        HockeyStickTester(classifier=classifier)


@pytest.mark.parametrize("guesser", [BalancedLinear(), BalancedBoosted()])
def test_scores_follow_the_likelihood_ratio(guesser: Guesser) -> None:
    """Of Laplace noise it rises between the two centres and is flat beyond."""
    train, _ = Share(training=0.9, most=10_000).part(
        laplace(1.0, 10_000), laplace(0.0, 10_000, seed=1), np.random.default_rng(0)
    )
    points, _ = Share(training=0.5, most=3).part(
        np.array([-1.0] * 6), np.array([2.0] * 6), np.random.default_rng(0)
    )
    guesser.fit(train)
    assert np.allclose(np.sort(guesser.log_odds(points.table)), [-1.0] * 3 + [1.0] * 3, atol=0.35)


def test_a_score_does_not_depend_on_the_size_of_a_side() -> None:
    train, _ = Share(training=0.9, most=10_000).part(
        laplace(0.0, 10_000), laplace(0.0, 500, seed=1), np.random.default_rng(0)
    )
    for guesser in (BalancedLinear(), BalancedBoosted()):
        guesser.fit(train)
        assert abs(float(np.mean(guesser.log_odds(train.table)))) < 0.4


def test_a_network_finds_a_shift() -> None:
    pytest.importorskip("torch", reason="the neural classifier needs torch")
    a, b = laplace(1.5, (1_000, 2)), laplace(0.0, (1_000, 2), seed=1)
    tester = HockeyStickTester(classifier="neural", device="cpu")
    assert examine(tester, a, b).lower_bound > 0.1
