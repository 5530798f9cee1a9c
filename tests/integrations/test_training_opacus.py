"""Canaries beside the records of a training with Opacus.

Statistics are compared with what the construction says; each bound is six standard errors wide.
"""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from private_trainings import ANY, PLAN, data_canaries, loop, losses, made

from dpaudit.errors import InvalidCanaries, InvalidMechanism
from dpaudit.training import (
    CanaryHead,
    DataCanaries,
    Losses,
    Null,
    Training,
    canaries,
    of_opacus,
)

pytest.importorskip("opacus", reason="opacus is not installed")
torch = import_module("torch")
opacus = import_module("opacus")
memory = import_module("opacus.utils.batch_memory_manager")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
    pytest.mark.filterwarnings("ignore:In CPU autocast"),
]


def training_of(insert: Any = None, epochs: int = 5, **settings: Any) -> Training:
    objects, loss = made(**settings)
    return of_opacus(loop(loss, epochs), **objects, canaries=PLAN, insert=insert, claim=ANY)


def drawn(training: Training, seed: int = 1) -> tuple[Any, Any]:
    """The scores of the canaries that are in, and of those that are out."""
    scores = training.run(PLAN.bits, np.random.default_rng(seed))
    return scores[PLAN.bits], scores[~PLAN.bits]


def test_out_canaries_have_unit_noise_and_the_others_the_shift_of_their_sampling() -> None:
    """Four runs: a canary that is in is in Binomial(20, 1/4) batches; each moves it by 1."""
    training = training_of()
    assert training.noise == 1.0
    assert training.assume is Null.INDEPENDENT_CANARIES
    runs = [drawn(training, seed) for seed in range(4)]
    inside, out = (np.concatenate(side) for side in zip(*runs, strict=True))
    assert abs(out.mean()) < 6 / np.sqrt(len(out))
    assert abs(out.std() - 1) < 6 / np.sqrt(2 * len(out))
    deviation = np.sqrt(1 + 0.25 * 0.75)
    assert abs(inside.mean() - 0.25 * np.sqrt(20)) < 6 * deviation / np.sqrt(len(inside))
    assert abs(inside.std() - deviation) < 6 * deviation / np.sqrt(2 * len(inside))


def test_the_claim_is_the_curve_of_the_accountant_after_such_a_run() -> None:
    objects, loss = made()
    training = of_opacus(loop(loss), **objects, canaries=PLAN, steps=3)
    assert str(training) == (
        "train: privacy profile 'PRVAccountant, 15 steps'; "
        "add or remove one canary of 400 (canary head, final weights)"
    )
    accountant = opacus.accountants.PRVAccountant()
    accountant.history = [(1.0, 0.25, 15)]
    level = accountant.get_epsilon(1e-5)
    assert training.claim.delta(level) == pytest.approx(1e-5)
    assert objects["engine"].accountant.history == []
    given = of_opacus(loop(loss), **objects, canaries=PLAN, claim=ANY)
    assert given.claim is ANY


@pytest.mark.parametrize(
    "settings",
    [
        {"mode": "ghost"},
        {"mode": "functorch"},
        {"reduction": "sum"},
        {"mode": "ghost", "reduction": "sum"},
    ],
    ids=str,
)
def test_every_way_to_clip_gives_the_same_scores(settings: dict[str, Any]) -> None:
    expected = training_of().run(PLAN.bits, np.random.default_rng(1))
    scores = training_of(**settings).run(PLAN.bits, np.random.default_rng(1))
    assert np.allclose(scores, expected, atol=1e-4)


@pytest.mark.parametrize("mode", ["hooks", "ghost", "functorch"])
def test_the_gradients_of_the_head_are_dirac_and_the_model_gets_none(mode: str) -> None:
    """Without noise a step's gradient is the clipping norm for each canary of the batch."""
    seen: list[Any] = []
    objects, loss = made(mode=mode, noise_multiplier=0.0)
    theirs: list[Any] = []

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        for x, y in batches:
            optimizer.zero_grad()
            loss(module(x), y).backward()
            optimizer.step()
            theirs.append([len(x), len(batches.collate_fn._batches.ids)])

    def observe(gradients: Any) -> Any:
        seen.append(gradients)
        return gradients.sum(axis=0)

    training = of_opacus(
        train,
        **objects,
        canaries=PLAN,
        insert=CanaryHead(observe=observe),
        claim=ANY,
    )
    scores = training.run(PLAN.bits, np.random.default_rng(1))
    assert set(np.round(seen[0], 5).ravel().tolist()) == {0.0, 1.0}
    assert not scores[~PLAN.bits].any()
    assert scores[PLAN.bits].sum() > 0
    assert all(rows == ids for rows, ids in theirs)


