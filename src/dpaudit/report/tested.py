"""How an audit tested, step by step in plain words, and what it did not test.

Every method has its own steps: bets, batch testers, a replay, samples in hand, trainings, and the
releases inside of code. Terms in brackets lead to the glossary of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpaudit.report import training, wording
from dpaudit.report.plain import EVERY_STEP, INDEPENDENT
from dpaudit.report.showing import chance_in_words, count, one_line
from dpaudit.report.terms import linked

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit, TrainingEvidence

_MAX_RELATION = 300
_OTHER_USES = (
    "What several outputs reveal together, and what happens to an output later on: this is about "
    "one output at a time."
)
_OTHER_CODE = (
    "Other code: another version of the function, of its libraries, or of what surrounds it may "
    "behave otherwise. The digests at the end of this page name what ran here."
)


def steps_of(audit: Audit) -> list[Any]:
    """How an audit by draws, or of a training, was made: one sentence or two for each step."""
    if audit.training is not None:
        return list(_training(audit, audit.training))
    if audit.is_replay:
        return list(_replay(audit))
    of_samples = wording.is_of_samples(audit)
    steps = [_samples(audit) if of_samples else _pairs(audit)]
    steps += (_bets if audit.tester == wording.BETS else _trials)(audit, of_samples)
    if audit.counterexample is not None:
        steps.append(_counted(audit, of_samples))
    return steps


def _pairs(audit: Audit) -> Any:
    return linked(
        "[Pairs|pair] of [neighbouring datasets], A and B, were chosen by these rules: {relation}. "
        "{tried} tried, with {draws} in all.",
        relation=one_line(audit.neighbours, _MAX_RELATION) or "not recorded",
        tried=f"{count(audit.pairs_tried, 'pair')} {'was' if audit.pairs_tried == 1 else 'were'}",
        draws=count(audit.samples, "draw"),
    )


def _samples(audit: Audit) -> Any:
    return linked(
        "Two lists of outputs were given, A and B; {outputs} were looked at. That they are "
        "independent [draws] of the [mechanism] on two [neighbouring datasets] is taken from "
        "whoever made them.",
        outputs=f"{audit.samples:,}",
    )


def _bets(audit: Audit, of_samples: bool) -> Iterator[Any]:
    if of_samples:
        yield linked("For each output to look at, a fair coin decided from which list it came.")
    else:
        yield linked(
            "For each [draw], a fair coin decided whether the [mechanism] ran on A or on B."
        )
    yield linked(
        "Programs that saw the output and not the coin guessed where it came from, and bet on it. "
        "The bets win nothing on average if the [claim] holds; they had learned from earlier "
        "outputs only."
    )
    yield linked(
        "They began with a [wealth] of 1. If the claim holds, it ever reaches {goal} with a "
        "probability of at most {alpha} ([alpha]). {end}",
        goal=one_in_number(audit.alpha),
        alpha=chance_in_words(audit.alpha),
        end="It did." if audit.refuted else "It did not.",
    )


def one_in_number(alpha: float) -> str:
    """What the wealth must reach.

    >>> one_in_number(1e-6), one_in_number(0.05)
    ('1,000,000', '20')
    """
    goal = 1.0 / alpha
    return f"{goal:,.0f}" if goal < 1e12 else f"{goal:.3g}"


def _trials(audit: Audit, of_samples: bool) -> Iterator[Any]:
    if not of_samples:
        yield linked("On each of these the [mechanism] ran equally often on A and on B.")
    source = "" if audit.method is None else audit.method.source
    parts = _PARTS.get(audit.tester, "{published}" if source else _UNKNOWN_PARTS)
    yield linked(
        "A tester ({tester}) compared the outputs of both sides and computed how far apart they "
        f"lie at least. {parts}",
        tester=one_line(audit.tester, 60),
        published=_published(source),
    )
    if audit.method is not None and not audit.method.refutes:
        yield linked(
            "Where the [claim] allows less than that, the tester accuses it. {why}", why=_WHY_NOT
        )
        return
    yield linked(
        "Where the claim allows less than that, it is refuted. Over all trials together such a "
        "bound is too high with a probability of at most {alpha} ([alpha]).{promise}",
        alpha=chance_in_words(audit.alpha),
        promise=" That is what the author of the tester states."
        if wording.is_of_others(audit)
        else "",
    )


def _published(source: str) -> str:
    return f"The method is published: {one_line(source, 200)}."


_HELD_OUT = (
    "Some outputs were used to choose {what}; the others, [held out], were looked at only then and "
    "had no say in the choice."
)
_PARTS = {
    "HistogramTester": _HELD_OUT.format(what="the groups of outputs that tell A from B"),
    "HockeyStickTester": _HELD_OUT.format(what="the outcome that tells A from B best"),
    "MMDTester": _HELD_OUT.format(what="the measure by which outputs are compared"),
    "RenyiTester": _HELD_OUT.format(what="the function of the output that is compared"),
}
_WHY_NOT = "How often it accuses a claim that holds is not known for so many outputs."
_UNKNOWN_PARTS = "How it does that, its documentation says."


def _counted(audit: Audit, of_samples: bool) -> Any:
    found = audit.counterexample
    assert found is not None
    made = count(found.data.draws + found.neighbour.draws, "output" if of_samples else "draw")
    return linked(
        "{made} were kept for last: one [event] was put into words and counted on them, and they "
        "had no say in its choice. From these counts its probability on either side is "
        "[certified].",
        made=made,
    )


def _replay(audit: Audit) -> Iterator[Any]:
    yield linked(
        "A [pair] of [neighbouring datasets] and an [event] were known from an earlier audit. "
        "Nothing was searched."
    )
    yield linked(
        "The [mechanism] ran on A and on B again, {draws} in all, and the event was counted.",
        draws=count(audit.samples, "draw"),
    )
    yield linked(
        "From these counts its probability on either side is [certified]. The [claim] is refuted "
        "if it does not allow that; if it holds, this happens with a probability of at most "
        "{alpha} ([alpha]).",
        alpha=chance_in_words(audit.alpha),
    )


def _training(audit: Audit, seen: TrainingEvidence) -> Iterator[Any]:
    yield linked(
        "[Canaries] were made for the audit: {canaries}. A fair coin decided for each whether it "
        "takes part, and nothing that computes a score knew the coin.",
        canaries=training.canaries_in_words(seen),
    )
    yield linked(
        "{when} each canary got a [score] from what was released. From the scores it was guessed "
        "which canaries were in.",
        when="At every step" if seen.null.value == EVERY_STEP else "After the training",
    )
    if seen.deciding.test.startswith("one wealth"):
        yield linked(
            "A bet was placed on each guess, with a [wealth] of 1 to begin with. The bets win "
            "nothing on average if {null}.",
            null=_FAIR_IF.get(seen.null.value, "the claim holds"),
        )
    else:
        yield linked(
            "A test ({test}) says how likely so many right guesses are. If the [claim] holds, what "
            "is released lets only so many be right, whatever canaries do to each other.",
            test=seen.deciding.test,
        )
    yield linked(
        "As much [evidence] as a refutation needs, {wanted}, comes up with a probability of at "
        "most {alpha} ([alpha]) then. It was {end}.",
        wanted=f"1 in {one_in_number(audit.alpha)}",
        alpha=chance_in_words(audit.alpha),
        end="reached" if audit.refuted else "not reached",
    )


_FAIR_IF = {
    INDEPENDENT: "the claim holds and canaries do nothing to each other",
    EVERY_STEP: "every step keeps the claim",
}


def untested_by(audit: Audit) -> list[Any]:
    """What an audit by draws, or of a training, did not look at."""
    if audit.training is not None:
        return [*map(linked, (_OTHER_CANARIES, _RESHUFFLE, _BESIDE, _OTHER_CODE))]
    of_samples = wording.is_of_samples(audit)
    said = [_SAMPLES_ALONE if of_samples else _OTHER_PAIRS, _RARE]
    if audit.is_replay:
        said = [_OTHER_EVENTS]
    said.append(_BESIDE)
    if audit.floats != "bits":
        said.append(_ROUNDING)
    return [*map(linked, (*said, _OTHER_USES, _OTHER_CODE))]


_OTHER_PAIRS = (
    "[Pairs] that were not tried, and datasets outside of the rules above: larger ones, other "
    "values, another meaning of [neighbours]."
)
_SAMPLES_ALONE = "Any other two datasets, and how these samples were drawn."
_OTHER_EVENTS = "Any other [pair] of datasets and any other [event]."
_RARE = (
    "What happens too rarely, or differs too little between A and B, to show in so many [draws]."
)
_BESIDE = "Whatever is not an output: running time, memory, logs, the size of a response."
_ROUNDING = (
    "The rounding of floats: the last bits of a number may tell more than the number, and were not "
    "looked at."
)
_OTHER_CANARIES = (
    "Other [canaries], other [scores], and what the training does to records unlike them."
)
_RESHUFFLE = (
    "How batches are drawn: a secret reshuffle that is accounted as Poisson sampling shows nothing "
    "here."
)


def steps_inside(found: InsideAudit) -> list[Any]:
    """How an audit inside was made."""
    return [
        linked(
            "[Pairs|pair] of [neighbouring datasets], A and B, were chosen by these rules: "
            "{relation}. {tried}.",
            relation=one_line(found.neighbours, _MAX_RELATION) or "not recorded",
            tried=f"Tried: {count(found.pairs_tried, 'pair')}",
        ),
        linked(
            "The code ran on one of them, and everything random that it used was recorded: its "
            "[releases]. Then it ran on the other, with every release forced to the same value. "
            "{made} recorded.",
            made=f"{count(found.transcripts, 'transcript')} "
            f"{'was' if found.transcripts == 1 else 'were'}",
        ),
        linked(
            "The noise of each release is known, so it is known exactly how many times as likely "
            "it is on A as on B: its [loss]. The losses of a [transcript] add up.",
        ),
        linked(
            "A [claim] without delta is broken by a single [loss] beyond its [epsilon], without "
            "any chance of error. Other claims are bet against: if the claim holds, the [wealth] "
            "of the bets ever reaches {goal} with a probability of at most {alpha} ([alpha]).",
            goal=one_in_number(found.alpha),
            alpha=chance_in_words(found.alpha),
        ),
    ]


def untested_inside(limits: str) -> list[Any]:
    """What an audit inside did not look at."""
    return [
        linked("{limits}", limits=limits),
        linked(_OTHER_PAIRS),
        linked(
            "The rounding of floats, and whatever is not a [release]: running time, memory, logs."
        ),
        linked(_OTHER_CODE),
    ]
