"""Draws that depend on each other: noticed before anything is concluded from them.

Every bound and every bet takes the draws of a call for independent. A mechanism that draws its
noise once and repeats it, adds the same noise to a whole call, walks from draw to draw or counts
its calls would be accused although each of its outputs alone keeps the claim. Two checks look for
it, on draws that are made anyway:

- Two neighbouring draws of a call, and a third from another call on the same dataset. If all three
  are independent, the second is closer to the first than the third is in half of the cases
  (ties left out), whatever the outputs are. Each draw is in one such comparison at most.
- An event, counted call by call: its hits must not come in clusters.

Both are e-values. A mechanism whose draws are independent is stopped with probability at most
`FALSE_ALARM` by each of them, over a whole audit: what comes n-th has the share `1 / (n (n + 1))`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Counts, Labels
from dpaudit.bounds import coin_evidence, dispersion_evidence
from dpaudit.errors import DependentDraws
from dpaudit.outputs import MISSING, Table

FALSE_ALARM = 1e-9
_EVENTS = 1e4  # a bound on how many events a search chooses from: the price of old calls
_COMPARED = 256  # comparisons of two calls, at most
_REMEMBERED_SIDES = 64  # memory does not grow with the pairs
_KEPT_CALLS, _KEPT_DRAWS = 64, 64  # of a side, to count an event on that is chosen later
_CELLS = 4_096  # of a table that is kept; a wide one has fewer rows

Calls: TypeAlias = Sequence[tuple[int, int]]  # hits and draws
SIDES = ("data", "neighbour")  # the second part of the key of a dataset

_REMEDY = (
    "A verdict needs independent draws. Draw noise of shape size, so that each output has its own, "
    "or give one output a call: dpaudit.one_at_a_time. If it does that already, it keeps something "
    "from one call to the next."
)


@dataclass(slots=True)
class _Side:
    """What was seen of one dataset, call after call."""

    number: int
    thirds: Table | None = None  # of the last call, to be compared with pairs of the next
    closer: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # by column
    farther: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    calls: deque[Table] = field(default_factory=lambda: deque(maxlen=_KEPT_CALLS))


class IndependenceCheck:
    """Watches the calls of one mechanism, side by side; `DependentDraws` if it finds something.

    >>> from dpaudit.outputs import Encoder
    >>> encoder, rng = Encoder(), np.random.default_rng(0)
    >>> check = IndependenceCheck("noisy_sum", lambda: encoder.names)
    >>> for _ in range(50):
    ...     check.see("data", encoder.encode(rng.normal(size=100)))
    >>> try:
    ...     for _ in range(50):
    ...         check.see("neighbour", encoder.encode(np.full(100, rng.normal())))
    ... except DependentDraws as error:
    ...     print(str(error)[:90])
    noisy_sum gives draws that depend on each other: two draws of one call are closer together
    """

    def __init__(self, name: str, names: Callable[[], Sequence[str]]) -> None:
        self._name = name
        self._names = names
        self._sides: dict[Hashable, _Side] = {}
        self._met = 0
        self._counted = 0

    def see(self, key: Hashable, table: Table) -> None:
        """Look at the draws of one call on the dataset `key`."""
        side = self._side(key)
        most = max(_CELLS // max(table.columns, 1), 8)
        side.calls.append(table.take(np.arange(min(len(table), _KEPT_DRAWS, most))))
        whole = min(len(table) // 3, _COMPARED, most)
        if side.thirds is not None and whole > 0:
            self._compare(side, table, min(whole, len(side.thirds)))
        if whole > 0:
            side.thirds = table.take(np.arange(2, 3 * whole, 3))

    def count(self, event: str, *sides: Calls) -> None:
        """Look at how often an event happened in each call, `(hits, draws)`, on each dataset."""
        self._counted += 1
        self._judge(event, sides, price=0.0)

    def count_with_earlier(
        self,
        event: str,
        holds: Callable[[Table], Labels],
        sides: Mapping[Hashable, Calls],
    ) -> None:
        """The same with earlier calls on each `key` before these; they had a say in the event."""
        earlier = {
            key: [
                (int(np.count_nonzero(holds(table))), len(table))
                for table in (self._sides[key].calls if key in self._sides else ())
                if len(table) > 0
            ]
            for key in sides
        }
        together = [[*earlier[key], *calls] for key, calls in sides.items()]
        self._judge(event, together, price=math.log(_EVENTS))

    def _judge(self, event: str, sides: Sequence[Calls], *, price: float) -> None:
        """Raise if the hits come in clusters; the draws of the sides are independent anyway."""
        evidence = sum(map(dispersion_evidence, sides))
        if evidence >= price + _needed(max(self._counted, 1)):
            raise DependentDraws(
                f"{self._name} gives draws that depend on each other: the event '{event}' comes "
                f"in clusters: {'; '.join(map(_spread, sides))}. {_REMEDY}"
            )

    def _side(self, key: Hashable) -> _Side:
        found = self._sides.pop(key, None)
        if found is None:
            self._met += 1
            found = _Side(self._met)
            if len(self._sides) >= _REMEMBERED_SIDES:
                del self._sides[next(iter(self._sides))]
        self._sides[key] = found  # the latest comes last
        return found

    def _compare(self, side: _Side, table: Table, count: int) -> None:
        assert side.thirds is not None
        columns = min(side.thirds.columns, table.columns)
        first, second = (table.take(slice(start, 3 * count, 3)) for start in (0, 1))
        third = side.thirds.take(slice(count)).narrow(columns)
        near = _distances(first.narrow(columns), second.narrow(columns))
        far = _distances(first.narrow(columns), third)
        side.closer = _padded(side.closer, table.columns)
        side.farther = _padded(side.farther, table.columns)
        side.closer[:columns] += np.count_nonzero(near < far, axis=0)
        side.farther[:columns] += np.count_nonzero(near > far, axis=0)
        place = np.arange(1.0, table.columns + 1.0)
        evidence = coin_evidence(side.closer, side.farther) - np.log(place * (place + 1.0))
        worst = int(np.argmax(evidence))
        if evidence[worst] >= _needed(side.number):
            self._refuse_column(worst, int(side.closer[worst]), int(side.farther[worst]))

    def _refuse_column(self, column: int, closer: int, farther: int) -> None:
        often, how = max((closer, "closer together"), (farther, "farther apart"))
        raise DependentDraws(
            f"{self._name} gives draws that depend on each other: two draws of one call are {how} "
            f"than draws of two calls in {often} of {closer + farther} comparisons of "
            f"{self._names()[column]}; of independent draws it would be half. {_REMEDY}"
        )


def _spread(calls: Calls) -> str:
    """How unevenly hits are spread over the calls of one dataset."""
    rates = sorted(hits / draws for hits, draws in calls)
    hits, draws = (sum(numbers) for numbers in zip(*calls, strict=True))
    return (
        f"in {100 * rates[0]:.3g} to {100 * rates[-1]:.3g} % of the draws of a call, over "
        f"{len(calls)} calls with {hits} in {draws} draws"
    )


def _needed(number: int) -> float:
    """The evidence that stops an audit at the n-th of several looks: the shares add up to 1."""
    return math.log(number * (number + 1.0)) - math.log(FALSE_ALARM)


def _distances(table: Table, other: Table) -> npt.NDArray[np.float64]:
    """How far two outputs are apart, row by row and column by column: infinitely if not alike."""
    apart = np.abs(table.numbers - other.numbers)
    if table.atoms is None and other.atoms is None:
        return apart
    codes, others = table.codes(), other.codes()
    return np.where(codes != others, np.inf, np.where(codes >= MISSING, 0.0, apart))


def _padded(counts: Counts, columns: int) -> Counts:
    return np.concatenate([counts, np.zeros(max(columns - len(counts), 0), dtype=np.int64)])
