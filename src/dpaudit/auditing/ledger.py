"""The ledger of an audit by trials: what was found on which pair, and the wealth it is worth.

The evidence is the wealth of a bettor to whom a trial is all or nothing. He begins with 1 and
stakes `alpha_t / alpha` on trial t at odds `1 / alpha_t`, which is fair or worse under the claim.
So the wealth is one supermartingale: what was not staked yet, and `1 / alpha` more after a
refutation.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dpaudit._version import __version__
from dpaudit.auditing.budget import Budget
from dpaudit.claims import Claim, Scalable
from dpaudit.neighbours import Pair
from dpaudit.results import (
    Audit,
    Counterexample,
    Evidence,
    PairRecord,
    forecast_of,
    software_in_use,
    verdict_of,
)
from dpaudit.testers import Outcome

_HISTORY = 2_000


class Ledger:
    """What was found on which pair, and the wealth against the claim."""

    def __init__(self, claim: Claim, alpha: float, *, tester: str) -> None:
        self.claim = claim
        self.alpha = alpha
        self._tester = tester
        self.refuted = False
        self.lower_bound = 0.0 if isinstance(claim, Scalable) else None
        self.records: list[PairRecord] = []
        self.strongest: PairRecord | None = None
        self._best_score = -math.inf
        self._unspent = 1.0  # share of alpha
        self._trace: list[tuple[int, float]] = []

    @property
    def log_wealth(self) -> float:
        """The log of the wealth; -inf once all of alpha is spent in vain."""
        wealth = self._unspent + (1.0 / self.alpha if self.refuted else 0.0)
        return math.log(wealth) if wealth > 0.0 else -math.inf

    @property
    def evidence(self) -> Evidence:
        """The wealth after every trial."""
        return Evidence(
            trace=tuple(self._trace),
            log_wealth=self.log_wealth,
            peak=max(self.log_wealth, 0.0),
        )

    def enter(
        self, pair: Pair, outcome: Outcome, *, share: float, draws: int, samples: int
    ) -> None:
        """Enter a trial of so many draws, the audit's `samples` up to now with them."""
        before = self.log_wealth
        self._unspent = max(self._unspent - share, 0.0)
        self.refuted |= outcome.refuted
        if self.lower_bound is not None and outcome.strength_lower is not None:
            self.lower_bound = max(self.lower_bound, outcome.strength_lower)
        gain = self.log_wealth - before
        record = PairRecord(pair=pair, samples=draws, log_wealth=gain, growth=gain / draws)
        self.records.append(record)
        if outcome.refuted or outcome.score > self._best_score or self.strongest is None:
            self.strongest, self._best_score = record, outcome.score
        self._trace.append((samples, self.log_wealth))

    def skip(self, share: float) -> None:
        """A trial was begun and not tested: its share of alpha is gone."""
        self._unspent = max(self._unspent - share, 0.0)

    def audit(
        self,
        *,
        mechanism: str,
        target: str | None = None,
        neighbours: str,
        counterexample: Counterexample | None,
        budget: Budget,
        entropy: int,
        notes: tuple[str, ...],
        interrupted: bool,
    ) -> Audit:
        """All of it, as the result of an audit."""
        evidence, history = self.evidence, tuple(self.records[:_HISTORY])
        records = (*history, self.strongest)
        made = Audit(
            mechanism=mechanism,
            claim=self.claim,
            verdict=verdict_of(self.claim, self.alpha, evidence, records),
            lower_bound=self.lower_bound,
            counterexample=counterexample,
            tester=self._tester,
            evidence=evidence,
            samples=budget.spent,
            seconds=budget.elapsed,
            alpha=self.alpha,
            rng_seed=entropy,
            pairs_tried=len(self.records),
            neighbours=neighbours,
            strongest=self.strongest,
            detectable=None,
            forecast=None,
            history=history,
            warnings=notes,
            interrupted=interrupted,
            version=__version__,
            target=target,
            software=software_in_use(),
        )
        return replace(made, forecast=forecast_of(made))
