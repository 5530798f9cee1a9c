"""The finder "auto": the edges first, then whichever strategy earns most."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpaudit.neighbours import Pair, Relation, Structured
from dpaudit.search.evolve import EvolveFinder
from dpaudit.search.gp import GaussianProcessFinder
from dpaudit.search.memory import Memory, fingerprint
from dpaudit.search.random import RandomFinder
from dpaudit.search.searching import Search
from dpaudit.search.shares import Shares
from dpaudit.search.spread import SpreadFinder

# Before anything is known, look everywhere: a bug that shows on few pairs leaves no slope to climb.
START = {"spread": 0.6, "evolve": 0.2, "gp": 0.1, "random": 0.1}


class AutoFinder(Search):
    """Proposes every edge pair, where most bugs show, then lets four strategies compete.

    `spread` looks everywhere, `evolve` and `gp` climb, `random` is free of their habits. All learn
    from every score. A relation whose pairs cannot be taken apart gets edges, then random pairs.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> finder = AutoFinder(replace_one(floats(0, 1)), np.random.default_rng(7))
    >>> print(finder.ask())
    data=[1.0], neighbour=[0.0]
    """

    name = "auto"

    def __init__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> None:
        super().__init__(relation, rng, memory)
        kinds = (SpreadFinder, EvolveFinder, GaussianProcessFinder, RandomFinder)
        able = kinds if isinstance(relation, Structured) else kinds[-1:]
        self._strategies: dict[str, Search] = {
            kind.name: kind(relation, rng, self.memory) for kind in able
        }
        self._shares = Shares({name: START[name] for name in self._strategies})
        self._edges: Iterator[Pair] = relation.edge_pairs()
        self._passed = 0  # edges looked at

    def ask(self) -> Pair | None:
        for pair in self._edges:
            self._passed += 1
            if self.memory.meet(pair):
                return pair
        picked = self._pick()
        for name in dict.fromkeys([picked, *START]):  # the others, if it finds nothing new
            strategy = self._strategies.get(name)
            if strategy is not None and (found := strategy.ask()) is not None:
                self._shares.note_proposal(fingerprint(found), name)
                return found
        return None

    def tell(self, pair: Pair, score: float) -> None:
        """Let all strategies know; the one that proposed the pair earns the score."""
        super().tell(pair, score)
        self._shares.note_score(fingerprint(pair), score)

    def own_state(self) -> dict[str, Any]:
        return {
            "passed": self._passed,
            "shares": self._shares.state(),
            "strategies": {name: one.own_state() for name, one in self._strategies.items()},
        }

    def restore_own(self, state: dict[str, Any]) -> None:
        self._passed = state["passed"]
        self._edges = itertools.islice(self.relation.edge_pairs(), self._passed, None)
        self._shares.restore(state["shares"])
        for name, own in state["strategies"].items():
            self._strategies[name].restore_own(own)

    def _pick(self) -> str:
        """The strategy whose turn it is, by chance and their shares."""
        shares = self._shares.now()
        names = list(shares)
        return names[int(self.rng.choice(len(names), p=list(shares.values())))]
