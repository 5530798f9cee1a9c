"""All wording of verdicts: an audit or a replay in one line, and in a page of at most 72 columns.

The words are *refuted*, *not refuted* and *undecided*. Lower bounds are rounded down and upper
bounds up, so that what is printed is never more than what was proved.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dpaudit.claims import ApproxDP, Claim, PureDP, Scalable
from dpaudit.evidence import (
    Audit,
    Counterexample,
    PairRecord,
    Replayed,
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
    upper,
)
from dpaudit.stats.profiles import most_likely

WIDTH = 72  # beside the margin of a failed test this still fits into 80 columns
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


def failure(audit: Audit) -> str:
    """A refuted audit as the message of a failed test: the verdict first, then what shows it."""
    name, claim = one_line(audit.mechanism, NAME), _glued(one_line(str(audit.claim), NAME))
    words = {"at_least": "is at least", "above": "is more than"}
    first = f"{name} {_broken(audit.claim, audit.lower_bound, claim, **words)}"
    shown_by = (audit.simplest, audit.counterexample, audit.strongest)
    pinned = next((found.pair for found in shown_by if found is not None), None)
    blocks = [_wrapped(first, first="", rest=INDENT), *_refuted(audit)]
    blocks.append([*_searched(audit), *_cost(audit)])
    blocks.append(_again(audit, pinned))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def replayed_headline(found: Replayed) -> str:
    """A replay in one line, as the first of its page."""
    return _replayed_headline(found).replace(GLUE, " ")


def replayed(found: Replayed) -> str:
    """A replay in words: the event, how often it was seen this time, and what the claim allows."""
    again, before = found.again, found.before
    blocks = [
        _wrapped(_replayed_headline(found), first="", rest=INDENT),
        [*_pair(again.pair), *_event(again)],
        _tallies(again),
        [*_allowed_and_seen(found.claim, again), *_meaning_of_replay(found)],
        [
            *_row("replayed", found.target or found.mechanism),
            *_row("before", f"{_shown_by(before)}, {count(before.data.draws, 'draw')} of a side"),
            *_row("seed", f"{again.seed[0]}"),
        ],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


# --- the headline ---------------------------------------------------------------------------------


def _headline(audit: Audit) -> str:
    name, claim = one_line(audit.mechanism, NAME), _glued(one_line(str(audit.claim), NAME))
    alpha = _glued(f"(alpha = {upper(audit.alpha)})")
    word = _glued(f"{audit.verdict.value.upper()}:")
    if audit.verdict is Verdict.REFUTED:
        return f"{word} {name} {_broken(audit.claim, audit.lower_bound, claim)} {alpha}"
    so_far = " so far" if audit.verdict is Verdict.UNDECIDED else ""
    found = f": {_certified(audit) or 'nothing'} certified{so_far}" if audit.symbol else ""
    return f"{word} {name}, claimed {claim}{found} {alpha}"


def _broken(
    claim: Claim, bound: float | None, name: str, *, at_least: str = ">=", above: str = ">"
) -> str:
    """What a refuted claim's parameter must be: more than was claimed, whatever was certified."""
    if not isinstance(claim, Scalable):
        return f"does not keep {name}"
    if bound is None or bound <= claim.strength:
        shown = f"{claim.symbol} {above} {claim.strength:.12g}"
    else:
        shown = f"{claim.symbol} {at_least} {lower(bound, above=claim.strength)}"
    return f"is not {name}: {_glued(shown)}"


def _replayed_headline(found: Replayed) -> str:
    name, claim = one_line(found.mechanism, NAME), _glued(one_line(str(found.claim), NAME))
    alpha = _glued(f"(alpha = {upper(found.again.alpha)})")
    if found.verdict is Verdict.REFUTED:
        in_epsilon = isinstance(found.claim, PureDP | ApproxDP)
        bound = found.again.epsilon_lower if in_epsilon else None
        return f"{_glued('REFUTED AGAIN:')} {name} {_broken(found.claim, bound, claim)} {alpha}"
    word = _glued(f"{found.verdict.value.upper()}:")
    return f"{word} {name}, claimed {claim}, by this event on these draws {alpha}"


def _meaning_of_replay(found: Replayed) -> list[str]:
    if found.verdict is Verdict.REFUTED:
        return _chance("a replay", found.again.alpha)
    return _sentence(
        "This is not a proof of privacy: one event was counted, and nothing was searched. Another "
        "pair or event, or more draws, may still break the claim. To search anew: dpaudit audit."
    )


def _certified(audit: Audit) -> str:
    if audit.symbol is None or audit.lower_bound is None or audit.lower_bound <= 0.0:
        return ""
    return _glued(f"{audit.symbol} >= {lower(audit.lower_bound)}")


