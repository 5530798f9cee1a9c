"""What a page says of an audit: every text and table, before any of it is HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.neighbours import NO_DATASETS
from dpaudit.report import wording
from dpaudit.report.code import event_code
from dpaudit.report.pairs import Row, compared
from dpaudit.report.raw import raw_json
from dpaudit.report.showing import count, dataset, duration, one_line, upper

if TYPE_CHECKING:
    from dpaudit.results import Audit, Counterexample, PairRecord

Facts = tuple[tuple[str, str], ...]

_NAME = 120
_MOST_PAIRS = 8  # of the search, in the table
_MOST_WARNINGS = 20
_DATASET = 80
_NOT_SEARCHED = (
    "Pairs that were not tried, datasets outside of this relation, and whatever is not an output "
    "(running time, memory, logs) were not looked at."
)
_MEANING = {
    "refuted": "The claim does not hold.",
    "not refuted": "Nothing was found that breaks the claim. This is not a proof that it holds.",
    "undecided": "The evidence is not enough for a verdict.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often the event happened on one side, and the bound that counts."""

    side: str
    hits: str
    draws: str
    rate: str
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A counterexample as a page shows it."""

    heading: str
    rows: list[Row]
    event: str
    likelier: str
    code: str | None
    counts: tuple[Count, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One pair of the search."""

    number: str
    data: str
    neighbour: str
    draws: str
    earned: str
    growth: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All texts of one page."""

    mechanism: str
    claim: str
    verdict: str
    meaning: str
    finding: str
    facts: Facts
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    found: tuple[Shown, ...]
    strongest: list[Row]
    searched: Facts
    tried: tuple[Tried, ...]
    tried_heading: str
    not_searched: tuple[str, ...]
    cost: Facts
    replay: str
    raw: str
    raw_is_whole: bool


def page_of(audit: Audit) -> Page:
    """The texts of an audit's page."""
    raw, whole = raw_json(audit)
    tried = _tried(audit)
    best = f"The {len(tried)} that earned most" if len(tried) < len(audit.history) else "All pairs"
    return Page(
        mechanism=one_line(audit.mechanism, _NAME),
        claim=one_line(str(audit.claim), _NAME),
        verdict=audit.verdict.value,
        meaning=_MEANING[audit.verdict.value],
        finding=f"{_typeset(wording.finding(audit))}.",
        facts=tuple(_facts(audit)),
        notes=tuple(_notes(audit)),
        warnings=_warnings(audit),
        found=tuple(_found(audit)),
        strongest=_strongest(audit),
        searched=tuple(_searched(audit)),
        tried=tried,
        tried_heading=best,
        not_searched=tuple(_not_searched(audit)),
        cost=tuple(_cost(audit)),
        replay=_replay(audit),
        raw=raw,
        raw_is_whole=whole,
    )


def certified(audit: Audit) -> str:
    """The certified bound; a dash where the claim has no parameter or nothing was certified."""
    return _typeset(wording.certified(audit)) or "–"  # noqa: RUF001 -- a dash in a table


def _typeset(text: str) -> str:
    return text.replace(">=", "≥")


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    yield "claim", one_line(str(audit.claim), _NAME)
    yield "certified", certified(audit)
    yield "false accusation", f"at most {upper(audit.alpha)}"
    yield "e-value", wording.e_value(audit)
    yield "draws", f"{audit.samples:,}"
    yield "pairs tried", f"{audit.pairs_tried:,}"


def _notes(audit: Audit) -> Iterator[str]:
    if audit.interrupted:
        yield wording.INTERRUPTED
    match audit.verdict.value:
        case "refuted":
            if audit.counterexample is None:
                yield wording.NO_EVENT
            yield wording.chance("an audit", audit.alpha)
        case "not refuted":
            yield wording.CAUTION
            if wording.certified(audit):
                bound = _typeset(wording.certified(audit))
                yield f"Certified: {bound}. No smaller {audit.symbol} holds."
        case "undecided":
            yield from wording.undecided(audit)


def _warnings(audit: Audit) -> tuple[str, ...]:
    shown = tuple(one_line(warning, 600) for warning in audit.warnings[:_MOST_WARNINGS])
    more = len(audit.warnings) - _MOST_WARNINGS
    return (*shown, f"And {count(more, 'more warning')}.") if more > 0 else shown


