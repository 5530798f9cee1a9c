"""With the true densities a bet grows as fast as any bet can: exact sums over narrow cells."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dpaudit.betting import MixedBet, tune
from dpaudit.claims import GaussianDP, RenyiDP

Floats = npt.NDArray[np.float64]
Sides = tuple[Floats, Floats]  # the probabilities of the outcomes on `data` and on `neighbour`

BOLDEST = 30.0  # nats: what guesses are clipped at

# (true sides, claim, pairs of draws until alpha = 0.05 that no valid test beats on average): from
# benchmarks/reference/sequential.csv. Pairs [0] and [0, 1]; noise of scale 2/(n epsilon).
TANGENT_FLOORS: list[tuple[Any, Any, float, float, int]] = [
    *(
        (noise(0.0, 2 / epsilon), noise(0.5, 1 / epsilon), epsilon, 1e-5, floor)
        for noise, floors in (
            (stats.norm, ((0.01, 16), (0.1, 19), (1.0, 59))),
            (stats.laplace, ((0.01, 29), (0.1, 35), (1.0, 186))),
        )
        for epsilon, floor in floors
    ),
    *(
        (stats.laplace(1.0, 1 / true), stats.laplace(0.0, 1 / true), claimed, 0.0, floor)
        for true, claimed, floor in (
            (1.0, 0.9, 2169), (2.0, 1.8, 1159), (4.0, 3.6, 1713), (8.0, 7.0, 10630),
            (0.1, 0.05, 5088), (0.1, 0.09, 127519),
        )
    ),
]  # fmt: skip


def narrow_cells(data: Any, neighbour: Any) -> tuple[Floats, Sides]:
    """True log-odds and probabilities of both sides in thousands of narrow cells."""
    scale = max(data.std(), neighbour.std())
    knots = [-35.0 * scale, 0.0, 0.5, 1.0, 35.0 * scale]
    edges = np.unique([np.linspace(*ends, 10_001) for ends in itertools.pairwise(knots)])
    both = []
    for side in (data, neighbour):
        below, beyond = side.cdf(edges), side.sf(edges)
        inner = np.where(edges[:-1] < side.mean(), np.diff(below), -np.diff(beyond))
        both.append(np.concatenate([below[:1], inner, beyond[-1:]]))
    possible = (both[0] > 0) | (both[1] > 0)
    sides = both[0][possible], both[1][possible]
    with np.errstate(divide="ignore"):
        truth = np.log(sides[0]) - np.log(sides[1])
    return truth.clip(-BOLDEST, BOLDEST), sides


def pairs_needed(sides: Sides, logs: tuple[Floats, Floats]) -> float:
    up, down = (np.atleast_2d(side)[0] for side in logs)
    return math.log(20.0) / float(up @ sides[0] + down @ sides[1])


@pytest.mark.parametrize(("data", "neighbour", "epsilon", "delta", "floor"), TANGENT_FLOORS)
def test_a_tuned_tangent_reaches_the_floor(
    data: Any, neighbour: Any, epsilon: float, delta: float, floor: int
) -> None:
    truth, sides = narrow_cells(data, neighbour)
    mass = 1e9 * (sides[0] + sides[1])  # so much evidence that the stake is tilted where it pays
    bets = tune(truth, mass, np.array([epsilon]), np.array([delta]))
    needed = pairs_needed(sides, bets.log_payoffs(truth))
    assert needed == pytest.approx(floor, rel=0.02, abs=0.5)  # the floors are whole numbers


# Claim, floor, and the share of the best growth that a mixture of events must reach: indicator
# events lose more, the further the claim lies from the truth.
MIXED_FLOORS = [
    (GaussianDP(0.5), 54, 0.7),
    (GaussianDP(0.8), 339, 0.8),
    (GaussianDP(0.9), 1360, 0.9),
    (RenyiDP(2.0, 0.5), 240, 0.9),
]


@pytest.mark.parametrize(("claim", "floor", "share"), MIXED_FLOORS, ids=str)
def test_a_mixed_bet_comes_near_the_floor(claim: Any, floor: int, share: float) -> None:
    """Against N(1, 1) and N(0, 1); tuned ten times, as in an audit of a few hundred draws."""
    truth, sides = narrow_cells(stats.norm(1.0), stats.norm(0.0))
    bets = MixedBet(claim)
    for _ in range(10):
        bets.tune(truth, 1e9 * (sides[0] + sides[1]))
    assert floor / pairs_needed(sides, bets.log_payoffs(truth)) >= share
