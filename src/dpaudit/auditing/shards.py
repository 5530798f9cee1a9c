"""The draws of one pair, shard after shard.

A shard is one call of the mechanism on either side. Its random numbers and its size depend on the
pair and on its place alone, not on who asks for draws, when, or how many at a time. Whoever asks
takes what is there and leaves the rest for the next time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpaudit.arrays import Labels
from dpaudit.auditing.run import Run, Stream
from dpaudit.mechanism import LabelledOutputs, noting
from dpaudit.neighbours import Pair
from dpaudit.outputs import Outputs, Table, stack

_MIN_SHARD, _MAX_SHARD = 8, 65_536  # draws
_PAST_SHARE = 5  # a shard is one part in 5 to 10 of the draws before it: a power of two


def shard_size(before: int) -> int:
    """The draws of the shard that follows so many others.

    >>> [shard_size(before) for before in (0, 8, 72, 80, 4_096, 10**6, 10**9)]
    [8, 8, 8, 16, 512, 65536, 65536]
    """
    power = 1 << max(before // _PAST_SHARE, 1).bit_length() - 1
    return min(max(power, _MIN_SHARD), _MAX_SHARD)


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
        self._count = 0
        self._open: LabelledOutputs | None = None
        self._taken = 0  # of the open shard
        self._tables: list[Table] = []  # of what was taken of it

    @property
    def waiting(self) -> int:
        """Draws that were made and not taken yet."""
        return 0 if self._open is None else len(self._open.labels) - self._taken

    def take(self, wanted: int) -> tuple[Table, Labels]:
        """The next draws as a table with their labels; fewer where the budget ends."""
        tables: list[Table] = []
        labels: list[Labels] = []
        left = wanted
        while left > 0 and (self.waiting or self._draw(left)):
            table, some = self._take_open(left)
            tables.append(table)
            labels.append(some)
            left -= len(some)
        if not tables:
            return Table(np.empty((0, 0)), None), np.empty(0, dtype=np.bool_)
        widen = self._run.encoder.widen
        return stack([widen(table) for table in tables]), np.concatenate(labels)

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
        if not self.waiting:
            self.close()
        return table, labels

    def _draw(self, wanted: int) -> bool:
        """Draw the next shard; False if the budget has no draw left.

        With a limit of seconds a call takes as many draws as are wanted and as the time allows.
        """
        run, size = self._run, shard_size(self.made)
        if run.budget.seconds is not None:
            size = max(size, wanted)
        size = run.budget.allows(size, key=self._number)
        if size == 0:
            return False
        self._open = run.draw_labelled(
            self._pair, self._number, size, run.seed(Stream.TEST, self._number, self._count)
        )
        self.made += size
        self._count += 1
        return True
