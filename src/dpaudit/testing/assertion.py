"""`dpaudit.assert_private`: an audit that fails a test."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.auditing import audit, audit_by_replay, check_arguments, entropy_of
from dpaudit.claims import Claim
from dpaudit.errors import HealthWarning, PrivacyViolation
from dpaudit.integrations import as_subject
from dpaudit.mechanism import Mechanism, Subject, as_mechanism
from dpaudit.neighbours import Pair, fitted, pairs
from dpaudit.report import Pin, failure, no_evidence, pair_to_pin, pin_of
from dpaudit.results import Audit, Counterexample, Verdict
from dpaudit.testing.kept_counterexamples import Kept, kept_for, remember
from dpaudit.testing.pins import pinned_pairs
from dpaudit.testing.suite import next_turn


def assert_private(
    mechanism: Callable[..., object] | Mechanism | Subject,
    claim: Claim | None = None,
    neighbours: Any = None,
    *,
    alpha: float | None = None,
    samples: int | None = None,
    rng: np.random.Generator | int | None = None,
    **options: Any,
) -> Audit:
    """Audit a mechanism, and raise `PrivacyViolation` if its claim is refuted.

    The arguments are those of `dpaudit.audit`; where alpha (1e-6), samples (300 000) or rng are
    left out, a pytest run may set them (`--dpaudit-profile`, `--dpaudit-seed`). A counterexample
    kept from an earlier run is tried first, then pairs pinned with `@dpaudit.example`, each with
    its share of alpha: a mechanism that keeps its claim fails with probability at most `alpha`,
    over all of it. A pinned pair that does not belong to the neighbours is an error. What comes
    back is the audit, which may be undecided: it says so. Where it is because no pair got enough
    draws for a verdict, a `HealthWarning` says it too: such a test would stay green over a total
    leak.

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
    subject = as_subject(mechanism, claim, neighbours)
    turn, pinned = next_turn(), _belonging(pinned_pairs(subject.mechanism), subject.neighbours)
    alpha = turn.effort.alpha if alpha is None else alpha
    check_arguments(subject.claim, alpha, options.get("tester"))
    audited = as_mechanism(subject.mechanism)
    kept = kept_for(turn, audited.name, subject.claim, subject.neighbours, pinned)
    known = None if kept is None else _asked_for(kept.read(), options)
    attempt = Attempt(
        mechanism=audited,
        claim=subject.claim,
        neighbours=subject.neighbours,
        alpha=alpha / (1 + (known is not None) + (len(pinned) > 0)),
        entropy=entropy_of(turn.seed if rng is None else rng),
        options={"samples": turn.effort.samples if samples is None else samples, **options},
    )
    made = attempt.until_decided(known, pinned)
    turn.note(made)
    return _concluded(made[-1], kept, subject.neighbours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """All that one assertion tries, each with the same share of alpha."""

    mechanism: Mechanism
    claim: Claim
    neighbours: Any
    alpha: float
    entropy: int
    options: dict[str, Any]

    def until_decided(self, known: Counterexample | None, pinned: tuple[Pair, ...]) -> list[Audit]:
        """The audits up to the first that refutes, or was interrupted, or is the last."""
        made: list[Audit] = []
        for found in self._audits(known, pinned):
            made.append(found)
            if found.refuted or found.interrupted:
                break
        return made

    def _audits(self, known: Counterexample | None, pinned: tuple[Pair, ...]) -> Iterator[Audit]:
        if known is not None:
            yield audit_by_replay(
                known,
                self.mechanism,
                self.claim,
                alpha=self.alpha,
                rng=self.entropy,
                on_error=self.options.get("on_error", "output"),
            )
        if pinned:
            yield self._audit(pairs(pinned), finder="auto")
        yield self._audit(self.neighbours)

    def _audit(self, neighbours: Any, **more: Any) -> Audit:
        chosen = {"alpha": self.alpha, "rng": self.entropy, **self.options, **more}
        return audit(self.mechanism, self.claim, neighbours, **chosen)


def _asked_for(known: Counterexample | None, options: dict[str, Any]) -> Counterexample | None:
    """What was kept, unless it is about the bits of floats and these are no longer looked at."""
    about_floats = known is not None and known.rule is not None and known.rule.is_about_floats
    return None if about_floats and options.get("floats", "real") == "real" else known


def _belonging(pinned: tuple[Pair, ...], neighbours: Any) -> tuple[Pair, ...]:
    """The pinned pairs as the relation makes them; an error if one does not belong to it."""
    remedy = (
        " Mend the pin, or the relation. A pin on a test holds for all assertions in it; one on a "
        "mechanism for all assertions about that."
    )
    what = "a pair pinned with @dpaudit.example"
    made = [fitted(neighbours, pair, what=what, remedy=remedy) for pair in pinned]
    return tuple({pair.key(): pair for pair in made}.values())  # of two forms perhaps one pair


def _pin(found: Audit, neighbours: Any) -> Pin | None:
    """How the pair that was found is pinned to the test that asked."""
    pair, frame = pair_to_pin(found), inspect.currentframe()
    callers: dict[str, dict[str, Any]] = {}  # what the modules that led here know, by their name
    while frame is not None:
        callers.setdefault(str(frame.f_globals.get("__name__")), frame.f_globals)
        frame = frame.f_back
    outside = (names for name, names in callers.items() if name.partition(".")[0] != "dpaudit")
    known = "dpaudit" in next(outside, {})
    imports = () if known else ("import dpaudit",)
    return None if pair is None else pin_of(pair, neighbours, at_hand=callers, imports=imports)


def _concluded(found: Audit, kept: Kept | None, neighbours: Any) -> Audit:
    """Keep what was found, then let the test fail, end or go on."""
    __tracebackhide__ = True
    file = None if kept is None else remember(kept, found)
    if found.interrupted:
        raise KeyboardInterrupt  # the audit took the first one, and an assertion is not finished
    if found.refuted:
        raise PrivacyViolation(failure(found, kept=file, pin=_pin(found, neighbours)), found, file)
    if found.verdict is Verdict.UNDECIDED and not found.evidence.is_leaning:
        warnings.warn(no_evidence(found), HealthWarning, stacklevel=3)
    return found
