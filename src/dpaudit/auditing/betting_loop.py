"""The betting loop: search and bet until the claim is refuted or the budget is used up.

`scheduler.py` says which pair gets the next draws, `betting/account.py` what all bets are worth.
"""

from __future__ import annotations

import math
from collections.abc import Sized
from functools import partial

import numpy as np

from dpaudit.arrays import Labels
from dpaudit.auditing.certify import certify_candidate
from dpaudit.auditing.detectable import detectable
from dpaudit.auditing.output_histogram import histograms_of
from dpaudit.auditing.run import MAX_HISTORY, Findings, Run, Stream
from dpaudit.auditing.scheduler import Candidate, Scheduler
from dpaudit.auditing.shards import Shards
from dpaudit.betting import Account, PairBettor, Stake, book_for
from dpaudit.claims import Scalable
from dpaudit.mechanism import FailingPairs, noting
from dpaudit.outputs import CellReader, Outputs
from dpaudit.results import Counterexample, Evidence, PairRecord, bound_of_event
from dpaudit.search import Finder

_FIRST_FRACTION, _FRACTION = 0.4, 0.3  # of the wealth: for the first pair, and over n for pair n
_PATIENCE_PER_PAIR, _MAX_PATIENCE = 4.0, 40.0
_MAX_TRACE = 1_000  # points of the wealth that are kept
_PROGRESS_SECONDS = 0.1  # between two reports of progress
_DRAWS_WITHOUT_OUTPUT = 64  # of a pair, at most, while no dataset has given an output yet


