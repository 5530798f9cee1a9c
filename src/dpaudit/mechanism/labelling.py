"""Labelled batches: outputs of both sides of a pair in random order, and where their seeds go."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpaudit.architecture import Source
from dpaudit.errors import HealthWarning
from dpaudit.outputs import Outputs, Raised, common_dtype, rows

_ENOUGH_TO_COMPARE = 20  # outputs of either side, before their forms are called unlike


class PairLike(Protocol):
    """Two datasets that differ by one record; `dpaudit.Pair` is one."""

    @property
    def data(self) -> Any: ...
    @property
    def neighbour(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledOutputs:
    """Outputs in the order of tossing, and which were drawn from `pair.data`."""

    outputs: Outputs
    labels: npt.NDArray[np.bool_]


def draw_labelled(
    mechanism: Source, pair: PairLike, size: int, seed: np.random.SeedSequence
) -> LabelledOutputs:
    """Toss `size` fair labels and draw for each: True from `data`, False from `neighbour`.

    The labels, the data's draws and the neighbour's draws each have their own child of `seed`,
    which stays as it was: the same seed gives the same batch, in whatever process.
    Sides that do not give arrays of one shape give a list, so that the difference is evidence.
    Which side is called first is tossed too.

    >>> from types import SimpleNamespace
    >>> from dpaudit.mechanism.calling import as_mechanism
    >>> mechanism = as_mechanism(lambda data, size, rng: data[0] + 0 * rng.normal(size=size))
    >>> pair = SimpleNamespace(data=[1.0], neighbour=[0.0])
    >>> batch = draw_labelled(mechanism, pair, 100, np.random.SeedSequence(3))
    >>> bool(np.all(batch.outputs == batch.labels))
    True
    """
    toss = _generator(seed, 0)
    labels = toss.integers(0, 2, size=size, dtype=np.bool_)
    hits = int(np.count_nonzero(labels))
    wanted = {1: (pair.data, hits), 2: (pair.neighbour, size - hits)}
    # Which side is called first is tossed too: a mechanism may count its calls.
    order = (1, 2) if toss.integers(2) else (2, 1)
    sides: dict[int, Outputs] = {}
    for side in order:
        data, draws = wanted[side]
        if draws > 0:
            sides[side] = mechanism.draw(data, draws, _generator(seed, side))
    if len(sides) == 1:
        return LabelledOutputs(outputs=next(iter(sides.values())), labels=labels)
    return LabelledOutputs(
        outputs=_interleaved(sides[1], sides[2], labels, mechanism.name), labels=labels
    )


def draw_paired(
    mechanism: Source, pair: PairLike, twins: int, seed: np.random.SeedSequence
) -> LabelledOutputs:
    """Draw so many outputs of each side from the same random numbers, in random order.

    The n-th output of one side is the twin of the n-th of the other. Each side alone is as it
    would be of its own numbers, but what the noise does to both alike cancels out between them: of
    how the sides differ, twins of many mechanisms show more than strangers (common random numbers:
    Glasserman and Yao 1992). They are dependent, so nothing may be certified with them.

    >>> from types import SimpleNamespace
    >>> from dpaudit.mechanism.calling import as_mechanism
    >>> mechanism = as_mechanism(lambda data, size, rng: data[0] + rng.integers(9, size=size))
    >>> pair = SimpleNamespace(data=[100], neighbour=[0])
    >>> batch = draw_paired(mechanism, pair, 3, np.random.SeedSequence(3))
    >>> (batch.outputs[batch.labels] - batch.outputs[~batch.labels]).tolist()
    [100, 100, 100]
    """
    labels = _generator(seed, 0).permutation(np.arange(2 * twins) < twins)
    data_side = mechanism.draw(pair.data, twins, _generator(seed, 1))
    neighbour_side = mechanism.draw(pair.neighbour, twins, _generator(seed, 1))
    outputs = _interleaved(data_side, neighbour_side, labels, mechanism.name)
    return LabelledOutputs(outputs=outputs, labels=labels)


def draw_side(mechanism: Source, data: Any, size: int, seed: np.random.SeedSequence) -> Outputs:
    """Give `size` outputs on one dataset; the same seed gives the same outputs.

    >>> from dpaudit.mechanism.calling import as_mechanism
    >>> draw_side(as_mechanism(lambda data, size: data * size), [7], 3, np.random.SeedSequence(0))
    array([7, 7, 7])
    """
    return mechanism.draw(data, size, np.random.default_rng(seed))


def _generator(seed: np.random.SeedSequence, child: int) -> np.random.Generator:
    """Make the generator of a child as `seed.spawn` would, without changing the seed."""
    key = (*seed.spawn_key, child)
    return np.random.default_rng(
        np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)
    )


def _interleaved(
    data_side: Outputs, neighbour_side: Outputs, labels: npt.NDArray[np.bool_], name: str
) -> Outputs:
    """Put the draws of both sides in the order of their labels."""
    if isinstance(data_side, np.ndarray) and isinstance(neighbour_side, np.ndarray):
        dtype = common_dtype([data_side, neighbour_side])
        if dtype is not None:
            outputs = np.empty((len(labels), *data_side.shape[1:]), dtype=dtype)
            outputs[labels] = data_side
            outputs[~labels] = neighbour_side
            return outputs
    _warn_if_unlike(data_side, neighbour_side, name)
    data_rows, neighbour_rows = iter(rows(data_side)), iter(rows(neighbour_side))
    return [next(data_rows if label else neighbour_rows) for label in labels.tolist()]


def _warn_if_unlike(data_side: Outputs, neighbour_side: Outputs, name: str) -> None:
    """Warn when the form of an output depends on the side: a leak, or a mistake.

    Of a few outputs it may be luck which forms come up, but for the shape of an array. Of errors
    among the outputs there is a warning already.
    """
    lists = (side for side in (data_side, neighbour_side) if isinstance(side, list))
    if any(type(output) is Raised for side in lists for output in side):
        return
    arrays = isinstance(data_side, np.ndarray) and isinstance(neighbour_side, np.ndarray)
    if not arrays and min(len(data_side), len(neighbour_side)) < _ENOUGH_TO_COMPARE:
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
