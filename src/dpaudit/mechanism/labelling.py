"""Draws of a pair: labels tossed by us, outputs in the order of their labels, seeds for each."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator, SeedSequence

from dpaudit.architecture import Source
from dpaudit.arrays import Labels
from dpaudit.errors import HealthWarning
from dpaudit.mechanism.calls import Call, Caller, CallsHere, Pending
from dpaudit.neighbours import Pair
from dpaudit.outputs import (
    MAX_COUNTED,
    CellReader,
    CountedOutputs,
    Outputs,
    Raised,
    common_dtype,
    rows,
)

# What each side (0: data) gave, counted; the outputs themselves where they are not one number each.
CountedBatch: TypeAlias = tuple[tuple[int, CountedOutputs | Outputs], ...]

_MIN_COMPARED_OUTPUTS = 20  # of either side, before their forms are called unlike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledOutputs:
    """Outputs in the order of tossing, and which were drawn from `pair.data`."""

    outputs: Outputs
    labels: Labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PendingBatch:
    """Labelled outputs that were asked for: a call on either side that has any draws."""

    name: str
    size: int
    labels: Labels  # none where draws are only counted and too many to be tossed one by one
    calls: tuple[tuple[int, Pending], ...]  # the side of each (0: data), in the order of calling
    reader: CellReader | None = None  # that counts the outputs where they are drawn

    def outputs(self) -> LabelledOutputs:
        """The outputs of both sides in the order of their labels."""
        sides: list[Outputs] = [[], []]
        for side, call in self.calls:
            sides[side] = call.outputs()
        return _batch(sides[0], sides[1], self.labels, self.name)

    def counted(self, reader: CellReader) -> CountedBatch:
        """What is told of the outputs of both sides."""
        return tuple((side, call.counted(reader)) for side, call in self.calls)

    def cancel(self) -> None:
        """Forget both calls."""
        for _, call in self.calls:
            call.cancel()


def ask_labelled(
    caller: Caller,
    pair: Pair,
    size: int,
    seed: SeedSequence,
    *,
    name: str,
    reader: CellReader | None = None,
) -> PendingBatch:
    """Toss `size` fair labels and ask for a draw for each: True from `data`, else `neighbour`.

    The labels, the data's draws and the neighbour's draws each have their own child of `seed`,
    which stays as it was: the same seed gives the same batch, in whatever process.
    """
    toss = _generator(seed, 0)
    if reader is not None and size > MAX_COUNTED:
        labels, hits = np.empty(0, dtype=np.bool_), int(toss.binomial(size, 0.5))
    else:
        labels = toss.integers(0, 2, size=size, dtype=np.bool_)
        hits = int(np.count_nonzero(labels))
    wanted = ((pair.data, hits), (pair.neighbour, size - hits))
    # Which side is called first is tossed too: a mechanism may count its calls.
    order = (0, 1) if toss.integers(2) else (1, 0)
    calls = [
        (side, caller.ask(Call(data=data, size=draws, seed=_child(seed, side + 1), reader=reader)))
        for side, (data, draws) in ((side, wanted[side]) for side in order)
        if draws > 0
    ]
    return PendingBatch(name=name, size=size, labels=labels, calls=tuple(calls), reader=reader)


def ask_paired(
    caller: Caller, pair: Pair, draws: int, seed: SeedSequence, *, name: str
) -> PendingBatch:
    """Ask for `draws` outputs of each side from the same random numbers, in random order.

    The n-th outputs of the two sides share their random numbers. Each side alone is distributed as
    ever, but the noise that does the same to both cancels out between them. So for many mechanisms
    these outputs show more of how the sides differ (common random numbers: Glasserman and Yao
    1992). They are dependent, so nothing may be certified with them.
    """
    labels = _generator(seed, 0).permutation(np.arange(2 * draws) < draws)
    calls = [
        (side, caller.ask(Call(data=data, size=draws, seed=_child(seed, 1))))
        for side, data in enumerate((pair.data, pair.neighbour))
    ]
    return PendingBatch(name=name, size=2 * draws, labels=labels, calls=tuple(calls))


def draw_labelled(mechanism: Source, pair: Pair, size: int, seed: SeedSequence) -> LabelledOutputs:
    """The outputs of `ask_labelled`, drawn here and now.

    Sides that do not give arrays of one shape give a list, so that the difference is evidence.

    >>> from dpaudit.mechanism import Mechanism
    >>> mechanism = Mechanism(name="tell", function=lambda data, size, rng: [data[0]] * size)
    >>> batch = draw_labelled(mechanism, Pair([1.0], [0.0]), 100, np.random.SeedSequence(3))
    >>> bool(np.all(batch.outputs == batch.labels))
    True
    """
    return ask_labelled(CallsHere(mechanism), pair, size, seed, name=mechanism.name).outputs()


def draw_paired(mechanism: Source, pair: Pair, draws: int, seed: SeedSequence) -> LabelledOutputs:
    """The outputs of `ask_paired`, drawn here and now.

    >>> steps = lambda data, size, rng: data[0] + rng.integers(9, size=size)
    >>> from dpaudit.mechanism import Mechanism
    >>> mechanism = Mechanism(name="steps", function=steps)
    >>> batch = draw_paired(mechanism, Pair([100], [0]), 3, np.random.SeedSequence(3))
    >>> (batch.outputs[batch.labels] - batch.outputs[~batch.labels]).tolist()
    [100, 100, 100]
    """
    return ask_paired(CallsHere(mechanism), pair, draws, seed, name=mechanism.name).outputs()


def _generator(seed: SeedSequence, child: int) -> Generator:
    return np.random.default_rng(_child(seed, child))


def _child(seed: SeedSequence, child: int) -> SeedSequence:
    """Make a child as `seed.spawn` would, without changing the seed."""
    key = (*seed.spawn_key, child)
    return SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)


def _batch(
    data_side: Outputs, neighbour_side: Outputs, labels: Labels, name: str
) -> LabelledOutputs:
    """Put the draws of both sides in the order of their labels."""
    if len(data_side) == 0 or len(neighbour_side) == 0:
        return LabelledOutputs(
            outputs=data_side if len(data_side) else neighbour_side, labels=labels
        )
    if isinstance(data_side, np.ndarray) and isinstance(neighbour_side, np.ndarray):
        dtype = common_dtype([data_side, neighbour_side])
        if dtype is not None:
            outputs = np.empty((len(labels), *data_side.shape[1:]), dtype=dtype)
            outputs[labels] = data_side
            outputs[~labels] = neighbour_side
            return LabelledOutputs(outputs=outputs, labels=labels)
    _warn_if_unlike(data_side, neighbour_side, name)
    data_rows, neighbour_rows = iter(rows(data_side)), iter(rows(neighbour_side))
    mixed = [next(data_rows if label else neighbour_rows) for label in labels.tolist()]
    return LabelledOutputs(outputs=mixed, labels=labels)


def _warn_if_unlike(data_side: Outputs, neighbour_side: Outputs, name: str) -> None:
    """Warn when the form of an output depends on the side: a leak, or a mistake.

    In a few outputs the forms may differ by chance, but not the shapes of arrays. Errors among
    the outputs have a warning of their own.
    """
    lists = [side for side in (data_side, neighbour_side) if isinstance(side, list)]
    if any(type(output) is Raised for side in lists for output in side):
        return
    if lists and min(len(data_side), len(neighbour_side)) < _MIN_COMPARED_OUTPUTS:
        return
    forms = []
    for side, other in ((data_side, neighbour_side), (neighbour_side, data_side)):
        if isinstance(side, np.ndarray):
            forms.append(f"numbers of shape {side.shape[1:]}" if side.ndim > 1 else "numbers")
        elif isinstance(other, np.ndarray) and not any(map(_is_numeric, side)):
            forms.append(" and ".join(sorted({type(output).__name__ for output in side})))
    if len(forms) == 2:
        warnings.warn(
            f"{name} gave {forms[0]} on data and {forms[1]} on its neighbour. "
            f"The form alone then tells the two apart: a leak, or a mistake in the mechanism.",
            HealthWarning,
            stacklevel=4,
        )


def _is_numeric(output: object) -> bool:
    """Tell a number, or a vector of them, from anything else."""
    if isinstance(output, Sequence) and not isinstance(output, str | bytes):
        return all(map(_is_numeric, output))
    return isinstance(output, int | float | np.number | np.ndarray)
