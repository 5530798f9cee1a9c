"""PipelineDP on its local backend: metrics by partition, and the selection of partitions.

A user has up to five rows, more than are counted: one partition of hers, two rows in it. With
Laplace noise and public partitions the claim is pure; else there is a delta.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

from entry import Entry

import dpaudit
from dpaudit import Subject

EPSILON = 1.0
DELTA = 0.1  # large enough for partitions of a few users to be seen
SAMPLES = 8_000
SHOPS = ["a", "b"]
BOUNDS: dict[str, Any] = {"max_partitions_contributed": 1, "max_contributions_per_partition": 2}
VALUES: dict[str, Any] = {"min_value": 0, "max_value": 10}
SUMS: dict[str, Any] = {"min_sum_per_partition": 0, "max_sum_per_partition": 10}
VECTORS: dict[str, Any] = {"vector_size": 2, "vector_max_norm": 1.0}

Build = Callable[[list[Any], Any], Any]


def visits() -> Any:
    """Who spent how much where; amounts go beyond the bounds."""
    return dpaudit.records(
        privacy_id=dpaudit.integers(1, 9),
        shop=dpaudit.categories(*SHOPS),
        spent=dpaudit.floats(-5, 15),
    )


def odd_visits() -> Any:
    """A user more, who spent what nobody can."""
    usual = {"privacy_id": 1, "shop": "a", "spent": 5.0}
    odd = (math.nan, math.inf, -math.inf, 1e308, -1e308)
    return dpaudit.pairs(
        [([usual, {"privacy_id": 2, "shop": "a", "spent": spent}], [usual]) for spent in odd]
    )


def positions() -> Any:
    return dpaudit.records(
        privacy_id=dpaudit.integers(1, 9),
        shop=dpaudit.categories(*SHOPS),
        spent=dpaudit.vectors(2, -2, 2),
    )


def engine_and_columns(accountant: Any) -> tuple[Any, Any]:
    dp: Any = importlib.import_module("pipeline_dp")
    columns = dp.DataExtractors(
        privacy_id_extractor=itemgetter("privacy_id"),
        partition_extractor=itemgetter("shop"),
        value_extractor=itemgetter("spent"),
    )
    return dp.DPEngine(accountant, dp.LocalBackend()), columns


def aggregation(metric: str, noise: str, *, public: bool, **settings: Any) -> Build:
    """One metric by shop."""
    dp: Any = importlib.import_module("pipeline_dp")
    kind = dp.Metrics.PERCENTILE(50) if metric == "PERCENTILE" else getattr(dp.Metrics, metric)
    if metric == "VECTOR_SUM":
        settings["vector_norm_kind"] = dp.aggregate_params.NormKind.Linf
    if "partition_selection_strategy" in settings:
        name = settings["partition_selection_strategy"]
        settings["partition_selection_strategy"] = getattr(dp.PartitionSelectionStrategy, name)
    params = dp.AggregateParams(metrics=[kind], noise_kind=getattr(dp.NoiseKind, noise), **settings)

    def aggregate(rows: list[Any], accountant: Any) -> Any:
        engine, columns = engine_and_columns(accountant)
        return engine.aggregate(rows, params, columns, SHOPS if public else None)

    return aggregate


def metric_of(
    metric: str,
    noise: str = "LAPLACE",
    *,
    public: bool = True,
    odd: bool = False,
    min_users: int = 1,
    **settings: Any,
) -> Subject:
    """A metric as an audit sees it."""
    build = aggregation(metric, noise, public=public, **settings)
    subject = dpaudit.integrations.from_pipeline_dp(
        build,
        epsilon=EPSILON,
        delta=0.0 if public and noise == "LAPLACE" else DELTA,
        records=positions() if metric == "VECTOR_SUM" else visits(),
        min_users=min_users,
    )
    return replace(subject, neighbours=odd_visits()) if odd else subject


def selection(strategy: str, **settings: Any) -> Subject:
    """The shops that are shown at all."""
    dp: Any = importlib.import_module("pipeline_dp")
    params = dp.SelectPartitionsParams(
        max_partitions_contributed=1,
        partition_selection_strategy=getattr(dp.PartitionSelectionStrategy, strategy),
        **settings,
    )

    def select(rows: list[Any], accountant: Any) -> Any:
        engine, columns = engine_and_columns(accountant)
        return engine.select_partitions(rows, params, columns)

    return dpaudit.integrations.from_pipeline_dp(
        select, epsilon=EPSILON, delta=DELTA, records=visits(), max_users=8
    )


def _entry(function: str, make: Callable[[], Subject], watched: str = "") -> Entry:
    return Entry(function, make, watched=watched, samples=SAMPLES)


def _metric(metric: str, **settings: Any) -> tuple[Entry, ...]:
    """A metric with either noise for known partitions, and for partitions that are selected."""
    shown = "a user in too many partitions"
    return (
        _entry(f"{metric}, Laplace", lambda: metric_of(metric, **settings), shown),
        _entry(f"{metric}, Gaussian", lambda: metric_of(metric, "GAUSSIAN", **settings), shown),
        _entry(
            f"{metric}, private partitions",
            lambda: metric_of(metric, public=False, **settings),
            f"{shown}; a partition with one user",
        ),
    )


def _odd(metric: str, **settings: Any) -> Entry:
    return _entry(
        f"{metric}, odd values",
        lambda: metric_of(metric, odd=True, **settings),
        "NaN, infinities, values far out of range",
    )


ENTRIES: tuple[Entry, ...] = (
    *_metric("COUNT", **BOUNDS),
    *_metric("PRIVACY_ID_COUNT", **BOUNDS),
    *_metric("SUM", **BOUNDS, **VALUES),
    *_metric("MEAN", **BOUNDS, **VALUES),
    *_metric("VARIANCE", **BOUNDS, **VALUES),
    _entry("SUM, bounded by partition", lambda: metric_of("SUM", **BOUNDS, **SUMS)),
    _entry(
        "COUNT, max_contributions",
        lambda: metric_of("COUNT", max_contributions=2),
        "a user with too many rows",
    ),
    _entry(
        "VECTOR_SUM, private partitions",  # with public ones it always raises
        lambda: metric_of("VECTOR_SUM", public=False, **BOUNDS, **VECTORS),
    ),
    _entry("PERCENTILE(50)", lambda: metric_of("PERCENTILE", **BOUNDS, **VALUES)),
    _entry(
        "PRIVACY_ID_COUNT, post_aggregation_thresholding",
        lambda: metric_of(
            "PRIVACY_ID_COUNT",
            public=False,
            post_aggregation_thresholding=True,
            partition_selection_strategy="LAPLACE_THRESHOLDING",
            **BOUNDS,
        ),
        "a partition with one user",
    ),
    *(
        _entry(f"select_partitions, {name}", partial(selection, name))
        for name in ("TRUNCATED_GEOMETRIC", "LAPLACE_THRESHOLDING", "GAUSSIAN_THRESHOLDING")
    ),
    _entry(
        "select_partitions, pre_threshold",
        lambda: selection("TRUNCATED_GEOMETRIC", pre_threshold=3),
    ),
    _odd("COUNT", **BOUNDS),
    _odd("SUM", **BOUNDS, **VALUES),
    _odd("MEAN", **BOUNDS, **VALUES),
    _odd("VARIANCE", **BOUNDS, **VALUES),
    _odd("PERCENTILE", **BOUNDS, **VALUES),
    _entry("COUNT, no rows", lambda: metric_of("COUNT", min_users=0, **BOUNDS), "an empty dataset"),
)
