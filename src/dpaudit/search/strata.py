"""Answers that fill a range evenly: every stretch of it gets its turn, in no order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FIRST = 16  # strata of the first block
FINEST = 2**15  # strata before the filling begins anew
EDGES = 3  # one answer at an edge to so many others


class Strata:
    """Points of [0, 1), always one in a stratum that has none yet; now and then an edge.

    The range is cut into 16 strata, and each gets a point at a random place. Then every stratum is
    cut in two, and the half that is still empty gets a point; and so on, each round in shuffled
    order. After 1024 points no gap is wider than 2/1024, which random points need far longer for.

    >>> strata = Strata(7, edges=0)
    >>> sorted(int(16 * strata.take()) for _ in range(16)) == list(range(16))
    True
    """

    def __init__(self, seed: int, *, edges: int) -> None:
        self.seed = seed
        self.edges = edges
        self.taken = 0
        self._rng = np.random.default_rng(seed)
        self._points: NDArray[np.float64] = np.empty(0)  # one for each stratum, in their order
        self._block: NDArray[np.float64] = np.empty(0)
        self._place = 0

    def take(self) -> float:
        """The next answer: a point in [0, 1), or 1 + k for the edge number k."""
        while self._place >= len(self._block):
            self._refill()
        self._place += 1
        self.taken += 1
        return float(self._block[self._place - 1])

    def skip(self, count: int) -> None:
        """Go on as if so many answers had been taken."""
        for _ in range(count):
            self.take()

    def _refill(self) -> None:
        """The next round of points, mixed with the edges."""
        if not 0 < len(self._points) < FINEST:
            fresh = (np.arange(FIRST) + self._rng.random(FIRST)) / FIRST
            self._points = fresh
        else:
            strata = 2.0 * len(self._points)
            taken = np.floor(self._points * strata)
            empty = taken + 1.0 - 2.0 * (taken % 2.0)  # the other half of each
            fresh = (empty + self._rng.random(len(empty))) / strata
            self._points = np.sort(np.concatenate([self._points, fresh]))
        count = len(fresh) // EDGES if self.edges > 0 else 0
        edges = 1.0 + np.arange(count) % max(self.edges, 1)
        self._block = self._rng.permutation(np.concatenate([fresh, edges]))
        self._place = 0


class Rounds:
    """Options that have no order: every one comes up twice in a round, in shuffled order.

    Twice, so that neighbouring answers may be equal; the first one `more` times beyond that.

    >>> rounds = Rounds(7, count=3, more=1)
    >>> sorted(rounds.take() for _ in range(7))
    [0, 0, 0, 1, 1, 2, 2]
    """

    def __init__(self, seed: int, *, count: int, more: int = 0) -> None:
        self.seed = seed
        self.count = count
        self.more = more
        self.taken = 0
        self._rng = np.random.default_rng(seed)
        self._options = np.concatenate([np.zeros(more, np.int64), np.arange(2 * count) // 2])
        self._block: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def take(self) -> int:
        """The next option."""
        place = self.taken % len(self._options)
        if place == 0:
            self._block = self._rng.permutation(self._options)
        self.taken += 1
        return int(self._block[place])

    def skip(self, count: int) -> None:
        """Go on as if so many options had been taken."""
        for _ in range(count):
            self.take()
