"""One pair, one bettor: guess, bet, look at the label, learn; in that order.

Everything a bet uses (guess, stake, cap) was fixed by earlier batches, so under the claim every
payoff has mean at most 1, and the product of payoffs is a wealth that reaches `w` with probability
at most `1/w`, whenever one looks (Ville 1939).

The claim and each level around it have several bets, each with guesses of its own: first the
average of all guessers, then every guesser. The wealth of the level is the mean of theirs, so that
one guesser that learns slowly or guesses too boldly does not ruin the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.betting.account import COARSE_SHARES, FINE_SHARES, levels_around, open_levels
from dpaudit.betting.crossing import first_crossing
from dpaudit.betting.payoffs import MixedBet, Tangents, tune
from dpaudit.betting.tuning_rows import TuningRows
from dpaudit.claims import Claim, Scalable, point_of
from dpaudit.guessing import Ensemble, LabelledRows, Past
from dpaudit.outputs import CellReader, CountedOutputs, Encoder, Table

FIRST_BATCH = 8  # draws that are only learned from
LARGEST_BATCH = 65_536
_MAX_PAYOFFS = 2**21  # of a batch: one for each bet, open level and row
# By how much the past grows before the guessers learn again: (past below, growth).
_GROWTH_STEPS = ((500, 0.1), (4_096, 0.15), (16_384, 0.2), (float("inf"), 0.3))
_AVERAGE_SHARE, _COARSE_SHARE = 0.4, 0.2  # of the wealth of a level: the average, each coarse bins


class Book(Protocol):
    """Bets as functions of the guess: tuned on the past, paid on the next batch.

    `levels` are strengths of the claim in rising order, `levels[place]` its own. Only `active`
    levels are bet on. Those that are not open yet follow the claim: who keeps a lower level keeps
    the claim too. On the others the wealth stays as it is.
    """

    levels: Floats
    place: int
    active: Index
    following: Index

    def bets(self, guessers: int) -> int:
        """How many bets a level has with this number of guessers."""

    def tune(self, average: Floats, guesses: Floats, mass: Floats, settled: int) -> None:
        """Fit all bets to guesses like these; `settled` low levels are refuted already."""

    def log_payoffs(self, average: Floats, guesses: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`, by bet, active level and output."""


def book_for(claim: Claim) -> Book:
    """Fresh bets against a claim."""
    point = point_of(claim)
    return MixedBook(claim) if point is None else TangentBook(*point)


