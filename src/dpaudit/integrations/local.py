"""Local protocols: each user reports alone, and any two inputs of a user are neighbours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpaudit.claims import PureDP
from dpaudit.domains import Domain
from dpaudit.mechanism import Mechanism, Subject, one_at_a_time
from dpaudit.neighbours import replace_one


def local_protocol(
    name: str, report: Callable[[Any], Any], inputs: Domain, epsilon: float
) -> Subject:
    """The report of one user, who holds one of these inputs.

    >>> from dpaudit.domains import integers
    >>> print(local_protocol("constant", lambda value: 0, integers(1, 3), 0.0))
    constant: 0-DP; replace one of 1 record of integers(1, 3)
    """
    release: Any = one_at_a_time(partial(_released, report))
    release.__name__ = name  # as errors should call it
    return Subject(
        mechanism=Mechanism(name=name, function=release),
        claim=PureDP(epsilon),
        neighbours=replace_one(inputs, max_records=1),
    )


def _released(report: Callable[[Any], Any], data: Any) -> Any:
    """One report of one user; a whole number is Python's own, which hashes as the server does."""
    value = data[0]
    return report(value.item() if isinstance(value, np.generic) else value)
