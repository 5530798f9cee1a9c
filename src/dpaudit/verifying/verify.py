"""`dpaudit.verify`: does a saved audit follow from what it says, and does the code still show it?

What is in a file follows from the rest of it, is compared with the code that is given, or is
believed. A file that somebody made up as a whole, with all that follows, shows on fresh draws only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.errors import InvalidAuditFile
from dpaudit.inside import InsideAudit, inside_as_saved, inside_contradictions
from dpaudit.integrations import brought_by
from dpaudit.mechanism import Mechanism, Subject
from dpaudit.report import NOT_COMPARED, PARTS, PARTS_INSIDE, Line, verification_in_words
from dpaudit.results import (
    SCHEMA,
    Audit,
    SavedAudit,
    as_saved,
    digest_of,
    lines_of_json,
    loaded,
)
from dpaudit.verifying.code import code_lines, event_lines

Code = Callable[..., object] | Mechanism | Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was checked: whether it holds (None if it was not checked), and what was seen.

    >>> Check(name="verdict", holds=True, said="it follows from the evidence").holds
    True
    """

    name: str
    holds: bool | None
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was checked of a saved audit, line by line. `print(found)` says it in words.

    `digest` is the SHA-256 digest that a page of this audit shows.
    """

    path: str
    digest: str
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether all that was checked holds."""
        return all(check.holds is not False for check in self.checks)

    def __str__(self) -> str:
        return verification_in_words(self)

    def to_json(self) -> dict[str, object]:
        """The verification as plain JSON values."""
        checks = [
            {"name": check.name, "holds": check.holds, "said": check.said} for check in self.checks
        ]
        return {"path": self.path, "sha256": self.digest, "holds": self.holds, "checks": checks}


def verify(
    path: str | os.PathLike[str],
    mechanism: Code | None = None,
    *,
    rng: np.random.Generator | int | None = None,
) -> Verification:
    """Check a saved audit: all that can be derived in it, and with `mechanism` the code too.

    Bounds are derived again from counts, epsilon from bounds, the verdict from the evidence. With
    the code, its source is compared with the digests in the file, the commit with git, and the
    event is replayed on fresh draws (`rng` seeds them). A file that is no audit is an
    `InvalidAuditFile`.

    >>> import tempfile, pathlib, dpaudit
    >>> mechanism = dpaudit.zoo.ClippedSum(1.0)
    >>> pair = dpaudit.pairs([([1.0], [-1.0])])
    >>> audit = dpaudit.audit(mechanism, dpaudit.PureDP(0.5), pair, samples=40_000, rng=7)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "audit.json"
    >>> audit.save(path)
    >>> dpaudit.verify(path, mechanism, rng=8).holds
    True
    >>> _ = path.write_text(path.read_text().replace('"refuted"', '"not refuted"'))
    >>> [check.name for check in dpaudit.verify(path).checks if check.holds is False]
    ['verdict', 'counterexample', 'bounds']
    """
    brought = None if mechanism is None else brought_by(mechanism)
    code: Any = mechanism if brought is None else brought.mechanism
    saved, raw = loaded(path, _read)
    audit = saved.audit if isinstance(saved, SavedAudit) else saved[0]
    today = raw.get("schema") == SCHEMA or isinstance(audit, InsideAudit)
    lines = [*_derived(saved), *code_lines(audit, code), *event_lines(audit, code, rng)]
    return Verification(
        path=os.fspath(path),
        digest=digest_of(lines_of_json(raw)) if today else audit.digest,
        checks=tuple(Check(name=name, holds=holds, said=said) for name, holds, said in lines),
    )


SavedEither = SavedAudit | tuple[InsideAudit, float | None]


def _read(raw: Any) -> tuple[SavedEither, Mapping[str, Any]]:
    is_inside = isinstance(raw, Mapping) and "kind" in raw
    return (inside_as_saved(raw) if is_inside else as_saved(raw)), raw


def _derived(saved: SavedEither) -> Iterator[Line]:
    """Each part of the numbers: what is wrong with it, or what was derived again."""
    if isinstance(saved, SavedAudit):
        parts, problems = PARTS, saved.contradictions()
        audit: Audit | InsideAudit = saved.audit
    else:
        audit = saved[0]
        parts, problems = PARTS_INSIDE, inside_contradictions(*saved)
    wrong: dict[str, list[str]] = {}
    broken = False
    try:
        for part, problem in problems:
            wrong.setdefault(part, []).append(problem)
    except (ArithmeticError, ValueError, LookupError) as error:
        if not wrong:
            raise InvalidAuditFile(f"the audit cannot be checked: {error!r}.") from error
        broken = True  # what comes later rests on what is wrong
    for part, said in parts.items():
        if part in wrong:
            yield part, False, "; ".join(wrong[part])
        elif broken:
            yield part, None, NOT_COMPARED
        elif part == "dates" and audit.provenance is None:
            yield part, None, "an older dpaudit recorded none"
        elif part == "verdict" and isinstance(audit, Audit) and audit.suspected:
            yield part, None, "its tester accused the claim; what that rests on is not in the file"
        elif _is_there(audit, part):
            yield part, True, said


def _is_there(audit: Audit | InsideAudit, part: str) -> bool:
    """Whether an audit has this part at all."""
    if isinstance(audit, InsideAudit):
        return True
    there = {
        "counterexample": audit.counterexample is not None,
        "training": audit.training is not None,
        "outputs": bool(audit.outputs),
    }
    return there.get(part, True)
