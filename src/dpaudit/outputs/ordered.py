"""Numbers in order, here or on the accelerator where they were drawn.

Sorting is nearly all the work of counting outputs. PyTorch sorts a tensor where it lies, so that
only the counts travel.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index

Words: TypeAlias = tuple[int, int, int]  # how many numbers are -inf, +inf and NaN


class Ordered(Protocol):
    """Finite numbers in rising order."""

    @property
    def words(self) -> Words:
        """How many others there were."""

    def places(self, values: Floats, *, after: bool = False) -> Index:
        """How many of the numbers lie below each value; with `after`, below or at it."""

    def part(self, begin: int, end: int) -> Floats:
        """Those from one place to another."""

    def repeats(self, known: Floats, most: int) -> tuple[Floats, Index]:
        """The values that come most often, if more than once, and how often; not those known."""


class OrderedHere:
    """The numbers of a NumPy array."""

    def __init__(self, numbers: npt.NDArray[Any]) -> None:
        ordered = np.sort(numbers.astype(np.float64))  # NaN comes last
        begin, infinite = np.searchsorted(ordered, [-np.inf, np.inf], side="right")
        end = np.searchsorted(ordered, np.inf, side="left")
        self.words = int(begin), int(infinite - end), int(len(ordered) - infinite)
        self._numbers = ordered[begin:end]

    def places(self, values: Floats, *, after: bool = False) -> Index:
        return np.searchsorted(self._numbers, values, side="right" if after else "left")

    def part(self, begin: int, end: int) -> Floats:
        return self._numbers[begin:end].copy()

    def repeats(self, known: Floats, most: int) -> tuple[Floats, Index]:
        again = self._numbers[1:][self._numbers[1:] == self._numbers[:-1]]
        values, counts = np.unique(again, return_counts=True)
        if len(values) and len(known):
            new = ~np.isin(values, known)
            values, counts = values[new], counts[new]
        chosen = np.sort(np.argsort(-counts, kind="stable")[:most])
        return values[chosen] + 0.0, counts[chosen] + 1


class OrderedThere:
    """The numbers of a PyTorch tensor, which stay on its device. It has no NaN of either sign."""

    def __init__(self, tensor: Any) -> None:
        import torch

        self.words = 0, 0, 0
        numbers = tensor.to(torch.float64)
        if not bool(torch.isfinite(torch.stack(torch.aminmax(numbers))).all()):
            below, above, unknown = numbers == -torch.inf, numbers == torch.inf, numbers.isnan()
            self.words = int(below.sum()), int(above.sum()), int(unknown.sum())
            numbers = numbers[torch.isfinite(numbers)]
        self._numbers = torch.sort(numbers).values

    def places(self, values: Floats, *, after: bool = False) -> Index:
        import torch

        there = torch.as_tensor(values, device=self._numbers.device)
        found = torch.searchsorted(self._numbers, there, right=after)
        return np.asarray(found.cpu().numpy())

    def part(self, begin: int, end: int) -> Floats:
        return np.asarray(self._numbers[begin:end].cpu().numpy())

    def repeats(self, known: Floats, most: int) -> tuple[Floats, Index]:
        import torch

        again = self._numbers[1:][self._numbers[1:] == self._numbers[:-1]]
        values, counts = torch.unique_consecutive(again, return_counts=True)
        if len(values) and len(known):
            new = ~torch.isin(values, torch.as_tensor(known, device=values.device))
            values, counts = values[new], counts[new]
        order = torch.sort(counts, descending=True, stable=True).indices
        chosen = torch.sort(order[:most]).values
        return values[chosen].cpu().numpy() + 0.0, counts[chosen].cpu().numpy() + 1
