"""Opacus: private trainings of a line, with the claim of the engine's own accountant.

The size of the dataset counts as known, except in the entry that is about it.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from entry import Entry

import dpaudit
from dpaudit import ApproxDP, Subject
from dpaudit.integrations.opacus import claim_of

SAMPLES = 2_500
SIZE = 4
ADAPTIVE: dict[str, Any] = {
    "clipping": "adaptive",
    "target_unclipped_quantile": 0.5,
    "clipbound_learning_rate": 0.2,
    "min_clipbound": 0.01,
    "max_clipbound": 10.0,
    "unclipped_num_std": 1.0,
}

Train = Callable[[Any, Any, Any], object]


def people() -> Any:
    return dpaudit.records(x=dpaudit.floats(-1, 1), y=dpaudit.floats(-1, 1))


def one_more(*values: float) -> Any:
    """One record more with such an x, beside one that has no gradient."""
    still = {"x": 0.0, "y": 0.0}
    return dpaudit.pairs([([{"x": x, "y": 1.0}, still], [still]) for x in values])


def loop(criterion: Any = None) -> Train:
    """A training as everyone writes it."""
    torch: Any = importlib.import_module("torch")
    loss = torch.nn.functional.mse_loss if criterion is None else criterion

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        for x, y in batches:
            optimizer.zero_grad()
            loss(module(x), y).backward()
            optimizer.step()

    return train


def lowest_gradient(module: Any, optimizer: Any, batches: Any) -> Any:
    """What a training may tell as well: the lowest of its noisy gradients."""
    train, (weights,) = loop(), module.parameters()
    seen = []
    for batch in batches:
        train(module, optimizer, [batch])
        seen.append(weights.grad.item())
    return min(seen)


def line(*, bias: bool = False) -> Any:
    torch: Any = importlib.import_module("torch")
    made = torch.nn.Linear(1, 1, bias=bias)
    for weights in made.parameters():
        torch.nn.init.constant_(weights, 0.1)
    return made


def private(
    data: Any,
    *,
    batch: int,
    lr: float = 0.1,
    bias: bool = False,
    accountant: str = "prv",
    **settings: Any,
) -> tuple[Any, ...]:
    """An engine, and what make_private returns for it."""
    torch: Any = importlib.import_module("torch")
    loading: Any = importlib.import_module("torch.utils.data")
    opacus: Any = importlib.import_module("opacus")
    target = {"noise_multiplier": 1.0} if "target_epsilon" not in settings else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the generator is not a secure one
        engine = opacus.PrivacyEngine(accountant=accountant)
        make = engine.make_private if target else engine.make_private_with_epsilon
        module = line(bias=bias)
        made = make(
            module=module,
            optimizer=torch.optim.SGD(module.parameters(), lr=lr),
            data_loader=loading.DataLoader(data, batch_size=batch, shuffle=True),
            **{"max_grad_norm": 0.1, **target, **settings},
        )
    return engine, *made


def zeros(size: int) -> Any:
    torch: Any = importlib.import_module("torch")
    loading: Any = importlib.import_module("torch.utils.data")
    return loading.TensorDataset(torch.zeros(size, 1), torch.zeros(size, 1))


def training(
    *, batch: int = SIZE, steps: int | None = None, train: Train | None = None, **settings: Any
) -> Subject:
    """A training on records in place of zeros."""
    if settings.get("grad_sample_mode") == "ghost":
        settings["criterion"] = importlib.import_module("torch").nn.MSELoss()
    engine, module, optimizer, *criterion, loader = private(zeros(SIZE), batch=batch, **settings)
    return dpaudit.integrations.from_opacus(
        loop(*criterion) if train is None else train,
        engine=engine,
        module=module,
        optimizer=optimizer,
        data_loader=loader,
        records=people(),
        max_records=SIZE,
        steps=steps,
    )


def with_epsilon() -> Subject:
    """An epoch of two steps for a target of epsilon 1 at a delta of 0.01."""
    made = training(batch=2, target_epsilon=1.0, target_delta=0.01, epochs=1)
    return replace(made, claim=ApproxDP(1.0, 0.01))


def odd_values() -> Subject:
    return replace(training(), neighbours=one_more(math.nan, math.inf, -math.inf, 1e30, -1e30))


def four_steps_told(*, poisson_sampling: bool) -> Subject:
    """Batches of one of four records, and little noise."""
    made = training(
        batch=1, train=lowest_gradient, poisson_sampling=poisson_sampling, noise_multiplier=0.25
    )
    return replace(made, neighbours=one_more(1.0, -1.0, 0.5))


def from_the_data() -> Subject:
    """All of it on the dataset itself: sampling rate and scale come from its size.

    Every dataset is one batch, so the rate is 1 and the accountant says the same for all. The
    records have no gradient, so the noise alone is seen.
    """
    still = {"x": 0.0, "y": 0.0}
    torch: Any = importlib.import_module("torch")
    loading: Any = importlib.import_module("torch.utils.data")
    train = loop()

    def trained(rows: Any) -> tuple[Any, float]:
        x, y = (torch.tensor([[row[name]] for row in rows]) for name in ("x", "y"))
        given = loading.TensorDataset(x.float(), y.float())
        engine, module, optimizer, loader = private(
            given, batch=SIZE, lr=10.0, noise_multiplier=4.0
        )
        train(module, optimizer, loader)
        return engine, next(module.parameters()).item()

    def make_private_and_train(data: Any, size: int, rng: np.random.Generator) -> list[float]:
        torch.manual_seed(int(rng.integers(2**63)))
        return [trained(data)[1] for _ in range(size)]

    return Subject(
        mechanism=make_private_and_train,
        claim=claim_of(trained([still])[0].accountant),
        neighbours=dpaudit.pairs([([still] * (size + 1), [still] * size) for size in (1, 2, 3)]),
    )


def _entry(function: str, make: Callable[[], Subject], watched: str = "") -> Entry:
    return Entry(function, make, watched=watched, samples=SAMPLES)


ENTRIES: tuple[Entry, ...] = (
    _entry("make_private, one step", training),
    _entry("make_private, one step of sampled records", lambda: training(batch=2, steps=1)),
    _entry("make_private, four steps", lambda: training(batch=2, steps=4)),
    _entry("make_private(accountant=rdp)", lambda: training(batch=2, accountant="rdp")),
    _entry("make_private_with_epsilon", with_epsilon),
    _entry(
        "make_private(clipping=per_layer)",
        lambda: training(bias=True, clipping="per_layer", max_grad_norm=[0.1, 0.1]),
    ),
    _entry("make_private(clipping=adaptive)", lambda: training(batch=2, bias=True, **ADAPTIVE)),
    _entry(
        "make_private(grad_sample_mode=ghost)", lambda: training(batch=2, grad_sample_mode="ghost")
    ),
    _entry(
        "make_private(grad_sample_mode=functorch)",
        lambda: training(batch=2, grad_sample_mode="functorch"),
    ),
    _entry(
        "make_private, odd values", odd_values, "NaN, infinities, numbers beyond float32 squared"
    ),
    _entry("make_private, lowest gradient", lambda: four_steps_told(poisson_sampling=True)),
    _entry(
        "make_private(poisson_sampling=False), lowest gradient",
        lambda: four_steps_told(poisson_sampling=False),
    ),
    Entry(
        "make_private, on the dataset itself",
        from_the_data,
        watched="the size of the dataset; one record",
        samples=2 * SAMPLES,
    ),
)
