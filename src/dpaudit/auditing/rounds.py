"""Fresh draws of both sides of a pair in rounds, and how often an event happens in each call.

A round is one call of the mechanism on each side, for equally many outputs. Its size is fixed
before it begins, and a generator of the audit's seed tosses which side comes first: a mechanism
that counts its calls cannot tell from the number of a call which side it is on. What was drawn is
what is counted. Without a limit of seconds every planned draw is made. With one, the clock may end
the rounds at any time, even between the two calls of a round; then only bounds that hold at every
number of draws at once are valid (`Tally.of(..., anytime=True)`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dpaudit.arrays import Labels
from dpaudit.auditing.budget import ROUND_SHARE, Budget
from dpaudit.mechanism import Call, Caller, Pending, asked_ahead
from dpaudit.neighbours import Pair
from dpaudit.outputs import Outputs, joined
from dpaudit.results import Tally

Fresh = Iterable[tuple[int, Outputs]]  # a side (0: data, 1: neighbour) and the outputs of one call

MIN_ROUNDS = 32  # of a certificate with at least as many draws a side: calls are compared
MAX_CALL = 8_192  # outputs
_PLANNED_SHARE = 0.9  # of the time left: draws may turn out slower than planned
_ORDER = 2  # the key of the tosses; the sides have the keys 0 and 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rounds:
    """`draws` fresh outputs of each side of a pair, call by call, in `at_least` rounds or more.

    `seed` is the audit's entropy and a key. A call is seeded by these, its side and the number of
    outputs drawn from that side before it, so the same seed and number of draws give the same
    outputs. With a limit of seconds the rounds end by a share of it, `by`; a call that would take
    too long is split.

    >>> from dpaudit.mechanism import CallsHere, as_mechanism
    >>> mechanism = as_mechanism(lambda data, size, rng: data[0] + rng.laplace(size=size))
    >>> rounds = Rounds(
    ...     caller=CallsHere(mechanism),
    ...     pair=Pair([1.0], [0.0]),
    ...     draws=24_000,
    ...     budget=Budget(48_000, None),
    ...     seed=(7, 1),
    ... )
    >>> counted = count_calls(lambda side, outputs: outputs > 0.5, rounds)
    >>> [len(calls) for calls in counted.calls], {draws for _, draws in counted.calls[0]}
    ([32, 32], {750})
    """

    caller: Caller
    pair: Pair
    draws: int
    budget: Budget
    seed: tuple[int, ...]
    at_least: int = MIN_ROUNDS
    by: float = 1.0

    def __iter__(self) -> Iterator[tuple[int, Outputs]]:
        """Draw round by round; each item is (side, outputs of one call)."""
        if self.budget.seconds is not None:
            yield from self._in_time()
            return
        for asked in asked_ahead(self._asked(), self.caller):
            with self.budget.spending(asked.size, key=(*self.seed, asked.side)):
                outputs = asked.call.outputs()
            yield asked.side, outputs

    def _asked(self) -> Iterator[_AskedCall]:
        """Ask for call after call. Without a limit of seconds all of them are known beforehand."""
        for side, made, size in self._rounds():
            yield _AskedCall(side, size, self._ask(side, size, made))

    def _in_time(self) -> Iterator[tuple[int, Outputs]]:
        """Draw as much as comes in time; what is wanted at once is shared among the workers."""
        for side, made, size in self._rounds():
            done = 0
            while done < size:
                now = self._timely(size - done, side)
                if now == 0:
                    return
                share = -(-now // max(self.caller.workers, 1))
                starts = range(0, now, share)
                asked = [
                    self._ask(side, min(share, now - start), made + done + start)
                    for start in starts
                ]
                with self.budget.spending(now, key=(*self.seed, side)):
                    received = [one.outputs() for one in asked]
                for outputs in received:
                    yield side, outputs
                done += now

    def _rounds(self) -> Iterator[tuple[int, int, int]]:
        """Side, draws before, and draws of every call, two calls a round."""
        tosses = np.random.default_rng(self._child(_ORDER))
        planned = max(min(self.at_least, self.draws), -(-self.draws // MAX_CALL))
        made, finished = 0, 0
        while made < self.draws:
            size = self._size(self.draws - made, planned, finished)
            first = int(tosses.integers(2))
            for side in (first, 1 - first):
                yield side, made, size
            made, finished = made + size, finished + 1

    def joined(self) -> tuple[Outputs, Outputs]:
        """All outputs at once: those of `data`, and those of its neighbour."""
        pieces: tuple[list[Outputs], list[Outputs]] = ([], [])
        for side, outputs in self:
            pieces[side].append(outputs)
        return joined(pieces[0]), joined(pieces[1])

    def _size(self, left: int, planned: int, finished: int) -> int:
        """How many outputs of each side the next round draws; at least one.

        With a limit of seconds, few enough for all planned rounds to come in time, about.
        """
        by = self.budget.until(_PLANNED_SHARE, by=self.by)
        in_time = self.budget.most_in_time(2 * left, by=by) // 2
        size = min(-(-in_time // max(planned - finished, 1)), -(-self.draws // planned))
        return max(min(self._timely(size, side, ROUND_SHARE) for side in (0, 1)), 1)

    def _timely(self, wanted: int, side: int, *share: float) -> int:
        return self.budget.timely(wanted, *share, key=(*self.seed, side), by=self.by)

    def _ask(self, side: int, size: int, made: int) -> Pending:
        data = (self.pair.data, self.pair.neighbour)[side]
        return self.caller.ask(Call(data=data, size=size, seed=self._child(side, made)))

    def _child(self, *key: int) -> np.random.SeedSequence:
        entropy, *begin = self.seed
        return np.random.SeedSequence(entropy, spawn_key=(*begin, *key))


@dataclass(frozen=True, slots=True)
class _AskedCall:
    side: int
    size: int
    call: Pending

    def cancel(self) -> None:
        self.call.cancel()


@dataclass(frozen=True, slots=True)
class CountedCalls:
    """How often an event happened: `(hits, draws)` of every call in order, for both sides.

    >>> counted = CountedCalls(([(3, 10), (2, 10)], [(0, 10)]))
    >>> counted.totals
    ((5, 20), (0, 10))
    """

    calls: tuple[list[tuple[int, int]], list[tuple[int, int]]]

    @property
    def totals(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Hits and draws of each side, all calls together."""
        data, neighbour = (
            (sum(hits for hits, _ in side), sum(draws for _, draws in side)) for side in self.calls
        )
        return data, neighbour

    def tallies(self, *, alpha: float, anytime: bool) -> tuple[Tally, Tally] | None:
        """The bounds of both sides; None if a side has no draws.

        Every certificate passes through here: a check of the calls belongs here too.
        """
        data, neighbour = self.totals
        if data[1] == 0 or neighbour[1] == 0:
            return None
        return (
            Tally.of(*data, alpha=alpha, anytime=anytime),
            Tally.of(*neighbour, alpha=alpha, anytime=anytime),
        )


def count_calls(holds: Callable[[int, Outputs], Labels], fresh: Fresh) -> CountedCalls:
    """Count an event call by call; `holds(side, outputs)` says which outputs are in it."""
    counted = CountedCalls(([], []))
    for side, outputs in fresh:
        hits = int(np.count_nonzero(holds(side, outputs)))
        counted.calls[side].append((hits, len(outputs)))
    return counted
