"""The exponential mechanism and the private median: their exact distributions and epsilons."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from exact import Floats, assert_counts, assert_distributed, draw
from scipy import stats

from dpaudit.neighbours import Pair
from dpaudit.zoo import ZOO, ExponentialMechanism, PrivateMedian, PrivateMedianHalfNoise

MEDIANS = pytest.mark.parametrize(
    ("name", "rate"), [("PrivateMedian", 0.5), ("PrivateMedianHalfNoise", 1.0)]
)


def places(scores: Any, epsilon: float) -> Floats:
    weights = [math.exp(epsilon * score / 2) for score in scores]
    return np.array([weight / math.fsum(weights) for weight in weights])


def utilities(records: Any, points: Floats) -> Floats:
    """`-|records below - records above|` at each point, by counting."""
    column = np.asarray(records, dtype=np.float64)[:, None]
    below, above = np.sum(column < points, axis=0), np.sum(column > points, axis=0)
    return np.asarray(-np.abs(below - above), dtype=np.float64)


def pieces(*knots: Any) -> tuple[Floats, Floats]:
    """The middles and the lengths of the intervals between the knots."""
    edges = np.unique(np.concatenate(knots))
    return (edges[:-1] + edges[1:]) / 2, np.diff(edges)


def integral(records: Any, rate: float, low: float, high: float) -> float:
    """Of `e^(rate * utility)` over [low, high]: it is constant between the records."""
    middles, lengths = pieces([low, high], np.clip(records, low, high))
    return float(lengths @ np.exp(rate * utilities(records, middles)))


def mass(records: Any, rate: float, low: float, high: float) -> float:
    """The probability of [low, high]."""
    return integral(records, rate, low, high) / integral(records, rate, 0.0, 1.0)


def median_loss(pair: Pair, rate: float) -> float:
    """The largest log-ratio of the two densities, in either direction."""
    middles, _ = pieces([0.0, 1.0], pair.data, pair.neighbour)  # where both are constant
    here, there = (
        rate * utilities(side, middles) - math.log(integral(side, rate, 0.0, 1.0))
        for side in (pair.data, pair.neighbour)
    )
    return float(np.max(np.abs(here - there)))


def some_pairs(name: str, count: int) -> Iterator[Pair]:
    relation, rng = ZOO[name].neighbours(), np.random.default_rng(5)
    yield from relation.edge_pairs()
    yield from (relation.random_pair(rng) for _ in range(count))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(
    "scores", [[0.0], [-1.0, 2.0], [1.0, 1.0, 1.0], [0.5, -1.0, 2.0, 1.75, -0.25]], ids=str
)
def test_a_place_comes_by_its_weight(epsilon: float, scores: list[float]) -> None:
    outputs = draw(ExponentialMechanism(epsilon), scores)
    assert outputs.dtype.kind == "i"
    assert_counts(np.bincount(outputs, minlength=len(scores)), places(scores, epsilon))


def test_scores_of_any_size_can_be_drawn() -> None:
    outputs = draw(ExponentialMechanism(), [-9e9, 9e9, 9e9])
    assert_counts(np.bincount(outputs, minlength=3), np.array([0.0, 0.5, 0.5]))


def test_the_places_reach_their_epsilon_on_their_pair_and_no_more() -> None:
    entry = ZOO["ExponentialMechanism"]
    assert entry.true_epsilon is not None

    def loss(pair: Pair) -> float:
        here, there = places(pair.data, 1.0), places(pair.neighbour, 1.0)
        return float(np.max(np.abs(np.log(here / there))))

    assert loss(entry.pair) == pytest.approx(entry.true_epsilon, rel=1e-12)
    assert entry.true_epsilon == pytest.approx(0.9131, abs=5e-5)
    largest = max(loss(pair) for pair in some_pairs("ExponentialMechanism", 1000))
    assert largest <= entry.true_epsilon + 1e-12


@pytest.mark.parametrize("others", [1, 4, 99])
def test_far_scores_take_the_places_to_epsilon(others: int) -> None:
    """The supremum over scores of any size is epsilon, for any number of them."""
    losses = []
    for behind in (2.0, 3.0, 8.0, 60.0):
        data, neighbour = [0.0] + [behind] * others, [1.0] + [behind - 1] * others
        losses.append(math.log(places(neighbour, 1.0)[0] / places(data, 1.0)[0]))
    assert losses == sorted(losses)
    assert losses[1] == pytest.approx(
        math.log((1 + others * math.exp(1.5)) / (1 + others * math.exp(0.5))), rel=1e-12
    )
    assert losses[2] < 1
    assert losses[-1] == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(
    "records",
    [[], [0.0], [1.0, 1.0], [0.3], [0.9, 1.0], [0.7, 0.2, 0.2, 0.75], [0.0, 0.1, 0.6, 0.6, 0.6]],
    ids=str,
)
@pytest.mark.parametrize(
    ("mechanism", "rate"),
    [
        (PrivateMedian(), 0.5),
        (PrivateMedian(4.0), 2.0),
        (PrivateMedianHalfNoise(), 1.0),
        (PrivateMedianHalfNoise(0.2), 0.2),
    ],
)
def test_the_median_has_the_density_of_its_utility(
    mechanism: Any, rate: float, records: list[float]
) -> None:
    knots = np.unique([0.0, *records, 1.0])
    reached = [mass(records, rate, 0.0, knot) if knot > 0 else 0.0 for knot in knots]
    assert reached[-1] == 1.0
    outputs = draw(mechanism, records)
    assert_distributed(outputs, lambda points: np.interp(points, knots, reached))
    inside = np.histogram(outputs, knots)[0]
    assert_counts(inside, np.diff(reached))


def test_the_order_of_the_records_does_not_matter_and_they_are_clipped() -> None:
    plain = draw(PrivateMedian(), [0.0, 0.4, 1.0], 100)
    np.testing.assert_array_equal(draw(PrivateMedian(), np.array([7.0, -3.0, 0.4]), 100), plain)


def test_many_records_on_one_side_leave_a_uniform_point() -> None:
    assert_distributed(draw(PrivateMedian(), np.zeros(5000)), stats.uniform.cdf)


def test_an_added_record_moves_the_utility_by_one_and_a_replaced_one_by_two() -> None:
    points = np.linspace(0, 1, 101)
    base, added, replaced = (utilities(side, points) for side in ([0.3], [0.3, 0.6], [0.3, 0.1]))
    assert np.max(np.abs(added - base)) == 1
    assert np.max(np.abs(replaced - added)) == 2


@MEDIANS
def test_no_pair_costs_the_median_more_than_its_epsilon(name: str, rate: float) -> None:
    exact = ZOO[name].true_epsilon
    assert exact is not None
    losses = [median_loss(pair, rate) for pair in some_pairs(name, 400)]
    assert exact / 2 < max(losses) <= exact


@MEDIANS
def test_the_epsilon_of_the_median_is_met_in_the_limit(name: str, rate: float) -> None:
    """Where a record brings the counts nearer, probability p gains `-log(p + (1-p) e^-2rate)`."""
    for share in (0.5, 0.1, 1e-3, 1e-12):
        low = 1 - share
        more, fewer = np.array([low, 1.0]), np.array([low])
        gained = -math.log(share + (1 - share) * math.exp(-2 * rate))
        log_ratio = math.log(mass(more, rate, low, 1.0) / mass(fewer, rate, low, 1.0))
        assert log_ratio == pytest.approx(gained, abs=1e-9)
        largest = max(gained, 2 * rate - gained)  # the rest loses what is missing
        assert median_loss(Pair(more, fewer), rate) == pytest.approx(largest, abs=1e-9)
    assert log_ratio == pytest.approx(ZOO[name].true_epsilon, abs=1e-9)


def test_the_median_keeps_its_claim_on_its_pair_and_half_the_noise_does_not() -> None:
    kept, broken = ZOO["PrivateMedian"], ZOO["PrivateMedianHalfNoise"]
    assert median_loss(kept.pair, 0.5) == pytest.approx(0.8414, abs=5e-5)
    assert median_loss(broken.pair, 1.0) == pytest.approx(1.5060, abs=5e-5)
