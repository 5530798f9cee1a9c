"""What our finders have in common: a memory, no pair twice, a state to put away and take up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dpaudit.domains import decoded, encoded
from dpaudit.neighbours import Pair, Relation
from dpaudit.search.memory import Memory

TRIES = 100  # proposals in a row without a new pair before a finder gives up


class Search(ABC):
    """A finder with a memory, whose state can be saved; how it proposes is left open.

    Searches that share a generator and a memory learn from each other's scores.
    """

    name: ClassVar[str]

    def __init__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> None:
        self.relation = relation
        self.rng = rng
        self.memory = Memory() if memory is None else memory

    @abstractmethod
    def ask(self) -> Pair | None:
        """The next pair; None if there is nothing new to propose."""

    def tell(self, pair: Pair, score: float) -> None:
        """Remember the score. A pair that was tried elsewhere is not proposed again."""
        self.memory.tell(pair, score)

    def state(self) -> dict[str, Any]:
        """All it knows, as plain JSON values."""
        return {
            "finder": self.name,
            "rng": encoded(self.rng.bit_generator.state),
            "memory": self.memory.state(self.relation),
            "own": self.own_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where the finder stood whose state this is: the next pairs are the same."""
        check_state(state, self.name, {"finder", "rng", "memory", "own"})
        self.rng.bit_generator.state = decoded(state["rng"])
        self.memory.restore(state["memory"], self.relation)
        self.restore_own(state["own"])

    def own_state(self) -> dict[str, Any]:
        """What it knows beyond the generator and the memory."""
        return {}

    def restore_own(self, state: dict[str, Any]) -> None:  # noqa: B027 -- not all have a state
        """Take up what `own_state` gave."""


def first_new(propose: Callable[[], Pair | None], memory: Memory) -> Pair | None:
    """The first proposal that is new; None if none of a hundred is."""
    for _ in range(TRIES):
        pair = propose()
        if pair is not None and memory.meet(pair):
            return pair
    return None


def check_state(state: dict[str, Any], name: str, fields: set[str]) -> None:
    """Refuse the state of another finder, or of another version."""
    if state.get("finder") != name:
        raise ValueError(f"this is the finder {name!r}, got the state of {state.get('finder')!r}.")
    if state.keys() != fields:
        raise ValueError(
            f"the state of {name!r} must have {sorted(fields)}, got {sorted(state)}. "
            "Was it saved by another version of dpaudit?"
        )
