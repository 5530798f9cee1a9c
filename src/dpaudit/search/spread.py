"""The finder "spread": pairs that fill the space evenly, no stretch of a range left out."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import numpy as np

from dpaudit.domains import Unsuitable
from dpaudit.neighbours import Pair, Relation, Structured
from dpaudit.search.memory import Memory
from dpaudit.search.searching import Search, first_new
from dpaudit.search.strata import Rounds, Strata

TRIES = 20  # choices that lead to no pair before a random one is taken
RECORD = re.compile(r"^(?:record|replacement)\b(?: again)?")
INDEX = re.compile(r"(?<=\[)\d+(?=\])| \d+\b")


class SpreadChooser:
    """Answers every question with the value that has waited longest, so to speak.

    All records share one sequence of values for each of their parts, whatever their place and
    whichever side they are on: a value that matters is tried soon, wherever it lands.

    >>> chooser = SpreadChooser(np.random.default_rng(7))
    >>> answers = [chooser.real(f"record {place}", 0.0, 1.0) for place in range(21)]
    >>> {int(16 * answer) for answer in answers} >= set(range(16))
    True
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._strata: dict[str, Strata] = {}
        self._rounds: dict[str, Rounds] = {}

    def real(self, name: str, low: float, high: float) -> float:
        middle = low / 2 + high / 2
        edges = list(dict.fromkeys([low, high, *([0.0] if low < 0.0 < high else []), middle]))
        taken = self._take(f"{kind(name)} real {low!r} {high!r}", len(edges))
        if taken >= 1.0:
            return edges[int(taken) - 1]
        return min(max((1.0 - taken) * low + taken * high, low), high)

    def whole(self, name: str, low: int, high: int) -> int:
        middle = (low + high) // 2
        plain = [number for number in (0, 1) if low < number < high]
        edges = list(dict.fromkeys([low, high, *plain, middle]))
        taken = self._take(f"{kind(name)} whole {low} {high}", len(edges))
        if taken >= 1.0:
            return edges[int(taken) - 1]
        return min(low + int(taken * (high - low + 1)), high)

    def one_of(self, name: str, count: int) -> int:
        question = f"{kind(name)} one_of {count}"
        if question not in self._rounds:
            # How records lie, not what they are: the first way (each its own) tries most values.
            more = 0 if question.startswith("record") else 2
            self._rounds[question] = Rounds(self._seed(), count=count, more=more)
        return self._rounds[question].take()

    def state(self) -> dict[str, Any]:
        """How far every sequence came, as plain JSON values."""
        return {
            "strata": {
                name: [one.seed, one.taken, one.edges] for name, one in self._strata.items()
            },
            "rounds": {
                name: [one.seed, one.taken, one.count, one.more]
                for name, one in self._rounds.items()
            },
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the sequences where they stood."""
        self._strata, self._rounds = {}, {}
        for name, (seed, taken, edges) in state["strata"].items():
            self._strata[name] = Strata(seed, edges=edges)
            self._strata[name].skip(taken)
        for name, (seed, taken, count, more) in state["rounds"].items():
            self._rounds[name] = Rounds(seed, count=count, more=more)
            self._rounds[name].skip(taken)

    def _take(self, question: str, edges: int) -> float:
        if question not in self._strata:
            self._strata[question] = Strata(self._seed(), edges=edges)
        return self._strata[question].take()

    def _seed(self) -> int:
        return int(self._rng.integers(2**63))


class SpreadFinder(Search):
    """Proposes pairs whose records fill the domain evenly; edges come up all the time.

    This finds a bug that shows at one value only, wherever that is. A relation that answers no
    choices (`Structured` ones do) gets random pairs.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> relation = replace_one(floats(0, 1), max_records=3)
    >>> finder = SpreadFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """

    name = "spread"

    def __init__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> None:
        super().__init__(relation, rng, memory)
        self._chooser = SpreadChooser(rng)
        self._structured = relation if isinstance(relation, Structured) else None

    def ask(self) -> Pair | None:
        return first_new(self.propose, self.memory)

    def propose(self) -> Pair:
        """A pair that may have been met before."""
        if self._structured is not None:
            for _ in range(TRIES):
                with suppress(Unsuitable):
                    return self._structured.choose(self._chooser)
        return self.relation.random_pair(self.rng)

    def own_state(self) -> dict[str, Any]:
        return self._chooser.state()

    def restore_own(self, state: dict[str, Any]) -> None:
        self._chooser.restore(state)


def kind(name: str) -> str:
    """The question without its place: records at any place, and their replacements, are alike.

    >>> kind("record 3[2].age") == kind("replacement[0].age")
    True
    >>> kind("place"), kind("record 3") == kind("place")
    ('place', False)
    """
    return INDEX.sub("", RECORD.sub("record", name))
