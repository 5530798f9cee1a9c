"""The canary head: one weight for each canary, whose gradient is known exactly.

The loss of canary `i` is `K * weight[i]`, so its gradient is `K` in one coordinate of its own, and
after clipping it is the clipping norm there and 0 elsewhere: the Dirac canary gradient of Nasr,
Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini and Terzis 2023, "Tight auditing of differentially
private machine learning", with a coordinate for each canary of one run. The weights begin at 0, so
the final ones are scores: the sum of what clipping, sampling and noise made of these gradients.

The head tests sampling, clipping, noise and accounting. It does not test the gradients that the
model computes for its own records: a layer that mixes the records of a batch goes unnoticed. Data
canaries do test that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dpaudit.arrays import Floats
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import needed
from dpaudit.results import Null
from dpaudit.training.batches import NOBODY, Batches

SIZE = 1000.0  # of a canary's gradient before clipping, in clipping norms
_NAME = "dpaudit_canary_head"


def dirac_gradients(ids: ArrayLike, count: int, *, size: float = SIZE) -> Floats:
    """The gradients of the head for a batch in NumPy: a row each, all 0 for a record of yours (-1).

    Put them beside the gradients of your own parameters *before* you clip.

    >>> dirac_gradients([2, -1], 4, size=10.0).tolist()
    [[0.0, 0.0, 10.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    numbers = np.asarray(ids, dtype=np.int64)
    return size * np.asarray(numbers[:, None] == np.arange(count), dtype=np.float64)


def unit_scores(weights: ArrayLike, *, rates: ArrayLike, noise: ArrayLike) -> Floats:
    """The scores of final weights after plain SGD from 0; canaries that are out have N(0, 1).

    `rates` are the learning rates of the steps; `noise` is the standard deviation of the noise in
    each step's averaged gradient, `sigma * C / batch`. Both may be one number for every step, but
    not both at once: the number of steps counts.

    A correct run of DP-SGD in which canaries alone are trained, at sampling rate 0.1:

    >>> import dpaudit
    >>> from dpaudit.training import canaries, of_loop
    >>> steps, rate, sigma = 60, 0.1, 1.0
    >>> def train(included, rng):
    ...     weights = np.zeros(1000)
    ...     for _ in range(steps):
    ...         batch = included[rng.random(len(included)) < rate]
    ...         gradients = dirac_gradients(batch, 1000)
    ...         norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    ...         clipped = gradients / np.maximum(1.0, norms)
    ...         weights -= 0.5 * (clipped.sum(axis=0) + rng.normal(0, sigma, 1000)) / 100
    ...     return weights
    >>> plan = canaries(1000, rng=7)
    >>> training = of_loop(
    ...     train,
    ...     insert=lambda included: included,
    ...     score=lambda weights: unit_scores(weights, rates=[0.5] * steps, noise=sigma / 100),
    ...     canaries=plan,
    ...     claim=dpaudit.GaussianDP(0.9),
    ...     noise=1.0,
    ... )
    >>> scores = training.run(plan.bits, np.random.default_rng(1))
    >>> f"{scores[~plan.bits].std():.2f}", f"{scores[plan.bits].mean():.2f}"  # and 0.1 sqrt(60)
    ('0.93', '0.75')
    """
    moved = np.atleast_1d(np.multiply(rates, noise))
    return -np.asarray(weights, dtype=np.float64) / math.sqrt(float(np.sum(moved**2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryHead:
    """Canaries as extra weights beside a model: for `of_opacus`.

    `observe="weights"` scores by the final weights, as someone would who gets the trained model.
    Where the optimizer is plain SGD, scores of canaries that are out have a standard deviation of
    1 (the head has no momentum and no weight decay). `observe="steps"` scores by the noisy gradient
    of every step, which is what an accountant allows to be seen: the log-likelihood ratio of a
    sampled canary, `sum_t log(1 - q + q exp((z_t - 1/2) / sigma^2))`. A function of yours scores
    by the same gradients: it gets a row for each step and a column for each canary, in clipping
    norms, so a canary that is in a batch moves its entry by 1.

    A batch takes the memory of a gradient for each of its records and each canary.
    """

    observe: Literal["weights", "steps"] | Callable[[Floats], Floats] = "weights"
    size: float = SIZE

    def __post_init__(self) -> None:
        if self.observe not in ("weights", "steps") and not callable(self.observe):
            raise InvalidMechanism(
                f"observe must be 'weights', 'steps' or a function, got {self.observe!r}."
            )
        if not 1.0 < self.size < math.inf:
            raise InvalidMechanism(f"size must be greater than 1, got {self.size!r}.")

    @property
    def what(self) -> str:
        """What the canaries are, in words."""
        return f"canary head, {'final weights' if self.observe == 'weights' else 'noisy gradients'}"

    def items(self, count: int, example: Any) -> list[Any]:
        """What stands in the batches for a canary: an item of the user's, without any gradient."""
        return [example] * count

    def noise(self, optimizer: Any) -> float | None:
        """The standard deviation of the score of a canary that is out, if it is known."""
        sgd = needed("torch.optim", "opacus").SGD
        plain = isinstance(optimizer.original_optimizer, sgd) and optimizer.noise_multiplier > 0
        return 1.0 if plain and self.observe == "weights" else None

    def assume(self, poisson: bool) -> Null:
        """Each canary has its own coordinate, noise and (if Poisson) sampling: independent."""
        return Null.INDEPENDENT_CANARIES if poisson else Null.ANY_MECHANISM

    @contextmanager
    def watched(
        self, module: Any, optimizer: Any, batches: Batches, items: Sequence[Any]
    ) -> Iterator[Callable[[], Floats]]:
        """Attach the head for one run; the scores can be asked for at the end of it."""
        _check(module, optimizer)
        clip = float(optimizer.max_grad_norm)
        with ExitStack() as stack:
            weight = stack.enter_context(_attached(module, batches, self.size * clip))
            group = stack.enter_context(_trained(optimizer, weight))
            seen = _Steps(optimizer, weight, group, keep=self.observe != "weights")
            stack.callback(optimizer.original_optimizer.register_step_pre_hook(seen).remove)
            yield partial(self._scores, seen, batches.rate)

    def _scores(self, seen: _Steps, rate: float) -> Floats:
        if callable(self.observe):
            return self.observe(np.array(seen.gradients))
        return seen.final() if self.observe == "weights" else seen.likelihood(rate)


class _Steps:
    """What the steps of one run did to the weights of the head."""

    def __init__(self, optimizer: Any, weight: Any, group: dict[str, Any], *, keep: bool) -> None:
        self._optimizer, self._weight, self._group, self._keep = optimizer, weight, group, keep
        self._moved: list[float] = []  # what one clipping norm moves a weight by, for each step
        self._noise: list[float] = []  # noise multipliers
        self.gradients: list[Floats] = []  # in clipping norms

    def __call__(self, *_: Any) -> None:
        """Before the inner optimizer steps: `weight.grad` is the noisy gradient, averaged."""
        dp = self._optimizer
        divisor = dp.expected_batch_size * dp.accumulated_iterations
        scale = float(dp.max_grad_norm) / (divisor if dp.loss_reduction == "mean" else 1)
        self._moved.append(self._group["lr"] * scale)
        self._noise.append(float(dp.noise_multiplier))
        if self._keep:
            self.gradients.append(_column(self._weight.grad) / scale)

    def final(self) -> Floats:
        """The final weights, over the noise that they gathered where the optimizer is plain SGD."""
        if not any(self._moved):
            raise InvalidMechanism("the weights of the head never moved: is a learning rate 0?")
        noise = self._noise if all(self._noise) else [1.0] * len(self._noise)
        return unit_scores(_column(self._weight), rates=self._moved, noise=noise)

    def likelihood(self, rate: float) -> Floats:
        """The log-likelihood ratio of "in" to "out" over all steps."""
        total = np.zeros(len(self._weight))
        for seen, sigma in zip(self.gradients, self._noise, strict=True):
            if sigma == 0.0:
                raise InvalidMechanism("a noise multiplier of 0 has no likelihood: use 'weights'.")
            with np.errstate(divide="ignore"):  # log(0) at a rate of 1
                total += np.logaddexp(np.log1p(-rate), math.log(rate) + (seen - 0.5) / sigma**2)
        return total


def _column(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().cpu().double().numpy()[:, 0])


def _check(module: Any, optimizer: Any) -> None:
    if not hasattr(module, "capture_backprops_hook"):
        raise InvalidMechanism(
            f"a canary head needs a module wrapped with grad_sample_mode 'hooks', 'functorch' or "
            f"'ghost', got {type(module).__name__}. Use DataCanaries instead."
        )
    if isinstance(optimizer.max_grad_norm, (list, tuple)):
        raise InvalidMechanism(
            "a canary head needs one clipping norm for all parameters, got one for each layer: "
            f"{optimizer.max_grad_norm!r}. Use DataCanaries instead."
        )


@contextmanager
def _attached(module: Any, batches: Batches, strength: float) -> Iterator[Any]:
    """An embedding beside the model, which Opacus hooks like the layers of the model."""
    torch = needed("torch", "opacus")
    like = next(each for each in module.parameters() if each.requires_grad)
    head = torch.nn.Embedding(batches.count, 1, device=like.device, dtype=like.dtype)
    torch.nn.init.zeros_(head.weight)
    head.weight.grad_sample, head.weight._forward_counter = None, 0
    head.train(module.training)
    if module.force_functorch:
        needed("opacus.grad_sample.functorch", "opacus").prepare_layer(head, batch_first=True)
    told = {"loss_reduction": module.loss_reduction, "batch_first": True}
    clears, normed = module.set_grad_sample_to_none, getattr(module, "trainable_parameters", [])

    def clear() -> None:
        head.weight.grad_sample = None
        clears()

    head.register_forward_hook(module.capture_activations_hook)
    head.register_full_backward_hook(partial(module.capture_backprops_hook, **told))
    route = _Route(head=head, batches=batches, strength=strength)
    handle = module.register_forward_hook(route)
    module.add_module(_NAME, head)
    module.set_grad_sample_to_none = clear
    normed.append(head.weight)  # of ghost clipping
    try:
        yield head.weight
    finally:
        normed.pop()
        del module.set_grad_sample_to_none
        delattr(module, _NAME)
        handle.remove()


@contextmanager
def _trained(optimizer: Any, weight: Any) -> Iterator[dict[str, Any]]:
    """A group of the optimizer for the head: plain, with the learning rate of the first group."""
    weight.summed_grad = None
    inner = optimizer.original_optimizer
    plain: dict[str, Any] = {"momentum": 0.0, "nesterov": False, "dampening": 0.0}
    plain |= {"weight_decay": 0.0, "maximize": False}
    group = {name: value for name, value in plain.items() if name in inner.defaults}
    group |= {"params": [weight], "lr": float(inner.param_groups[0]["lr"])}
    inner.add_param_group(group)
    try:
        yield inner.param_groups[-1]
    finally:
        inner.param_groups[:] = [each for each in inner.param_groups if each is not group]
        inner.state.pop(weight, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    """A forward hook of the module: the rows of canaries lead to the head, not to the model."""

    head: Any
    batches: Batches
    strength: float

    def __call__(self, module: Any, _: Any, output: Any) -> Any:
        torch, ids = needed("torch", "opacus"), self.batches.ids
        if ids is None or not module.training or not torch.is_grad_enabled():
            return output
        device = self.head.weight.device
        ids = ids or [NOBODY] * _rows(output)  # Opacus may fill up an empty batch
        numbers = torch.as_tensor(ids, dtype=torch.long, device=device)
        return self._led(output, self._own(module, numbers), numbers != NOBODY)

    def _own(self, module: Any, numbers: Any) -> Any:
        """The weight of each record's canary; that of another record gets no gradient."""
        if len(numbers) or not hasattr(module, "trainable_parameters"):
            return self.head(numbers.clamp(min=0))
        weight = self.head.weight  # ghost clipping of Opacus fails on an embedding of nothing
        weight._norm_sample = weight.new_zeros(0)
        return weight[numbers]

    def _led(self, output: Any, own: Any, canary: Any) -> Any:
        if isinstance(output, dict):
            return type(output)(
                {name: self._led(each, own, canary) for name, each in output.items()}
            )
        if isinstance(output, (list, tuple)):
            return type(output)([self._led(each, own, canary) for each in output])
        if not hasattr(output, "requires_grad") or not output.requires_grad:
            return output
        if output.ndim == 0 or len(output) != len(canary):
            raise InvalidMechanism(
                f"the module gave an output of shape {tuple(output.shape)} for a batch of "
                f"{len(canary)} records: a canary head needs a row for each record of the batch. "
                "Use DataCanaries instead, or call the module on whole batches."
            )
        return _routing().apply(output, own, canary, self.strength)


def _rows(output: Any) -> int:
    """How many rows the first tensor of an output has."""
    while isinstance(output, (dict, list, tuple)):
        output = next(iter(output.values() if isinstance(output, dict) else output))
    return len(output)


def _routing() -> Any:
    """An autograd function: it passes values on, and changes the gradients of canaries' rows.

    The model gets none from them, the head the same from each, whatever the loss. A second pass
    over the same graph, as ghost clipping makes, is scaled as its loss was.
    """
    torch = needed("torch", "opacus")

    class Routing(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
        @staticmethod
        def forward(ctx: Any, output: Any, own: Any, canary: Any, strength: float) -> Any:
            ctx.canary, ctx.strength, ctx.first = canary, strength, None
            return output.view_as(output)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            canary = ctx.canary
            theirs = gradient[canary].detach()
            if ctx.first is None:
                ctx.first, scale = theirs.clone(), 1.0
            else:
                whole = float((ctx.first * ctx.first).sum())
                scale = float((theirs * ctx.first).sum()) / whole if whole > 0.0 else 0.0
            kept = gradient.clone()
            kept[canary] = 0.0
            own = (ctx.strength * scale) * canary.to(gradient.dtype)[:, None]
            return kept, own, None, None

    return Routing
