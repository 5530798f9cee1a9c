"""The race: which pair gets the next draws.

A pair that is earning right now goes on until it stops. Else half of the draws go to the pair that
promises most, and half are raced for: every new pair gets a cheap look, the best third of those
that had one gets three times as many draws, the best third of these again, and the others get no
more (asynchronous successive halving: Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht and
Talwalkar 2020, "A system for massively parallel hyperparameter tuning"). None of this needs a
statistical correction: every draw is bet on with the one wealth of the audit.
"""

from __future__ import annotations

import math

import numpy as np

from dpaudit.betting import Book, PairBettor, Stake
from dpaudit.neighbours import Pair
from dpaudit.results import PairRecord

_LOOKS = 40  # the first pair gets about this part of the budget before others are looked at
_FEWEST, _MOST = 64, 3_000  # draws of the first look at the first pair
_CHEAPEST = 24  # the look at later pairs shrinks to this part of the first
_BEST = 3  # one pair of so many goes on, with so many times the draws
_REMEMBERED = 32  # pairs whose experts are kept; the others stay in the record only
_EARNING = 1.0  # nats: a pair with as much on paper is pressed as long as it gains
_CLOSE = 0.9  # a pair scoring so much of the best one is as promising


class Contender:
    """One pair in the race: its bettor, its stake in the wealth, and how it did."""

    def __init__(self, number: int, pair: Pair, bettor: PairBettor, stake: Stake) -> None:
        self.number = number
        self.pair = pair
        self.bettor = bettor
        self.stake = stake
        self.gain = 0.0  # nats at the claim, over the last time it got draws
        self.rung = -1  # how often it has won

    def log_wealth(self, place: int) -> float:
        """Its own wealth against the claim, on paper."""
        return float(self.bettor.log_wealth[place])

    def score(self, book: Book, *, nats: float) -> float:
        """The highest level at which it has earned so many nats: its privacy loss so far."""
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


class Race:
    """The pairs met so far, and whose turn it is."""

    def __init__(self, book: Book, draws: int) -> None:
        self.contenders: list[Contender] = []
        self.over = False  # nobody new will come
        self.met = 0
        self.draws = draws  # to be made in all, about
        self._book = book
        self._reached: list[int] = []  # how many pairs have reached each rung
        self._raced = self._pressed = 0

    @property
    def _first(self) -> int:
        """Draws of the look at the first pair."""
        return min(max(self.draws // _LOOKS, _FEWEST), _MOST)

    @property
    def _cheapest(self) -> int:
        """Draws of the cheapest look."""
        return max(self._first // _CHEAPEST, min(self._first, _FEWEST))

    @property
    def strongest(self) -> Contender | None:
        """The pair that showed most."""
        return max(self.contenders, key=self._promise, default=None)

    def score(self, contender: Contender) -> float:
        """Its privacy loss so far, beyond what the luckiest of all pairs met would show."""
        return contender.score(self._book, nats=1.0 + math.log(max(self.met, 1)))

    def is_hopeful(self, contender: Contender) -> bool:
        """Whether it has earned something against the claim."""
        return contender.log_wealth(self._book.place) >= _EARNING

    def turn(self) -> tuple[Contender | None, int]:
        """Who gets the next draws, and how many; None stands for a pair not met yet."""
        earning = [one for one in self.contenders if one.gain > 0.0 and self.is_hopeful(one)]
        if earning:
            return self._press(earning)
        look = self._look(max(self.met - 1, 0))
        short = (one for one in self.contenders if one.rung < 0 and one.bettor.draws < look)
        new = next(short, None)
        if new is not None:  # it has had a draw or two, to see how long they take
            wanted = look - new.bettor.draws
            self._raced += wanted
            return new, wanted
        promising = max(map(self.score, self.contenders), default=0.0) > 0.0
        if self._raced <= self._pressed or not promising:
            best = self._promotable()
            if best is not None:
                wanted = math.ceil(self._goal(best.rung + 1)) - best.bettor.draws
                self._raced += wanted
                return best, wanted
            if not self.over:
                wanted = self._look(self.met)
                self._raced += wanted
                return None, wanted
        return self._press(self.contenders) if self.contenders else (None, 0)

    def enter(self, contender: Contender) -> None:
        """A new pair takes part."""
        self.contenders.append(contender)
        self.met += 1

    def drop(self, contender: Contender, unused: int) -> None:
        """A pair takes part no more, as if it had never been met; so many draws it did not use."""
        self.contenders.remove(contender)
        self.met -= 1
        self._raced -= unused

    def judge(self, contender: Contender, before: float) -> None:
        """Look at a pair after its draws; `before` is the log-wealth that it had."""
        contender.gain = contender.log_wealth(self._book.place) - before
        while contender.bettor.draws >= self._goal(contender.rung + 1):
            contender.rung += 1
            if contender.rung == len(self._reached):
                self._reached.append(0)
            self._reached[contender.rung] += 1
        if len(self.contenders) > _REMEMBERED:  # memory does not grow with the pairs
            self.contenders.remove(min(self.contenders, key=self._promise))

    def _look(self, met: int) -> int:
        """Draws of the first look at a pair, if so many were met before it."""
        return max(int(self._first / math.sqrt(met + 1)), self._cheapest)

    def _goal(self, rung: int) -> float:
        """Draws that a pair has had when it has reached a rung."""
        return float(self._cheapest) * float(_BEST) ** rung

    def _promotable(self) -> Contender | None:
        """The best pair of the highest rung of which less than a third has gone on."""
        for rung in reversed(range(len(self._reached))):
            higher = self._reached[rung + 1] if rung + 1 < len(self._reached) else 0
            waiting = [one for one in self.contenders if one.rung == rung]
            if waiting and higher < self._reached[rung] // _BEST:
                return max(waiting, key=self._promise)
        return None

    def _press(self, among: list[Contender]) -> tuple[Contender, int]:
        """The best score; among those close to it, the one with the fewest draws."""
        best = max(map(self.score, among))
        close = [one for one in among if self.score(one) >= _CLOSE * best]
        chosen = min(close, key=lambda one: (one.bettor.draws, one.number))
        wanted = max(self._first, chosen.bettor.draws // 4)
        self._pressed += wanted
        return chosen, wanted

    def _promise(self, contender: Contender) -> tuple[float, float, float, int]:
        """The loss shown; then the wealth at the lowest level: whether it shows anything at all.

        The wealth at the claim comes last: a pair on which nothing was ever bet has lost nothing.
        """
        lowest = float(contender.bettor.log_wealth[0])
        claim = contender.log_wealth(self._book.place)
        return self.score(contender), lowest, claim, -contender.number
