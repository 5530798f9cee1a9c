"""Audits as HTML: one page that needs nothing else, and a folder of pages."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dpaudit.neighbours import NO_DATASETS
from dpaudit.report import figures, training, wording
from dpaudit.report.code import event_code
from dpaudit.report.files import refuse_special_file, write_whole
from dpaudit.report.inside import is_inside, largest
from dpaudit.report.inside_pages import inside_page
from dpaudit.report.methods import methods_of, notation_of
from dpaudit.report.plain import SUITE, lead_of, summary_of, undecided_in_plain_words
from dpaudit.report.printing import as_pdf, find_browser
from dpaudit.report.provenance import provenance_facts
from dpaudit.report.rendering import figure_on_page, json_in_short, rendered
from dpaudit.report.showing import (
    compared,
    count,
    dataset,
    duration,
    one_in,
    one_line,
    upper,
    wealth_in_words,
)
from dpaudit.report.terms import glossary_of
from dpaudit.report.tested import steps_of, untested_by

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit, Counterexample, PairRecord

EVIDENCE = "evidence against the claim"
FALSE_ACCUSATION = (
    "Each audit accuses a claim that holds with a small probability. That any of these audits does "
    "is at most as likely as all of that added up:"
)
UNPROVED = "Audits by testers that can only suspect are left out: no such chance is proved of them."
SUITE_UNTESTED = (
    "What the audits did not look at stands on each page: other datasets, other versions of the "
    "code, whatever is not an output, and what several outputs reveal together."
)
ROUNDED = "Bounds are rounded to the safe side: what is printed is never more than what was proved."
PDF = ".pdf"
_INDEX = "index.html"
_MAX_NAME = 120
_MAX_TRIED = 8  # pairs of the search in the table
_MAX_WARNINGS = 20
_MAX_HISTORY = 50  # pairs of the history in the JSON; more take long to write


def write_report(
    audit: Audit | InsideAudit,
    path: str | os.PathLike[str],
    *,
    auditor: str | None = None,
    purpose: str | None = None,
) -> Path:
    """Write an audit as one self-contained page, whole or not at all; return its path.

    A name that ends in `.pdf` is printed by a Chromium or Chrome on the path; `CannotPrint` without
    one.
    """
    is_pdf = Path(path).suffix.lower() == PDF
    if is_pdf:  # before the page is made, which takes a second
        refuse_special_file(path)
        find_browser()
    page = page_text(audit, auditor=auditor, purpose=purpose)
    write_whole(path, as_pdf(page, beside=path) if is_pdf else page)
    return Path(path)


def write_suite(
    audits: Iterable[Audit | InsideAudit],
    folder: str | os.PathLike[str],
    *,
    names: Sequence[str] = (),
    auditor: str | None = None,
    purpose: str | None = None,
) -> Path:
    """Write a page for each audit into a folder, with an index of them; return the index's path.

    The folder is made if need be. Pages of an earlier suite of the same audits are replaced.
    `names` are those of the pages, without their ending; they are numbered if there are none.
    """
    home, entries = Path(folder), []
    home.mkdir(parents=True, exist_ok=True)
    for number, audit in enumerate(audits, 1):
        row = _suite_row(audit)
        name = names[number - 1] if names else f"{number:03d}-{_slug(row['mechanism'])}"
        name = f"{name}.html"
        write_whole(home / name, page_text(audit, index=_INDEX, auditor=auditor, purpose=purpose))
        entries.append({"link": name, **row})
    write_whole(home / _INDEX, rendered("suite", entries=entries, **_suite_words(entries)))
    return home / _INDEX


_COUNTED = ("refuted", "not refuted", "undecided")  # also where there are none


def _suite_words(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The sentences on the index of a suite."""
    verdicts = Counter(entry["verdict"] for entry in entries)
    known = {**dict.fromkeys(_COUNTED, 0), **verdicts}
    said = ", ".join(f"{times:,} {verdict}" for verdict, times in known.items())
    proved = [entry["alpha"] for entry in entries if entry["alpha"] is not None]
    alphas = math.fsum(proved)
    together = upper(alphas) if 0.0 < alphas < 1.0 else ""
    unproved = f" {UNPROVED}" if len(proved) < len(entries) else ""
    return {
        "summary": f"{count(len(entries), 'audit')}: {said}.",
        "together": f"{FALSE_ACCUSATION} {together}.{unproved}" if together else "",
        "verdicts": [(verdict, SUITE[verdict]) for verdict in known if verdict in verdicts],
        "untested": SUITE_UNTESTED,
    }


def page_text(
    audit: Audit | InsideAudit,
    *,
    index: str | None = None,
    auditor: str | None = None,
    purpose: str | None = None,
) -> str:
    """The page of an audit of either kind; with a link to `index`, if it is one of many."""
    if is_inside(audit):
        return inside_page(audit, index=index, auditor=auditor, purpose=purpose)
    return report_page(cast("Audit", audit), index=index, auditor=auditor, purpose=purpose)


