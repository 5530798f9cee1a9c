"""An audit or a replay in one line, and in a text of at most 72 columns.

The words are *refuted*, *suspected*, *not refuted* and *undecided*. Lower bounds are rounded
down and upper bounds up, so that what is printed is never more than what was proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.claims import Scalable
from dpaudit.neighbours import Pair
from dpaudit.report import training, wording
from dpaudit.report.layout import (
    FIRST_WIDTH,
    INDENT,
    LABEL_WIDTH,
    WIDTH,
    joined,
    pair_lines,
    row,
    sentences,
    wrapped,
)
from dpaudit.report.pinning import Pin, pin_of
from dpaudit.report.provenance import provenance_rows
from dpaudit.report.showing import count, duration, one_line, upper
from dpaudit.report.wording import GLUE, MAX_NAME, broken, glued, noted

if TYPE_CHECKING:
    from dpaudit.results import (
        Audit,
        Counterexample,
        PairRecord,
        Replayed,
        TrainingEvidence,
    )

MAX_WARNINGS = 3


def headline(audit: Audit) -> str:
    """The audit in one line.

    `REFUTED: clipped_sum is not 1-DP: epsilon >= 1.8 (alpha = 1e-06)`
    """
    return _headline(audit).replace(GLUE, " ")


def render(audit: Audit) -> str:
    """The audit in words: what was found, what was searched, what it cost; about 25 lines."""
    return joined(
        wrapped(_headline(audit), rest=INDENT),
        sentences(wording.INTERRUPTED) if audit.interrupted else [],
        *_findings(audit),
        [*_searched(audit), *_cost(audit)],
        provenance_rows(audit.provenance, audit.software),
        _warnings(audit),
    )


def failure(audit: Audit, *, kept: str | None = None, pin: Pin | None = None) -> str:
    """A refuted audit as the message of a failed test: the verdict first, then what shows it.

    `kept` names the file that keeps its counterexample for the next test run, if there is one.
    `pin` says how the pair is pinned, where that depends on the relation (see `pin_of`).
    """
    pair = pair_to_pin(audit)
    if pin is None and pair is not None:
        pin = pin_of(pair)
    return joined(
        wrapped(wording.finding(audit), rest=INDENT, width=FIRST_WIDTH),
        *_findings(audit),
        [*_searched(audit), *_cost(audit)],
        [*_again(audit), *_pin(pin), *_kept(audit, kept)],
    )


def pair_to_pin(audit: Audit) -> Pair | None:
    """The plainest pair that a refuted audit shows; None if it shows none."""
    shown_by = (audit.simplest, audit.counterexample, audit.strongest)
    return next((found.pair for found in shown_by if found is not None), None)


def no_evidence(audit: Audit) -> str:
    """The warning of a test whose audit is undecided, in one line."""
    why = " ".join((wording.suspicion if audit.suspected else wording.undecided)(audit))
    return f"{audit.verdict.value}: {wording.finding(audit)}. {why}".replace(GLUE, " ")


def replayed_headline(found: Replayed) -> str:
    """A replay in one line."""
    return _replayed_headline(found).replace(GLUE, " ")


def replayed(found: Replayed) -> str:
    """A replay in words: the event, how often it was seen this time, and what the claim allows."""
    again, before = found.again, found.before
    shown_before = f"{wording.shows(found.claim, before)}, {count(before.data.draws, 'draw')} each"
    return joined(
        wrapped(_replayed_headline(found), rest=INDENT),
        _pair_and_event(again),
        _tallies(again),
        sentences(*wording.allowed_and_seen(found.claim, again), _meaning_of_replay(found)),
        sentences(*wording.floating(again)),
        [
            *row("replayed", found.target or found.mechanism),
            *row("before", shown_before),
            *row("seed", f"{again.seed[0]}"),
        ],
    )


def _headline(audit: Audit) -> str:
    word = glued(f"{audit.verdict.value.upper()}:")
    return f"{word} {wording.finding(audit, f'alpha = {upper(audit.alpha)}')}"


def _replayed_headline(found: Replayed) -> str:
    name, claim = one_line(found.mechanism, MAX_NAME), glued(one_line(str(found.claim), MAX_NAME))
    alpha, verdict = f"alpha = {upper(found.again.alpha)}", found.verdict.value
    if verdict != "refuted":
        said = f"{name}, claimed {claim}, by this event on these draws"
        return noted(f"{glued(f'{verdict.upper()}:')} {said}", alpha)
    delta = wording.breaking_delta(found.claim, found.again)
    scalable = found.claim if isinstance(found.claim, Scalable) else None
    bound = None if scalable is None else found.again.strength_lower(scalable)
    said = broken(found.claim, bound, claim, delta=delta)
    return noted(f"{glued('REFUTED AGAIN:')} {name} {said}", alpha)


def _meaning_of_replay(found: Replayed) -> str:
    match found.verdict.value:
        case "refuted":
            return wording.chance("a replay", found.again.alpha)
        case "undecided":
            return f"Too few draws for a verdict. {wording.need(found.claim, found.again.alpha)}"
    return f"{wording.ONE_EVENT} To search anew: dpaudit audit."


def _findings(audit: Audit) -> list[list[str]]:
    if audit.training is not None:
        return _of_training(audit, audit.training)
    if audit.suspected:
        return [sentences(*wording.suspicion(audit)), _strongest(audit.strongest, "accused")]
    if audit.verdict.value == "undecided":
        return [sentences(*wording.undecided(audit)), _strongest(audit.strongest)]
    if audit.verdict.value == "not refuted":
        leaks, detectable = wording.leaks(audit), wording.detectable(audit)
        rows = row("certified", f"{leaks}: no smaller {audit.symbol} holds") if leaks else []
        rows += row("detectable", detectable) if detectable else []
        return [sentences(wording.CAUTION), [*_strongest(audit.strongest), *rows]]
    found, chance = audit.counterexample, wording.chance("an audit", audit.alpha)
    if found is None:
        return [sentences(wording.NO_EVENT), _strongest(audit.strongest), sentences(chance)]
    return [
        _pair_and_event(found),
        _tallies(found),
        sentences(*wording.against(audit.claim, found), chance),
        sentences(*wording.floating(found, audit.simplest)),
        _simplest(audit),
    ]


def _of_training(audit: Audit, seen: TrainingEvidence) -> list[list[str]]:
    """The meaning of the verdict, then every test under its null, then the canaries."""
    match audit.verdict.value:
        case "refuted":
            said: tuple[str, ...] = (wording.chance("an audit", audit.alpha),)
        case "undecided":
            said = wording.undecided(audit)
        case _:
            said = (training.CAUTION,)
    found: dict[str, list[str]] = {}
    for number, each in enumerate(training.found_under(audit)):
        heading = f"{each.null}{' (decides)' if number == 0 else ''}:"
        lines = found.setdefault(each.null, [f"{INDENT}{heading[0].upper()}{heading[1:]}"])
        lines += wrapped(f"{each.test}: {each.said}", first=2 * INDENT, rest=3 * INDENT, most=3)
    separations = training.separations_in_words(seen)
    detectable = training.detectable_in_words(seen)
    return [
        sentences(*said, training.meaning_of(seen)),
        *found.values(),
        [
            *row("at best", training.found_under(audit)[0].at_best or "no bound to give"),
            *(row("detectable", detectable) if detectable else []),
            *row("canaries", training.canaries_in_words(seen)),
            *(row("scores", separations) if separations else []),
        ],
    ]


def _pair_and_event(found: Counterexample) -> list[str]:
    likelier = wording.LETTERS[found.likelier]
    return [*pair_lines(found.pair), *row("event", f"{found.event} (likelier on {likelier})")]


def _simplest(audit: Audit) -> list[str]:
    found = audit.simplest
    if found is None:
        return []
    draws = count(found.data.draws, "fresh draw")
    return [
        f"{INDENT}The simplest pair that still breaks the claim:",
        *_pair_and_event(found),
        *row("shows", f"{wording.shows(audit.claim, found)}, on {draws} each"),
        *sentences(wording.together(audit)),
    ]


def _strongest(found: PairRecord | None, which: str = "strongest") -> list[str]:
    return [] if found is None else [f"{INDENT}The {which} pair:", *pair_lines(found.pair)]


def _tallies(found: Counterexample) -> list[str]:
    """Hits and draws on both datasets, one under the other, with the bound that counts on each."""
    sides = wording.sides(found)
    hits = max(len(f"{tally.hits:,}") for _, tally, _ in sides)
    draws = max(len(f"{tally.draws:,}") for _, tally, _ in sides)
    return [
        f"{INDENT}{f'on {letter}':<{LABEL_WIDTH}}{tally.hits:>{hits},} of "
        f"{tally.draws:>{draws},} draws: probability {bound}"
        for letter, tally, bound in sides
    ]


def _searched(audit: Audit) -> list[str]:
    if audit.training is not None:
        return row("neighbours", audit.neighbours)
    if audit.is_replay:
        again = "a known counterexample, its event counted again on fresh draws"
        return row("searched", f"nothing: {again}")
    tried = glued(f"{count(audit.pairs_tried, 'pair')} tried")
    searched = row("searched", f"{audit.neighbours}; {tried}" if audit.neighbours else tried)
    if audit.floats == "bits":
        searched += row("floats", wording.BITS)
    if audit.tester == "BettingTester":
        return searched
    assumed = wording.assumptions(audit)
    return [
        *searched,
        *row("tester", wording.tester(audit)),
        *(row("assumes", assumed) if assumed else []),
    ]


def _cost(audit: Audit) -> list[str]:
    event = audit.counterexample
    again = "" if event is None or not event.seed else f"; the event's draws: {event.seed}"
    if audit.training is not None:
        spent = f", {duration(audit.seconds)}" if audit.seconds > 0.0 else ""
        cost = f"{count(audit.training.runs, 'training')}{spent}"
        return [*row("cost", cost), *row("seed", f"{audit.rng_seed}")]
    return [
        *row("cost", f"{count(audit.samples, 'draw')}, {duration(audit.seconds)}"),
        *row("seed", f"{audit.rng_seed}{again}"),
    ]


def _again(audit: Audit) -> list[str]:
    if audit.training is not None:
        return []
    if not audit.is_replay:
        return row("replay", f"rng={audit.rng_seed} makes the same audit again")
    call = f"dpaudit.replay(known, mechanism, claim, alpha={audit.alpha!r}, rng={audit.rng_seed})"
    return row("replay", f"{call} makes the same draws again")


def _kept(audit: Audit, file: str | None) -> list[str]:
    if file is None:
        return []
    if not audit.is_replay:
        return row("kept", f"{file} and tried first in the next run")
    known = glued("known = dpaudit.load(file).counterexample")
    return row("kept", f"{file} from an earlier run: {known}. Delete the file to forget it.")


def _pin(pin: Pin | None) -> list[str]:
    if pin is None:
        return []
    if pin.reason:
        return row("pin", f"this pair cannot be pinned by a line to paste: {pin.reason}")
    if not pin.imports and len(pin.decorator) <= WIDTH - len(INDENT) - LABEL_WIDTH:
        line = glued(pin.decorator)
        return row("pin", f"{line} on the test tries this pair first, every time")
    code = (*pin.imports, *([""] if pin.imports else []), *pin.lines)
    first = row("pin", "these lines on the test try this pair first, every time:")
    return [*first, *(f"{2 * INDENT}{line}".rstrip() for line in code)]


def _warnings(audit: Audit) -> list[str]:
    first = audit.warnings[:MAX_WARNINGS]
    lines = [line for warning in first for line in row("warning", warning, most=3)]
    more = len(audit.warnings) - MAX_WARNINGS
    return lines + (row("", f"and {count(more, 'more warning')}") if more > 0 else [])
