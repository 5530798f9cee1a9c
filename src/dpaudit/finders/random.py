"""The finder "random": pairs drawn at random, none twice."""

from __future__ import annotations

import numpy as np

from dpaudit.neighbours import Pair, Relation

TRIES = 100


class RandomFinder:
    """Proposes random pairs of a relation; gives up after 100 draws without a new one.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import add_or_remove_one
    >>> relation = add_or_remove_one(floats(0, 1), max_records=3)
    >>> finder = RandomFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """

    def __init__(self, relation: Relation, rng: np.random.Generator) -> None:
        self._relation = relation
        self._rng = rng
        self._seen: set[str] = set()

    def ask(self) -> Pair | None:
        for _ in range(TRIES):
            pair = self._relation.random_pair(self._rng)
            if self.is_new(pair):
                return pair
        return None

    def tell(self, pair: Pair, score: float) -> None:
        """Nothing is learned from the score, but a pair tried elsewhere is not proposed again."""
        self._seen.add(pair.key())

    def is_new(self, pair: Pair) -> bool:
        """Whether the pair was not met before; from now on it was."""
        key = pair.key()
        new = key not in self._seen
        self._seen.add(key)
        return new
