"""What all finders share: the protocol, a memory of the pairs they proposed, no pair twice."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass

import numpy as np

from dpaudit.domains import canonical
from dpaudit.neighbours import Pair, Relation, Structured

MAX_SCORED_PAIRS = 256  # kept whole; of the others only the fingerprints
MIN_LATEST_PAIRS = 128  # of them: the latest ones, whatever they scored
MAX_AWAITED_PAIRS = 64  # proposed, but not scored yet
MAX_PROPOSALS = 100  # in a row without a new pair, before a finder gives up


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPair:
    """A pair and its latest score. The more often it was told, the surer is the score."""

    fingerprint: str
    pair: Pair
    score: float
    times: int


class Memory:
    """The pairs that were proposed and scored. Several finders may share one memory.

    It is bounded: the best and the latest scored pairs are kept whole, all others as fingerprints,
    so that none is proposed twice. A pair and its swap are one pair here, because both directions
    are always tested together.

    >>> memory, pair = Memory(), Pair([1.0], [])
    >>> memory.meet(pair), memory.meet(pair.swapped())
    (True, False)
    >>> memory.tell(pair, 0.5)
    >>> [(str(best.pair), best.score) for best in memory.best(3)]
    [('data=[1.0], neighbour=[]', 0.5)]
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._scored: dict[str, ScoredPair] = {}  # the latest comes last
        self._awaited: dict[str, Pair] = {}

    def meet(self, pair: Pair) -> bool:
        """Whether the pair is new. From now on it is not."""
        mark = fingerprint(pair)
        if mark in self._seen:
            return False
        self._seen.add(mark)
        self._awaited[mark] = pair
        if len(self._awaited) > MAX_AWAITED_PAIRS:
            del self._awaited[next(iter(self._awaited))]
        return True

    def is_new(self, pair: Pair) -> bool:
        """Whether the pair was neither proposed nor scored before."""
        return fingerprint(pair) not in self._seen

    def tell(self, pair: Pair, score: float) -> None:
        """Remember the score; it replaces an earlier one."""
        if not score >= 0.0:
            raise ValueError(f"a score must be a number of at least 0, got {score!r}.")
        mark = fingerprint(pair)
        self._seen.add(mark)
        self._awaited.pop(mark, None)
        before = self._scored.pop(mark, None)
        times = 1 if before is None else before.times + 1
        finite = min(float(score), sys.float_info.max)  # models cannot learn from infinity
        self._scored[mark] = ScoredPair(fingerprint=mark, pair=pair, score=finite, times=times)
        if len(self._scored) > MAX_SCORED_PAIRS:
            # Of equal scores the first stay: they are the edge pairs.
            old = list(self._scored)[-MIN_LATEST_PAIRS - 1 :: -1]
            del self._scored[min(old, key=lambda one: self._scored[one].score)]

    @property
    def scored(self) -> list[ScoredPair]:
        """The pairs with a score, the latest last."""
        return list(self._scored.values())

    @property
    def awaited(self) -> list[Pair]:
        """The pairs that were proposed and have no score yet."""
        return list(self._awaited.values())

    @property
    def best_score(self) -> float:
        """The best score so far; 0 before the first one."""
        return max((one.score for one in self._scored.values()), default=0.0)

    def best(self, count: int) -> list[ScoredPair]:
        """The pairs with the best scores, the best first."""
        return sorted(self._scored.values(), key=lambda one: -one.score)[:count]


def fingerprint(pair: Pair) -> str:
    """A short text that two pairs share only if they are equal, or each other's swap.

    >>> fingerprint(Pair([1.0], [])) == fingerprint(Pair([], [1.0]))
    True
    """
    sides = sorted((canonical(pair.data), canonical(pair.neighbour)))
    return hashlib.blake2b(" | ".join(sides).encode(), digest_size=10).hexdigest()


class RelationFinder:
    """A finder that searches a relation and remembers what it proposed.

    Finders that share a generator and a memory learn from each other's scores.
    """

    def __init__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> None:
        self.relation = relation
        self.structured = relation if isinstance(relation, Structured) else None
        self.rng = rng
        self.memory = Memory() if memory is None else memory
        self.prepare()

    def prepare(self) -> None:
        """Make what this kind of finder needs beside the relation and the memory."""

    def ask(self) -> Pair | None:
        """The first of a hundred proposals that is new; None if none is."""
        for _ in range(MAX_PROPOSALS):
            pair = self.propose()
            if pair is not None and self.memory.meet(pair):
                return pair
        return None

    def propose(self) -> Pair | None:
        """A pair, new or not; random unless a finder knows better. None if it finds none."""
        return self.relation.random_pair(self.rng)

    def tell(self, pair: Pair, score: float) -> None:
        """Remember the score. A pair that another finder proposed is not proposed again."""
        self.memory.tell(pair, score)
