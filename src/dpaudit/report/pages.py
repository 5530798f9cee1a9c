"""Audits as HTML: one page that needs nothing else, a folder of pages, a cell of a notebook."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpaudit.neighbours import NO_DATASETS
from dpaudit.report import figures, training, wording
from dpaudit.report.code import event_code
from dpaudit.report.figures.canvas import as_svg, needed
from dpaudit.report.files import write_whole
from dpaudit.report.showing import compared, count, dataset, duration, one_line, upper

if TYPE_CHECKING:
    from dpaudit.results import Audit, Counterexample

_MAX_JSON = 40_000  # characters of the JSON on a page
_INDEX = "index.html"
_VERDICTS = {
    "refuted": "The claim does not hold.",
    "not refuted": "Nothing was found that breaks the claim. This is not a proof that it holds.",
    "undecided": "The evidence is not enough for a verdict.",
}
_MAX_NAME = 120
_MAX_TRIED = 8  # pairs of the search in the table
_MAX_WARNINGS = 20
_MAX_HISTORY = 50  # pairs of the history in the JSON; more take long to write
_MAX_ENTRIES = (200, 60, 20, 8, 2)  # of a list in the JSON, tried one after the other
_MAX_TEXT = 2_000  # characters of a text in the JSON


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
        write_whole(home / name, report_page(audit, index=_INDEX))
        entries.append((name, audit))
    verdicts = [audit.verdict.value for _, audit in entries]
    said = ", ".join(f"{verdicts.count(verdict):,} {verdict}" for verdict in _VERDICTS)
    summary = f"{count(len(entries), 'audit')}: {said}."
    write_whole(home / _INDEX, _rendered("suite", entries=entries, summary=summary))
    return home / _INDEX


def report_page(audit: Audit, *, index: str | None = None) -> str:
    """The page of an audit; with a link to `index`, if it is one of many."""
    drawn = [_drawn(audit, kind) for kind in figures.kinds_of(audit)]
    kept = "" if figures.outlines(audit) else figures.NO_OUTPUTS
    page = page_of(audit)
    return _rendered("report", audit=audit, page=page, figures=drawn, kept=kept, index=index)


def notebook_cell(audit: Audit) -> str:
    """The verdict, pair, event and two figures; without the extra `report` the audit's text."""
    try:
        kinds = [kind for kind in figures.kinds_of(audit) if kind.name in ("outputs", "curve")]
        drawn = [_drawn(audit, kind) for kind in kinds]
        return _rendered("cell", audit=audit, page=page_of(audit), figures=drawn)
    except ImportError:
        return f"<pre>{escape(str(audit))}</pre>"


def _drawn(audit: Audit, kind: figures.FigureKind) -> dict[str, Any]:
    """A figure on a page: its title, the SVG (with its alternative text) and how to read it."""
    svg = as_svg(kind.draw(audit), name=kind.name, alt=kind.alt(audit))
    other = "" if audit.counterexample is not None else kind.caption_without_event
    markup = needed("markupsafe").Markup(svg)
    return {"title": kind.title, "svg": markup, "caption": other or kind.caption}


