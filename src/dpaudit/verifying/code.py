"""A saved audit against the code: is it the same, and does it still show what was found?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.auditing import replay
from dpaudit.errors import CannotReplay, InvalidMechanism
from dpaudit.inside import InsideAudit, audit_inside, of_either_form
from dpaudit.mechanism import (
    AuditedCode,
    Mechanism,
    as_mechanism,
    asked_of_git,
    audited_code,
    digest_of_source,
    file_of,
)
from dpaudit.report import Line
from dpaudit.results import Audit, Counterexample, Provenance, Tally

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_CLOCKS_APART = 86_400.0  # seconds that the clocks of two machines may differ by
_NO_CODE = "name the code to compare"
_ANOTHER = "the file says {}, and the code given is {}"


def code_lines(audit: Audit | InsideAudit, code: Any) -> Iterator[Line]:
    """Whether the code is that which was audited."""
    made = audit.provenance
    if code is None or made is None:
        why = _NO_CODE if code is None else "an older dpaudit recorded none"
        yield "code", None, why
        return
    mechanism = _mechanism(code, inside=isinstance(audit, InsideAudit))
    name = audit.name if isinstance(audit, InsideAudit) else audit.mechanism
    yield _same("name", name, mechanism.name)
    now = audited_code(mechanism)
    yield _same("function", made.code.function, now.function)
    yield _same("module", made.code.module, now.module)
    yield _same("package", made.code.package, now.package)
    yield "commit", *_commit(made, file_of(mechanism))


def _mechanism(code: Any, *, inside: bool) -> Mechanism:
    return of_either_form(code) if inside else as_mechanism(code)


def _same(name: str, saved: str | None, now: str | None) -> Line:
    """Whether the code is the same in one respect; not compared where neither says anything."""
    if saved is None and now is None:
        return name, None, "not known, then and now"
    if saved == now:
        return name, True, f"the same: {saved}"
    return name, False, _ANOTHER.format(saved or "that there is none", now or "without one")


def _commit(made: Provenance, file: Path | None) -> tuple[bool | None, str]:
    """Whether git has the commit, with the audited source in it, from before the audit."""
    commit, code = made.code.commit, made.code
    if commit is None:
        return None, "none is recorded"
    if _COMMIT.fullmatch(commit) is None:
        return False, f"{commit!r} is no commit"
    if file is None or asked_of_git(file.parent, "rev-parse", "--git-dir") is None:
        return None, "the code given lies in no git tree"
    time = asked_of_git(file.parent, "show", "--no-patch", "--format=%ct", commit)
    if time is None:
        shallow = asked_of_git(file.parent, "rev-parse", "--is-shallow-repository") or ""
        if shallow.strip() == "true":
            return None, f"{commit} is not among the few commits of this shallow tree"
        return False, f"git knows no {commit}"
    if made.end.timestamp() < float(time.split()[-1]) - _CLOCKS_APART:
        return False, f"{commit} was made after the audit ended"
    return _in_commit(commit, code, file)


def _in_commit(commit: str, code: AuditedCode, file: Path) -> tuple[bool | None, str]:
    if not code.clean:
        return True, f"git knows {commit}; the tree had changed since"
    text = asked_of_git(file.parent, "show", f"{commit}:./{file.name}")
    if text is None or digest_of_source(text) != code.module:
        return False, f"the module at {commit} is another, though nothing had changed since"
    return True, f"the module at {commit} is the audited one"


# --- the event ------------------------------------------------------------------------------------


def event_lines(
    audit: Audit | InsideAudit, code: Any, rng: np.random.Generator | int | None
) -> Iterator[Line]:
    """Whether the code still shows what the audit found."""
    if isinstance(audit, InsideAudit):
        yield from _transcript(audit, code, rng)
    elif audit.counterexample is None:
        yield "event", None, "there is no counterexample to replay"
    elif code is None:
        yield "event", None, "name the code to replay it"
    else:
        seeds = np.random.default_rng(rng)
        for name, found in (("event", audit.counterexample), ("simplest", audit.simplest)):
            if found is not None:
                yield name, *_replayed(audit, found, code, seeds)


def _replayed(
    audit: Audit, found: Counterexample, code: Any, seeds: np.random.Generator
) -> tuple[bool | None, str]:
    """Whether the event breaks the claim again and is as likely as it was.

    A replay of a genuine event fails to break its claim once in some hundred times, so it may try
    twice; two failures are less likely than one in ten thousand.
    """
    must_break = found.breaks(audit.claim)
    try:
        again = replay(found, code, audit.claim, alpha=audit.alpha, rng=seeds)
        if must_break and not again.breaks(audit.claim):
            again = replay(found, code, audit.claim, alpha=audit.alpha, rng=seeds)
    except CannotReplay as error:
        return None, str(error)
    shown = f"{_counts(again.data)} on A and {_counts(again.neighbour)} on B"
    if must_break and not again.breaks(audit.claim):
        return False, f"seen in {shown}, which does not break the claim"
    for side, before, now in (
        ("A", found.data, again.data),
        ("B", found.neighbour, again.neighbour),
    ):
        if before.lower > now.upper or now.lower > before.upper:
            return False, f"seen in {shown}; on {side} the file says {_counts(before)}"
    said = "it breaks the claim again" if must_break else "it is as likely as it was"
    return True, f"seen in {shown}: {said}"


def _counts(tally: Tally) -> str:
    return f"{tally.hits:,} of {tally.draws:,} draws"


def _transcript(
    audit: InsideAudit, code: Any, rng: np.random.Generator | int | None
) -> Iterator[Line]:
    """Whether the worst pair breaks the claim inside once more."""
    if not audit.broken or audit.worst is None:
        yield "transcript", None, "nothing was broken inside"
    elif code is None:
        yield "transcript", None, "name the code to record it again"
    else:
        pair = [(audit.worst.pair.data, audit.worst.pair.neighbour)]
        try:
            again = audit_inside(code, audit.claim, pair, alpha=audit.alpha, rng=rng)
        except InvalidMechanism as error:  # datasets that could not be saved
            yield "transcript", None, str(error)
            return
        said = f"{again.verdict.value} on the same pair"
        yield "transcript", again.broken, said
