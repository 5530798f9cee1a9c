"""The page of an audit inside: the verdict, the pair, every release, and what that does not say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpaudit.report.figures.releases import RELEASES
from dpaudit.report.inside import (
    ASSUMED,
    LIMITS,
    MEANINGS,
    REVEALED,
    e_value,
    evidence,
    largest,
    likelihood,
)
from dpaudit.report.provenance import provenance_facts
from dpaudit.report.releases import shown_releases
from dpaudit.report.rendering import figure_on_page, json_in_short, rendered
from dpaudit.report.showing import compared, duration, one_line, upper

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit

_MAX_NAME = 120
_MAX_REASON = 2_000


def inside_page(
    found: InsideAudit,
    *,
    index: str | None = None,
    auditor: str | None = None,
    purpose: str | None = None,
) -> str:
    """The page of an audit inside; with a link to `index`, if it is one of many."""
    worst = found.worst
    figures = [] if worst is None or not worst.releases else [figure_on_page(found, RELEASES)]
    comes_from = list(provenance_facts(found, auditor=auditor, purpose=purpose))
    page = {**_page_of(found), "comes_from": comes_from}
    return rendered("inside", found=found, page=page, figures=figures, index=index, limits=LIMITS)


def _page_of(found: InsideAudit) -> dict[str, Any]:
    """The texts of the page that do not stand in the result itself."""
    releases, left_out = ([], "") if found.worst is None else shown_releases(found.worst.releases)
    raw, whole = json_in_short(found.to_json())
    pair = found.pair
    return {
        "finding": f"{found.name}, claimed {found.claim}: {evidence(found)}.",
        "meaning": MEANINGS[found.verdict.value],
        "reason": one_line(found.reason, _MAX_REASON),
        "facts": list(_facts(found)),
        "pair": [] if pair is None else compared(pair),
        "releases": releases,
        "left_out": left_out,
        "differs": "" if found.worst is None else found.worst.differs or "",
        "likelihood": likelihood(found),
        "looked_at": list(_looked_at(found)),
        "cost": list(_cost(found)),
        "repeat": "\n".join(_repeat(found)),
        "raw": raw,
        "raw_is_whole": whole,
    }


def _facts(found: InsideAudit) -> Iterator[tuple[str, str]]:
    yield "claim", one_line(str(found.claim), _MAX_NAME)
    yield "largest loss of a transcript", largest(found.worst).removeprefix("largest loss ")
    if found.log_wealth != 0.0:
        yield "e-value", e_value(found)
    yield "false accusation", _chance(found)
    yield "transcripts", f"{found.transcripts:,}"
    yield "pairs", f"{found.pairs_tried:,}"


def _chance(found: InsideAudit) -> str:
    single = found.broken and found.log_wealth == 0.0
    return "none: one loss decides" if single else f"at most {upper(found.alpha)}"


def _looked_at(found: InsideAudit) -> Iterator[tuple[str, str]]:
    yield "neighbours", one_line(found.neighbours, 400)
    yield "pairs tried", f"{found.pairs_tried:,}"
    yield "transcripts", f"{found.transcripts:,}, recorded on either side"
    yield "assumed", ASSUMED
    if found.reveal:
        yield "released", REVEALED


def _cost(found: InsideAudit) -> Iterator[tuple[str, str]]:
    yield "transcripts", f"{found.transcripts:,}"
    yield "time", duration(found.seconds)
    yield "seed", str(found.rng_seed)
    if found.target is not None:
        yield "mechanism", one_line(found.target, 200)
    yield "dpaudit", found.version
    yield from found.software


def _repeat(found: InsideAudit) -> Iterator[str]:
    yield f"# The same call with rng={found.rng_seed} makes the same transcripts again."
    if found.pair is None:
        return
    yield '# Saved with found.save("inside.json"), the black box is asked about this pair:'
    yield from ("import dpaudit", "", 'found = dpaudit.load("inside.json")')
    yield "print(found.confirm(mechanism=...))"
