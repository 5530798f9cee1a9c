"""What a page says of an audit: every text and table, before any of it is HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpaudit.neighbours import NO_DATASETS
from dpaudit.report import wording
from dpaudit.report.code import event_code
from dpaudit.report.pairs import ComparedRecord, compared
from dpaudit.report.showing import count, dataset, duration, one_line, upper

if TYPE_CHECKING:
    from dpaudit.results import Audit, Counterexample, PairRecord

Facts = tuple[tuple[str, str], ...]
Cells = tuple[str, ...]

MAX_JSON = 40_000  # characters of the JSON on a page
_MAX_NAME = 120
_MAX_TRIED = 8  # pairs of the search in the table
_MAX_WARNINGS = 20
_MAX_DATASET = 80
_MAX_HISTORY = 50  # pairs of the history in the JSON; more take long to write
_MAX_ENTRIES = (200, 60, 20, 8, 2)  # of a list in the JSON, tried one after the other
_MAX_TEXT = 2_000  # characters of a text in the JSON
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
class Shown:
    """A counterexample as a page shows it."""

    heading: str
    rows: list[ComparedRecord]
    event: str
    likelier: str
    code: str | None
    counts: list[Cells]  # A or B, hits, draws, share and the bound that counts
    sentences: tuple[str, ...]


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
    strongest: list[ComparedRecord]
    searched: Facts
    tried: list[Cells]  # number, A, B, draws, nats earned and nats a draw
    tried_heading: str
    not_searched: tuple[str, ...]
    cost: Facts
    replay: str
    raw: str
    raw_is_whole: bool


def page_of(audit: Audit) -> Page:
    """The texts of an audit's page."""
    raw, whole = raw_json(audit)
    best = sorted(enumerate(audit.history, 1), key=lambda entry: -entry[1].log_wealth)
    tried = [_tried(number, record) for number, record in best[:_MAX_TRIED]]
    some = f"The {len(tried)} that earned most" if len(tried) < len(best) else "All pairs"
    strongest = audit.strongest if audit.counterexample is None else None
    return Page(
        mechanism=one_line(audit.mechanism, _MAX_NAME),
        claim=one_line(str(audit.claim), _MAX_NAME),
        verdict=audit.verdict.value,
        meaning=_MEANING[audit.verdict.value],
        finding=f"{_typeset(wording.finding(audit))}.",
        facts=tuple(_facts(audit)),
        notes=tuple(_notes(audit)),
        warnings=_warnings(audit),
        found=tuple(_found(audit)),
        strongest=[] if strongest is None else compared(strongest.pair),
        searched=tuple(_searched(audit)),
        tried=tried,
        tried_heading=some,
        not_searched=tuple(_not_searched(audit)),
        cost=tuple(_cost(audit)),
        replay="\n".join(_replay(audit)),
        raw=raw,
        raw_is_whole=whole,
    )


def _typeset(text: str) -> str:
    return text.replace(">=", "≥")


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    yield "claim", one_line(str(audit.claim), _MAX_NAME)
    yield "largest privacy loss certified", wording.least_leak(audit) or "nothing"
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
            if leaks := wording.leaks(audit):
                yield f"Certified: {leaks}. No smaller {audit.symbol} holds."
        case "undecided":
            yield from wording.undecided(audit)


def _warnings(audit: Audit) -> tuple[str, ...]:
    shown = tuple(one_line(warning, 600) for warning in audit.warnings[:_MAX_WARNINGS])
    more = len(audit.warnings) - _MAX_WARNINGS
    return (*shown, f"And {count(more, 'more warning')}.") if more > 0 else shown


def _found(audit: Audit) -> Iterator[Shown]:
    if audit.counterexample is not None:
        sentences = wording.against(audit.claim, audit.counterexample)
        yield _shown("The counterexample", audit.counterexample, sentences)
    if audit.simplest is not None:
        found = audit.simplest
        draws = count(found.data.draws, "fresh draw")
        sentence = f"This event alone shows, on {draws} each: {wording.shows(found)}."
        sentences = (sentence, wording.together(audit))
        yield _shown("The simplest pair that still breaks the claim", found, sentences)


def _shown(heading: str, found: Counterexample, sentences: tuple[str, ...]) -> Shown:
    return Shown(
        heading=heading,
        rows=compared(found.pair),
        event=one_line(found.event, 400),
        likelier=wording.LETTERS[found.likelier],
        code=None if found.rule is None else event_code(found.rule),
        counts=[
            (letter, f"{tally.hits:,}", f"{tally.draws:,}", f"{tally.rate:.4g}", bound)
            for letter, tally, bound in wording.sides(found)
        ],
        sentences=(*sentences, *wording.floating(found)),
    )


def _searched(audit: Audit) -> Iterator[tuple[str, str]]:
    if audit.neighbours:
        yield "neighbours", one_line(audit.neighbours, 400)
    yield "pairs tried", f"{audit.pairs_tried:,}"
    yield "tester", one_line(audit.tester, _MAX_NAME)
    if audit.floats == "bits":
        yield "floats", wording.BITS


def _tried(number: int, record: PairRecord) -> Cells:
    sides = (dataset(side, _MAX_DATASET) for side in (record.pair.data, record.pair.neighbour))
    earned = f"{record.log_wealth:.3g}", f"{record.growth:.2g}"
    return (f"{number:,}", *sides, f"{record.samples:,}", *earned)


def _not_searched(audit: Audit) -> Iterator[str]:
    yield _NOT_SEARCHED
    if audit.refuted:
        return
    said = wording.detectable(audit)
    none = "There is no estimate of what would have been detected."
    yield f"What would have been detected: {said}." if said else none


def _cost(audit: Audit) -> Iterator[tuple[str, str]]:
    yield "draws", f"{audit.samples:,}"
    yield "time", duration(audit.seconds)
    yield "seed", str(audit.rng_seed)
    if audit.counterexample is not None and audit.counterexample.seed:
        yield "seed of the event's draws", str(audit.counterexample.seed)
    if audit.target is not None:
        yield "mechanism", one_line(audit.target, 200)
    yield "dpaudit", audit.version
    yield from audit.software


def _replay(audit: Audit) -> Iterator[str]:
    """How the audit, or its event, is made again."""
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


def raw_json(audit: Audit) -> tuple[str, bool]:
    """The JSON of an audit, in lines, and whether it is whole: long lists are cut."""
    more = len(audit.history) - _MAX_HISTORY
    saved = replace(audit, history=audit.history[:_MAX_HISTORY]).to_json()
    text = _json_text(saved)
    if len(text) <= MAX_JSON:
        return text, more <= 0
    for most in _MAX_ENTRIES:
        text = _json_text(_cut(saved, most))
        if len(text) <= MAX_JSON:
            break
    return text[:MAX_JSON], False


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
