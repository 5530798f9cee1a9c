"""Canaries beside the records of a training with jax-privacy.

Statistics are compared with what the construction says; each bound is six standard errors wide.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidMechanism
from dpaudit.training import Null, Training, canaries, of_jax_privacy

pytest.importorskip("jax_privacy", reason="jax-privacy is not installed")
jax = import_module("jax")
optax = import_module("optax")
clipping = import_module("jax_privacy.clipping")
noise = import_module("jax_privacy.noise_addition")
toeplitz = import_module("jax_privacy.matrix_factorization.toeplitz")
batches = import_module("jax_privacy.batch_selection")
plans = import_module("jax_privacy.experimental.execution_plan")
dp_accounting = import_module("dp_accounting")

pytestmark = pytest.mark.filterwarnings("ignore:optax.global_norm is deprecated")

PLAN = canaries(400, rng=11)
ANY = dpaudit.PureDP(1.0)  # where a test is not about the claim
ROWS = np.random.default_rng(3).normal(size=(60, 3)).astype(np.float32)
DATA = {"x": ROWS, "y": (ROWS.sum(axis=1) > 0).astype(np.float32)}
START = {"slope": np.full(3, 0.1, np.float32), "at": np.zeros((), np.float32)}


def loss(params: Any, batch: Any) -> Any:
    found = batch["x"] @ params["slope"] + params["at"]
    return jax.numpy.mean((found - batch["y"]) ** 2)


def made(*, strategy: tuple[float, ...] = (1.0,), **settings: Any) -> Any:
    return plans.BandMFExecutionPlanConfig(
        strategy=np.array(strategy),
        epsilon=None,
        delta=None,
        **{
            "iterations": 20,
            "noise_multiplier": 1.0,
            "l2_clip_norm": 0.1,
            "sampling_prob": 0.25,
            **settings,
        },
    ).plan


def training_of(plan: Any, **settings: Any) -> Training:
    return of_jax_privacy(
        plan,
        loss,
        START,
        **{"data": DATA, "canaries": PLAN, "claim": ANY, "optimizer": optax.adam(0.1), **settings},
    )


def drawn(training: Training, runs: int = 4) -> tuple[Any, Any]:
    """The scores of the canaries that are in, and of those that are out, of some runs."""
    found = [training.run(PLAN.bits, np.random.default_rng(seed)) for seed in range(runs)]
    return (
        np.concatenate([scores[PLAN.bits] for scores in found]),
        np.concatenate([scores[~PLAN.bits] for scores in found]),
    )


def banded(coefficients: Any) -> Any:
    return sum(each * np.eye(20, k=-place) for place, each in enumerate(coefficients))


def area(training: Training) -> float:
    """The chance of a canary that is in to score above one that is out."""
    inside, out = drawn(training)
    return float((inside[:, None] > out).mean())


def check(scores: Any, mean: float, deviation: float) -> None:
    """Bounds of six standard errors; near enough for a normal fourth moment."""
    assert abs(scores.mean() - mean) < 6 * deviation / np.sqrt(len(scores))
    assert abs(scores.std() - deviation) < 6 * deviation / np.sqrt(2 * len(scores))


@pytest.mark.parametrize(
    "settings",
    [{}, {"rescale_to_unit_norm": False}, {"normalize_by": 15.0}, {"strategy": (3.0,)}],
    ids=str,
)
def test_out_canaries_have_unit_noise_and_the_others_the_shift_of_their_sampling(
    settings: dict[str, Any],
) -> None:
    """A canary that is in is in Binomial(20, 1/4) batches; each moves its sum by 1."""
    training = training_of(made(**settings))
    assert training.noise == 1.0
    assert training.assume is Null.INDEPENDENT_CANARIES
    inside, out = drawn(training)
    check(out, 0.0, 1.0)
    check(inside, 0.25 * np.sqrt(20), np.sqrt(1 + 0.25 * 0.75))


def test_the_claim_is_that_of_the_plan() -> None:
    plan = made()
    training = training_of(plan, claim=None)
    assert str(training) == (
        "DPExecutionPlan: privacy profile 'SelfComposedDpEvent'; "
        "add or remove one canary of 400 (canary head, final weights)"
    )
    subject = dpaudit.integrations.from_jax_privacy(
        plan,
        loss,
        START,
        records=dpaudit.records(x=dpaudit.vectors(3, -1, 1), y=dpaudit.floats(0, 1)),
    )
    assert training.claim.delta(1.0) == subject.claim.delta(1.0)


def test_a_correct_training_is_not_refuted_and_one_with_half_the_noise_is() -> None:
    """All records in all of 4 steps: exactly 1-GDP, and 2-GDP with half of the noise."""
    plan = made(iterations=4, noise_multiplier=2.0, sampling_prob=1.0)
    plan_of = canaries(2_000, rng=5)
    right = training_of(plan, claim=None, canaries=plan_of)
    assert right.claim.delta(1.0) == pytest.approx(dpaudit.GaussianDP(1.0).delta(1.0), rel=1e-3)
    bound = plan.clipped_grad(loss).l2_norm_bound
    little = replace(
        plan, noise_addition_transform=noise.gaussian_privatizer(stddev=bound, prng_key=3)
    )
    wrong = training_of(little, claim=None, canaries=plan_of)
    audit = dpaudit.training.audit
    assert not audit(right, assume="nothing", rng=1, alpha=1e-6).refuted
    assert not audit(right, assume="independent", rng=1, alpha=1e-6).refuted
    assert audit(wrong, assume="nothing", rng=1, alpha=0.05).refuted
    assert audit(wrong, assume="independent", rng=1, alpha=1e-6).refuted


def test_clipping_a_batch_as_a_whole_weakens_the_signal_of_each_canary() -> None:
    def clipped(fun: Any) -> Any:
        summed = clipping.clipped_grad(fun, l2_clip_norm=float("inf"))

        def gradient(params: Any, batch: Any, *, is_padding_example: Any) -> Any:
            whole = summed(params, batch, is_padding_example=is_padding_example)
            return clipping.clip_pytree(whole, 0.1, rescale_to_unit_norm=True)[0]

        return gradient

    training = training_of(replace(made(), clipped_grad=clipped))
    assert training.noise is None
    inside, out = drawn(training)
    check(out / np.sqrt(20), 0.0, 1.0)
    assert inside.mean() / np.sqrt(20) < 0.5 * 0.25 * np.sqrt(20)


def test_the_gradients_of_the_head_are_dirac_and_the_model_gets_none() -> None:
    """Without noise a step's gradient is 1 for each canary of the batch, and 0 for the others."""
    seen: list[Any] = []

    def observe(gradients: Any) -> Any:
        seen.append(gradients)
        return gradients.sum(axis=0)

    training = training_of(made(noise_multiplier=0.0), observe=observe)
    assert training.noise is None
    assert training.what == "canary head, noisy gradients"
    scores = training.run(PLAN.bits, np.random.default_rng(1))
    assert set(np.round(seen[0], 5).ravel().tolist()) == {0.0, 1.0}
    assert not scores[~PLAN.bits].any()
    assert scores[PLAN.bits].sum() > 0


