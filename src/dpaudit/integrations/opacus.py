"""Opacus: a private training, with the claim of the engine's own accountant.

The training runs on the user's objects and restores them afterwards; it spends none of the engine's
budget. It draws from the audit's `rng`, unless the engine is in secure mode.
"""

import copy
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.claims import Profile, profiles
from dpaudit.domains import Domain
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations.building import check_parts, needed
from dpaudit.mechanism import Mechanism, Subject, name_of, name_with_parameters, shown_coins
from dpaudit.neighbours import add_or_remove_one
from dpaudit.outputs import short

# The deltas at which the accountant is asked for its epsilon, until that is 0; chords join them.
_SMALL = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.02, 0.05)
DELTAS = (*_SMALL, 0.1, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def from_opacus(
    train: Callable[[Any, Any, Any], object],
    *,
    engine: Any,
    module: Any,
    optimizer: Any,
    data_loader: Any,
    records: Domain,
    max_records: int = 10,
    steps: int | None = None,
) -> Subject:
    """Make a subject of a training: what `engine.make_private` returned, and a loop over it.

    `train(module, optimizer, batches)` is your own loop, over a loader with the records of an audit
    and the sampling rate, collation and number of batches of yours (unless you pass `steps`). Every
    run begins with the weights that `module` has now. The output is what `train` returns, or, if
    that is None, the trainable parameters and buffers of the module. `records` describes the parts
    of an item of your dataset, in its order, such as
    `dpaudit.records(x=dpaudit.vectors(2, -1, 1), y=dpaudit.categories(0, 1))`.

    The claim is the curve of the engine's accountant after such a run, when a record is added or
    removed. Sampling rate and expected batch size stay yours: Opacus derives both from the size of
    the dataset, so that size counts as known.

    >>> import warnings, torch, dpaudit
    >>> from opacus import PrivacyEngine
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> warnings.simplefilter("ignore")  # Opacus warns that its generator is not secure
    >>> line, data = torch.nn.Linear(1, 1), TensorDataset(torch.zeros(4, 1), torch.zeros(4, 1))
    >>> engine = PrivacyEngine()
    >>> module, optimizer, loader = engine.make_private(
    ...     module=line,
    ...     optimizer=torch.optim.SGD(line.parameters(), lr=0.1),
    ...     data_loader=DataLoader(data, batch_size=4),
    ...     noise_multiplier=1.0,
    ...     max_grad_norm=1.0,
    ... )
    >>> def train(module, optimizer, batches):
    ...     for x, y in batches:
    ...         optimizer.zero_grad()
    ...         torch.nn.functional.mse_loss(module(x), y).backward()
    ...         optimizer.step()
    >>> objects = dict(engine=engine, module=module, optimizer=optimizer, data_loader=loader)
    >>> records = dpaudit.records(x=dpaudit.floats(-1, 1), y=dpaudit.floats(-1, 1))
    >>> subject = dpaudit.integrations.from_opacus(train, **objects, records=records)
    >>> print(subject.claim, round(subject.claim.delta(1.0), 2))
    privacy profile 'PRVAccountant, 1 step' 0.14
    """
    _check(optimizer, data_loader, max_records, steps)
    run = _Training(
        train=train, module=module, optimizer=optimizer, data_loader=data_loader, steps=steps
    )
    return Subject(
        mechanism=Mechanism(name=name_with_parameters(train), function=run),
        claim=claim_of(run.accounted(engine.accountant)),
        neighbours=add_or_remove_one(records, min_records=1, max_records=max_records),
    )


def opacus_claim(
    train: Callable[[Any, Any, Any], object],
    *,
    engine: Any,
    module: Any,
    optimizer: Any,
    data_loader: Any,
    steps: int | None = None,
) -> Profile:
    """The curve of the engine's accountant after one run of the loop; its budget stays unspent."""
    run = _Training(
        train=train, module=module, optimizer=optimizer, data_loader=data_loader, steps=steps
    )
    return claim_of(run.accounted(engine.accountant))


def claim_of(accountant: Any) -> Profile:
    """The curve of an accountant: what it says at some deltas, and the chords between."""
    asked: list[tuple[float, float]] = []
    for delta in DELTAS:
        epsilon = _epsilon(accountant, delta)
        if np.isfinite(epsilon):
            asked.append((epsilon, delta))
        if epsilon == 0.0:
            break
    if not asked:
        raise InvalidMechanism(
            f"{type(accountant).__name__} gives no finite epsilon for {accountant.history}, so "
            "there is no claim to audit. Raise the noise_multiplier."
        )
    least = min(profiles.approx_delta(*point, 0.0) for point in asked)
    points = ((0.0, least), *((level, delta) for level, delta in reversed(asked) if level > 0.0))
    taken = sum(steps for _, _, steps in accountant.history)
    name = f"{type(accountant).__name__}, {taken} step{'s' if taken != 1 else ''}"
    return Profile(profiles.Chords(points), name)


def _epsilon(accountant: Any, delta: float) -> float:
    """The accountant's epsilon; infinite where it has none, as for a delta beyond its own at 0."""
    try:
        with warnings.catch_warnings(action="ignore"):  # log(0) at a rate of 1, orders at the ends
            return max(0.0, float(accountant.get_epsilon(delta)))
    except (ValueError, RuntimeError):
        return np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Training:
    """Runs of the loop from the same weights; the objects are restored after each."""

    train: Callable[[Any, Any, Any], object]
    module: Any
    optimizer: Any
    data_loader: Any
    steps: int | None

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> list[Any]:
        example = self.data_loader.dataset[0]
        batches = self._batches([opacus_item(record, example) for record in data])
        with opacus_seeded(self.optimizer, int(shown_coins(rng).integers(2**63))):
            return [self._once(batches) for _ in range(size)]

    def accounted(self, accountant: Any) -> Any:
        """A fresh accountant of the same kind, after one run on one of the user's records."""
        with warnings.catch_warnings(action="ignore"):  # the engine's accountant has warned already
            fresh = type(accountant)()
        hook = fresh.get_optimizer_hook_fn(sample_rate=1 / len(self.data_loader))
        with opacus_seeded(self.optimizer, 0):
            self._once(self._batches([self.data_loader.dataset[0]]), hook)
        if not fresh.history:
            raise InvalidMechanism(
                f"{name_of(self.train)} took no step of the optimizer it was given, so there is "
                "nothing to account for. It must call optimizer.step() for each of its batches."
            )
        return fresh

    def _once(self, batches: Any, hook: Callable[[Any], None] | None = None) -> Any:
        with opacus_undone(self.module, self.optimizer):
            self.optimizer.step_hook = hook
            released = self.train(self.module, self.optimizer, batches)
            return _plain(_learned(self.module) if released is None else released)

    def _batches(self, items: list[Any]) -> Any:
        """A loader like the user's over other items; empty batches have the form of theirs."""
        loaders, theirs = needed("opacus.data_loader", "opacus"), self.data_loader
        collate = getattr(theirs.collate_fn, "wrapped_collator_fn", theirs.collate_fn)
        if hasattr(theirs, "sample_rate"):  # Poisson sampling
            loader = loaders.DPDataLoader(items, sample_rate=theirs.sample_rate, collate_fn=collate)
            loader.batch_sampler.steps = len(theirs) if self.steps is None else self.steps
            loader.collate_fn.first_batch = collate([theirs.dataset[0]])
            return loader
        filled = loaders.wrap_collate_with_empty(collate_fn=collate)
        filled.first_batch = collate([theirs.dataset[0]])
        return needed("torch.utils.data", "opacus").DataLoader(
            [*items, *[None] * (len(theirs.dataset) - len(items))],  # the size is known
            batch_size=theirs.batch_size,
            shuffle=type(theirs.sampler).__name__ == "RandomSampler",
            drop_last=theirs.drop_last,
            collate_fn=lambda batch: filled([item for item in batch if item is not None]),
        )


@contextmanager
def opacus_seeded(optimizer: Any, seed: int) -> Iterator[None]:
    """Draw everything from this seed; all generators, also the global ones, keep their states.

    In secure mode the noise comes from the operating system and is left alone.
    """
    torch, theirs = needed("torch", "opacus"), optimizer.generator
    state, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 -- their loop may use it
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        if theirs is not None and not optimizer.secure_mode:
            optimizer.generator = torch.Generator(theirs.device).manual_seed(seed)
        try:
            yield
        finally:
            optimizer.generator = theirs
            random.setstate(state)
            np.random.set_state(legacy)  # noqa: NPY002


@contextmanager
def opacus_undone(module: Any, optimizer: Any) -> Iterator[None]:
    """Restore weights, states, settings and modes afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    weights = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    states = copy.deepcopy(optimizer.original_optimizer.state_dict())
    settings = dict(vars(optimizer))
    optimizer.zero_grad(set_to_none=True)
    try:
        yield
    finally:
        optimizer.zero_grad(set_to_none=True)
        vars(optimizer).update(settings)
        module.load_state_dict(weights)
        for part, mode in modes:
            part.training = mode
        optimizer.original_optimizer.load_state_dict(states)


def _learned(module: Any) -> Any:
    """The trainable parameters and buffers, as one vector."""
    torch = needed("torch", "opacus")
    kept = [each for each in module.parameters() if each.requires_grad]
    kept += [each for each in module.buffers() if each.is_floating_point()]
    return torch.cat([each.detach().double().flatten() for each in kept])


def _plain(released: Any) -> Any:
    """Tensors copied into arrays: parameters are restored after the run."""
    if isinstance(released, (list, tuple)):
        return [_plain(part) for part in released]
    if isinstance(released, Mapping):
        return {name: _plain(part) for name, part in released.items()}
    return released.detach().cpu().numpy().copy() if hasattr(released, "detach") else released


def opacus_item(record: Any, example: Any) -> Any:
    """A record in the form of an item of the user's dataset: a mapping, a tuple or one value."""
    if isinstance(example, Mapping):
        return {name: _like(record[name], part) for name, part in example.items()}
    if not isinstance(example, (tuple, list)):
        return _like(record, example)
    if isinstance(record, Mapping):
        values = list(record.values())
    else:
        values = list(record) if isinstance(record, tuple) else [record]
    if len(values) != len(example):
        raise InvalidMechanism(
            f"an item of the loader's dataset has {len(example)} parts, but a record has "
            f"{len(values)}: {short(record)}. Name them in their order, such as "
            "records=dpaudit.records(x=dpaudit.vectors(2, -1, 1), y=dpaudit.categories(0, 1))."
        )
    return tuple(map(_like, values, example))


def _like(value: Any, part: Any) -> Any:
    """A value in the type and shape of the user's."""
    if isinstance(part, np.ndarray):
        return np.asarray(value, dtype=part.dtype).reshape(part.shape)
    if not hasattr(part, "detach"):
        return type(part)(value)
    torch = needed("torch", "opacus")
    return torch.as_tensor(np.asarray(value), dtype=part.dtype).reshape(part.shape)


def _check(optimizer: Any, data_loader: Any, max_records: int, steps: int | None) -> None:
    needs = "from_opacus needs the optimizer that engine.make_private returned"
    check_parts(optimizer, "attach_step_hook", needs=needs)
    if steps is not None and steps < 1:
        raise InvalidMechanism(f"steps must be at least 1, got {steps!r}.")
    poisson, size = hasattr(data_loader, "sample_rate"), len(data_loader.dataset)
    if not poisson and (steps is not None or max_records > size):
        raise InvalidMechanism(
            "a loader without Poisson sampling goes through its dataset once, and is accounted for "
            f"by its size: leave out steps, and pass a max_records of at most {size}."
        )
