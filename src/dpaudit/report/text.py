"""All wording: an audit in one line, in a page of at most 72 columns, and while it runs.

The words are *refuted*, *not refuted* and *undecided*. Lower bounds are rounded down and upper
bounds up, so that what is printed is never more than what was proved.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from dpaudit.claims import Claim
from dpaudit.evidence import REPLAY, Audit, Counterexample, PairRecord, Progress, Verdict
from dpaudit.pair import Pair, shown
from dpaudit.report import wording
from dpaudit.report.showing import (
    count,
    dataset,
    duration,
    lower,
    one_line,
    short_count,
    upper,
)
from dpaudit.report.wording import GLUE, glued

WIDTH = 72  # beside the margin of a failed test this still fits into 80 columns
FIRST = 46  # of a failed test's first line, which pytest begins with the name of the error
LINE = 80  # of progress
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
    match audit.verdict:
        case Verdict.REFUTED:
            blocks += _refuted(audit)
        case Verdict.NOT_REFUTED:
            blocks += _not_refuted(audit)
        case Verdict.UNDECIDED:
            blocks += _undecided(audit)
    blocks.append([*_searched(audit), *_cost(audit)])
    blocks.append(_warnings(audit))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def failure(audit: Audit, *, kept: str | None = None) -> str:
    """A refuted audit as the message of a failed test: the verdict first, then what shows it.

    `kept` names the file that keeps its counterexample for the next test run, if there is one.
    """
    shown_by = (audit.simplest, audit.counterexample, audit.strongest)
    pinned = next((found.pair for found in shown_by if found is not None), None)
    first = _wrapped(wording.finding(audit), first="", rest=INDENT, width=FIRST)
    blocks = [first, *_refuted(audit)]
    blocks.append([*_searched(audit), *_cost(audit)])
    blocks.append([*_again(audit), *_pin(pinned), *_kept(audit, kept)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def progress_line(progress: Progress, *, symbol: str | None = None, width: int = LINE) -> str:
    """A running audit in one line; `symbol` is the claim's ("epsilon", "mu" or "rho").

    >>> progress = Progress(
    ...     pairs=3,
    ...     samples=48_000,
    ...     budget=300_000,
    ...     seconds=1.23,
    ...     lower_bound=0.8444,
    ...     log_wealth=4.9,
    ...     alpha=1e-6,
    ...     pair="data=[1.0], neighbour=[]",
    ... )
    >>> print(progress_line(progress, symbol="epsilon"))
    48k of 300k draws, 1.2 s, epsilon >= 0.844, evidence 35%, pair 3: data=[1.0],...
    """
    of_budget = "" if progress.budget is None else f" of {short_count(progress.budget)}"
    parts = [f"{short_count(progress.samples)}{of_budget} draws", duration(progress.seconds)]
    if progress.lower_bound is not None and progress.lower_bound > 0.0:
        parts.append(f"{symbol or 'bound'} >= {lower(progress.lower_bound)}")
    share = progress.log_wealth / -math.log(progress.alpha)
    parts.append(f"evidence {math.floor(100 * min(max(share, 0.0), 1.0))}%")
    line = ", ".join([*parts, f"pair {progress.pairs:,}"])
    room = width - len(line) - 2
    if room < 12 or not progress.pair:
        return one_line(line, width)
    pair = " ".join(progress.pair.split())
    return f"{line}: {pair if len(pair) <= room else f'{pair[: room - 3]}...'}"


# --- the headline ---------------------------------------------------------------------------------


def _headline(audit: Audit) -> str:
    alpha = glued(f"(alpha = {upper(audit.alpha)})")
    word = glued(f"{audit.verdict.value.upper()}:")
    return f"{word} {wording.finding(audit)} {alpha}"


# --- one verdict each -----------------------------------------------------------------------------


def _refuted(audit: Audit) -> list[list[str]]:
    found, chance = audit.counterexample, _sentence(wording.chance(audit))
    if found is None:
        return [_sentence(wording.NO_EVENT), _strongest(audit.strongest), chance]
    return [
        [*_pair(found.pair), *_event(found)],
        _tallies(found),
        [*_against(audit.claim, found), *chance],
        _simplest(audit.simplest),
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
    lines = [*_sentence(wording.leaning(audit)), *_sentence(wording.advice(audit))]
    return [lines, _strongest(audit.strongest)]


# --- the parts ------------------------------------------------------------------------------------


def _pair(pair: Pair) -> list[str]:
    room = WIDTH - len(INDENT) - LABEL
    return [
        *_row("data", dataset(pair.data, room)),
        *_row("neighbour", dataset(pair.neighbour, room)),
    ]


def _event(found: Counterexample) -> list[str]:
    return _row("event", wording.event(found))


def _simplest(found: Counterexample | None) -> list[str]:
    """The plainer counterexample: its pair, its event and what that alone shows."""
    if found is None:
        return []
    shows = wording.shows(found)
    return [
        f"{INDENT}The simplest pair that still breaks the claim:",
        *_pair(found.pair),
        *_event(found),
        *_row("shows", f"{shows}, on {count(found.data.draws, 'fresh draw')} of either side"),
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
    return [line for each in wording.against(claim, found) for line in _sentence(each)]


def _searched(audit: Audit) -> list[str]:
    if audit.tester == REPLAY:
        again = "a known counterexample, its event counted again on fresh draws"
        return _row("searched", f"nothing: {again}")
    tried = glued(f"{count(audit.pairs_tried, 'pair')} tried")
    searched = _row("searched", f"{audit.neighbours}; {tried}" if audit.neighbours else tried)
    bets = audit.tester == "BettingTester"
    return searched if bets else [*searched, *_row("tester", audit.tester)]


def _cost(audit: Audit) -> Iterator[str]:
    yield from _row("cost", f"{count(audit.samples, 'draw')}, {duration(audit.seconds)}")
    event = audit.counterexample
    again = "" if event is None or not event.seed else f"; the event's draws: {event.seed}"
    yield from _row("seed", f"{audit.rng_seed}{again}")


def _again(audit: Audit) -> list[str]:
    """How the same draws are made again."""
    if audit.tester != REPLAY:
        return _row("replay", f"rng={audit.rng_seed} makes the same audit again")
    call = f"dpaudit.replay(known, mechanism, claim, alpha={audit.alpha!r}, rng={audit.rng_seed})"
    return _row("replay", f"{call} makes the same draws again")


def _kept(audit: Audit, file: str | None) -> list[str]:
    """Where the counterexample is kept for the next test run."""
    if file is None:
        return []
    if audit.tester != REPLAY:
        return _row("kept", f"{file} and tried first in the next run")
    known = glued("known = dpaudit.load(file).counterexample")
    return _row("kept", f"{file} from an earlier run: {known}. Delete the file to forget it.")


def _pin(pair: Pair | None) -> list[str]:
    """How a pair is kept in the code."""
    if pair is None:
        return []
    pinned = glued(f"@dpaudit.example({shown(pair.data)}, {shown(pair.neighbour)})")
    if len(pinned) > WIDTH - len(INDENT) - LABEL:
        pinned = "@dpaudit.example(data, neighbour), with the two datasets above,"
    return _row("pin", f"{pinned} on the test tries this pair first, every time")


def _warnings(audit: Audit) -> list[str]:
    lines: list[str] = []
    for warning in audit.warnings[:MOST_WARNINGS]:
        lines += _row("warning", warning, most=3)
    more = len(audit.warnings) - MOST_WARNINGS
    return lines + (_row("", f"and {count(more, 'more warning')}") if more > 0 else [])


# --- lines ----------------------------------------------------------------------------------------


def _sentence(text: str) -> list[str]:
    return _wrapped(text, first=INDENT, rest=INDENT)


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
