"""The trainings of `trainings.py` with Opacus: its own optimizer, and the same six bugs in it."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import trainings
from trainings import CLIP, FEATURES, LEARNING_RATE, RATE, SIGMA, STEPS

import dpaudit
from dpaudit.integrations import needed


def optimizer_of(bug: str) -> Any:
    """An optimizer of Opacus with a bug."""
    right = needed("opacus.optimizers", "opacus").DPOptimizer
    torch = needed("torch", "opacus")

    class Wrong(right):  # type: ignore[misc, valid-type]
        def clip_and_accumulate(self: Any) -> None:
            (weights,) = self.params
            if bug == "not clipped":
                weights.summed_grad = weights.grad_sample.sum(0)
                return
            if bug == "microbatches clipped":
                each = weights.grad_sample
                odd = torch.zeros((len(each) % 2, *each.shape[1:]))
                weights.grad_sample = torch.cat([each, odd]).unflatten(0, (-1, 2)).sum(1)
            if bug == "batch clipped":
                whole = weights.grad_sample.sum(0, keepdim=True)
                weights.grad_sample = whole / self.expected_batch_size
            super().clip_and_accumulate()
            if bug == "batch clipped":
                weights.summed_grad *= self.expected_batch_size
            if bug == "private number":
                weights.summed_grad *= trainings.RECORDS / self.private

        def add_noise(self: Any) -> None:
            stated = self.noise_multiplier
            if bug == "noise over batch":
                self.noise_multiplier = stated / self.expected_batch_size
            if bug == "noise squared":
                self.noise_multiplier = stated**2
            super().add_noise()
            self.noise_multiplier = stated

    return Wrong


@cache
def mechanism_of(bug: str) -> Any:
    """A training of Opacus as a mechanism on the rows of `trainings.table`."""
    torch = needed("torch", "opacus")
    torch.set_num_threads(1)
    loading = needed("torch.utils.data", "opacus")
    line = torch.nn.Linear(FEATURES, 1, bias=False)
    torch.nn.init.zeros_(line.weight)
    data = loading.TensorDataset(
        torch.zeros(trainings.RECORDS, FEATURES), torch.zeros(trainings.RECORDS, 1)
    )
    engine = needed("opacus", "opacus").PrivacyEngine()
    with warnings.catch_warnings(action="ignore"):  # the generators are not secure, says Opacus
        module, optimizer, loader = engine.make_private(
            module=line,
            optimizer=torch.optim.SGD(line.parameters(), lr=LEARNING_RATE),
            data_loader=loading.DataLoader(data, batch_size=round(RATE * trainings.RECORDS)),
            noise_multiplier=SIGMA,
            max_grad_norm=CLIP,
        )

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        optimizer.private = len(batches.dataset)
        for x, y in batches:
            optimizer.zero_grad()
            torch.nn.functional.soft_margin_loss(module(x), y).backward()
            optimizer.step()

    records = dpaudit.records(x=dpaudit.vectors(FEATURES, -1, 1), y=dpaudit.floats(-1, 1))
    with warnings.catch_warnings(action="ignore"):
        made = dpaudit.integrations.from_opacus(
            train,
            engine=engine,
            module=module,
            optimizer=optimizer,
            data_loader=loader,
            records=records,
            max_records=trainings.RECORDS,
            steps=STEPS,
        )
    if bug != "none":
        optimizer.__class__ = optimizer_of(bug)
    return made.mechanism


def neighbours() -> list[tuple[list[Any], list[Any]]]:
    """The table of `trainings.py` as records, with the far record and without it."""
    rows = [{"x": row[:-1], "y": row[-1]} for row in trainings.table()]
    return [(rows, rows[1:])]
