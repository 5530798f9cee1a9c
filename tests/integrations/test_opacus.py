"""Trainings of Opacus: the right are not refuted, those that forget a part of it are.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. The closest alternative is noise of mu = 1 against mu = 0.5: guesses are right
with probability 0.691, where the claim allows 0.599. A refutation takes about 17 nats, that is
1,980 right guesses of 3,000: the power is 0.9999 (a binomial tail).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import opacus as adapter
from dpaudit.mechanism import as_mechanism

pytest.importorskip("opacus", reason="opacus is not installed")
torch = import_module("torch")
opacus = import_module("opacus")
loading = import_module("torch.utils.data")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
    pytest.mark.filterwarnings("ignore:GDP accounting is experimental"),
]

RECORDS = dpaudit.records(x=dpaudit.floats(-1, 1), y=dpaudit.floats(-1, 1))
ONE = {"x": 1.0, "y": 1.0}
PAIR = dpaudit.pairs([([ONE, {"x": -1.0, "y": 1.0}], [ONE])])  # gradients of opposite signs
STILL = {"x": 0.0, "y": 0.0}  # has no gradient
ALONE = dpaudit.pairs([([ONE, STILL], [STILL])])


def loss(module: Any, x: Any, y: Any) -> Any:
    return torch.nn.functional.mse_loss(module(x), y)


def train(module: Any, optimizer: Any, batches: Any) -> None:
    for x, y in batches:
        optimizer.zero_grad()
        loss(module, x, y).backward()
        optimizer.step()


def clip_the_batch(module: Any, optimizer: Any, batches: Any) -> None:
    for x, y in batches:
        optimizer.zero_grad()
        loss(module, x, y).backward()
        for weights in module.parameters():
            weights.grad_sample = weights.grad_sample.sum(0, keepdim=True)
        optimizer.step()


def tell_the_loss(module: Any, optimizer: Any, batches: Any) -> list[float]:
    told = []
    for x, y in batches:
        train(module, optimizer, [(x, y)])
        with torch.no_grad():
            told.append(float(loss(module, x, y)))
    return told


def every_gradient(module: Any, optimizer: Any, batches: Any) -> Any:
    seen = []
    for batch in batches:
        train(module, optimizer, [batch])
        seen += [weights.grad.flatten().clone() for weights in module.parameters()]
    return torch.stack(seen)


def lowest_gradient(module: Any, optimizer: Any, batches: Any) -> Any:
    return every_gradient(module, optimizer, batches).min()


def every_gradient_uncopied(module: Any, optimizer: Any, batches: Any) -> Any:
    """The next backward pass writes into what is kept: a gradient without noise."""
    seen = []
    for batch in batches:
        train(module, optimizer, [batch])
        seen += [weights.grad.flatten() for weights in module.parameters()]
    return torch.stack(seen)


def objects(
    *, accountant: str = "prv", size: int = 4, batch: int = 4, lr: float = 1.0, **settings: Any
) -> dict[str, Any]:
    line = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(line.weight, 0.1)
    data = loading.TensorDataset(torch.zeros(size, 1), torch.zeros(size, 1))
    engine = opacus.PrivacyEngine(accountant=accountant)
    module, optimizer, loader = engine.make_private(
        module=line,
        optimizer=torch.optim.SGD(line.parameters(), lr=lr, momentum=0.5),
        data_loader=loading.DataLoader(data, batch_size=batch, shuffle=True),
        **{"noise_multiplier": 1.0, "max_grad_norm": 0.1, **settings},
    )
    return {"engine": engine, "module": module, "optimizer": optimizer, "data_loader": loader}


def subject(
    loop: Callable[..., object], *, steps: int | None = None, size: int = 4, **settings: Any
) -> dpaudit.Subject:
    made = objects(size=size, **settings)
    return dpaudit.integrations.from_opacus(
        loop, **made, records=RECORDS, max_records=size, steps=steps
    )


def test_a_step_keeps_its_claim_and_most_of_it_is_certified() -> None:
    step = subject(train)
    assert not dpaudit.audit(step, samples=800, rng=1).refuted
    assert dpaudit.audit(step, dpaudit.GaussianDP(0.5), ALONE, samples=3_000, rng=1).refuted


@pytest.mark.parametrize("accountant", ["prv", "rdp", "gdp"])
def test_the_claim_is_the_curve_of_the_accountant(accountant: str) -> None:
    claim = subject(train, accountant=accountant).claim
    kind = {"prv": "PRVAccountant", "rdp": "RDPAccountant", "gdp": "GaussianAccountant"}[accountant]
    assert str(claim) == f"privacy profile '{kind}, 1 step'"
    exact = dpaudit.GaussianDP(1.0)
    if accountant != "gdp":  # which is an approximation
        for level in (0.0, 0.5, 1.0, 2.0, 4.0):
            assert exact.delta(level) <= claim.delta(level)
    if accountant == "prv":
        assert claim.delta(1.0) < 1.15 * exact.delta(1.0)


def test_sampled_steps_keep_their_claim() -> None:
    run = subject(every_gradient, batch=1, steps=3)
    assert str(run.claim) == "privacy profile 'PRVAccountant, 3 steps'"
    assert run.claim.delta(1.0) < dpaudit.GaussianDP(1.0).delta(1.0)
    drawn = as_mechanism(run.mechanism).draw([ONE] * 3, 2, np.random.default_rng(1))
    assert np.shape(drawn) == (2, 3, 1)
    assert not dpaudit.audit(run, samples=400, rng=1).refuted


def test_a_loop_that_clips_the_gradient_of_the_batch_is_refuted() -> None:
    assert dpaudit.audit(subject(clip_the_batch), neighbours=PAIR, samples=1_500, rng=1).refuted


def test_a_loop_that_tells_the_loss_is_refuted() -> None:
    assert dpaudit.audit(subject(tell_the_loss), samples=1_500, rng=1).refuted


def test_a_loop_that_keeps_gradients_without_a_copy_is_refuted() -> None:
    assert dpaudit.audit(subject(every_gradient_uncopied, steps=2), samples=1_500, rng=1).refuted


def test_shuffled_batches_are_not_what_is_accounted_for() -> None:
    settings: Any = {"batch": 1, "noise_multiplier": 0.25, "size": 3}
    shuffled = subject(lowest_gradient, poisson_sampling=False, **settings)
    assert dpaudit.audit(shuffled, neighbours=ALONE, samples=800, rng=1).refuted
    sampled = subject(lowest_gradient, **settings)
    assert not dpaudit.audit(sampled, neighbours=ALONE, samples=800, rng=1).refuted


def test_everything_is_left_as_it_was_and_no_budget_is_spent() -> None:
    made = objects(noise_generator=torch.Generator().manual_seed(3))
    train(made["module"], made["optimizer"], made["data_loader"])
    line = made["module"]._module
    weights = line.weight.detach().clone()
    momentum = made["optimizer"].state_dict()["state"][0]["momentum_buffer"].clone()
    history, generator = list(made["engine"].accountant.history), made["optimizer"].generator
    drawn = torch.random.get_rng_state(), generator.get_state()
    run = dpaudit.integrations.from_opacus(train, **made, records=RECORDS)
    release = as_mechanism(run.mechanism)
    first, again = (release.draw([ONE], 4, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, again)
    assert len(np.unique(first)) == 4
    assert torch.equal(line.weight, weights)
    assert torch.equal(made["optimizer"].state_dict()["state"][0]["momentum_buffer"], momentum)
    assert made["engine"].accountant.history == history
    assert torch.equal(torch.random.get_rng_state(), drawn[0])
    assert made["optimizer"].generator is generator
    assert torch.equal(generator.get_state(), drawn[1])


def test_parameters_that_a_loop_returns_are_those_it_has_learned() -> None:
    def give(module: Any, optimizer: Any, batches: Any) -> Any:
        train(module, optimizer, batches)
        return {"weights": list(module.parameters())}

    drawn = [
        as_mechanism(subject(loop).mechanism).draw([ONE], 3, np.random.default_rng(1))
        for loop in (train, give)
    ]
    learned = [float(each["weights"][0].item()) for each in drawn[1]]
    assert learned == np.ravel(drawn[0]).tolist()


def test_records_take_the_form_of_the_items_of_the_dataset() -> None:
    x, label = torch.zeros(2, dtype=torch.float32), 3
    item = adapter.opacus_item({"x": np.array([1.0, 2.0]), "y": np.int64(1)}, (x, label))
    assert torch.equal(item[0], torch.tensor([1.0, 2.0]))
    assert item[1] == 1
    assert type(item[1]) is int
    named = adapter.opacus_item({"a": 1.0}, {"a": torch.zeros(1, dtype=torch.float64)})
    assert named["a"].dtype is torch.float64
    assert torch.equal(adapter.opacus_item([1.0, 2.0], x), torch.tensor([1.0, 2.0]))
    with pytest.raises(InvalidMechanism, match="has 2 parts, but a record has 1"):
        adapter.opacus_item(1.0, (x, label))


def test_what_cannot_be_made_a_subject_is_said() -> None:
    made = objects()
    plain = {**made, "optimizer": made["optimizer"].original_optimizer}
    with pytest.raises(InvalidMechanism, match=r"that engine\.make_private returned, got SGD"):
        dpaudit.integrations.from_opacus(train, **plain, records=RECORDS)
    with pytest.raises(InvalidMechanism, match="steps must be at least 1, got 0"):
        dpaudit.integrations.from_opacus(train, **made, records=RECORDS, steps=0)
    with pytest.raises(InvalidMechanism, match="<lambda> took no step of the optimizer"):
        dpaudit.integrations.from_opacus(lambda *given: 0, **made, records=RECORDS)
    with pytest.raises(
        InvalidMechanism, match="leave out steps, and pass a max_records of at most 4"
    ):
        dpaudit.integrations.from_opacus(train, **objects(poisson_sampling=False), records=RECORDS)
    silent = objects(noise_multiplier=0.0, accountant="rdp")
    with pytest.raises(InvalidMechanism, match="RDPAccountant gives no finite epsilon"):
        dpaudit.integrations.from_opacus(train, **silent, records=RECORDS)
