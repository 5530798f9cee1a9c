"""The finder "auto": the edges first, then whichever strategy scores most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from dpaudit.neighbours import Pair
from dpaudit.search.evolve import EvolveFinder
from dpaudit.search.finder import RelationFinder, fingerprint
from dpaudit.search.gp import GaussianProcessFinder
from dpaudit.search.spread import RandomFinder, SpreadFinder

STRATEGIES: dict[str, type[RelationFinder]] = {
    "spread": SpreadFinder,
    "evolve": EvolveFinder,
    "gp": GaussianProcessFinder,
    "random": RandomFinder,
}
# Before anything is known, look everywhere: a bug that shows on few pairs leaves no slope to climb.
START_SHARES = {"spread": 0.6, "evolve": 0.2, "gp": 0.1, "random": 0.1}
MIN_SHARE = 0.05  # of the proposals, for every strategy
MAX_LATEST_SCORES = 16  # of a strategy, that its share depends on


class AutoFinder(RelationFinder):
    """Proposes every edge pair, where most bugs show, then shares proposals among four strategies.

    `spread` looks everywhere, `evolve` and `gp` climb, `random` has no bias of its own. All learn
    from every score. A relation whose pairs cannot be taken apart gets edges, then random pairs.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> finder = AutoFinder(replace_one(floats(0, 1)), np.random.default_rng(7))
    >>> print(finder.ask())
    data=[1.0], neighbour=[0.0]
    """

    def prepare(self) -> None:
        able = STRATEGIES if self.structured is not None else ("random",)
        self.shares = Shares({name: START_SHARES[name] for name in able})
        self._edges = self.relation.edge_pairs()

    @cached_property
    def _strategies(self) -> dict[str, RelationFinder]:
        """Made after the last edge pair: many audits end before it."""
        shared = self.relation, self.rng, self.memory
        return {name: STRATEGIES[name](*shared) for name in self.shares.scores}

    def ask(self) -> Pair | None:
        for edge in self._edges:
            if self.memory.meet(edge):
                return edge
        shares = self.shares.now()
        names = list(shares)
        picked = names[int(self.rng.choice(len(names), p=list(shares.values())))]
        for name in dict.fromkeys([picked, *names]):  # the others, if it finds nothing new
            pair = self._strategies[name].ask()
            if pair is not None:
                self.shares.note_proposal(fingerprint(pair), name)
                return pair
        return None

    def tell(self, pair: Pair, score: float) -> None:
        """Let all strategies know. The score counts for the one that proposed the pair."""
        super().tell(pair, score)
        self.shares.note_score(fingerprint(pair), score)


class Shares:
    """Which share of the proposals each strategy gets: a small bandit.

    A strategy's first share is multiplied by (mean of its latest scores / mean of all of them)^2.
    Only the first score of a pair counts, because later scores grow with its draws. Every strategy
    keeps a twentieth of the proposals.

    >>> shares = Shares({"slow": 0.5, "quick": 0.5})
    >>> for mark, name, score in [("a", "slow", 1.0), ("b", "quick", 3.0)]:
    ...     shares.note_proposal(mark, name)
    ...     shares.note_score(mark, score)
    >>> {name: round(share, 3) for name, share in shares.now().items()}
    {'slow': 0.14, 'quick': 0.86}
    """

    def __init__(self, start: Mapping[str, float]) -> None:
        self._start = dict(start)
        # For each strategy: the fingerprints of its latest pairs, and their first scores.
        self.scores: dict[str, dict[str, float | None]] = {name: {} for name in start}

    def note_proposal(self, mark: str, name: str) -> None:
        """The strategy proposed the pair with this fingerprint, which has no score yet."""
        scores = self.scores[name]
        scores[mark] = None
        if len(scores) > 2 * MAX_LATEST_SCORES:
            del scores[next(iter(scores))]

    def note_score(self, mark: str, score: float) -> None:
        """The score of a pair, whichever strategy proposed it; only the first one counts."""
        for scores in self.scores.values():
            if mark in scores and scores[mark] is None:
                scores[mark] = score

    def now(self) -> dict[str, float]:
        """The share of every strategy in the next proposals."""
        known = {
            name: [score for score in scores.values() if score is not None][-MAX_LATEST_SCORES:]
            for name, scores in self.scores.items()
        }
        usual = _mean([score for scores in known.values() for score in scores], default=0.0)
        weights = self._start
        if usual > 0.0:
            weights = {
                name: start * (_mean(known[name], default=usual) / usual) ** 2
                for name, start in self._start.items()
            }
        total, rest = sum(weights.values()), 1.0 - MIN_SHARE * len(weights)
        return {name: MIN_SHARE + rest * weight / total for name, weight in weights.items()}


def _mean(scores: Sequence[float], *, default: float) -> float:
    return float(np.mean(scores)) if scores else default
