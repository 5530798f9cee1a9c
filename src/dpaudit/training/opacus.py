"""Opacus: a private training with canaries beside the user's own records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpaudit.architecture import Claim
from dpaudit.arrays import Floats, Labels
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import opacus_claim, opacus_seeded, opacus_undone
from dpaudit.mechanism import name_of, name_with_parameters
from dpaudit.results import Null
from dpaudit.training.batches import Batches, check_loader, is_poisson, loader_with
from dpaudit.training.canaries import Canaries
from dpaudit.training.canary_head import CanaryHead
from dpaudit.training.training import Training, finite_scores


class Inserted(Protocol):
    """What the canaries of a training are: a `CanaryHead` or `DataCanaries`."""

    @property
    def what(self) -> str:
        """What the canaries are, in words."""

    def items(self, count: int, example: Any) -> list[Any]:
        """What stands in the batches for each canary."""

    def noise(self, optimizer: Any) -> float | None:
        """The standard deviation of the score of a canary that is out, if it is known."""

    def assume(self, poisson: bool) -> Null:
        """The null that the construction supports."""

    def watched(
        self, module: Any, optimizer: Any, batches: Batches, items: Sequence[Any]
    ) -> AbstractContextManager[Callable[[], Floats]]:
        """Watch one run; the scores can be asked for at the end of it."""


def of_opacus(
    train: Callable[[Any, Any, Any], object],
    *,
    engine: Any,
    module: Any,
    optimizer: Any,
    data_loader: Any,
    canaries: Canaries,
    insert: Inserted | None = None,
    claim: Claim | None = None,
    steps: int | None = None,
) -> Training:
    """Describe the training of what `engine.make_private` returned, and of a loop over it.

    `train(module, optimizer, batches)` is your own loop. A run puts the canaries that are in beside
    the records of your dataset and samples as your loader does: at its rate, in as many batches
    (unless you pass `steps`), with the expected batch size of your optimizer. `insert` says what
    the canaries are: a `CanaryHead` if left out, or `DataCanaries`.

    The claim is the curve of the engine's accountant after such a run, when one canary is added or
    removed, unless you pass another. Every run begins with the weights that `module` has now.
    Afterwards module, optimizer, loader, engine and all random generators are as they were, and
    nothing of the engine's budget is spent.

    >>> import warnings, torch
    >>> from opacus import PrivacyEngine
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> from dpaudit.training import canaries
    >>> warnings.simplefilter("ignore")  # Opacus warns that its generator is not secure
    >>> line = torch.nn.Linear(2, 1)
    >>> data = TensorDataset(torch.randn(100, 2), torch.zeros(100, 1))
    >>> engine = PrivacyEngine()
    >>> module, optimizer, loader = engine.make_private(
    ...     module=line,
    ...     optimizer=torch.optim.SGD(line.parameters(), lr=0.1),
    ...     data_loader=DataLoader(data, batch_size=50),
    ...     noise_multiplier=1.0,
    ...     max_grad_norm=1.0,
    ... )
    >>> def train(module, optimizer, batches):
    ...     for x, y in batches:
    ...         optimizer.zero_grad()
    ...         torch.nn.functional.mse_loss(module(x), y).backward()
    ...         optimizer.step()
    >>> objects = dict(engine=engine, module=module, optimizer=optimizer, data_loader=loader)
    >>> plan = canaries(500, rng=7)
    >>> training = of_opacus(train, **objects, canaries=plan, steps=20)
    >>> print(training)
    train: privacy profile 'PRVAccountant, 20 steps';
    add or remove one canary of 500 (canary head, final weights)
    >>> scores = training.run(plan.bits, np.random.default_rng(1))
    >>> round(float(scores[~plan.bits].std()), 1), round(float(scores[plan.bits].mean()), 1)
    (0.9, 2.3)
    """
    check_loader(data_loader, steps)
    if not hasattr(optimizer, "attach_step_hook"):
        raise InvalidMechanism(
            "of_opacus needs the optimizer that engine.make_private returned, got "
            f"{type(optimizer).__name__}."
        )
    inserted = CanaryHead() if insert is None else insert
    objects = {"module": module, "optimizer": optimizer, "data_loader": data_loader, "steps": steps}
    if claim is None:
        claim = opacus_claim(train, engine=engine, **objects)
    return Training(
        name=name_with_parameters(train),
        claim=claim,
        canaries=canaries,
        run=_Run(train=train, inserted=inserted, **objects),
        what=inserted.what,
        noise=inserted.noise(optimizer),
        assume=inserted.assume(is_poisson(data_loader)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One training from the weights of now; everything is restored after it."""

    train: Callable[[Any, Any, Any], object]
    module: Any
    optimizer: Any
    data_loader: Any
    steps: int | None
    inserted: Inserted

    def __call__(self, bits: Labels, rng: np.random.Generator) -> Floats:
        included, theirs = np.flatnonzero(bits), self.data_loader
        items = self.inserted.items(len(bits), theirs.dataset[0])
        batches = Batches(count=len(bits), rate=1 / len(theirs))
        with (
            opacus_seeded(self.optimizer, int(rng.integers(2**63))),
            opacus_undone(self.module, self.optimizer),
            self.inserted.watched(self.module, self.optimizer, batches, items) as scores,
        ):
            self.optimizer.step_hook = None  # the engine's accountant counts its steps there
            try:
                loader = loader_with(theirs, items, included, batches, self.steps)
                self.train(self.module, self.optimizer, loader)
                return finite_scores(scores(), len(bits))
            except Exception as error:
                error.add_note(
                    f"while training with {len(included)} of {len(bits)} canaries in "
                    f"{name_of(self.train)}"
                )
                raise