def test_canaries_do_not_move_the_model() -> None:
    """With a dataset whose records have no gradient, the model stays, whatever the canaries are."""
    objects, _loss = made(noise_multiplier=0.0)
    still = objects["module"].state_dict()
    found: list[bool] = []

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        for x, y in batches:
            canary = torch.tensor(batches.collate_fn._batches.ids) >= 0
            optimizer.zero_grad()
            each = torch.nn.functional.cross_entropy(module(x), y, reduction="none")
            (each * canary).mean().backward()
            optimizer.step()
        now = module.state_dict()
        found.append(all(torch.equal(now[name], still[name]) for name in still))

    training = of_opacus(train, **objects, canaries=PLAN, claim=ANY)
    still = {name: each.clone() for name, each in still.items()}
    training.run(PLAN.bits, np.random.default_rng(1))
    assert found == [True]


def test_the_noise_of_another_optimizer_is_not_known() -> None:
    training = training_of(optimizer="Adam")
    assert training.noise is None
    inside, out = drawn(training)
    assert inside.mean() > out.mean()


def test_noisy_gradients_tell_more_than_their_sum() -> None:
    assert training_of(CanaryHead(observe="steps")).what == "canary head, noisy gradients"
    inside, out = drawn(training_of(CanaryHead(observe="steps"), noise_multiplier=0.4))
    weights = drawn(training_of(noise_multiplier=0.4))

    def area(inside: Any, out: Any) -> float:
        return float((inside[:, None] > out).mean())

    assert area(inside, out) > area(*weights)


def test_noise_that_is_halved_doubles_the_shift() -> None:
    def shift(training: Training) -> float:
        runs = [drawn(training, seed) for seed in range(4)]
        inside, out = (np.concatenate(side) for side in zip(*runs, strict=True))
        return float((inside.mean() - out.mean()) / out.std())

    objects, loss = made()
    right = type(objects["optimizer"])

    class Halved(right):  # type: ignore[misc, valid-type]
        def add_noise(self: Any) -> None:
            self.noise_multiplier /= 2
            super().add_noise()
            self.noise_multiplier *= 2

    objects["optimizer"].__class__ = Halved
    halved = of_opacus(loop(loss), **objects, canaries=PLAN, claim=ANY)
    error = 6 * np.sqrt(2 * 1.2 / 800 + 1 / 1600)
    assert abs(shift(halved) - 2 * 0.25 * np.sqrt(20)) < 2 * error
    assert abs(shift(training_of()) - 0.25 * np.sqrt(20)) < error


def test_without_poisson_sampling_every_record_has_its_place() -> None:
    """Noise aside, a canary that is in is in one batch of each epoch: a shift of 5 / sqrt(20)."""
    training = training_of(poisson_sampling=False)
    assert training.assume is Null.ANY_MECHANISM
    inside, out = drawn(training)
    assert abs(inside.mean() - 5 / np.sqrt(20)) < 6 / np.sqrt(len(inside))
    assert abs(inside.std() - 1) < 6 / np.sqrt(2 * len(inside))
    assert abs(out.std() - 1) < 6 / np.sqrt(2 * len(out))


@pytest.mark.parametrize("inserted", ["head", "data"])
@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_everything_is_left_as_it_was_and_no_budget_is_spent(inserted: str, mode: str) -> None:
    objects, loss = made(mode=mode, noise_generator=torch.Generator().manual_seed(3))
    module, optimizer = objects["module"], objects["optimizer"]
    loop(loss)(module, optimizer, objects["data_loader"])
    module._module[1].eval()

    def state() -> list[Any]:
        inner = optimizer.original_optimizer
        momenta = [each["momentum_buffer"].tolist() for each in inner.state.values()]
        return [
            {name: each.tolist() for name, each in module.state_dict().items()},
            [name for name, _ in module.named_modules()],
            [part.training for part in module.modules()],
            momenta,
            [{**group, "params": len(group["params"])} for group in inner.param_groups],
            [len(group["params"]) for group in inner.param_groups],
            len(inner._optimizer_step_pre_hooks),
            len(module._forward_hooks),
            len(getattr(module, "trainable_parameters", [])),
            sorted(vars(module)),
            {name: each for name, each in vars(optimizer).items() if name != "_step_skip_queue"},
            list(objects["engine"].accountant.history),
            len(objects["data_loader"].dataset),
            torch.random.get_rng_state().tolist(),
            optimizer.generator.get_state().tolist(),
            random.getstate(),
            np.random.get_state()[1].tolist(),  # type: ignore[index]  # noqa: NPY002
        ]

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        loop(loss, 1)(module, optimizer, batches)
        module.eval()
        random.random()
        np.random.random()  # noqa: NPY002

    before = state()
    insert = CanaryHead() if inserted == "head" else data_canaries(Losses(losses))
    training = of_opacus(train, **objects, canaries=PLAN, insert=insert)
    first = training.run(PLAN.bits, np.random.default_rng(5))
    assert np.array_equal(first, training.run(PLAN.bits, np.random.default_rng(5)))
    assert not np.array_equal(first, training.run(PLAN.bits, np.random.default_rng(6)))
    assert state() == before


