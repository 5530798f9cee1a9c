"""jax-privacy: plans of DP-SGD and BandMF, every noisy gradient of which is seen.

The claim is the curve of the plan's own event, for one place of four that is filled or is not.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from entry import Entry

import dpaudit
from dpaudit import ApproxDP, Subject

SAMPLES = 20_000
PLACES = 4
TARGET = {"epsilon": 1.0, "delta": 0.01}


def loss(params: Any, batch: Any) -> Any:
    jnp: Any = importlib.import_module("jax.numpy")
    return jnp.mean((batch["x"] * params - batch["y"]) ** 2)


def as_subject(plan: Any) -> Subject:
    """The plan for a line through the records."""
    jnp: Any = importlib.import_module("jax.numpy")
    people = dpaudit.records(x=dpaudit.floats(-1, 1), y=dpaudit.floats(-1, 1))
    start = jnp.full(1, 0.1)
    return dpaudit.integrations.from_jax_privacy(
        plan, loss, start, records=people, num_examples=PLACES
    )


def config_of(**settings: Any) -> Any:
    plans: Any = importlib.import_module("jax_privacy.experimental.execution_plan")
    known = {"epsilon": None, "delta": None, "l2_clip_norm": 0.1, **settings}
    if known["epsilon"] is None:
        known["noise_multiplier"] = 1.0
    if "num_bands" in known:
        return plans.BandMFExecutionPlanConfig.default(**known)
    return plans.BandMFExecutionPlanConfig(**known)


def band_mf(**settings: Any) -> Subject:
    return as_subject(config_of(**settings).plan)


def calibrated(**settings: Any) -> Subject:
    """A plan whose noise was found for an epsilon and a delta: they are the claim."""
    made = band_mf(**settings, **TARGET)
    return replace(made, claim=ApproxDP(TARGET["epsilon"], TARGET["delta"]))


def by_hand(*, iterations: int, sampling_prob: float) -> Subject:
    """DP-SGD put together of clipped gradients, Poisson batches and independent noise."""
    plans: Any = importlib.import_module("jax_privacy.experimental.execution_plan")
    accounting: Any = importlib.import_module("jax_privacy.experimental.accounting")
    clipping: Any = importlib.import_module("jax_privacy.clipping")
    batches: Any = importlib.import_module("jax_privacy.batch_selection")
    noise: Any = importlib.import_module("jax_privacy.noise_addition")
    return as_subject(
        plans.DPExecutionPlan(
            clipped_grad=partial(clipping.clipped_grad, l2_clip_norm=0.1),
            batch_selection_strategy=batches.CyclicPoissonSampling(
                sampling_prob=sampling_prob, iterations=iterations
            ),
            noise_addition_transform=noise.gaussian_privatizer(stddev=0.1),
            dp_event=accounting.dpsgd_event(1.0, iterations, sampling_prob=sampling_prob),
        )
    )


def odd_values() -> Subject:
    """One record more with such an x, beside one that has no gradient."""
    still = {"x": 0.0, "y": 0.0}
    odd = (math.nan, math.inf, -math.inf, 1e30, -1e30)
    pairs = dpaudit.pairs([([{"x": x, "y": 1.0}, still], [still]) for x in odd])
    return replace(band_mf(strategy=[1.0], iterations=1), neighbours=pairs)


def half_a_strategy() -> Subject:
    """Columns that are scaled to norm 1, of a strategy whose norm is a half; one record more."""
    plan = band_mf(strategy=[0.5], iterations=1, column_normalize=True)
    return replace(plan, neighbours=dpaudit.pairs([([{"x": 1.0, "y": 1.0}], [])]))


def _entry(function: str, make: Callable[[], Subject], watched: str = "") -> Entry:
    return Entry(function, make, watched=watched, samples=SAMPLES)


ENTRIES: tuple[Entry, ...] = (
    _entry("BandMF, one band, one step", lambda: band_mf(strategy=[1.0], iterations=1)),
    _entry(
        "BandMF, one band, four steps",
        lambda: band_mf(strategy=[1.0], iterations=4, sampling_prob=0.5),
    ),
    _entry(
        "BandMF, two bands", lambda: band_mf(strategy=[1.0, 0.5], iterations=4, sampling_prob=0.5)
    ),
    _entry("BandMF, two bands, all records", lambda: band_mf(strategy=[1.0, 0.5], iterations=4)),
    _entry(
        "BandMF(column_normalize=True)",
        lambda: band_mf(strategy=[1.0, 0.5], iterations=4, column_normalize=True),
    ),
    _entry(
        "BandMF(truncated_batch_size=2)",
        lambda: band_mf(
            strategy=[1.0],
            iterations=2,
            sampling_prob=0.5,
            truncated_batch_size=2,
            num_examples=PLACES,
        ),
    ),
    _entry(
        "BandMF.default(num_bands=2)",
        lambda: band_mf(num_bands=2, iterations=4, strategy_optimization_steps=50),
    ),
    _entry(
        "BandMF(epsilon=1, delta=0.01)",
        lambda: calibrated(strategy=[1.0], iterations=2, sampling_prob=0.5),
    ),
    _entry(
        "clipped_grad and gaussian_privatizer", lambda: by_hand(iterations=2, sampling_prob=0.5)
    ),
    _entry(
        "BandMF, no records",
        lambda: replace(
            band_mf(strategy=[1.0], iterations=1),
            neighbours=dpaudit.pairs([([{"x": x, "y": 1.0}], []) for x in (-1.0, 0.5, 1.0)]),
        ),
        "an empty dataset",
    ),
    _entry("BandMF, odd values", odd_values, "NaN, infinities, numbers beyond float32 squared"),
    _entry(
        "BandMF(column_normalize=True), strategy of norm 0.5",
        half_a_strategy,
        "a strategy of norm below 1",
    ),
)
