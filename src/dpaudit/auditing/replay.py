"""A counterexample again: its event counted on fresh draws, of the same code or of other code.

Nothing is searched, so few draws are enough: as many as the earlier counts say are needed. The
bounds hold whatever those counts were, because no fresh draw had a say in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpaudit.arrays import Labels
from dpaudit.auditing.budget import MAX_CERTIFYING_DRAWS, Budget
from dpaudit.auditing.ledger import Ledger
from dpaudit.auditing.rounds import count_calls
from dpaudit.auditing.run import Run, Stream, check_arguments, check_budget, entropy_of, result
from dpaudit.bounds import epsilon_from_event
from dpaudit.claims import Claim, Scalable, point_of
from dpaudit.domains import is_whole
from dpaudit.errors import CannotReplay
from dpaudit.events import Rule
from dpaudit.mechanism import Mechanism, OnError, with_errors
from dpaudit.neighbours import NO_DATASETS
from dpaudit.outputs import Outputs, short
from dpaudit.results import REPLAY, Audit, Counterexample, Tally, bound_of_event
from dpaudit.testers import Outcome

_MIN_DRAWS = 64  # of a side
_SAFETY_ERRORS = 3.0  # standard errors taken off the earlier counts: 499 replays in 500 succeed


def replay(
    found: Counterexample,
    mechanism: Callable[..., object] | Mechanism,
    claim: Claim,
    *,
    alpha: float = 1e-6,
    samples: int | None = None,
    rng: np.random.Generator | int | None = None,
    on_error: OnError = "output",
) -> Counterexample:
    """Count the event of a counterexample on fresh draws, and certify its bounds anew.

    The bounds of the result hold with probability at least `1 - alpha`; its `.breaks(claim)` says
    whether they still refute. `samples` bounds the draws of both sides together (80 000 if not
    given); as many are made as the earlier counts say are needed. `on_error` and `rng` are those
    of `dpaudit.audit`, and so is the error `DependentDraws`.

    >>> import numpy as np, dpaudit
    >>> def noisy_sum(data, size, rng, scale=1.0):
    ...     return sum(data) + rng.laplace(scale=scale, size=size)
    >>> pair = dpaudit.pairs([([1.0], [-1.0])])  # 2 apart, so epsilon is 2
    >>> found = dpaudit.audit(noisy_sum, dpaudit.PureDP(1.0), pair, rng=7).counterexample
    >>> again = dpaudit.replay(found, noisy_sum, dpaudit.PureDP(1.0), rng=8)
    >>> again.breaks(dpaudit.PureDP(1.0)), again.data.draws < found.data.draws / 5
    (True, True)
    >>> def mended(data, size, rng):
    ...     return noisy_sum(data, size, rng, scale=2.0)
    >>> dpaudit.replay(found, mended, dpaudit.PureDP(1.0), rng=8).breaks(dpaudit.PureDP(1.0))
    False
    """
    check_arguments(claim, alpha)
    check_budget(samples)
    most = MAX_CERTIFYING_DRAWS if samples is None else int(samples)
    run = Run(
        mechanism=with_errors(mechanism, on_error),
        claim=claim,
        alpha=float(alpha),
        budget=Budget(most, None),
        entropy=entropy_of(rng),
    )
    return _replayed(run, found)


def audit_by_replay(
    found: Counterexample,
    mechanism: Mechanism,
    claim: Claim,
    *,
    alpha: float,
    rng: np.random.Generator | int | None,
    on_error: OnError = "output",
) -> Audit:
    """A replay as an audit: refuted if the event still breaks the claim, with all of alpha."""
    run = Run(
        mechanism=with_errors(mechanism, on_error),
        claim=claim,
        alpha=float(alpha),
        budget=Budget(MAX_CERTIFYING_DRAWS, None),
        entropy=entropy_of(rng),
    )
    again = _replayed(run, found)
    broken, draws = again.breaks(claim), run.budget.spent
    shown = bound_of_event(claim, again) if broken and isinstance(claim, Scalable) else None
    outcome = Outcome(accused=broken, strength_lower=shown, score=again.epsilon_lower)
    ledger = Ledger(claim, run.alpha, tester=REPLAY, method=None)
    ledger.enter(found.pair, outcome, share=1.0, draws=draws, samples=draws)
    made = result(run, ledger.findings(), "1 known counterexample", again if broken else None)
    return replace(made, floats="bits") if _rule(found).is_about_floats else made


def _replayed(run: Run, found: Counterexample) -> Counterexample:
    rule, claim = _rule(found), run.claim
    if point := point_of(claim):  # the claim may have another delta than the saved one
        found = replace(found, delta=point[1])
    draws = min(needed(found, claim, run.alpha), max(run.budget.samples // 2, 1))
    fresh = run.rounds(found.pair, draws, Stream.REPLAY)

    def holds(side: int, outputs: Outputs) -> Labels:
        run.watch.see_call(side, outputs)
        return rule.holds(outputs)

    counted = count_calls(holds, fresh)
    run.watch.refuse_frozen()
    run.watch.independence.count(found.event, *counted.calls)
    tallies = counted.tallies(alpha=run.alpha, anytime=False)
    assert tallies is not None
    return _certified(replace(found, alpha=run.alpha, seed=fresh.seed, outputs=()), *tallies)


def _rule(found: Counterexample) -> Rule:
    """The event to count, if there is one and its datasets are there."""
    if found.pair == NO_DATASETS:
        raise CannotReplay(
            "this counterexample is of samples in hand: there are no datasets to draw from again. "
            "Draw new samples and compare them: dpaudit.compare_samples."
        )
    if not (is_whole(found.pair.data) and is_whole(found.pair.neighbour)):
        raise CannotReplay(
            "the datasets of this counterexample are of a kind that cannot be saved, so only their "
            f"text is left: {short(found.pair)}. Audit that pair again from "
            "Python, where the datasets can be made."
        )
    if found.rule is None:
        raise CannotReplay(
            "this counterexample was saved by an older dpaudit, without its event as a rule. "
            "Audit its pair again: dpaudit.audit(mechanism, claim, dpaudit.pairs([found.pair]))."
        )
    return found.rule


def needed(found: Counterexample, claim: Claim, alpha: float) -> int:
    """About how many draws of a side break the claim again; as many as were made if none do."""
    most = max(found.data.draws, found.neighbour.draws)
    draws = _MIN_DRAWS
    while draws < most:
        likely, unlikely = (
            Tally.of(_expected(one, draws, way), draws, alpha=alpha)
            for one, way in ((found.likely, -1.0), (found.unlikely, 1.0))
        )
        sides = (likely, unlikely) if found.likelier == "data" else (unlikely, likely)
        if _certified(found, *sides).breaks(claim):
            return draws
        draws = math.ceil(1.2 * draws)
    return most


def _expected(seen: Tally, draws: int, way: float) -> int:
    """The hits to expect, a few standard errors to the bad side."""
    rate = (seen.hits + 0.5) / (seen.draws + 1.0)
    spread = _SAFETY_ERRORS * math.sqrt(draws * rate * (1.0 - rate))
    return round(min(max(draws * rate + way * spread, 0.0), float(draws)))


def _certified(found: Counterexample, data: Tally, neighbour: Tally) -> Counterexample:
    likely, unlikely = (data, neighbour) if found.likelier == "data" else (neighbour, data)
    shown = epsilon_from_event(likely.lower, unlikely.upper, found.delta)
    return replace(found, data=data, neighbour=neighbour, epsilon_lower=shown)
