"""The batches of a training with canaries: the user's records and the canaries that are in.

A loader samples as the user's does. It remembers which records of the batch it gave last were
canaries, so a batch itself looks like any other to the loop.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpaudit.arrays import Counts
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import needed

NOBODY = -1  # the number of a record that is no canary


@dataclass(slots=True, kw_only=True)
class Batches:
    """What the loader of one run gave last.

    `ids` holds the canary's number, or -1, for each record of that batch; None before the first.
    `rate` is the chance of a record to be in a batch.
    """

    count: int
    rate: float
    ids: list[int] | None = field(default=None)


def loader_with(
    theirs: Any, records: Sequence[Any], included: Counts, batches: Batches, steps: int | None
) -> Any:
    """A loader over the user's dataset and these canaries, private as the user's is.

    With Poisson sampling every record, canary or not, is in a batch with the user's rate. Without
    it every record has one place in an epoch, of as many batches as the user's; the places of
    canaries that are out stay empty.
    """
    beside = _Beside(theirs.dataset, records, included, places=not is_poisson(theirs))
    if is_poisson(theirs):
        return _poisson(theirs, beside, batches, steps)
    loading, building = needed("torch.utils.data", "opacus"), needed("opacus.data_loader", "opacus")
    filled = building.wrap_collate_with_empty(collate_fn=theirs.collate_fn)
    filled.first_batch = theirs.collate_fn([theirs.dataset[0]])
    shuffled = type(theirs.sampler).__name__ == "RandomSampler"
    return loading.DataLoader(
        beside,
        batch_sampler=_Parts(len(beside), len(theirs), shuffled),
        collate_fn=_Collated(filled, batches),
    )


def is_poisson(loader: Any) -> bool:
    """Whether the loader is one of Opacus that samples each record by itself."""
    return hasattr(loader, "sample_rate")


def check_loader(loader: Any, steps: int | None) -> None:
    """Raise InvalidMechanism for a loader that cannot be imitated."""
    if not hasattr(loader.dataset, "__getitem__"):
        raise InvalidMechanism("the dataset must be one of items with numbers, not iterable only.")
    if getattr(loader, "distributed", False):
        raise InvalidMechanism("a loader for several processes cannot be audited: use one process.")
    if steps is not None and steps < 1:
        raise InvalidMechanism(f"steps must be at least 1, got {steps!r}.")
    if is_poisson(loader):
        return
    sampler = type(loader.sampler).__name__
    if steps is not None or sampler not in ("RandomSampler", "SequentialSampler"):
        raise InvalidMechanism(
            "a loader without Poisson sampling goes through its dataset once, in order or "
            f"shuffled: leave out steps, and custom samplers (got {sampler})."
        )


def _poisson(theirs: Any, beside: _Beside, batches: Batches, steps: int | None) -> Any:
    collate = theirs.collate_fn
    loader = needed("opacus.data_loader", "opacus").DPDataLoader(
        beside, sample_rate=theirs.sample_rate
    )
    loader.batch_sampler.steps = len(theirs) if steps is None else steps
    filled = copy.copy(collate)  # as the user's treats empty batches
    if hasattr(filled, "wrapped_collator_fn"):
        filled.first_batch = filled.wrapped_collator_fn([theirs.dataset[0]])
    loader.collate_fn = _Collated(filled, batches)
    return loader


class _Beside:
    """The user's dataset, and canaries beside it: pairs of a canary's number, or -1, and an item.

    With `places`, every canary has a place, and the places of those that are out hold None; the
    canaries are spread evenly over the order of the records.
    """

    def __init__(
        self, dataset: Any, records: Sequence[Any], included: Counts, *, places: bool
    ) -> None:
        self._dataset, self._records = dataset, records
        size, count = len(dataset), len(records)
        present = set(included.tolist())
        if not places:
            self._order = [(NOBODY, index) for index in range(size)]
            self._order += [(number, number) for number in sorted(present)]
            return
        keys = np.concatenate([(np.arange(each) + 0.5) / each for each in (size, count)])
        whole: list[tuple[int, int] | None] = [(NOBODY, index) for index in range(size)]
        whole += [(number, number) if number in present else None for number in range(count)]
        self._order = [whole[place] for place in np.argsort(keys, kind="stable")]

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, place: int) -> tuple[int, Any] | None:
        found = self._order[place]
        if found is None:
            return None
        number, index = found
        return number, self._dataset[index] if number == NOBODY else self._records[number]


class _Collated:
    """The user's collation; it tells `batches` which records are canaries."""

    def __init__(self, collate: Any, batches: Batches) -> None:
        self._collate, self._batches = collate, batches

    def __call__(self, pairs: list[tuple[int, Any] | None]) -> Any:
        present = [pair for pair in pairs if pair is not None]
        self._batches.ids = [number for number, _ in present]
        return self._collate([item for _, item in present])


class _Parts:
    """All places in a number of batches of nearly equal size; shuffled anew in each epoch."""

    def __init__(self, size: int, parts: int, shuffled: bool) -> None:
        self._size, self._parts, self._shuffled = size, parts, shuffled

    def __len__(self) -> int:
        return self._parts

    def __iter__(self) -> Iterator[list[int]]:
        torch = needed("torch", "opacus")
        order = torch.randperm(self._size).numpy() if self._shuffled else np.arange(self._size)
        for part in np.array_split(order, self._parts):
            yield part.tolist()
