"""The audit as JSON on a page: whole where it is short, with its long lists cut where it is not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpaudit.report.showing import one_line

if TYPE_CHECKING:
    from dpaudit.results import Audit

MOST = 40_000  # characters
_KEPT = (200, 60, 20, 8, 2)  # entries of a list, tried one after the other
_TEXT = 2_000
_PAIRS = 50  # of the history; a long search over large datasets is long to write


def raw_json(audit: Audit) -> tuple[str, bool]:
    """The JSON of an audit, in lines, and whether it is whole."""
    more = len(audit.history) - _PAIRS
    saved = replace(audit, history=audit.history[:_PAIRS]).to_json()
    text = _text(saved)
    if len(text) <= MOST:
        return text, more <= 0
    for kept in _KEPT:
        text = _text(cut(saved, kept))
        if len(text) <= MOST:
            break
    return text[:MOST], False


def cut(value: Any, kept: int) -> Any:
    """The value with at most so many entries in each list, and no endless text.

    >>> cut({"draws": list(range(9))}, 2)
    {'draws': [0, 1, '... 7 more ...']}
    """
    if isinstance(value, dict):
        return {name: cut(entry, kept) for name, entry in value.items()}
    if isinstance(value, list):
        more = len(value) - kept
        short = [cut(entry, kept) for entry in value[:kept]]
        return [*short, f"... {more:,} more ..."] if more > 0 else short
    return one_line(value, _TEXT) if isinstance(value, str) and len(value) > _TEXT else value


def _text(saved: dict[str, Any]) -> str:
    """One line for each field, as in a saved file."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, sort_keys=True, ensure_ascii=False)}"
        for name, value in sorted(saved.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}"
