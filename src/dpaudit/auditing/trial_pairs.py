"""Which pairs get a trial: not those on which both sides only raise.

A batch tester's alpha is shared out to trials, and a trial whose pair turned out to raise at every
draw has used up its share: what is tested must not depend on what came of it. So once a draw has
raised, pairs are looked at before they get a trial, with draws that are not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpaudit.auditing.budget import Budget
from dpaudit.mechanism import FailingPairs, Mechanism, draw_side, noting
from dpaudit.neighbours import Pair
from dpaudit.outputs import Outputs
from dpaudit.search import Finder

_LOOK = 8  # draws of either side of a pair, not tested
_IN_A_ROW = 100  # looks that found nothing but errors, before the search is given up


class TrialPairs:
    """The pairs of a finder that are worth a trial, and what became of the others."""

    def __init__(
        self,
        finder: Finder,
        mechanism: Mechanism,
        budget: Budget,
        entropy: int,
        notes: list[str],
    ) -> None:
        alone = isinstance(finder, Sized) and len(finder) == 1
        self._raising = FailingPairs(None if alone else mechanism.errors)
        self._finder = finder
        self._mechanism = mechanism
        self._budget = budget
        self._entropy = entropy
        self._notes = notes
        self._asked = 0
        self._waiting: list[Pair] = []  # their errors differ, and no dataset gave an output yet

    def next(self) -> Pair | None:
        """The next pair for a trial; None if there is none."""
        for _ in range(_IN_A_ROW):
            if self._raising.is_hopeless:
                return None
            if self._waiting and not self._raising.waits_for_output:
                return self._waiting.pop(0)
            pair = self._finder.ask()
            if pair is None:
                return None
            self._asked += 1
            if not self._raising.any_error:
                return pair
            if self._budget.allows(2 * _LOOK) < 2 * _LOOK:
                self._asked -= 1
                return None
            if not self._looks_fruitless(pair):
                return pair
        return None

    def see(self, number: int, outputs: Outputs, neighbour_outputs: Outputs) -> bool:
        """Take note of draws of a trial; whether more of them would be of no use."""
        self._raising.see(number, outputs, data=len(outputs), neighbour=0)
        self._raising.see(number, neighbour_outputs, data=0, neighbour=len(neighbour_outputs))
        return self._raising.is_fruitless(number)

    def leave(self, number: int, pair: Pair) -> bool:
        """Whether a pair is left alone, for good or until some dataset has given an output."""
        if not self._raising.is_fruitless(number):
            return False
        if self._raising.shows_nothing(number):
            self._raising.set_aside(number, pair)
        else:
            self._waiting.append(pair)
        self._finder.tell(pair, 0.0)
        return True

    @contextmanager
    def in_use(self, refuted: Callable[[], bool]) -> Iterator[None]:
        """Make trials; in the end say how many pairs were left alone, also when interrupted.

        The first error is raised if (nearly) all pairs gave nothing else. `refuted` says whether a
        trial has refuted the claim.
        """
        try:
            yield
            spent = self._budget.spent
            self._raising.raise_if_fruitless(self._asked, spent, refuted=refuted())
        finally:
            with noting(self._notes):
                self._raising.warn(self._asked)

    def _looks_fruitless(self, pair: Pair) -> bool:
        number = -self._asked  # trials have the numbers above 0
        data, neighbour = (
            self._look(data, side) for side, data in enumerate((pair.data, pair.neighbour))
        )
        return self.see(number, data, neighbour) and self.leave(number, pair)

    def _look(self, data: Any, side: int) -> Outputs:
        seed = np.random.SeedSequence(self._entropy, spawn_key=(10, self._asked, side))
        with noting(self._notes), self._budget.spending(_LOOK, of=-self._asked):
            return draw_side(self._mechanism, data, _LOOK, seed)
