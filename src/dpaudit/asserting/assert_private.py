"""`dpaudit.assert_private`: an audit that fails a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpaudit.asserting.example import pinned_pairs
from dpaudit.asserting.violation import PrivacyViolation
from dpaudit.auditing import audit
from dpaudit.claims import Claim
from dpaudit.evidence import Audit
from dpaudit.mechanism import Mechanism
from dpaudit.neighbours import pairs

DEFAULT_ALPHA = 1e-6


def assert_private(
    mechanism: Callable[..., object] | Mechanism,
    claim: Claim,
    neighbours: Any,
    *,
    alpha: float = DEFAULT_ALPHA,
    **options: Any,
) -> Audit:
    """Audit a mechanism, and raise `PrivacyViolation` if its claim is refuted.

    The arguments are those of `dpaudit.audit`. Pairs pinned with `@dpaudit.example` are tried
    first, with half of alpha: a mechanism that keeps its claim fails with probability at most
    `alpha`, over all pairs. What comes back is the audit, which may be undecided: it says so.

    >>> import numpy as np, dpaudit
    >>> def clipped_sum(data, size, rng):  # replacing one record moves the sum by 2, not by 1
    ...     return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)
    >>> replaced = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5)
    >>> try:
    ...     dpaudit.assert_private(clipped_sum, dpaudit.PureDP(1.0), replaced, rng=7)
    ... except dpaudit.PrivacyViolation as violation:
    ...     print(str(violation).splitlines()[0])
    clipped_sum is not 1-DP: epsilon is at least 1...
    >>> audit = dpaudit.assert_private(
    ...     clipped_sum, dpaudit.PureDP(2.0), replaced, samples=50_000, rng=7
    ... )
    >>> audit.refuted
    False
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    pinned = pinned_pairs(mechanism)
    if pinned:
        alpha = alpha / 2
        _check(audit(mechanism, claim, pairs(list(pinned)), alpha=alpha, **options))
    return _check(audit(mechanism, claim, neighbours, alpha=alpha, **options))


def _check(found: Audit) -> Audit:
    __tracebackhide__ = True
    if found.refuted:
        raise PrivacyViolation(found)
    return found
