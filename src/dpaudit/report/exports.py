"""Briefs for other programs: annotations and a summary on GitHub, SARIF, a badge.

SARIF 2.1.0 is the standard of OASIS (2020) for what static analysis finds; code scanning reads it.
The badge is what shields.io asks of an endpoint.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from dpaudit._version import __version__
from dpaudit.report.briefs import PROBLEMS, Brief
from dpaudit.report.showing import count
from dpaudit.report.tables import HEADINGS, row_of

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_FINGERPRINT = "dpaudit/v1"  # the same finding has the same one, whatever its numbers
_COLOURS = {"refuted": "red", "undecided": "yellow", "not refuted": "blue"}


def as_json(value: object) -> str:
    """JSON text, with its last line ended."""
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


# --- GitHub ---------------------------------------------------------------------------------------


def annotation(brief: Brief) -> str:
    """A workflow command that marks the line of the test; empty if nothing is wrong.

    A line that fails the test is an error, any other problem a warning.
    """
    if brief.problem is None:
        return ""
    title = f"{brief.name or brief.mechanism}: {PROBLEMS[brief.problem]}"
    place = {"file": brief.file, "line": brief.line, "title": title}
    given = [f"{name}={_property(value)}" for name, value in place.items() if value is not None]
    return f"::{_level(brief)} {','.join(given)}::{_escaped(brief.says)}"


def _level(brief: Brief) -> str:
    return "error" if brief.fails else "warning"


def _escaped(text: object) -> str:
    return str(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: object) -> str:
    return _escaped(value).replace(":", "%3A").replace(",", "%2C")


def markdown(briefs: Sequence[Brief]) -> str:
    """All audits as a table in Markdown, those with a problem first."""
    ordered = sorted(briefs, key=lambda brief: (not brief.fails, brief.problem is None))
    rows = [tuple(HEADINGS), ("---",) * len(HEADINGS), *(row_of(brief) for brief in ordered)]
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([f"### {_in_numbers(briefs)}", "", *lines]) + "\n"


def _cell(text: str) -> str:
    """Text that Markdown shows as it is."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{mark}" if mark in "\\|`*_[]#~" else mark for mark in text)


# --- SARIF ----------------------------------------------------------------------------------------


def sarif(briefs: Sequence[Brief]) -> str:
    """What is wrong, as a SARIF file; audits with no problem are not in it."""
    driver = {
        "name": "dpaudit",
        "version": __version__,
        "rules": [
            {"id": problem, "shortDescription": {"text": text}}
            for problem, text in PROBLEMS.items()
        ],
    }
    results = [_result(brief) for brief in briefs if brief.problem is not None]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return as_json({"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]})


def _result(brief: Brief) -> dict[str, Any]:
    assert brief.problem is not None
    same = "\n".join((brief.problem, brief.key, brief.mechanism, brief.claim))
    found: dict[str, Any] = {
        "ruleId": brief.problem,
        "ruleIndex": list(PROBLEMS).index(brief.problem),
        "level": _level(brief),
        "message": {"text": brief.says},
        "partialFingerprints": {_FINGERPRINT: hashlib.sha256(same.encode()).hexdigest()[:32]},
        "properties": {
            "test": brief.name,
            "mechanism": brief.mechanism,
            "claim": brief.claim,
            "verdict": brief.verdict,
            "certified": brief.certified,
            "draws": brief.draws,
        },
    }
    if brief.file is not None:
        place: dict[str, Any] = {
            "artifactLocation": {"uri": quote(brief.file), "uriBaseId": "%SRCROOT%"}
        }
        place |= {} if brief.line is None else {"region": {"startLine": brief.line}}
        found["locations"] = [{"physicalLocation": place}]
    return found


# --- a badge --------------------------------------------------------------------------------------


def badge(briefs: Sequence[Brief]) -> str:
    """A badge, as shields.io reads it: red, yellow or blue; never green, which would say too much.

    >>> print(badge([]), end="")
    {
      "color": "blue",
      "label": "dpaudit",
      "message": "0 audits",
      "schemaVersion": 1
    }
    """
    words = {_state(brief) for brief in briefs}
    colour = next((shade for word, shade in _COLOURS.items() if word in words), "blue")
    form = {"schemaVersion": 1, "label": "dpaudit", "message": _in_numbers(briefs), "color": colour}
    return as_json(form)


def _state(brief: Brief) -> str:
    """How a badge counts an audit."""
    if brief.fails:
        return "refuted" if brief.past_claim else "undecided"
    return "undecided" if brief.problem is not None else "not refuted"


def _in_numbers(briefs: Sequence[Brief]) -> str:
    """How many audits there are, and how many of each kind."""
    times = Counter(brief.word for brief in briefs)
    said = ", ".join(f"{number} {word}" for word, number in sorted(times.items()))
    return count(len(briefs), "audit") + (f": {said}" if said else "")
