"""What proposes the pairs to audit: ask for a pair, tell how much it showed.

One file per finder; a new one (grid, gp, evolve) adds its file here and its name to `FINDERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dpaudit.finders.edges_then_random import EdgesThenRandom
from dpaudit.finders.fixed import FixedFinder
from dpaudit.finders.random import RandomFinder
from dpaudit.neighbours import Pair, Relation

__all__ = ["FINDERS", "Finder", "make_finder"]


class Finder(Protocol):
    """A search over neighbouring pairs. Any object with these two methods is a finder."""

    def ask(self) -> Pair | None:
        """The next pair to audit; None if there is nothing new to propose."""

    def tell(self, pair: Pair, score: float) -> None:
        """How much the pair showed: the higher, the closer to a refutation."""


FINDERS: dict[str, Callable[[Relation, np.random.Generator], Finder]] = {
    "auto": EdgesThenRandom,
    "fixed": FixedFinder,
    "random": RandomFinder,
}


def make_finder(name: str, relation: Relation, rng: np.random.Generator) -> Finder:
    """The finder of this name, searching this relation.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> finder = make_finder("auto", replace_one(floats(0, 1)), np.random.default_rng(7))
    >>> print(finder.ask())
    data=[1.0], neighbour=[0.0]
    """
    if name not in FINDERS:
        known = ", ".join(repr(known) for known in sorted(FINDERS))
        raise ValueError(f"finder must be one of {known}, got {name!r}.")
    return FINDERS[name](relation, rng)
