"""python-dp inside: noise on floats and selections of partitions; all else is refused by name."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit import InsideVerdict, PureDP
from dpaudit.integrations import from_python_dp

pytest.importorskip("pydp", reason="python-dp is not installed")
noise = import_module("pydp.algorithms.numerical_mechanisms")
laplacian = import_module("pydp.algorithms.laplacian")
selection = import_module("pydp.algorithms.partition_selection")
distributions = import_module("pydp.distributions")

DRAWS = 4_000


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (noise.LaplaceMechanism(epsilon=0.5, sensitivity=1.0), stats.laplace(1.5, 2.0)),
        (
            noise.GaussianMechanism.create_from_standard_deviation(2.0),
            stats.norm(1.5, 2.0),
        ),
    ],
    ids=["laplace", "gaussian"],
)
def test_noise_is_that_of_the_library(mechanism: Any, law: Any) -> None:
    drawn = [mechanism.add_noise(1.5) for _ in range(DRAWS)]
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-6
    found = dpaudit.audit_inside(
        lambda data, rng: mechanism.add_noise(data[0]), PureDP(9.0), [([1.5], [0.5])], rng=1
    )
    assert found.worst is not None
    release = found.worst.release
    assert release.kernel.log_density(4.0, 1.5) == pytest.approx(law.logpdf(4.0))


def test_a_mechanism_keeps_its_claim_and_no_smaller_one() -> None:
    subject = from_python_dp(noise.LaplaceMechanism(epsilon=1.0, sensitivity=1.0))
    for epsilon, verdict in ((1.0, "not refuted"), (0.5, "broken inside")):
        found = dpaudit.audit_inside(
            subject.mechanism, PureDP(epsilon), subject.neighbours, rng=1, transcripts=60
        )
        assert found.verdict.value == verdict


@pytest.mark.parametrize("strategy", ["truncated_geometric", "laplace", "gaussian"])
def test_a_selection_of_partitions_is_followed(strategy: str) -> None:
    kept = selection.create_partition_strategy(strategy, 1.0, 0.01, 1)
    users = next(n for n in range(100) if kept.probability_of_keep(n) > 0.3)
    chance = kept.probability_of_keep(users)
    drawn = sum(kept.should_keep(users) for _ in range(DRAWS))
    assert stats.binomtest(drawn, DRAWS, chance).pvalue > 1e-6
    found = dpaudit.audit_inside(
        lambda data, rng: kept.should_keep(data[0]), PureDP(9.0), [([users], [users - 1])], rng=1
    )
    assert found.verdict is InsideVerdict.NOT_REFUTED
    assert found.worst is not None
    ratio = {True: chance / kept.probability_of_keep(users - 1)}
    ratio[False] = (1.0 - chance) / (1.0 - kept.probability_of_keep(users - 1))
    losses = [abs(math.log(each)) for each in ratio.values()]
    assert abs(found.worst.loss) == pytest.approx(max(losses))


def test_all_else_is_refused_by_name() -> None:
    laplace = noise.LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    total = laplacian.BoundedSum(epsilon=1.0, lower_bound=0.0, upper_bound=1.0, dtype="float")
    for name, code in {
        "BoundedSumDouble": lambda data, rng: total.quick_result(list(data)),
        "LaplaceMechanism on int": lambda data, rng: laplace.add_noise(int(data[0])),
        "noised_value_above": lambda data, rng: laplace.noised_value_above_threshold(data[0], 1.0),
        "LaplaceDistribution": lambda data, rng: distributions.LaplaceDistribution(
            1.0, 1.0
        ).sample(),
    }.items():
        found = dpaudit.audit_inside(code, PureDP(1.0), [([1.0], [0.0])], rng=1)
        assert found.verdict is InsideVerdict.CANNOT_FOLLOW
        assert name in found.reason


def test_hooks_are_undone() -> None:
    before = noise.LaplaceMechanism.add_noise, noise.NumericalMechanism.add_noise
    laplace = noise.LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    code = dpaudit.one_at_a_time(lambda data, rng: laplace.add_noise(data[0]))
    dpaudit.audit_inside(code, PureDP(1.0), [([1.0], [0.0])], rng=1, transcripts=2)
    assert "add_noise" not in vars(noise.LaplaceMechanism)
    assert (noise.LaplaceMechanism.add_noise, noise.NumericalMechanism.add_noise) == before
    assert isinstance(laplace.add_noise(np.float64(1.0)), float)
