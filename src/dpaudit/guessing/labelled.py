"""Outputs in two parts: one to choose an event on, one to certify it on.

The event must not depend on the outputs that certify it, and neither may the table it is written
in. So the outputs to learn from are encoded first, and those held out are read with the columns and
words known by then: a word met for the first time among them is only "a new word", whichever it is.
(Encoded in one go, the words of one side would have the lower codes, which tells the sides apart
although nothing in the outputs does.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Labels
from dpaudit.outputs import NONE, Encoder, Outputs, Table, checked, joined

Samples: TypeAlias = npt.NDArray[Any] | Sequence[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Outputs of both sides in random order; a label is true for the data's own."""

    table: Table
    labels: Labels

    def take(self, index: npt.NDArray[np.intp] | slice) -> Labelled:
        """Give some of the rows."""
        return Labelled(self.table.take(index), self.labels[index])

    @property
    def sides(self) -> tuple[Table, Table]:
        """The data's rows and the neighbour's, each in the order they are in."""
        return self.table.take(self.labels), self.table.take(~self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How much of a sample is learned from: a share of it, and at most so many outputs a side.

    >>> Share(training=0.4, most=1000).held_out(100), Share(training=0.4, most=10).held_out(100)
    (60, 90)
    """

    training: float
    most: int

    def held_out(self, draws: int) -> int:
        """How many of the outputs of one side are left to certify with."""
        return draws - self._learned(draws)

    def part(
        self, outputs: Samples, neighbour_outputs: Samples, rng: np.random.Generator
    ) -> tuple[Labelled, Labelled]:
        """Part the outputs of both sides at random: those to learn from, and those held out.

        >>> share = Share(training=0.5, most=1000)
        >>> learn, held_out = share.part(["a", "b"] * 50, ["c"] * 10, np.random.default_rng(0))
        >>> len(learn.table), int(held_out.labels.sum()), int((~held_out.labels).sum())
        (55, 50, 5)
        """
        first, second = sample(outputs, "outputs"), sample(neighbour_outputs, "neighbour_outputs")
        draws = len(first), len(second)
        pool = _pooled(first, second)
        orders = rng.permutation(draws[0]), draws[0] + rng.permutation(draws[1])
        learned, held = [], []
        for order in orders:
            cut = self._learned(len(order))
            learned.append(order[:cut])
            held.append(order[cut:])
        learned_rows, held_rows = rng.permutation(np.concatenate(learned)), np.concatenate(held)
        encoder = Encoder()
        known = encoder.encode(_chosen(pool, learned_rows))
        held_out = as_known(encoder.encode(_chosen(pool, held_rows)), known)
        return (
            Labelled(known, learned_rows < draws[0]),
            Labelled(held_out, held_rows < draws[0]),
        )

    def _learned(self, draws: int) -> int:
        return min(max(1, int(draws * self.training)), self.most)


def sample(outputs: Samples, name: str) -> Outputs:
    """Check one side's outputs: at least two, so that one is learned from and one is held out."""
    if not hasattr(outputs, "__len__"):
        raise TypeError(f"{name} must be an array or a list, got {type(outputs).__name__}.")
    if len(outputs) < 2:
        raise ValueError(
            f"{name} must hold at least 2 outputs, one to learn from and one to test, "
            f"got {len(outputs)}."
        )
    return checked(outputs, len(outputs), name)


def _pooled(first: Outputs, second: Outputs) -> Outputs:
    """Both sides below each other; a single column is a plain array."""
    sides = [first, second]
    if {one.shape[1:] for one in sides if isinstance(one, np.ndarray)} == {(), (1,)}:
        sides = [np.reshape(one, len(one)) for one in sides]
    return joined(sides)


def _chosen(pool: Outputs, index: npt.NDArray[np.intp]) -> Outputs:
    return pool[index] if isinstance(pool, np.ndarray) else [pool[i] for i in index.tolist()]


def as_known(table: Table, known: Table) -> Table:
    """Read a table as if only the columns and words of another were known."""
    return table.as_known(np.maximum(known.codes().max(axis=0, initial=-1), NONE))
