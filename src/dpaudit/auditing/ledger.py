"""The ledger of an audit by trials: what was found on which pair, and the wealth it is worth.

The evidence is the wealth of a bettor for whom a trial is all or nothing. He begins with 1 and
stakes `alpha_t / alpha` on trial t at odds `1 / alpha_t`, which is fair or worse under the claim.
So the wealth is one supermartingale: what has not been staked yet, plus `1 / alpha` after a
refutation. Nobody bets on a tester without a finite-sample guarantee: there the wealth stays 1.
"""

from __future__ import annotations

import math

from dpaudit.auditing.run import MAX_HISTORY, Findings
from dpaudit.claims import Claim, Scalable
from dpaudit.neighbours import Pair
from dpaudit.results import Evidence, Method, PairRecord
from dpaudit.testers import Outcome


class Ledger:
    """What was found on which pair, and the wealth against the claim.

    A replay has no `method`: what accuses there is an exact bound.
    """

    def __init__(self, claim: Claim, alpha: float, *, tester: str, method: Method | None) -> None:
        self._alpha = alpha
        self._tester = tester
        self._method = method
        self._refutes = method is None or method.refutes
        self.accused = False
        self.lower_bound = 0.0 if isinstance(claim, Scalable) else None
        self.records: list[PairRecord] = []
        self._strongest: PairRecord | None = None
        self._best_score = -math.inf
        self._unspent = 1.0  # share of alpha
        self._trace: list[tuple[int, float]] = []

    @property
    def refuted(self) -> bool:
        """Whether a trial accused the claim, by a tester whose accusation refutes it."""
        return self.accused and self._refutes

    @property
    def log_wealth(self) -> float:
        """The log of the wealth; -inf once all of alpha is spent in vain."""
        wealth = self._unspent + (1.0 / self._alpha if self.refuted else 0.0)
        return math.log(wealth) if wealth > 0.0 else -math.inf

    def enter(
        self, pair: Pair, outcome: Outcome, *, share: float, draws: int, samples: int
    ) -> None:
        """Enter a trial of `draws` draws; `samples` counts those of the audit so far."""
        before = self.log_wealth
        self.skip(share)
        self.accused |= outcome.accused
        if self.lower_bound is not None and outcome.strength_lower is not None:
            self.lower_bound = max(self.lower_bound, outcome.strength_lower)
        gain = self.log_wealth - before
        record = PairRecord(pair=pair, samples=draws, log_wealth=gain, growth=gain / draws)
        self.records.append(record)
        if outcome.accused or outcome.score > self._best_score or self._strongest is None:
            self._strongest, self._best_score = record, outcome.score
        if self._refutes:
            self._trace.append((samples, self.log_wealth))

    def skip(self, share: float) -> None:
        """Spend the share of alpha of a trial that was begun and not tested."""
        if self._refutes:
            self._unspent = max(self._unspent - share, 0.0)

    def findings(self) -> Findings:
        """All of it."""
        evidence = Evidence(
            trace=tuple(self._trace),
            log_wealth=self.log_wealth,
            peak=max(self.log_wealth, 0.0),
        )
        return Findings(
            evidence=evidence,
            history=tuple(self.records[:MAX_HISTORY]),
            strongest=self._strongest,
            pairs_tried=len(self.records),
            lower_bound=self.lower_bound,
            tester=self._tester,
            method=self._method,
            suspected=self.accused and not self._refutes,
        )
