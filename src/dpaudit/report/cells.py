"""Results at the end of a notebook's cell: the verdict, the pair, what was seen and figures."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from dpaudit.report import figures
from dpaudit.report.figures.releases import RELEASES
from dpaudit.report.inside import MEANINGS, evidence, largest, likelihood
from dpaudit.report.pages import page_of
from dpaudit.report.releases import shown_releases
from dpaudit.report.rendering import figure_on_page, rendered
from dpaudit.report.showing import compared, one_line

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit

_FIGURES = ("outputs", "curve", "scores", "errors")
_FACTS = ("claim", "largest privacy loss certified", "false accusation", "draws", "pairs tried")
_MOST_RELEASES = 6  # in a cell; the page has more
_MAX_REASON = 600


def notebook_cell(audit: Audit) -> str:
    """The cell of an audit; without the extra `report` the audit's text."""
    return _cell(audit, _of_audit)


def inside_cell(found: InsideAudit) -> str:
    """The cell of an audit inside; without the extra `report` its text."""
    return _cell(found, _of_inside)


def _cell(result: Any, values: Callable[[Any], dict[str, Any]]) -> str:
    try:
        return rendered("cell", verdict=result.verdict.value, **values(result))
    except ImportError:
        return f"<pre>{escape(str(result))}</pre>"


def _of_audit(audit: Audit) -> dict[str, Any]:
    page = page_of(audit)
    found = page["found"][0] if page["found"] else None
    drawn = [kind for kind in figures.kinds_of(audit) if kind.name in _FIGURES]
    both = "The strongest pair, A and B, record by record"
    return {
        "finding": page["finding"],
        "meaning": page["meaning"],
        "facts": [fact for fact in page["facts"] if fact[0] in _FACTS],
        "pair": page["strongest"] if found is None else found["rows"],
        "pair_is": both if found is None else "The two datasets, A and B, record by record",
        "event": "" if found is None else found["event"],
        "likelier": "" if found is None else found["likelier"],
        "sentences": page["notes"] if found is None else found["sentences"],
        "releases": [],
        "figures": [figure_on_page(audit, kind) for kind in drawn],
    }


def _of_inside(found: InsideAudit) -> dict[str, Any]:
    releases = () if found.worst is None else found.worst.releases
    shown, left_out = shown_releases(releases, most=_MOST_RELEASES)
    reason = f"Reason: {one_line(found.reason, _MAX_REASON)}." if found.reason else ""
    differs = "" if found.worst is None else found.worst.differs or ""
    otherwise = f"The replay did otherwise: {differs}." if differs else ""
    return {
        "finding": f"{found.name}, claimed {found.claim}: {evidence(found)}.",
        "meaning": MEANINGS[found.verdict.value],
        "facts": [
            ("claim", one_line(str(found.claim), 120)),
            ("largest loss of a transcript", largest(found.worst).removeprefix("largest loss ")),
            ("transcripts", f"{found.transcripts:,}"),
            ("pairs tried", f"{found.pairs_tried:,}"),
        ],
        "pair": [] if found.pair is None else compared(found.pair),
        "pair_is": "The two datasets, A and B, record by record",
        "event": "",
        "likelier": "",
        "sentences": [said for said in (left_out, likelihood(found), otherwise, reason) if said],
        "releases": shown,
        "figures": [figure_on_page(found, RELEASES)] if len(releases) > 1 else [],
    }
