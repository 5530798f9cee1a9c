"""Canaries that are records of their own, and the loader that puts canaries beside records."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from private_trainings import ANY, PLAN, SIZE, data_canaries, loop, losses, made

from dpaudit.training import GradientProducts, LossDrops, Losses, Null, ScoredBy, of_opacus
from dpaudit.training.batches import Batches, loader_with

pytest.importorskip("opacus", reason="opacus is not installed")
torch = import_module("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
    pytest.mark.filterwarnings("ignore:In CPU autocast"),
]


@pytest.mark.parametrize(("poisson", "shuffle"), [(True, True), (False, True), (False, False)])
def test_a_loader_samples_as_the_users(poisson: bool, shuffle: bool) -> None:
    objects, _ = made(poisson_sampling=poisson, shuffle=shuffle)
    theirs = objects["data_loader"]
    items = [(torch.full((3,), 100.0 + number), torch.tensor(1)) for number in range(40)]
    batches = Batches(count=40, rate=0.25)
    loader = loader_with(theirs, items, np.arange(0, 40, 2), batches, None)
    epochs = []
    for _ in range(2 if not poisson else 200):
        given = []
        for x, _y in loader:
            assert batches.ids is not None
            marked = [int(row[0]) - 100 if row[0] >= 100 else -1 for row in x]
            assert marked == batches.ids
            given.append((len(x), tuple(each for each in batches.ids if each >= 0)))
        assert len(given) == len(theirs) == 4
        epochs.append(given)
    if poisson:
        mean = np.mean([size for given in epochs for size, _ in given])
        assert abs(mean - 80 / 4) < 6 * np.sqrt(80 * 3 / 16 / 800)
        return
    for given in epochs:
        assert sum(size for size, _ in given) == SIZE + 20
        assert sorted(each for _, ids in given for each in ids) == list(range(0, 40, 2))
    assert (epochs[0] == epochs[1]) is not shuffle


@pytest.mark.parametrize(
    ("score", "what"),
    [
        (Losses(losses), "data canaries, loss"),
        (LossDrops(losses), "data canaries, loss difference to the start"),
        (GradientProducts(losses), "data canaries, gradient products"),
        (ScoredBy(lambda module, records: -losses(module, records)), "data canaries, scored by"),
    ],
)
def test_records_are_scored(score: Any, what: str) -> None:
    objects, loss = made()
    insert = data_canaries(score)
    training = of_opacus(loop(loss, 1), **objects, canaries=PLAN, insert=insert, claim=ANY)
    assert training.what.startswith(what)
    assert training.noise is None
    assert training.assume is Null.ANY_MECHANISM
    assert training.run(PLAN.bits, np.random.default_rng(1)).shape == (PLAN.count,)


def test_gradient_products_are_the_products_of_gradients() -> None:
    objects, loss = made()
    expected = np.zeros(PLAN.count)
    insert = data_canaries(GradientProducts(losses))
    items = insert.items(PLAN.count, objects["data_loader"].dataset[0])

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        for x, y in batches:
            optimizer.zero_grad()
            loss(module(x), y).backward()
            parameters = list(module.parameters())
            module.disable_hooks()
            each = [
                torch.autograd.grad(one, parameters, retain_graph=True)
                for one in losses(module, items)[:3]
            ]
            module.enable_hooks()
            optimizer.step()
            for number, gradients in enumerate(each):
                expected[number] += sum(
                    float((one * other.grad).sum())
                    for one, other in zip(gradients, parameters, strict=True)
                )

    training = of_opacus(train, **objects, canaries=PLAN, insert=insert, claim=ANY)
    scores = training.run(PLAN.bits, np.random.default_rng(1))
    assert np.allclose(scores[:3], expected[:3], rtol=1e-4, atol=1e-6)
