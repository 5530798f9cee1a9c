"""Labelled draws of one pair, as tables with the columns and words of those that were learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dpaudit.batches import Batch, draw_labelled, draw_twins
from dpaudit.measuring.guess import Labels
from dpaudit.mechanism import Mechanism
from dpaudit.outputs import Encoder, Table, stack
from dpaudit.pair import Pair
from dpaudit.testers.parts import Labelled, as_known

_AT_ONCE = 65_536


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
        self._learned: list[tuple[Table, Labels]] = []
        self._known: Table | None = None

    def learn(self, size: int, *, twins: bool) -> Labelled:
        """More outputs to learn from: all so far, whose columns and words are those that count."""
        self._learned += self._drawn(size, twins=twins)
        self._known = stack([self._encoder.widen(table) for table, _ in self._learned])
        return Labelled(self._known, np.concatenate([labels for _, labels in self._learned]))

    def draw(self, size: int, *, twins: bool = False) -> Iterator[Labelled]:
        """So many draws, piece by piece, as what was learned would have them."""
        for table, labels in self._drawn(size, twins=twins):
            yield Labelled(table if self._known is None else as_known(table, self._known), labels)

    def _drawn(self, size: int, *, twins: bool) -> Iterator[tuple[Table, Labels]]:
        left = size
        while left > 0:
            batch = self._batch(min(_AT_ONCE, left), twins=twins)
            piece = len(batch.labels)
            self.made, left = self.made + piece, left - piece
            if self._progress is not None:
                self._progress(self.made, self._total)
            yield self._encoder.encode(batch.outputs), batch.labels

    def _batch(self, size: int, *, twins: bool) -> Batch:
        """Draws with seeds of their own; twins come in twos, so that the last of them may lack."""
        seed = np.random.SeedSequence(self._entropy, spawn_key=(self.made,))
        if twins and size > 1:
            return draw_twins(self._mechanism, self.pair, size // 2, seed)
        return draw_labelled(self._mechanism, self.pair, size, seed)
