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

_MAX_NAME_LENGTH = 30  # characters of a test's name in the name of a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many draws an assertion may make, and how often it may accuse what keeps its claim."""

    samples: int
    alpha: float


# Less effort finds less, but never accuses more often. A nightly run draws new numbers each night,
# and so has many more chances to be wrong: it takes each with a hundredth of the probability.
PROFILES = {
    "quick": Effort(samples=30_000, alpha=1e-6),
    "ci": Effort(samples=300_000, alpha=1e-6),
    "nightly": Effort(samples=3_000_000, alpha=1e-8),
}
DEFAULT_PROFILE = "ci"


def _ignore(_: object) -> None:
    """Outside a test run nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionSettings:
    """What one assertion is given by the run. Outside a test run: the default effort only.

    `test` names the assertion in the run, `seed` is used if no rng is given, `folder` keeps
    counterexamples. `note` gets the audits made, the one that decided last; `warn` gets problems.
    """

    effort: Effort = PROFILES[DEFAULT_PROFILE]
    test: str = ""
    seed: int | None = None
    folder: Path | None = None
    note: Callable[[Sequence[Audit]], None] = _ignore
    warn: Callable[[str], None] = _ignore


# Gives the running test the settings of its next assertion.
NEXT_SETTINGS: ContextVar[Callable[[], AssertionSettings]] = ContextVar(
    "settings of the next assertion", default=AssertionSettings
)


def next_settings() -> AssertionSettings:
    """The settings of the assertion that asks."""
    return NEXT_SETTINGS.get()()


def seed_of(seed: int, test: str) -> int:
    """The seed of one assertion, whatever runs before or beside it.

    >>> seed_of(0, "test_sum.py::test_sum") == seed_of(0, "test_sum.py::test_mean")
    False
    """
    return int(_digest(str(seed), test)[:12], 16)


def file_name(test: str, *more: str) -> str:
    """A name that any file system takes, different for each test and each text in `more`.

    >>> file_name("tests/test_sum.py::test_sum[a/b]")
    'test_sum-a-b-161a6f06'
    """
    last = re.sub(r"[^A-Za-z0-9_]+", "-", test.rpartition("::")[2]).strip("-")
    return f"{last[:_MAX_NAME_LENGTH].rstrip('-')}-{_digest(test, *more)[:8]}"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode(errors="backslashreplace")).hexdigest()
