"""The sentences about a verdict, each said once; texts and HTML pages are laid out from them.

The two datasets of a pair are called A (`pair.data`) and B (`pair.neighbour`). A bound is said as
`epsilon >= 1.8` only of a refuted claim; elsewhere that could be read as a guarantee, so it is said
as what leaks. Spaces at which no line may be broken are `GLUE`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpaudit.betting import draws_for_leak, draws_wanted
from dpaudit.bounds import round_down
from dpaudit.claims import ApproxDP, Claim, PureDP, RenyiDP, Scalable, most_allowed, point_of
from dpaudit.neighbours import NO_DATASETS
from dpaudit.report import training
from dpaudit.report.showing import apart, count, lower, one_line, power, upper

if TYPE_CHECKING:
    from dpaudit.results import Audit, Counterexample, Tally

GLUE = "\xa0"
MAX_NAME = 40  # columns of a mechanism's name
BETS = "BettingTester"  # the tester of an audit that bets
PROVED = (  # exact testers of ours, whose bounds docs/mathematics.md proves
    "HistogramTester",
    "HockeyStickTester",
    "MMDTester",
    "RenyiTester",
    "StatDP",
    "DPSniper",
    "DeltaSiege",
    "NearestNeighbours",
    "SequentialMMD",
    "KernelRenyi",
    "PrivacyLossBounds",
    "FiniteOutputs",
)  # in our mathematics
LETTERS = {"data": "A", "neighbour": "B"}

INTERRUPTED = "Interrupted: this is what was found until then."
NO_EVENT = "All draws together refute the claim; no single event was certified."
CAUTION = (
    "This is not a proof of privacy: a pair that was not tried, or a smaller excess, may still "
    "break the claim."
)
_GUARANTEES = {"exact": "exact", "asymptotic": "asymptotic", "none": "no guarantee"}
_WHY_NOT = {  # an accusation refutes nothing
    "asymptotic": "its guarantee is asymptotic: it holds in the limit of many outputs only",
    "none": "it has no guarantee: nothing is proved of what it says",
}
ONE_EVENT = (
    "This is not a proof of privacy: one event was counted, and nothing was searched. Another "
    "pair or event, or more draws, may still break the claim."
)
BITS = "the audit also looked at their rounding: grain, magnitude, width and last bits"
FLOATING = (
    "This is a floating-point finding: noise that is added in floats leaves the sum on a grid that "
    "depends on the data (Mironov 2012, On significance of the least significant bits for "
    "differential privacy). As real numbers the outputs may well keep the claim.",
    "Remedies: the snapping mechanism (dpaudit.zoo.Snapping), or discrete Laplace or "
    "Gaussian noise on a fixed grid, as OpenDP draws it.",
)


def glued(text: str) -> str:
    """The text on one line, whatever the width.

    >>> glued("a b") == "a b", len(glued("a b"))
    (False, 3)
    """
    return text.replace(" ", GLUE)


def finding(audit: Audit, *notes: str) -> str:
    """What was found about which claim, with notes behind it in brackets."""
    name, claim = one_line(audit.mechanism, MAX_NAME), glued(one_line(str(audit.claim), MAX_NAME))
    if audit.training is not None:  # no bound is ever said without what it rests on
        notes = (training.tested(audit.training), *notes)
    if audit.refuted:
        said = broken(audit.claim, audit.lower_bound, claim, delta=_delta_to_say(audit))
        return noted(f"{name} {said}", *notes)
    if audit.suspected:
        said = f"accused by {one_line(audit.tester, MAX_NAME)}, which refutes nothing"
        return noted(f"{name}, claimed {claim}: {said}", _guarantee(audit), *notes)
    certified = f"certified{' so far' if audit.verdict.value == 'undecided' else ''}"
    if leak := leaks(audit):
        return noted(f"{name}, claimed {claim}: {leak}", certified, *notes)
    nothing = f": nothing {certified}" if audit.symbol else ""
    return noted(f"{name}, claimed {claim}{nothing}", *notes)


def tester(audit: Audit) -> str:
    """The tester of an audit, where it comes from, and what it guarantees.

    `DPSniper (Bichsel et al. 2021), exact`
    """
    name, method = one_line(audit.tester, MAX_NAME), audit.method
    if method is None:
        return name
    source = f" ({one_line(method.source, 2 * MAX_NAME)})" if method.source else ""
    return f"{name}{source}, {_guarantee(audit)}"


def _guarantee(audit: Audit) -> str:
    return "" if audit.method is None else _GUARANTEES[audit.method.guarantee]


def assumptions(audit: Audit) -> str:
    """What the tester of an audit assumes beyond independent outputs; empty if nothing."""
    stated = () if audit.method is None else audit.method.assumptions
    return one_line(" ".join(stated), 4 * MAX_NAME)


def suspicion(audit: Audit) -> tuple[str, str]:
    """Why an accusation refutes nothing, and what would decide it."""
    guarantee = "none" if audit.method is None else audit.method.guarantee
    name = one_line(audit.tester, MAX_NAME)
    why = f"{name} accuses the claim, but {_WHY_NOT[guarantee]}. So this refutes nothing."
    if audit.strongest is not None and audit.strongest.pair == NO_DATASETS:
        return why, "To decide, compare the same samples with the default tester: leave out tester."
    call = glued("dpaudit.audit(mechanism, claim, [(A, B)])")
    return why, f"To decide, audit this pair with the default tester: {call}."


def false_accusation(audit: Audit) -> str:
    """How likely an accusation of a claim that holds was."""
    if audit.method is None or audit.method.refutes:
        return f"at most {upper(audit.alpha)}"
    return "not bounded" if audit.method.guarantee == "none" else "bounded in the limit only"


def noted(text: str, *notes: str) -> str:
    """The text with these notes in brackets.

    >>> noted("a", "b", "c").replace(GLUE, " "), noted("a")
    ('a (b, c)', 'a')
    """
    return f"{text} ({', '.join(map(_glued_if_short, notes))})" if notes else text


def _glued_if_short(note: str) -> str:
    return glued(note) if len(note) <= MAX_NAME else note


def broken(claim: Claim, bound: float | None, name: str, *, delta: float | None = None) -> str:
    """What a refuted claim's parameter must be: more than was claimed, whatever was certified.

    `delta` is given where that is what the claim breaks by (see `breaking_delta`).
    """
    if not isinstance(claim, Scalable):
        return f"does not keep {name}"
    if delta is not None:
        shown = f"delta >= {_at_epsilon(claim, delta)}"
    elif bound is None or bound <= claim.strength:
        shown = f"{claim.symbol} > {round_down(claim.strength, 12):.12g}"
    else:
        shown = f"{claim.symbol} >= {lower(bound, above=claim.strength)}"
    return f"is not {name}: {glued(shown)}"


def breaking_delta(claim: Claim, found: Counterexample | None) -> float | None:
    """The delta by which an event breaks a claim, where delta says more than epsilon; else None.

    That is where the event was never seen on the other dataset: then its mechanism may have no
    epsilon at all, and the certified one tells only how many draws there were.
    """
    point = point_of(claim)
    if found is None or point is None or point[1] == 0.0:
        return None
    shown = found.delta_lower(point[0])
    is_rare = found.unlikely.hits == 0 or found.epsilon_lower <= point[0]
    return shown if is_rare and shown > point[1] else None


def _delta_to_say(audit: Audit) -> float | None:
    """The delta to say of an audit, instead of its bound on epsilon; None if there is none."""
    delta = breaking_delta(audit.claim, audit.counterexample)
    return delta if audit.delta_lower == delta else None


def _at_epsilon(claim: Claim, delta: float) -> str:
    """A certified delta, rounded down, with the claim's epsilon: less epsilon needs more delta."""
    epsilon, claimed = point_of(claim) or (0.0, 0.0)
    return f"{lower(delta, above=claimed)} at epsilon {round_down(epsilon, 12):.12g}"


