"""The summary of an audit for a reader who is no statistician: questions, and their answers.

What was claimed, what was found, how sure that is, what it means and what it does not mean. The
words are right for every method: bets, batch testers, replays, samples in hand and trainings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpaudit.claims import (
    ZCDP,
    ApproxDP,
    Claim,
    GaussianDP,
    PureDP,
    RenyiDP,
    most_allowed,
)
from dpaudit.neighbours import NO_DATASETS
from dpaudit.report import training, wording
from dpaudit.report.showing import (
    apart,
    chance_in_words,
    count,
    lower,
    one_in,
    one_line,
    percent,
    power,
    upper,
)

if TYPE_CHECKING:
    from dpaudit.results import Audit, Counterexample

Answer = tuple[str, list[str]]  # a question, and the sentences that answer it

CLAIMED, FOUND, SURE = "What was claimed", "What was found", "How sure that is"
MEANS, MEANS_NOT = "What it means", "What it does not mean"
LEAD = {
    "refuted": "The claim does not hold.",
    "not refuted": "Nothing was found that breaks the claim. This is not a proof that it holds.",
    "undecided": "The evidence is not enough for a verdict.",
    "suspected": "A tester accuses the claim, but nothing is proved.",
}
SUITE = {
    "refuted": "The claim does not hold: its page shows what breaks it.",
    "not refuted": "Nothing was found that breaks the claim. That is no proof that it holds.",
    "undecided": "Neither: the evidence was not enough for a verdict.",
    "suspected": "A tester accuses the claim, but nothing is proved.",
    "broken inside": "What the code releases on the way breaks the claim; its output may keep it.",
    "cannot follow": "The code does something that this kind of audit cannot follow.",
}
NOT_BOTH = "The claim does not hold, or the canaries are not independent."
OF_A_STEP = "The claim does not hold for every step."
INDEPENDENT = "this claim and independent canaries"
EVERY_STEP = "this claim for every step, given all before it"
_IF_HELD = {
    INDEPENDENT: "the claim held and canaries were independent",
    EVERY_STEP: "every step kept the claim",
}
_AS_FAR_AS = {
    INDEPENDENT: "If they are, it is the claim: ",
    EVERY_STEP: "At some step ",
}
_WHO_TOOK_PART = "whoever sees what is released can tell who took part better than was promised."
_MAX_NAME, _MAX_EVENT = 60, 90
_MOST_WRITTEN_OUT = 1e9  # times; e^epsilon says more than so many digits
_NOT_A_WEAK_FORM = (
    'It is neither a weak form of "refuted" nor of "not refuted": nothing was concluded.'
)


def lead_of(audit: Audit) -> str:
    """The verdict in a sentence."""
    if audit.refuted and audit.training is not None:
        null = audit.training.null.value
        return {INDEPENDENT: NOT_BOTH, EVERY_STEP: OF_A_STEP}.get(null, LEAD["refuted"])
    return LEAD[audit.verdict.value]


def summary_of(audit: Audit) -> list[Answer]:
    """The summary of an audit by draws or of a training."""
    answers = (
        (CLAIMED, _claimed(audit)),
        (FOUND, _found(audit)),
        (SURE, _sure(audit)),
        (MEANS, _means(audit)),
        (MEANS_NOT, _means_not(audit)),
    )
    return [(question, [each for each in said if each]) for question, said in answers]


def claim_in_words(claim: Claim) -> str:
    """What a claim promises.

    >>> print(claim_in_words(PureDP(1.0)))
    On any two neighbouring datasets, no outcome is more than e^1 = 2.72 times as likely on one as
    on the other.
    """
    near = "any two neighbouring datasets"
    match claim:
        case PureDP() if claim.epsilon == 0.0:
            return f"On {near}, every outcome is exactly as likely."
        case PureDP():
            return (
                f"On {near}, no outcome is more than {_times(claim.epsilon)} times as likely on "
                "one as on the other."
            )
        case ApproxDP():
            return (
                f"On {near}, no outcome is more than {_times(claim.epsilon)} times as likely on "
                f"one as on the other, plus a probability of {upper(claim.delta_at_epsilon)} "
                "(delta)."
            )
        case RenyiDP() | ZCDP():
            return f"On {near}, {_on_average(claim)}"
        case GaussianDP():
            return (
                f"Outputs on {near} are at least as hard to tell apart as numbers from two bell "
                f"curves of deviation 1 whose centres lie {claim.mu:.12g} apart."
            )
    return (
        f"On {near}, no outcome is more than e^epsilon times as likely on one as on the other, "
        "plus a delta. The claim is the curve that names the delta for each epsilon."
    )


def _on_average(claim: RenyiDP | ZCDP) -> str:
    if isinstance(claim, RenyiDP):
        divergence = f"of order {claim.order:.12g} is at most {claim.epsilon:.12g}."
    else:
        divergence = f"of each order is at most {claim.rho:.12g} times the order."
    return (
        "an average of how many times as likely outcomes are on one as on the other has a limit: "
        f"the Rényi divergence {divergence}"
    )


def _times(epsilon: float) -> str:
    times = power(epsilon)
    name = f"e^{epsilon:.12g}"
    if times > _MOST_WRITTEN_OUT:
        return name
    rounded = float(upper(times))
    return f"{name} = {rounded:,.0f}" if rounded >= 1_000.0 else f"{name} = {upper(times)}"


def _claimed(audit: Audit) -> Iterator[str]:
    name = one_line(audit.mechanism, _MAX_NAME)
    claim = one_line(str(audit.claim), _MAX_NAME)
    yield f"That {name} keeps {claim}. {claim_in_words(audit.claim)}"
    if audit.training is not None and audit.training.null.value == EVERY_STEP:
        yield training.meaning_of(audit.training)


def _found(audit: Audit) -> Iterator[str]:
    if audit.interrupted:
        yield wording.INTERRUPTED
    if audit.training is not None:
        yield _guesses(audit)
    elif audit.refuted:
        yield _violation(audit)
    elif audit.verdict.value == "undecided":
        yield undecided_in_plain_words(audit)[0]
    elif audit.suspected:
        yield wording.suspicion(audit)[0]
    else:
        yield f"No violation, {_looked_at(audit)}."
    if not audit.refuted and (leaks := wording.leaks(audit)):
        yield f"Certified: {leaks}, and no smaller {audit.symbol} holds."


def _looked_at(audit: Audit) -> str:
    draws = count(audit.samples, "draw")
    if audit.is_replay:
        return f"by a known counterexample, in {draws}"
    if wording.is_of_samples(audit):
        return f"in {count(audit.samples, 'output')} of the two samples"
    return f"in {draws} on {count(audit.pairs_tried, 'pair')} of datasets"


def _violation(audit: Audit) -> str:
    found = audit.counterexample
    if found is None:
        return wording.NO_EVENT
    where = "two neighbouring datasets, A and B"
    here = "In the two samples, A and B," if found.pair == NO_DATASETS else f"On {where},"
    return f"{here} {_chances(audit.claim, found)}"


def _chances(claim: Claim, found: Counterexample) -> str:
    """How likely the event is on either side, and how likely the claim lets it be."""
    likely, other = wording.LETTERS[found.likelier], "B" if found.likelier == "data" else "A"
    event, most = one_line(found.event, _MAX_EVENT), percent(upper(found.unlikely.upper))
    known = f'the outcome "{event}" has a chance of at most {most} on {other}'
    if not found.breaks(claim):
        return (
            f"{known} and of at least {percent(lower(found.likely.lower))} on {likely}. That alone "
            "stays within the claim; all draws together do not."
        )
    allowed, seen = apart(most_allowed(claim, found.unlikely.upper), found.likely.lower)
    return (
        f"{known}. So the claim allows it a chance of at most {percent(allowed)} on {likely}. "
        f"There it is at least {percent(seen)}."
    )


def _guesses(audit: Audit) -> str:
    """How well it was guessed which canaries were in, and how likely that is."""
    assert audit.training is not None
    finding = audit.training.deciding
    guesses = "guess" if finding.guesses == 1 else "guesses"
    right = (
        f"Of {finding.guesses:,} {guesses} whether a canary was in the training, "
        f"{finding.right:,} were right."
    )
    if (evidence := one_in(finding.log_evidence)) == "none":
        return f"{right} That is no evidence against the claim."
    held = _IF_HELD.get(audit.training.null.value, "the claim held")
    return f"{right} If {held}, such evidence would have a chance of at most {evidence}."


def _sure(audit: Audit) -> Iterator[str]:
    alpha = chance_in_words(audit.alpha)
    match audit.verdict.value:
        case "refuted":
            said = wording.chance(_kind(audit), audit.alpha).removesuffix(".")
            yield f"{said}: {alpha}." if alpha != upper(audit.alpha) else f"{said}."
            if audit.training is None and not audit.is_replay:
                pairs = "" if wording.is_of_samples(audit) else "every pair, "
                yield f"That covers all of the audit: {pairs}every outcome, and when it ended."
            if wording.is_of_others(audit):
                yield "That is so if the tester is what its author states."
            if audit.counterexample is not None:
                wrong = chance_in_words(audit.counterexample.alpha)
                yield f"The percentages are wrong with a chance of at most {wrong}."
        case "not refuted":
            bound = f" The certified bound errs with a chance of at most {alpha}."
            yield f"Finding nothing proves nothing.{bound if wording.leaks(audit) else ''}"
            if audit.training is not None:
                detectable = training.detectable_in_words(audit.training)
            else:
                detectable = wording.detectable(audit, pair="the strongest pair")
            if detectable:
                yield f"{detectable[0].upper()}{detectable[1:]}."
        case "suspected":
            yield "Not known: how often this tester accuses a claim that holds is not proved."
        case _:
            yield (
                "Not sure enough. A verdict would accuse a claim that holds with a chance of at "
                f"most {alpha}."
            )
    if audit.training is not None and audit.training.null.value != EVERY_STEP:
        yield training.meaning_of(audit.training)


def _kind(audit: Audit) -> str:
    return "a replay" if audit.is_replay else "an audit"


def _means(audit: Audit) -> Iterator[str]:
    match audit.verdict.value:
        case "refuted":
            yield lead_of(audit)
            if audit.training is None:
                yield (
                    "Whoever sees the output can tell A from B better than was promised, so "
                    "whoever relies on the claim has less protection than they believe."
                )
            else:
                said = f"{_AS_FAR_AS.get(audit.training.null.value, '')}{_WHO_TOOK_PART}"
                yield f"{said[0].upper()}{said[1:]}"
        case "not refuted":
            yield f"{_tried(audit)} gave no reason to doubt the claim."
        case _:
            yield "There is no conclusion, in either direction."
            advice = wording.suspicion if audit.suspected else undecided_in_plain_words
            yield advice(audit)[1].replace(wording.GLUE, " ")


def _tried(audit: Audit) -> str:
    if audit.training is not None:
        return "These canaries and this score"
    if audit.is_replay:
        return "This event, counted again,"
    return (
        "These samples"
        if wording.is_of_samples(audit)
        else "These pairs of datasets and these draws"
    )


def _means_not(audit: Audit) -> Iterator[str]:
    match audit.verdict.value:
        case "refuted":
            yield "Not that data of any person were disclosed."
            if audit.symbol is not None and audit.lower_bound:
                yield (
                    f"Not that {audit.symbol} is known exactly: what is certified is a lower "
                    "bound, and the truth may be larger."
                )
        case "not refuted":
            if audit.is_replay:
                yield wording.ONE_EVENT
            else:
                yield wording.CAUTION if audit.training is None else training.CAUTION
        case _:
            yield _NOT_A_WEAK_FORM


def undecided_in_plain_words(audit: Audit) -> tuple[str, str]:
    """Why an audit is undecided, in chances, and what would decide it."""
    why, advice = wording.undecided(audit)
    leaning = audit.training is not None or audit.evidence.is_leaning
    if not leaning:
        return why, advice
    if audit.training is not None:
        evidence = one_in(-math.log(max(audit.evidence.p_value, 5e-324)))
    else:
        evidence = one_in(audit.evidence.log_wealth)
    wanted = one_in(-math.log(audit.alpha))
    return (
        f"The evidence leans against the claim: {evidence}, where a refutation needs {wanted}.",
        advice,
    )
