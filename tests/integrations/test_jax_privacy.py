"""Plans of jax-privacy: the right are not refuted, those with a part of their own that errs are.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. The closest alternative is noise of mu = 1 against mu = 0.6: guesses are right
with probability 0.691, where the claim allows 0.618. A refutation takes about 17 nats, that is
2,674 right guesses of 4,000: the power is 0.999 (a binomial tail).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidMechanism
from dpaudit.mechanism import as_mechanism

pytest.importorskip("jax_privacy", reason="jax-privacy is not installed")
jax = import_module("jax")
optax = import_module("optax")
clipping = import_module("jax_privacy.clipping")
noise = import_module("jax_privacy.noise_addition")
plans = import_module("jax_privacy.experimental.execution_plan")

pytestmark = pytest.mark.filterwarnings("ignore:optax.global_norm is deprecated")

RECORDS = dpaudit.records(x=dpaudit.floats(-1, 1), y=dpaudit.floats(-1, 1))
ONE = {"x": 1.0, "y": 1.0}
PAIR = dpaudit.pairs([([ONE, {"x": -1.0, "y": 1.0}], [ONE])])  # gradients of opposite signs
ALONE = dpaudit.pairs([([ONE], [])])


def loss(params: Any, batch: Any) -> Any:
    return jax.numpy.mean((batch["x"] * params["slope"] - batch["y"]) ** 2)


def plan(*, strategy: tuple[float, ...] = (1.0,), iterations: int = 1, **settings: Any) -> Any:
    return plans.BandMFExecutionPlanConfig(
        strategy=np.array(strategy),
        iterations=iterations,
        epsilon=None,
        delta=None,
        **{"noise_multiplier": 1.0, "l2_clip_norm": 0.1, **settings},
    ).plan


def subject(made: Any, **settings: Any) -> dpaudit.Subject:
    params = {"slope": jax.numpy.full(1, 0.1)}
    return dpaudit.integrations.from_jax_privacy(
        made, loss, params, records=RECORDS, **{"num_examples": 4, **settings}
    )


def clip_the_batch(fun: Callable[..., Any]) -> Callable[..., Any]:
    summed = clipping.clipped_grad(fun, l2_clip_norm=float("inf"))

    def gradient(params: Any, batch: Any, *, is_padding_example: Any) -> Any:
        whole = summed(params, batch, is_padding_example=is_padding_example)
        return clipping.clip_pytree(whole, 0.1, rescale_to_unit_norm=True)[0]

    return gradient


def test_a_step_keeps_its_claim_and_most_of_it_is_certified() -> None:
    step = subject(plan())
    assert step.claim.delta(1.0) == pytest.approx(dpaudit.GaussianDP(1.0).delta(1.0), rel=1e-3)
    assert not dpaudit.audit(step, samples=1_500, rng=1).refuted
    assert dpaudit.audit(step, dpaudit.GaussianDP(0.6), ALONE, samples=4_000, rng=1).refuted


@pytest.mark.parametrize(
    "settings",
    [
        {"iterations": 3, "sampling_prob": 0.5},
        {"iterations": 4, "sampling_prob": 0.5, "strategy": (1.0, 0.5)},
        {"sampling_prob": 0.5, "truncated_batch_size": 2, "num_examples": 4},
    ],
    ids=["sampled", "banded", "truncated"],
)
def test_plans_of_a_config_keep_their_claim(settings: dict[str, Any]) -> None:
    run = subject(plan(**settings), optimizer=optax.adam(0.1))
    drawn = as_mechanism(run.mechanism).draw([ONE], 3, np.random.default_rng(1))
    assert np.shape(drawn) == (3, settings.get("iterations", 1), 1)
    assert not dpaudit.audit(run, neighbours=PAIR, samples=1_000, rng=1).refuted


def test_a_plan_that_clips_the_gradient_of_the_batch_is_refuted() -> None:
    wrong = subject(replace(plan(), clipped_grad=clip_the_batch))
    assert dpaudit.audit(wrong, neighbours=PAIR, samples=3_000, rng=1).refuted


def test_a_plan_with_too_little_noise_is_refuted() -> None:
    little = noise.gaussian_privatizer(stddev=0.5, prng_key=3)
    wrong = subject(replace(plan(), noise_addition_transform=little))
    assert dpaudit.audit(wrong, samples=3_000, rng=1).refuted


def test_outputs_repeat_with_the_audit_and_not_with_the_seed_of_the_plan() -> None:
    release = as_mechanism(subject(plan(noise_seed=3), num_examples=2).mechanism)
    first, again = (release.draw([ONE], 70, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, again)
    assert len(np.unique(first)) == 70


def test_a_record_is_counted_where_it_is_and_nowhere_else() -> None:
    quiet = subject(plan(noise_multiplier=0.0, rescale_to_unit_norm=False), optimizer=optax.sgd(1))
    release = as_mechanism(quiet.mechanism)
    sums = [release.draw([ONE] * many, 1, np.random.default_rng(3)) for many in range(5)]
    assert np.ravel(sums) == pytest.approx([0.0, -0.1, -0.2, -0.3, -0.4])
    vector = dpaudit.integrations.from_jax_privacy(
        plan(noise_multiplier=0.0, rescale_to_unit_norm=False),
        lambda params, batch: jax.numpy.sum(batch @ params),
        jax.numpy.zeros(2),
        records=dpaudit.vectors(2, -1, 1),
        num_examples=3,
    )
    drawn = as_mechanism(vector.mechanism).draw(np.array([[3.0, 4.0]]), 1, np.random.default_rng(1))
    assert np.ravel(drawn) == pytest.approx([0.06, 0.08])


def test_what_cannot_be_made_a_subject_is_said() -> None:
    with pytest.raises(InvalidMechanism, match="got 3, which has no clipped_grad"):
        subject(3)
    with pytest.raises(InvalidMechanism, match="num_examples must be at least 1, got 0"):
        subject(plan(), num_examples=0)
    dense = noise.matrix_factorization_privatizer(np.eye(1), stddev=1.0, prng_key=3)
    with pytest.raises(InvalidMechanism, match="keeps its key to itself"):
        subject(replace(plan(), noise_addition_transform=dense))
