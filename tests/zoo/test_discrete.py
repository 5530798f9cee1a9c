"""Whole-number noise: exact distributions, in fractions where the mechanism is exact itself."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, Floats, assert_counts, draw

from dpaudit.zoo import (
    ZOO,
    Geometric,
    RoundedGeometric,
    RoundedGeometricNaturalLog,
    TruncatedGeometric,
)

ROUNDED = pytest.mark.parametrize("make", [RoundedGeometric, RoundedGeometricNaturalLog])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_geometric_noise(epsilon: float) -> None:
    outputs = draw(Geometric(epsilon), [0.0] * 3)
    assert outputs.dtype.kind == "i"
    base = math.exp(-epsilon)
    values = np.arange(-5, 6)
    inside = (1 - base) / (1 + base) * base ** np.abs(values)
    observed = np.array([np.count_nonzero(outputs - 3 == value) for value in values])
    assert_counts(
        np.append(observed, DRAWS - observed.sum()), np.append(inside, 1 - math.fsum(inside))
    )
    assert inside[5] / inside[6] == pytest.approx(math.exp(epsilon))


def truncated(epsilon: float, records: int, most: int) -> Floats:
    """The geometric probabilities of 0..most, all below in the first and all above in the last."""
    base = math.exp(-epsilon)
    inside: Floats = (1 - base) / (1 + base) * base ** np.abs(np.arange(most + 1.0) - records)
    inside[0] = base**records / (1 + base)
    inside[-1] = base ** (most - records) / (1 + base)
    return inside


@pytest.mark.parametrize(("epsilon", "most"), [(0.1, 5), (1.0, 5), (1.0, 1), (3.0, 2)])
def test_truncated_geometric_noise(epsilon: float, most: int) -> None:
    for records in range(most + 1):
        outputs = draw(TruncatedGeometric(epsilon, most=most), [0.0] * records)
        observed = np.bincount(outputs, minlength=most + 1)
        assert_counts(observed, truncated(epsilon, records, most))


def test_a_count_above_the_most_is_drawn_and_clamped() -> None:
    outputs = draw(TruncatedGeometric(1.0, most=2), [0.0] * 4)
    beyond = math.exp(-1.0) ** np.array([4, 3, 2]) / (1 + math.exp(-1.0))  # Pr[output <= 0, 1, ...]
    exact = [beyond[0], beyond[1] - beyond[0], 1 - beyond[1]]
    assert_counts(np.bincount(outputs, minlength=3), np.array(exact))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_truncated_geometric_noise_loses_exactly_epsilon(epsilon: float) -> None:
    laws = [truncated(epsilon, records, 5) for records in range(6)]
    for first, second in itertools.pairwise(laws):
        assert np.abs(np.log(first / second)).max() == pytest.approx(epsilon, rel=1e-12)


def rounded(k: int, records: int, most: int) -> list[Fraction]:
    """The probabilities of 0..most by the distribution function of Balcer and Vadhan (2018)."""
    base = Fraction(2**k, 2**k + 1)

    def at_most(value: int) -> Fraction:
        if value < records:
            return base ** (records - value) / (1 + base)
        if value < most:
            return 1 - base ** (value - records + 1) / (1 + base)
        return Fraction(1)

    steps = [Fraction(0), *map(at_most, range(most + 1))]
    return [now - before for before, now in itertools.pairwise(steps)]


@ROUNDED
@pytest.mark.parametrize(("epsilon", "most"), [(0.1, 5), (1.0, 5), (0.02, 3), (5.0, 1)])
def test_rounded_geometric_noise(make: Callable[..., Any], epsilon: float, most: int) -> None:
    mechanism = make(epsilon, most=most)
    for records in (0, 1, most, most + 2):
        outputs = draw(mechanism, [0.0] * records)
        exact = rounded(mechanism.k, min(records, most), most)
        assert_counts(np.bincount(outputs, minlength=most + 1), np.array(list(map(float, exact))))


@pytest.mark.parametrize("k", [0, 1, 3, 5, 11])
def test_the_base_of_the_rounded_noise_is_what_a_record_costs(k: int) -> None:
    """In fractions, with nothing rounded: the largest ratio of two neighbours is 1 + 2^-k."""
    laws = [rounded(k, records, 5) for records in range(6)]
    for first, second in itertools.pairwise(laws):
        ratios = [here / there for here, there in zip(first, second, strict=True)]
        assert max(max(ratios), 1 / min(ratios)) == 1 + Fraction(1, 2**k)


@ROUNDED
def test_the_loss_is_the_logarithm_of_the_base(make: Callable[..., Any]) -> None:
    mechanism = make(0.1)
    assert math.exp(mechanism.loss) == pytest.approx(1 + 0.5**mechanism.k, rel=1e-15)


def test_the_binary_logarithm_keeps_every_epsilon() -> None:
    for epsilon in np.geomspace(2.0**-60, 50.0, 500):
        assert RoundedGeometric(float(epsilon)).loss <= epsilon / 2


def test_the_natural_logarithm_breaks_small_epsilons_only() -> None:
    slip = RoundedGeometricNaturalLog(0.1)
    assert (slip.k, round(slip.loss, 4)) == (3, 0.1178)
    assert RoundedGeometricNaturalLog(1e-6).loss > 10 * 1e-6
    assert RoundedGeometricNaturalLog(1.0).k == RoundedGeometric(1.0).k == 1


def test_the_entries_know_their_least_epsilon() -> None:
    assert ZOO["Geometric"].true_epsilon == ZOO["TruncatedGeometric"].true_epsilon == 1.0
    assert ZOO["RoundedGeometric"].true_epsilon == pytest.approx(math.log(1.5))
    assert ZOO["RoundedGeometricNaturalLog"].true_epsilon == pytest.approx(math.log(1.125))