class TangentBook:
    """`(epsilon, delta)`-DP: the closed-form bet, by the average and by every guesser."""

    _AHEAD = 4  # levels above the settled ones that are bet on, past the claim

    def __init__(self, epsilon: float, delta: float) -> None:
        self.levels, self.place = levels_around(epsilon, shares=FINE_SHARES, ratio=1.02)
        self._open(0)
        self._delta = np.full(len(self.levels), delta)
        self._average: Tangents | None = None
        self._single: Tangents | None = None

    def bets(self, guessers: int) -> int:
        """The average and every guesser."""
        return 1 + guessers

    def tune(self, average: Floats, guesses: Floats, mass: Floats, settled: int) -> None:
        """Choose stakes and bounds of the open levels; only the average's stake is tilted."""
        self._open(settled)
        levels = self.levels[self.active], self._delta[self.active]
        self._average = tune(average, mass, *levels)
        self._single = tune(guesses, mass, *levels, tilt=False)

    def _open(self, settled: int) -> None:
        self.active = open_levels(self.levels, self.place, settled, self._AHEAD)
        self.following = np.setdiff1d(np.arange(settled, self.place), self.active)

    def log_payoffs(self, average: Floats, guesses: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`, by the average and by every guesser."""
        assert self._average is not None
        assert self._single is not None
        by_average, by_guesser = (
            self._average.log_payoffs(average),
            self._single.log_payoffs(guesses),
        )
        return (
            np.concatenate([by_average[0][None], by_guesser[0]]),
            np.concatenate([by_average[1][None], by_guesser[1]]),
        )


class MixedBook:
    """A claim that is a whole profile: one mixed bet for each level, by the average alone."""

    _AHEAD = 2
    following = np.empty(0, dtype=np.intp)  # all levels are open

    def __init__(self, claim: Claim) -> None:
        if isinstance(claim, Scalable):
            self.levels, self.place = levels_around(
                claim.strength, shares=COARSE_SHARES, ratio=1.05
            )
            claims: list[Claim] = [claim.with_strength(level) for level in self.levels]
            claims[self.place] = claim
        else:
            self.levels, self.place, claims = np.array([np.nan]), 0, [claim]
        self.active = open_levels(self.levels, self.place, 0, self._AHEAD)
        self._claims = claims
        self._bets: dict[int, MixedBet] = {}

    def bets(self, guessers: int) -> int:
        """The average alone."""
        return 1

    def tune(self, average: Floats, guesses: Floats, mass: Floats, settled: int) -> None:
        """Tune the mixed bets of the open levels."""
        self.active = open_levels(self.levels, self.place, settled, self._AHEAD)
        for level in self.active:
            if level not in self._bets:
                self._bets[level] = MixedBet(self._claims[level])
            self._bets[level].tune(average, mass)

    def log_payoffs(self, average: Floats, guesses: Floats) -> tuple[Floats, Floats]:
        """`log S_P` and `log S_Q`; `guesses` are not used."""
        paid = [self._bets[level].log_payoffs(average) for level in self.active]
        return np.stack([up for up, _ in paid])[None], np.stack([down for _, down in paid])[None]


class PairBettor:
    """The guessers, the bets and the wealth on one pair of datasets."""

    def __init__(self, book: Book, encoder: Encoder) -> None:
        self._book = book
        self._encoder = encoder
        self._ensemble: Ensemble | None = None
        self._columns = 0
        self._known = encoder.known  # when a batch was last learned
        self._refit_at = FIRST_BATCH
        self._log_share = np.zeros((1, len(book.levels)))  # of each bet in the wealth of a level
        self._bets = np.zeros((1, len(book.levels)))  # the log-wealth of each bet at each level
        self.log_wealth = np.zeros(len(book.levels))  # at each level: the mean over its bets
        self._past = Past()
        self._tuning = TuningRows()
        self._tabled: TabledBets | None = None
        self.settled = 0  # levels that the audit has refuted already

    @property
    def draws(self) -> int:
        """How many outputs this pair has been given."""
        return self._past.draws

    @property
    def sample(self) -> LabelledRows:
        """The outputs of the pair so far, as far as they are remembered."""
        return self._past.seen

    def next_batch(self, *, patience: float) -> int:
        """Draws to be bet on next: with more patience, the guessers learn less often."""
        most = LARGEST_BATCH
        if self._columns > 1:  # each draw may be a row of its own
            most = _MAX_PAYOFFS // (len(self._bets) * len(self._book.active))
        return min(self._growth(patience=patience), most)

    def _growth(self, *, patience: float) -> int:
        """Draws until the guessers learn again."""
        size = self.draws
        first = FIRST_BATCH if patience <= 1.0 else 2 * FIRST_BATCH
        if size < first:
            return first - size
        step = next(step for below, step in _GROWTH_STEPS if size < below)
        most = 3.0 if size < _GROWTH_STEPS[0][0] else 0.5
        return max(1, int(size * min(patience * step, most)))

    def play(self, table: Table, labels: Labels, *, target: float) -> int | None:
        """Bet on a batch and learn it; the number of samples after which `target` was reached.

        `target` is a log-wealth against the claim itself. When it is reached the samples after it
        are left alone: they were neither bet on nor learned.
        """
        if self.draws < FIRST_BATCH:
            self.learn(table, labels)
            return None
        ensemble = self._fitted()
        # A field or a word never seen before is learned after this batch: a bet must not depend on
        # the other outputs that are bet on.
        rows, index = self._past.compress(table.as_known(self._known))
        bets = self._bets_on(ensemble, rows)
        crossing = self._crossing(bets, index, labels, target)
        if crossing is not None:
            table, labels, index = table.take(slice(crossing)), labels[:crossing], index[:crossing]
        ones, zeros = _sides(index, labels, len(rows))
        self._pay(bets, ones, zeros)
        ensemble.score(bets.guesses, ones, zeros)
        self._tuning.note(rows, bets.guesses, ones + zeros)
        self.learn(table, labels, index)
        return crossing

    def play_dependent(self, table: Table, labels: Labels) -> None:
        """Bet on draws that may depend on each other, and learn them: their payoffs are averaged.

        Given the past each payoff has mean at most 1, and so has their mean; their product need
        not.
        """
        if self.draws < FIRST_BATCH:
            self.learn(table, labels)
            return
        ensemble = self._fitted()
        rows, index = self._past.compress(table.as_known(self._known))
        bets = self._bets_on(ensemble, rows)
        ones, zeros = _sides(index, labels, len(rows))
        with np.errstate(divide="ignore"):
            log_share = np.log(np.concatenate([ones, zeros]) / len(labels))
        paid = np.concatenate([bets.up, bets.down], axis=-1) + log_share
        self._enter(bets, np.logaddexp.reduce(paid, axis=-1))
        ensemble.score(bets.guesses, ones, zeros)
        self._tuning.note(rows, bets.guesses, ones + zeros)
        self.learn(table, labels, index)

    def reader(self) -> CellReader | None:
        """What counts the next draws, if they need not be seen; the guessers learn first."""
        if self._columns != 1 or self._past.reader is None:
            return None
        self._fitted()
        return self._past.reader

    def play_counted(
        self, shard: Sequence[tuple[int, CountedOutputs | Table]], target: float
    ) -> bool:
        """Bet on a shard that was counted and learn it; whether `target` was reached at its end.

        The wealth is looked at after a shard, not after every draw, which is valid too. The
        guessers are those that `reader` has fitted: with others the cells would not be the same.
        """
        ensemble, past = self._ensemble, self._past
        assert ensemble is not None, "the shard was counted by no reader of this bettor"
        narrow = [
            (side, one.as_known(self._known) if isinstance(one, Table) else one)
            for side, one in shard
        ]
        counts = np.sum([past.counts(side, one) for side, one in narrow], axis=0)
        bets = self._bets_on(ensemble, past.rows)
        zeros, ones = counts
        self._pay(bets, ones, zeros)
        ensemble.score(bets.guesses, ones, zeros)
        past.add_counted(counts, narrow)
        for _, one in shard:
            if isinstance(one, Table) and one.columns != self._columns:  # learned from now on
                self.learn(one.take(slice(0)), np.empty(0, dtype=np.bool_))
        return bool(self.log_wealth[self._book.place] >= target)

    @property
    def learns_at(self) -> int:
        """The draws at which the guessers learn again."""
        return self._refit_at

    def learn(self, table: Table, labels: Labels, index: Index | None = None) -> None:
        """Remember a batch, for the guessers to learn before they bet again."""
        if table.columns != self._columns:
            if self._columns:
                self._past.widen(self._encoder.widen)
                index = None
            self._columns, self._ensemble, self._tuning = table.columns, None, TuningRows()
        self._known = self._encoder.known[: table.columns]
        self._past.add(table, labels, index)

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of `data` that the guessers together give to outputs."""
        return self._fitted().log_odds(table) if self.draws else np.zeros(len(table))

    def log_odds_of(self, part: LabelledRows) -> Floats:
        """The log-odds of the rows of its sample, or of a thinned part of it.

        A part is judged by what the guessers have learned so far: there is no time to learn more.
        """
        if part is self.sample or self._ensemble is None:
            return self.log_odds(part.table)
        return self._ensemble.log_odds(part.table)

    def _fitted(self) -> Ensemble:
        """The guessers, which learn first if the past has grown enough."""
        if self._ensemble is not None and self.draws < self._refit_at:
            return self._ensemble
        if self._ensemble is None:
            self._ensemble = self._start()
        self._past.refine()
        seen = self._past.seen
        self._tabled = None
        rows, mass = self._tuning.of(seen)
        guesses = self._ensemble.fit(seen, rows)
        self._tuning.note(rows, guesses, mass)
        self._book.tune(self._ensemble.average(guesses), guesses, mass, self.settled)
        self._refit_at = self.draws + self._growth(patience=1.0)
        return self._ensemble

    def _start(self) -> Ensemble:
        """Make the guessers, and share the wealth there is among the bets."""
        ensemble = Ensemble(self._columns)
        prior, levels = ensemble.prior, len(self._book.levels)
        if self._book.bets(len(prior)) == 1:
            share = np.ones((1, levels))
        else:
            share = np.tile(_shares(prior, ensemble.coarse)[:, None], levels)
            share[:, self._book.place] = _shares(prior, ())
        self._log_share = np.log(share)
        self._bets = np.tile(self.log_wealth, (len(share), 1))
        return ensemble

    def _bets_on(self, ensemble: Ensemble, rows: Table) -> TabledBets:
        """What is guessed and paid on these rows; the cells of a long past are asked once a fit."""
        if self._tabled is None or self._tabled.rows is not rows:
            guesses = ensemble.guesses(rows)
            up, down = self._book.log_payoffs(ensemble.average(guesses), guesses)
            # A guesser that sleeps does not bet: its wealth stays.
            betting = np.append(0, 1 + ensemble.awake)[: len(up)]
            self._tabled = TabledBets(rows, guesses, betting, up, down)
        return self._tabled

    def _pay(self, bets: TabledBets, ones: Floats, zeros: Floats) -> None:
        """Enter what all bets are paid for rows that came so often from either side."""
        self._enter(bets, bets.up @ ones + bets.down @ zeros)

    def _enter(self, bets: TabledBets, paid: Floats) -> None:
        """Enter the logarithm of what each bet was paid at each active level."""
        book = self._book
        self._bets[np.ix_(bets.betting, book.active)] += paid
        self._bets[np.ix_(bets.betting, book.following)] += paid[:, self._claim_level, None]
        self.log_wealth = np.logaddexp.reduce(self._log_share + self._bets, axis=0)

    @property
    def _claim_level(self) -> int:
        """The place of the claim among the active levels."""
        return int(np.searchsorted(self._book.active, self._book.place))

    def _crossing(
        self, bets: TabledBets, index: Index, labels: Labels, target: float
    ) -> int | None:
        """After how many samples the wealth against the claim reached the target."""
        level = self._claim_level
        start = (self._log_share + self._bets)[:, self._book.place]
        # Entry 2 * row + label: what each bet is paid on that row and label.
        paid = np.zeros((len(start), 2 * len(bets.rows)))
        paid[bets.betting, ::2], paid[bets.betting, 1::2] = bets.down[:, level], bets.up[:, level]
        return first_crossing(start, paid, 2 * index + labels, target)


@dataclass(frozen=True, slots=True, eq=False)
class TabledBets:
    """The guesses for some rows, and what is paid there: `log S_P` and `log S_Q`."""

    rows: Table
    guesses: Floats
    betting: Index  # the places of the bets that are made
    up: Floats
    down: Floats


def _sides(index: Index, labels: Labels, rows: int) -> tuple[Floats, Floats]:
    """How often each row came from `data`, and from `neighbour`."""
    counts = np.bincount(2 * index + labels, minlength=2 * rows).astype(np.float64)
    return counts[1::2], counts[::2]


def _shares(prior: Floats, coarse: tuple[int, ...]) -> Floats:
    """What the average and every guesser stake: half and half, by the prior.

    A bound climbs by betting on the region where the ratio is highest, mostly a half-line. So at
    other levels than the claim coarse bins, which learn little else, stake about as much as the
    average.
    """
    if not coarse:
        return np.concatenate([[0.5], 0.5 * prior])
    rest = 1.0 - _AVERAGE_SHARE - _COARSE_SHARE * len(coarse)
    shares = np.concatenate([[_AVERAGE_SHARE], rest * prior])
    shares[1 + np.array(coarse)] += _COARSE_SHARE
    return shares
