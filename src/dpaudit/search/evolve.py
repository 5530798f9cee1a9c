"""The finder "evolve": the best pairs so far, changed record by record."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.neighbours import Pair, Relation, Structured
from dpaudit.search.memory import Memory
from dpaudit.search.mutations import Mutations, Slots
from dpaudit.search.searching import Search, first_new
from dpaudit.search.spread import SpreadFinder

POPULATION = 16
TOURNAMENT = 3  # the best of so many becomes a parent
FRESH, CROSSED = 0.1, 0.2  # shares of the pairs from nowhere and of those with two parents
BLIND = 0.7  # share of the pairs from nowhere as long as nothing has scored


class EvolveFinder(Search):
    """Proposes changes of the best pairs: a record doubled, dropped, moved, made the differing one.

    This climbs from a pair that shows a little to one that shows much, in any domain. A relation
    whose pairs cannot be taken apart (`Structured` ones can) gets random pairs.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> relation = replace_one(floats(0, 1), max_records=3)
    >>> finder = EvolveFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """

    name = "evolve"

    def __init__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> None:
        super().__init__(relation, rng, memory)
        self._fresh = SpreadFinder(relation, rng, self.memory)
        self._mutations = Mutations(relation, rng) if isinstance(relation, Structured) else None

    def ask(self) -> Pair | None:
        return first_new(self._propose, self.memory)

    def _propose(self) -> Pair | None:
        if self._mutations is None:
            return self._fresh.propose()
        luck = self.rng.random()
        parent = self._parent(self._mutations)
        fresh = FRESH if self.memory.best_score > 0.0 else BLIND
        if parent is None or luck < fresh:
            return self._fresh.propose()
        if luck < fresh + CROSSED:
            other = self._parent(self._mutations)
            return None if other is None else self._mutations.crossed(parent, other)
        return self._mutations.changed(parent)

    def _parent(self, mutations: Mutations) -> Slots | None:
        """The best of a few of the best pairs; None if nothing was told, or it is of elsewhere."""
        population = self.memory.best(POPULATION)
        if not population:
            return None
        drawn = [population[which] for which in self.rng.integers(len(population), size=TOURNAMENT)]
        return mutations.slots(max(drawn, key=lambda told: told.score).pair)

    def own_state(self) -> dict[str, Any]:
        return {"fresh": self._fresh.own_state()}

    def restore_own(self, state: dict[str, Any]) -> None:
        self._fresh.restore_own(state["fresh"])