def _rendered(name: str, **values: Any) -> str:
    jinja2 = needed("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dpaudit", "report/templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for show in (dataset, duration, one_line, wording.least_leak):
        environment.filters[show.__name__] = show
    return str(environment.get_template(f"{name}.html.jinja").render(**values))


def _slug(name: str) -> str:
    """A name that any file system takes.

    >>> _slug("<b>My mechanism</b>"), _slug("…")
    ('b-my-mechanism-b', 'audit')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "audit"


def page_of(audit: Audit) -> dict[str, Any]:
    """The texts of an audit's page that do not stand in the audit itself."""
    raw, whole = _raw_json(audit)
    best = sorted(enumerate(audit.history, 1), key=lambda entry: -entry[1].log_wealth)
    strongest = audit.strongest if audit.counterexample is None else None
    return {
        "finding": f"{wording.finding(audit)}.".replace(">=", "≥"),
        "meaning": _VERDICTS[audit.verdict.value],
        "facts": list(_facts(audit)),
        "notes": list(_notes(audit)),
        "warnings": list(_warnings(audit)),
        "found": list(_found(audit)),
        "strongest": [] if strongest is None else compared(strongest.pair),
        "searched": list(_searched(audit)),
        "training": [] if audit.training is None else training.found_under(audit),
        "tried": best[:_MAX_TRIED],
        "detectable": wording.detectable(audit),
        "cost": list(_cost(audit)),
        "replay": "\n".join(_replay(audit)),
        "raw": raw,
        "raw_is_whole": whole,
    }


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    yield "claim", one_line(str(audit.claim), _MAX_NAME)
    yield "largest privacy loss certified", wording.least_leak(audit) or "nothing"
    yield "false accusation", f"at most {upper(audit.alpha)}"
    if audit.training is not None:
        yield "tested", audit.training.null.value
        yield "p-value", f"at most {upper(audit.evidence.p_value)}"
        yield "canaries", f"{audit.samples:,}"
        return
    yield "e-value", wording.e_value(audit)
    yield "draws", f"{audit.samples:,}"
    yield "pairs tried", f"{audit.pairs_tried:,}"


def _notes(audit: Audit) -> Iterator[str]:
    if audit.interrupted:
        yield wording.INTERRUPTED
    if audit.training is not None:
        yield training.meaning_of(audit.training)
    match audit.verdict.value:
        case "refuted":
            if audit.counterexample is None and audit.training is None:
                yield wording.NO_EVENT
            yield wording.chance("an audit", audit.alpha)
        case "not refuted":
            yield wording.CAUTION if audit.training is None else training.CAUTION
            if audit.training is None and (leaks := wording.leaks(audit)):
                yield f"Certified: {leaks}. No smaller {audit.symbol} holds."
        case "undecided":
            yield from wording.undecided(audit)


def _warnings(audit: Audit) -> Iterator[str]:
    yield from (one_line(warning, 600) for warning in audit.warnings[:_MAX_WARNINGS])
    if (more := len(audit.warnings) - _MAX_WARNINGS) > 0:
        yield f"And {count(more, 'more warning')}."


def _found(audit: Audit) -> Iterator[dict[str, Any]]:
    if audit.counterexample is not None:
        sentences = wording.against(audit.claim, audit.counterexample)
        yield _shown("The counterexample", audit.counterexample, sentences)
    if audit.simplest is not None:
        found = audit.simplest
        draws = count(found.data.draws, "fresh draw")
        sentence = f"This event alone shows, on {draws} each: {wording.shows(audit.claim, found)}."
        sentences = (sentence, wording.together(audit))
        yield _shown("The simplest pair that still breaks the claim", found, sentences)


def _shown(heading: str, found: Counterexample, sentences: tuple[str, ...]) -> dict[str, Any]:
    return {
        "heading": heading,
        "rows": compared(found.pair),
        "event": one_line(found.event, 400),
        "likelier": wording.LETTERS[found.likelier],
        "code": None if found.rule is None else event_code(found.rule),
        "sides": wording.sides(found),
        "sentences": (*sentences, *wording.floating(found)),
    }


def _searched(audit: Audit) -> Iterator[tuple[str, str]]:
    if audit.neighbours:
        yield "neighbours", one_line(audit.neighbours, 400)
    if audit.training is not None:
        yield "canaries", training.canaries_in_words(audit.training)
        if separations := training.separations_in_words(audit.training):
            yield "scores", separations
        if detectable := training.detectable_in_words(audit.training):
            yield "detectable", detectable
        return
    yield "pairs tried", f"{audit.pairs_tried:,}"
    yield "tester", one_line(audit.tester, _MAX_NAME)
    if audit.floats == "bits":
        yield "floats", wording.BITS


def _cost(audit: Audit) -> Iterator[tuple[str, str]]:
    if audit.training is None:
        yield "draws", f"{audit.samples:,}"
    else:
        yield "trainings", f"{audit.training.runs:,}"
    if audit.training is None or audit.seconds > 0.0:
        yield "time", duration(audit.seconds)
    yield "seed", str(audit.rng_seed)
    if audit.counterexample is not None and audit.counterexample.seed:
        yield "seed of the event's draws", str(audit.counterexample.seed)
    if audit.target is not None:
        yield "mechanism", one_line(audit.target, 200)
    yield "dpaudit", audit.version
    yield from audit.software


def _replay(audit: Audit) -> Iterator[str]:
    yield f"# The same call with rng={audit.rng_seed} makes the same audit again."
    found = audit.counterexample
    if found is None or found.rule is None or found.pair == NO_DATASETS:
        return  # there is nothing to draw from again
    yield '# Saved with audit.save("audit.json"), its event is counted again on fresh draws:'
    if audit.target is not None:
        yield "dpaudit replay audit.json"
        return
    yield from ("import dpaudit", "", 'audit = dpaudit.load("audit.json")')
    yield "again = dpaudit.replay(audit.counterexample, mechanism, audit.claim)"
    yield "print(again.breaks(audit.claim))"


def _raw_json(audit: Audit) -> tuple[str, bool]:
    """The JSON of an audit, and whether it is whole: long lists are cut."""
    saved = replace(audit, history=audit.history[:_MAX_HISTORY]).to_json()
    text, whole = _json_text(saved), len(audit.history) <= _MAX_HISTORY
    for most in _MAX_ENTRIES:
        if len(text) > _MAX_JSON:
            text, whole = _json_text(_cut(saved, most)), False
    return text[:_MAX_JSON], whole


def _cut(value: Any, most: int) -> Any:
    """The value with at most `most` entries in each list, and no endless text.

    >>> _cut({"draws": list(range(9))}, 2)
    {'draws': [0, 1, '... 7 more ...']}
    """
    if isinstance(value, dict):
        return {name: _cut(entry, most) for name, entry in value.items()}
    if isinstance(value, list):
        more = len(value) - most
        short = [_cut(entry, most) for entry in value[:most]]
        return [*short, f"... {more:,} more ..."] if more > 0 else short
    too_long = isinstance(value, str) and len(value) > _MAX_TEXT
    return one_line(value, _MAX_TEXT) if too_long else value


def _json_text(saved: dict[str, Any]) -> str:
    """One line for each field, as in a saved file."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, sort_keys=True, ensure_ascii=False)}"
        for name, value in sorted(saved.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}"
