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
        self._pairs = relation.edge_pairs()

    def ask(self) -> Pair | None:
        return next(self._pairs, None)

    def tell(self, pair: Pair, score: float) -> None:
        """Nothing is learned: the pairs and their order are given."""
