"""The draws of one pair, shard after shard.

A shard is one call of the mechanism on either side. Its random numbers and its size depend on the
pair and on its place alone, not on who asks for draws, when, or how many at a time. Whoever asks
takes what is there and leaves the rest for the next time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from dpaudit.arrays import Labels
from dpaudit.auditing.run import Run, Stream
from dpaudit.mechanism import CountedBatch, LabelledOutputs, PendingBatch, noting
from dpaudit.neighbours import Pair
from dpaudit.outputs import (
    MAX_COUNTED,
    CellReader,
    CountedOutputs,
    Outputs,
    Table,
    head_of,
    stack,
)

_MIN_SHARD, _MAX_SHARD = 8, 65_536  # draws
_PAST_SHARE = 5  # a shard is one part in 5 to 10 of the draws before it: a power of two

# A shard that was counted where it was drawn: the side of each call (0: data) and what it gave. A
# table stands for outputs that are not one number each.
CountedShard: TypeAlias = tuple[tuple[int, CountedOutputs | Table], ...]


def shard_size(before: int, reader: CellReader | None = None) -> int:
    """The draws of the shard that follows so many others; larger if only its counts travel.

    >>> [shard_size(before) for before in (0, 8, 72, 80, 4_096, 10**6, 10**9)]
    [8, 8, 8, 16, 512, 65536, 65536]
    >>> shard_size(10**9, CellReader(np.zeros(1), least=0.0, most=0.0))
    1048576
    """
    power = 1 << max(before // _PAST_SHARE, 1).bit_length() - 1
    return min(max(power, _MIN_SHARD), _MAX_SHARD if reader is None else reader.shard)


class Shards:
    """The labelled draws of a pair, to be taken in any portions.

    An output is encoded when it is taken, so that its row depends on nothing that comes later.
    `see` is told of all outputs and labels that are taken.
    """

    def __init__(
        self, run: Run, pair: Pair, number: int, *, see: Callable[[Outputs, Labels], None]
    ) -> None:
        self.made = 0  # draws, of which some may be waiting
        self._run = run
        self._pair = pair
        self._number = number
        self._see = see
        self._count = 0  # of the shards that were drawn
        self._asked: deque[PendingBatch] = deque()  # the next shards
        # More shards of a call shared among workers.
        self._ready: deque[LabelledOutputs] = deque()
        self._counted: deque[CountedBatch] = deque()
        self._reader: CellReader | None = None  # of the latest counted shards
        self._open: LabelledOutputs | None = None
        self._taken = 0  # of the open shard
        self._tables: list[Table] = []  # of what was taken of it

    @property
    def waiting(self) -> int:
        """Draws that were made and not taken yet."""
        opened = 0 if self._open is None else len(self._open.labels) - self._taken
        return opened + sum(len(one.labels) for one in self._ready)

    @property
    def reader(self) -> CellReader | None:
        """What has counted the shards that are waiting, if there are any."""
        return self._reader if self._counted else None

    def take(self, wanted: int) -> tuple[Table, Labels]:
        """The next draws as a table with their labels; fewer where the budget ends."""
        tables: list[Table] = []
        labels: list[Labels] = []
        left = wanted
        while left > 0 and (self._open is not None or self._draw(left)):
            table, some = self._take_open(left)
            tables.append(table)
            labels.append(some)
            left -= len(some)
        if not tables:
            return Table(np.empty((0, 0)), None), np.empty(0, dtype=np.bool_)
        widen = self._run.encoder.widen
        return stack([widen(table) for table in tables]), np.concatenate(labels)

    def take_counted(self, wanted: int, reader: CellReader) -> CountedShard:
        """The next whole shard, counted; of no calls where the budget ends.

        Only a limit of seconds makes shards of as many draws as are wanted.
        """
        if not self._counted and (asked := self._asked_next(wanted, reader)):
            self._counted.extend(self._run.receive_counted(self._number, reader, *asked))
            self._reader = reader
        return self._watched(self._counted.popleft()) if self._counted else ()

    def _watched(self, batch: CountedBatch) -> CountedShard:
        """Look for dependent draws among the first outputs of both calls."""
        shard: list[tuple[int, CountedOutputs | Table]] = []
        encoder, watch = self._run.encoder, self._run.watch
        for side, received in batch:
            shown = head_of(received)
            self._see(shown, np.full(len(shown), side == 0))
            with noting(self._run.warnings):
                table = encoder.encode(shown)
                watch.see_side(self._number, side, shown, table)
            shard.append((side, received if isinstance(received, CountedOutputs) else table))
        return tuple(shard)

    def ask_ahead(
        self, draws: int, *, reader: CellReader | None = None, until: float = math.inf
    ) -> None:
        """Ask for the shards with the next draws, so that workers can make them meanwhile.

        That changes nothing but the time. With a limit of seconds the clock sizes every shard, so
        none is asked for ahead. A reader counts the shards that begin before so many draws.
        """
        budget = self._run.budget
        if self._run.caller.workers == 0 or budget.seconds is not None:
            return
        asked = sum(one.size for one in self._asked)
        while self.waiting + asked < draws and self.made + asked < until:
            size = shard_size(self.made + asked, reader)
            size = min(size, budget.allows(asked + size, key=self._number) - asked)
            if size <= 0:
                return
            self._asked.append(self._ask(size, len(self._asked), reader))
            asked += size

    def cancel(self) -> None:
        """Forget the shards that were asked for ahead."""
        while self._asked:
            self._asked.pop().cancel()

    def close(self) -> None:
        """Look for dependent draws in what was taken of the open shard, too."""
        if self._open is None or self._taken == 0:
            return
        part = slice(self._taken)
        seen = LabelledOutputs(outputs=self._open.outputs[part], labels=self._open.labels[part])
        widen = self._run.encoder.widen
        table = stack([widen(table) for table in self._tables])
        with noting(self._run.warnings):
            self._run.watch.see_batch(self._number, seen, table)
        self._open, self._taken, self._tables = None, 0, []

    def _take_open(self, wanted: int) -> tuple[Table, Labels]:
        assert self._open is not None
        part = slice(self._taken, self._taken + wanted)
        outputs, labels = self._open.outputs[part], self._open.labels[part]
        self._see(outputs, labels)
        table = self._run.encoder.encode(outputs)
        self._tables.append(table)
        self._taken += len(labels)
        if self._taken == len(self._open.labels):
            self.close()
        return table, labels

    def _draw(self, wanted: int) -> bool:
        """Open the next shard; False if the budget has no draw left."""
        if not self._ready and (asked := self._asked_next(wanted, None)):
            self._ready.extend(self._run.receive(self._number, *asked))
        self._open = self._ready.popleft() if self._ready else None
        return self._open is not None

    def _asked_next(self, wanted: int, reader: CellReader | None) -> list[PendingBatch]:
        """Ask for the next shard; for nothing if the budget has no draw left.

        With a limit of seconds a call takes as many draws as are wanted and as the time allows, and
        is shared among the workers.
        """
        run, size = self._run, shard_size(self.made, reader)
        limited = run.budget.seconds is not None
        if limited:
            size = max(size, min(wanted, MAX_COUNTED if reader is None else reader.shard))
        size = run.budget.allows(size, key=self._number)
        if size == 0:
            return []
        asked = self._shared(size, reader) if limited else [self._next(size, reader)]
        self._count += len(asked)
        self.made += size
        return asked

    def _next(self, size: int, reader: CellReader | None) -> PendingBatch:
        """The next shard: as it was asked for ahead, unless the budget is smaller now."""
        if self._asked:
            first = self._asked.popleft()
            if first.size == size and first.reader in (None, reader):
                return first
            first.cancel()
            self.cancel()
        return self._ask(size, 0, reader)

    def _shared(self, size: int, reader: CellReader | None) -> list[PendingBatch]:
        """Shards of together this size, one for each worker."""
        count = min(max(self._run.caller.workers, 1), size)
        sizes = [(size + place) // count for place in range(count)]
        return [self._ask(one, place, reader) for place, one in enumerate(sizes)]

    def _ask(self, size: int, after: int, reader: CellReader | None) -> PendingBatch:
        """Ask for a shard, so many after the next one."""
        seed = self._run.seed(Stream.TEST, self._number, self._count + after)
        return self._run.ask_labelled(self._pair, size, seed, reader=reader)
