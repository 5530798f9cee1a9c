"""One audit up to its verdict, by bets or by trials: no draws are kept back to certify an event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpaudit import BettingTester
from dpaudit.auditing import BettingLoop, Budget, Run, TrialLoop
from dpaudit.claims import Claim
from dpaudit.mechanism import as_mechanism
from dpaudit.search import Finder
from dpaudit.testers import Trials


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How an audit ended: the draws until it refuted, or all; and its bound, if the claim has one.

    A tester that sharpens draws on after refuting: its bound is that of all draws.
    """

    refuted: bool
    pairs: int
    draws: int
    lower_bound: float | None


def ended(
    mechanism: Callable[..., object],
    claim: Claim,
    finder: Finder,
    tester: BettingTester | Trials,
    *,
    alpha: float,
    samples: int,
    entropy: int,
) -> Ended:
    """Audit the pairs of a finder until the claim is refuted, or until they or draws run out.

    >>> import numpy as np
    >>> from dpaudit.search import as_finder
    >>> finder = as_finder([([1.0], [])], "auto", np.random.default_rng(0))
    >>> tell = lambda data, size, rng: np.full(size, float(len(data)))
    >>> from dpaudit import PureDP
    >>> how = ended(tell, PureDP(1.0), finder, BettingTester(), alpha=0.05, samples=99, entropy=1)
    >>> how.refuted, how.pairs, how.draws < 99
    (True, 1, True)
    """
    budget = Budget(samples, None)
    budget.reserve = 0
    run = Run(
        mechanism=as_mechanism(mechanism), claim=claim, alpha=alpha, budget=budget, entropy=entropy
    )
    if isinstance(tester, Trials):
        trials = TrialLoop(run, finder, tester)
        trials.search()
        ledger = trials.ledger
        return Ended(
            refuted=ledger.refuted,
            pairs=len(ledger.records),
            draws=budget.spent,
            lower_bound=ledger.lower_bound,
        )
    bets = BettingLoop(run, finder)
    bets.search()
    draws = bets.evidence.trace[-1][0]
    if tester.after_refuting == "sharpen":
        bets.sharpen = True
        bets.search()
    return Ended(
        refuted=bets.refuted,
        pairs=bets.pairs_tried,
        draws=draws,
        lower_bound=bets.lower_bound,
    )
