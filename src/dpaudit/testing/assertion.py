"""`dpaudit.assert_private`, an audit that fails a test, and its mirror `dpaudit.assert_refuted`."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from dpaudit.auditing import audit, audit_by_replay, check_arguments, entropy_of
from dpaudit.claims import Claim
from dpaudit.errors import HealthWarning, Inconclusive, PrivacyViolation
from dpaudit.inside import InsideAudit, InsideProgress
from dpaudit.integrations import as_subject
from dpaudit.mechanism import Mechanism, Subject, as_mechanism
from dpaudit.neighbours import Pair, pairs
from dpaudit.report import (
    Pin,
    failure,
    followed,
    no_evidence,
    out_of_time,
    pair_to_pin,
    pin_of,
    unsettled,
)
from dpaudit.results import Audit, Counterexample, Verdict
from dpaudit.search import Finder
from dpaudit.testing.inside_assertion import assert_inside, audits_inside
from dpaudit.testing.judging import REMEDIES, Demands, TimeLimit, judged_as_expected
from dpaudit.testing.kept_counterexamples import KeptCounterexample
from dpaudit.testing.pinned import belonging, pinned_pairs
from dpaudit.testing.run_settings import AssertionSettings, FailOn, Judgement, next_settings
from dpaudit.training import Training
from dpaudit.training import audit as audit_training


@overload
def assert_private(
    mechanism: Callable[..., object] | Mechanism | Subject | Training,
    claim: Claim | None = None,
    neighbours: Any = None,
    *,
    inside: Literal[False] = False,
    finder: str | Finder = "auto",
    alpha: float | None = None,
    samples: int | None = None,
    rng: np.random.Generator | int | None = None,
    fail_on: FailOn | None = None,
    detects: float | None = None,
    **options: Any,
) -> Audit: ...


@overload
def assert_private(
    mechanism: Callable[..., object] | Mechanism | Subject,
    claim: Claim | None = None,
    neighbours: Any = None,
    *,
    inside: Literal[True],
    finder: str | Finder = "auto",
    alpha: float | None = None,
    transcripts: int | None = None,
    reveal: bool = False,
    rng: np.random.Generator | int | None = None,
    fail_on: FailOn | None = None,
    progress: Callable[[InsideProgress], None] | Literal[False] | None = None,
) -> InsideAudit: ...


def assert_private(
    mechanism: Callable[..., object] | Mechanism | Subject | Training,
    claim: Claim | None = None,
    neighbours: Any = None,
    *,
    inside: bool = False,
    finder: str | Finder = "auto",
    alpha: float | None = None,
    samples: int | None = None,
    rng: np.random.Generator | int | None = None,
    fail_on: FailOn | None = None,
    detects: float | None = None,
    **options: Any,
) -> Audit | InsideAudit:
    """Audit a mechanism, and raise `PrivacyViolation` if its claim is refuted.

    The arguments are those of `dpaudit.audit`. Where alpha (1e-6), samples (300 000) or rng are
    left out, a pytest run sets them (`--dpaudit-profile`, `--dpaudit-seed`). The assertion first
    tries a counterexample kept from an earlier run, then pairs pinned with `@dpaudit.example`, then
    the search by `finder`. Each has an equal share of alpha, so a mechanism that keeps its claim
    fails with probability at most `alpha` in all. A pinned pair that does not belong to the
    neighbours is an error.

    A training (`dpaudit.training.of_opacus`, `of_loop`) is trained and audited by its canaries, at
    an alpha of 0.05 if none is given. Its options are those of `dpaudit.training.audit`, so a
    regression test that may be strict about chance trains several times: `runs=3, alpha=1e-3`.

    With `inside=True` the releases in the code are audited (`dpaudit.audit_inside`), which is
    exact and takes few runs, and asks more: code whose releases break the claim fails the test,
    although its output may still keep it (`violation.audit.confirm()` asks that). Code that cannot
    be followed fails with `dpaudit.errors.CannotFollow`. `transcripts` takes the place of
    `samples`.

    The audit comes back if it does not refute; it may be undecided. If no pair got enough draws for
    a verdict, a `HealthWarning` says so: such a test would stay green over a total leak. Another
    one says that a tester without a finite-sample guarantee accuses the claim. Two arguments ask
    for more, and raise `Inconclusive` where it is not given. `fail_on="undecided"` asks for a
    verdict, which a suspicion is not. `detects=1.5` asks for power: an epsilon of 1.5 (or a mu, or
    a rho) on the pair that showed most would have been refuted, by the estimate
    `audit.detectable`. It says nothing of pairs that were not tried, nor of leaks of another shape
    (docs/pytest.md).

    A time limit of the profile (five minutes) ends the assertion with what it has found until then,
    and a `HealthWarning` says so. `seconds=` in its place bounds the audit more sharply.

    >>> import numpy as np, dpaudit
    >>> def clipped_sum(data, size, rng):  # replacing one record moves the sum by 2, not by 1
    ...     return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)
    >>> replaced = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5)
    >>> try:
    ...     dpaudit.assert_private(clipped_sum, dpaudit.PureDP(1.0), replaced, rng=7)
    ... except dpaudit.PrivacyViolation as violation:
    ...     print(str(violation).splitlines()[0])
    clipped_sum is not 1-DP: epsilon >= 1...
    >>> audit = dpaudit.assert_private(
    ...     clipped_sum, dpaudit.PureDP(2.0), replaced, samples=50_000, rng=7
    ... )
    >>> audit.refuted
    False
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    settings = next_settings()
    demands = Demands.of(fail_on, settings.fail_on, detects)
    if isinstance(mechanism, Training):
        if detects is not None:
            raise TypeError("detects= is not for trainings: their audits say what they detect.")
        found = _of_training(mechanism, settings, inside=inside, alpha=alpha, rng=rng, **options)
        return _concluded(_noted(settings, demands.judged([found])))
    subject = as_subject(mechanism, claim, neighbours)
    shared = _shared(settings, finder=finder, alpha=alpha, rng=rng)
    if inside:
        if detects is not None:
            options |= {"detects": detects}
        options |= {} if samples is None else {"samples": samples}
        return assert_inside(subject, settings, demands, **shared, **options)
    check_arguments(subject.claim, shared["alpha"], options.get("tester"))
    demands.check(subject.claim, options.get("tester"))
    audited, pinned = as_mechanism(subject.mechanism), _pinned(subject)
    kept = KeptCounterexample.of(settings, audited.name, subject.claim, subject.neighbours, pinned)
    known = None if kept is None else _asked_for(kept.read(), options)
    made, limit = _audits(
        audited, subject, settings, known=known, pinned=pinned, samples=samples, **shared, **options
    )
    judgement = _noted(settings, demands.judged(made))
    return _concluded(judgement, kept, subject.neighbours, limit)


