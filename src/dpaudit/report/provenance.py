"""Where an audit comes from, as a reader sees it: when, which code, which machine, for whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpaudit.report.layout import row
from dpaudit.report.showing import one_line
from dpaudit.report.wording import glued

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.mechanism import AuditedCode
    from dpaudit.results import Audit, Provenance

Software = tuple[tuple[str, str], ...]

_SHORT_DIGEST = 12  # characters of a digest or a commit in a line
_MAX_SAID = 300  # characters of what a user says
_MAX_FACT = 120
_CLEAN = {
    True: "nothing in its tree had changed since",
    False: "its tree had changed since, or had Python files unknown to git",
    None: "whether its tree had changed since is not known",
}
NO_PROVENANCE = "not recorded: the audit was saved by an older dpaudit"
DIGEST = "SHA-256 of the saved audit"


def provenance_facts(
    audit: Audit | InsideAudit, *, auditor: str | None, purpose: str | None
) -> Iterator[tuple[str, str]]:
    """What a page says of it, as labels and their texts; what is given here comes first."""
    made = audit.provenance
    told = ("", "") if made is None else (made.auditor or "", made.purpose or "")
    said = zip(("auditor", "purpose"), (auditor, purpose), told, strict=True)
    yield from (
        (label, one_line(given or before, _MAX_SAID))
        for label, given, before in said
        if given or before
    )
    if audit.target is not None:
        yield "mechanism", one_line(audit.target, _MAX_SAID)
    if made is None:
        yield "when and where", NO_PROVENANCE
    else:
        yield "started", _time(made.started)
        yield "ended", _time(made.ended)
        yield from _code_facts(made.code)
        yield "machine", one_line(made.machine, _MAX_FACT)
    yield DIGEST, audit.digest


def _code_facts(code: AuditedCode) -> Iterator[tuple[str, str]]:
    if code.package is not None:
        yield "package", one_line(code.package, _MAX_FACT)
    yield "SHA-256 of the function's source", one_line(code.function or "there is none", _MAX_FACT)
    yield "SHA-256 of its module", one_line(code.module or "there is none", _MAX_FACT)
    if code.commit is not None:
        yield "git commit", f"{one_line(code.commit, _MAX_FACT)}: {_CLEAN[code.clean]}"


def provenance_rows(made: Provenance | None, software: Software) -> list[str]:
    """The lines of it in a text; none for an audit of an older dpaudit."""
    if made is None:
        return []
    versions = ", ".join(f"{name} {version}" for name, version in software)
    lines = [
        *row("audited", _span(made.started, made.ended)),
        *row("code", _code_in_short(made.code)),
        *row("machine", one_line(made.machine, _MAX_FACT) + (f"; {versions}" if versions else "")),
    ]
    for label, said in (("auditor", made.auditor), ("purpose", made.purpose)):
        lines += row(label, one_line(said, _MAX_SAID)) if said else []
    return lines


def _code_in_short(code: AuditedCode) -> str:
    known = [] if code.package is None else [one_line(code.package, _MAX_FACT)]
    known.append("no source" if code.function is None else f"sha256 {_short(code.function)}")
    if code.commit is not None:
        clean = {True: "clean", False: "changed since", None: "clean or not"}[code.clean]
        known.append(glued(f"commit {_short(code.commit)} ({clean})"))
    return ", ".join(known)


def _span(started: str, ended: str) -> str:
    """From one time to another.

    >>> _span("2026-01-31T12:00:00.250Z", "2026-01-31T12:00:09.250Z")
    '2026-01-31 12:00:00 to 12:00:09 UTC'
    """
    first, last = _time(started), _time(ended)
    day = f"{first.split(' ')[0]} "
    return f"{first.removesuffix(' UTC')} to {last.removeprefix(day)}"


def _short(digest: str) -> str:
    return one_line(digest, _MAX_FACT)[:_SHORT_DIGEST]


def _time(text: str) -> str:
    """A time to the second.

    >>> _time("2026-01-31T12:00:00.250Z")
    '2026-01-31 12:00:00 UTC'
    """
    day, _, rest = one_line(text, _MAX_FACT).partition("T")
    return f"{day} {rest.partition('.')[0].removesuffix('Z')} UTC"