def _suite_row(audit: Audit | InsideAudit) -> dict[str, Any]:
    """What the index of a suite says of an audit."""
    row: dict[str, Any] = {"claim": str(audit.claim), "verdict": audit.verdict.value}
    row |= {"time": duration(audit.seconds), "alpha": audit.alpha}
    if is_inside(audit):
        leak, draws = largest(audit.worst), count(audit.transcripts, "transcript")
        return {**row, "mechanism": audit.name, "leak": leak, "draws": draws}
    by_draws = cast("Audit", audit)
    leak, draws = wording.least_leak(by_draws) or "nothing", f"{by_draws.samples:,}"
    if by_draws.method is not None and not by_draws.method.refutes:
        row["alpha"] = None
    return {**row, "mechanism": by_draws.mechanism, "leak": leak, "draws": draws}


def report_page(
    audit: Audit,
    *,
    index: str | None = None,
    auditor: str | None = None,
    purpose: str | None = None,
) -> str:
    """The page of an audit; with a link to `index`, if it is one of many."""
    drawn = [figure_on_page(audit, kind) for kind in figures.kinds_of(audit)]
    kept = "" if figures.outlines(audit) else figures.NO_OUTPUTS
    steps, untested = steps_of(audit), untested_by(audit)
    page = {
        **page_of(audit),
        "kind": "Privacy audit",
        "verdict": audit.verdict.value,
        "name": audit.mechanism,
        "claim": str(audit.claim),
        "summary": summary_of(audit),
        "tested": steps,
        "untested": untested,
        "glossary": glossary_of([*steps, *untested]),
        "notation": notation_of(audit),
        "methods": [each.html for each in methods_of(audit)],
        "comes_from": list(provenance_facts(audit, auditor=auditor, purpose=purpose)),
        "rounding": ROUNDED,
    }
    return rendered("report", audit=audit, page=page, figures=drawn, kept=kept, index=index)


def _slug(name: str) -> str:
    """A name that any file system takes.

    >>> _slug("<b>My mechanism</b>"), _slug("…")
    ('b-my-mechanism-b', 'audit')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "audit"


def page_of(audit: Audit) -> dict[str, Any]:
    """The texts of an audit's page that do not stand in the audit itself."""
    raw, whole = _raw_json(audit)
    strongest = audit.strongest if audit.counterexample is None else None
    return {
        "finding": f"{wording.finding(audit)}.".replace(">=", "≥"),
        "meaning": lead_of(audit),
        "facts": list(_facts(audit)),
        "notes": list(_notes(audit)),
        "warnings": list(_warnings(audit)),
        "found": list(_found(audit)),
        "strongest": [] if strongest is None else compared(strongest.pair),
        "searched": list(_searched(audit)),
        "training": [] if audit.training is None else training.found_under(audit),
        "tried": tried_pairs(audit),
        "tried_caption": _tried_caption(audit),
        "detectable": wording.detectable(audit),
        "cost": list(_cost(audit)),
        "replay": "\n".join(_replay(audit)),
        "raw": raw,
        "raw_is_whole": whole,
    }


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    yield "claim", one_line(str(audit.claim), _MAX_NAME)
    yield "largest privacy loss certified", wording.least_leak(audit) or "nothing"
    yield "false accusation", wording.false_accusation(audit)
    if audit.training is not None:
        yield "tested", audit.training.null.value
        yield EVIDENCE, one_in(audit.training.deciding.log_evidence)
        yield "canaries", f"{audit.samples:,}"
        return
    if audit.tester == wording.BETS:
        yield EVIDENCE, one_in(audit.evidence.log_wealth)
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
        case "suspected":
            yield from wording.suspicion(audit)
        case "undecided":
            yield from undecided_in_plain_words(audit)


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
    yield "tester", wording.tester(audit)
    if assumed := wording.assumptions(audit):
        yield "assumes", assumed
    if audit.floats == "bits":
        yield "floats", wording.BITS


def tried_pairs(audit: Audit) -> list[dict[str, Any]]:
    """The strongest pair, then those on which most was won; without bets in their order."""
    strongest = figures.place_of_strongest(audit)
    bets = audit.tester == wording.BETS

    def rank(entry: tuple[int, PairRecord]) -> tuple[bool, float, int]:
        number, record = entry
        earned = round(record.log_wealth, 3) if bets else 0.0
        return number != strongest, -earned, -record.samples

    return [
        {
            "number": f"{number:,}",
            "is_strongest": number == strongest,
            "data": dataset(record.pair.data, 80),
            "neighbour": dataset(record.pair.neighbour, 80),
            "draws": f"{record.samples:,}",
            "wealth": wealth_in_words(record.log_wealth) if bets else "",
        }
        for number, record in sorted(enumerate(audit.history, 1), key=rank)[:_MAX_TRIED]
    ]


def _tried_caption(audit: Audit) -> str:
    if len(audit.history) <= _MAX_TRIED:
        return "All pairs"
    is_there = figures.place_of_strongest(audit) is not None
    strongest = "The strongest pair, and " if is_there else ""
    which = "on which most was won" if audit.tester == wording.BETS else "that were tried first"
    words = f"{strongest}those {which}: {_MAX_TRIED} of {len(audit.history):,}"
    return words[0].upper() + words[1:]


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
    """The JSON of an audit, and whether it is whole."""
    saved = replace(audit, history=audit.history[:_MAX_HISTORY]).to_json()
    text, whole = json_in_short(saved)
    return text, whole and len(audit.history) <= _MAX_HISTORY
