"""What a test run gives to its assertions: an effort, a seed, and where to keep what they find.

This file loads neither numpy nor scipy: the pytest plugin loads it before anything is collected.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpaudit.results import Audit

_LONGEST = 30  # characters of a test's name in the name of a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many draws an assertion may make, and how often it may accuse what keeps its claim."""

    samples: int
    alpha: float


# Less effort finds less, but never accuses more often. A nightly run draws new numbers each night,
# and so has many more chances to be wrong: it takes each with a hundredth of the probability.
EFFORTS = {
    "quick": Effort(samples=30_000, alpha=1e-6),
    "ci": Effort(samples=300_000, alpha=1e-6),
    "nightly": Effort(samples=3_000_000, alpha=1e-8),
}
USUAL = "ci"


def _ignored(_: object) -> None:
    """Outside a test run nobody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one assertion is given. Outside a test run: the usual effort, and no more.

    `test` names the assertion in the run, `seed` is used if no rng is given, `folder` keeps
    counterexamples, `note` is told the audits made, the one that decided last, and `warn` what
    went wrong beside them.
    """

    effort: Effort = EFFORTS[USUAL]
    test: str = ""
    seed: int | None = None
    folder: Path | None = None
    note: Callable[[Sequence[Audit]], None] = _ignored
    warn: Callable[[str], None] = _ignored


TURNS: ContextVar[Callable[[], Turn]] = ContextVar("turns of the running test", default=Turn)


def next_turn() -> Turn:
    """The turn of the assertion that asks.

    >>> next_turn().effort
    Effort(samples=300000, alpha=1e-06)
    """
    return TURNS.get()()


def seed_of(seed: int, test: str) -> int:
    """The seed of one assertion: whatever runs before it, or beside it, it stays the same.

    >>> seed_of(0, "test_sum.py::test_sum") == seed_of(0, "test_sum.py::test_mean")
    False
    """
    return int(_digest(str(seed), test)[:12], 16)


def file_name(test: str, *more: str) -> str:
    """A name that any file system takes, another one for each test and all that `more` says.

    >>> file_name("tests/test_sum.py::test_sum[a/b]")
    'test_sum-a-b-161a6f06'
    """
    last = re.sub(r"[^A-Za-z0-9_]+", "-", test.rpartition("::")[2]).strip("-")
    return f"{last[:_LONGEST].rstrip('-')}-{_digest(test, *more)[:8]}"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode(errors="backslashreplace")).hexdigest()
