"""What a claim allows and what an event shows, as curves and boxes: the numbers of the figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.claims import HIGHEST_LEVEL, Claim, Scalable
from dpaudit.report.showing import power

if TYPE_CHECKING:
    from dpaudit.results import Counterexample

_LEVELS = 401  # of a profile: any level is safe, more of them are sharper
_LAST_LEVEL = 20.0


def delta_lower(found: Counterexample, epsilon: float) -> float:
    """The certified lower bound on delta at `epsilon`: `P(A) - e^epsilon Q(A)`, at the worst.

    The four bounds on the two sides hold together, so the event may be turned around, and the
    sides: the largest of the four differences is certified.

    >>> from dpaudit.results import Counterexample, Tally
    >>> from dpaudit.neighbours import Pair
    >>> likely, unlikely = (
    ...     Tally(hits=5, draws=10, lower=0.4, upper=0.6),
    ...     Tally(hits=1, draws=10, lower=0.05, upper=0.1),
    ... )
    >>> found = Counterexample(
    ...     pair=Pair([1], [0]),
    ...     event="output = 1",
    ...     likelier="data",
    ...     data=likely,
    ...     neighbour=unlikely,
    ...     delta=0.0,
    ...     epsilon_lower=math.log(4.0),
    ...     alpha=0.05,
    ...     seed=(),
    ... )
    >>> print(round(delta_lower(found, 0.0), 12), delta_lower(found, 2.0))
    0.3 0.0
    """
    times, data, neighbour = power(epsilon), found.data, found.neighbour
    return max(
        0.0,
        data.lower - times * neighbour.upper,
        neighbour.lower - times * data.upper,
        (1.0 - data.upper) - times * (1.0 - neighbour.lower),
        (1.0 - neighbour.upper) - times * (1.0 - data.lower),
    )


def last_level(claim: Claim, found: Counterexample | None, bound: float | None) -> float:
    """The largest epsilon worth showing: beyond the claim's fall, and beyond what was certified."""
    strength = claim.strength if isinstance(claim, Scalable) and claim.symbol == "epsilon" else 0.0
    shown = [1.25 * strength, _fallen(claim)]
    if found is not None:
        shown.append(1.15 * _first_zero(found))
    if bound is not None and isinstance(claim, Scalable) and claim.symbol == "epsilon":
        shown.append(1.25 * bound)
    return min(max(*shown, 0.1), HIGHEST_LEVEL)


def _fallen(claim: Claim) -> float:
    """Where the profile has fallen to a hundredth of what it is at 0, or the last of some levels.

    >>> from dpaudit.claims import PureDP
    >>> _fallen(PureDP(1.0))
    1.0
    """
    levels = (step / 10.0 for step in range(1, 101))
    first = claim.delta(0.0)
    return next((level for level in levels if claim.delta(level) <= 0.01 * first), 10.0)


def _first_zero(found: Counterexample) -> float:
    """Where the certified curve ends: `log(p / q)` of the event."""
    if found.unlikely.upper <= 0.0 or found.likely.lower <= 0.0:
        return 0.0
    return max(math.log(found.likely.lower / found.unlikely.upper), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Bounds on both errors of the test that says "data" where an output is in the event.

    A false positive is an output of the other side in the event, a false negative one of the
    likelier side outside of it.
    """

    false_positive: tuple[float, float, float]  # at least, seen, at most
    false_negative: tuple[float, float, float]


def error_box(found: Counterexample) -> Box:
    """The certified errors of a counterexample's event."""
    likely, unlikely = found.likely, found.unlikely
    return Box(
        false_positive=(unlikely.lower, unlikely.rate, unlikely.upper),
        false_negative=(1.0 - likely.upper, 1.0 - likely.rate, 1.0 - likely.lower),
    )


def trade_off(claim: Claim, false_positives: Sequence[float]) -> list[float]:
    """The least false negative rate that a claim allows at each false positive rate.

    `1 - beta <= e^epsilon alpha + delta(epsilon)` and the same with the sides turned around, for
    every epsilon (Dong, Roth and Su 2022, proposition 2.5): fewer levels allow more.

    >>> from dpaudit.claims import PureDP
    >>> [round(rate, 3) for rate in trade_off(PureDP(1.0), (0.0, 0.1, 1.0))]
    [1.0, 0.728, 0.0]
    """
    own = getattr(claim, "epsilon", None)
    levels = [step * _LAST_LEVEL / (_LEVELS - 1) for step in range(_LEVELS)]
    if isinstance(own, float):
        levels.append(min(own, HIGHEST_LEVEL))
    lines = [(math.exp(level), claim.delta(level)) for level in levels]
    return [
        max(
            0.0,
            max(
                max(1.0 - delta - times * rate, (1.0 - delta - rate) / times)
                for times, delta in lines
            ),
        )
        for rate in false_positives
    ]
