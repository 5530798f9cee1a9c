"""The page of an audit inside: the verdict, the pair, every release, and what that does not say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpaudit.report.figures.releases import RELEASES
from dpaudit.report.inside import (
    ASSUMED,
    LIMITS,
    MEANINGS,
    REVEALED,
    evidence,
    largest,
    likelihood,
)
from dpaudit.report.methods import methods_inside, prose
from dpaudit.report.plain import (
    CLAIMED,
    FOUND,
    MEANS,
    MEANS_NOT,
    SURE,
    Answer,
    claim_in_words,
)
from dpaudit.report.provenance import provenance_facts
from dpaudit.report.releases import shown_releases
from dpaudit.report.rendering import figure_on_page, json_in_short, rendered
from dpaudit.report.showing import (
    chance_in_words,
    compared,
    count,
    duration,
    one_in,
    one_line,
    upper,
)
from dpaudit.report.terms import glossary_of
from dpaudit.report.tested import steps_inside, untested_inside
from dpaudit.report.wording import chance

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit

NOTATION_INSIDE = (
    "A loss is a logarithm, natural like all others here. $\\epsilon$ and $\\delta$ belong to the "
    "claim; $\\alpha$ is the chance of a false accusation that was accepted. dpaudit's "
    "documentation says more (The releases inside of code)."
)
ROUNDED = "Losses are rounded towards 0: what is printed is never more than what was found."
_MEANS = {
    "broken inside": (
        "Whoever sees all that the code releases on the way learns more than the claim allows.",
        "Not that the output shows it: what is released on the way may be thrown away later. "
        "confirm() asks that.",
    ),
    "not refuted": (
        "These runs gave no reason to doubt the claim.",
        "This is not a proof of privacy: other pairs, or rarer outputs, may still break it.",
    ),
    "undecided": (
        "There is no conclusion, in either direction.",
        "It is no weak form of another verdict: nothing was concluded.",
    ),
    "cannot follow": (
        "This kind of audit does not fit the code as it is. One by outputs may: dpaudit.audit.",
        "It says nothing about the claim, neither good nor bad.",
    ),
}
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
    steps, untested = steps_inside(found), untested_inside(LIMITS)
    page = {
        **_page_of(found),
        "kind": "Privacy audit, inside of the code",
        "verdict": found.verdict.value,
        "name": found.name,
        "claim": str(found.claim),
        "summary": list(_summary(found)),
        "tested": steps,
        "untested": untested,
        "glossary": glossary_of([*steps, *untested]),
        "notation": prose(NOTATION_INSIDE),
        "methods": [each.html for each in methods_inside(found)],
        "comes_from": list(provenance_facts(found, auditor=auditor, purpose=purpose)),
        "rounding": ROUNDED,
    }
    return rendered("inside", page=page, figures=figures, index=index)


def _summary(found: InsideAudit) -> Iterator[Answer]:
    """The summary for a reader who is no statistician."""
    promise = claim_in_words(found.claim)
    name = one_line(found.name, 60)
    yield CLAIMED, [f"That {name} keeps {one_line(str(found.claim), 60)}. {promise}"]
    yield FOUND, [_found(found)]
    yield SURE, [_sure(found)]
    meaning, not_meaning = _MEANS[found.verdict.value]
    yield MEANS, [meaning]
    yield MEANS_NOT, [not_meaning]


def _found(found: InsideAudit) -> str:
    if found.verdict.value in ("undecided", "cannot follow"):
        return _capital(one_line(found.reason, 240))
    if not found.broken:
        times = count(found.transcripts, "run")
        return f"Of {times} of the code that were recorded, none broke the claim."
    if not _by_bets(found):
        likely = likelihood(found)
        return f"In one run of the code: {likely}" if likely else f"{_capital(evidence(found))}."
    return (
        f"The losses of {count(found.transcripts, 'run')} of the code are more than the claim "
        f"allows on average: evidence of {one_in(found.log_wealth)}."
    )


def _by_bets(found: InsideAudit) -> bool:
    """Whether many losses broke the claim, and not a single one."""
    return found.log_wealth != 0.0 and not math.isinf(found.log_wealth)


def _finding(found: InsideAudit) -> str:
    is_bet = found.broken and _by_bets(found)
    said = f"evidence {one_in(found.log_wealth)}" if is_bet else evidence(found)
    return f"{found.name}, claimed {found.claim}: {said}."


def _sure(found: InsideAudit) -> str:
    if not found.broken:
        return (
            "Finding nothing proves nothing. The losses that were seen are exact, up to rounding."
        )
    if not _by_bets(found):
        return (
            "There is no chance in it: the loss is computed from the noise that the code asked "
            "for, and the claim rules it out."
        )
    return f"{chance('an audit', found.alpha).removesuffix('.')}: {chance_in_words(found.alpha)}."


def _page_of(found: InsideAudit) -> dict[str, Any]:
    """The texts of the page that do not stand in the result itself."""
    releases, left_out = ([], "") if found.worst is None else shown_releases(found.worst.releases)
    raw, whole = json_in_short(found.to_json())
    pair = found.pair
    return {
        "finding": _finding(found),
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
        "replay": "\n".join(_repeat(found)),
        "raw": raw,
        "raw_is_whole": whole,
    }


def _facts(found: InsideAudit) -> Iterator[tuple[str, str]]:
    yield "claim", one_line(str(found.claim), _MAX_NAME)
    yield "largest loss of a transcript", largest(found.worst).removeprefix("largest loss ")
    if found.log_wealth != 0.0:
        yield "evidence against the claim", one_in(found.log_wealth)
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
    yield "dpaudit", found.version
    yield from found.software


def _repeat(found: InsideAudit) -> Iterator[str]:
    yield f"# The same call with rng={found.rng_seed} makes the same transcripts again."
    if found.pair is None:
        return
    yield '# Saved with found.save("inside.json"), the black box is asked about this pair:'
    yield from ("import dpaudit", "", 'found = dpaudit.load("inside.json")')
    yield "print(found.confirm(mechanism=...))"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
