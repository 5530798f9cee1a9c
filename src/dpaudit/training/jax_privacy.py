"""jax-privacy: a private training with a canary head beside the user's own parameters.

The head is one more leaf of the parameters, with a coordinate for each canary. The plan clips its
gradients, adds noise to them and samples the canaries as it does everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpaudit.architecture import Claim
from dpaudit.arrays import Floats, Labels
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import (
    check_jax_privacy_plan,
    jax_privacy_claim,
    jax_privacy_indices,
    jax_privacy_run,
    needed,
)
from dpaudit.results import Null
from dpaudit.training.batches import NOBODY
from dpaudit.training.canaries import Canaries
from dpaudit.training.scores import banded_score
from dpaudit.training.training import Training, finite_scores

SIZE = 1e6  # of a canary's gradient before clipping, far above any clipping norm in use
_WIDTH = 64  # batches are filled up to a multiple of this, so that few widths are compiled

Observe = Literal["weights", "steps"] | Callable[[Floats], Floats]


def of_jax_privacy(
    plan: Any,
    loss: Callable[..., Any],
    params: Any,
    *,
    data: Any,
    canaries: Canaries,
    optimizer: Any = None,
    strategy: Any = None,
    observe: Observe = "weights",
    claim: Claim | None = None,
) -> Training:
    """Describe a training by a `DPExecutionPlan`: its batches, clipped gradients and noise.

    `loss(params, batch)` is what the plan's `clipped_grad` takes, and `data` all your records: an
    array with a row for each, or a tree of such arrays. A run begins with `params`, and an
    `optimizer` of optax moves them after every step; without one they stay. Every canary has a
    place beside your records, which is padding if it is out (the library's relation
    REPLACE_SPECIAL). The claim is the curve of the plan's event, unless you pass another.

    A canary's gradient is one coordinate of its own. `observe="weights"` scores by the final weight
    there, of plain SGD whatever your optimizer is. `observe="steps"` scores by the noisy gradients
    of all steps, with the log-likelihood ratio (`banded_score`). A function of yours gets these
    gradients, a row for each step and a column for each canary; a canary in a batch adds 1.

    A plan of DP-SGD says all that scores need. For BandMF and other correlated noise pass the
    `strategy`: the coefficients that the config took, or the whole matrix. Without it the noise of
    a final weight is unknown, and steps have no score.

    >>> import warnings, jax.numpy as jnp
    >>> warnings.simplefilter("ignore")  # jax-privacy calls a function that optax renamed
    >>> from dpaudit.training import canaries
    >>> from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig
    >>> config = BandMFExecutionPlanConfig(
    ...     iterations=20,
    ...     strategy=[1.0],  # one band: DP-SGD
    ...     epsilon=None,
    ...     delta=None,
    ...     noise_multiplier=1.0,
    ...     sampling_prob=0.5,
    ... )
    >>> def loss(params, batch):
    ...     return jnp.mean((batch - params) ** 2)
    >>> plan = canaries(500, rng=7)
    >>> training = of_jax_privacy(
    ...     config.plan, loss, jnp.zeros(2), data=jnp.ones((100, 2)), canaries=plan
    ... )
    >>> print(training)
    DPExecutionPlan: privacy profile 'SelfComposedDpEvent';
    add or remove one canary of 500 (canary head, final weights)
    >>> scores = training.run(plan.bits, np.random.default_rng(1))
    >>> round(float(scores[~plan.bits].std()), 1), round(float(scores[plan.bits].mean()), 1)
    (1.1, 2.2)
    """
    check_jax_privacy_plan(plan)
    if observe not in ("weights", "steps") and not callable(observe):
        raise InvalidMechanism(
            f"observe must be 'weights', 'steps' or a function, got {observe!r}."
        )
    jax = needed("jax", "jax-privacy")
    sizes = {len(column) for column in jax.tree.leaves(data)}
    if len(sizes) != 1 or 0 in sizes:
        raise InvalidMechanism(
            f"data must hold a row for each record, at least one, got lengths {sorted(sizes)}."
        )
    places = sizes.pop() + canaries.count
    head = _Head(observe=observe, **_known(plan, plan.clipped_grad(loss), strategy))
    if observe == "steps" and not head.likely:
        raise InvalidMechanism(
            "this plan does not say how its steps are distributed. Pass its strategy, or observe "
            "'weights' or a function of yours."
        )
    if claim is None:
        _check_places(plan, places)
        claim = jax_privacy_claim(plan)
    return Training(
        name="DPExecutionPlan",
        claim=claim,
        canaries=canaries,
        run=_Run(
            batches=plan.batch_selection_strategy,
            noisy=_compiled(plan, loss, params, optimizer, canaries.count),
            rows=_rows(data, canaries.count),
            count=canaries.count,
            head=head,
        ),
        what=f"canary head, {'final weights' if observe == 'weights' else 'noisy gradients'}",
        noise=head.noise,
        assume=_assumed(plan.batch_selection_strategy),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """Scores of the noisy gradients of one run, in units of what one canary may add.

    `sigma` is the noise before it is correlated, if it is known; the noise of the steps is then
    that of the inverse of `strategy`. `cycle` and `rate` say how the plan samples.
    """

    observe: Observe
    strategy: Floats | None
    sigma: float | None
    cycle: int | None
    rate: float | None

    @property
    def likely(self) -> bool:
        """Whether the steps have a likelihood."""
        return bool(self.sigma) and self.cycle is not None and self.rate is not None

    @property
    def noise(self) -> float | None:
        """The standard deviation of the score of a canary that is out, if it is known."""
        return 1.0 if self.observe == "weights" and self.sigma else None

    def __call__(self, gradients: Floats) -> Floats:
        if callable(self.observe):
            return self.observe(gradients)
        if self.observe == "weights":  # plain SGD subtracts them: the score is minus the weight
            return np.asarray(gradients.sum(axis=0) / self._final())
        settings: Any = {"cycle": self.cycle, "rate": self.rate, "sigma": self.sigma}
        return banded_score(gradients.T, self.strategy, **settings)

    def _final(self) -> float:
        """The standard deviation of the sum of the noise of all steps, or 1."""
        if not self.sigma or self.strategy is None:
            return 1.0
        summed = np.linalg.solve(self.strategy.T, np.ones(len(self.strategy)))
        return self.sigma * float(np.linalg.norm(summed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One training from the parameters of the beginning, compiled as a whole."""

    batches: Any
    noisy: Callable[..., Any]
    rows: Any
    count: int
    head: _Head

    def __call__(self, bits: Labels, rng: np.random.Generator) -> Floats:
        places = len(self.rows["canary"])
        absent = np.zeros(places, dtype=np.bool_)
        absent[places - self.count :] = ~bits
        chosen = list(self.batches.batch_iterator(places, rng=rng))
        widest = max(1, *map(len, chosen))
        indices = jax_privacy_indices([chosen], -(-widest // _WIDTH) * _WIDTH)[0]
        seed = rng.integers(2**32, size=2, dtype=np.uint32)
        gradients = np.asarray(self.noisy(self.rows, absent, indices, seed), dtype=np.float64)
        return finite_scores(self.head(gradients), self.count)


def _rows(data: Any, count: int) -> Any:
    """The records and the canaries, which look like the first record, with their numbers."""
    jax = needed("jax", "jax-privacy")

    def longer(column: Any) -> Any:
        column = np.asarray(column)
        return np.concatenate([column, np.repeat(column[:1], count, axis=0)])

    size = len(jax.tree.leaves(data)[0])
    numbers = np.concatenate([np.full(size, NOBODY), np.arange(count)])
    return {"records": jax.tree.map(longer, data), "canary": numbers.astype(np.int32)}


def _compiled(plan: Any, loss: Callable[..., Any], params: Any, optimizer: Any, count: int) -> Any:
    """A run with the head, which returns its noisy gradients of every step."""
    jax = needed("jax", "jax-privacy")
    numpy = jax.numpy
    bound = getattr(plan.clipped_grad(loss), "l2_norm_bound", 1.0)

    def led(both: Any, batch: Any) -> Any:
        """The loss of a record is the user's; that of a canary is its own weight, and large."""
        numbers = numpy.ravel(batch["canary"])
        own = numpy.where(numbers == NOBODY, 0.0, both["head"][numbers]).sum()
        theirs = loss(both["model"], batch["records"])
        return numpy.where((numbers == NOBODY).any(), theirs, 0.0) + SIZE * own

    start = {"model": params, "head": numpy.zeros(count, dtype=numpy.float32)}
    beside = None if optimizer is None else _beside(optimizer)
    return jax.jit(jax_privacy_run(plan, led, start, beside, lambda noisy: noisy["head"] / bound))


def _beside(optimizer: Any) -> Any:
    """The user's optimizer for the user's parameters, and plain SGD for the head."""
    transformation = needed("optax", "jax-privacy").GradientTransformation

    def update(noisy: Any, state: Any, both: Any) -> Any:
        moves, state = optimizer.update(noisy["model"], state, both["model"])
        return {"model": moves, "head": -noisy["head"]}, state

    return transformation(lambda both: optimizer.init(both["model"]), update)


def _known(plan: Any, gradient: Any, strategy: Any) -> dict[str, Any]:
    """What plan and strategy say about noise and sampling; None for what they leave open."""
    batches = plan.batch_selection_strategy
    cycle, steps = getattr(batches, "cycle_length", None), getattr(batches, "iterations", None)
    rate = getattr(batches, "sampling_prob", 1.0)
    known: dict[str, Any] = {"cycle": cycle, "rate": rate if rate else None}
    multiplier, rounds = _multiplier(plan.dp_event)
    if strategy is None:
        matrix = np.eye(steps) if cycle == 1 and steps and steps == rounds else None
    else:
        matrix = _matrix(strategy, steps)
    if matrix is None or multiplier is None or not hasattr(gradient, "l2_norm_bound"):
        return {**known, "strategy": matrix, "sigma": None}
    taken = np.eye(len(matrix))  # a participation in each row
    if rounds is None:  # the event is that of the whole run, in which a group has all its steps
        taken = np.array([taken[first :: cycle or 1].sum(axis=0) for first in range(cycle or 1)])
    sensitivity = np.linalg.norm(taken @ matrix.T, axis=1).max()
    return {**known, "strategy": matrix, "sigma": float(multiplier * sensitivity)}


def _multiplier(event: Any) -> tuple[float | None, int | None]:
    """The noise multiplier of an event, and of how many rounds; None for one of the whole run."""
    rounds = getattr(event, "count", None)
    while hasattr(event, "event"):
        event = event.event
    return getattr(event, "noise_multiplier", None), rounds


def _matrix(strategy: Any, steps: int | None) -> Floats:
    """The strategy as a matrix; coefficients are those of its first column."""
    found = np.asarray(strategy, dtype=np.float64)
    size = len(found) if steps is None else steps
    if found.ndim == 1 and 0 < len(found) <= size:
        matrix = np.zeros((size, size))
        for place, coefficient in enumerate(found):
            matrix += coefficient * np.eye(size, k=-place)
        return matrix
    if found.shape != (size, size):
        raise InvalidMechanism(
            f"strategy must be at most {size} coefficients, or a matrix of {size} rows and "
            f"columns, got an array of shape {found.shape}."
        )
    return found


def _check_places(plan: Any, places: int) -> None:
    """Raise InvalidMechanism where the event counts other records than there will be."""
    event, cycle = plan.dp_event, getattr(plan.batch_selection_strategy, "cycle_length", 1)
    while hasattr(event, "event"):
        event = event.event
    counted = getattr(event, "dataset_size", None)
    if counted is not None and counted != places // cycle:
        raise InvalidMechanism(
            f"the plan counts {counted} records for each of its {cycle} groups, and there are "
            f"{places} records and canaries. Make it for num_examples={places}."
        )


def _assumed(batches: Any) -> Null:
    """Each canary has its own coordinate and noise, and with some samplers its own batches."""
    sampling = needed("jax_privacy.batch_selection", "jax-privacy")
    alone = isinstance(batches, sampling.BallsInBinsSampling)
    if isinstance(batches, sampling.CyclicPoissonSampling):
        apart = batches.partition_type is sampling.PartitionType.INDEPENDENT
        alone = batches.truncated_batch_size is None and (apart or batches.cycle_length == 1)
    return Null.INDEPENDENT_CANARIES if alone else Null.ANY_MECHANISM
