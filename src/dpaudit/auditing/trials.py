"""Batch testers on many pairs: the paper's Algorithm 1, with an alpha that holds for the whole run.

Trial 1, 2, ... asks the finder for a pair, draws as many outputs of either side, tests both
directions and stops when the claim is refuted (Kong, Medina, Ribero and Syed 2023,
"DP-Auditorium", algorithm 1). Trial t may err with probability `alpha_t = alpha * 6 / (pi t)^2`,
half of it in each direction, and these sum to at most alpha (MATH, section 3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sized
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.auditing.budget import Budget
from dpaudit.auditing.certify import FOR_CHOOSING, MOST, certify_on_draws, suspect
from dpaudit.auditing.ledger import Ledger
from dpaudit.auditing.rounds import Rounds
from dpaudit.auditing.shrink import simplest
from dpaudit.auditing.speed import ROUND_SHARE
from dpaudit.auditing.trial_pairs import TrialPairs
from dpaudit.bounds import round_up
from dpaudit.claims import Claim
from dpaudit.errors import Underpowered
from dpaudit.mechanism import SIDES, Mechanism, Watch, draw_side, noting
from dpaudit.neighbours import Pair
from dpaudit.outputs import Encoder, Outputs, joined
from dpaudit.results import Audit, Counterexample, Progress
from dpaudit.search import Finder
from dpaudit.testers import Trials, TwoSidedTest, share_of_alpha

_TRIALS = 20  # of a search, unless the user says otherwise
_FIRST, _GROWTH = 8, 8  # a trial's draws begin with so few and grow so fast
_CALLS, _ENOUGH = 16, 32  # calls on a side, unless they had fewer draws: calls are compared
_TIME = 0.85  # of the seconds, for trials: the rest is for certifying
_SURE = 0.6  # of a trial's share of them is planned for draws: they may be slower, and are tested
_CHEAPER = 0.7  # larger calls are tried as long as they make a draw so much cheaper


class TrialRun:
    """A running audit by trials. `run` may be interrupted at any time: what was found stays."""

    def __init__(
        self,
        mechanism: Mechanism,
        claim: Claim,
        finder: Finder,
        trials: Trials,
        *,
        alpha: float,
        budget: Budget,
        entropy: int,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.ledger = Ledger(claim, alpha, tester=type(trials.tester).__name__)
        self.notes: list[str] = []
        self._mechanism = mechanism
        self._finder = finder
        self._judge = TwoSidedTest(trials.tester, claim)
        self._count = _planned(trials, finder)
        self._alpha = alpha
        self._budget = budget
        self._entropy = entropy
        self._progress = progress
        self._encoder = Encoder()
        self.watch = Watch(mechanism.name, self._encoder)
        self._pairs = TrialPairs(finder, mechanism, budget, entropy, self.notes)
        self._size = self._planned_size()
        self._latest: tuple[int, Pair, Outputs, Outputs] | None = None

    def _planned_size(self) -> int:
        """How many outputs of a side each trial draws; refused if they could not refute."""
        size = (self._budget.samples - self._budget.reserve) // (2 * self._count)
        if size < 2:
            raise Underpowered(
                f"{self._budget.samples} samples are too few for {self._count} trials: a trial "
                "needs at least 2 outputs of either side. Give more samples, or fewer trials: "
                "dpaudit.testers.Trials(tester, count=...)."
            )
        alpha = self._alpha * share_of_alpha(1, self._count)
        self._judge.refuse_if_powerless(size, size, alpha=alpha)
        return size

    def run(self) -> None:
        """Make trials until the claim is refuted, or pairs, trials, time or power are used up."""
        self._budget.make_ready()
        with self._pairs.in_use(lambda: self.ledger.refuted):
            for trial in itertools.count(1):
                share = share_of_alpha(trial, self._count)
                if trial > 1 and self._is_powerless(self._size, share):
                    self._note_the_end(trial, self._size)
                    return
                pair = self._pairs.next()
                if pair is None or not self._try(trial, pair, share) or self._is_done(trial):
                    return

    def _is_done(self, trial: int) -> bool:
        """Whether the claim is refuted, or the trials are made: pairs left alone count as none."""
        made = trial if self._count == 1 else len(self.ledger.records)
        return self.ledger.refuted or made >= self._count

    def _try(self, trial: int, pair: Pair, share: float) -> bool:
        """One trial; False if there was no time for one that can refute."""
        size = self._timely_size(trial, pair)
        if size < self._size and (size < 2 or self._is_powerless(size, share)):
            self._note_the_end(trial, size)
            return False
        outputs, neighbour_outputs = self._draw(trial, pair, size)
        if self._pairs.leave(trial, pair):
            self.ledger.skip(share)  # what is tested must not depend on what came of it
            return True
        made = min(len(outputs), len(neighbour_outputs))
        if made < size:
            self.notes.append(
                f"The time ended in trial {trial} of {self._count}, after {made} of {size} outputs "
                "of either side: the mechanism was slower than before. The trial was not tested. "
                "Give more time or fewer trials."
            )
            return False
        try:
            outcome = self._judge.both(
                outputs,
                neighbour_outputs,
                alpha=share * self._alpha,
                seeds=(self._seed(4, trial, 0), self._seed(4, trial, 1)),
            )
        except Underpowered:
            if trial == 1:
                raise
            self._note_the_end(trial, size)
            return False
        except Exception as error:
            error.add_note(f"while testing {size} outputs of either side on {pair}")
            raise
        self._latest = trial, pair, outputs, neighbour_outputs
        spent = self._budget.spent
        self.ledger.enter(pair, outcome, share=share, draws=2 * size, samples=spent)
        self._finder.tell(pair, outcome.score)
        self._tell(pair)
        return True

    def _timely_size(self, trial: int, pair: Pair) -> int:
        """How many outputs of a side a trial is to draw: as planned, or what fits if in a hurry.

        It is fixed before the first of them, and a trial that runs out of time after all is not
        tested: a sample whose size depends on how long its own outputs took has no exact test.
        """
        budget, left = self._budget, max(self._count - len(self.ledger.records), 1)
        if budget.seconds is None:
            return min(self._size, budget.allows(2 * self._size) // 2)
        if trial == 1:
            self._probe(pair)
        return min(self._size, budget.affordable(by=budget.until(_SURE / left, by=_TIME)) // 2)

    def _probe(self, pair: Pair) -> None:
        """See how fast the mechanism is, with outputs that are not tested."""
        size, most, before, cost = 1, max(self._budget.reserve // 4, 1), math.inf, 0.0
        while size <= most and cost < _CHEAPER * before:
            start, before = self._budget.elapsed, cost or math.inf
            for side, data in enumerate((pair.data, pair.neighbour)):
                if self._budget.timely(size, of=0, by=_TIME) < size:
                    return
                self._drawn(data, size, self._seed(9, side, size), of=0)
            cost = (self._budget.elapsed - start) / size
            size *= 2

    def _draw(self, trial: int, pair: Pair, draws: int) -> tuple[Outputs, Outputs]:
        """So many outputs of either side, in growing pieces, their order tossed; or what fits."""
        pieces: tuple[list[Outputs], list[Outputs]] = ([], [])
        tosses, made = np.random.default_rng(self._seed(0, trial, 2)), 0
        while made < draws:
            most = max(-(-draws // _CALLS), _ENOUGH)
            wanted = min(max(_FIRST, (_GROWTH - 1) * made), most, draws - made)
            size = min(self._timely(wanted, trial, side) for side in (0, 1))
            first = int(tosses.integers(2))
            for side in (first, 1 - first):
                if size == 0 or self._timely(1, trial, side) == 0:
                    return joined(pieces[0]), joined(pieces[1])
                data = (pair.data, pair.neighbour)[side]
                with noting(self.notes):
                    seed, of = self._seed(0, trial, side, made), (trial, side)
                    pieces[side].append(self._drawn(data, size, seed, of=of))
                    self.watch.see_call((trial, SIDES[side]), pieces[side][-1])
            made += size
            if self._pairs.see(trial, pieces[0][-1], pieces[1][-1]):
                break
        return joined(pieces[0]), joined(pieces[1])

    def _timely(self, wanted: int, trial: int, side: int) -> int:
        return self._budget.timely(wanted, ROUND_SHARE, of=(trial, side), by=_TIME)

    def _drawn(self, data: Any, size: int, seed: np.random.SeedSequence, *, of: Any) -> Outputs:
        with self._budget.spending(size, of=of):
            return draw_side(self._mechanism, data, size, seed)

    def _is_powerless(self, size: int, share: float) -> bool:
        try:
            self._judge.refuse_if_powerless(size, size, alpha=share * self._alpha)
        except Underpowered:
            return True
        return False

    def _note_the_end(self, trial: int, size: int) -> None:
        """Say why there are fewer trials than planned."""
        alpha = round_up(self._alpha * share_of_alpha(trial, self._count), 2)
        what = "search" if size == self._size else "time"
        self.notes.append(
            f"The {what} ended before trial {trial} of {self._count}: {size} outputs of either "
            f"side can refute nothing at its share of alpha ({alpha:.2g}). Give more samples, more "
            "time or fewer trials."
        )

    def _tell(self, pair: Pair) -> None:
        if self._progress is not None:
            self._progress(
                Progress(
                    pairs=len(self.ledger.records),
                    samples=self._budget.spent,
                    budget=self._budget.samples,
                    seconds=self._budget.elapsed,
                    limit=self._budget.seconds,
                    lower_bound=self.ledger.lower_bound,
                    log_wealth=self.ledger.log_wealth,
                    alpha=self._alpha,
                    pair=str(pair),
                )
            )

    def certify(self) -> Counterexample | None:
        """Put into words what the last trial found; the event is chosen on it and some more."""
        assert self._latest is not None
        trial, pair, *seen = self._latest
        left = min(MOST, self._budget.samples - self._budget.spent)
        missing = max(int(left * FOR_CHOOSING) // 2 - len(seen[0]), 0)
        more = Rounds(
            mechanism=self._mechanism,
            pair=pair,
            draws=missing,
            budget=self._budget,
            seed=(self._entropy, 3),
            at_least=1,
            by=self._budget.until(FOR_CHOOSING),
        )
        for side, piece in enumerate(more.joined()):
            seen[side] = joined([seen[side], piece])
        rng = np.random.default_rng(self._seed(5))
        found = suspect(
            pair,
            self.ledger.claim,
            (seen[0], seen[1]),
            rng,
            encoder=self._encoder,
            watch=self.watch,
            number=trial,
        )
        return certify_on_draws(
            found,
            self._mechanism,
            draws=(left - 2 * missing) // 2,
            alpha=self._alpha,
            budget=self._budget,
            seed=(self._entropy, 1),
        )

    def simplest(self, found: Counterexample, neighbours: Any) -> Counterexample | None:
        """A plainer counterexample, if there is one."""
        return simplest(
            found,
            self._mechanism,
            self.ledger.claim,
            neighbours,
            budget=self._budget,
            entropy=self._entropy,
        )

    def result(
        self, neighbours: str, counterexample: Counterexample | None, *, interrupted: bool
    ) -> Audit:
        """The audit so far."""
        return self.ledger.audit(
            mechanism=self._mechanism.name,
            target=self._mechanism.target,
            neighbours=neighbours,
            counterexample=counterexample,
            budget=self._budget,
            entropy=self._entropy,
            notes=tuple(self.notes),
            interrupted=interrupted,
        )

    def _seed(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._entropy, spawn_key=key)


def audit_by_trials(run: TrialRun, neighbours: Any, words: str) -> Audit:
    """Run the trials, certify what they find, and give the result; Ctrl-C ends it early."""
    interrupted, counterexample, plain = False, None, None
    try:
        run.run()
        with noting(run.notes):
            run.watch.close()
        if run.ledger.refuted:
            run.watch.refuse_frozen()
            counterexample = run.certify()
        if counterexample is not None:
            plain = run.simplest(counterexample, neighbours)
    except KeyboardInterrupt:
        interrupted = True
    return replace(run.result(words, counterexample, interrupted=interrupted), simplest=plain)


def _planned(trials: Trials, finder: Finder) -> int:
    """How many trials there are to be: no more than pairs, where their number is known."""
    pairs = max(len(finder), 1) if isinstance(finder, Sized) else None
    if trials.count is None:
        return _TRIALS if pairs is None else pairs
    return int(trials.count) if pairs is None else min(int(trials.count), pairs)
