"""The finder "fixed": the edge pairs of a relation (for `pairs`: all of them), then nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.neighbours import Pair, Relation
from dpaudit.search.memory import Memory
from dpaudit.search.searching import check_state


class FixedFinder:
    """Proposes each pair once, in order, then None.

    >>> from dpaudit.neighbours import pairs
    >>> finder = FixedFinder(pairs([([1.0], [])]), np.random.default_rng(7))
    >>> print(finder.ask(), finder.ask())
    data=[1.0], neighbour=[] None
    """

    name = "fixed"

    def __init__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> None:
        self._pairs = list(relation.edge_pairs())
        self._next = 0
        self._repeat = memory is not None and memory.repeat

    def __len__(self) -> int:
        """How many pairs there are in all."""
        return len(self._pairs)

    def ask(self) -> Pair | None:
        """The next pair; None after the last, or the first again where pairs may repeat."""
        if self._repeat:
            self._next %= len(self._pairs)
        self._next += 1
        return self._pairs[self._next - 1] if self._next <= len(self._pairs) else None

    def tell(self, pair: Pair, score: float) -> None:
        """Nothing is learned: the pairs and their order are given."""

    def state(self) -> dict[str, Any]:
        """How far it came, as plain JSON values."""
        return {"finder": self.name, "next": self._next}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where the finder stood whose state this is."""
        check_state(state, self.name, {"finder", "next"})
        self._next = state["next"]
