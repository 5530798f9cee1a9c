"""Audits as JSON and as files: a schema number, every field named once, nothing unknown accepted.

The text of a file is a function of the audit alone (sorted keys, shortest exact floats, no NaN
literals), so equal audits give equal bytes, but for the line "seconds".
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from dpaudit.claim_text import claim_from_json
from dpaudit.claims import Claim, InvalidClaim, Profile
from dpaudit.events import rule_from_json
from dpaudit.evidence.outline import Outline
from dpaudit.evidence.values import (
    Audit,
    Counterexample,
    Evidence,
    PairRecord,
    Replayed,
    Tally,
    Verdict,
)
from dpaudit.neighbours import Pair
from dpaudit.outputs.bits import FLOAT_VIEWS, FloatView
from dpaudit.plain import InvalidAuditFile, decoded, encoded, encoded_float

SCHEMA = 4
# What older schemas do not have, in an audit and in a counterexample.
_IN_4: dict[str, object] = {"target": None, "software": [], "outputs": []}
_ADDED: dict[int, dict[str, object]] = {
    1: {"simplest": None, "tester": "not recorded", **_IN_4},
    2: _IN_4,
    3: _IN_4,
}
_MAY_LACK: dict[str, object] = {"floats": "real"}  # files of any schema
_ADDED_TO_COUNTEREXAMPLES: dict[str, object] = {"rule": None, "outputs": []}


def audit_to_json(audit: Audit) -> dict[str, object]:
    """The audit as plain JSON values, with the schema number."""
    return {"schema": SCHEMA, **AUDIT.write(audit)}


def audit_from_json(saved: Mapping[str, object]) -> Audit:
    """The audit that `Audit.to_json` gave.

    A `Profile` comes back as the chords of its saved points, and data that could not be saved as
    `Unsaved`; everything else comes back equal.
    """
    if not isinstance(saved, Mapping):
        raise InvalidAuditFile(f"a saved audit must be a JSON object, got {type(saved).__name__}.")
    fields = dict(saved)
    schema = fields.pop("schema", None)
    if type(schema) is int and schema in _ADDED:
        fields, schema = _brought_up(fields, schema), SCHEMA
    if schema != SCHEMA or isinstance(schema, bool):
        raise InvalidAuditFile(
            f"this dpaudit reads audits of schema {SCHEMA}, got schema {schema!r}. "
            "Was it saved by another version?"
        )
    audit: Audit = AUDIT.read({**_MAY_LACK, **fields}, "")
    return audit


def _brought_up(fields: Mapping[str, object], schema: int) -> dict[str, object]:
    """The fields of an older audit, with what it does not have."""
    found = {**_ADDED[schema], **fields}
    for name in ("counterexample", "simplest"):
        saved = found.get(name)
        if isinstance(saved, Mapping):
            found[name] = {**_ADDED_TO_COUNTEREXAMPLES, **saved}
    return found


def replayed_to_json(found: Replayed) -> dict[str, object]:
    """The replay as plain JSON values, with the schema number."""
    return {
        "schema": SCHEMA,
        "verdict": found.verdict.value,
        "mechanism": found.mechanism,
        "target": found.target,
        "claim": _write_claim(found.claim),
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


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a file: to a temporary one first, so that a crash loses nothing."""
    goal = Path(os.path.realpath(path))  # a link stays a link
    draft = goal.with_name(f".{goal.name}.{os.getpid()}.tmp")
    try:
        # Half of a character is written as its number, as HTML does; JSON is ASCII anyway.
        with draft.open("w", encoding="utf-8", errors="xmlcharrefreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(goal)
    finally:
        draft.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Audit:
    """The audit that `audit.save(path)` wrote.

    `InvalidAuditFile` says what is wrong with a file that is not one.
    """
    try:
        saved = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_literal)
        return audit_from_json(saved)
    except InvalidAuditFile as error:
        raise InvalidAuditFile(f"{os.fspath(path)}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidAuditFile(f"{os.fspath(path)} is not an audit file: {error}.") from error


def _no_literal(literal: str) -> NoReturn:
    raise InvalidAuditFile(f"{literal} is not JSON. Was the file written by hand?")


# --- how each value is written and read -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of value is written, and read back (with the name of the field, for errors)."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


def record(kind: Callable[..., Any], forms: Mapping[str, Form]) -> Form:
    """The form of a value with named fields: all of them, and no others."""

    def write(value: Any) -> dict[str, Any]:
        return {name: form.write(getattr(value, name)) for name, form in forms.items()}

    def read(saved: Any, where: str) -> Any:
        if not isinstance(saved, Mapping):
            raise _wrong(where, "an object", saved)
        place = f" in {where}" if where else ""
        for name in sorted(set(saved) - set(forms)):
            raise InvalidAuditFile(
                f"unknown field {name!r}{place}. Was it saved by a newer dpaudit?"
            )
        for name in sorted(set(forms) - set(saved)):
            raise InvalidAuditFile(f"no field {name!r}{place}: the audit is not whole.")
        inside = f"{where}." if where else ""
        values = {name: form.read(saved[name], f"{inside}{name}") for name, form in forms.items()}
        return kind(**values)

    return Form(write, read)


def many(form: Form) -> Form:
    """The form of a tuple, written as a list."""

    def read(saved: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(saved, list):
            raise _wrong(where, "a list", saved)
        return tuple(form.read(entry, f"{where}[{at}]") for at, entry in enumerate(saved))

    return Form(lambda values: [form.write(value) for value in values], read)


def maybe(form: Form) -> Form:
    """The form of a value that may be None, written as null."""
    return Form(
        lambda value: None if value is None else form.write(value),
        lambda saved, where: None if saved is None else form.read(saved, where),
    )


def _wrong(where: str, wanted: str, got: object) -> InvalidAuditFile:
    shown = repr(got)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return InvalidAuditFile(f"{where or 'a saved audit'} must be {wanted}, got {shown}.")


def _read_integer(saved: Any, where: str) -> int:
    if type(saved) is not int:
        raise _wrong(where, "a whole number", saved)
    return saved


def _read_number(saved: Any, where: str) -> float:
    value = decoded(saved) if isinstance(saved, Mapping) else saved
    if type(value) not in (int, float):
        raise _wrong(where, "a number", saved)
    return float(value)


def _read_text(saved: Any, where: str) -> str:
    if not isinstance(saved, str):
        raise _wrong(where, "text", saved)
    return saved


def _read_flag(saved: Any, where: str) -> bool:
    if not isinstance(saved, bool):
        raise _wrong(where, "true or false", saved)
    return saved


def _read_side(saved: Any, where: str) -> Literal["data", "neighbour"]:
    if saved == "data":
        return "data"
    if saved == "neighbour":
        return "neighbour"
    raise _wrong(where, "'data' or 'neighbour'", saved)


def _read_verdict(saved: Any, where: str) -> Verdict:
    known = {verdict.value: verdict for verdict in Verdict}
    if not isinstance(saved, str) or saved not in known:
        raise _wrong(where, f"one of {', '.join(known)}", saved)
    return known[saved]


def _read_floats(saved: Any, where: str) -> FloatView:
    for known in FLOAT_VIEWS:
        if saved == known:
            return known
    raise _wrong(where, "'real' or 'bits'", saved)


def _write_claim(claim: Claim) -> object:
    write = getattr(claim, "to_json", None)
    if not callable(write):  # a claim of the user's own is its profile
        write = Profile(claim.delta, name=str(claim)).to_json
    return write()


def _read_claim(saved: Any, where: str) -> Claim:
    try:
        return claim_from_json(saved)
    except InvalidClaim as error:
        raise InvalidAuditFile(f"{where}: {error}") from error


def _write_seed(seed: tuple[int, ...] | int) -> object:
    return SEED.write(seed) if isinstance(seed, tuple) else operator.index(seed)


def _read_seed(saved: Any, where: str) -> Any:
    return SEED.read(saved, where) if isinstance(saved, list) else _read_integer(saved, where)


def _write_step(step: tuple[int, float]) -> list[object]:
    return [operator.index(step[0]), encoded_float(step[1])]


def _read_step(saved: Any, where: str) -> tuple[int, float]:
    if not isinstance(saved, list) or len(saved) != 2:
        raise _wrong(where, "[samples, log-wealth]", saved)
    return _read_integer(saved[0], where), _read_number(saved[1], where)


def _read_package(saved: Any, where: str) -> tuple[str, str]:
    if not isinstance(saved, list) or len(saved) != 2:
        raise _wrong(where, "[name, version]", saved)
    return _read_text(saved[0], where), _read_text(saved[1], where)


INTEGER = Form(operator.index, _read_integer)
NUMBER = Form(encoded_float, _read_number)
TEXT = Form(str, _read_text)
FLAG = Form(bool, _read_flag)
SEED = many(INTEGER)
DATA = Form(encoded, lambda saved, where: decoded(saved))
PAIR = record(Pair, {"data": DATA, "neighbour": DATA})
TALLY = record(Tally, {"hits": INTEGER, "draws": INTEGER, "lower": NUMBER, "upper": NUMBER})
EVIDENCE = record(
    Evidence,
    {"trace": many(Form(_write_step, _read_step)), "log_wealth": NUMBER, "peak": NUMBER},
)
PAIR_RECORD = record(
    PairRecord, {"pair": PAIR, "samples": INTEGER, "log_wealth": NUMBER, "growth": NUMBER}
)
OUTLINE = record(
    Outline,
    {
        "place": TEXT,
        "edges": many(NUMBER),
        "values": many(TEXT),
        "data": many(INTEGER),
        "neighbour": many(INTEGER),
        "data_hits": many(INTEGER),
        "neighbour_hits": many(INTEGER),
    },
)
COUNTEREXAMPLE = record(
    Counterexample,
    {
        "pair": PAIR,
        "event": TEXT,
        "likelier": Form(str, _read_side),
        "data": TALLY,
        "neighbour": TALLY,
        "delta": NUMBER,
        "epsilon_lower": NUMBER,
        "alpha": NUMBER,
        "seed": SEED,
        "rule": maybe(Form(lambda rule: rule.to_json(), lambda saved, _: rule_from_json(saved))),
        "outputs": many(OUTLINE),
    },
)
AUDIT = record(
    Audit,
    {
        "mechanism": TEXT,
        "claim": Form(_write_claim, _read_claim),
        "verdict": Form(lambda verdict: verdict.value, _read_verdict),
        "lower_bound": maybe(NUMBER),
        "counterexample": maybe(COUNTEREXAMPLE),
        "simplest": maybe(COUNTEREXAMPLE),
        "tester": TEXT,
        "evidence": EVIDENCE,
        "samples": INTEGER,
        "seconds": NUMBER,
        "alpha": NUMBER,
        "rng_seed": Form(_write_seed, _read_seed),
        "pairs_tried": INTEGER,
        "neighbours": TEXT,
        "strongest": maybe(PAIR_RECORD),
        "detectable": maybe(NUMBER),
        "forecast": maybe(INTEGER),
        "history": many(PAIR_RECORD),
        "warnings": many(TEXT),
        "interrupted": FLAG,
        "version": TEXT,
        "target": maybe(TEXT),
        "software": many(Form(list, _read_package)),
        "outputs": many(OUTLINE),
        "floats": Form(str, _read_floats),
    },
)
