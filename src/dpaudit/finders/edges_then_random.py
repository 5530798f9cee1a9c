"""The finder "auto": the edges of the relation first, then random pairs, none twice."""

from __future__ import annotations

import numpy as np

from dpaudit.finders.random import RandomFinder
from dpaudit.neighbours import Pair, Relation


class EdgesThenRandom:
    """Proposes every edge pair, then random ones: most bugs show at an edge.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> finder = EdgesThenRandom(replace_one(floats(0, 1)), np.random.default_rng(7))
    >>> print(finder.ask())
    data=[1.0], neighbour=[0.0]
    """

    def __init__(self, relation: Relation, rng: np.random.Generator) -> None:
        self._edges = relation.edge_pairs()
        self._random = RandomFinder(relation, rng)

    def ask(self) -> Pair | None:
        for pair in self._edges:
            if self._random.is_new(pair):
                return pair
        return self._random.ask()

    def tell(self, pair: Pair, score: float) -> None:
        """Nothing is learned from the score, but a pair tried elsewhere is not proposed again."""
        self._random.tell(pair, score)