class BettingLoop:
    """A running audit by bets. `search` may be interrupted at any time: what was found stays."""

    def __init__(self, run: Run, finder: Finder, *, sharpen: bool = False) -> None:
        self.run = run
        self.book = book_for(run.claim)
        self.account = Account(len(self.book.levels), self.book.place, run.alpha)
        self.scheduler = Scheduler(self.book, run.budget.samples - run.budget.reserve)
        self.sharpen = sharpen
        self._records: dict[int, PairRecord] = {}
        self._finder = finder
        self._single_pair = isinstance(finder, Sized) and len(finder) == 1
        self._failing = FailingPairs(None if self._single_pair else run.mechanism.errors)
        self._waiting = False  # for the first output of all: until then every look is short
        self._looked_at = 0  # draws that were taken: some more may be waiting
        self._trace: list[tuple[int, float]] = []
        self._latest: Candidate | None = None
        self._progress_due = 0.0

    @property
    def refuted(self) -> bool:
        """Whether the wealth has refuted the claim."""
        return self.account.refuted

    @property
    def pairs_tried(self) -> int:
        """How many pairs got draws."""
        return len(self._records)

    @property
    def evidence(self) -> Evidence:
        """The wealth against the claim over the draws."""
        return Evidence(
            trace=tuple(self._trace),
            log_wealth=self.account.log_wealth,
            peak=self.account.peak,
        )

    @property
    def lower_bound(self) -> float | None:
        """The highest level refuted together with all below it; None for a claim without levels."""
        if math.isnan(self.book.levels[self.book.place]):
            return None
        settled = self.account.settled
        return float(self.book.levels[settled - 1]) if settled else 0.0

    def search(self) -> None:
        """Search and bet until the claim is refuted or the budget is used up."""
        run = self.run
        run.budget.make_ready()
        if run.budget.seconds is not None and run.budget.allows(1):
            first = self._meet()
            if first is not None:
                self._give(first, 1)  # to see how fast it is, before the search is planned
        try:
            self._schedule()
            for samples in run.later_samples:
                if not self.refuted:
                    run.budget.extend(samples)
                    self._schedule()
            tried, draws = self.pairs_tried, run.budget.spent
            self._failing.raise_if_fruitless(tried, draws, refuted=self.refuted)
        finally:  # also when interrupted: say what was not searched
            with noting(run.warnings):
                self._failing.warn(self.pairs_tried)
        strongest = self.scheduler.strongest if self.refuted else None
        for candidate in self.scheduler.candidates:
            if candidate is strongest and candidate.shards.waiting:  # helps to choose the event
                candidate.bettor.learn(*candidate.shards.take(candidate.shards.waiting))
            candidate.shards.close()
        run.caller.close()
        with noting(run.warnings):
            run.watch.close()
        run.budget.watch = self._tell

    def certify(self) -> Counterexample | None:
        """Certify an event on the strongest pair."""
        strongest = self.scheduler.strongest
        if strongest is None:
            return None
        self.run.watch.refuse_frozen()
        return certify_candidate(self.run, strongest)

    def findings(self, found: Counterexample | None) -> Findings:
        """All that the bets found."""
        strongest = self.scheduler.strongest
        history = tuple(self._records[number] for number in sorted(self._records))[:MAX_HISTORY]
        bets = None if strongest is None else strongest.bettor
        return Findings(
            evidence=self.evidence,
            history=history,
            strongest=None if strongest is None else strongest.record(self.book.place),
            pairs_tried=self.pairs_tried,
            lower_bound=self._certified_bound(found),
            detectable=None if bets is None or self.refuted else detectable(self.run, bets),
            outputs=()
            if bets is None or found is not None
            else histograms_of(self.run.encoder, bets.sample),
        )

    def _certified_bound(self, found: Counterexample | None) -> float | None:
        """The certified bound: verdict and bound are both right with probability 1 - alpha.

        Not refuted, or asked to sharpen: the ladder of levels. Refuted: the claim's own strength,
        or what the event shows on fresh draws; never the better of ladder and event.
        """
        claim = self.run.claim
        if not self.refuted or self.sharpen or not isinstance(claim, Scalable):
            return self.lower_bound
        return bound_of_event(claim, found)

    def _schedule(self) -> None:
        """Give draws to one pair after the other until the search is over."""
        budget, scheduler = self.run.budget, self.scheduler
        while self.sharpen or self._waiting or not self.refuted:
            scheduler.draws = budget.expected
            if self._waiting and (scheduler.closed or self._failing.is_hopeless):
                return
            chosen, wanted = (None, _DRAWS_WITHOUT_OUTPUT) if self._waiting else scheduler.next()
            if chosen is None and wanted > 0 and budget.allows(1):
                chosen = self._meet()
                if chosen is None:
                    scheduler.closed = True
                    continue
            if chosen is None or self._give(chosen, wanted) == 0:
                return
            self._waiting = self._failing.waits_for_output

    def _meet(self) -> Candidate | None:
        """The finder's next pair, ready to be bet on; None if it has no more."""
        pair = self._finder.ask()
        if pair is None:
            return None
        number = len(self._records)
        bettor = PairBettor(book_for(self.run.claim), self.run.encoder)
        shards = Shards(self.run, pair, number, see=partial(self._see, number))
        candidate = Candidate(number, pair, shards, bettor, Stake(self._fraction(number)))
        self.scheduler.enter(candidate)
        return candidate

    def _fraction(self, number: int) -> float:
        """The share of the wealth that a pair is bet with: all of it if it is the only pair.

        The fractions over n add up slowly: a thousand pairs that lose everything leave a
        seventeenth.
        """
        if self._single_pair:
            return 1.0
        return _FRACTION / number if number > 0 else _FIRST_FRACTION

    def _give(self, candidate: Candidate, wanted: int) -> int:
        """Give a pair its draws, batch by batch; the number of draws made."""
        before = candidate.log_wealth(self.book.place)
        try:
            made = self._bet(candidate, wanted)
        finally:  # also when interrupted: what was drawn is on record
            self._records[candidate.number] = candidate.record(self.book.place)
        score = self.scheduler.score(candidate)
        if self._failing.shows_nothing(candidate.number):
            self.scheduler.drop(candidate, 0 if self._waiting else wanted - made)
            self._failing.set_aside(candidate.number, candidate.pair)
        else:
            self.scheduler.update(candidate, before)
            score = self.scheduler.score(candidate)
        self._finder.tell(candidate.pair, score)
        return made

    def _bet(self, candidate: Candidate, wanted: int) -> int:
        """Play batch by batch until the draws are made or the claim is refuted."""
        budget = self.run.budget
        made, refuted = self._try_out(candidate), self.refuted
        patience = self._patience(candidate)
        while made < wanted and self.refuted == refuted:
            # The only pair goes on after this: as many draws ahead as there were so far.
            past = candidate.shards.made if self._single_pair else 0
            self._ask_ahead(candidate, max(wanted - made, past))
            now = max(patience, min(budget.hurry, _MAX_PATIENCE))
            batch, left = candidate.bettor.next_batch(patience=now), wanted - made
            if not self._single_pair and left < 1.5 * batch:
                batch = left  # a small rest is not worth a batch: each costs a refit
            taken = self._play(candidate, batch)
            if taken == 0:
                break
            made += taken
            if self._failing.is_fruitless(candidate.number):
                break
        return made

    def _try_out(self, candidate: Candidate) -> int:
        """Draw once from each side of a new pair to see how long it takes; the draws made.

        Only if the time is limited. These draws are learned from, not bet on.
        """
        run, made, number = self.run, 0, candidate.number
        if run.budget.seconds is None or candidate.bettor.draws:
            return made
        first = int(run.rng(Stream.PROBE, number, 2).integers(2))
        for side in (first, 1 - first):
            if run.budget.allows(1, key=number) == 0:
                break
            data = (candidate.pair.data, candidate.pair.neighbour)[side]
            with noting(run.warnings):
                outputs = run.draw(data, 1, run.seed(Stream.PROBE, number, side), key=number)
            candidate.bettor.learn(run.encoder.encode(outputs), np.array([side == 0]))
            made += 1
            self._note(1, candidate)
        return made

    def _patience(self, candidate: Candidate) -> float:
        """How rarely its guessers train: more rarely the later it came and the less it shows."""
        if self._single_pair or self.scheduler.closed or self.scheduler.is_earning(candidate):
            return 1.0
        return min(1.0 + _PATIENCE_PER_PAIR * candidate.number, _MAX_PATIENCE)

    def _ask_ahead(self, candidate: Candidate, draws: int) -> None:
        reader, until = candidate.shards.reader or candidate.bettor.reader(), math.inf
        if reader is not None:
            until = candidate.bettor.learns_at
        candidate.shards.ask_ahead(draws, reader=reader, until=until)

    def _play(self, candidate: Candidate, size: int) -> int:
        """One batch: take draws, bet, learn, settle; how many draws there were."""
        bettor, shards = candidate.bettor, candidate.shards
        bettor.settled = self.account.settled
        reader = shards.reader or bettor.reader()
        if reader is not None and shards.waiting == 0:
            return self._play_counted(candidate, size, reader)
        table, labels = shards.take(size if reader is None else shards.waiting)
        if len(labels) == 0:
            return 0
        crossing = bettor.play(table, labels, target=self._target(candidate))
        self._settle(candidate, len(labels) if crossing is None else crossing, crossing is not None)
        return len(labels)

    def _play_counted(self, candidate: Candidate, size: int, reader: CellReader) -> int:
        """One shard, which is counted where it is drawn; how many draws there were."""
        shard = candidate.shards.take_counted(size, reader)
        draws = sum(len(received) for _, received in shard)
        if draws:
            crossed = candidate.bettor.play_counted(shard, self._target(candidate))
            self._settle(candidate, draws, crossed)
        return draws

    def _target(self, candidate: Candidate) -> float:
        return self.account.target(candidate.number, candidate.stake)

    def _settle(self, candidate: Candidate, draws: int, crossed: bool) -> None:
        factor = candidate.stake.log_factor(candidate.bettor.log_wealth)
        self.account.update(candidate.number, factor, crossed=crossed)
        self._note(draws, candidate)

    def _see(self, number: int, outputs: Outputs, labels: Labels) -> None:
        ones = int(np.count_nonzero(labels))
        self._failing.see(number, outputs, data=ones, neighbour=len(labels) - ones)

    def _note(self, draws: int, candidate: Candidate) -> None:
        self._looked_at += draws
        self._trace.append((self._looked_at, self.account.log_wealth))
        if len(self._trace) > _MAX_TRACE:
            self._trace = [*self._trace[:-1:2], self._trace[-1]]
        self._latest = candidate
        self._tell()

    def _tell(self) -> None:
        now = self.run.budget.elapsed
        if self.run.progress is None or self._latest is None or now < self._progress_due:
            return
        self._progress_due = now + _PROGRESS_SECONDS
        self.run.tell(
            self._latest.pair,
            pairs=max(self.pairs_tried, 1),
            lower_bound=self.lower_bound,
            log_wealth=self.account.log_wealth,
        )
