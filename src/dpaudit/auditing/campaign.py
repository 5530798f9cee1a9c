"""The search: which pair gets the next draws, and what all bets are worth together.

Half of the draws go to pairs not seen before, half to the pair that promises most; a pair that is
earning right now goes on until it stops. None of this needs a statistical correction: there is one
wealth for the whole audit (`testers/account.py`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sized

import numpy as np
import numpy.typing as npt

from dpaudit.auditing.budget import Budget
from dpaudit.bets.book import Book, book_for
from dpaudit.claims import Claim
from dpaudit.evidence import Evidence, PairRecord, Progress
from dpaudit.finders import Finder
from dpaudit.health import FrozenSeedCheck
from dpaudit.mechanism import Batch, HealthWarning, Mechanism, draw_labelled
from dpaudit.neighbours import Pair
from dpaudit.outputs import Encoder
from dpaudit.returned import Outputs
from dpaudit.testers.account import Account, Stake
from dpaudit.testers.bettor import PairBettor

_LOOKS = 200  # about how many pairs get a first look out of the whole budget
_FIRST_FRACTION, _FRACTION = 0.4, 0.3  # of the wealth, for the first and later pairs of a search
_ENTRY = 3.0  # nats that a later pair must earn on paper before it is staked on
_REMEMBERED = 32  # pairs whose experts are kept; the others stay in the record only
_EARNING = 1.0  # nats: a pair with as much on paper is pressed as long as it gains
_CLOSE = 0.9  # a pair scoring so much of the best one is as promising
_PATIENCE = 12.0  # how much rarer experts learn on a pair that has shown nothing yet
_HISTORY = 2_000
_TRACE = 1_000
_HEALTH_DRAWS = 2_048  # of a batch, looked at for a frozen seed
_PROGRESS_SECONDS = 0.1


class Contender:
    """One pair in the race: its bettor, its stake in the wealth, and how it did."""

    def __init__(self, number: int, pair: Pair, bettor: PairBettor, stake: Stake) -> None:
        self.number = number
        self.pair = pair
        self.bettor = bettor
        self.stake = stake
        self.gain = 0.0  # nats at the claim, over the last time it got draws

    def log_wealth(self, place: int) -> float:
        """Its own wealth against the claim, on paper."""
        return float(self.bettor.log_wealth[place])

    def score(self, book: Book) -> float:
        """The highest level at which it has earned a nat on paper: its privacy loss so far."""
        earned = np.flatnonzero(self.bettor.log_wealth >= 1.0)
        if len(earned) == 0:
            return 0.0
        level = float(book.levels[earned[-1]])
        return float(self.bettor.log_wealth[earned[-1]]) if math.isnan(level) else level

    def record(self, place: int) -> PairRecord:
        """Its line in the history."""
        draws, wealth = self.bettor.draws, self.log_wealth(place)
        return PairRecord(
            pair=self.pair, samples=draws, log_wealth=wealth, growth=wealth / max(draws, 1)
        )


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
    ) -> None:
        self.mechanism = mechanism
        self.claim = claim
        self.alpha = alpha
        self.budget = budget
        self.encoder = Encoder()
        self.book = book_for(claim)
        self.account = Account(len(self.book.levels), self.book.place, alpha)
        self.contenders: list[Contender] = []
        self.warnings: list[str] = []
        self._records: dict[int, PairRecord] = {}
        self._finder = finder
        self._alone = isinstance(finder, Sized) and len(finder) == 1
        self._exhausted = False
        self._look = min(max((budget.samples - budget.reserve) // _LOOKS, 64), 1_500)
        self._explored = self._pressed = 0
        self._batches = 0
        self.entropy = entropy
        self._health = FrozenSeedCheck(mechanism.name)
        self._trace: list[tuple[int, float]] = []
        self._progress = progress
        self._progress_due = 0.0

    @property
    def pairs_tried(self) -> int:
        """How many pairs got draws."""
        return len(self._records)

    @property
    def strongest(self) -> Contender | None:
        """The pair that showed most."""
        place = self.book.place
        return max(
            self.contenders,
            key=lambda one: (one.score(self.book), one.log_wealth(place), -one.number),
            default=None,
        )

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
            peak=self.account.claim_peak,
        )

    def run(self, *, beyond_refutation: bool) -> None:
        """Search and bet until the claim is refuted or the budget is used up."""
        while beyond_refutation or not self.account.refuted:
            chosen, wanted = self._choose()
            if chosen is None or self._give(chosen, wanted) == 0:
                return

    def seed(self, *key: int) -> np.random.SeedSequence:
        """One child of the audit's seed, by its key."""
        return np.random.SeedSequence(self.entropy, spawn_key=key)

    def draw(self, contender: Contender, size: int, seed: np.random.SeedSequence) -> Batch:
        """Draw labelled outputs of a pair, and note what the health checks have to say."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HealthWarning)
            batch = draw_labelled(self.mechanism, contender.pair, size, seed)
            for side, chosen in (("data", batch.labels), ("neighbour", ~batch.labels)):
                self._health.see(f"{contender.number} {side}", _first(batch.outputs, chosen))
        self.budget.spent += size
        for warning in caught:
            text = str(warning.message)
            if not issubclass(warning.category, HealthWarning):
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
            elif text not in self.warnings:
                self.warnings.append(text)
                warnings.warn(text, HealthWarning, stacklevel=2)
        return batch

    def _choose(self) -> tuple[Contender | None, int]:
        """The pair that gets the next draws, and how many."""
        earning = [
            one
            for one in self.contenders
            if one.gain > 0.0 and one.log_wealth(self.book.place) >= _EARNING
        ]
        if not earning and (not self.contenders or self._explored <= self._pressed):
            met = self._meet()
            if met is not None:
                self._explored += self._look
                return met, self._look
        pressed = self._most_promising(earning or self.contenders)
        if pressed is None:
            return None, 0
        wanted = max(self._look, pressed.bettor.draws // 4)
        self._pressed += wanted
        return pressed, wanted

    def _meet(self) -> Contender | None:
        """The next pair of the finder, ready to be bet on; None if it has no more."""
        pair = None if self._exhausted else self._finder.ask()
        if pair is None:
            self._exhausted = True
            return None
        number = len(self._records)
        bettor = PairBettor(book_for(self.claim), self.encoder)
        contender = Contender(number, pair, bettor, self._stake(number))
        self.contenders.append(contender)
        return contender

    def _stake(self, number: int) -> Stake:
        """All the wealth for the only pair; less, and later, the more pairs were met before."""
        levels = len(self.book.levels)
        if self._alone:
            return Stake(levels, fraction=1.0, entry=0.0)
        if number == 0:
            return Stake(levels, fraction=_FIRST_FRACTION, entry=0.0)
        return Stake(levels, fraction=_FRACTION, entry=min(_ENTRY, 1.0 + math.log(number)))

    def _most_promising(self, among: list[Contender]) -> Contender | None:
        """The best score; among those close to it, the one with the fewest draws."""
        if not among:
            return None
        best = max(one.score(self.book) for one in among)
        close = [one for one in among if one.score(self.book) >= _CLOSE * best]
        return min(close, key=lambda one: (one.bettor.draws, one.number))

    def _give(self, contender: Contender, wanted: int) -> int:
        """Give a pair its draws, batch by batch; the number of draws made."""
        before = contender.log_wealth(self.book.place)
        try:
            made = self._bet(contender, wanted)
        finally:  # also when interrupted: what was drawn is on record
            self._records[contender.number] = contender.record(self.book.place)
        contender.gain = contender.log_wealth(self.book.place) - before
        self._finder.tell(contender.pair, contender.score(self.book))
        self._forget()
        return made

    def _bet(self, contender: Contender, wanted: int) -> int:
        """Play batch by batch until the draws are made or the claim is refuted."""
        made, refuted = 0, self.account.refuted
        hopeful = contender.log_wealth(self.book.place) >= _EARNING
        patience = 1.0 if self._alone or self._exhausted or hopeful else _PATIENCE
        while made < wanted and self.account.refuted == refuted:
            batch, left = contender.bettor.next_batch(patience=patience), wanted - made
            if not self._alone and left < 1.5 * batch:
                batch = left  # no crumbs: a batch costs a refit, however small
            size = self.budget.allows(batch)
            if size == 0:
                break
            made += size
            self._play(contender, size)
        return made

    def _play(self, contender: Contender, size: int) -> None:
        """One batch: draw, bet, learn, settle."""
        seed = self.seed(0, self._batches)
        self._batches += 1
        before, batch = self.budget.spent, self.draw(contender, size, seed)
        table = self.encoder.encode(batch.outputs)
        target = self.account.target(contender.number, contender.stake)
        contender.bettor.settled = self.account.settled
        crossing = contender.bettor.play(table, batch.labels, target=target)
        factor = contender.stake.log_factor(contender.bettor.log_wealth)
        self.account.update(contender.number, factor, crossed=crossing is not None)
        contender.stake.admit(contender.bettor.log_wealth)
        self._note(before + (size if crossing is None else crossing), contender)

    def _note(self, samples: int, contender: Contender) -> None:
        self._trace.append((samples, self.account.log_wealth))
        if len(self._trace) > _TRACE:
            self._trace = [*self._trace[:-1:2], self._trace[-1]]
        if self._progress is not None and self.budget.elapsed >= self._progress_due:
            self._progress_due = self.budget.elapsed + _PROGRESS_SECONDS
            self._progress(
                Progress(
                    pairs=max(self.pairs_tried, 1),
                    samples=self.budget.spent,
                    budget=self.budget.samples,
                    seconds=self.budget.elapsed,
                    lower_bound=self.lower_bound,
                    log_wealth=self.account.log_wealth,
                    alpha=self.alpha,
                    pair=str(contender.pair),
                )
            )

    @property
    def lower_bound(self) -> float | None:
        """The highest level refuted together with all below it; None for a claim without levels."""
        if math.isnan(self.book.levels[self.book.place]):
            return None
        settled = self.account.settled
        return float(self.book.levels[settled - 1]) if settled else 0.0

    def _forget(self) -> None:
        """Let go of the experts of pairs that show least: memory does not grow with the pairs."""
        if len(self.contenders) > _REMEMBERED:
            place = self.book.place
            self.contenders.remove(
                min(
                    self.contenders,
                    key=lambda one: (one.score(self.book), one.log_wealth(place), -one.number),
                )
            )


def _first(outputs: Outputs, chosen: npt.NDArray[np.bool_]) -> Outputs:
    """The first of the chosen outputs, enough to see whether a seed is frozen."""
    outputs, chosen = outputs[:_HEALTH_DRAWS], chosen[:_HEALTH_DRAWS]
    if isinstance(outputs, list):
        return [output for output, taken in zip(outputs, chosen, strict=True) if taken]
    return outputs[chosen]