def leaks(audit: Audit) -> str:
    """The largest privacy loss certified, as a sentence; empty if there is none."""
    least = least_leak(audit)
    return f"at least {glued(f'{least} leaks')}" if least else ""


def least_leak(audit: Audit) -> str:
    """The largest privacy loss certified, in the claim's own parameter; empty if there is none."""
    bound, claim = audit.lower_bound, audit.claim
    if bound is None or bound <= 0.0 or not isinstance(claim, Scalable):
        return ""
    if (delta := _delta_to_say(audit)) is not None:
        return f"delta {_at_epsilon(claim, delta)}"
    return f"{claim.symbol} {lower(bound, above=claim.strength)}"


def is_of_samples(audit: Audit) -> bool:
    """Whether an audit compared two samples in hand, without datasets."""
    return audit.strongest is not None and audit.strongest.pair == NO_DATASETS


def is_of_others(audit: Audit) -> bool:
    """Whether the chance of a false accusation is what the author of a tester states."""
    ours = audit.is_replay or audit.training is not None
    return not ours and audit.tester not in (BETS, *PROVED)


def chance(what: str, alpha: float) -> str:
    """How likely a false accusation by `what` is."""
    return (
        f"If the claim held, {what} like this would accuse it with probability at most "
        f"{upper(alpha)}."
    )


