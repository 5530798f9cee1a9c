"""The campaign: search and bet until the claim is refuted or the budget is used up.

`race.py` says which pair gets the next draws, `betting/account.py` what all bets are worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sized

import numpy as np

from dpaudit.auditing.budget import Budget
from dpaudit.auditing.scheduler import Contender, Race
from dpaudit.betting import Account, PairBettor, Stake, book_for
from dpaudit.claims import Claim
from dpaudit.mechanism import (
    Batch,
    FailingPairs,
    Mechanism,
    Watch,
    draw_labelled,
    draw_side,
    noting,
)
from dpaudit.outputs import Encoder, FloatView, Table
from dpaudit.results import Evidence, PairRecord, Progress
from dpaudit.search import Finder

_FIRST_FRACTION, _FRACTION = 0.4, 0.3  # of the wealth: of the first pair, and over n of pair n
_PATIENCE_GROWTH, _PATIENCE = 4.0, 40.0  # by pair, and at most
_HISTORY = 2_000
_TRACE = 1_000
_PROGRESS_SECONDS = 0.1
_FIRST_OUTPUT = 64  # draws of a pair, at most, while no dataset has given an output yet


class Campaign:
    """A running audit. `run` may be interrupted at any time: what was found stays."""

    def __init__(
        self,
        mechanism: Mechanism,
        claim: Claim,
        finder: Finder,
        *,
        alpha: float,
        budget: Budget,
        entropy: int,
        progress: Callable[[Progress], None] | None,
        floats: FloatView = "real",
    ) -> None:
        self.mechanism = mechanism
        self.claim = claim
        self.alpha = alpha
        self.budget = budget
        self.floats = floats
        self.encoder = Encoder(floats=floats)
        self.book = book_for(claim)
        self.account = Account(len(self.book.levels), self.book.place, alpha)
        self.race = Race(self.book, budget.samples - budget.reserve)
        self.warnings: list[str] = []
        self._records: dict[int, PairRecord] = {}
        self._finder = finder
        self._alone = isinstance(finder, Sized) and len(finder) == 1
        self._raising = FailingPairs(None if self._alone else mechanism.errors)
        self._waiting = False  # for the first output of all: other pairs get no draws before it
        self._batches = 0
        self.entropy = entropy
        self.watch = Watch(mechanism.name, self.encoder)
        self._trace: list[tuple[int, float]] = []
        self._progress = progress
        self._latest: Contender | None = None
        self._progress_due = 0.0

    @property
    def pairs_tried(self) -> int:
        """How many pairs got draws."""
        return len(self._records)

    @property
    def history(self) -> tuple[PairRecord, ...]:
        """The pairs in the order in which they were met."""
        return tuple(self._records[number] for number in sorted(self._records))[:_HISTORY]

    @property
    def evidence(self) -> Evidence:
        """The wealth against the claim over the draws."""
        return Evidence(
            trace=tuple(self._trace),
            log_wealth=self.account.log_wealth,
            peak=self.account.peak,
        )

    def run(self, *, beyond_refutation: bool) -> None:
        """Search and bet until the claim is refuted or the budget is used up."""
        self.budget.make_ready()
        if self.budget.seconds is not None and self.budget.allows(1):
            first = self._meet()
            if first is not None:
                self._give(first, 1)  # to see how fast it is, before the race is planned
        try:
            self._race(beyond_refutation=beyond_refutation)
            tried, draws = self.pairs_tried, self.budget.spent
            self._raising.raise_if_fruitless(tried, draws, refuted=self.account.refuted)
        finally:  # also when interrupted: say what was not searched
            with noting(self.warnings):
                self._raising.warn(self.pairs_tried)
        with noting(self.warnings):
            self.watch.close()
        self.budget.watch = self._tell

    def _race(self, *, beyond_refutation: bool) -> None:
        """Give draws to whose turn it is, until the claim is refuted or the budget is used up."""
        while beyond_refutation or self._waiting or not self.account.refuted:
            self.race.draws = self.budget.expected
            if self._waiting and (self.race.over or self._raising.is_hopeless):
                return
            chosen, wanted = (None, _FIRST_OUTPUT) if self._waiting else self.race.turn()
            if chosen is None and wanted > 0 and self.budget.allows(1):
                chosen = self._meet()
                if chosen is None:
                    self.race.over = True
                    continue
            if chosen is None or self._give(chosen, wanted) == 0:
                return
            self._waiting = self._raising.waits_for_output

    def seed(self, *key: int) -> np.random.SeedSequence:
        """One child of the audit's seed, by its key."""
        return np.random.SeedSequence(self.entropy, spawn_key=key)

    def draw(
        self,
        contender: Contender,
        size: int,
        seed: np.random.SeedSequence,
        *,
        of: Hashable = None,
    ) -> tuple[Batch, Table]:
        """Draw labelled outputs of a pair, as a table too, and note what looks like a mistake."""
        with noting(self.warnings):
            with self.budget.spending(size, of=of):
                batch = draw_labelled(self.mechanism, contender.pair, size, seed)
            table = self.encoder.encode(batch.outputs)
            self.watch.see_batch(contender.number, batch, table)
        return batch, table

    def _meet(self) -> Contender | None:
        """The next pair of the finder, ready to be bet on; None if it has no more."""
        pair = self._finder.ask()
        if pair is None:
            return None
        number = len(self._records)
        bettor = PairBettor(book_for(self.claim), self.encoder)
        contender = Contender(number, pair, bettor, Stake(self._fraction(number)))
        self.race.enter(contender)
        return contender

    def _fraction(self, number: int) -> float:
        """What a pair takes part with: all the wealth, if it is the only pair.

        The fractions over n add up slowly: a thousand pairs that lose all leave a seventeenth.
        """
        if self._alone:
            return 1.0
        return _FRACTION / number if number > 0 else _FIRST_FRACTION

    def _give(self, contender: Contender, wanted: int) -> int:
        """Give a pair its draws, batch by batch; the number of draws made."""
        before = contender.log_wealth(self.book.place)
        try:
            made = self._bet(contender, wanted)
        finally:  # also when interrupted: what was drawn is on record
            self._records[contender.number] = contender.record(self.book.place)
        score = self.race.score(contender)
        if self._raising.shows_nothing(contender.number):
            self.race.drop(contender, 0 if self._waiting else wanted - made)
            self._raising.set_aside(contender.number, contender.pair)
        else:
            self.race.judge(contender, before)
            score = self.race.score(contender)
        self._finder.tell(contender.pair, score)
        return made

    def _bet(self, contender: Contender, wanted: int) -> int:
        """Play batch by batch until the draws are made or the claim is refuted."""
        made, refuted = self._try_out(contender), self.account.refuted
        patience = self._patience(contender)
        while made < wanted and self.account.refuted == refuted:
            now = max(patience, min(self.budget.hurry, _PATIENCE))
            batch, left = contender.bettor.next_batch(patience=now), wanted - made
            if not self._alone and left < 1.5 * batch:
                batch = left  # no crumbs: a batch costs a refit, however small
            size = self.budget.allows(batch, of=contender.number)
            if size == 0:
                break
            made += size
            self._play(contender, size)
            if self._raising.is_fruitless(contender.number):
                break
        return made

    def _try_out(self, contender: Contender) -> int:
        """One draw of either side of a new pair, to see how long it takes; the draws made.

        Only if the time is limited. They are learned from, not bet on.
        """
        made, number = 0, contender.number
        if self.budget.seconds is None or contender.bettor.draws:
            return made
        first = int(np.random.default_rng(self.seed(9, number, 2)).integers(2))
        for side in (first, 1 - first):
            if self.budget.allows(1, of=number) == 0:
                break
            data = (contender.pair.data, contender.pair.neighbour)[side]
            with noting(self.warnings), self.budget.spending(1, of=number):
                outputs = draw_side(self.mechanism, data, 1, self.seed(9, number, side))
            contender.bettor.learn(self.encoder.encode(outputs), np.array([side == 0]))
            made += 1
            self._note(self.budget.spent, contender)
        return made

    def _patience(self, contender: Contender) -> float:
        """How rarely its experts learn: the rarer, the later it was met and the less it shows."""
        if self._alone or self.race.over or self.race.is_hopeful(contender):
            return 1.0
        return min(1.0 + _PATIENCE_GROWTH * contender.number, _PATIENCE)

    def _play(self, contender: Contender, size: int) -> None:
        """One batch: draw, bet, learn, settle."""
        seed = self.seed(0, self._batches)
        self._batches += 1
        before = self.budget.spent
        batch, table = self.draw(contender, size, seed, of=contender.number)
        ones = int(np.count_nonzero(batch.labels))
        self._raising.see(contender.number, batch.outputs, data=ones, neighbour=size - ones)
        target = self.account.target(contender.number, contender.stake)
        contender.bettor.settled = self.account.settled
        crossing = contender.bettor.play(table, batch.labels, target=target)
        factor = contender.stake.log_factor(contender.bettor.log_wealth)
        self.account.update(contender.number, factor, crossed=crossing is not None)
        self._note(before + (size if crossing is None else crossing), contender)

    def _note(self, samples: int, contender: Contender) -> None:
        self._trace.append((samples, self.account.log_wealth))
        if len(self._trace) > _TRACE:
            self._trace = [*self._trace[:-1:2], self._trace[-1]]
        self._latest = contender
        self._tell()

    def _tell(self) -> None:
        """Tell of the progress, if somebody wants to know and was not told just now."""
        if self._progress is None or self._latest is None:
            return
        now = self.budget.elapsed
        if now < self._progress_due:
            return
        self._progress_due = now + _PROGRESS_SECONDS
        self._progress(
            Progress(
                pairs=max(self.pairs_tried, 1),
                samples=self.budget.spent,
                budget=self.budget.samples,
                seconds=now,
                limit=self.budget.seconds,
                lower_bound=self.lower_bound,
                log_wealth=self.account.log_wealth,
                alpha=self.alpha,
                pair=str(self._latest.pair),
            )
        )

    @property
    def lower_bound(self) -> float | None:
        """The highest level refuted together with all below it; None for a claim without levels."""
        if math.isnan(self.book.levels[self.book.place]):
            return None
        settled = self.account.settled
        return float(self.book.levels[settled - 1]) if settled else 0.0
