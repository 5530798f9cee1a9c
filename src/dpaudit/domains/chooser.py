"""A record or a pair as a series of named choices, whoever makes them.

A domain builds a record by asking a `Chooser` (`floats(0, 1)` asks for one real number), a relation
builds a pair. A random chooser gives a random pair; an optimiser that answers the same questions
searches the same space.
"""

from __future__ import annotations

from typing import Protocol


class Unsuitable(Exception):
    """The choices made so far lead to no record or pair: choose again."""


class Chooser(Protocol):
    """Answers questions. The same name asks the same question in every pair."""

    def real(self, name: str, low: float, high: float) -> float:
        """A real number in [low, high]."""

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number in [low, high]."""

    def one_of(self, name: str, count: int) -> int:
        """One of 0, 1, ..., count - 1, which have no order."""
