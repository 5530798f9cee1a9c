"""All wording: an audit in one line, in a page of at most 72 columns, and while it runs.

The words are *refuted*, *not refuted* and *undecided*. Lower bounds are rounded down and upper
bounds up, so that what is printed is never more than what was proved.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from dpaudit.claims import ApproxDP, Claim, PureDP, Scalable
from dpaudit.evidence import (
    REPLAY,
    Audit,
    Counterexample,
    PairRecord,
    Progress,
    Tally,
    Verdict,
)
from dpaudit.pair import Pair, shown
from dpaudit.report.showing import (
    apart,
    count,
    dataset,
    duration,
    lower,
    one_line,
    power,
    short_count,
    upper,
)
from dpaudit.stats.profiles import most_likely

WIDTH = 72  # beside the margin of a failed test this still fits into 80 columns
FIRST = 46  # of a failed test's first line, which pytest begins with the name of the error
LINE = 80  # of progress
INDENT = "  "
LABEL = 12  # columns of the labels on the left
NAME = 40  # columns of a mechanism's name
MOST_WARNINGS = 3
GLUE = "\xa0"  # a space at which no line is broken


def headline(audit: Audit) -> str:
    """The audit in one line.

    `REFUTED: clipped_sum is not 1-DP: epsilon >= 1.8 (alpha = 1e-06)`
    """
    return _headline(audit).replace(GLUE, " ")


def render(audit: Audit) -> str:
    """The audit in words: what was found, what was searched, what it cost; about 25 lines."""
    blocks = [_wrapped(_headline(audit), first="", rest=INDENT)]
    if audit.interrupted:
        blocks.append(_sentence("Interrupted: this is what was found until then."))
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
    name, claim = one_line(audit.mechanism, NAME), _glued(one_line(str(audit.claim), NAME))
    shown_by = (audit.simplest, audit.counterexample, audit.strongest)
    pinned = next((found.pair for found in shown_by if found is not None), None)
    first = _wrapped(f"{name} {_broken(audit, claim)}", first="", rest=INDENT, width=FIRST)
    blocks = [first, *_refuted(audit)]
    blocks.append([*_searched(audit), *_cost(audit)])
    blocks.append([*_again(audit), *_pin(pinned), *_kept(audit, kept)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def certified(audit: Audit) -> str:
    """What an audit certified, such as `epsilon >= 1.86`; "" if that is nothing."""
    shown = _exceeded(audit) if audit.refuted else _certified(audit)
    return shown.replace(GLUE, " ")


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
    name, claim = one_line(audit.mechanism, NAME), _glued(one_line(str(audit.claim), NAME))
    alpha = _glued(f"(alpha = {upper(audit.alpha)})")
    word = _glued(f"{audit.verdict.value.upper()}:")
    if audit.verdict is Verdict.REFUTED:
        return f"{word} {name} {_broken(audit, claim)} {alpha}"
    so_far = " so far" if audit.verdict is Verdict.UNDECIDED else ""
    found = f": {_certified(audit) or 'nothing'} certified{so_far}" if audit.symbol else ""
    return f"{word} {name}, claimed {claim}{found} {alpha}"


def _broken(audit: Audit, name: str) -> str:
    shown = _exceeded(audit)
    return f"is not {name}: {shown}" if shown else f"does not keep {name}"


def _exceeded(audit: Audit) -> str:
    """What a refuted claim's parameter must be: more than was claimed, whatever was certified."""
    claim, bound = audit.claim, audit.lower_bound
    if not isinstance(claim, Scalable):
        return ""
    if bound is None or bound <= claim.strength:
        return _glued(f"{claim.symbol} > {claim.strength:.12g}")
    return _glued(f"{claim.symbol} >= {lower(bound, above=claim.strength)}")


def _certified(audit: Audit) -> str:
    if audit.symbol is None or audit.lower_bound is None or audit.lower_bound <= 0.0:
        return ""
    return _glued(f"{audit.symbol} >= {lower(audit.lower_bound)}")


# --- one verdict each -----------------------------------------------------------------------------


def _refuted(audit: Audit) -> list[list[str]]:
    found = audit.counterexample
    chance = _sentence(
        "If the claim held, an audit like this would accuse it with probability at most "
        f"{upper(audit.alpha)}."
    )
    if found is None:
        none = _sentence("All draws together refute the claim; no single event was certified.")
        return [none, _strongest(audit.strongest), chance]
    return [
        [*_pair(found.pair), *_event(found)],
        _tallies(found),
        [*_against(audit.claim, found), *chance],
        _simplest(audit.simplest),
    ]


