"""Mechanisms, tools and models of diffprivlib: the right are not refuted, smaller claims are.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. A typical smaller claim is 0.05-DP for noise of epsilon 1: guesses on a pair are
right with probability 0.697, where the claim allows 0.512. A refutation takes about 17 nats, that
is 3,058 right guesses of 5,000: the power is above 0.9999 (a binomial tail).
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

pytest.importorskip("diffprivlib", reason="diffprivlib is not installed")
mechanisms = import_module("diffprivlib.mechanisms")
models = import_module("diffprivlib.models")
tools = import_module("diffprivlib.tools")


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.Laplace(epsilon=1, sensitivity=1, random_state=0),
        mechanisms.LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=5),
        mechanisms.LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower=0, upper=5),
        mechanisms.Gaussian(epsilon=1, delta=0.05, sensitivity=1),
        mechanisms.GaussianAnalytic(epsilon=1, delta=0.05, sensitivity=1),
        mechanisms.GaussianDiscrete(epsilon=1, delta=0.05),
        mechanisms.Geometric(epsilon=1),
        mechanisms.GeometricFolded(epsilon=1, lower=0, upper=8),
        mechanisms.Staircase(epsilon=1, sensitivity=1),
        mechanisms.Snapping(epsilon=1, sensitivity=1, lower=0, upper=5),
        mechanisms.Binary(epsilon=1, value0="no", value1="yes"),
        mechanisms.Exponential(epsilon=1, sensitivity=1, utility=[1, 0, 0]),
        mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1, utility=[1, 0, 0], monotonic=True),
        mechanisms.ExponentialHierarchical(epsilon=1, hierarchy=[["a"], ["b", "c"]]),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_mechanism_keeps_its_claim(mechanism: Any) -> None:
    assert not dpaudit.audit(mechanism, samples=1_500, rng=1).refuted


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.Laplace(epsilon=2, sensitivity=1, random_state=0),
        mechanisms.Geometric(epsilon=2),
        mechanisms.Binary(epsilon=2, value0="no", value1="yes"),
        mechanisms.Exponential(epsilon=4, sensitivity=1, utility=[1, 0, 0]),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_smaller_claim_is_refuted(mechanism: Any) -> None:
    assert dpaudit.audit(mechanism, dpaudit.PureDP(0.05), samples=10_000, rng=1).refuted


def test_laplace_noise_leaves_a_grid_that_depends_on_the_data() -> None:
    """It is drawn in a safer way (Holohan and Braghin 2021), and added in floats all the same."""
    pair = dpaudit.pairs([(np.array([1.0]), np.array([0.0]))])
    laplace = mechanisms.Laplace(epsilon=1, sensitivity=1)
    audit = dpaudit.audit(laplace, neighbours=pair, samples=50_000, rng=1, floats="bits")
    assert audit.counterexample is not None
    assert audit.counterexample.event == "output is not a multiple of 2^-53"
    assert audit.epsilon_lower is not None
    assert audit.epsilon_lower > 5.0


def test_outputs_repeat_with_the_audit_and_not_with_a_seed_of_their_own() -> None:
    subject = dpaudit.integrations.from_diffprivlib(
        mechanisms.Laplace(epsilon=1, sensitivity=1, random_state=0)
    )
    release = as_mechanism(subject.mechanism)
    first, again = (release.draw(np.zeros(1), 5, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, again)
    assert len(set(np.asarray(first).tolist())) == 5


@pytest.mark.parametrize("tool", ["mean", "sum", "var", "median", "count_nonzero"])
def test_a_tool_keeps_its_claim(tool: str) -> None:
    bounds = {} if tool == "count_nonzero" else {"bounds": (0, 1)}
    records = dpaudit.floats(0, 1) if tool == "count_nonzero" else None
    call = getattr(tools, tool)
    subject = dpaudit.integrations.from_diffprivlib(
        call, epsilon=1.0, records=records, max_records=5, **bounds
    )
    assert not dpaudit.audit(subject, samples=1_500, rng=1).refuted


def test_a_tool_with_a_smaller_claim_is_refuted() -> None:
    mean = dpaudit.integrations.from_diffprivlib(
        tools.mean, epsilon=3.0, bounds=(0, 1), max_records=5
    )
    assert mean.claim == dpaudit.PureDP(3.0)
    assert dpaudit.audit(mean, dpaudit.PureDP(0.05), samples=10_000, rng=1).refuted
    counts = dpaudit.integrations.from_diffprivlib(
        tools.histogram, epsilon=1.0, bins=3, range=(0, 1)
    )
    assert not dpaudit.audit(counts, samples=1_500, rng=1).refuted
    replaced = dpaudit.replace_one(dpaudit.floats(0, 1), max_records=3)
    claim = dpaudit.PureDP(0.05)
    assert dpaudit.audit(counts, claim, replaced, samples=10_000, rng=1).refuted


def test_a_model_is_what_it_has_learned() -> None:
    scaler = models.StandardScaler(epsilon=1.0, bounds=([0, 0], [1, 1]))
    subject = dpaudit.integrations.from_diffprivlib(
        scaler, records=dpaudit.vectors(2, 0, 1), max_records=4
    )
    assert not dpaudit.audit(subject, samples=600, rng=1).refuted
    taught = dpaudit.records(x=dpaudit.vectors(1, 0, 1), y=dpaudit.floats(0, 1))
    line = models.LinearRegression(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1))
    fitted = dpaudit.integrations.from_diffprivlib(line, records=taught, max_records=4)
    drawn = as_mechanism(fitted.mechanism).draw(
        [{"x": np.array([0.5]), "y": 0.5}] * 4, 3, np.random.default_rng(1)
    )
    assert len(drawn) == 3


def test_whole_values_lie_within_bounds_that_may_be_halves_or_infinite() -> None:
    folded = mechanisms.GeometricFolded(epsilon=1, lower=0.5, upper=10.5)
    open_ended = mechanisms.GeometricTruncated(epsilon=1, lower=1, upper=float("inf"))
    for mechanism in (folded, open_ended):
        listed = list(dpaudit.integrations.from_diffprivlib(mechanism).neighbours.edge_pairs())
        assert listed
        assert all(side.min() >= 1 for pair in listed for side in (pair.data, pair.neighbour))


def test_a_tool_may_be_wrapped() -> None:
    def half(data: Any, **settings: Any) -> Any:
        return tools.mean(data[::2], **settings)

    subject = dpaudit.integrations.from_diffprivlib(half, epsilon=2.0, bounds=(0, 1))
    assert subject.claim == dpaudit.PureDP(2.0)


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_a_tree_is_its_splits_and_labels(kind: str) -> None:
    model = getattr(models, kind)(epsilon=99, bounds=(0, 1), classes=[0, 1], max_depth=1)
    if kind == "RandomForestClassifier":
        model.set_params(n_estimators=1)
    taught = dpaudit.records(x=dpaudit.vectors(1, 0, 1), y=dpaudit.integers(0, 1))
    release = as_mechanism(dpaudit.integrations.from_diffprivlib(model, records=taught).mechanism)
    zeros, ones = (
        np.array(release.draw([{"x": np.zeros(1), "y": y}] * 4, 5, np.random.default_rng(1)))
        for y in (0, 1)
    )
    assert np.any(np.all(zeros == 1, axis=0) & np.all(ones == 0, axis=0))  # the leaf says 0, or 1


def test_what_cannot_be_made_a_subject_is_said() -> None:
    with pytest.raises(InvalidMechanism, match=r"or it looks for them in the data, which is a"):
        dpaudit.integrations.from_diffprivlib(tools.mean, epsilon=1.0)
    with pytest.raises(InvalidMechanism, match="say what StandardScaler is fitted on"):
        dpaudit.integrations.from_diffprivlib(models.StandardScaler(epsilon=1.0))
    with pytest.raises(InvalidMechanism, match="leave out epsilon"):
        dpaudit.integrations.from_diffprivlib(mechanisms.Geometric(epsilon=1), epsilon=2)
    with pytest.raises(InvalidMechanism, match="needs a mechanism, a tool or an unfitted model"):
        dpaudit.integrations.from_diffprivlib(3)


def test_the_command_line_takes_a_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("releases_of_diffprivlib.py").write_text(
        "from diffprivlib.mechanisms import Laplace\nanswer = Laplace(epsilon=2, sensitivity=1)\n"
    )
    target = "releases_of_diffprivlib.py:answer"
    honest = run("audit", target, "--samples", "1500", "--seed", "1")
    assert honest.exit_code == 0, honest.output
    small = run("audit", target, "--claim", "eps=0.05", "--samples", "10000", "--seed", "1")
    assert small.exit_code == 1, small.output
