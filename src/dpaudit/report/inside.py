"""The words about an audit inside: what the releases showed, and what they cannot show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

from dpaudit.claims import point_of
from dpaudit.report.layout import FIRST_WIDTH, INDENT, joined, pair_lines, row, sentences, wrapped
from dpaudit.report.provenance import provenance_rows
from dpaudit.report.releases import shown_release, signed_loss
from dpaudit.report.showing import apart, count, lower, one_line, power
from dpaudit.report.wording import GLUE, MAX_NAME, glued

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit, WorstTranscript

BROKEN = "broken inside"
MEANINGS = {
    BROKEN: (
        "The releases in this code break the claim; whether the output shows it is another "
        "question, which confirm() asks."
    ),
    "not refuted": (
        "No transcript broke the claim. This is not a proof of privacy: other pairs, or rarer "
        "outputs, may still break it."
    ),
    "undecided": "The transcripts neither break the claim nor speak for it.",
    "cannot follow": "The code does something that an audit inside does not follow.",
}
LIMITS = (
    "A transcript holds all that was released on the way, also what the output does not show: "
    "draws that are thrown away, answers that are asked for twice. So code that is broken inside "
    "may have an output that keeps its claim. Only the black box on this pair, confirm(), refutes "
    "the output."
)
ASSUMED = "the code draws only from the generator that it is given"
REVEALED = "numbers with noise that the code uses in other ways, too (reveal=True)"
_MAX_REASON = 600


def is_inside(found: Any) -> TypeGuard[InsideAudit]:
    """Whether a result is that of an audit inside, and not of one by draws."""
    return hasattr(found, "transcripts")


def inside_headline(found: InsideAudit) -> str:
    """The whole result in one line.

    `BROKEN INSIDE: noisy_sum, claimed 1-DP: loss 2 in one transcript`
    """
    return _headline(found, found.reason).replace(GLUE, " ")


def inside_in_words(found: InsideAudit) -> str:
    """The whole result as text, in lines of at most 72 columns."""
    return joined(
        wrapped(_headline(found, ""), rest=INDENT),
        sentences(MEANINGS[found.verdict.value]),
        row("reason", one_line(found.reason, _MAX_REASON), most=9) if found.reason else [],
        *_shown(found),
        _looked_at(found),
        provenance_rows(found.provenance, found.software),
    )


def inside_failure(found: InsideAudit) -> str:
    """A result that is broken inside, as the message of a failed test."""
    claim = glued(one_line(str(found.claim), MAX_NAME))
    name = one_line(found.name, MAX_NAME)
    return joined(
        wrapped(f"{name} breaks {claim} inside: {_shows(found)}", rest=INDENT, width=FIRST_WIDTH),
        *_shown(found),
        sentences(MEANINGS[BROKEN]),
        _looked_at(found),
        row("replay", f"rng={found.rng_seed} makes the same transcripts again"),
    )


def inside_no_evidence(found: InsideAudit) -> str:
    """The warning of a test whose audit inside is undecided, in one line."""
    return f"undecided inside: {found.name}, claimed {found.claim}: {found.reason}"


def evidence(found: InsideAudit) -> str:
    """What the transcripts showed, in a few words."""
    if not found.broken:
        return f"{count(found.transcripts, 'transcript')}, {largest(found.worst)}"
    single = found.log_wealth == 0.0 or math.isinf(found.log_wealth)
    return f"{_shows(found)}{' in one transcript' if single else ''}"


def largest(worst: WorstTranscript | None) -> str:
    """The largest loss that was seen."""
    if worst is None:
        return "no loss known"
    known = "" if worst.differs is None else "as far as the replay went, "
    return f"{known}largest loss {_size(worst)}"


def e_value(found: InsideAudit) -> str:
    """The evidence where a claim is not pure, rounded down."""
    if math.isinf(found.log_wealth):
        return "infinite"
    return "above 1e300" if math.isinf(found.e_value) else lower(found.e_value * (1.0 - 1e-12))


def likelihood(found: InsideAudit) -> str:
    """What the loss of the worst transcript means, in words; empty where none is known."""
    worst = found.worst
    if worst is None or worst.differs is not None:
        return ""
    likely, other = ("A", "B") if worst.loss >= 0.0 else ("B", "A")
    if math.isinf(worst.loss):
        return f"What was released on {likely} cannot be released on {other} at all."
    point = point_of(found.claim)
    if point is None or point[1] > 0.0 or abs(worst.loss) <= point[0]:
        times = lower(power(abs(worst.loss)))
        return f"What was released is {times} times as likely on {likely} as on {other}."
    allowed, seen = apart(power(point[0]), power(abs(worst.loss) - worst.tolerance))
    return (
        f"What was released is {seen} times as likely on {likely} as on {other}. The claim allows "
        f"at most e^{point[0]:.12g} = {allowed} times."
    )


def looked_at(found: InsideAudit) -> Iterator[tuple[str, str]]:
    """What was looked at, as labels and their texts."""
    pairs = f"{count(found.transcripts, 'transcript')} of {count(found.pairs_tried, 'pair')}"
    yield "looked at", f"{pairs}: {found.neighbours}"
    if math.isinf(found.log_wealth):
        yield "evidence", "a transcript of infinite loss, which the claim rules out"
    elif found.log_wealth != 0.0:
        chance = f"If the claim held, it would get there with probability at most {found.alpha:g}."
        yield "evidence", f"e-value {e_value(found)} of {1.0 / found.alpha:,.0f}. {chance}"
    yield "assumed", ASSUMED
    if found.reveal:
        yield "released", REVEALED
    yield "seed", f"{found.rng_seed}"


def _headline(found: InsideAudit, reason: str) -> str:
    word = glued(f"{found.verdict.value.upper()}:")
    claim = glued(one_line(str(found.claim), MAX_NAME))
    said = one_line(reason, _MAX_REASON) if reason else evidence(found)
    return f"{word} {one_line(found.name, MAX_NAME)}, claimed {claim}: {said}"


def _shown(found: InsideAudit) -> list[list[str]]:
    """The pair and the release that show most."""
    worst = found.worst
    if worst is None:
        return [] if found.differs is None else [pair_lines(found.differs)]
    place = [release is worst.release for release in worst.releases].index(True)
    shown = shown_release(place + 1, worst.release)
    whole = f"{signed_loss(worst.loss)}, of {count(len(worst.releases), 'release')}"
    lines = [
        *row("loss", whole if worst.differs is None else f"not known: {worst.differs}"),
        *row("release", f"{shown.where}: loss {shown.said}, the largest"),
        *row("in on A", shown.data),
        *row("in on B", shown.neighbour),
    ]
    lines += row("apart", shown.apart) if shown.apart else []
    lines += [*row("noise", shown.noise), *row("came out", shown.output)]
    said = likelihood(found)
    return [pair_lines(worst.pair), lines, sentences(said) if said else []]


def _looked_at(found: InsideAudit) -> list[str]:
    return [line for label, text in looked_at(found) for line in row(label, text)]


def _shows(found: InsideAudit) -> str:
    """What breaks the claim: one loss, or the evidence of many."""
    if found.log_wealth == 0.0 or math.isinf(found.log_wealth):
        return glued(f"loss {_size(found.worst)}")
    return glued(f"e-value {e_value(found)} of {lower(1.0 / found.alpha)}")


def _size(worst: WorstTranscript | None) -> str:
    return "" if worst is None else signed_loss(abs(worst.loss))