# --- one verdict each -----------------------------------------------------------------------------


def _refuted(audit: Audit) -> list[list[str]]:
    found = audit.counterexample
    chance = _chance("an audit", audit.alpha)
    if found is None:
        none = _sentence("All draws together refute the claim; no single event was certified.")
        return [none, _strongest(audit.strongest), chance]
    return [
        [*_pair(found.pair), *_event(found)],
        _tallies(found),
        [*_against(audit.claim, found), *chance],
        _simplest(audit.simplest),
    ]


def _chance(what: str, alpha: float) -> list[str]:
    return _sentence(
        f"If the claim held, {what} like this would accuse it with probability at most "
        f"{upper(alpha)}."
    )


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
    return [
        f"{INDENT}The simplest pair that still breaks the claim:",
        *_pair(found.pair),
        *_event(found),
        *_row(
            "shows",
            f"{_shown_by(found)}, on {count(found.data.draws, 'fresh draw')} of either side",
        ),
    ]


def _shown_by(found: Counterexample) -> str:
    if found.epsilon_lower <= 0.0:
        return "nothing"
    at_delta = f" at delta = {upper(found.delta)}" if found.delta > 0.0 else ""
    return _glued(f"epsilon >= {lower(found.epsilon_lower)}{at_delta}")


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
    within = _sentence("It stays within the claim; all draws together do not.")
    return _allowed_and_seen(claim, found) + ([] if found.breaks(claim) else within)


def _allowed_and_seen(claim: Claim, found: Counterexample) -> list[str]:
    if isinstance(claim, PureDP | ApproxDP):
        sentences = _times(claim, found)
    else:
        sentences = _probabilities(found, most_likely(claim.delta, found.unlikely.upper))
    return [line for sentence in sentences for line in _sentence(sentence)]


def _times(claim: PureDP | ApproxDP, found: Counterexample) -> tuple[str, ...]:
    slack = claim.delta(claim.epsilon)
    plus, less = (f" (plus delta = {upper(slack)})", " (less delta)") if slack > 0.0 else ("", "")
    allowed, seen = apart(power(claim.epsilon), power(found.epsilon_lower))
    may = f"The claim allows at most e^{claim.epsilon:.12g} = {allowed} times{plus}."
    if found.epsilon_lower <= 0.0:
        return may, f"Seen: no sure difference, so this event alone shows {_shown_by(found)}."
    return (
        may,
        f"Seen: at least {seen} times{less}, so this event alone shows "
        + _glued(f"epsilon >= {lower(found.epsilon_lower, above=claim.epsilon)}."),
    )


def _probabilities(found: Counterexample, most: float) -> tuple[str, ...]:
    other = "neighbour" if found.likelier == "data" else "data"
    allowed, seen = apart(most, found.likely.lower)
    return (
        f"With at most {upper(found.unlikely.upper)} on {other}, the claim allows at most "
        f"{allowed} on {found.likelier}.",
        f"Seen: at least {seen}, so this event alone shows {_shown_by(found)}.",
    )


def _searched(audit: Audit) -> list[str]:
    tried = _glued(f"{count(audit.pairs_tried, 'pair')} tried")
    searched = _row("searched", f"{audit.neighbours}; {tried}" if audit.neighbours else tried)
    bets = audit.tester == "BettingTester"
    return searched if bets else [*searched, *_row("tester", audit.tester)]


def _cost(audit: Audit) -> Iterator[str]:
    yield from _row("cost", f"{count(audit.samples, 'draw')}, {duration(audit.seconds)}")
    event = audit.counterexample
    again = "" if event is None or not event.seed else f"; the event's draws: {event.seed}"
    yield from _row("seed", f"{audit.rng_seed}{again}")


def _again(audit: Audit, pair: Pair | None) -> list[str]:
    """How the same audit is made again, and how its pair is kept in the code."""
    lines = _row("replay", f"rng={audit.rng_seed} makes the same audit again")
    if pair is None:
        return lines
    pinned = _glued(f"@dpaudit.example({shown(pair.data)}, {shown(pair.neighbour)})")
    if len(pinned) > WIDTH - len(INDENT) - LABEL:
        pinned = "@dpaudit.example(data, neighbour), with the two datasets above,"
    return [*lines, *_row("pin", f"{pinned} on the test tries this pair first, every time")]


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


def _wrapped(text: str, *, first: str, rest: str, most: int = 4) -> list[str]:
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        max_lines=most,
        placeholder=" ...",
        break_on_hyphens=False,
    )
    return [line.replace(GLUE, " ") for line in lines]