def assert_refuted(
    mechanism: Callable[..., object] | Mechanism | Subject | Training,
    claim: Claim | None = None,
    neighbours: Any = None,
    *,
    inside: bool = False,
    finder: str | Finder = "auto",
    alpha: float | None = None,
    samples: int | None = None,
    rng: np.random.Generator | int | None = None,
    **options: Any,
) -> Audit | Any:
    """Audit a mechanism, and raise `Inconclusive` unless its claim is refuted.

    The mirror of `assert_private`, with the same arguments: for code that is known to be broken,
    such as a bug that a suite of audits has to find. The audit comes back. The refutation is no
    failure in the summary of a pytest run, and it is not kept for the next run. With
    `inside=True` the releases in the code must break the claim, and an `InsideAudit` comes back.

    >>> import dpaudit
    >>> def forgets_noise(data, size):
    ...     return [len(data)] * size
    >>> near = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)
    >>> dpaudit.assert_refuted(forgets_noise, dpaudit.PureDP(1.0), near, rng=7).verdict
    <Verdict.REFUTED: 'refuted'>
    """
    __tracebackhide__ = True
    settings, limit = next_settings(), None
    made: list[Audit] | list[InsideAudit]
    if isinstance(mechanism, Training):
        made = [_of_training(mechanism, settings, inside=inside, alpha=alpha, rng=rng, **options)]
    else:
        subject = as_subject(mechanism, claim, neighbours)
        shared = _shared(settings, finder=finder, alpha=alpha, rng=rng)
        pinned = _pinned(subject)
        if inside:
            options |= {} if samples is None else {"samples": samples}
            made = audits_inside(subject, pinned, settings, **shared, **options)
        else:
            check_arguments(subject.claim, shared["alpha"], options.get("tester"))
            audited = as_mechanism(subject.mechanism)
            options |= {"known": None, "pinned": pinned, "samples": samples}
            made, limit = _audits(audited, subject, settings, **shared, **options)
    judgement = _noted(settings, judged_as_expected(made))
    _stop_if_interrupted(made[-1], limit)
    if judgement.fails:
        message = unsettled(made[-1], judgement.says, REMEDIES[judgement.problem or ""])
        raise Inconclusive(message, made[-1])
    return made[-1]


def _shared(
    settings: AssertionSettings,
    *,
    finder: str | Finder,
    alpha: float | None,
    rng: np.random.Generator | int | None,
) -> dict[str, Any]:
    """What every audit of an assertion is given, from the test or else from the run."""
    return {
        "finder": finder,
        "alpha": settings.effort.alpha if alpha is None else alpha,
        "rng": entropy_of(settings.seed if rng is None else rng),
    }


