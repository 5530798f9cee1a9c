"""What sequential testers share: evidence pair by pair, in the order in which pairs are given.

They are batch testers too. As such they bound no divergence: the "lower bound" is the most evidence
that any number of pairs gave, and what a claim allows is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpaudit.architecture import SequentialTester
from dpaudit.claims import Claim
from dpaudit.guessing import Samples, in_pairs
from dpaudit.outputs import Table
from dpaudit.testers.tester import Rng


class PairByPair(SequentialTester):
    """A tester with evidence after every pair, which accuses once it is positive."""

    __slots__ = ()
    most_pairs: int

    def _evidence(self, rows: Table, claim: Claim, *, alpha: float) -> Iterator[float]:
        """The evidence after each pair, which depends on that pair and those before it alone.

        The rows of pair t are 2t and 2t + 1. It may end early where the answer is beyond doubt.
        """
        raise NotImplementedError

    def threshold(self, claim: Claim) -> float:
        """0: any positive evidence accuses."""
        claim.delta(0.0)
        return 0.0

    def lower_bound(
        self, outputs: Samples, neighbour_outputs: Samples, claim: Claim, *, alpha: float, rng: Rng
    ) -> float:
        """The largest evidence after any number of pairs."""
        return max(self._path(outputs, neighbour_outputs, claim, alpha), default=-math.inf)

    def pairs_until_accused(
        self, outputs: Samples, neighbour_outputs: Samples, claim: Claim, *, alpha: float, rng: Rng
    ) -> int | None:
        """After how many pairs the evidence is positive for the first time; None if never."""
        path = enumerate(self._path(outputs, neighbour_outputs, claim, alpha), start=1)
        return next((pairs for pairs, evidence in path if evidence > 0.0), None)

    def _path(
        self, outputs: Samples, neighbour_outputs: Samples, claim: Claim, alpha: float
    ) -> Iterator[float]:
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha must be in (0, 1), got {alpha!r}.")
        rows = in_pairs(outputs, neighbour_outputs, most=self.most_pairs)
        return self._evidence(rows, claim, alpha=alpha)


def check_pairs(name: str, value: int) -> None:
    """Refuse a number of pairs below 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {value!r}.")
