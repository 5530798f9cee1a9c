"""Where an audit comes from: when it ran, on which code, on which machine, and for whom."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from dpaudit.mechanism import AuditedCode

PACKAGES = ("numpy", "scipy", "scikit-learn")  # whose versions can change draws and sums

LONGEST_SECONDS = 1e9  # of an audit: some thirty years


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """When an audit ran (in UTC), on which code and machine, and for whom if that was said.

    It is collected once per audit, and no number of the audit depends on it. So audits that differ
    in nothing else are equal.

    >>> made = Provenance.now(AuditedCode(), seconds=1.5)
    >>> made.ended[10], made.ended[-1], round((made.end - made.start).total_seconds(), 3)
    ('T', 'Z', 1.5)
    """

    started: str
    ended: str
    code: AuditedCode
    machine: str
    auditor: str | None = None
    purpose: str | None = None

    @classmethod
    def now(cls, code: AuditedCode, *, seconds: float) -> Provenance:
        """The provenance of an audit that ends now, after so many seconds.

        A clock that jumps ends no audit: a span that cannot be is taken for none.
        """
        end = datetime.now(UTC)
        span = seconds if 0.0 <= seconds <= LONGEST_SECONDS else 0.0
        return cls(
            started=_text(end - timedelta(seconds=span)),
            ended=_text(end),
            code=code,
            machine=machine(),
        )

    @property
    def start(self) -> datetime:
        """When the audit started; `ValueError` if the text is no time."""
        return _time(self.started)

    @property
    def end(self) -> datetime:
        """When the audit ended; `ValueError` if the text is no time."""
        return _time(self.ended)


def attributed(
    before: Provenance | None, *, auditor: str | None, purpose: str | None
) -> Provenance:
    """The provenance that says who audited and why; what is not given stays as it was."""
    if before is None:
        raise ValueError(
            "an audit of an older dpaudit has no provenance to add to. Give auditor= and purpose= "
            "to its report instead."
        )
    return replace(
        before,
        auditor=before.auditor if auditor is None else auditor,
        purpose=before.purpose if purpose is None else purpose,
    )


def _text(time: datetime) -> str:
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _time(text: str) -> datetime:
    if not text.endswith("Z"):
        raise ValueError(f"a time is written in UTC, such as 2026-01-31T12:00:00.000Z, got {text}")
    return datetime.fromisoformat(text)


@cache
def machine() -> str:
    """The system, its processor and its cores, without a name of the machine.

    >>> machine().count(", ")
    2
    """
    system = platform.uname()
    cores = os.cpu_count() or 1
    return f"{system.system} {system.release}, {system.machine}, {cores} cores"


@cache
def software_in_use() -> tuple[tuple[str, str], ...]:
    """Python and the packages that audits count with, each with its version.

    >>> [name for name, _ in software_in_use()]
    ['python', 'numpy', 'scipy', 'scikit-learn']
    """
    found = ((name, _version(name)) for name in PACKAGES)
    return ("python", platform.python_version()), *found


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # copied into another program, without its metadata
        return "unknown"
