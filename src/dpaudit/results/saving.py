"""Audits as JSON and as files: a schema number, no unknown fields.

The text of a file is a function of the audit alone (sorted keys, shortest exact floats, no NaN
literals), so equal audits give equal bytes, except for the line "seconds".

Whatever is wrong with a file is an `InvalidAuditFile`, also where its numbers contradict each
other (`checking.py`).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from dpaudit.domains import UNREADABLE
from dpaudit.errors import InvalidAuditFile
from dpaudit.report import write_whole
from dpaudit.results.checking import check_delta, checked
from dpaudit.results.forms import AUDIT, COUNTEREXAMPLE, form_of, in_short, write_claim
from dpaudit.results.values import Audit, Replayed

SCHEMA = 6  # `delta_lower` is written too, for other readers; here it is derived
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
_ADDED_TO_TALLIES: dict[str, object] = {"anytime": False}
_DELTA = form_of(float | None)
_MAX_DEPTH = 250  # of nested JSON: datasets as deep as they may be, and what is around them
_ADDED_TO_COUNTEREXAMPLES: dict[str, object] = {"rule": None, "outputs": []}


def audit_to_json(audit: Audit) -> dict[str, object]:
    """The audit as plain JSON values, with the schema number."""
    delta = _DELTA.write(audit.delta_lower)
    return {"schema": SCHEMA, **AUDIT.write(audit), "delta_lower": delta}


def audit_from_json(saved: Mapping[str, object]) -> Audit:
    """The audit that `Audit.to_json` gave.

    A `Profile` comes back as the chords of its saved points, and data that could not be saved as
    `Unsaved`; everything else comes back equal.
    """
    if not isinstance(saved, Mapping):
        raise InvalidAuditFile(f"a saved audit must be a JSON object, got {type(saved).__name__}.")
    _check_depth(saved)
    fields = dict(saved)
    schema = fields.pop("schema", None)
    if type(schema) is not int or schema not in (*_ADDED, _PRESENT_RULES, SCHEMA):
        raise InvalidAuditFile(
            f"this dpaudit reads audits of schema {SCHEMA}, got schema {in_short(schema)}. "
            "Was it saved by another version?"
        )
    if schema in _ADDED:
        fields = _brought_up(fields, schema)
    try:
        if schema == SCHEMA:
            return _with_delta(fields)
        audit: Audit = AUDIT.read({**_OPTIONAL, **fields}, "")
        return checked(audit, older=schema < _PRESENT_RULES)
    except InvalidAuditFile:
        raise
    except UNREADABLE as error:  # a number or a text that no audit has
        raise InvalidAuditFile(f"the audit cannot be read: {error!r}.") from error


def _with_delta(fields: dict[str, object]) -> Audit:
    """An audit of today's schema, in which `delta_lower` is written although it is derived."""
    if "delta_lower" not in fields:
        raise InvalidAuditFile("no field 'delta_lower': the audit is not whole.")
    delta = _DELTA.read(fields.pop("delta_lower"), "delta_lower")
    audit = checked(AUDIT.read({**_OPTIONAL, **fields}, ""), older=False)
    check_delta(audit, delta)
    return audit


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


def _brought_up(fields: Mapping[str, object], schema: int) -> dict[str, object]:
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


def lines_of_json(fields: Mapping[str, object]) -> str:
    """Strict JSON that reads well and is compared easily: one line for each field, in order."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, sort_keys=True, allow_nan=False)}"
        for name, value in sorted(fields.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(audit: Audit, path: str | os.PathLike[str]) -> None:
    """Write an audit to a file."""
    write_whole(path, audit_text(audit))


def load(path: str | os.PathLike[str]) -> Audit:
    """The audit that `audit.save(path)` wrote.

    `InvalidAuditFile` says what is wrong with a file that is not one.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        saved = json.loads(text, parse_constant=_no_literal, object_pairs_hook=_each_key_once)
        return audit_from_json(saved)
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