def detectable(audit: Audit, *, pair: str = "this pair") -> str:
    """What would have been refuted; empty if there is no estimate, or it could be false.

    An excess over a claim with a delta may be in delta alone: then no epsilon holds.
    """
    claim, (_, delta) = audit.claim, point_of(audit.claim) or (0.0, 0.0)
    if audit.detectable is None or delta > 0.0 or not isinstance(claim, Scalable):
        return ""
    if audit.detectable < claim.strength:  # as a file of an older version may say
        return ""
    article = "an" if claim.symbol[0] in "aeiou" else "a"
    where = f"on {pair} " if audit.strongest is not None else ""
    return (
        f"{article} {claim.symbol} of {upper(audit.detectable)} or more {where}would have been "
        "refuted (an estimate)"
    )


def e_value(audit: Audit) -> str:
    """The wealth against the claim, rounded down."""
    return lower(audit.evidence.e_value * (1.0 + 1e-12))  # what a logarithm and back lose


def undecided(audit: Audit) -> tuple[str, str]:
    """Why an audit is undecided, and what would decide it."""
    if audit.training is not None:
        why = (
            f"The evidence leans against the claim: a p-value of {upper(audit.evidence.p_value)}, "
            f"where a refutation needs {lower(audit.alpha)}."
        )
        return why, "More canaries, or more runs, may decide it."
    if audit.evidence.is_leaning:
        why = (
            f"The evidence leans against the claim: e-value {e_value(audit)}, where a refutation "
            f"needs {upper(1.0 / audit.alpha)}."
        )
        return why, _advice(audit.forecast, "")
    few = f"Too few draws for a verdict: no pair got more than {audit.most_draws:,}."
    return f"{few} {need(audit.claim, audit.alpha)}", _advice(audit.forecast, " on one pair")


def need(claim: Claim, alpha: float) -> str:
    """How many draws a total leak would take, and so a verdict."""
    wanted = draws_wanted(claim, alpha)
    if math.isinf(wanted):
        return "The claim allows so much that no number of draws could refute it."
    needed = max(round(draws_for_leak(claim, alpha)), 1)
    return (
        f"Even a total leak would need about {count(needed, 'draw')} on a pair, so a verdict takes "
        f"at least {int(wanted):,} on one."
    )


def _advice(forecast: int | None, where: str) -> str:
    if forecast is None:
        return "More draws may decide it."
    return f"About {count(forecast, 'more draw')}{where} would decide it (an estimate)."


def floating(*found: Counterexample | None) -> tuple[str, ...]:
    """What a finding about the bits of floats means; empty where no event is about them."""
    rules = (one.rule for one in found if one is not None)
    return FLOATING if any(rule is not None and rule.is_about_floats for rule in rules) else ()


def sides(found: Counterexample) -> tuple[tuple[str, Tally, str], ...]:
    """For A and for B: the letter, the tally, and the bound that counts."""
    return tuple(
        (LETTERS[name], tally, bound(tally, at_least=name == found.likelier))
        for name, tally in (("data", found.data), ("neighbour", found.neighbour))
    )


