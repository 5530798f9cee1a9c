"""One pair, one bettor: guess, bet, look at the label, learn; in that order.

Everything a bet uses (guess, stake, cap) was fixed by earlier batches, so under the claim every
payoff has mean at most 1, and the product of payoffs is a wealth that reaches `w` with probability
at most `1/w`, whenever one looks (Ville 1939).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpaudit.bets.book import Book
from dpaudit.outputs import Encoder, Table
from dpaudit.witness.ensemble import Ensemble
from dpaudit.witness.sample import Sample

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]

FIRST_BATCH = 8  # draws that are only learned from
LARGEST_BATCH = 65_536


class PairBettor:
    """The experts, the bets and the wealth on one pair of datasets."""

    def __init__(self, book: Book, encoder: Encoder) -> None:
        self._book = book
        self._encoder = encoder
        self._ensemble: Ensemble | None = None
        self._columns = 0
        self.sample = Sample()
        self.log_wealth = np.zeros(len(book.levels))
        self._refit_at = FIRST_BATCH
        self.settled = 0  # levels refuted already: bets on them are over

    @property
    def draws(self) -> int:
        """How many outputs this pair has been given."""
        return self.sample.size

    def next_batch(self, *, patience: float) -> int:
        """Draws until the experts learn again: more patience, rarer and larger."""
        size = self.draws
        if size < FIRST_BATCH:
            return FIRST_BATCH - size
        step = patience * (0.06 if size < 2_000 else 0.1 if size < 16_384 else 0.25)
        return min(max(1, int(size * step)), LARGEST_BATCH)

    def play(self, table: Table, labels: Labels, *, target: float) -> int | None:
        """Bet on a batch and learn it; the number of samples after which `target` was reached.

        `target` is a log-wealth of the claim's own bets. When it is reached the samples after it
        are left alone: they were neither bet on nor learned.
        """
        self._notice_new_columns(table)
        if self._ensemble is None:
            self._learn(table, labels)
            return None
        rows, index = self.sample.compress(table)
        guesses = self._ensemble.guesses(rows)
        up, down = self._book.log_payoffs(self._ensemble.average(guesses))
        crossing = self._crossing(up, down, index, labels, target)
        if crossing is not None:
            table, labels, index = table.take(slice(crossing)), labels[:crossing], index[:crossing]
        ones = np.bincount(index[labels], minlength=len(rows)).astype(np.float64)
        zeros = np.bincount(index[~labels], minlength=len(rows)).astype(np.float64)
        self.log_wealth = self.log_wealth + up @ ones + down @ zeros
        self._ensemble.score(guesses, ones, zeros)
        self._learn(table, labels)
        return crossing

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of `data` that the experts together give to outputs."""
        if self._ensemble is None:
            return np.zeros(len(table))
        return self._ensemble.average(self._ensemble.guesses(table))

    def _notice_new_columns(self, table: Table) -> None:
        if self._columns and table.columns != self._columns:
            self.sample.widen(self._encoder.widen)
            self._ensemble = None
        self._columns = table.columns

    def _learn(self, table: Table, labels: Labels) -> None:
        self.sample.add(table, labels)
        if self._ensemble is not None and self.sample.size < self._refit_at:
            return
        if self._ensemble is None:
            self._ensemble = Ensemble(table.columns)
        self._ensemble.fit(self.sample)
        mass = self.sample.ones + self.sample.zeros
        self._book.tune(self.log_odds(self.sample.rows), mass, self.settled)
        self._refit_at = self.sample.size + self.next_batch(patience=1.0)

    def _crossing(
        self, up: Floats, down: Floats, index: npt.NDArray[np.intp], labels: Labels, target: float
    ) -> int | None:
        """After how many samples the wealth of the claim's own bet reached the target."""
        place = self._book.place
        paid = np.stack([down[place], up[place]], axis=1).ravel()  # row 0 down, row 0 up, row 1 ...
        path = self.log_wealth[place] + np.cumsum(paid[2 * index + labels])
        hit = int(np.argmax(path >= target))
        return hit + 1 if path[hit] >= target else None