def _found(audit: Audit) -> Iterator[Shown]:
    if audit.counterexample is not None:
        sentences = wording.against(audit.claim, audit.counterexample)
        yield _shown("The counterexample", audit.counterexample, sentences)
    if audit.simplest is not None:
        found = audit.simplest
        draws = count(found.data.draws, "fresh draw")
        sentence = f"This event alone shows {wording.shows(found)}, on {draws} of either side."
        sentences = (sentence, wording.together(audit))
        yield _shown("The simplest pair that still breaks the claim", found, sentences)


def _shown(heading: str, found: Counterexample, sentences: tuple[str, ...]) -> Shown:
    sides = (("data", found.data), ("neighbour", found.neighbour))
    return Shown(
        heading=heading,
        rows=compared(found.pair),
        event=one_line(found.event, 400),
        likelier=found.likelier,
        code=None if found.rule is None else event_code(found.rule),
        counts=tuple(
            Count(
                side=name,
                hits=f"{tally.hits:,}",
                draws=f"{tally.draws:,}",
                rate=f"{tally.rate:.4g}",
                bound=wording.bound(tally, at_least=name == found.likelier),
            )
            for name, tally in sides
        ),
        sentences=tuple(map(_typeset, (*sentences, *wording.floating(found)))),
    )


def _strongest(audit: Audit) -> list[Row]:
    if audit.counterexample is not None or audit.strongest is None:
        return []
    return compared(audit.strongest.pair)


def _searched(audit: Audit) -> Iterator[tuple[str, str]]:
    if audit.neighbours:
        yield "neighbours", one_line(audit.neighbours, 400)
    yield "pairs tried", f"{audit.pairs_tried:,}"
    yield "tester", one_line(audit.tester, _NAME)
    if audit.floats == "bits":
        yield "floats", wording.BITS


def _tried(audit: Audit) -> tuple[Tried, ...]:
    best = sorted(enumerate(audit.history, 1), key=lambda entry: -entry[1].log_wealth)
    return tuple(_one_tried(number, record) for number, record in best[:_MOST_PAIRS])


def _one_tried(number: int, record: PairRecord) -> Tried:
    return Tried(
        number=f"{number:,}",
        data=dataset(record.pair.data, _DATASET),
        neighbour=dataset(record.pair.neighbour, _DATASET),
        draws=f"{record.samples:,}",
        earned=f"{record.log_wealth:.3g}",
        growth=f"{record.growth:.2g}",
    )


def _not_searched(audit: Audit) -> Iterator[str]:
    yield _NOT_SEARCHED
    if audit.verdict.value == "refuted":
        return
    said = wording.detectable(audit)
    if said:
        yield f"What would have been detected: {said}."
    else:
        yield "There is no estimate of what would have been detected."


def _cost(audit: Audit) -> Iterator[tuple[str, str]]:
    yield "draws", f"{audit.samples:,}"
    yield "time", duration(audit.seconds)
    yield "seed", str(audit.rng_seed)
    found = audit.counterexample
    if found is not None and found.seed:
        yield "seed of the event's draws", str(found.seed)
    if audit.target is not None:
        yield "mechanism", one_line(audit.target, 200)
    yield "dpaudit", audit.version
    yield from audit.software


def _replay(audit: Audit) -> str:
    """How the audit, or its event, is made again."""
    lines = [f"# The same call with rng={audit.rng_seed} makes the same audit again."]
    found = audit.counterexample
    if (
        found is None or found.rule is None or found.pair == NO_DATASETS
    ):  # nothing to draw from again
        return lines[0]
    lines.append(
        '# Saved with audit.save("audit.json"), its event is counted again on fresh draws:'
    )
    if audit.target is not None:
        lines.append("dpaudit replay audit.json")
        return "\n".join(lines)
    lines += [
        "import dpaudit",
        "",
        'audit = dpaudit.load("audit.json")',
        "again = dpaudit.replay(audit.counterexample, mechanism, audit.claim)",
        "print(again.breaks(audit.claim))",
    ]
    return "\n".join(lines)
