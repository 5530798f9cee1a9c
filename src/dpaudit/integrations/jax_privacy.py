"""jax-privacy: the steps of an execution plan, with the claim of the plan's own event.

Runs draw from the audit's `rng`; a seed that the plan was given is not used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.claims import Profile
from dpaudit.domains import Domain
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations.building import check_parts, needed
from dpaudit.integrations.dp_accounting import from_dp_accounting
from dpaudit.mechanism import Mechanism, Subject
from dpaudit.neighbours import add_or_remove_one

RUNS_PER_CALL = 64  # compiled as one; the last call is filled up
_PARTS = ("clipped_grad", "batch_selection_strategy", "noise_addition_transform", "dp_event")


def from_jax_privacy(
    plan: Any,
    loss: Callable[..., Any],
    params: Any,
    *,
    records: Domain,
    num_examples: int = 10,
    optimizer: Any = None,
) -> Subject:
    """Make a subject of a `DPExecutionPlan`: its batches, clipped gradients and noise for a loss.

    `loss(params, batch)` is what the plan's `clipped_grad` takes; a batch is an array of records,
    or a dict of arrays if `records` are `dpaudit.records(...)`. Each run begins with `params`, and
    an `optimizer` of optax moves them after every step; without one they stay. The output is every
    noisy gradient of the run, from which all else is computed.

    The claim is the whole curve of the plan's event. The dataset has `num_examples` places, a
    number that counts as known; neighbours use one place more or less, and the others are padding
    (the library's relation REPLACE_SPECIAL). The plan may come from a config, or be a
    `DPExecutionPlan` put together from your own parts.

    >>> import dpaudit
    >>> import jax.numpy as jnp
    >>> from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig
    >>> config = BandMFExecutionPlanConfig(
    ...     iterations=1, strategy=[1.0], epsilon=None, delta=None, noise_multiplier=1.0
    ... )
    >>> def loss(params, batch):
    ...     return jnp.mean((batch - params) ** 2)
    >>> subject = dpaudit.integrations.from_jax_privacy(
    ...     config.plan, loss, jnp.zeros(2), records=dpaudit.vectors(2, -1, 1), num_examples=4
    ... )
    >>> print(subject.claim, round(subject.claim.delta(1.0), 3))
    privacy profile 'SelfComposedDpEvent' 0.127
    """
    check_jax_privacy_plan(plan)
    if num_examples < 1:
        raise InvalidMechanism(f"num_examples must be at least 1, got {num_examples!r}.")
    run = _Runs(
        batches=plan.batch_selection_strategy,
        noisy=_compiled(plan, loss, params, optimizer),
        example=next(iter(records.dataset([records.edges()[0]]))),
        places=num_examples,
    )
    return Subject(
        mechanism=Mechanism(name="DPExecutionPlan", function=run),
        claim=jax_privacy_claim(plan),
        neighbours=add_or_remove_one(records, max_records=num_examples),
    )


def check_jax_privacy_plan(plan: Any) -> None:
    """Raise InvalidMechanism unless this is a `DPExecutionPlan`, or has the parts of one."""
    hint = " A config has one: config.plan."
    check_parts(plan, *_PARTS, needs="this needs a DPExecutionPlan", hint=hint)


def jax_privacy_claim(plan: Any) -> Profile:
    """The curve of the plan's event, for datasets of which one has an empty place."""
    event = plan.dp_event
    accounting = needed("dp_accounting", "jax-privacy")
    relation = accounting.NeighboringRelation.REPLACE_SPECIAL
    accountant = needed("dp_accounting.pld", "jax-privacy").PLDAccountant(relation)
    accountant.compose(event)
    return from_dp_accounting(accountant, name=type(event).__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """The noisy gradients of every step of `size` runs, many of them computed at once."""

    batches: Any
    noisy: Callable[..., Any]
    example: Any
    places: int

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> NDArray[Any]:
        rows, absent = self._filled(list(data))
        chosen = [list(self.batches.batch_iterator(self.places, rng=rng)) for _ in range(size)]
        indices = jax_privacy_indices(chosen, self.places)
        seeds = rng.integers(2**32, size=(size, 2), dtype=np.uint32)
        found = []
        for start in range(0, size, RUNS_PER_CALL):  # the last call repeats the first runs
            part = np.arange(start, start + RUNS_PER_CALL) % size
            found.append(np.asarray(self.noisy(rows, absent, indices[part], seeds[part])))
        return np.concatenate(found)[:size]

    def _filled(self, rows: list[Any]) -> tuple[Any, NDArray[np.bool_]]:
        """The records as arrays, and which places are empty."""
        full = [*rows, *[self.example] * (self.places - len(rows))]
        absent = np.arange(self.places) >= len(rows)
        if isinstance(self.example, Mapping):
            return {name: np.array([row[name] for row in full]) for name in self.example}, absent
        return np.array(full), absent


def jax_privacy_indices(chosen: list[list[Any]], least: int) -> NDArray[np.int64]:
    """The indices of every batch of every run, padded with -1 to one length, `least` or more.

    >>> jax_privacy_indices([[[1], []]], 2).tolist()
    [[[1, -1], [-1, -1]]]
    """
    width = max(least, *(len(batch) for run in chosen for batch in run))
    filled = np.full((len(chosen), len(chosen[0]), width), -1, np.int64)
    for run, batches in enumerate(chosen):
        for step, batch in enumerate(batches):
            filled[run, step, : len(batch)] = batch
    return filled


def _compiled(plan: Any, loss: Callable[..., Any], params: Any, optimizer: Any) -> Any:
    """Many runs as one call: they share rows and empty places, but not batches and seeds."""
    jax = needed("jax", "jax-privacy")
    flat = needed("jax.flatten_util", "jax-privacy").ravel_pytree
    run = jax_privacy_run(plan, loss, params, optimizer, lambda noisy: flat(noisy)[0])
    return jax.jit(jax.vmap(run, in_axes=(None, None, 0, 0)))


def jax_privacy_run(
    plan: Any,
    loss: Callable[..., Any],
    params: Any,
    optimizer: Any,
    observed: Callable[[Any], Any],
) -> Callable[..., Any]:
    """One run as a function of rows, empty places, the indices of every batch and two seeds.

    It returns what `observed` keeps of the noisy gradient of each step.
    """
    jax, optax = needed("jax", "jax-privacy"), needed("optax", "jax-privacy")
    gradient, privatizer = plan.clipped_grad(loss), plan.noise_addition_transform

    def is_key(leaf: Any) -> bool:
        return bool(jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key))

    if not any(map(is_key, jax.tree.leaves(privatizer.init(params)))):
        raise InvalidMechanism(
            "the plan's noise keeps its key to itself (a dense noising matrix does), so it would "
            "repeat in every run of an audit. Use a StreamingMatrix, whose state holds the key."
        )

    def run(rows: Any, absent: Any, indices: Any, seed: Any) -> Any:
        def step(state: Any, batch: Any) -> Any:
            params, noise, moved = state
            picked = jax.tree.map(lambda column: column[batch], rows)
            summed = gradient(params, picked, is_padding_example=(batch < 0) | absent[batch])
            noisy, noise = privatizer.update(summed, noise)
            if optimizer is not None:
                moves, moved = optimizer.update(noisy, moved, params)
                params = optax.apply_updates(params, moves)
            return (params, noise, moved), observed(noisy)

        key = jax.random.fold_in(jax.random.key(seed[0]), seed[1])
        noise = jax.tree.map(lambda leaf: key if is_key(leaf) else leaf, privatizer.init(params))
        start = params, noise, None if optimizer is None else optimizer.init(params)
        return jax.lax.scan(step, start, indices)[1]

    return run
