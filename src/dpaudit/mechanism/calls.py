"""Calls of a mechanism: what is asked for, and who makes them.

A call is a dataset, a number of outputs and a seed, and gives the same outputs wherever it is made.
`CallsHere` makes it in this process when its outputs are wanted; `Workers` (`workers.py`) hands it
to an executor, ahead of time. Who makes the calls changes nothing but the time that they take.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import SeedSequence

from dpaudit.architecture import Source
from dpaudit.mechanism.own_warnings import OwnWarnings
from dpaudit.outputs import CellReader, CountedOutputs, Outputs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """One call of a mechanism: `size` outputs on `data`, with the random numbers of `seed`.

    With a `reader` the outputs are counted where they are drawn.
    """

    data: Any
    size: int
    seed: SeedSequence
    reader: CellReader | None = None


class Pending(Protocol):
    """A call that was asked for."""

    def outputs(self) -> Outputs:
        """Its outputs, once they are there; the errors of the mechanism are raised here."""

    def counted(self, reader: CellReader) -> CountedOutputs | Outputs:
        """The same, counted; its outputs where they cannot be. It was asked with this or none."""

    def cancel(self) -> None:
        """Forget the call: nobody wants its outputs any more."""


class Caller(Protocol):
    """Who makes the calls of a mechanism."""

    @property
    def workers(self) -> int:
        """How many calls can be made at once; 0 if asking ahead is of no use."""

    def ask(self, call: Call) -> Pending:
        """Ask for the outputs of a call."""

    def close(self) -> None:
        """Forget all calls whose outputs nobody has taken."""


@dataclass(frozen=True, slots=True)
class CallsHere:
    """Makes each call in this process, when its outputs are wanted.

    `own` holds back what the mechanism itself warns of, until somebody shows it.
    """

    mechanism: Source
    workers: int = 0
    own: OwnWarnings | None = None

    def ask(self, call: Call) -> _Later:
        """Nothing is done yet."""
        return _Later(self.mechanism, call, self.own)

    def close(self) -> None:
        """There is nothing to forget."""


@dataclass(frozen=True, slots=True)
class _Later:
    mechanism: Source
    call: Call
    own: OwnWarnings | None

    def outputs(self) -> Outputs:
        call = self.call
        with self._held_back():
            return self.mechanism.draw(call.data, call.size, np.random.default_rng(call.seed))

    def counted(self, reader: CellReader) -> CountedOutputs | Outputs:
        call = self.call
        rng = np.random.default_rng(call.seed)
        with self._held_back():
            return self.mechanism.count(call.data, call.size, rng, reader)

    def _held_back(self) -> AbstractContextManager[None]:
        return nullcontext() if self.own is None else self.own.held_back()

    def cancel(self) -> None:
        pass


class _Cancellable(Protocol):
    def cancel(self) -> None: ...


_Asked = TypeVar("_Asked", bound=_Cancellable)


def asked_ahead(asked: Iterable[_Asked], caller: Caller) -> Iterator[_Asked]:
    """Give what is asked for one by one, while the next ones are asked for already.

    `asked` asks for one more each time that it is iterated. What is left at the end is cancelled.
    """
    waiting: deque[_Asked] = deque()
    try:
        for one in asked:
            waiting.append(one)
            if len(waiting) > _AHEAD * caller.workers:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        for one in waiting:
            one.cancel()


_AHEAD = 4  # calls asked for ahead, for each worker
