"""The scheduler: which pair gets the next draws.

A pair that is earning now goes on until it stops. Otherwise half of the draws go to the pair with
the best score, and half to comparing pairs: every new pair gets a cheap look, the best third of
those gets three times as many draws, the best third of these again, and the others get no more
(asynchronous successive halving: Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht and Talwalkar
2020, "A system for massively parallel hyperparameter tuning"). None of this needs a statistical
correction: every draw is bet on with the one wealth of the audit.
"""

from __future__ import annotations

import math

import numpy as np

from dpaudit.betting import Book, PairBettor, Stake
from dpaudit.neighbours import Pair
from dpaudit.results import PairRecord

_FIRST_LOOK_SHARE = 40  # the first pair gets one part in 40 of the budget before others are met
_MIN_FIRST_LOOK, _MAX_FIRST_LOOK = 64, 3_000  # draws
_CHEAPEST_LOOK_SHARE = 24  # looks at later pairs shrink to one part in 24 of the first
_HALVING = 3  # one pair in three goes on, with three times the draws
_MAX_CANDIDATES = 32  # whose guessers are kept; the others stay in the record only
_EARNING_NATS = 1.0  # a pair with this log-wealth goes on as long as it gains
_CLOSE = 0.9  # a pair with this share of the best score counts as equally good


class Candidate:
    """A pair in play: its bettor, its stake in the wealth, and how it did."""

    def __init__(self, number: int, pair: Pair, bettor: PairBettor, stake: Stake) -> None:
        self.number = number
        self.pair = pair
        self.bettor = bettor
        self.stake = stake
        self.gain = 0.0  # nats at the claim, over its latest draws
        self.rung = -1  # how often it was promoted

    def log_wealth(self, place: int) -> float:
        """Its own wealth against the claim, as if it were the only pair."""
        return float(self.bettor.log_wealth[place])

    def score(self, book: Book, *, nats: float) -> float:
        """The highest level at which it earned this much: its privacy loss so far."""
        wealth = self.bettor.log_wealth
        earned = np.flatnonzero(wealth >= nats)
        if len(earned) == 0:
            return 0.0
        level = float(book.levels[earned[-1]])
        return float(wealth[earned[-1]]) if math.isnan(level) else level

    def record(self, place: int) -> PairRecord:
        """Its line in the history."""
        draws, wealth = self.bettor.draws, self.log_wealth(place)
        return PairRecord(
            pair=self.pair, samples=draws, log_wealth=wealth, growth=wealth / max(draws, 1)
        )


class Scheduler:
    """The pairs met so far, and which of them gets the next draws."""

    def __init__(self, book: Book, draws: int) -> None:
        self.candidates: list[Candidate] = []
        self.closed = False  # no new pair will come
        self.met = 0
        self.draws = draws  # about how many the whole search will make
        self._book = book
        self._reached: list[int] = []  # how many pairs reached each rung
        self._spent_comparing = self._spent_on_best = 0

    @property
    def _first_look(self) -> int:
        """Draws of the look at the first pair."""
        return min(max(self.draws // _FIRST_LOOK_SHARE, _MIN_FIRST_LOOK), _MAX_FIRST_LOOK)

    @property
    def _cheapest_look(self) -> int:
        first = self._first_look
        return max(first // _CHEAPEST_LOOK_SHARE, min(first, _MIN_FIRST_LOOK))

    @property
    def strongest(self) -> Candidate | None:
        """The pair that showed most."""
        return max(self.candidates, key=self._rank, default=None)

    def score(self, candidate: Candidate) -> float:
        """Its privacy loss so far, beyond what the luckiest of all pairs met would show."""
        return candidate.score(self._book, nats=1.0 + math.log(max(self.met, 1)))

    def is_earning(self, candidate: Candidate) -> bool:
        """Whether it has earned something against the claim."""
        return candidate.log_wealth(self._book.place) >= _EARNING_NATS

    def next(self) -> tuple[Candidate | None, int]:
        """Which pair gets how many draws next; None stands for a pair not met yet."""
        earning = [one for one in self.candidates if one.gain > 0.0 and self.is_earning(one)]
        if earning:
            return self._best_of(earning)
        look = self._look(max(self.met - 1, 0))
        short = (one for one in self.candidates if one.rung < 0 and one.bettor.draws < look)
        new = next(short, None)
        if new is not None:  # it got a draw or two, to see how long they take
            return self._comparing(new, look - new.bettor.draws)
        nothing_found = max(map(self.score, self.candidates), default=0.0) <= 0.0
        if self._spent_comparing <= self._spent_on_best or nothing_found:
            best = self._promotable()
            if best is not None:
                return self._comparing(
                    best, math.ceil(self._goal(best.rung + 1)) - best.bettor.draws
                )
            if not self.closed:
                return self._comparing(None, self._look(self.met))
        return self._best_of(self.candidates) if self.candidates else (None, 0)

    def enter(self, candidate: Candidate) -> None:
        """Add a new pair."""
        self.candidates.append(candidate)
        self.met += 1

    def drop(self, candidate: Candidate, unused: int) -> None:
        """Forget a pair as if it had never been met; `unused` draws were planned and not made."""
        self.candidates.remove(candidate)
        self.met -= 1
        self._spent_comparing -= unused

    def update(self, candidate: Candidate, before: float) -> None:
        """Rank a pair after its draws; `before` is the log-wealth that it had."""
        candidate.gain = candidate.log_wealth(self._book.place) - before
        while candidate.bettor.draws >= self._goal(candidate.rung + 1):
            candidate.rung += 1
            if candidate.rung == len(self._reached):
                self._reached.append(0)
            self._reached[candidate.rung] += 1
        if len(self.candidates) > _MAX_CANDIDATES:  # memory does not grow with the pairs
            self.candidates.remove(min(self.candidates, key=self._rank))

    def _comparing(self, candidate: Candidate | None, draws: int) -> tuple[Candidate | None, int]:
        self._spent_comparing += draws
        return candidate, draws

    def _look(self, met: int) -> int:
        """Draws of the first look at a pair, by the number of pairs met before it."""
        return max(int(self._first_look / math.sqrt(met + 1)), self._cheapest_look)

    def _goal(self, rung: int) -> float:
        """Draws that a pair has had when it reaches a rung."""
        return float(self._cheapest_look) * float(_HALVING) ** rung

    def _promotable(self) -> Candidate | None:
        """The best pair of the highest rung from which less than a third was promoted."""
        for rung in reversed(range(len(self._reached))):
            higher = self._reached[rung + 1] if rung + 1 < len(self._reached) else 0
            waiting = [one for one in self.candidates if one.rung == rung]
            if waiting and higher < self._reached[rung] // _HALVING:
                return max(waiting, key=self._rank)
        return None

    def _best_of(self, among: list[Candidate]) -> tuple[Candidate, int]:
        """The best score; among those close to it, the pair with the fewest draws."""
        best = max(map(self.score, among))
        close = [one for one in among if self.score(one) >= _CLOSE * best]
        chosen = min(close, key=lambda one: (one.bettor.draws, one.number))
        wanted = max(self._first_look, chosen.bettor.draws // 4)
        self._spent_on_best += wanted
        return chosen, wanted

    def _rank(self, candidate: Candidate) -> tuple[float, float, float, int]:
        """The loss shown; then the wealth at the lowest level: whether it shows anything at all.

        The wealth at the claim comes last: a pair on which nothing was ever bet has lost nothing.
        """
        lowest = float(candidate.bettor.log_wealth[0])
        claim = candidate.log_wealth(self._book.place)
        return self.score(candidate), lowest, claim, -candidate.number
