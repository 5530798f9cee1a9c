"""`dpaudit.audit`: from a mechanism and a claim to a certified verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit._version import __version__
from dpaudit.auditing.arguments import check_arguments, check_budget, check_floats, entropy_of
from dpaudit.auditing.betting_loop import Campaign
from dpaudit.auditing.budget import Budget
from dpaudit.auditing.certify import certify_bets
from dpaudit.auditing.forecast import detectable
from dpaudit.auditing.output_histogram import histograms_of
from dpaudit.auditing.scheduler import Contender
from dpaudit.auditing.shrink import simplest
from dpaudit.auditing.trials import TrialRun, audit_by_trials
from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.integrations import as_subject
from dpaudit.mechanism import Mechanism, OnError, Subject, with_errors
from dpaudit.neighbours import pairs
from dpaudit.outputs import FloatView
from dpaudit.results import (
    Audit,
    Counterexample,
    OutputHistogram,
    Progress,
    Verdict,
    bound_of_event,
    forecast_of,
    software_in_use,
    verdict_of,
)
from dpaudit.search import Finder, as_finder
from dpaudit.testers import BatchTester, BettingTester, Trials


def audit(
    mechanism: Callable[..., object] | Mechanism | Subject,
    claim: Claim | None = None,
    neighbours: Any = None,
    *,
    finder: str | Finder = "auto",
    tester: BettingTester | BatchTester | Trials | None = None,
    alpha: float = 1e-6,
    samples: int | None = None,
    seconds: float | None = None,
    rng: np.random.Generator | int | None = None,
    floats: FloatView = "real",
    on_error: OnError = "output",
    progress: Callable[[Progress], None] | None = None,
) -> Audit:
    """Search neighbouring datasets for a violation of a claim, and certify what is found.

    A mechanism that keeps its claim is refuted with probability at most `alpha`, over the whole
    audit: all pairs, both directions, stopping early. `mechanism` is `f(data, size, rng)` or
    `f(data, size)`; `neighbours` a relation such as `dpaudit.replace_one(...)`, or any object with
    `ask()` and `tell(pair, score)`. `finder` searches a relation: "auto", "evolve", "gp", "grid",
    "optuna", "random", "spread", or an object with these two methods. `samples` (300 000 if not
    given) bounds the draws of the mechanism, `seconds` the time, within a tenth unless a single
    output takes longer; without `seconds` the same `rng` gives the same audit (`--seed` on the
    command line). `progress` is called with a `Progress` several times a second. Ctrl-C ends the
    search and returns what was found so far.

    `claim` and `neighbours` may be left out where `mechanism` brings them: a `dpaudit.Subject`, or
    an object of a library that dpaudit knows, such as a measurement of OpenDP.

    `tester` bets by default. Any batch tester, such as `dpaudit.testers.HockeyStickTester()` or an
    object with its two methods, is given an even share of the draws on each of 20 pairs (or on each
    of the pairs given; `dpaudit.testers.Trials(tester, count=50)` sets another number), and alpha
    is spent over the trials.

    A float output is a real number, unless `floats="bits"` lets the bets see how it is rounded
    too. That refutes nearly all noise that is added in floating point (Mironov 2012).

    Bets and bounds need independent draws. Where those of a call depend on each other, such as with
    one noise for all of them, nothing is refuted: `dpaudit.errors.DependentDraws` is raised.

    A mechanism that raises on one dataset and not on its neighbour has told them apart: by default
    an error is an output. A pair on which both sides only raise the same error shows nothing and is
    set aside; the audit says how many were. If nothing else comes of (nearly) all pairs, it ends
    with the first error. `on_error="raise"` ends it with the first error of all.

    >>> import numpy as np, dpaudit
    >>> def clipped_sum(data, size, rng):  # replacing one record moves the sum by 2, not by 1
    ...     return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)
    >>> found = dpaudit.audit(
    ...     clipped_sum,
    ...     dpaudit.PureDP(epsilon=1.0),
    ...     dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5),
    ...     rng=7,
    ... )
    >>> found.verdict
    <Verdict.REFUTED: 'refuted'>
    >>> bool(found.epsilon_lower > 1.8)
    True
    """
    subject = as_subject(mechanism, claim, neighbours)
    check_arguments(subject.claim, alpha, tester)
    check_budget(samples, seconds)
    check_floats(floats, tester)
    entropy = entropy_of(rng)
    neighbours = subject.neighbours
    neighbours = pairs(neighbours) if isinstance(neighbours, list | tuple) else neighbours
    proposer = as_finder(neighbours, finder, np.random.default_rng(_child(entropy, 2)))
    common: dict[str, Any] = {
        "alpha": float(alpha),
        "budget": Budget(None if samples is None else int(samples), seconds),
        "entropy": entropy,
        "progress": progress,
    }
    parts = with_errors(subject.mechanism, on_error), subject.claim, proposer
    if tester is None or isinstance(tester, BettingTester):
        return _audit_by_bets(Campaign(*parts, **common, floats=floats), tester, neighbours)
    trials = tester if isinstance(tester, Trials) else Trials(tester)
    return audit_by_trials(TrialRun(*parts, trials, **common), neighbours, _words(neighbours))


def _audit_by_bets(campaign: Campaign, tester: BettingTester | None, neighbours: Any) -> Audit:
    sharpen = sharpens(tester)
    interrupted, counterexample, plain = False, None, None
    try:
        campaign.run(beyond_refutation=sharpen)
        if campaign.account.refuted and campaign.race.strongest is not None:
            campaign.watch.refuse_frozen()
            counterexample = certify_bets(campaign, campaign.race.strongest)
        if counterexample is not None:
            plain = simplest(
                counterexample,
                campaign.mechanism,
                campaign.claim,
                neighbours,
                budget=campaign.budget,
                entropy=campaign.entropy,
                floats=campaign.floats,
            )
    except KeyboardInterrupt:
        interrupted = True
    audit = result_of_bets(campaign, _words(neighbours), counterexample, sharpen, interrupted)
    return replace(audit, simplest=plain)


def sharpens(tester: BettingTester | None) -> bool:
    """Whether the bets go on after a refutation."""
    return tester is not None and tester.after_refuting == "sharpen"


def result_of_bets(
    campaign: Campaign,
    neighbours: str,
    counterexample: Counterexample | None,
    sharpened: bool,
    interrupted: bool,
) -> Audit:
    """What the bets have found, as the result of an audit."""
    strongest = campaign.race.strongest
    record = None if strongest is None else strongest.record(campaign.book.place)
    evidence, history = campaign.evidence, campaign.history
    verdict = verdict_of(campaign.claim, campaign.alpha, evidence, (*history, record))
    outlook = strongest is not None and verdict is not Verdict.REFUTED
    made = Audit(
        mechanism=campaign.mechanism.name,
        claim=campaign.claim,
        verdict=verdict,
        lower_bound=_lower_bound(campaign, counterexample, sharpened),
        counterexample=counterexample,
        evidence=evidence,
        samples=campaign.budget.spent,
        seconds=campaign.budget.elapsed,
        alpha=campaign.alpha,
        rng_seed=campaign.entropy,
        pairs_tried=campaign.pairs_tried,
        neighbours=neighbours,
        strongest=record,
        detectable=detectable(campaign, _sure(strongest)) if outlook else None,
        forecast=None,
        history=history,
        warnings=tuple(campaign.warnings),
        interrupted=interrupted,
        version=__version__,
        outputs=_outputs(campaign, strongest) if counterexample is None else (),
        target=campaign.mechanism.target,
        software=software_in_use(),
        floats=campaign.floats,
    )
    return replace(made, forecast=forecast_of(made))


def _lower_bound(
    campaign: Campaign, counterexample: Counterexample | None, sharpened: bool
) -> float | None:
    """The certified bound: verdict and bound are both right with probability at least 1 - alpha.

    Not refuted, or asked to sharpen: the ladder. Refuted: the claim's own epsilon, or what the
    event shows on fresh samples; never the better of ladder and event.
    """
    claim = campaign.claim
    if not campaign.account.refuted:
        return campaign.lower_bound
    if sharpened or not isinstance(claim, PureDP | ApproxDP):
        return campaign.lower_bound
    return bound_of_event(claim, counterexample)


def _outputs(campaign: Campaign, strongest: Contender | None) -> tuple[OutputHistogram, ...]:
    """What the strongest pair gave, as far as its bettor remembers."""
    return () if strongest is None else histograms_of(campaign.encoder, strongest.bettor.sample)


def _sure(contender: Contender | None) -> Contender:
    assert contender is not None
    return contender


def _words(neighbours: Any) -> str:
    describe = getattr(neighbours, "describe", None)
    return str(describe()) if callable(describe) else type(neighbours).__name__


def _child(entropy: int, key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(entropy, spawn_key=(key,))
