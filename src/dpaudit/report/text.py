"""All wording of verdicts: an audit or a replay in one line, and in a page of at most 72 columns.

The words are *refuted*, *not refuted* and *undecided*. Lower bounds are rounded down and upper
bounds up, so that what is printed is never more than what was proved.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.neighbours import Pair
from dpaudit.report import wording
from dpaudit.report.pinning import Pin, pin_of
from dpaudit.report.showing import count, dataset, duration, one_line, upper
from dpaudit.report.wording import GLUE, NAME, broken, glued

if TYPE_CHECKING:
    from dpaudit.results import Audit, Counterexample, PairRecord, Replayed

WIDTH = 72  # beside the margin of a failed test this still fits into 80 columns
FIRST = 46  # of a failed test's first line, which pytest begins with the name of the error
INDENT = "  "
LABEL = 12  # columns of the labels on the left
MOST_WARNINGS = 3


def headline(audit: Audit) -> str:
    """The audit in one line.

    `REFUTED: clipped_sum is not 1-DP: epsilon >= 1.8 (alpha = 1e-06)`
    """
    return _headline(audit).replace(GLUE, " ")


def render(audit: Audit) -> str:
    """The audit in words: what was found, what was searched, what it cost; about 25 lines."""
    blocks = [_wrapped(_headline(audit), first="", rest=INDENT)]
    if audit.interrupted:
        blocks.append(_sentence(wording.INTERRUPTED))
    match audit.verdict.value:
        case "refuted":
            blocks += _refuted(audit)
        case "not refuted":
            blocks += _not_refuted(audit)
        case "undecided":
            blocks += _undecided(audit)
    blocks.append([*_searched(audit), *_cost(audit)])
    blocks.append(_warnings(audit))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def failure(audit: Audit, *, kept: str | None = None, pin: Pin | None = None) -> str:
    """A refuted audit as the message of a failed test: the verdict first, then what shows it.

    `kept` names the file that keeps its counterexample for the next test run, if there is one.
    `pin` says how the pair is pinned, where that depends on the relation (see `pin_of`).
    """
    pair = pair_to_pin(audit)
    if pin is None and pair is not None:
        pin = pin_of(pair)
    first = _wrapped(wording.finding(audit), first="", rest=INDENT, width=FIRST)
    blocks = [first, *_refuted(audit)]
    blocks.append([*_searched(audit), *_cost(audit)])
    blocks.append([*_again(audit), *_pin(pin), *_kept(audit, kept)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def pair_to_pin(audit: Audit) -> Pair | None:
    """The plainest pair that a refuted audit shows; None if it shows none."""
    shown_by = (audit.simplest, audit.counterexample, audit.strongest)
    return next((found.pair for found in shown_by if found is not None), None)


def no_evidence(audit: Audit) -> str:
    """What a test is warned of whose audit says nothing, in one line."""
    return f"undecided: {wording.finding(audit)}. {' '.join(wording.undecided(audit))}".replace(
        GLUE, " "
    )


def replayed_headline(found: Replayed) -> str:
    """A replay in one line, as the first of its page."""
    return _replayed_headline(found).replace(GLUE, " ")


def replayed(found: Replayed) -> str:
    """A replay in words: the event, how often it was seen this time, and what the claim allows."""
    again, before = found.again, found.before
    shown_before = f"{wording.shows(before)}, {count(before.data.draws, 'draw')} of a side"
    blocks = [
        _wrapped(_replayed_headline(found), first="", rest=INDENT),
        [*_pair(again.pair), *_event(again)],
        _tallies(again),
        [*_sentences(wording.allowed_and_seen(found.claim, again)), *_meaning_of_replay(found)],
        _sentences(wording.floating(again)),
        [
            *_row("replayed", found.target or found.mechanism),
            *_row("before", shown_before),
            *_row("seed", f"{again.seed[0]}"),
        ],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


# --- the headline ---------------------------------------------------------------------------------


def _headline(audit: Audit) -> str:
    alpha = glued(f"(alpha = {upper(audit.alpha)})")
    word = glued(f"{audit.verdict.value.upper()}:")
    return f"{word} {wording.finding(audit)} {alpha}"


def _replayed_headline(found: Replayed) -> str:
    name, claim = one_line(found.mechanism, NAME), glued(one_line(str(found.claim), NAME))
    alpha = glued(f"(alpha = {upper(found.again.alpha)})")
    if found.verdict.value == "refuted":
        in_epsilon = isinstance(found.claim, PureDP | ApproxDP)
        bound = found.again.epsilon_lower if in_epsilon else None
        return f"{glued('REFUTED AGAIN:')} {name} {broken(found.claim, bound, claim)} {alpha}"
    word = glued(f"{found.verdict.value.upper()}:")
    return f"{word} {name}, claimed {claim}, by this event on these draws {alpha}"


def _meaning_of_replay(found: Replayed) -> list[str]:
    if found.verdict.value == "refuted":
        return _sentence(wording.chance("a replay", found.again.alpha))
    if found.verdict.value == "undecided":
        few = f"Too few draws for a verdict. {wording.need(found.claim, found.again.alpha)}"
        return _sentence(few)
    return _sentence(
        "This is not a proof of privacy: one event was counted, and nothing was searched. Another "
        "pair or event, or more draws, may still break the claim. To search anew: dpaudit audit."
    )


# --- one verdict each -----------------------------------------------------------------------------


def _refuted(audit: Audit) -> list[list[str]]:
    found, chance = audit.counterexample, _sentence(wording.chance("an audit", audit.alpha))
    if found is None:
        return [_sentence(wording.NO_EVENT), _strongest(audit.strongest), chance]
    return [
        [*_pair(found.pair), *_event(found)],
        _tallies(found),
        [*_against(audit.claim, found), *chance],
        _sentences(wording.floating(found, audit.simplest)),
        _simplest(audit),
    ]


def _not_refuted(audit: Audit) -> list[list[str]]:
    findings = _strongest(audit.strongest)
    certified, detectable = wording.certified(audit), wording.detectable(audit)
    if certified:
        findings += _row("certified", f"{certified}: no smaller {audit.symbol} holds")
    if detectable:
        findings += _row("detectable", detectable)
    return [_sentence(wording.CAUTION), findings]


def _undecided(audit: Audit) -> list[list[str]]:
    return [_sentences(wording.undecided(audit)), _strongest(audit.strongest)]


# --- the parts ------------------------------------------------------------------------------------


def _pair(pair: Pair) -> list[str]:
    room = WIDTH - len(INDENT) - LABEL
    return [
        *_row("data", dataset(pair.data, room)),
        *_row("neighbour", dataset(pair.neighbour, room)),
    ]


def _event(found: Counterexample) -> list[str]:
    return _row("event", wording.event(found))


def _simplest(audit: Audit) -> list[str]:
    """The plainer counterexample: its pair, its event, what that alone shows, and how surely."""
    found = audit.simplest
    if found is None:
        return []
    return [
        f"{INDENT}The simplest pair that still breaks the claim:",
        *_pair(found.pair),
        *_event(found),
        *_row(
            "shows",
            f"{wording.shows(found)}, on {count(found.data.draws, 'fresh draw')} of either side",
        ),
        *_sentence(wording.together(audit)),
    ]


def _strongest(found: PairRecord | None) -> list[str]:
    if found is None:
        return []
    return [f"{INDENT}The strongest pair:", *_pair(found.pair)]


def _tallies(found: Counterexample) -> list[str]:
    """Hits and draws on both sides, one under the other, with the bound that counts on each."""
    sides = (("data", found.data), ("neighbour", found.neighbour))
    hits = max(len(f"{tally.hits:,}") for _, tally in sides)
    draws = max(len(f"{tally.draws:,}") for _, tally in sides)
    return [
        f"{INDENT}{f'on {name}':<{LABEL}} {tally.hits:>{hits},} of {tally.draws:>{draws},} draws: "
        f"probability {wording.bound(tally, at_least=name == found.likelier)}"
        for name, tally in sides
    ]


def _against(claim: Claim, found: Counterexample) -> list[str]:
    return _sentences(wording.against(claim, found))


def _searched(audit: Audit) -> list[str]:
    if audit.is_replay:
        again = "a known counterexample, its event counted again on fresh draws"
        return _row("searched", f"nothing: {again}")
    tried = glued(f"{count(audit.pairs_tried, 'pair')} tried")
    searched = _row("searched", f"{audit.neighbours}; {tried}" if audit.neighbours else tried)
    if audit.floats == "bits":
        searched += _row("floats", wording.BITS)
    bets = audit.tester == "BettingTester"
    return searched if bets else [*searched, *_row("tester", audit.tester)]


def _cost(audit: Audit) -> Iterator[str]:
    yield from _row("cost", f"{count(audit.samples, 'draw')}, {duration(audit.seconds)}")
    event = audit.counterexample
    again = "" if event is None or not event.seed else f"; the event's draws: {event.seed}"
    yield from _row("seed", f"{audit.rng_seed}{again}")


def _again(audit: Audit) -> list[str]:
    """How the same draws are made again."""
    if not audit.is_replay:
        return _row("replay", f"rng={audit.rng_seed} makes the same audit again")
    call = f"dpaudit.replay(known, mechanism, claim, alpha={audit.alpha!r}, rng={audit.rng_seed})"
    return _row("replay", f"{call} makes the same draws again")


def _kept(audit: Audit, file: str | None) -> list[str]:
    """Where the counterexample is kept for the next test run."""
    if file is None:
        return []
    if not audit.is_replay:
        return _row("kept", f"{file} and tried first in the next run")
    known = glued("known = dpaudit.load(file).counterexample")
    return _row("kept", f"{file} from an earlier run: {known}. Delete the file to forget it.")


def _pin(pin: Pin | None) -> list[str]:
    """How a pair is kept in the code."""
    if pin is None:
        return []
    if pin.reason:
        return _row("pin", f"this pair cannot be pinned by a line to paste: {pin.reason}")
    if not pin.imports and len(pin.decorator) <= WIDTH - len(INDENT) - LABEL:
        line = glued(pin.decorator)
        return _row("pin", f"{line} on the test tries this pair first, every time")
    code = (*pin.imports, *([""] if pin.imports else []), *pin.lines)
    first = _row("pin", "these lines on the test try this pair first, every time:")
    return [*first, *(f"{2 * INDENT}{line}".rstrip() for line in code)]


def _warnings(audit: Audit) -> list[str]:
    lines: list[str] = []
    for warning in audit.warnings[:MOST_WARNINGS]:
        lines += _row("warning", warning, most=3)
    more = len(audit.warnings) - MOST_WARNINGS
    return lines + (_row("", f"and {count(more, 'more warning')}") if more > 0 else [])


# --- lines ----------------------------------------------------------------------------------------


def _sentences(texts: tuple[str, ...]) -> list[str]:
    return [line for text in texts for line in _sentence(text)]


def _sentence(text: str) -> list[str]:
    return _wrapped(text, first=INDENT, rest=INDENT, most=5)


def _row(label: str, text: str, *, most: int = 4) -> list[str]:
    margin = INDENT + " " * LABEL
    return _wrapped(text, first=f"{INDENT}{label:<{LABEL}}", rest=margin, most=most)


def _wrapped(text: str, *, first: str, rest: str, most: int = 4, width: int = WIDTH) -> list[str]:
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        max_lines=most,
        placeholder=" ...",
        break_on_hyphens=False,
    )
    return [line.replace(GLUE, " ") for line in lines]
