"""The sentences about a verdict, each said once: pages of text and of HTML are laid out from them.

Spaces at which no line may be broken are `GLUE`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpaudit.betting import draws_for_leak, draws_wanted
from dpaudit.bounds import round_down
from dpaudit.claims import ApproxDP, Claim, PureDP, Scalable, most_likely
from dpaudit.report.showing import apart, count, lower, one_line, power, upper

if TYPE_CHECKING:
    from dpaudit.results import Audit, Counterexample, Tally

GLUE = "\xa0"
NAME = 40  # columns of a mechanism's name

INTERRUPTED = "Interrupted: this is what was found until then."
NO_EVENT = "All draws together refute the claim; no single event was certified."
CAUTION = (
    "This is not a proof of privacy: a pair that was not tried, or a smaller excess, may still "
    "break the claim."
)

BITS = "how they are rounded was looked at too: their grain, magnitude, width and last bits"
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


def finding(audit: Audit) -> str:
    """What was found of which claim, without the verdict's word."""
    name, claim = one_line(audit.mechanism, NAME), glued(one_line(str(audit.claim), NAME))
    if audit.verdict.value == "refuted":
        return f"{name} {broken(audit.claim, audit.lower_bound, claim)}"
    so_far = " so far" if audit.verdict.value == "undecided" else ""
    found = f": {certified(audit) or 'nothing'} certified{so_far}" if audit.symbol else ""
    return f"{name}, claimed {claim}{found}"


def broken(claim: Claim, bound: float | None, name: str) -> str:
    """What a refuted claim's parameter must be: more than was claimed, whatever was certified."""
    if not isinstance(claim, Scalable):
        return f"does not keep {name}"
    if bound is None or bound <= claim.strength:
        shown = f"{claim.symbol} > {round_down(claim.strength, 12):.12g}"
    else:
        shown = f"{claim.symbol} >= {lower(bound, above=claim.strength)}"
    return f"is not {name}: {glued(shown)}"


def certified(audit: Audit) -> str:
    """The certified bound in the claim's own parameter; nothing if there is none."""
    if audit.symbol is None or audit.lower_bound is None or audit.lower_bound <= 0.0:
        return ""
    return glued(f"{audit.symbol} >= {lower(audit.lower_bound)}")


def chance(what: str, alpha: float) -> str:
    """How likely a false accusation is; `what` accuses."""
    return (
        f"If the claim held, {what} like this would accuse it with probability at most "
        f"{upper(alpha)}."
    )


def detectable(audit: Audit) -> str:
    """What would have been refuted; nothing if there is no estimate, or it could be false.

    An excess over a claim with a delta may be in delta alone: then no epsilon holds.
    """
    claim = audit.claim
    if audit.detectable is None or not isinstance(claim, PureDP | ApproxDP):
        return ""
    if claim.delta(claim.epsilon) > 0.0:
        return ""
    where = "on this pair " if audit.strongest is not None else ""
    return (
        f"an epsilon of {upper(audit.detectable)} or more {where}would have been refuted "
        "(an estimate)"
    )


def e_value(audit: Audit) -> str:
    """The wealth against the claim, rounded down."""
    return lower(audit.evidence.e_value * (1.0 + 1e-12))  # what a logarithm and back lose


def undecided(audit: Audit) -> tuple[str, str]:
    """Why an audit is undecided, and what would decide it."""
    if audit.evidence.is_leaning:
        why = (
            f"The evidence leans against the claim: e-value {e_value(audit)}, where a refutation "
            f"needs {upper(1.0 / audit.alpha)}."
        )
        return why, _advice(audit.forecast, "")
    most = audit.most_draws
    return (
        f"Too few draws for a verdict: no pair got more than {most:,}. "
        f"{need(audit.claim, audit.alpha)}",
        _advice(audit.forecast, " on one pair"),
    )


def need(claim: Claim, alpha: float) -> str:
    """What a total leak would take, and an audit with it."""
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


def event(found: Counterexample) -> str:
    """The event, and the side on which it is likelier."""
    return f"{found.event} (likelier on {found.likelier})"


def floating(*found: Counterexample | None) -> tuple[str, ...]:
    """What a finding about the bits of floats means; nothing where no event is about them."""
    rules = (one.rule for one in found if one is not None)
    return FLOATING if any(rule is not None and rule.is_about_floats for rule in rules) else ()


def bound(tally: Tally, *, at_least: bool) -> str:
    """The bound that counts on one side."""
    return f"at least {lower(tally.lower)}" if at_least else f"at most {upper(tally.upper)}"


def shows(found: Counterexample) -> str:
    """What an event alone shows."""
    if found.epsilon_lower <= 0.0:
        return "nothing"
    at_delta = f" at delta = {upper(found.delta)}" if found.delta > 0.0 else ""
    return glued(f"epsilon >= {lower(found.epsilon_lower)}{at_delta}")


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
    return _probabilities(found, most_likely(claim.delta, found.unlikely.upper))


def _times(claim: PureDP | ApproxDP, found: Counterexample) -> tuple[str, ...]:
    slack = claim.delta(claim.epsilon)
    plus, less = (f" (plus delta = {upper(slack)})", " (less delta)") if slack > 0.0 else ("", "")
    allowed, seen = apart(power(claim.epsilon), power(found.epsilon_lower))
    may = f"The claim allows at most e^{claim.epsilon:.12g} = {allowed} times{plus}."
    if found.epsilon_lower <= 0.0:
        return may, f"Seen: no sure difference, so this event alone shows {shows(found)}."
    return (
        may,
        f"Seen: at least {seen} times{less}, so this event alone shows "
        + glued(f"epsilon >= {lower(found.epsilon_lower, above=claim.epsilon)}."),
    )


def _probabilities(found: Counterexample, most: float) -> tuple[str, ...]:
    other = "neighbour" if found.likelier == "data" else "data"
    allowed, seen = apart(most, found.likely.lower)
    return (
        f"With at most {upper(found.unlikely.upper)} on {other}, the claim allows at most "
        f"{allowed} on {found.likelier}.",
        f"Seen: at least {seen}, so this event alone shows {shows(found)}.",
    )
