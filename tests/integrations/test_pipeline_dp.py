"""Pipelines of PipelineDP: right ones are not refuted, wrong ones and smaller claims are.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. A typical smaller claim is 0.05-DP for sums of epsilon 4: guesses on a pair are
right with probability 0.932, where the claim allows 0.512. A refutation takes about 17 nats, that
is 1,542 right guesses of 2,000: the power is above 0.9999 (a binomial tail).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from commands import run

import dpaudit

dp = pytest.importorskip("pipeline_dp", reason="PipelineDP is not installed")

VISITS = dpaudit.records(
    privacy_id=dpaudit.integers(1, 9),
    shop=dpaudit.categories("a", "b"),
    spent=dpaudit.floats(-5, 15),
)
COLUMNS = dp.DataExtractors(
    privacy_id_extractor=itemgetter("privacy_id"),
    partition_extractor=itemgetter("shop"),
    value_extractor=itemgetter("spent"),
)
BOUNDS = {
    "max_partitions_contributed": 1,
    "max_contributions_per_partition": 2,
    "min_value": 0,
    "max_value": 10,
}
Build = Callable[[Any, Any], Any]


def aggregate(rows: Any, accountant: Any, *, public: bool, **settings: Any) -> Any:
    engine = dp.DPEngine(accountant, dp.LocalBackend())
    params = dp.AggregateParams(**{**BOUNDS, **settings})
    return engine.aggregate(rows, params, COLUMNS, ["a", "b"] if public else None)


def pipeline(*metrics: Any, public: bool = True, **settings: Any) -> Build:
    return partial(aggregate, public=public, metrics=list(metrics), **settings)


def subject(build: Build, epsilon: float = 1.0, delta: float = 1e-3, **sizes: Any) -> Any:
    return dpaudit.integrations.from_pipeline_dp(
        build, epsilon=epsilon, delta=delta, records=VISITS, **sizes
    )


@pytest.mark.parametrize("noise", [dp.NoiseKind.LAPLACE, dp.NoiseKind.GAUSSIAN], ids=str)
@pytest.mark.parametrize("metric", ["COUNT", "SUM", "PRIVACY_ID_COUNT", "MEAN", "VARIANCE"])
def test_an_aggregation_keeps_its_claim(metric: str, noise: Any) -> None:
    build = pipeline(getattr(dp.Metrics, metric), noise_kind=noise)
    assert not dpaudit.audit(subject(build), samples=1_000, rng=1).refuted


@pytest.mark.parametrize("strategy", list(dp.PartitionSelectionStrategy), ids=str)
def test_partitions_that_are_selected_keep_the_claim(strategy: Any) -> None:
    build = pipeline(
        dp.Metrics.COUNT, dp.Metrics.SUM, public=False, partition_selection_strategy=strategy
    )
    assert not dpaudit.audit(subject(build, 1.0, 0.2), samples=1_000, rng=1).refuted


def test_a_smaller_claim_is_refuted() -> None:
    spent = subject(pipeline(dp.Metrics.COUNT, dp.Metrics.SUM), 8.0)
    assert spent.claim == dpaudit.ApproxDP(8.0, 1e-3)
    assert dpaudit.audit(spent, dpaudit.PureDP(0.05), samples=4_000, rng=1).refuted


def test_contributions_that_nobody_bounds_are_found() -> None:
    """A setting that trusts the rows to be bounded already, and rows that are not."""
    build = pipeline(
        dp.Metrics.COUNT,
        max_contributions_per_partition=1,
        contribution_bounds_already_enforced=True,
    )
    assert dpaudit.audit(subject(build, max_rows=20), samples=6_000, rng=1).refuted


def test_a_budget_that_is_spent_again_and_again_is_found() -> None:
    def five_times(rows: Any, accountant: Any) -> Any:
        return tuple(spent(rows, accountant) for _ in range(5))

    def spent(rows: Any, accountant: Any) -> Any:
        again = dp.NaiveBudgetAccountant(accountant.total_epsilon, accountant.total_delta)
        collection = pipeline(dp.Metrics.COUNT)(rows, again)
        again.compute_budgets()
        return collection

    assert dpaudit.audit(subject(five_times), samples=5_000, rng=1).refuted


def test_a_selection_of_partitions_is_a_set() -> None:
    def shops(rows: Any, accountant: Any) -> Any:
        engine = dp.DPEngine(accountant, dp.LocalBackend())
        params = dp.SelectPartitionsParams(max_partitions_contributed=1)
        return engine.select_partitions(rows, params, COLUMNS)

    kept = subject(shops, 1.0, 0.2)
    assert not dpaudit.audit(kept, samples=1_000, rng=1).refuted
    assert dpaudit.audit(kept, dpaudit.ApproxDP(1.0, 0.01), samples=5_000, rng=1).refuted


def test_another_accountant() -> None:
    one = partial(dp.NaiveBudgetAccountant, num_aggregations=1)
    counts = subject(pipeline(dp.Metrics.COUNT), accountant=one)
    assert not dpaudit.audit(counts, samples=500, rng=1).refuted


@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
def test_an_empty_list_of_rows_is_told_from_any_other() -> None:
    """An engine refuses it with an error: nothing that this library can hide."""
    counts = subject(pipeline(dp.Metrics.COUNT), min_users=0)
    assert dpaudit.audit(counts, samples=2_000, rng=1).refuted


def test_the_command_line_takes_a_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("releases_of_pipeline_dp.py").write_text(
        "from operator import itemgetter\n"
        "import dpaudit, pipeline_dp\n"
        "ids, shops = itemgetter('privacy_id'), itemgetter('shop')\n"
        "columns = pipeline_dp.DataExtractors(\n"
        "    privacy_id_extractor=ids, partition_extractor=shops, value_extractor=lambda row: 0\n"
        ")\n"
        "params = pipeline_dp.AggregateParams(\n"
        "    metrics=[pipeline_dp.Metrics.COUNT],\n"
        "    max_partitions_contributed=1, max_contributions_per_partition=1\n"
        ")\n"
        "def counts(rows, accountant):\n"
        "    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())\n"
        "    return engine.aggregate(rows, params, columns, public_partitions=['a'])\n"
        "rows = dpaudit.records(\n"
        "    privacy_id=dpaudit.integers(1, 9), shop=dpaudit.categories('a', 'b')\n"
        ")\n"
        "visits = dpaudit.integrations.from_pipeline_dp(\n"
        "    counts, epsilon=2.0, delta=1e-6, records=rows\n"
        ")\n"
    )
    target = "releases_of_pipeline_dp.py:visits"
    honest = run("audit", target, "--samples", "1000", "--seed", "1")
    assert honest.exit_code == 0, honest.output
    small = run("audit", target, "--claim", "eps=0.05", "--samples", "10000", "--seed", "1")
    assert small.exit_code == 1, small.output