def _pinned(subject: Subject) -> tuple[Pair, ...]:
    return belonging(pinned_pairs(subject.mechanism), subject.neighbours)


def _of_training(
    training: Training,
    settings: AssertionSettings,
    *,
    inside: bool,
    alpha: float | None,
    rng: np.random.Generator | int | None,
    **options: Any,
) -> Audit:
    """Audit a training by its canaries."""
    if inside:
        raise TypeError("a training is audited by its canaries: leave out inside=True.")
    seed = settings.seed if rng is None else rng
    return audit_training(training, alpha=0.05 if alpha is None else alpha, rng=seed, **options)


def _audits(
    audited: Mechanism,
    subject: Subject,
    settings: AssertionSettings,
    *,
    known: Counterexample | None,
    pinned: tuple[Pair, ...],
    finder: str | Finder,
    alpha: float,
    samples: int | None,
    rng: int,
    on_error: Any = "output",
    progress: Any = None,
    **options: Any,
) -> tuple[list[Audit], TimeLimit | None]:
    """The audits of an assertion, until one refutes: a known counterexample, pins, the search."""
    claim, limit = subject.claim, None
    shared: dict[str, Any] = {
        "alpha": alpha / (1 + (known is not None) + (len(pinned) > 0)),
        "rng": rng,
        "on_error": on_error,
    }
    __tracebackhide__ = True
    options["samples"] = settings.effort.samples if samples is None else samples
    symbol = getattr(claim, "symbol", None)
    with followed(progress, symbol, below=settings.terminal) as told:
        if options.get("seconds") is None:
            limit = TimeLimit(settings.effort.seconds, told)
        options["progress"] = limit or told or False
        search = functools.partial(audit, audited, claim, **shared, **options)
        attempts: list[Callable[[], Audit]] = []
        if known is not None:
            attempts.append(functools.partial(audit_by_replay, known, audited, claim, **shared))
        if pinned:
            attempts.append(functools.partial(search, pairs(pinned)))
        attempts.append(functools.partial(search, subject.neighbours, finder=finder))
        made = [attempts[0]()]
        for attempt in attempts[1:]:
            if not (made[-1].refuted or made[-1].suspected or made[-1].interrupted):
                made.append(attempt())
    return made, limit


def _asked_for(known: Counterexample | None, options: dict[str, Any]) -> Counterexample | None:
    """What was kept, unless it is about the bits of floats and these are no longer looked at."""
    about_floats = known is not None and known.rule is not None and known.rule.is_about_floats
    return None if about_floats and options.get("floats", "real") == "real" else known


def _noted(settings: AssertionSettings, judgement: Judgement) -> Judgement:
    settings.note(judgement)
    return judgement


def _concluded(
    judgement: Judgement,
    kept: KeptCounterexample | None = None,
    neighbours: Any = None,
    limit: TimeLimit | None = None,
) -> Audit:
    """Keep what was found, then let the test fail, end or go on."""
    __tracebackhide__ = True
    found: Any = judgement.audits[-1]
    file = None if kept is None else kept.update(found)
    _stop_if_interrupted(found, limit)
    if found.refuted:
        raise PrivacyViolation(failure(found, kept=file, pin=_pin(found, neighbours)), found, file)
    if judgement.fails:
        message = unsettled(found, judgement.says, REMEDIES[judgement.problem or ""])
        raise Inconclusive(message, found)
    if limit is not None and limit.reached:
        warnings.warn(out_of_time(found, limit.seconds), HealthWarning, stacklevel=3)
    elif found.suspected or (found.verdict is Verdict.UNDECIDED and not found.evidence.is_leaning):
        warnings.warn(no_evidence(found), HealthWarning, stacklevel=3)
    audited: Audit = found
    return audited


def _stop_if_interrupted(found: Any, limit: TimeLimit | None) -> None:
    """Go on with a Ctrl-C: the audit took the first one, and an assertion is not finished."""
    if getattr(found, "interrupted", False) and not (limit is not None and limit.reached):
        raise KeyboardInterrupt


def _pin(found: Audit, neighbours: Any) -> Pin | None:
    """The code that pins the pair found to the test that asked."""
    pair, frame = pair_to_pin(found), inspect.currentframe()
    callers: dict[str, dict[str, Any]] = {}  # the globals of the modules that led here, by name
    while frame is not None:
        callers.setdefault(str(frame.f_globals.get("__name__")), frame.f_globals)
        frame = frame.f_back
    outside = (names for name, names in callers.items() if name.partition(".")[0] != "dpaudit")
    imports = () if "dpaudit" in next(outside, {}) else ("import dpaudit",)
    return None if pair is None else pin_of(pair, neighbours, at_hand=callers, imports=imports)
