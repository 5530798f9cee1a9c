"""What a user of Opacus has, small: the objects of `make_private`, a loop and canaries."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.training import DataCanaries, canaries

pytest.importorskip("opacus", reason="opacus is not installed")
torch = import_module("torch")
opacus = import_module("opacus")
loading = import_module("torch.utils.data")

SIZE = 60
PLAN = canaries(400, rng=11)
ANY = dpaudit.PureDP(1.0)  # where a test is not about the claim: accountants take their time


def made(
    *,
    mode: str = "hooks",
    batch: int = 15,
    reduction: str = "mean",
    optimizer: str = "SGD",
    shuffle: bool = True,
    **settings: Any,
) -> tuple[dict[str, Any], Any]:
    """What a user has after `make_private`, and the loss to use with it."""
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    data = loading.TensorDataset(torch.randn(SIZE, 3), torch.arange(SIZE) % 2)
    loss = torch.nn.CrossEntropyLoss(reduction=reduction)
    rates: dict[str, Any] = {"lr": 0.1} | ({"momentum": 0.9} if optimizer == "SGD" else {})
    engine = opacus.PrivacyEngine()
    returned = engine.make_private(
        module=network,
        optimizer=getattr(torch.optim, optimizer)(network.parameters(), **rates),
        data_loader=loading.DataLoader(data, batch_size=batch, shuffle=shuffle),
        grad_sample_mode=mode,
        loss_reduction=reduction,
        **({"criterion": loss} if mode == "ghost" else {}),
        **{"noise_multiplier": 1.0, "max_grad_norm": 0.7, **settings},
    )
    module, wrapped, *criterion, loader = returned
    objects = {"engine": engine, "module": module, "optimizer": wrapped, "data_loader": loader}
    return objects, criterion[0] if criterion else loss


def loop(loss: Any, epochs: int = 5) -> Callable[[Any, Any, Any], None]:
    def train(module: Any, optimizer: Any, batches: Any) -> None:
        for _ in range(epochs):
            for x, y in batches:
                optimizer.zero_grad()
                loss(module(x), y).backward()
                optimizer.step()

    return train


def losses(module: Any, records: Any) -> Any:
    x = torch.stack([row for row, _ in records])
    y = torch.stack([label for _, label in records])
    return torch.nn.functional.cross_entropy(module(x), y, reduction="none")


def data_canaries(score: Any) -> DataCanaries:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(PLAN.count, 3))
    return DataCanaries(records=[(row, number % 2) for number, row in enumerate(rows)], score=score)
