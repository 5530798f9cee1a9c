"""Audits as HTML: one page that needs nothing else, a folder of pages, a cell of a notebook."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpaudit.report import figures
from dpaudit.report.figures.canvas import as_svg, needed
from dpaudit.report.files import write_whole
from dpaudit.report.page import page_of
from dpaudit.report.showing import count, duration, one_line
from dpaudit.report.wording import least_leak

if TYPE_CHECKING:
    from dpaudit.results import Audit

INDEX = "index.html"
VERDICTS = ("refuted", "not refuted", "undecided")


def write_report(audit: Audit, path: str | os.PathLike[str]) -> Path:
    """Write an audit as one self-contained page, whole or not at all; return its path."""
    write_whole(path, report_page(audit))
    return Path(path)


def write_suite(audits: Iterable[Audit], folder: str | os.PathLike[str]) -> Path:
    """Write a page for each audit into a folder, with an index of them; return the index's path.

    The folder is made if need be. Pages of an earlier suite of the same audits are replaced.
    """
    home, entries = Path(folder), []
    home.mkdir(parents=True, exist_ok=True)
    for number, audit in enumerate(audits, 1):
        name = f"{number:03d}-{_slug(audit.mechanism)}.html"
        write_whole(home / name, report_page(audit, index=INDEX))
        entries.append((name, audit))
    write_whole(home / INDEX, _index_page(entries))
    return home / INDEX


def report_page(audit: Audit, *, index: str | None = None) -> str:
    """The page of an audit; with a link to `index`, if it is one of many."""
    drawn = [_drawn(audit, kind) for kind in figures.kinds_of(audit)]
    kept = "" if figures.outlines(audit) else figures.NO_OUTPUTS
    page = _template("report.html.jinja")
    return str(page.render(page=page_of(audit), figures=drawn, kept=kept, index=index))


def notebook_cell(audit: Audit) -> str:
    """The audit as a notebook shows it: verdict, pair, event and two figures.

    Without the extra `report` it is the text of the audit.
    """
    try:
        kinds = [kind for kind in figures.kinds_of(audit) if kind.name in ("outputs", "curve")]
        drawn = [_drawn(audit, kind) for kind in kinds]
        return str(_template("cell.html.jinja").render(page=page_of(audit), figures=drawn))
    except ImportError:
        return f"<pre>{escape(str(audit))}</pre>"


def _drawn(audit: Audit, kind: figures.FigureKind) -> dict[str, Any]:
    """A figure on a page: its title, the SVG (with its alternative text) and how to read it."""
    svg = as_svg(kind.draw(audit), name=kind.name, alt=kind.alt(audit))
    other = "" if audit.counterexample is not None else kind.caption_without_event
    markup = needed("markupsafe").Markup(svg)
    return {"title": kind.title, "svg": markup, "caption": other or kind.caption}


def _index_page(entries: list[tuple[str, Audit]]) -> str:
    rows = [
        {
            "link": name,
            "mechanism": one_line(audit.mechanism, 80),
            "claim": one_line(str(audit.claim), 60),
            "verdict": audit.verdict.value,
            "certified": least_leak(audit) or "nothing",
            "draws": f"{audit.samples:,}",
            "seconds": duration(audit.seconds),
        }
        for name, audit in entries
    ]
    verdicts = [audit.verdict.value for _, audit in entries]
    said = ", ".join(f"{verdicts.count(verdict):,} {verdict}" for verdict in VERDICTS)
    summary = f"{count(len(entries), 'audit')}: {said}."
    return str(_template("suite.html.jinja").render(rows=rows, summary=summary))


def _template(name: str) -> Any:
    jinja2 = needed("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dpaudit", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _slug(name: str) -> str:
    """A name that any file system takes.

    >>> _slug("<b>My mechanism</b>"), _slug("…")
    ('b-my-mechanism-b', 'audit')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "audit"