def test_canaries_do_not_move_the_model() -> None:
    """The model's own gradients are the same sums with canaries and without, if all take part."""
    ends: list[Any] = []

    def update(noisy: Any, state: Any, params: Any) -> Any:
        jax.debug.callback(lambda each: ends.append(np.array(each)), noisy["slope"], ordered=True)
        return jax.tree.map(lambda each: -0.1 * each, noisy), state

    watched = optax.GradientTransformation(lambda params: (), update)
    plan = made(noise_multiplier=0.0, sampling_prob=1.0, iterations=5)
    training = training_of(plan, optimizer=watched)
    training.run(PLAN.bits, np.random.default_rng(1))
    training.run(~PLAN.bits, np.random.default_rng(1))
    jax.effects_barrier()
    assert np.shape(ends) == (10, 3)
    assert np.ptp(ends[:5], axis=0).max() > 0
    assert np.allclose(ends[:5], ends[5:], atol=1e-4)


def test_what_the_user_passed_stays_as_it_was() -> None:
    before = jax.tree.map(np.copy, [START, DATA])
    plan, plain = made(noise_seed=3), jax.tree.map(jax.numpy.array, START)
    noisy = plan.noise_addition_transform
    first, again = (
        of_jax_privacy(plan, loss, plain, data=DATA, canaries=PLAN, claim=ANY).run(
            np.array(PLAN.bits), np.random.default_rng(seed)
        )
        for seed in (1, 1)
    )
    assert np.array_equal(first, again)
    other = of_jax_privacy(plan, loss, plain, data=DATA, canaries=PLAN, claim=ANY)
    assert not np.array_equal(other.run(PLAN.bits, np.random.default_rng(2)), first)
    assert all(map(np.array_equal, *map(jax.tree.leaves, ([START, DATA], before))))
    assert all(map(np.array_equal, *map(jax.tree.leaves, (plain, before[0]))))
    assert plan.noise_addition_transform is noisy


