"""Which pairs get a trial: not those on which both sides only raise errors.

The alpha of a batch tester is shared among trials, and a trial whose pair turns out to raise at
every draw has used up its share: what is tested must not depend on what came of it. So once a draw
has raised an error, pairs are looked at before they get a trial, with draws that are not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

from dpaudit.auditing.run import Run, Stream
from dpaudit.mechanism import FailingPairs, noting
from dpaudit.neighbours import Pair
from dpaudit.outputs import Outputs
from dpaudit.search import Finder

_LOOK_DRAWS = 8  # of each side of a pair, not tested
_MAX_LOOKS = 100  # in a row that found nothing but errors, before the search is given up


class TrialPairs:
    """The pairs of a finder that are worth a trial, and what became of the others."""

    def __init__(self, run: Run, finder: Finder) -> None:
        single = isinstance(finder, Sized) and len(finder) == 1
        self._failing = FailingPairs(None if single else run.mechanism.errors)
        self._run = run
        self._finder = finder
        self._asked = 0
        self._waiting: list[Pair] = []  # their errors differ, and no dataset gave an output yet

    def next(self) -> Pair | None:
        """The next pair for a trial; None if there is none."""
        for _ in range(_MAX_LOOKS):
            if self._failing.is_hopeless:
                return None
            if self._waiting and not self._failing.waits_for_output:
                return self._waiting.pop(0)
            pair = self._finder.ask()
            if pair is None:
                return None
            self._asked += 1
            if not self._failing.any_error:
                return pair
            if self._run.budget.allows(2 * _LOOK_DRAWS) < 2 * _LOOK_DRAWS:
                self._asked -= 1
                return None
            if not self._looks_fruitless(pair):
                return pair
        return None

    def see(self, number: int, outputs: Outputs, neighbour_outputs: Outputs) -> bool:
        """Note the draws of a trial; whether more of them would be useless."""
        self._failing.see(number, outputs, data=len(outputs), neighbour=0)
        self._failing.see(number, neighbour_outputs, data=0, neighbour=len(neighbour_outputs))
        return self._failing.is_fruitless(number)

    def leave(self, number: int, pair: Pair) -> bool:
        """Whether a pair is set aside, for good or until some dataset has given an output."""
        if not self._failing.is_fruitless(number):
            return False
        if self._failing.shows_nothing(number):
            self._failing.set_aside(number, pair)
        else:
            self._waiting.append(pair)
        self._finder.tell(pair, 0.0)
        return True

    @contextmanager
    def in_use(self, accused: Callable[[], bool]) -> Iterator[None]:
        """Make trials inside; at the end warn of pairs set aside, also when interrupted.

        The first error is raised if (nearly) all pairs gave nothing else. `accused` says whether a
        trial has accused the claim.
        """
        try:
            yield
            spent = self._run.budget.spent
            self._failing.raise_if_fruitless(self._asked, spent, refuted=accused())
        finally:
            with noting(self._run.warnings):
                self._failing.warn(self._asked)

    def _looks_fruitless(self, pair: Pair) -> bool:
        number = -self._asked  # trials have the numbers above 0
        data, neighbour = (
            self._look(data, side) for side, data in enumerate((pair.data, pair.neighbour))
        )
        return self.see(number, data, neighbour) and self.leave(number, pair)

    def _look(self, data: Any, side: int) -> Outputs:
        seed = self._run.seed(Stream.LOOK, self._asked, side)
        with noting(self._run.warnings):
            return self._run.draw(data, _LOOK_DRAWS, seed, key=-self._asked)
