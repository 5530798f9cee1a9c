"""Measurements of Tumult Core: right ones are not refuted, smaller claims are.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. A typical smaller claim is 0.05-DP for noise of epsilon 2: guesses on a pair are
right with probability 0.816, where the claim allows 0.512. A refutation takes about 17 nats, that
is 1,366 right guesses of 2,000: the power is above 0.9999 (a binomial tail).
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
from dpaudit.integrations import answers
from dpaudit.mechanism import as_mechanism

pytest.importorskip("tmlt.core", reason="Tumult Core is not installed")
numpy_domains = import_module("tmlt.core.domains.numpy_domains")
pandas_domains = import_module("tmlt.core.domains.pandas_domains")
spark_domains = import_module("tmlt.core.domains.spark_domains")
metrics = import_module("tmlt.core.metrics")
aggregations = import_module("tmlt.core.measurements.aggregations")
noise = import_module("tmlt.core.measurements.noise_mechanisms")
series = import_module("tmlt.core.measurements.pandas_measurements.series")
frames = import_module("tmlt.core.measurements.pandas_measurements.dataframe")
converters = import_module("tmlt.core.measurements.converters")
composition = import_module("tmlt.core.measurements.composition")
interactive = import_module("tmlt.core.measurements.interactive_measurements")
measures = import_module("tmlt.core.measures")

FLOAT = numpy_domains.NumpyFloatDomain()
COLUMN = pandas_domains.PandasSeriesDomain(FLOAT)
UNIT = dpaudit.floats(0, 1)


def quantile(level: float = 0.5, measure: Any = None, epsilon: int = 1) -> Any:
    measure = measures.PureDP() if measure is None else measure
    return series.NoisyQuantile(COLUMN, measure, level, 0.0, 1.0, epsilon)


@pytest.mark.parametrize(
    ("measurement", "claim", "neighbours"),
    [
        (noise.AddLaplaceNoise(FLOAT, 1), dpaudit.PureDP(2.0), dpaudit.query_answers(1, 2)),
        (noise.AddGeometricNoise(1), dpaudit.PureDP(2.0), answers(1, 2, whole=True)),
        (noise.AddGaussianNoise(FLOAT, 1), dpaudit.ZCDP(2.0), dpaudit.query_answers(1, 2)),
        (noise.AddDiscreteGaussianNoise(1), dpaudit.ZCDP(2.0), answers(1, 2, whole=True)),
    ],
    ids=["Laplace", "geometric", "Gaussian", "discrete Gaussian"],
)
def test_noise(measurement: Any, claim: dpaudit.claims.Claim, neighbours: Any) -> None:
    subject = dpaudit.integrations.from_tumult(measurement, d_in=2)
    assert (subject.claim, subject.neighbours) == (claim, neighbours)
    assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted
    small = dpaudit.ZCDP(0.05) if isinstance(claim, dpaudit.ZCDP) else dpaudit.PureDP(0.05)
    assert dpaudit.audit(subject, small, samples=4_000, rng=1).refuted


@pytest.mark.parametrize(
    ("added", "neighbours"),
    [
        (noise.AddLaplaceNoise(FLOAT, 1), dpaudit.query_answers(3, norm=1)),
        (noise.AddGaussianNoise(FLOAT, 1), dpaudit.query_answers(3, norm=2)),
        (noise.AddGeometricNoise(1), answers(3, 1, norm=1, whole=True)),
    ],
    ids=["Laplace", "Gaussian", "geometric"],
)
def test_noise_on_a_series(added: Any, neighbours: Any) -> None:
    subject = dpaudit.integrations.from_tumult(series.AddNoiseToSeries(added))
    assert subject.neighbours == neighbours
    assert not dpaudit.audit(subject, samples=600, rng=1).refuted


@pytest.mark.parametrize("level", [0.0, 0.5, 0.9])
def test_a_quantile_keeps_its_claim(level: float) -> None:
    assert not dpaudit.audit(quantile(level), samples=1_500, rng=1).refuted
    narrow = dpaudit.integrations.from_tumult(quantile(level), records=UNIT)
    assert not dpaudit.audit(narrow, samples=1_500, rng=1).refuted


def test_a_quantile_with_a_smaller_claim_is_refuted() -> None:
    subject = dpaudit.integrations.from_tumult(quantile(epsilon=8), records=UNIT)
    assert subject.neighbours == dpaudit.add_or_remove_one(UNIT, max_records=10)
    assert dpaudit.audit(subject, dpaudit.PureDP(0.05), samples=20_000, rng=1).refuted


def test_several_records_and_another_measure() -> None:
    pair = dpaudit.integrations.from_tumult(quantile(measure=measures.RhoZCDP()), 2, records=UNIT)
    assert pair.claim == dpaudit.ZCDP(0.5)
    assert pair.neighbours.apart == 2
    loose = converters.PureDPToApproxDP(noise.AddLaplaceNoise(FLOAT, 3))
    claim = dpaudit.integrations.from_tumult(loose).claim
    assert isinstance(claim, dpaudit.ApproxDP)
    assert 1 / 3 < claim.epsilon < 1 / 3 + 1e-12  # rounded up


def test_a_frame_by_columns() -> None:
    schema = pandas_domains.PandasDataFrameDomain({"a": COLUMN, "b": COLUMN})
    both = frames.AggregateByColumn(schema, {"a": quantile(), "b": quantile()})
    subject = dpaudit.integrations.from_tumult(both)
    assert subject.claim == dpaudit.PureDP(2.0)
    assert not dpaudit.audit(both, samples=600, rng=1).refuted
    rows = dpaudit.tables(a=UNIT, b=UNIT, form="pandas")
    release = as_mechanism(dpaudit.integrations.from_tumult(both, records=rows).mechanism)
    drawn = release.draw(rows.dataset([{"a": 0.5, "b": 1.0}]), 3, np.random.default_rng(1))
    assert [list(frame.columns) for frame in drawn] == [["a", "b"]] * 3


def test_a_composition_answers_with_all_of_its_parts() -> None:
    parts = [noise.AddLaplaceNoise(FLOAT, 1), noise.AddLaplaceNoise(FLOAT, 2)]
    subject = dpaudit.integrations.from_tumult(composition.Composition(parts))
    assert subject.claim == dpaudit.PureDP(1.5)
    assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted
    assert dpaudit.audit(subject, dpaudit.PureDP(0.05), samples=10_000, rng=1).refuted


def test_what_cannot_be_made_a_subject_is_said() -> None:
    words = pandas_domains.PandasSeriesDomain(numpy_domains.NumpyStringDomain())
    schema = pandas_domains.PandasDataFrameDomain({"a": COLUMN, "city": words})
    named = frames.AggregateByColumn(schema, {"a": quantile()})
    with pytest.raises(InvalidMechanism, match="may be is not known"):
        dpaudit.integrations.from_tumult(named)
    asked = interactive.MakeInteractive(noise.AddGeometricNoise(1))
    with pytest.raises(InvalidMechanism, match="MakeInteractive is interactive"):
        dpaudit.integrations.from_tumult(asked)
    schema = spark_domains.SparkDataFrameDomain({"A": spark_domains.SparkFloatColumnDescriptor()})
    slow = aggregations.create_count_measurement(
        schema,
        metrics.SymmetricDifference(),
        measures.PureDP(),
        1,
        aggregations.NoiseMechanism.GEOMETRIC,
    )
    with pytest.raises(InvalidMechanism, match="takes SparkDataFrameDomain"):
        dpaudit.integrations.from_tumult(slow)
    with pytest.raises(dpaudit.errors.InvalidClaim, match="got inf"):
        dpaudit.integrations.from_tumult(noise.AddLaplaceNoise(FLOAT, 0))
    with pytest.raises(InvalidMechanism, match="got 3, which has no input_domain"):
        dpaudit.integrations.from_tumult(3)


def test_the_command_line_takes_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("releases_of_tumult.py").write_text(
        "from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise\n"
        "answer = AddGeometricNoise(1)\n"
    )
    target = "releases_of_tumult.py:answer"
    honest = run("audit", target, "--samples", "1000", "--seed", "1")
    assert honest.exit_code == 0, honest.output
    assert "claimed 1-DP" in honest.output
    small = run("audit", target, "--claim", "eps=0.01", "--samples", "10000", "--seed", "1")
    assert small.exit_code == 1, small.output
