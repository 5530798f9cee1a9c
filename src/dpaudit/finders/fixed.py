"""The finder "fixed": the edge pairs of a relation (for `pairs`: all of them), then nothing."""

from __future__ import annotations

import numpy as np

from dpaudit.neighbours import Pair, Relation


class FixedFinder:
    """Proposes each pair once, in order, then None.

    >>> from dpaudit.neighbours import pairs
    >>> finder = FixedFinder(pairs([([1.0], [])]), np.random.default_rng(7))
    >>> print(finder.ask(), finder.ask())
    data=[1.0], neighbour=[] None
    """

    def __init__(self, relation: Relation, rng: np.random.Generator) -> None:
        self._pairs = list(relation.edge_pairs())
        self._next = 0

    def __len__(self) -> int:
        """How many pairs there are in all."""
        return len(self._pairs)

    def ask(self) -> Pair | None:
        """The next pair; None after the last."""
        self._next += 1
        return self._pairs[self._next - 1] if self._next <= len(self._pairs) else None

    def tell(self, pair: Pair, score: float) -> None:
        """Nothing is learned: the pairs and their order are given."""
