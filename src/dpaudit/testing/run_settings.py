"""What a test run gives to its assertions: an effort, a seed, where to keep and show things.

This file loads neither numpy nor scipy: the pytest plugin loads it before anything is collected.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from dpaudit.architecture import DefaultSamples

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit

FailOn = Literal["refuted", "undecided"]
FAIL_ON: tuple[FailOn, ...] = ("refuted", "undecided")
_MAX_NAME_LENGTH = 30  # characters of a test's name in the name of a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What an assertion may cost, and how often it may accuse what keeps its claim.

    `samples` bounds its draws. After `seconds` it ends with what it has found until then: until
    then its numbers are those of an assertion without a limit.
    """

    samples: int
    alpha: float
    seconds: float = math.inf


# Less effort finds less, but never accuses more often. A nightly run draws new numbers each night,
# and so has many more chances to be wrong: it takes each with a hundredth of the probability.
PROFILES = {
    "quick": Effort(samples=DefaultSamples(30_000), alpha=1e-6, seconds=30.0),
    "ci": Effort(samples=DefaultSamples(300_000), alpha=1e-6, seconds=300.0),
    "nightly": Effort(samples=DefaultSamples(3_000_000), alpha=1e-8, seconds=3_600.0),
}
DEFAULT_PROFILE = "ci"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an assertion makes of its audits, of which the last decides.

    `problem` names what is wrong (`dpaudit.report.PROBLEMS`), if anything; `fails` tells whether
    that fails the test, and `says` why, in one line, where the verdict does not say it. `expected`
    marks an assertion that asks for a refutation.
    """

    audits: Sequence[Audit | InsideAudit]
    problem: str | None = None
    fails: bool = False
    says: str = ""
    expected: bool = False


def _ignore(_: object) -> None:
    """Outside a test run nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionSettings:
    """What one assertion is given by the run. Outside a test run: the default effort only.

    `test` names the assertion in the run, `seed` is used if no rng is given, `folder` keeps
    counterexamples. `fail_on` is what fails an assertion that does not say so. `note` gets what was
    found, before the test fails; `warn` gets problems. Progress is shown on `terminal`, below what
    the run writes there.
    """

    effort: Effort = PROFILES[DEFAULT_PROFILE]
    test: str = ""
    seed: int | None = None
    folder: Path | None = None
    fail_on: FailOn = "refuted"
    note: Callable[[Judgement], None] = _ignore
    warn: Callable[[str], None] = _ignore
    terminal: TextIO | None = None


# Gives the running test the settings of its next assertion.
NEXT_SETTINGS: ContextVar[Callable[[], AssertionSettings]] = ContextVar(
    "settings of the next assertion", default=AssertionSettings
)


def next_settings() -> AssertionSettings:
    """The settings of the assertion that asks."""
    return NEXT_SETTINGS.get()()


def watched_terminal() -> TextIO | None:
    """Standard output past a later capture, if it is a terminal that can move its cursor.

    None elsewhere, and in continuous integration, whose logs are files whatever they look like.
    """
    dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown") or sys.platform == "win32"
    if dumb or os.environ.get("CI"):
        return None
    try:
        if sys.stdout.isatty():
            encoding = sys.stdout.encoding
            return open(os.dup(sys.stdout.fileno()), "w", encoding=encoding, errors="replace")
    except (AttributeError, OSError, ValueError):  # what stands in for a terminal has no number
        pass
    return None


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
