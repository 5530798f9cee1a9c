"""One pair, one bettor: guess, bet, look at the label, learn; in that order.

Everything a bet uses (guess, stake, cap) was fixed by earlier batches, so under the claim every
payoff has mean at most 1, and the product of payoffs is a wealth that reaches `w` with probability
at most `1/w`, whenever one looks (Ville 1939).
"""

from __future__ import annotations

import numpy as np

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.betting.book import Book
from dpaudit.guessing import Ensemble, Sample
from dpaudit.outputs import Encoder, Table

FIRST_BATCH = 8  # draws that are only learned from
LARGEST_BATCH = 65_536
# By how much the past grows before the experts learn again: (past below, growth).
_STEPS = ((500, 0.08), (4_096, 0.12), (16_384, 0.2), (float("inf"), 0.3))
_PLATEAU = (0.4, 0.2)  # the share of the average and of each coarse bins in the ladder's wealth
_CHUNK, _STRETCH = (
    256,
    16_384,
)  # samples over which a crossing is ruled out, and looked for, at once


class PairBettor:
    """The experts, the bets and the wealth on one pair of datasets."""

    def __init__(self, book: Book, encoder: Encoder) -> None:
        self._book = book
        self._encoder = encoder
        self._ensemble: Ensemble | None = None
        self._columns = 0
        self._known = encoder.known  # when a batch was last learned
        self._refit_at = FIRST_BATCH
        self._log_share = np.zeros((1, len(book.levels)))  # of each hand in the wealth
        self._hands = np.zeros((1, len(book.levels)))  # the log-wealth of each hand at each level
        self.log_wealth = np.zeros(len(book.levels))  # at each level: the mean over the hands
        self.sample = Sample()
        self.settled = 0  # levels that the audit has refuted already

    @property
    def draws(self) -> int:
        """How many outputs this pair has been given."""
        return self.sample.size

    def next_batch(self, *, patience: float) -> int:
        """Draws until the experts learn again: more patience, rarer and larger."""
        size = self.draws
        first = FIRST_BATCH if patience <= 1.0 else 2 * FIRST_BATCH
        if size < first:
            return first - size
        step = next(step for below, step in _STEPS if size < below)
        most = 3.0 if size < _STEPS[0][0] else 0.5
        return min(max(1, int(size * min(patience * step, most))), LARGEST_BATCH)

    def play(self, table: Table, labels: Labels, *, target: float) -> int | None:
        """Bet on a batch and learn it; the number of samples after which `target` was reached.

        `target` is a log-wealth against the claim itself. When it is reached the samples after it
        are left alone: they were neither bet on nor learned.
        """
        if self.sample.size < FIRST_BATCH:
            self.learn(table, labels)
            return None
        self._fit()
        assert self._ensemble is not None
        # A field or a word never seen before is learned after this batch: a bet must not depend on
        # the other outputs that are bet on.
        rows, index = self.sample.compress(table.as_known(self._known))
        guesses = self._ensemble.guesses(rows)
        up, down = self._book.log_payoffs(self._ensemble.average(guesses), guesses)
        crossing = self._crossing(up, down, index, labels, target)
        if crossing is not None:
            table, labels, index = table.take(slice(crossing)), labels[:crossing], index[:crossing]
        ones = np.bincount(index[labels], minlength=len(rows)).astype(np.float64)
        zeros = np.bincount(index[~labels], minlength=len(rows)).astype(np.float64)
        self._hands[:, self._book.active] += up @ ones + down @ zeros
        self.log_wealth = np.logaddexp.reduce(self._log_share + self._hands, axis=0)
        self._ensemble.score(guesses, ones, zeros)
        self.learn(table, labels, index)
        return crossing

    def learn(self, table: Table, labels: Labels, index: Index | None = None) -> None:
        """Remember a batch, for the experts to learn before they bet again."""
        if table.columns != self._columns:
            if self._columns:
                self.sample.widen(self._encoder.widen)
                index = None
            self._columns, self._ensemble = table.columns, None
        self._known = self._encoder.known[: table.columns]
        self.sample.add(table, labels, index)

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of `data` that the experts together give to outputs."""
        if not self.sample.size:
            return np.zeros(len(table))
        self._fit()
        assert self._ensemble is not None
        return self._ensemble.average(self._ensemble.guesses(table))

    def log_odds_of(self, part: Sample) -> Floats:
        """The log-odds of the rows of its sample, or of a thinned part of it.

        A part is judged by what the experts have learned so far: there is no time to learn more.
        """
        if part is self.sample or self._ensemble is None:
            return self.log_odds(part.rows)
        return self._ensemble.average(self._ensemble.guesses(part.rows))

    def _fit(self) -> None:
        """Let the experts learn, if the past has grown enough. A pair left alone is not learned."""
        if self._ensemble is not None and self.sample.size < self._refit_at:
            return
        if self._ensemble is None:
            self._start(self._columns)
        assert self._ensemble is not None
        past = self._ensemble.fit(self.sample)
        self._book.tune(past, self.sample.ones + self.sample.zeros, self.settled)
        self._refit_at = self.sample.size + self.next_batch(patience=1.0)

    def _start(self, columns: int) -> None:
        """Call the experts, and share the wealth there is among their hands."""
        self._ensemble = Ensemble(columns)
        prior, levels = self._ensemble.prior, len(self._book.levels)
        if self._book.hands(len(prior)) == 1:
            share = np.ones((1, levels))
        else:
            share = np.tile(_shares(prior, self._ensemble.coarse)[:, None], levels)
            share[:, self._book.place] = _shares(prior, ())
        self._log_share = np.log(share)
        self._hands = np.tile(self.log_wealth, (len(share), 1))

    def _crossing(
        self, up: Floats, down: Floats, index: Index, labels: Labels, target: float
    ) -> int | None:
        """After how many samples the wealth against the claim reached the target."""
        level = int(np.searchsorted(self._book.active, self._book.place))
        start = (self._log_share + self._hands)[:, self._book.place]
        # Entry 2 * row + label: what each hand is paid on that row and label.
        paid = np.stack([down[:, level], up[:, level]], axis=2).reshape(len(start), -1)
        return first_crossing(start, paid, 2 * index + labels, target)


def _shares(prior: Floats, coarse: tuple[int, ...]) -> Floats:
    """What the experts' average and every expert stake: half and half, by the prior.

    A bound climbs by pressing on the region where the ratio is highest, mostly a half-line: there
    the coarse bins, which learn little but that, are staked about as much as the average.
    """
    if not coarse:
        return np.concatenate([[0.5], 0.5 * prior])
    average, each = _PLATEAU
    shares = np.concatenate([[average], (1.0 - average - each * len(coarse)) * prior])
    shares[1 + np.array(coarse)] += each
    return shares


def first_crossing(start: Floats, paid: Floats, place: Index, target: float) -> int | None:
    """After how many steps `logsumexp_k(start_k + sum of paid[k, place])` reaches the target.

    Chunks in which no hand could reach it, even if only its gains counted, are skipped at once.

    >>> first_crossing(np.zeros(1), np.array([[-1.0, 2.0]]), np.array([0, 1, 1, 1]), 3.0)
    3
    """
    if not np.isfinite(target):
        return None
    for begin in range(0, len(place), _STRETCH):
        stretch = place[begin : begin + _STRETCH]
        chunks = np.arange(0, len(stretch), _CHUNK)
        steps = paid[:, stretch]
        sums = np.add.reduceat(steps, chunks, axis=1)
        gains = np.add.reduceat(np.maximum(steps, 0.0), chunks, axis=1)
        starts = start[:, None] + np.cumsum(sums, axis=1) - sums
        start = starts[:, -1] + sums[:, -1]
        for chunk in np.flatnonzero(np.logaddexp.reduce(starts + gains, axis=0) >= target):
            part = steps[:, chunks[chunk] : chunks[chunk] + _CHUNK]
            path = starts[:, chunk, None] + np.cumsum(part, axis=1)
            hits = np.flatnonzero(np.logaddexp.reduce(path, axis=0) >= target)
            if len(hits):
                return begin + int(chunks[chunk]) + int(hits[0]) + 1
    return None