def test_noisy_gradients_tell_more_than_their_sum() -> None:
    plan = made(noise_multiplier=0.4)
    assert area(training_of(plan, observe="steps")) > area(training_of(plan))


@pytest.mark.parametrize("column_normalize", [False, True], ids=["toeplitz", "normalized"])
def test_banded_noise_of_the_final_weights_is_known_with_the_strategy(
    column_normalize: bool,
) -> None:
    """Two bands: a canary is in every other step; the noise of the sum is |C^-T 1|."""
    coefficients = np.array([1.0, 0.5]) / np.sqrt(1.25)
    plan = made(strategy=tuple(coefficients), column_normalize=column_normalize, sampling_prob=1.0)
    matrix = banded(coefficients)
    if column_normalize:
        matrix /= np.linalg.norm(matrix, axis=0)
    training = training_of(plan, strategy=matrix if column_normalize else coefficients)
    assert training.noise == 1.0
    assert training.assume is Null.ANY_MECHANISM  # groups of equal size
    inside, out = drawn(training)
    check(out, 0.0, 1.0)
    check(inside, 10 / float(np.linalg.norm(np.linalg.inv(matrix).sum(axis=0))), 1.0)


def test_banded_steps_are_scored_by_their_likelihood() -> None:
    """With one group and a rate of 1, the score is a line of N(0 or |C u|, sigma^2)."""
    coefficients = np.array([1.0, -0.5, 0.1])
    sensitivity = float(np.linalg.norm(banded(coefficients).sum(axis=1)))
    correlated = noise.matrix_factorization_privatizer(
        toeplitz.inverse_as_streaming_matrix(jax.numpy.array(coefficients)),
        stddev=sensitivity,  # of gradients that are clipped to 1: exactly 1-GDP
        prng_key=3,
    )
    plan = replace(
        made(sampling_prob=1.0),
        noise_addition_transform=correlated,
        dp_event=dp_accounting.GaussianDpEvent(1.0),
    )
    training = training_of(plan, strategy=coefficients, observe="steps", claim=None)
    assert training.claim.delta(1.0) == pytest.approx(dpaudit.GaussianDP(1.0).delta(1.0), rel=1e-3)
    inside, out = drawn(training)
    check(out, -0.5, 1.0)
    check(inside, 0.5, 1.0)
    weights = training_of(plan, strategy=coefficients)
    check(drawn(weights)[1], 0.0, 1.0)


def test_banded_steps_tell_more_than_the_final_weights() -> None:
    plan = made(strategy=(1.0, 0.5), sampling_prob=0.5, noise_multiplier=0.7)
    steps = training_of(plan, strategy=(1.0, 0.5), observe="steps")
    assert area(steps) > area(training_of(plan))


def test_a_plan_that_counts_its_records_counts_canaries_too() -> None:
    settings: dict[str, Any] = {"truncated_batch_size": 200, "sampling_prob": 0.25}
    with pytest.raises(InvalidMechanism, match="Make it for num_examples=460"):
        training_of(made(num_examples=60, **settings), claim=None)
    training = training_of(made(num_examples=460, **settings), claim=None)
    assert training.assume is Null.ANY_MECHANISM
    assert training.run(PLAN.bits, np.random.default_rng(1)).shape == (400,)


def test_what_says_too_little_is_refused() -> None:
    with pytest.raises(InvalidMechanism, match="got 3, which has no clipped_grad"):
        training_of(3)
    with pytest.raises(InvalidMechanism, match="observe must be 'weights'"):
        training_of(made(), observe="loss")
    with pytest.raises(InvalidMechanism, match="Pass its strategy"):
        training_of(made(strategy=(1.0, 0.5)), observe="steps")
    assert training_of(made(strategy=(1.0, 0.5))).noise is None
    with pytest.raises(InvalidMechanism, match="at most 20 coefficients"):
        training_of(made(), strategy=np.ones(21))
    with pytest.raises(InvalidMechanism, match="a row for each record"):
        training_of(made(), data={"x": np.zeros((3, 2)), "y": np.zeros(2)})
    dense = noise.matrix_factorization_privatizer(np.eye(20), stddev=1.0, prng_key=3)
    with pytest.raises(InvalidMechanism, match="keeps its key to itself"):
        training_of(replace(made(), noise_addition_transform=dense))


def test_a_group_of_independent_size_keeps_canaries_independent() -> None:
    apart = batches.PartitionType.INDEPENDENT
    training = training_of(made(strategy=(1.0, 0.5), partition_type=apart))
    assert training.assume is Null.INDEPENDENT_CANARIES
