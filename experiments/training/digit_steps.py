"""One observation for each step of a training of digits, with a canary in or out by a fair coin.

A step releases its noisy gradient. What is observed of it is one number: how far it moved along the
gradient of the canary, in units of that gradient, so a step with the canary is 1 above one without
it. `observed` yields the number and the coin, step after step, for any bug of `digits.py`; a
`StepAudit` can stop it. A bug shows in one of three ways:

- `BATCH`: the canary is added to a batch of digits as the training draws it. The claim of a step is
  that of its noise.
- `RECORD`: the canary is added to a batch of one other record, whose gradient is as large as can
  be. The claim is the same: it holds whatever the other records are. The number is taken along the
  line from the gradient of that record to the one of the canary.
- `ORDER`: nine canaries are in the dataset or not, by coins tossed anew for each epoch; the number
  is that of the one whose turn it would be in a fixed order. The claim of a step is what the
  accountant grants to it, sampling included.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from digits import CLIP, RATE, SIGMA, Bug, made_private
from numpy.typing import NDArray

from dpaudit.architecture import Claim
from dpaudit.claims import GaussianDP
from dpaudit.integrations import needed, opacus_seeded
from dpaudit.integrations.opacus import claim_of
from dpaudit.training import CanaryHead
from dpaudit.training.batches import NOBODY, Batches, loader_with

BATCH, RECORD, ORDER = "a batch", "one large record", "order of an epoch"
WAYS = (BATCH, RECORD, ORDER)
PLACES = round(1 / RATE)  # batches of an epoch
LARGE = 1e4  # by which the record beside the canary is larger than a digit
HUGE = 1e9  # of the canary's gradient in clipping norms: more than that of the large record


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch of a step: which of its records are canaries, and the canary that is looked at."""

    x: Any
    y: Any
    ids: list[int]
    watched: int
    inserted: bool


def claim_of_step(way: str) -> Claim:
    """What a step promises for one record, given all steps before it."""
    if way != ORDER:
        return GaussianDP(1.0 / SIGMA)
    accountant = needed("opacus.accountants", "opacus").PRVAccountant()
    accountant.history = [(SIGMA, RATE, 1)]
    return claim_of(accountant)


def noise_of_step(way: str) -> float:
    """The standard deviation of an observation, in units of the canary's gradient."""
    return SIGMA / np.sqrt(2.0) if way == RECORD else SIGMA


def observed(bug: Bug, way: str, seed: int) -> Generator[tuple[float, bool], None, None]:
    """Train on and on: of each step what it showed along the canary, and whether that was in."""
    made, loss = made_private(bug)
    module, optimizer = made["module"], made["optimizer"]
    rng = np.random.default_rng(seed)
    batches = Batches(count=PLACES if way == ORDER else 1, rate=RATE)
    head = CanaryHead(size=HUGE) if way == RECORD else CanaryHead()
    items = head.items(batches.count, made["data_loader"].dataset[0])
    kept: Any = None
    with ExitStack() as stack:
        stack.enter_context(opacus_seeded(optimizer, int(rng.integers(2**63))))
        stack.enter_context(head.watched(module, optimizer, batches, items))
        for batch in batches_of(way, made, batches, items, rng):
            batches.ids = batch.ids
            optimizer.zero_grad()
            loss(module(batch.x), batch.y).backward()
            if kept is not None:  # this pass has written its gradients into what was kept
                yield along_canary(kept, batch, optimizer), batch.inserted
            beside = direction(module) if way == RECORD else None
            if bug.loop is not None:
                bug.loop(module)
            optimizer.step()
            released = list(module.parameters())[-1].grad
            if bug.keep:
                kept = released
            elif beside is not None:
                yield between(released, beside, module, optimizer), batch.inserted
            else:
                yield along_canary(released, batch, optimizer), batch.inserted


def along_canary(gradients: Any, batch: Batch, optimizer: Any) -> float:
    """The gradient along the canary that is looked at, in units of the clipping norm."""
    return float(gradients[batch.watched, 0] * optimizer.expected_batch_size / CLIP)


def direction(module: Any) -> list[Any]:
    """The gradient of the first record, without that of a canary, scaled to a norm of 1."""
    torch = needed("torch", "opacus")
    rows = [weights.grad_sample[0].detach().clone() for weights in list(module.parameters())[:-1]]
    norm = torch.sqrt(sum((row**2).sum() for row in rows))
    return [row / norm for row in rows]


def between(released: Any, beside: list[Any], module: Any, optimizer: Any) -> float:
    """The gradient on the line from that record's, clipped, at 0 to the canary's, at 1."""
    scale = optimizer.expected_batch_size / CLIP
    model = list(module.parameters())[:-1]
    theirs = sum(float((w.grad * row).sum()) for w, row in zip(model, beside, strict=True))
    return float(0.5 + 0.5 * scale * (released[0, 0] - theirs))


def batches_of(
    way: str, made: dict[str, Any], batches: Batches, items: list[Any], rng: np.random.Generator
) -> Iterator[Batch]:
    """The batches of steps, without an end."""
    if way == ORDER:
        yield from _epochs(made, batches, items, rng)
    torch = needed("torch", "opacus")
    canary = [tensor.unsqueeze(0) for tensor in items[0]]
    for x, y in _large(made) if way == RECORD else _endless(made["data_loader"]):
        inserted, ids = bool(rng.random() < 0.5), [NOBODY] * len(x)
        if inserted:
            x, y, ids = torch.cat([x, canary[0]]), torch.cat([y, canary[1]]), [*ids, 0]
        yield Batch(x=x, y=y, ids=ids, watched=0, inserted=inserted)


def _epochs(
    made: dict[str, Any], batches: Batches, items: list[Any], rng: np.random.Generator
) -> Iterator[Batch]:
    while True:
        bits: NDArray[np.bool_] = rng.random(batches.count) < 0.5
        loader = loader_with(made["data_loader"], items, np.flatnonzero(bits), batches, None)
        for place, (x, y) in enumerate(loader):
            assert batches.ids is not None  # the loader has just given a batch
            found = bool(bits[place])
            yield Batch(x=x, y=y, ids=batches.ids, watched=place, inserted=found)


def _endless(loader: Any) -> Iterator[tuple[Any, Any]]:
    while True:
        yield from loader


def _large(made: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """A digit that is far too bright, with the label that the model finds least likely."""
    torch = needed("torch", "opacus")
    x = LARGE * made["data_loader"].dataset[0][0].unsqueeze(0)
    while True:
        with torch.no_grad():
            label = made["module"](x).argmin(dim=1)
        yield x, label
