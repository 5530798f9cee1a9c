"""Audits as HTML: one page that needs nothing else, a folder of pages, a cell of a notebook."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpaudit.report.extra import needed
from dpaudit.report.figures import curve, evidence, outputs, search, trade_off
from dpaudit.report.figures.canvas import as_svg
from dpaudit.report.files import write_whole
from dpaudit.report.page import certified, page_of
from dpaudit.report.showing import count, duration, one_line

if TYPE_CHECKING:
    from dpaudit.results import Audit

INDEX = "index.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A figure on a page: its title, the SVG (with its alternative text) and how to read it."""

    title: str
    svg: Any  # markup
    caption: str


VERDICTS = ("refuted", "not refuted", "undecided")


def write_report(audit: Audit, path: str | os.PathLike[str]) -> Path:
    """Write an audit as one self-contained page, whole or not at all; the path comes back."""
    write_whole(path, report_page(audit))
    return Path(path)


def write_suite(audits: Iterable[Audit], folder: str | os.PathLike[str]) -> Path:
    """Write a page for each audit into a folder, and an index of them, whose path comes back.

    The folder is made if it is not there. Pages of an earlier suite of as many audits are replaced.
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
    rendered = _template("report.html.jinja").render(
        page=page_of(audit), figures=list(_figures(audit)), kept=_kept(audit), index=index
    )
    return str(rendered)


def notebook_cell(audit: Audit) -> str:
    """The audit as a notebook shows it: verdict, pair, event and two figures.

    Without the extra `report` it is the text of the audit.
    """
    try:
        shown = [one for one in _figures(audit) if one.title in (outputs.TITLE, curve.TITLE)]
        return str(_template("cell.html.jinja").render(page=page_of(audit), figures=shown))
    except ImportError:
        return f"<pre>{escape(str(audit))}</pre>"


def _figures(audit: Audit) -> Iterator[Drawn]:
    """The figures of a page: those that the audit has something to show in."""
    markup = needed("markupsafe").Markup
    event = audit.counterexample is not None
    parts: list[tuple[Any, str]] = []
    if outputs.outlines(audit):
        parts.append((outputs, outputs.CAPTION if event else outputs.CAPTION_WITHOUT_EVENT))
    parts.append((curve, curve.CAPTION if event else curve.CAPTION_WITHOUT_EVENT))
    parts.append((trade_off, trade_off.CAPTION if event else trade_off.CAPTION_WITHOUT_EVENT))
    parts.append((evidence, evidence.CAPTION))
    if len(audit.history) > 1:
        parts.append((search, search.CAPTION))
    for part, caption in parts:
        name = part.__name__.rpartition(".")[2].replace("_", "-")
        svg = as_svg(part.draw(audit), name=name, alt=part.alt(audit))
        yield Drawn(title=part.TITLE, svg=markup(svg), caption=caption)


def _kept(audit: Audit) -> str:
    """What to say where no outputs can be drawn."""
    return "" if outputs.outlines(audit) else outputs.NOT_KEPT


def _index_page(entries: list[tuple[str, Audit]]) -> str:
    rows = [
        {
            "link": name,
            "mechanism": one_line(audit.mechanism, 80),
            "claim": one_line(str(audit.claim), 60),
            "verdict": audit.verdict.value,
            "certified": certified(audit),
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
