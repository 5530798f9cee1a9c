"""The histogram and hockey-stick testers accuse an honest mechanism with probability at most alpha.

Null: every run on a mechanism that keeps its claim, most of them exactly on it, refutes with
probability at most alpha = 0.2, independently. Of 100 runs more than 43 do so with probability
below 1e-7. Alternative: a tester that refutes with probability 0.56 is caught with probability
0.99. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counts import most_accusations, power
from samples import Memory

from dpaudit.claims import ApproxDP, Claim, GaussianDP, PureDP
from dpaudit.guessing import Share
from dpaudit.testers import (
    Examiner,
    HeldOutScores,
    HistogramTester,
    HockeyStickTester,
    Partition,
    ranked,
    whole,
)
from dpaudit.zoo import GaussianCount, LaplaceCount, RandomizedResponse

RUNS, SLOWER_RUNS, ALPHA, DRAWS = 100, 60, 0.2, 300

Draw = Callable[[np.random.Generator], tuple[Any, Any]]


def both(mechanism: Callable[..., Any], data: Any, neighbour: Any) -> Draw:
    return lambda rng: (mechanism(data, DRAWS, rng), mechanism(neighbour, DRAWS, rng))


def words(rng: np.random.Generator) -> tuple[Any, Any]:
    """A word out of two hundred on either side: most were seen a few times, or never before."""
    first, second = rng.integers(200, size=(2, DRAWS)).astype(str).tolist()
    return first, second


def vectors(rng: np.random.Generator) -> tuple[Any, Any]:
    """Four counts, each with Laplace noise, of which one moves: epsilon = 1 is tight."""
    return rng.laplace(size=(DRAWS, 4)), rng.laplace(size=(DRAWS, 4)) + np.eye(4)[1]


MECHANISMS: dict[str, tuple[Claim, Draw]] = {
    f"{name}-{epsilon}": (PureDP(epsilon), both(mechanism(epsilon), *data))
    for name, mechanism, data in (
        ("laplace", LaplaceCount, ([1.0], [])),
        ("bits", RandomizedResponse, ([0], [1])),
    )
    for epsilon in (0.01, 0.1, 1.0)
} | {
    "gaussian": (ApproxDP(0.5, 0.05), both(GaussianCount(0.5, 0.05), [1.0], [])),
    "profile": (GaussianDP(1.0), lambda rng: (1 + rng.normal(size=DRAWS), rng.normal(size=DRAWS))),
    "words": (PureDP(0.01), words),
    "vectors": (PureDP(1.0), vectors),
}


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 43
    assert power(RUNS, ALPHA, 0.56) >= 0.99
    assert most_accusations(SLOWER_RUNS, ALPHA) == 30
    assert power(SLOWER_RUNS, ALPHA, 0.66) >= 0.99


def refuted(tester: Examiner, claim: Claim, draw: Draw, runs: int = RUNS) -> int:
    """How many runs refute the claim."""
    found = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        finding = tester.examine(*draw(rng), claim, alpha=ALPHA, rng=rng)
        found += finding.lower_bound > tester.threshold(claim)
    return found


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS.keys() - {"profile"}))
@pytest.mark.parametrize(
    "tester",
    [HistogramTester(), HockeyStickTester(classifier="linear")],
    ids=["histogram", "linear"],
)
def test_an_honest_mechanism_is_rarely_accused(tester: Examiner, mechanism: str) -> None:
    claim, draw = MECHANISMS[mechanism]
    assert refuted(tester, claim, draw) <= most_accusations(RUNS, ALPHA)


@pytest.mark.parametrize("mechanism", ["laplace-0.1", "words"])
@pytest.mark.parametrize(
    "tester",
    [
        HistogramTester(bins="atoms"),
        HistogramTester(bound="gilbert-mcmillan"),
        HockeyStickTester(classifier=Memory()),
        HockeyStickTester(classifier="linear", bound="hoeffding"),
    ],
    ids=["atoms", "gilbert-mcmillan", "memory", "hoeffding"],
)
def test_other_settings_rarely_accuse_it_either(tester: Examiner, mechanism: str) -> None:
    claim, draw = MECHANISMS[mechanism]
    assert refuted(tester, claim, draw) <= most_accusations(RUNS, ALPHA)


@pytest.mark.parametrize(
    ("tester", "mechanism"),
    [
        (HistogramTester(), "profile"),
        (HockeyStickTester(), "profile"),
        (HockeyStickTester(classifier="boosted"), "vectors"),
    ],
    ids=["histogram-profile", "linear-profile", "boosted-vectors"],
)
def test_slower_runs_rarely_accuse_it_either(tester: Examiner, mechanism: str) -> None:
    """Null as above. Of 60 runs more than 30 are as rare; a rate of 0.66 is caught with 0.99."""
    claim, draw = MECHANISMS[mechanism]
    assert refuted(tester, claim, draw, runs=SLOWER_RUNS) <= most_accusations(SLOWER_RUNS, ALPHA)


def test_a_tester_that_certifies_what_it_learned_from_would_be_caught() -> None:
    """The check is not blind: with one sample for both purposes every run accuses."""
    found = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        train, _ = Share(training=0.9, most=DRAWS).part(*words(rng), rng)
        index = Partition(train.table, whole).index(train.table)
        ones, zeros = (np.bincount(index[train.labels == side], minlength=300) for side in (1, 0))
        scores = np.log((ones + 0.5) / (zeros + 0.5))
        seen = train.labels.astype(np.float64)
        trial = HeldOutScores(
            events=ranked(scores[index], seen, 1.0 - seen),
            scores=scores[index],
            labels=train.labels,
        )
        found += trial.finding(PureDP(0.01), alpha=ALPHA, bound="exact").lower_bound > 0.0
    assert found > most_accusations(RUNS, ALPHA)
