"""Histograms: exact distributions, and the exact delta with a threshold by quadrature."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, LUCK, assert_distributed, assert_own_noise, draw, gauss_legendre
from scipy import stats

from dpaudit.errors import InvalidMechanism
from dpaudit.zoo import (
    ZOO,
    HistogramThresholdBeforeNoise,
    NoisyHistogram,
    NoisyHistogramScaleEpsilon,
    ThresholdedHistogram,
    ThresholdedHistogramNoDelta,
    counted,
    threshold,
)

RECORDS = [1, 2, 4, 2, 4, 4, 2, 4, 4, 4]
COUNTS = [0, 1, 3, 0, 6]


def test_records_are_counted_by_bin() -> None:
    assert counted("mine", RECORDS, 5).tolist() == COUNTS
    assert counted("mine", np.array(RECORDS), 7).tolist() == [*COUNTS, 0, 0]
    assert counted("mine", [], 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("mechanism", "scale"),
    [
        (NoisyHistogram(1.0), 1.0),
        (NoisyHistogram(0.1), 10.0),
        (NoisyHistogramScaleEpsilon(0.1), 0.1),
        (NoisyHistogramScaleEpsilon(3.0), 3.0),
    ],
    ids=repr,
)
def test_every_count_has_its_own_noise(mechanism: Callable[..., Any], scale: float) -> None:
    outputs = draw(mechanism, RECORDS)
    assert outputs.shape == (DRAWS, 5)
    assert_own_noise(outputs, COUNTS, scale)


def test_a_histogram_has_as_many_columns_as_bins_whatever_the_data() -> None:
    for mechanism in (NoisyHistogram(bins=7), ThresholdedHistogram(bins=7)):
        assert draw(mechanism, [], 3).shape == draw(mechanism, [6, 6], 3).shape == (3, 7)


@pytest.mark.parametrize(
    ("epsilon", "scale", "name"),
    [(1.0, 1.0, "NoisyHistogram"), (0.1, 0.1, "NoisyHistogramScaleEpsilon")],
)
def test_the_epsilons_without_a_threshold_are_exact(
    epsilon: float, scale: float, name: str
) -> None:
    """One count moves by 1: the log-ratio is largest outside both counts, whatever they are."""
    entry = ZOO[name]
    mechanism: Any = entry.factory()
    assert mechanism.epsilon == epsilon
    outputs = np.linspace(-30, 30, 601)
    for count in range(1, 7):
        here, there = (stats.laplace(c, scale).logpdf(outputs) for c in (count, count - 1))
        assert np.max(np.abs(here - there)) == pytest.approx(entry.true_epsilon, abs=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        ThresholdedHistogram(),
        ThresholdedHistogram(0.5, 0.1),
        ThresholdedHistogram(2.0, 0.5),
        ThresholdedHistogramNoDelta(),
        ThresholdedHistogramNoDelta(0.5, 0.1),
    ],
    ids=repr,
)
def test_noisy_counts_above_the_threshold_show(
    mechanism: ThresholdedHistogram | ThresholdedHistogramNoDelta,
) -> None:
    outputs = draw(mechanism, RECORDS)
    least = threshold(mechanism.epsilon, mechanism.delta)
    for column, count in enumerate(COUNTS):
        shown = outputs[~np.isnan(outputs[:, column]), column]
        exact = stats.laplace(count, 1 / mechanism.epsilon)
        chance = exact.sf(least) if count > 0 else 0.0
        assert stats.binomtest(len(shown), DRAWS, chance).pvalue > LUCK
        if count > 0:
            assert shown.min() >= least
            assert_distributed(shown, lambda y, e=exact, p=chance: 1 - e.sf(y) / p)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.5])
def test_one_record_shows_with_probability_delta(epsilon: float, delta: float) -> None:
    shows = stats.laplace(1, 1 / epsilon).sf(threshold(epsilon, delta))
    assert shows == pytest.approx(delta, rel=1e-9)


def hockey_stick(count: int, other: int, level: float, mechanism: ThresholdedHistogram) -> float:
    """The exact `sup_A P(A) - e^level Q(A)` of one bin with these two counts."""
    least, scale = threshold(mechanism.epsilon, mechanism.delta), 1 / mechanism.epsilon
    shows, hidden = [], []
    # Where the log-ratio passes the level, between the counts, the excess has a kink.
    turn = (count + other + level * scale * np.sign(count - other)) / 2
    edges = np.linspace(least, least + 50 * scale, 101)
    kinks = [kink for kink in (count, other, turn) if kink > least]
    outputs, weights = gauss_legendre(np.unique([*edges, *kinks]))
    for each in (count, other):
        noisy = stats.laplace(each, scale)
        shows.append(noisy.pdf(outputs) if each > 0 else np.zeros_like(outputs))
        hidden.append(noisy.cdf(least) if each > 0 else 1.0)
    excess = float(weights @ np.maximum(0, shows[0] - math.exp(level) * shows[1]))
    return excess + max(0.0, hidden[0] - math.exp(level) * hidden[1])


def largest(level: float, mechanism: ThresholdedHistogram, counts: range) -> float:
    """Over neighbouring counts, of which the higher one is in this range, in both directions."""
    ways = [(count, count - 1) for count in counts] + [(count - 1, count) for count in counts]
    return max(hockey_stick(*way, level, mechanism) for way in ways)


@pytest.mark.parametrize(
    "mechanism", [ThresholdedHistogram(), ThresholdedHistogram(0.5, 0.1)], ids=repr
)
def test_the_threshold_sits_exactly_on_its_delta(mechanism: ThresholdedHistogram) -> None:
    epsilon, delta = mechanism.epsilon, mechanism.delta
    assert hockey_stick(1, 0, epsilon, mechanism) == pytest.approx(delta, rel=1e-9)
    assert hockey_stick(0, 1, epsilon, mechanism) == 0
    assert largest(epsilon, mechanism, range(2, 12)) == pytest.approx(0, abs=1e-12)


def test_the_least_epsilon_at_delta_is_reached_by_high_counts() -> None:
    mechanism, least = ThresholdedHistogram(), ZOO["ThresholdedHistogram"].true_epsilon
    assert least is not None
    assert 0.979 < least < 0.98
    assert hockey_stick(6, 5, least, mechanism) == pytest.approx(mechanism.delta, rel=1e-9)
    assert largest(least, mechanism, range(1, 12)) == pytest.approx(mechanism.delta, rel=1e-9)
    assert largest(least - 1e-3, mechanism, range(1, 7)) > mechanism.delta * (1 + 1e-3)


def test_no_epsilon_holds_without_the_delta() -> None:
    for level in (1.0, 10.0, 100.0):
        excess = hockey_stick(1, 0, level, ThresholdedHistogram())
        assert excess == pytest.approx(0.01, rel=1e-9)
    assert ZOO["ThresholdedHistogramNoDelta"].true_epsilon == math.inf


def test_the_threshold_before_the_noise_tells_counts_apart() -> None:
    """The threshold is 4.91: five records always show, four never do."""
    mechanism = HistogramThresholdBeforeNoise()
    entry = ZOO[mechanism.name]
    here, there = (draw(mechanism, data) for data in (entry.pair.data, entry.pair.neighbour))
    assert_distributed(here[:, 0], stats.laplace(5, 1).cdf)
    assert np.all(np.isnan(here[:, 1:]))
    assert np.all(np.isnan(there))


@pytest.mark.parametrize("record", [-1, 5])
@pytest.mark.parametrize("name", [name for name in ZOO if "Histogram" in name])
def test_a_record_outside_of_the_bins_is_refused(name: str, record: int) -> None:
    mechanism: Any = ZOO[name].factory()
    message = f"{name} has the bins 0 to 4, got a record in bin {record}"
    with pytest.raises(InvalidMechanism, match=message):
        draw(mechanism, [0, record])
    if record > 0:
        assert draw(dataclasses.replace(mechanism, bins=6), [0, record], 2).shape == (2, 6)
