"""The finder "gp": a Gaussian-process bandit over pairs.

The score of a pair is modelled by a Gaussian process, and the candidate with the highest upper
confidence bound is proposed (Srinivas et al. 2010). Pairs that are still out count with the score
that the model expects of them, so that a batch does not crowd in one place (GP-BUCB: Desautels,
Krause and Burdick 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.neighbours import Pair, Relation, Structured
from dpaudit.search.features import Features
from dpaudit.search.memory import Memory, fingerprint
from dpaudit.search.mutations import Mutations
from dpaudit.search.searching import Search
from dpaudit.search.spread import SpreadFinder
from dpaudit.search.surrogate import Surrogate

FRESH = 12  # candidates from all over the space
CHANGED = 12  # changes of the best pairs, and again of the best candidates in every round
PARENTS = 4
ROUNDS = 3
CONFIDENCE = 2.0  # standard deviations above the mean
DOUBT = 0.01  # variance of a score told once, where the best score is 1; less with every telling
FIRST_FIT = 8  # told pairs before the scales are fitted
GROWTH = 1.5  # the scales are fitted again when there are so many times more of them
FITTED = 96  # told pairs that such a fit looks at
CACHED = 1024  # rows kept


class GaussianProcessFinder(Search):
    """Proposes the pair that may score highest, by a model of all scores so far.

    This is for scores that change smoothly with the records, and worth its time where the mechanism
    is slow. Until a pair has scored above 0 there is nothing to model, and the
    space is filled evenly; so it is for relations whose pairs cannot be taken apart.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> relation = replace_one(floats(0, 1), max_records=3)
    >>> finder = GaussianProcessFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """

    name = "gp"

    def __init__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> None:
        super().__init__(relation, rng, memory)
        self._spread = SpreadFinder(relation, rng, self.memory)
        self._bandit: Bandit | None = None
        if isinstance(relation, Structured):
            self._bandit = Bandit(relation, rng, self.memory)

    def ask(self) -> Pair | None:
        if self._bandit is not None and self.memory.best_score > 0.0:
            fresh = [self._spread.propose() for _ in range(FRESH)]
            pair = self._bandit.most_promising(fresh)
            if pair is not None and self.memory.meet(pair):
                return pair
        return self._spread.ask()

    def own_state(self) -> dict[str, Any]:
        bandit = None if self._bandit is None else self._bandit.state()
        return {"spread": self._spread.own_state(), "bandit": bandit}

    def restore_own(self, state: dict[str, Any]) -> None:
        self._spread.restore_own(state["spread"])
        if self._bandit is not None:
            self._bandit.restore(state["bandit"])


class Bandit:
    """Ranks pairs by the upper confidence bound of a Gaussian process."""

    def __init__(self, relation: Structured, rng: np.random.Generator, memory: Memory) -> None:
        self._memory = memory
        self._mutations = Mutations(relation, rng)
        self._features = Features(relation)
        self._model = Surrogate(self._features.groups)
        self._fitted = 0  # told pairs when the scales were last fitted
        self._rows: dict[str, NDArray[np.float64] | None] = {}

    def most_promising(self, fresh: list[Pair]) -> Pair | None:
        """The new pair with the highest bound, climbing from the fresh pairs and the best told."""
        if not self._learn():
            return None
        rated = self._rated([*fresh, *self._changes([t.pair for t in self._memory.best(PARENTS)])])
        for _ in range(ROUNDS):
            rated.sort(key=lambda one: -one[0])
            rated += self._rated(self._changes([pair for _, pair in rated[:PARENTS]]))
        return max(rated, key=lambda one: one[0])[1] if rated else None

    def state(self) -> dict[str, Any]:
        """The scales of the model and when they were fitted, as plain JSON values."""
        return {"fitted": self._fitted, "scales": self._model.scales.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the scales of another."""
        self._fitted, self._model.scales = state["fitted"], np.array(state["scales"])

    def _learn(self) -> bool:
        """Bring the model up to date; whether there is anything that it could learn from."""
        found = [(told, self._row(told.mark, told.pair)) for told in self._memory.told]
        usable = [(told, row) for told, row in found if row is not None]
        if not usable:
            return False
        best = self._memory.best_score
        rows = np.array([row for _, row in usable])
        scores = np.array([told.score / best for told, _ in usable])
        doubts = np.array([DOUBT / told.times for told, _ in usable])
        if len(usable) >= max(FIRST_FIT, GROWTH * self._fitted):
            self._fitted = len(usable)
            some = _best_and_latest(scores)
            self._model.fit_scales(rows[some], scores[some], doubts[some])
        self._model.learn(rows, scores, doubts)
        waiting = [self._row(fingerprint(pair), pair) for pair in self._memory.awaited]
        if awaited := [row for row in waiting if row is not None]:
            expected, _ = self._model.predict(np.array(awaited))
            self._model.learn(
                np.vstack([rows, *awaited]),
                np.concatenate([scores, expected]),
                np.concatenate([doubts, np.full(len(awaited), DOUBT)]),
            )
        return True

    def _changes(self, parents: list[Pair]) -> list[Pair]:
        """Changes of these pairs, as many of each."""
        laid = [slots for pair in parents if (slots := self._mutations.slots(pair)) is not None]
        turns = range(CHANGED if laid else 0)
        found = [self._mutations.changed(laid[turn % len(laid)]) for turn in turns]
        return [pair for pair in found if pair is not None]

    def _rated(self, candidates: list[Pair]) -> list[tuple[float, Pair]]:
        """The new ones among the candidates, each with its upper confidence bound."""
        new = [pair for pair in candidates if self._memory.is_new(pair)]
        laid = [(pair, slots) for pair in new if (slots := self._mutations.slots(pair)) is not None]
        if not laid:
            return []
        rows = np.array([self._features.row(slots) for _, slots in laid])
        means, deviations = self._model.predict(rows)
        bounds = (means + CONFIDENCE * deviations).tolist()
        return [(bound, pair) for bound, (pair, _) in zip(bounds, laid, strict=True)]

    def _row(self, mark: str, pair: Pair) -> NDArray[np.float64] | None:
        """The features of a pair; None if it is none of the relation."""
        if len(self._rows) > CACHED:
            self._rows.clear()
        if mark not in self._rows:
            slots = self._mutations.slots(pair)
            self._rows[mark] = None if slots is None else self._features.row(slots)
        return self._rows[mark]


def _best_and_latest(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The places of the scores that a fit looks at, in their order."""
    best = np.argsort(-scores, kind="stable")[: FITTED // 2]
    return np.union1d(best, np.arange(len(scores))[-FITTED // 2 :])
