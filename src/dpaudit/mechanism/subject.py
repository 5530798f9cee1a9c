"""A mechanism with its claim and its neighbours: all that an audit is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpaudit.claims import Claim
from dpaudit.mechanism.calling import Mechanism
from dpaudit.mechanism.naming import name_with_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A mechanism with the claim it makes and the neighbours it makes it for.

    `dpaudit.audit(subject)`, `dpaudit.assert_private(subject)` and the command
    `dpaudit audit module:subject` need nothing else. Other arguments of theirs override what the
    subject brings. `from_opendp` and its siblings make subjects of objects of other libraries.

    >>> import dpaudit
    >>> def count(data, size, rng):
    ...     return len(data) + rng.laplace(size=size)
    >>> subject = dpaudit.Subject(
    ...     mechanism=count,
    ...     claim=dpaudit.PureDP(1.0),
    ...     neighbours=dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=5),
    ... )
    >>> print(subject)
    count: 1-DP; add or remove one of at most 5 records of floats(0, 1)
    >>> dpaudit.audit(subject, samples=20_000, rng=7).refuted
    False
    """

    mechanism: Callable[..., object] | Mechanism
    claim: Claim
    neighbours: Any

    def __str__(self) -> str:
        describe = getattr(self.neighbours, "describe", None)
        words = describe() if callable(describe) else type(self.neighbours).__name__
        return f"{name_with_parameters(self.mechanism)}: {self.claim}; {words}"
