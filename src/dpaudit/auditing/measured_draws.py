"""Labelled draws of one pair, as tables with the columns and words of those that were learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dpaudit.guessing import LabelledRows, as_known
from dpaudit.mechanism import LabelledOutputs, Mechanism, Watch, draw_labelled, draw_paired
from dpaudit.neighbours import Pair
from dpaudit.outputs import Encoder, stack

_AT_ONCE = 65_536
_CALLS = 32  # on either side, at least: draws are compared between calls


class Source:
    """Draws of one pair, of which `total` are to be made; the same entropy gives the same ones."""

    def __init__(
        self,
        mechanism: Mechanism,
        pair: Pair,
        *,
        entropy: int,
        total: int,
        encoder: Encoder,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.pair = pair
        self.made = 0
        self._mechanism = mechanism
        self._entropy = entropy
        self._total = total
        self._encoder = encoder
        self._progress = progress
        self._learned: LabelledRows | None = None
        self._at_once = min(_AT_ONCE, -(-total // _CALLS))
        self.watch = Watch(mechanism.name, encoder)

    def learn(self, size: int, *, twins: bool) -> LabelledRows:
        """More outputs to learn from: all so far, whose columns and words are those that count."""
        pieces = list(self._drawn(size, twins=twins))
        if self._learned is not None:
            pieces.insert(0, self._learned)
        table = stack([self._encoder.widen(piece.table) for piece in pieces])
        self._learned = LabelledRows.of(table, np.concatenate([piece.labels for piece in pieces]))
        return self._learned

    def draw(self, size: int, *, twins: bool = False) -> Iterator[LabelledRows]:
        """So many draws, piece by piece, read as what was learned before has it."""
        assert self._learned is not None
        for piece in self._drawn(size, twins=twins):
            yield LabelledRows.of(as_known(piece.table, self._learned.table), piece.labels)

    def _drawn(self, size: int, *, twins: bool) -> Iterator[LabelledRows]:
        left = size
        while left > 0:
            batch = self._batch(min(self._at_once, left), twins=twins)
            piece = len(batch.labels)
            self.made, left = self.made + piece, left - piece
            if self._progress is not None:
                self._progress(self.made, self._total)
            table = self._encoder.encode(batch.outputs)
            self.watch.see_batch("pair", batch, table)
            yield LabelledRows.of(table, batch.labels)

    def _batch(self, size: int, *, twins: bool) -> LabelledOutputs:
        """Draws with seeds of their own; twins come in twos, so that the last of them may lack."""
        seed = np.random.SeedSequence(self._entropy, spawn_key=(self.made,))
        if twins and size > 1:
            return draw_paired(self._mechanism, self.pair, size // 2, seed)
        return draw_labelled(self._mechanism, self.pair, size, seed)
