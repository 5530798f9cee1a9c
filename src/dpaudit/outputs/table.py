"""A table of outputs: numbers, and codes for what is not a number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats

MISSING, NAN, PLUS_INF, MINUS_INF, NONE = 0, 1, 2, 3, 4  # codes every column knows

Codes: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Outputs, one per row: `numbers` where the cell is a finite number, codes in `atoms` else.

    >>> from dpaudit.outputs.encoder import Encoder
    >>> table = Encoder().encode(np.array([1.5, np.nan]))
    >>> table.numbers.tolist(), table.codes().tolist()
    ([[1.5], [0.0]], [[-1], [1]])
    """

    numbers: Floats  # (rows, columns); 0.0 where the cell is an atom
    atoms: Codes | None  # (rows, columns); -1 where the cell is a number; None: no atoms at all

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> int:
        """How many cells a row has."""
        return int(self.numbers.shape[1])

    def narrow(self, columns: int) -> "Table":
        """The first columns only: the outputs as they looked before later fields were known."""
        if columns == self.columns:
            return self
        atoms = None if self.atoms is None else self.atoms[:, :columns]
        return Table(self.numbers[:, :columns], atoms)

    def as_known(self, known: Codes) -> "Table":
        """Read the outputs as they looked when `known` were the highest codes of all columns.

        A later column is left out, and any later word is only a new word, whichever it is.
        """
        table = self.narrow(len(known))
        if table.atoms is None:
            return table
        return Table(table.numbers, np.minimum(table.atoms, known + np.int32(1)))

    def take(self, index: Any) -> "Table":
        """Give the rows chosen by a mask, an array of positions or a slice."""
        return Table(self.numbers[index], None if self.atoms is None else self.atoms[index])

    def codes(self) -> Codes:
        """Give the atoms, made of -1s where there are none."""
        if self.atoms is None:
            return np.full(self.numbers.shape, -1, dtype=np.int32)
        return self.atoms


def stack(tables: Sequence[Table]) -> Table:
    """Put tables with the same columns below each other.

    >>> from dpaudit.outputs.encoder import Encoder
    >>> encoder = Encoder()
    >>> len(stack([encoder.encode(np.zeros(3)), encoder.encode(["a", None])]))
    5
    """
    if len({table.columns for table in tables}) != 1:
        counts = [table.columns for table in tables]
        raise ValueError(f"tables must have the same number of columns, got {counts}. Widen them.")
    numbers = np.concatenate([table.numbers for table in tables])
    if all(table.atoms is None for table in tables):
        return Table(numbers, None)
    return Table(numbers, np.concatenate([table.codes() for table in tables]))
