"""Batch testers on many pairs: the paper's Algorithm 1, with an alpha that holds for the whole run.

Trial 1, 2, ... asks the finder for a pair, draws equally many outputs of both sides, tests both
directions and stops when the claim is accused (Kong, Medina, Ribero and Syed 2023,
"DP-Auditorium", algorithm 1). Trial t may err with probability `alpha_t = alpha * 6 / (pi t)^2`,
half of it in each direction, and these sum to at most alpha (docs/mathematics.md, section 7).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sized
from dataclasses import dataclass, field

from dpaudit.auditing.budget import ROUND_SHARE
from dpaudit.auditing.certify import certify_on_draws, seen_outputs
from dpaudit.auditing.certifying_draws import CHOOSING_SHARE, CertifyingLimit
from dpaudit.auditing.ledger import Ledger
from dpaudit.auditing.run import Findings, Run, Stream
from dpaudit.auditing.trial_pairs import TrialPairs
from dpaudit.bounds import round_up
from dpaudit.errors import Underpowered
from dpaudit.mechanism import SIDE_NAMES, Call, Pending, asked_ahead, noting
from dpaudit.neighbours import Pair
from dpaudit.outputs import Outputs, joined
from dpaudit.results import Counterexample
from dpaudit.search import Finder
from dpaudit.testers import Trials, TwoSidedTest, share_of_alpha

_DEFAULT_TRIALS = 20  # of a search
_FIRST_CALL, _CALL_GROWTH = 8, 8  # the draws of a trial's first call, and how fast calls grow
_MIN_CALLS, _MIN_CALL = 16, 32  # calls on a side, unless they had fewer draws: calls are compared
_TRIALS_SHARE = 0.85  # of the seconds; the rest is for certifying
_DRAWS_SHARE = 0.6  # of a trial's seconds: draws may turn out slower, and are tested
_WORTH_ENLARGING = 0.7  # larger calls are tried while they cut the cost of a draw to this share


class TrialLoop:
    """A running audit by trials. `search` may be interrupted at any time: what was found stays."""

    def __init__(self, run: Run, finder: Finder, trials: Trials) -> None:
        self.run = run
        self._finder = finder
        self._test = TwoSidedTest(trials.tester, run.claim)
        name = type(trials.tester).__name__
        self.ledger = Ledger(run.claim, run.alpha, tester=name, method=self._test.method)
        self._count = _planned(trials, finder)
        self._pairs = TrialPairs(run, finder)
        self._size = self._planned_size()
        self._latest: tuple[int, Pair, Outputs, Outputs] | None = None

    @property
    def refuted(self) -> bool:
        """Whether a trial has refuted the claim."""
        return self.ledger.refuted

    def _planned_size(self) -> int:
        """How many outputs of a side each trial draws; refused if they could not refute."""
        budget = self.run.budget
        size = (budget.samples - budget.reserve) // (2 * self._count)
        if size < 2:
            raise Underpowered(
                f"{budget.samples} samples are too few for {self._count} trials: a trial "
                "needs at least 2 outputs of either side. Give more samples, or fewer trials: "
                "dpaudit.testers.Trials(tester, count=...)."
            )
        alpha = self.run.alpha * share_of_alpha(1, self._count)
        self._test.refuse_if_powerless(size, size, alpha=alpha)
        return size

    def search(self) -> None:
        """Make trials until the claim is accused, or pairs, trials, time or power are used up."""
        self.run.budget.make_ready()
        with self._pairs.in_use(lambda: self.ledger.accused):
            self._make_trials()
        with noting(self.run.warnings):
            self.run.watch.close()

    def _make_trials(self) -> None:
        for trial in itertools.count(1):
            share = share_of_alpha(trial, self._count)
            if trial > 1 and self._is_powerless(self._size, share):
                self._note_the_end(trial, self._size)
                return
            pair = self._pairs.next()
            if pair is None or not self._try(trial, pair, share) or self._is_done(trial):
                return

    def _is_done(self, trial: int) -> bool:
        """Whether the claim is accused or all trials are made; pairs set aside do not count."""
        made = trial if self._count == 1 else len(self.ledger.records)
        return self.ledger.accused or made >= self._count

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
            self.run.warnings.append(
                f"The time ended in trial {trial} of {self._count}, after {made} of {size} outputs "
                "of either side: the mechanism was slower than before. The trial was not tested. "
                "Give more time or fewer trials."
            )
            return False
        seeds = self.run.seed(Stream.TESTER, trial, 0), self.run.seed(Stream.TESTER, trial, 1)
        try:
            outcome = self._test.both(
                outputs, neighbour_outputs, alpha=share * self.run.alpha, seeds=seeds
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
        spent = self.run.budget.spent
        self.ledger.enter(pair, outcome, share=share, draws=2 * size, samples=spent)
        self._finder.tell(pair, outcome.score)
        self.run.tell(
            pair,
            pairs=len(self.ledger.records),
            lower_bound=self.ledger.lower_bound,
            log_wealth=self.ledger.log_wealth,
        )
        return True

    def _timely_size(self, trial: int, pair: Pair) -> int:
        """How many outputs of a side a trial draws: as planned, or what fits into the time.

        The number is fixed before the first of them, and a trial that runs out of time after all is
        not tested: a sample whose size depends on how long its own outputs took has no exact test.
        """
        budget, left = self.run.budget, max(self._count - len(self.ledger.records), 1)
        if budget.seconds is None:
            return min(self._size, budget.allows(2 * self._size) // 2)
        if trial == 1:
            self._probe(pair)
        until = budget.until(_DRAWS_SHARE / left, by=_TRIALS_SHARE)
        return min(self._size, budget.affordable(by=until) // 2)

    def _probe(self, pair: Pair) -> None:
        """See how fast the mechanism is, with outputs that are not tested."""
        run, budget = self.run, self.run.budget
        size, most, before, cost = 1, max(budget.reserve // 4, 1), math.inf, 0.0
        while size <= most and cost < _WORTH_ENLARGING * before:
            start, before = budget.elapsed, cost or math.inf
            for side, data in enumerate((pair.data, pair.neighbour)):
                if budget.timely(size, key=0, by=_TRIALS_SHARE) < size:
                    return
                run.draw(data, size, run.seed(Stream.PROBE, side, size), key=0)
            cost = (budget.elapsed - start) / size
            size *= 2

    def _draw(self, trial: int, pair: Pair, draws: int) -> tuple[Outputs, Outputs]:
        """`draws` outputs of each side, or what fits, in growing pieces whose order is tossed."""
        run, pieces = self.run, _Pieces()
        asked = self._asked(trial, pair, draws)
        limited = run.budget.seconds is not None  # then each piece is sized by those before
        for piece in asked if limited else asked_ahead(asked, run.caller):
            for side, call in piece.calls:
                if self._timely(1, trial, side) == 0:
                    return pieces.joined
                with noting(run.warnings):
                    with run.budget.spending(piece.size, key=(trial, side)):
                        outputs = call.outputs()
                    run.watch.see_call((trial, SIDE_NAMES[side]), outputs)
                run.warn_if_slow()
                pieces.sides[side].append(outputs)
            if self._pairs.see(trial, *(side[-1] for side in pieces.sides)):
                break
        return pieces.joined

    def _asked(self, trial: int, pair: Pair, draws: int) -> Iterator[_Piece]:
        """Ask for both sides, piece by piece."""
        run = self.run
        tosses, made = run.rng(Stream.TEST, trial, 2), 0
        while made < draws:
            most = max(-(-draws // _MIN_CALLS), _MIN_CALL)
            wanted = min(max(_FIRST_CALL, (_CALL_GROWTH - 1) * made), most, draws - made)
            size = min(self._timely(wanted, trial, side) for side in (0, 1))
            if size == 0:
                return
            first, calls = int(tosses.integers(2)), []
            for side in (first, 1 - first):
                data = (pair.data, pair.neighbour)[side]
                seed = run.seed(Stream.TEST, trial, side, made)
                calls.append((side, run.caller.ask(Call(data=data, size=size, seed=seed))))
            yield _Piece(size, tuple(calls))
            made += size

    def _timely(self, wanted: int, trial: int, side: int) -> int:
        return self.run.budget.timely(wanted, ROUND_SHARE, key=(trial, side), by=_TRIALS_SHARE)

    def _is_powerless(self, size: int, share: float) -> bool:
        try:
            self._test.refuse_if_powerless(size, size, alpha=share * self.run.alpha)
        except Underpowered:
            return True
        return False

    def _note_the_end(self, trial: int, size: int) -> None:
        """Say why there are fewer trials than planned."""
        alpha = round_up(self.run.alpha * share_of_alpha(trial, self._count), 2)
        what = "search" if size == self._size else "time"
        self.run.warnings.append(
            f"The {what} ended before trial {trial} of {self._count}: {size} outputs of either "
            f"side can refute nothing at its share of alpha ({alpha:.2g}). Give more samples, more "
            "time or fewer trials."
        )

    def certify(self) -> Counterexample | None:
        """Put into words what the last trial found; the event is chosen on it and some more."""
        assert self._latest is not None
        run, (trial, pair, *seen) = self.run, self._latest
        run.watch.refuse_frozen()
        limit = CertifyingLimit.of(run.budget, run.certify, seen=2 * len(seen[0]))
        missing = max(limit.choosing // 2 - len(seen[0]), 0)
        until = run.budget.until(CHOOSING_SHARE, by=limit.by)
        more = run.rounds(pair, missing, Stream.CHOOSE, at_least=1, by=until)
        data, neighbour = map(joined, zip(seen, more.joined(), strict=True))
        chosen = seen_outputs(
            pair,
            (data, neighbour),
            run.rng(Stream.SHUFFLE),
            encoder=run.encoder,
            watch=run.watch,
            number=trial,
        )
        return certify_on_draws(run, chosen, draws=limit.fresh(2 * missing))

    def findings(self, found: Counterexample | None) -> Findings:
        """All that the trials found."""
        return self.ledger.findings()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A call on either side that was asked for."""

    size: int
    calls: tuple[tuple[int, Pending], ...]

    def cancel(self) -> None:
        for _, call in self.calls:
            call.cancel()


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The outputs of a trial so far, call by call."""

    sides: tuple[list[Outputs], list[Outputs]] = field(default_factory=lambda: ([], []))

    @property
    def joined(self) -> tuple[Outputs, Outputs]:
        return joined(self.sides[0]), joined(self.sides[1])


def _planned(trials: Trials, finder: Finder) -> int:
    """How many trials there will be: at most one per pair, where their number is known."""
    pairs = max(len(finder), 1) if isinstance(finder, Sized) else None
    if trials.count is None:
        return _DEFAULT_TRIALS if pairs is None else pairs
    return int(trials.count) if pairs is None else min(int(trials.count), pairs)
