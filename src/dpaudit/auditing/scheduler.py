"""The scheduler: which pair gets the next draws.

A pair that is earning now goes on until it stops. Otherwise half of the draws go to the pair that
promises most, and half to comparing pairs: every new pair gets a cheap look, the best third of
those gets three times as many draws, the best third of these again, and the others get no more
(asynchronous successive halving: Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht and Talwalkar
2020, "A system for massively parallel hyperparameter tuning"). None of this needs a statistical
correction: every draw is bet on with the one wealth of the audit.

What a pair promises is its excess over the claim, not what it has earned: a pair exactly at its
claim earns for ever at the levels below and never at the claim. No pair gets more than a quarter of
the draws before it has earned at the claim.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from dpaudit.auditing.shards import Shards
from dpaudit.betting import Book, PairBettor, Stake, compared_levels
from dpaudit.neighbours import Pair
from dpaudit.results import PairRecord

_FIRST_LOOK_SHARE = 40  # the first pair gets one part in 40 of the budget before others are met
_MIN_FIRST_LOOK, _MAX_FIRST_LOOK = 64, 3_000  # draws
_CHEAPEST_LOOK_SHARE = 24  # looks at later pairs shrink to one part in 24 of the first
_HALVING = 3  # one pair in three goes on, with three times the draws
_MAX_CANDIDATES = 32  # whose guessers are kept; the others stay in the record only
_EARNING_NATS = 1.0  # a pair with this log-wealth goes on as long as it gains
_CLOSE = 0.9  # a pair with this share of the best score counts as equally good
_MAX_SHARE = 0.25  # of the draws, for a pair that has not earned at the claim
_PATIENCE_SHARE = 16  # after one part in 16 of the draws a score without a promise counts half
_SLACK = 3.0  # in roots of nats: what learning and bad luck may have cost at the claim


class Candidate:
    """A pair in play: its draws, its bettor, its stake in the wealth, and how it did."""

    def __init__(
        self, number: int, pair: Pair, shards: Shards, bettor: PairBettor, stake: Stake
    ) -> None:
        self.number = number
        self.pair = pair
        self.shards = shards
        self.bettor = bettor
        self.stake = stake
        self.gain = 0.0  # nats at the claim, over its latest draws
        self.rung = -1  # how often it was promoted

    def log_wealth(self, place: int) -> float:
        """Its own wealth against the claim, as if it were the only pair."""
        return float(self.bettor.log_wealth[place])

    def shown(self, book: Book, *, nats: float) -> float:
        """The highest level at which it earned this much: its privacy loss so far."""
        wealth = self.bettor.log_wealth
        earned = np.flatnonzero(wealth >= nats)
        if len(earned) == 0:
            return 0.0
        level = float(book.levels[earned[-1]])
        return float(wealth[earned[-1]]) if math.isnan(level) else level

    def excess(self, book: Book, *, nats: float) -> float:
        """How far its loss seems to exceed the claim, by its growth there beyond `nats`.

        A growth of `g` nats a draw is what an excess of about `sqrt(8 g)` gives where both sides
        are about equally likely; an excess in delta alone has its growth, too. Along the levels the
        root of the growth falls in about a straight line, so that two low levels foretell the
        claim's after few draws. With more draws the claim's own wealth decides: a pair at its claim
        has spent them and earned nothing.
        """
        draws, place, wealth = self.bettor.draws, book.place, self.bettor.log_wealth
        if draws == 0:
            return 0.0
        roots = np.sqrt(np.maximum(wealth - nats, 0.0))
        low, middle = compared_levels(place)
        foretold = roots[place]
        if low < middle and roots[middle] > 0.0:
            ahead = book.levels[place] - book.levels[middle]
            slope = (roots[middle] - roots[low]) / (book.levels[middle] - book.levels[low])
            foretold = max(foretold, roots[middle] + slope * ahead)
        own = wealth[place]
        most = math.copysign(math.sqrt(abs(own)), own) + _SLACK
        return float(math.sqrt(8.0 / draws) * max(min(foretold, most), 0.0))

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
        self._reached: Counter[int] = Counter()  # how many pairs reached each rung
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

    @property
    def _luck(self) -> float:
        """The nats that the luckiest of all pairs met may have earned."""
        return 1.0 + math.log(max(self.met, 1))

    def score(self, candidate: Candidate) -> float:
        """Its privacy loss so far, and the excess that it promises, both beyond luck."""
        return candidate.shown(self._book, nats=self._luck) + self._promise(candidate)

    def is_earning(self, candidate: Candidate) -> bool:
        """Whether it has earned something against the claim."""
        return candidate.log_wealth(self._book.place) >= _EARNING_NATS

    def next(self) -> tuple[Candidate | None, int]:
        """Which pair gets how many draws next; None stands for a pair not met yet."""
        open_ones = [one for one in self.candidates if self._may_go_on(one)]
        earning = [one for one in open_ones if one.gain > 0.0 and self.is_earning(one)]
        if earning:
            return self._best_of(earning)
        look = self._look(max(self.met - 1, 0))
        short = (one for one in self.candidates if one.rung < 0 and one.bettor.draws < look)
        new = next(short, None)
        if new is not None:  # it got a draw or two, to see how long they take
            return self._comparing(new, look - new.bettor.draws)
        worth = [one for one in open_ones if self.score(one) > 0.0]
        if not worth or self._spent_comparing <= self._spent_on_best:
            best = self._promotable(open_ones)
            if best is not None:
                return self._comparing(
                    best, math.ceil(self._goal(best.rung + 1)) - best.bettor.draws
                )
            if not self.closed:
                return self._comparing(None, self._look(self.met))
        # Once all pairs are met, one that has shown nothing yet may still be the one that leaks.
        among = ([] if self.closed else worth) or open_ones or self.candidates
        return self._best_of(among) if among else (None, 0)

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
            self._reached[candidate.rung] += 1
        if len(self.candidates) > _MAX_CANDIDATES:  # memory does not grow with the pairs
            strongest = self.strongest
            others = [one for one in self.candidates if one is not strongest]
            self.candidates.remove(min(others, key=self._prospect))

    def _comparing(self, candidate: Candidate | None, draws: int) -> tuple[Candidate | None, int]:
        self._spent_comparing += draws
        return candidate, draws

    def _look(self, met: int) -> int:
        """Draws of the first look at a pair, by the number of pairs met before it."""
        return max(int(self._first_look / math.sqrt(met + 1)), self._cheapest_look)

    def _goal(self, rung: int) -> float:
        """Draws that a pair has had when it reaches a rung."""
        return float(self._cheapest_look) * float(_HALVING) ** rung

    def _promotable(self, among: list[Candidate]) -> Candidate | None:
        """The best pair of the highest rung above which there is room.

        Of all pairs met one in three may be above the first rung, one in nine above the second, and
        so on, whether they got there by comparing or as the best.
        """
        for rung in reversed(range(max((one.rung for one in among), default=-1) + 1)):
            waiting = [one for one in among if one.rung == rung]
            if waiting and self._reached[rung + 1] < self.met // _HALVING ** (rung + 1):
                return max(waiting, key=self._prospect)
        return None

    def _may_go_on(self, candidate: Candidate) -> bool:
        """Whether it has earned at the claim, or had less than its share of the draws."""
        if candidate.log_wealth(self._book.place) >= self._luck or len(self.candidates) == 1:
            return True
        return candidate.bettor.draws + self._more(candidate) <= _MAX_SHARE * self.draws

    def _best_of(self, among: list[Candidate]) -> tuple[Candidate, int]:
        """The pair that foretells most; among those close to it, the one with the fewest draws.

        Where none foretells an excess it is the one that has shown most with few draws, and once
        all pairs are met the one with the fewest draws: the excess may take many draws to show.
        """
        best = max(map(self._foretold, among))
        if best > 0.0:
            among = [one for one in among if self._foretold(one) >= _CLOSE * best]
        elif not self.closed:
            best = max(map(self._fresh_score, among))
            among = [one for one in among if self._fresh_score(one) >= _CLOSE * best]
        if best > 0.0 or self.closed:
            chosen = min(among, key=lambda one: (one.bettor.draws, one.number))
        else:  # nothing tells them apart but how they were ranked when they were compared
            least = min(one.rung for one in among)
            chosen = max((one for one in among if one.rung == least), key=self._prospect)
        wanted = self._more(chosen)
        self._spent_on_best += wanted
        return chosen, wanted

    def _more(self, candidate: Candidate) -> int:
        """Draws that it gets next if it is the best."""
        return max(self._first_look, candidate.bettor.draws // 4)

    def _promise(self, candidate: Candidate) -> float:
        """Its excess over the claim beyond the luck of all pairs met."""
        return candidate.excess(self._book, nats=self._luck)

    def _foretold(self, candidate: Candidate) -> float:
        """Its excess over the claim, as far as it can be told: to compare pairs needs no luck."""
        return candidate.excess(self._book, nats=0.0)

    def _fresh_score(self, candidate: Candidate) -> float:
        """Its score, which counts for less the more draws it had without promising anything."""
        patience = max(self.draws / _PATIENCE_SHARE, self._first_look)
        return self.score(candidate) / (1.0 + candidate.bettor.draws / patience)

    def _prospect(self, candidate: Candidate) -> tuple[float, float, float, float, int]:
        """What it promises at the claim; then what it has shown."""
        return self._foretold(candidate), self._fresh_score(candidate), *self._rank(candidate)[1:]

    def _rank(self, candidate: Candidate) -> tuple[float, float, float, int]:
        """The loss shown; then the wealth at the lowest level: whether it shows anything at all.

        The wealth at the claim comes last: a pair on which nothing was ever bet has lost nothing.
        """
        lowest = float(candidate.bettor.log_wealth[0])
        claim = candidate.log_wealth(self._book.place)
        return self.score(candidate), lowest, claim, -candidate.number