def bound(tally: Tally, *, at_least: bool) -> str:
    """A bound on the probability of an event."""
    return f"at least {lower(tally.lower)}" if at_least else f"at most {upper(tally.upper)}"


def shows(claim: Claim, found: Counterexample, *, above: float = -math.inf) -> str:
    """What an event alone shows."""
    if (delta := breaking_delta(claim, found)) is not None:
        return f"delta is at least {glued(_at_epsilon(claim, delta))}"
    if found.epsilon_lower <= 0.0:
        return "nothing"
    at_delta = glued(f"delta = {upper(found.delta)}") if found.delta > 0.0 else ""
    least = glued(f"epsilon {lower(found.epsilon_lower, above=above)} leaks")
    return f"at least {least}{f' at {at_delta}' if at_delta else ''}"


def _alone(claim: Claim, found: Counterexample, *, above: float = -math.inf) -> str:
    shown = shows(claim, found, above=above)
    if shown == "nothing":
        return "so this event alone shows nothing."
    return f"so by this event alone {shown}."


def together(audit: Audit) -> str:
    """How surely the bounds of both counterexamples hold, each alone and both at once."""
    found, plain = audit.counterexample, audit.simplest
    assert found is not None
    assert plain is not None
    return (
        "The bounds of either event hold alone with probability at least "
        f"{glued(f'1 - {upper(max(found.alpha, plain.alpha))}')}, those of both together with at "
        f"least {glued(f'1 - {upper(found.alpha + plain.alpha)}')}."
    )


def against(claim: Claim, found: Counterexample) -> tuple[str, ...]:
    """What the claim allows for the event of an audit, and what was seen."""
    sentences = allowed_and_seen(claim, found)
    if not found.breaks(claim):
        sentences += ("It stays within the claim; all draws together do not.",)
    return sentences


def allowed_and_seen(claim: Claim, found: Counterexample) -> tuple[str, ...]:
    """What the claim allows for an event, and what was seen."""
    if isinstance(claim, PureDP | ApproxDP):
        return _times(claim, found)
    likely, unlikely = LETTERS[found.likelier], "B" if found.likelier == "data" else "A"
    most = most_allowed(claim, found.unlikely.upper)
    allowed, seen = apart(most, found.likely.lower)
    return (
        f"With at most {upper(found.unlikely.upper)} on {unlikely}, the claim allows at most "
        f"{allowed} on {likely}.",
        f"Seen: at least {seen}, {_in_strength(claim, found)}",
    )


def _in_strength(claim: Claim, found: Counterexample) -> str:
    """What an event alone shows in the parameter of a claim that is a whole profile."""
    strength = found.strength_lower(claim) if isinstance(claim, Scalable) else 0.0
    if strength <= 0.0 or not isinstance(claim, Scalable):
        return _alone(claim, found)
    least = f"{claim.symbol} is at least {lower(strength, above=claim.strength)}"
    at_order = f" at order {claim.order:.12g}" if isinstance(claim, RenyiDP) else ""
    return f"so by this event alone {glued(f'{least}{at_order}')} ({shows(claim, found)})."


def _times(claim: PureDP | ApproxDP, found: Counterexample) -> tuple[str, ...]:
    slack = claim.delta(claim.epsilon)
    plus, less = (f" (plus delta = {upper(slack)})", " (less delta)") if slack > 0.0 else ("", "")
    allowed, seen = apart(power(claim.epsilon), power(found.epsilon_lower))
    allows = f"The claim allows at most e^{claim.epsilon:.12g} = {allowed} times{plus}."
    times = f"at least {seen} times{less}" if found.epsilon_lower > 0.0 else "no sure difference"
    if (delta := breaking_delta(claim, found)) is not None:
        times = f"at least {lower(delta, above=slack)} more than that many times"
    sentences: tuple[str, ...] = (
        allows,
        f"Seen: {times}, {_alone(claim, found, above=claim.epsilon)}",
    )
    shown = found.delta_lower(claim.epsilon)
    if delta is None and shown > slack > 0.0:
        sentences += (f"Its delta is at least {glued(_at_epsilon(claim, shown))}.",)
    return sentences
