"""The finder "random": pairs drawn at random, none twice."""

from __future__ import annotations

from dpaudit.neighbours import Pair
from dpaudit.search.searching import Search, first_new


class RandomFinder(Search):
    """Proposes random pairs of a relation; gives up after 100 draws without a new one.

    >>> import numpy as np
    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import add_or_remove_one
    >>> relation = add_or_remove_one(floats(0, 1), max_records=3)
    >>> finder = RandomFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """

    name = "random"

    def ask(self) -> Pair | None:
        return first_new(lambda: self.relation.random_pair(self.rng), self.memory)
