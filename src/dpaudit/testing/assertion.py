"""`dpaudit.assert_private`, an audit that fails a test, and `@dpaudit.example`, a pair it tries."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

import numpy as np

from dpaudit.auditing import audit, audit_by_replay, check_arguments, entropy_of
from dpaudit.claims import Claim
from dpaudit.errors import HealthWarning, PrivacyViolation
from dpaudit.integrations import as_subject
from dpaudit.mechanism import Mechanism, Subject, as_mechanism
from dpaudit.neighbours import Pair, fitted, pairs
from dpaudit.report import Pin, failure, no_evidence, pair_to_pin, pin_of
from dpaudit.results import Audit, Counterexample, Verdict
from dpaudit.search import Finder
from dpaudit.testing.kept_counterexamples import KeptCounterexample
from dpaudit.testing.run_settings import next_settings
from dpaudit.training import Training
from dpaudit.training import audit as audit_training

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_PINNED: ContextVar[tuple[Pair, ...]] = ContextVar("pinned pairs", default=())
_PINNED_ATTRIBUTE = "dpaudit_examples"


def assert_private(
    mechanism: Callable[..., object] | Mechanism | Subject | Training,
    claim: Claim | None = None,
    neighbours: Any = None,
    *,
    finder: str | Finder = "auto",
    alpha: float | None = None,
    samples: int | None = None,
    rng: np.random.Generator | int | None = None,
    **options: Any,
) -> Audit:
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

    The audit comes back if it does not refute; it may be undecided. If no pair got enough draws for
    a verdict, a `HealthWarning` says so: such a test would stay green over a total leak.

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
    if isinstance(mechanism, Training):
        return _assert_training(mechanism, alpha=alpha, rng=rng, **options)
    subject = as_subject(mechanism, claim, neighbours)
    claim, neighbours = subject.claim, subject.neighbours
    settings, pinned = next_settings(), _belonging(pinned_pairs(subject.mechanism), neighbours)
    alpha = settings.effort.alpha if alpha is None else alpha
    check_arguments(claim, alpha, options.get("tester"))
    audited = as_mechanism(subject.mechanism)
    kept = KeptCounterexample.of(settings, audited.name, claim, neighbours, pinned)
    known = None if kept is None else _asked_for(kept.read(), options)
    shared: dict[str, Any] = {
        "alpha": alpha / (1 + (known is not None) + (len(pinned) > 0)),
        "rng": entropy_of(settings.seed if rng is None else rng),
        "on_error": options.pop("on_error", "output"),
    }
    options["samples"] = settings.effort.samples if samples is None else samples
    search = functools.partial(audit, audited, claim, **shared, **options)
    attempts: list[Callable[[], Audit]] = []
    if known is not None:
        attempts.append(functools.partial(audit_by_replay, known, audited, claim, **shared))
    if pinned:
        attempts.append(functools.partial(search, pairs(pinned)))
    attempts.append(functools.partial(search, neighbours, finder=finder))
    made = [attempts[0]()]
    for attempt in attempts[1:]:
        if not (made[-1].refuted or made[-1].interrupted):
            made.append(attempt())
    settings.note(made)
    return _concluded(made[-1], kept, neighbours)


def _assert_training(
    training: Training,
    *,
    alpha: float | None,
    rng: np.random.Generator | int | None,
    **options: Any,
) -> Audit:
    """Audit a training by its canaries, and raise if its claim is refuted."""
    __tracebackhide__ = True
    settings = next_settings()
    seed = settings.seed if rng is None else rng
    found = audit_training(training, alpha=0.05 if alpha is None else alpha, rng=seed, **options)
    settings.note([found])
    return _concluded(found, None, None)


def _asked_for(known: Counterexample | None, options: dict[str, Any]) -> Counterexample | None:
    """What was kept, unless it is about the bits of floats and these are no longer looked at."""
    about_floats = known is not None and known.rule is not None and known.rule.is_about_floats
    return None if about_floats and options.get("floats", "real") == "real" else known


def _belonging(pinned: tuple[Pair, ...], neighbours: Any) -> tuple[Pair, ...]:
    """The pinned pairs as the relation makes them; an error if one does not belong to it."""
    remedy = (
        " Mend the pin, or the relation. A pin on a test holds for all assertions in it; one on a "
        "mechanism for all assertions about it."
    )
    what = "a pair pinned with @dpaudit.example"
    made = [fitted(neighbours, pair, what=what, remedy=remedy) for pair in pinned]
    return tuple({pair.key(): pair for pair in made}.values())  # two pins may make one pair


def _concluded(found: Audit, kept: KeptCounterexample | None, neighbours: Any) -> Audit:
    """Keep what was found, then let the test fail, end or go on."""
    __tracebackhide__ = True
    file = None if kept is None else kept.update(found)
    if found.interrupted:
        raise KeyboardInterrupt  # the audit took the first one, and an assertion is not finished
    if found.refuted:
        raise PrivacyViolation(failure(found, kept=file, pin=_pin(found, neighbours)), found, file)
    if found.verdict is Verdict.UNDECIDED and not found.evidence.is_leaning:
        warnings.warn(no_evidence(found), HealthWarning, stacklevel=3)
    return found


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


def example(
    data: Any, neighbour: Any
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Pin a pair of datasets to a test, or to a mechanism: it is tried first, every time.

    For a counterexample that should never come back. Several can be pinned.

    >>> import numpy as np, dpaudit
    >>> @dpaudit.example([1.0], [-1.0])
    ... def test_sum_is_private():
    ...     dpaudit.assert_private(
    ...         lambda data, size, rng: sum(data) + rng.laplace(scale=2.0, size=size),
    ...         dpaudit.PureDP(1.0),
    ...         dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=3),
    ...         samples=20_000,
    ...         rng=7,
    ...     )
    >>> test_sum_is_private()
    """
    pair = Pair(data, neighbour)

    def pin(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def pinned(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            token = _PINNED.set((*_PINNED.get(), pair))
            try:
                return function(*args, **kwargs)
            finally:
                _PINNED.reset(token)

        setattr(pinned, _PINNED_ATTRIBUTE, (pair, *getattr(function, _PINNED_ATTRIBUTE, ())))
        return pinned

    return pin


def pinned_pairs(mechanism: object) -> tuple[Pair, ...]:
    """The pairs pinned to the running test, then those pinned to a mechanism; each once."""
    found = (*_PINNED.get(), *getattr(mechanism, _PINNED_ATTRIBUTE, ()))
    return tuple({pair.key(): pair for pair in found}.values())