def _not_refuted(audit: Audit) -> list[list[str]]:
    caution = _sentence(
        "This is not a proof of privacy: a pair that was not tried, or a smaller excess, may still "
        "break the claim."
    )
    findings = _strongest(audit.strongest)
    certified = _certified(audit)
    if certified:
        findings += _row("certified", f"{certified}: no smaller {audit.symbol} holds")
    if audit.detectable is not None and audit.symbol is not None:
        article = "an" if audit.symbol[0] in "aeiou" else "a"
        where = "on this pair " if audit.strongest is not None else ""
        findings += _row(
            "detectable",
            f"{article} {audit.symbol} of {upper(audit.detectable)} or more {where}would have been "
            "refuted (an estimate)",
        )
    return [caution, findings]


def _undecided(audit: Audit) -> list[list[str]]:
    way = "against the claim" if audit.evidence.log_wealth > 0.0 else "neither way"
    lean = (
        f"The evidence leans {way}: e-value {lower(audit.evidence.e_value)}, where a refutation "
        f"needs {upper(1.0 / audit.alpha)}."
    )
    if audit.forecast is None:
        advice = "More draws may decide it."
    else:
        advice = f"About {count(audit.forecast, 'more draw')} would decide it (an estimate)."
    return [[*_sentence(lean), *_sentence(advice)], _strongest(audit.strongest)]


# --- the parts ------------------------------------------------------------------------------------


def _pair(pair: Pair) -> list[str]:
    room = WIDTH - len(INDENT) - LABEL
    return [
        *_row("data", dataset(pair.data, room)),
        *_row("neighbour", dataset(pair.neighbour, room)),
    ]


def _event(found: Counterexample) -> list[str]:
    return _row("event", f"{found.event} (likelier on {found.likelier})")


def _simplest(found: Counterexample | None) -> list[str]:
    """The plainer counterexample: its pair, its event and what that alone shows."""
    if found is None:
        return []
    at_delta = f" at delta = {upper(found.delta)}" if found.delta > 0.0 else ""
    shows = _glued(f"epsilon >= {lower(found.epsilon_lower)}{at_delta}")
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
        f"probability {_bound(tally, at_least=name == found.likelier)}"
        for name, tally in sides
    ]


def _bound(tally: Tally, *, at_least: bool) -> str:
    return f"at least {lower(tally.lower)}" if at_least else f"at most {upper(tally.upper)}"


def _against(claim: Claim, found: Counterexample) -> list[str]:
    """What the claim allows for this event, and what was seen."""
    if isinstance(claim, PureDP | ApproxDP):
        sentences = _times(claim, found)
    else:
        sentences = _probabilities(found, most_likely(claim.delta, found.unlikely.upper))
    if not found.breaks(claim):
        sentences += ("It stays within the claim; all draws together do not.",)
    return [line for sentence in sentences for line in _sentence(sentence)]


def _times(claim: PureDP | ApproxDP, found: Counterexample) -> tuple[str, ...]:
    slack = claim.delta(claim.epsilon)
    plus, less = (f" (plus delta = {upper(slack)})", " (less delta)") if slack > 0.0 else ("", "")
    allowed, seen = apart(power(claim.epsilon), power(found.epsilon_lower))
    return (
        f"The claim allows at most e^{claim.epsilon:.12g} = {allowed} times{plus}.",
        f"Seen: at least {seen} times{less}, so this event alone shows "
        + _glued(f"epsilon >= {lower(found.epsilon_lower, above=claim.epsilon)}."),
    )


def _probabilities(found: Counterexample, most: float) -> tuple[str, ...]:
    other = "neighbour" if found.likelier == "data" else "data"
    at_delta = f" at delta = {upper(found.delta)}" if found.delta > 0.0 else ""
    allowed, seen = apart(most, found.likely.lower)
    return (
        f"With at most {upper(found.unlikely.upper)} on {other}, the claim allows at most "
        f"{allowed} on {found.likelier}.",
        f"Seen: at least {seen}, so this event alone shows "
        + _glued(f"epsilon >= {lower(found.epsilon_lower)}{at_delta}."),
    )


def _searched(audit: Audit) -> list[str]:
    if audit.tester == REPLAY:
        again = "a known counterexample, its event counted again on fresh draws"
        return _row("searched", f"nothing: {again}")
    tried = _glued(f"{count(audit.pairs_tried, 'pair')} tried")
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
    known = _glued("known = dpaudit.load(file).counterexample")
    return _row("kept", f"{file} from an earlier run: {known}. Delete the file to forget it.")


def _pin(pair: Pair | None) -> list[str]:
    """How a pair is kept in the code."""
    if pair is None:
        return []
    pinned = _glued(f"@dpaudit.example({shown(pair.data)}, {shown(pair.neighbour)})")
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


def _glued(text: str) -> str:
    return text.replace(" ", GLUE)


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