def test_an_error_of_the_loop_restores_too() -> None:
    objects, loss = made()

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        loop(loss, 1)(module, optimizer, batches)
        raise ZeroDivisionError("theirs")

    training = of_opacus(train, **objects, canaries=PLAN, claim=ANY)
    before = [each.clone() for each in objects["module"].parameters()]
    with pytest.raises(ZeroDivisionError) as raised:
        training.run(PLAN.bits, np.random.default_rng(1))
    assert "of 400 canaries in train" in raised.value.__notes__[0]
    after = list(objects["module"].parameters())
    assert all(torch.equal(*each) for each in zip(before, after, strict=True))
    assert len(objects["optimizer"].param_groups) == 1
    assert not objects["module"]._forward_hooks


def test_large_batches_may_be_split_and_small_ones_empty() -> None:
    objects, loss = made()

    def split(module: Any, optimizer: Any, batches: Any) -> None:
        for _ in range(5):
            with memory.BatchMemoryManager(
                data_loader=batches, max_physical_batch_size=16, optimizer=optimizer
            ) as small:
                loop(loss, 1)(module, optimizer, small)

    scores = of_opacus(split, **objects, canaries=PLAN, claim=ANY).run(
        PLAN.bits, np.random.default_rng(1)
    )
    out = scores[~PLAN.bits]
    assert abs(out.std() - 1) < 6 / np.sqrt(2 * len(out))
    shift = scores[PLAN.bits].mean() - 0.25 * np.sqrt(20)
    assert abs(shift) < 6 * 1.1 / np.sqrt(len(PLAN.included))
    few = canaries(2, rng=1)
    for mode in ("hooks", "ghost"):
        objects, loss = made(mode=mode, batch=1)
        training = of_opacus(loop(loss, 1), **objects, canaries=few, claim=ANY)
        assert training.run(few.bits, np.random.default_rng(1)).shape == (2,)


def test_what_cannot_be_described_is_said() -> None:
    objects, loss = made()
    train = loop(loss)
    plain = {**objects, "optimizer": objects["optimizer"].original_optimizer}
    with pytest.raises(InvalidMechanism, match="needs the optimizer that engine"):
        of_opacus(train, **plain, canaries=PLAN)
    with pytest.raises(InvalidMechanism, match="steps must be at least 1, got 0"):
        of_opacus(train, **objects, canaries=PLAN, steps=0)
    with pytest.raises(InvalidMechanism, match="observe must be 'weights', 'steps' or a function"):
        CanaryHead(observe="all")  # type: ignore[arg-type]
    with pytest.raises(InvalidMechanism, match=r"size must be greater than 1, got 1\.0"):
        CanaryHead(size=1.0)
    shuffled, _ = made(poisson_sampling=False)
    with pytest.raises(InvalidMechanism, match="leave out steps"):
        of_opacus(train, **shuffled, canaries=PLAN, steps=3)
    bare = {**objects, "module": objects["module"]._module}
    with pytest.raises(InvalidMechanism, match="a canary head needs a module wrapped"):
        of_opacus(train, **bare, canaries=PLAN, claim=ANY).run(PLAN.bits, np.random.default_rng(1))
    few = DataCanaries(records=[([0.0, 0.0, 0.0], 1)], score=Losses(losses))
    with pytest.raises(InvalidCanaries, match="400 canaries need as many records, got 1"):
        of_opacus(train, **objects, canaries=PLAN, insert=few, claim=ANY).run(
            PLAN.bits, np.random.default_rng(1)
        )

    def halves(module: Any, optimizer: Any, batches: Any) -> None:
        for x, y in batches:
            optimizer.zero_grad()
            loss(module(x[1:]), y[1:]).backward()
            optimizer.step()

    with pytest.raises(InvalidMechanism, match="needs a row for each record of the batch"):
        of_opacus(halves, **objects, canaries=PLAN, claim=ANY).run(
            PLAN.bits, np.random.default_rng(1)
        )
