"""`dpaudit.audit`: from a mechanism and a claim to a certified verdict."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from dpaudit.auditing.betting_loop import BettingLoop
from dpaudit.auditing.budget import DEFAULT_SAMPLES, Budget
from dpaudit.auditing.certifying_draws import Certify
from dpaudit.auditing.pace import pace_of
from dpaudit.auditing.run import (
    Procedure,
    Run,
    Stream,
    check_arguments,
    check_budget,
    check_certify,
    check_floats,
    concluded,
    entropy_of,
)
from dpaudit.auditing.shrink import simplest
from dpaudit.auditing.store import StoredCalls, opened
from dpaudit.auditing.trials import TrialLoop
from dpaudit.claims import Claim
from dpaudit.errors import CannotUseStore
from dpaudit.integrations import as_subject
from dpaudit.mechanism import (
    Caller,
    Mechanism,
    OnError,
    Subject,
    UserFramesFirst,
    caller_for,
    code_of,
    with_errors,
)
from dpaudit.neighbours import pairs
from dpaudit.outputs import FloatView
from dpaudit.report import followed
from dpaudit.results import Audit, Progress
from dpaudit.search import Finder, as_finder, check_finder
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
    certify: Certify = "fast",
    workers: int | None = None,
    executor: Any = None,
    isolate: bool = False,
    call_seconds: float | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | Literal[False] | None = None,
) -> Audit:
    """Search neighbouring datasets for a violation of a claim, and certify what is found.

    A mechanism that keeps its claim is refuted with probability at most `alpha`, over the whole
    audit: all pairs, both directions, stopping early. `mechanism` is `f(data, size, rng)` or
    `f(data, size)`; `neighbours` a relation such as `dpaudit.replace_one(...)`, or any object with
    `ask()` and `tell(pair, score)`. `finder` searches a relation: "auto", "evolve", "gp", "grid",
    "optuna", "random", "spread", or an object with these two methods. `samples` (300 000 if not
    given) bounds the draws of the mechanism, `seconds` the time, within a tenth unless a single
    output takes longer; without `seconds` the same `rng` gives the same audit (`--seed` on the
    command line). Ctrl-C ends the search and returns what was found so far.

    A live line shows the progress in a terminal and in a notebook, and nowhere else. With
    `progress=False` there is none; a function is called with a `Progress` several times a second
    instead. If nobody gave `samples` or `seconds`, and the first draws show that the audit would
    take more than ten minutes, a `HealthWarning` says how long.

    `claim` and `neighbours` may be left out where `mechanism` brings them: a `dpaudit.Subject`, or
    an object of a library that dpaudit knows, such as a measurement of OpenDP.

    `tester` bets by default. Any batch tester, such as `dpaudit.testers.HockeyStickTester()` or an
    object with its two methods, is given an even share of the draws on each of 20 pairs (or on each
    of the pairs given; `dpaudit.testers.Trials(tester, count=50)` sets another number), and alpha
    is spent over the trials. A tester states what it guarantees (`dpaudit.testers.Method`). If that
    is not exact, its accusation ends the search, refutes nothing, and the verdict is "suspected".

    A float output is a real number, unless `floats="bits"` lets the bets see how it is rounded
    too. That refutes nearly all noise that is added in floating point (Mironov 2012).

    After a refutation an event is certified on fresh draws. `certify="fast"` makes as many as
    should certify 95 % of the epsilon that the event promises, but with those on which it is chosen
    no more than ten times the draws of the search and 20 000, or 80 000 in all; with `seconds`,
    also no longer than ten times the search and a second. "sharp" makes 80 000, or more if 95 %
    take more, as far as `samples` and `seconds` allow.

    `workers=8` makes the calls of the mechanism in eight processes, `executor` in any executor of
    `concurrent.futures` or on a Dask client. Without `seconds` the audit is the same, to the last
    digit, whoever makes the calls. With `isolate=True`, or `workers`, a mechanism that ends its
    process does not end the audit: a single draw that does so again with the same random numbers
    is the output "raises Crashed". `call_seconds` ends calls that do not return, likewise.

    `store="audit.sqlite"` keeps every draw as it arrives. An audit that was interrupted or killed
    goes on where it stood when it is run again, and ends as if nothing had happened; with more
    `samples` it goes further. A store belongs to one mechanism, claim, relation and seed.

    Bets and bounds need independent draws. Where those of a call depend on each other, such as with
    one noise for all of them, nothing is refuted: `dpaudit.errors.DependentDraws` is raised.

    A mechanism that raises on one dataset and not on its neighbour has told them apart: by default
    an error is an output. A pair on which both sides only raise the same error shows nothing and is
    set aside; the audit says how many were. If nothing else comes of (nearly) all pairs, it ends
    with the first error. `on_error="raise"` ends it with the first error of all. Its traceback has
    no frames of dpaudit, unless the environment has `DPAUDIT_TRACEBACK=full`.

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
    >>> bool(found.epsilon_lower > 1.7)
    True
    """
    subject = as_subject(mechanism, claim, neighbours)
    check_arguments(subject.claim, alpha, tester)
    check_budget(samples, seconds)
    check_floats(floats, tester)
    check_certify(certify)
    check_finder(finder)
    relation = subject.neighbours
    relation = pairs(relation) if isinstance(relation, list | tuple) else relation
    drawn_from = with_errors(subject.mechanism, on_error)
    settings = {
        "claim": str(subject.claim),
        "neighbours": described(relation),
        "finder": finder if isinstance(finder, str) else type(finder).__name__,
        "tester": repr(tester),
        "alpha": float(alpha),
        "floats": floats,
        "on_error": on_error,
        "certify": certify,
    }
    with (
        UserFramesFirst(),
        opened(store) as kept,
        caller_for(
            drawn_from,
            workers=workers,
            executor=executor,
            isolate=isolate,
            call_seconds=call_seconds,
        ) as maker,
        followed(progress, getattr(subject.claim, "symbol", None)) as told,
    ):
        entropy = entropy_of(rng if kept is None or rng is not None else kept.seed)
        caller: Caller = maker
        plan: tuple[int, ...] = (DEFAULT_SAMPLES if samples is None else int(samples),)
        if kept is not None:
            kept.belong_to({**code_of(drawn_from), **settings, "seed": entropy})
            caller, plan = StoredCalls(drawn_from, maker, kept), kept.plan(*plan)
        run = Run(
            mechanism=drawn_from,
            claim=subject.claim,
            alpha=float(alpha),
            budget=Budget(plan[0], seconds),
            later_samples=plan[1:],
            entropy=entropy,
            floats=floats,
            certify=certify,
            progress=told,
            pace=pace_of(drawn_from, samples, seconds),
            caller=caller,
        )
        proposals = as_finder(relation, finder, run.rng(Stream.FINDER))
        procedure: Procedure
        if isinstance(tester, BettingTester | None):
            sharpen = tester is not None and tester.after_refuting == "sharpen"
            procedure = BettingLoop(run, proposals, sharpen=sharpen)
        else:
            trials = tester if isinstance(tester, Trials) else Trials(tester)
            if len(plan) > 1:
                raise CannotUseStore(
                    f"the trials of a batch tester are planned for samples={plan[0]}, which cannot "
                    f"become {plan[-1]} later. Take another store."
                )
            procedure = TrialLoop(run, proposals, trials)
        return concluded(
            procedure, described(relation), partial(simplest, run, neighbours=relation)
        )


def described(neighbours: Any) -> str:
    """What these neighbours are, in words."""
    describe = getattr(neighbours, "describe", None)
    return str(describe()) if callable(describe) else type(neighbours).__name__
