"""Audits as JSON and as files: a schema number, no unknown fields.

Whatever is wrong with a file is an `InvalidAuditFile`, also where its numbers contradict each
other (`checking.py`).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from dpaudit.domains import UNREADABLE
from dpaudit.errors import InvalidAuditFile
from dpaudit.results.checking import brought_up, contradictions, wrong_delta
from dpaudit.results.forms import AUDIT, COUNTEREXAMPLE, form_of, in_short, write_claim
from dpaudit.results.replayed import Replayed
from dpaudit.results.result import lines_of_json
from dpaudit.results.values import Audit

SCHEMA = 8  # with `method`
_WITH_PROVENANCE = 7
_WITH_DELTA = 6  # `delta_lower` is written too, for other readers; here it is derived
_PRESENT_RULES = 5  # the first schema whose numbers follow the rules of today
# What audits of older schemas lack, and what stands for it.
_ADDED_IN_4: dict[str, object] = {"target": None, "software": [], "outputs": []}
_ADDED: dict[int, dict[str, object]] = {
    1: {"simplest": None, "tester": "not recorded", **_ADDED_IN_4},
    2: _ADDED_IN_4,
    3: _ADDED_IN_4,
    4: {},
}
# In files of any schema.
_OPTIONAL: dict[str, object] = {"floats": "real", "training": None}
_NO_METHOD: dict[str, object] = {"method": None}  # in files before schema 8
_NO_PROVENANCE: dict[str, object] = {"provenance": None}  # in files before schema 7
_ADDED_TO_TALLIES: dict[str, object] = {"anytime": False}
_DELTA = form_of(float | None)
_MAX_DEPTH = 250  # of nested JSON: datasets as deep as they may be, and what is around them
_ADDED_TO_COUNTEREXAMPLES: dict[str, object] = {"rule": None, "outputs": []}

Found = TypeVar("Found")


def audit_to_json(audit: Audit) -> dict[str, object]:
    """The audit as plain JSON values, with the schema number."""
    delta = _DELTA.write(audit.delta_lower)
    return {"schema": SCHEMA, **AUDIT.write(audit), "delta_lower": delta}


def audit_from_json(saved: Mapping[str, object]) -> Audit:
    """The audit that `Audit.to_json` gave.

    A `Profile` comes back as the chords of its saved points, and data that could not be saved as
    `Unsaved`; everything else comes back equal.
    """
    found = as_saved(saved)
    for _, problem in found.contradictions():
        raise InvalidAuditFile(f"the audit contradicts itself: {problem}. Was the file edited?")
    return found.audit if found.schema >= _PRESENT_RULES else brought_up(found.audit)


@dataclass(frozen=True, slots=True)
class SavedAudit:
    """What a file says, before its numbers are compared with each other."""

    audit: Audit
    schema: int
    delta_lower: float | None

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """The numbers that do not follow from others: which part they are of, and what is wrong."""
        yield from contradictions(self.audit, older=self.schema < _PRESENT_RULES)
        if self.schema >= _WITH_DELTA:
            for problem in wrong_delta(self.audit, self.delta_lower):
                yield "bounds", problem


def as_saved(saved: Mapping[str, object]) -> SavedAudit:
    """The audit of these JSON values, which may contradict itself; all of its fields are read."""
    fields = fields_of(saved)
    if "kind" in fields:
        raise InvalidAuditFile(
            f"it is an audit of kind {in_short(fields['kind'])}, where one by draws is wanted. "
            "dpaudit.load reads both."
        )
    schema = fields.pop("schema", None)
    if type(schema) is not int or not (schema in _ADDED or _PRESENT_RULES <= schema <= SCHEMA):
        raise InvalidAuditFile(
            f"this dpaudit reads audits of schema {SCHEMA}, got schema {in_short(schema)}. "
            "Was it saved by another version?"
        )
    try:
        return _read(fields, schema)
    except InvalidAuditFile:
        raise
    except UNREADABLE as error:  # a number or a text that no audit has
        raise InvalidAuditFile(f"the audit cannot be read: {error!r}.") from error


def _read(fields: dict[str, object], schema: int) -> SavedAudit:
    delta = None
    if schema in _ADDED:
        fields = _with_what_was_added(fields, schema)
    if schema >= _WITH_DELTA:  # written although it is derived
        if "delta_lower" not in fields:
            raise InvalidAuditFile("no field 'delta_lower': the audit is not whole.")
        delta = _DELTA.read(fields.pop("delta_lower"), "delta_lower")
    missing = dict(_OPTIONAL)
    if schema < SCHEMA:
        missing |= _NO_METHOD
    if schema < _WITH_PROVENANCE:
        missing |= _NO_PROVENANCE
    return SavedAudit(AUDIT.read({**missing, **fields}, ""), schema, delta)


def fields_of(saved: object) -> dict[str, object]:
    """The fields of a saved audit, which is a JSON object that is not too deep to be shown."""
    if not isinstance(saved, Mapping):
        raise InvalidAuditFile(f"a saved audit must be a JSON object, got {type(saved).__name__}.")
    _check_depth(saved)
    return dict(saved)


def _check_depth(saved: object) -> None:
    """Refuse what is nested so deeply that nothing could show it."""
    inside = [saved]
    for _ in range(_MAX_DEPTH):
        inside = [
            part
            for whole in inside
            if isinstance(whole, Mapping | list)
            for part in (whole.values() if isinstance(whole, Mapping) else whole)
        ]
        if not inside:
            return
    raise InvalidAuditFile(f"a saved audit is nested at most {_MAX_DEPTH} deep; this is deeper.")


def _with_what_was_added(fields: Mapping[str, object], schema: int) -> dict[str, object]:
    """The fields of an older audit, with what it does not have."""
    found: dict[str, Any] = {**_ADDED[schema], **fields}
    for name in ("counterexample", "simplest"):
        saved = found.get(name)
        if isinstance(saved, Mapping):
            found[name] = {**_ADDED_TO_COUNTEREXAMPLES, **saved}
            for side in ("data", "neighbour"):
                if isinstance(tally := saved.get(side), Mapping):
                    found[name][side] = {**_ADDED_TO_TALLIES, **tally}
    return found


def replayed_to_json(found: Replayed) -> dict[str, object]:
    """The replay as plain JSON values, with the schema number."""
    return {
        "schema": SCHEMA,
        "verdict": found.verdict.value,
        "mechanism": found.mechanism,
        "target": found.target,
        "claim": write_claim(found.claim),
        "before": COUNTEREXAMPLE.write(found.before),
        "again": COUNTEREXAMPLE.write(found.again),
    }


def audit_text(audit: Audit) -> str:
    """The text of an audit file: one line for each field."""
    return lines_of_json(audit_to_json(audit))


def load(path: str | os.PathLike[str]) -> Audit:
    """The audit by draws that `audit.save(path)` wrote."""
    return loaded(path, audit_from_json)


def loaded(path: str | os.PathLike[str], read: Callable[[Any], Found]) -> Found:
    """What `read` makes of the JSON in a file; `InvalidAuditFile` says what is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        saved = json.loads(text, parse_constant=_no_literal, object_pairs_hook=_each_key_once)
        return read(saved)
    except InvalidAuditFile as error:
        raise InvalidAuditFile(f"{os.fspath(path)}: {error}") from error
    except UNREADABLE as error:
        raise InvalidAuditFile(f"{os.fspath(path)} is not an audit file: {error}.") from error


def _each_key_once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) < len(items):
        twice = next(
            name for name, times in Counter(name for name, _ in items).items() if times > 1
        )
        raise InvalidAuditFile(f"the field {twice!r} is there twice. Was the file edited?")
    return found


def _no_literal(literal: str) -> NoReturn:
    raise InvalidAuditFile(f"{literal} is not JSON. Was the file written by hand?")
