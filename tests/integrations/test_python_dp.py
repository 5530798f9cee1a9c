"""Algorithms, noise and partition selection of python-dp: right ones hold, smaller claims fall.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. A typical smaller claim is 0.05-DP for noise of epsilon 1: guesses on a pair are
right with probability 0.697, where the claim allows 0.512. A refutation takes about 17 nats, that
is 6,094 right guesses of 10,000: the power is above 0.9999 (a binomial tail).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import dpaudit
from dpaudit.errors import InvalidMechanism
from dpaudit.mechanism import as_mechanism

pytest.importorskip("pydp", reason="python-dp is not installed")
algorithms = import_module("pydp.algorithms.laplacian")
noise = import_module("pydp.algorithms.numerical_mechanisms")
selection = import_module("pydp.algorithms.partition_selection")

RANGE = {"lower_bound": 0, "upper_bound": 10}
NAMES = [
    "BoundedMean",
    "BoundedSum",
    "BoundedVariance",
    "BoundedStandardDeviation",
    "Max",
    "Min",
    "Median",
]
STRATEGIES = ["truncated_geometric", "laplace", "gaussian"]


def algorithm(name: str, epsilon: float = 1.0, **settings: Any) -> Any:
    return getattr(algorithms, name)(epsilon=epsilon, **{"dtype": "float", **RANGE, **settings})


@pytest.mark.parametrize("dtype", ["float", "int"])
@pytest.mark.parametrize("name", NAMES)
def test_an_algorithm_keeps_its_claim(name: str, dtype: str) -> None:
    assert not dpaudit.audit(algorithm(name, dtype=dtype), samples=1_500, rng=1).refuted


def test_a_percentile_and_a_count_keep_their_claims() -> None:
    percentile = algorithm("Percentile", percentile=0.25)
    assert not dpaudit.audit(percentile, samples=1_500, rng=1).refuted
    assert not dpaudit.audit(algorithms.Count(epsilon=1.0), samples=1_500, rng=1).refuted


@pytest.mark.parametrize("name", ["BoundedSum", "BoundedMean", "Max"])
def test_an_algorithm_with_a_smaller_claim_is_refuted(name: str) -> None:
    thing = algorithm(name, epsilon=8.0)
    assert dpaudit.audit(thing, dpaudit.PureDP(0.05), samples=20_000, rng=1).refuted


def test_a_user_gives_to_several_partitions() -> None:
    count = algorithms.Count(epsilon=4.0, l0_sensitivity=2, linf_sensitivity=3, dtype="int")
    subject = dpaudit.integrations.from_python_dp(
        count, records=dpaudit.integers(0, 9), max_records=4
    )
    users = dpaudit.lists(dpaudit.integers(0, 9), min_length=6, max_length=6)
    assert subject.neighbours == dpaudit.add_or_remove_one(users, max_records=4)
    drawn = as_mechanism(subject.mechanism).draw([[1] * 6] * 50, 4, np.random.default_rng(1))
    assert np.shape(drawn) == (4, 2)
    assert np.all(np.abs(np.asarray(drawn) - 150) < 75)  # 50 scales of the noise
    assert not dpaudit.audit(subject, samples=1_500, rng=1).refuted
    assert dpaudit.audit(subject, dpaudit.PureDP(1.0), samples=20_000, rng=1).refuted


def test_entries_of_before_are_forgotten() -> None:
    count = algorithms.Count(epsilon=4.0, dtype="int")
    count.add_entries([1] * 1_000)
    release = as_mechanism(dpaudit.integrations.from_python_dp(count).mechanism)
    drawn = release.draw(np.array([1, 2]), 5, np.random.default_rng(1))
    assert max(drawn) < 500


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (noise.LaplaceMechanism(epsilon=1.0, sensitivity=2.0), dpaudit.PureDP(1.0)),
        (
            noise.GaussianMechanism(epsilon=1.0, delta=0.05, sensitivity=2.0),
            dpaudit.ApproxDP(1.0, 0.05),
        ),
    ],
    ids=["Laplace", "Gaussian"],
)
def test_noise(mechanism: Any, claim: dpaudit.claims.Claim) -> None:
    subject = dpaudit.integrations.from_python_dp(mechanism)
    assert subject.claim == claim
    assert subject.neighbours == dpaudit.query_answers(1, 2)
    assert not dpaudit.audit(mechanism, samples=1_500, rng=1).refuted
    assert dpaudit.audit(mechanism, dpaudit.PureDP(0.05), samples=20_000, rng=1).refuted


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("threshold", [None, 3])
def test_a_selection_of_partitions(strategy: str, threshold: int | None) -> None:
    made = selection.create_partition_strategy(strategy, 1.0, 0.05, 1, threshold)
    subject = dpaudit.integrations.from_python_dp(made)
    assert subject.claim == dpaudit.ApproxDP(1.0, 0.05)
    assert subject.neighbours.contains(dpaudit.Pair([0], [1]))
    assert not dpaudit.audit(made, samples=3_000, rng=1).refuted
    assert dpaudit.audit(made, dpaudit.PureDP(0.05), samples=40_000, rng=1).refuted


def test_a_user_may_be_in_several_partitions() -> None:
    made = selection.create_partition_strategy("truncated_geometric", 2.0, 0.1, 2)
    subject = dpaudit.integrations.from_python_dp(made)
    assert subject.neighbours.contains(dpaudit.Pair([1, 1], [2, 2]))
    assert not dpaudit.audit(subject, samples=3_000, rng=1).refuted
    assert dpaudit.audit(subject, dpaudit.ApproxDP(0.1, 0.1), samples=60_000, rng=1).refuted


def test_what_cannot_be_made_a_subject_is_said() -> None:
    silent = noise.GaussianMechanism.create_from_standard_deviation(2.0)
    with pytest.raises(
        InvalidMechanism, match="GaussianMechanism states no epsilon or no sensitiv"
    ):
        dpaudit.integrations.from_python_dp(silent)
    with pytest.raises(InvalidMechanism, match=r"needs an algorithm, a numerical mechanism.*got 3"):
        dpaudit.integrations.from_python_dp(3)


def test_the_command_line_takes_an_algorithm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("releases_of_python_dp.py").write_text(
        "from pydp.algorithms.laplacian import BoundedSum\n"
        "total = BoundedSum(epsilon=2, lower_bound=0, upper_bound=10, dtype='float')\n"
    )
    target = "releases_of_python_dp.py:total"
    honest = run("audit", target, "--samples", "1500", "--seed", "1")
    assert honest.exit_code == 0, honest.output
    small = run("audit", target, "--claim", "eps=0.05", "--samples", "10000", "--seed", "1")
    assert small.exit_code == 1, small.output
