"""Choosers for tests, which answer the questions of domains and relations; and pairs of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from dpaudit.domains import Chooser, Unsuitable
from dpaudit.neighbours import Pair, Structured


class RandomChooser:
    """Answers at random, often at the ends, and remembers the questions."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.asked: list[str] = []

    def real(self, name: str, low: float, high: float) -> float:
        self.asked.append(name)
        assert math.isfinite(high - low)
        return float(self.rng.choice([low, high, low + self.rng.random() * (high - low)]))

    def whole(self, name: str, low: int, high: int) -> int:
        self.asked.append(name)
        return int(self.rng.integers(low, high, endpoint=True))

    def one_of(self, name: str, count: int) -> int:
        self.asked.append(name)
        return int(self.rng.integers(count))


@dataclass
class ScriptedChooser:
    """Gives the answers of a script, and remembers the questions, none of which comes twice."""

    answers: Mapping[str, float]
    asked: list[str] = field(default_factory=list)

    def real(self, name: str, low: float, high: float) -> float:
        return self._answer(name, low, high)

    def whole(self, name: str, low: int, high: int) -> int:
        return int(self._answer(name, low, high))

    def one_of(self, name: str, count: int) -> int:
        return int(self._answer(name, 0, count - 1))

    def _answer(self, name: str, low: float, high: float) -> float:
        assert name not in self.asked, f"{name} was asked twice"
        assert low < high, f"{name} leaves no choice"
        assert low <= self.answers[name] <= high, f"{name} in [{low}, {high}]"
        self.asked.append(name)
        return self.answers[name]


class LastChooser:
    """Always takes the last answer."""

    def real(self, name: str, low: float, high: float) -> float:
        return high

    def whole(self, name: str, low: int, high: int) -> int:
        return high

    def one_of(self, name: str, count: int) -> int:
        return count - 1


def chosen_pairs(relation: Structured, count: int, first_seed: int = 0) -> list[Pair]:
    """The pairs of this many random choosers, but for those that lead to none."""
    found = []
    for seed in range(first_seed, first_seed + count):
        chooser: Chooser = RandomChooser(seed)
        with suppress(Unsuitable):
            found.append(relation.choose(chooser))
    return found


def all_pairs(relation: Structured, count: int) -> list[Pair]:
    """The edges, and this many random and chosen pairs."""
    rng = np.random.default_rng(7)
    drawn = [relation.random_pair(rng) for _ in range(count)]
    return [*relation.edge_pairs(), *drawn, *chosen_pairs(relation, count)]
