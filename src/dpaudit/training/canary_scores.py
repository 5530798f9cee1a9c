"""What a canary's record shows of itself in a trained model; `data_canaries` names the sources.

A score begins before a run, sees every step of it, and gives a number for each canary at its end.
It is told the records of all canaries, and never which of them are in.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpaudit.arrays import Counts, Floats
from dpaudit.errors import InvalidCanaries
from dpaudit.integrations import needed
from dpaudit.mechanism import name_of

LossOfEach = Callable[[Any, Sequence[Any]], Any]  # losses(module, records): a loss for each record


class Watch(Protocol):
    """What a score remembers of one run."""

    def step(self) -> None:
        """The optimizer is about to step: the gradients are noisy and averaged."""

    def scores(self) -> Floats:
        """At the end: a number for each canary; high means that it was in."""


class CanaryScore(Protocol):
    """How the records of canaries are scored."""

    @property
    def name(self) -> str:
        """The score in words."""

    def begin(self, module: Any, items: Sequence[Any]) -> Watch:
        """Watch one run, which begins now, with these records of all canaries."""


@dataclass(frozen=True, slots=True)
class ScoredBy:
    """A function of yours, `function(module, records)`: a score for each, on the trained model."""

    function: LossOfEach

    @property
    def name(self) -> str:
        """The score in words."""
        return f"scored by {name_of(self.function)}"

    def begin(self, module: Any, items: Sequence[Any]) -> Watch:
        """Watch one run."""
        return _AtTheEnd(lambda: _numbers(self.function, module, items))


@dataclass(frozen=True, slots=True)
class Losses:
    """The loss of each record on the trained model, negative: what was trained on has less.

    `losses(module, records)` gives a loss for each record, not their mean.
    """

    losses: LossOfEach

    @property
    def name(self) -> str:
        """The score in words."""
        return "loss"

    def begin(self, module: Any, items: Sequence[Any]) -> Watch:
        """Watch one run."""
        return _AtTheEnd(lambda: -_numbers(self.losses, module, items))


@dataclass(frozen=True, slots=True)
class LossDrops:
    """By how much the loss of each record fell from the first weights to the trained ones."""

    losses: LossOfEach

    @property
    def name(self) -> str:
        """The score in words."""
        return "loss difference to the start"

    def begin(self, module: Any, items: Sequence[Any]) -> Watch:
        """Watch one run."""
        start = _numbers(self.losses, module, items)
        return _AtTheEnd(lambda: start - _numbers(self.losses, module, items))


@dataclass(frozen=True, slots=True)
class GradientProducts:
    """The white box of Nasr et al. 2021 and 2023: each record's gradient times the noisy gradient.

    The sum over all steps; the product is a derivative of the loss along the noisy gradient, so a
    step costs one forward pass over all canaries. Gradients are not normalised. `losses` must call
    the module like a function, and nothing else of it.
    """

    losses: LossOfEach

    @property
    def name(self) -> str:
        """The score in words."""
        return "gradient products"

    def begin(self, module: Any, items: Sequence[Any]) -> Watch:
        """Watch one run."""
        return _Products(self.losses, module, items)


@dataclass(frozen=True, slots=True)
class _AtTheEnd:
    function: Callable[[], Floats]

    def step(self) -> None:
        """Steps are not watched."""

    def scores(self) -> Floats:
        return self.function()


class _Products:
    def __init__(self, losses: LossOfEach, module: Any, items: Sequence[Any]) -> None:
        self._losses, self._module, self._items = losses, module, items
        self._sums = np.zeros(len(items))

    def step(self) -> None:
        func = needed("torch.func", "opacus")
        moving = {
            name: each for name, each in self._module.named_parameters() if each.grad is not None
        }
        at = {name: each.detach() for name, each in moving.items()}
        along = {name: each.grad.detach().view_as(each) for name, each in moving.items()}

        def losses(weights: Any) -> Any:
            def called(*given: Any, **named: Any) -> Any:
                return func.functional_call(self._module, weights, given, named)

            return self._losses(called, self._items)

        with _looking(self._module), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*torch.jit.script", module="torch")
            self._sums += _plain(func.jvp(losses, (at,), (along,))[1])

    def scores(self) -> Floats:
        return self._sums


@contextmanager
def _looking(module: Any) -> Iterator[None]:
    """Evaluate the module: no gradients, no hooks of Opacus, and every part in evaluation mode."""
    torch = needed("torch", "opacus")
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    module.disable_hooks()
    try:
        with torch.no_grad():
            yield
    finally:
        module.enable_hooks()
        for part, mode in modes:
            part.training = mode


def _numbers(function: LossOfEach, module: Any, items: Sequence[Any]) -> Floats:
    with _looking(module):
        return _plain(function(module, items))


def _plain(values: Any) -> Floats:
    found = values.detach().cpu().numpy() if hasattr(values, "detach") else values
    return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsotropicCanaries:
    """Random directions in place of gradients, for a loop of yours: one-shot (Andrew et al. 2023).

    The gradient of a canary is a random unit vector times the clipping norm; its score is the
    cosine with what the training has released (the sum of noisy gradients, or first weights minus
    last), times the root of the dimension. In high dimension the score of a canary that is out is
    close to N(0, 1). The directions follow from the seed and are not kept.

    >>> marks = IsotropicCanaries(count=20, dimension=400, seed=1)
    >>> seen = marks.gradients(range(10), clip=1.0).sum(axis=0)  # and no noise
    >>> scores = marks.scores(seen)
    >>> bool(scores[:10].min() > scores[10:].max())
    True
    """

    count: int
    dimension: int
    seed: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.dimension < 1:
            raise InvalidCanaries(
                f"count and dimension must be at least 1, got {self.count} and {self.dimension}."
            )

    def gradients(self, ids: Sequence[int] | Counts, *, clip: float) -> Floats:
        """The gradients of these canaries, a row each."""
        return clip * np.array([self._direction(int(each)) for each in ids]).reshape(
            len(ids), self.dimension
        )

    def scores(self, released: ArrayLike) -> Floats:
        """The score of every canary, in or out."""
        vector = np.asarray(released, dtype=np.float64).ravel()
        along = np.array([self._direction(each) @ vector for each in range(self.count)])
        return np.asarray(along / np.linalg.norm(vector) * np.sqrt(self.dimension))

    def _direction(self, number: int) -> Floats:
        drawn = np.random.default_rng([self.seed, number]).normal(size=self.dimension)
        return np.asarray(drawn / np.linalg.norm(drawn))
