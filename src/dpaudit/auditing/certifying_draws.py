"""How many draws a certificate is given: what its event promises, and what the search has cost.

The number is planned from draws that were seen before, and fixed before the first fresh one: the
bounds of the certificate then hold as they stand (docs/mathematics.md, section 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from dpaudit.auditing.budget import MAX_CERTIFYING_DRAWS, Budget
from dpaudit.auditing.rounds import MIN_ROUNDS
from dpaudit.bounds import epsilon_from_event
from dpaudit.results import Tally

Certify = Literal["fast", "sharp"]
CERTIFY = get_args(Certify)

MIN_CERTIFYING_DRAWS = 32 * MIN_ROUNDS  # of a side: calls of 32 draws can be compared
SEARCH_FACTOR = 10  # a fast certificate costs at most so many times what the search did, and
FREE_DRAWS, _FREE_SECONDS = 20_000, 1.0  # so many draws more (about a second), or seconds
CHOOSING_SHARE = 0.4  # of the certifying draws: a refutation can come too early to choose an event
_CHOOSING_FACTOR, _FREE_CHOOSING_DRAWS = 2, 4_000  # of a fast one: twice what was seen, and some
_PROMISED_SHARE = 0.95  # of the epsilon that an event promises: to be certified
_EXCESS_SHARE = 0.5  # of the excess over the claim's delta, where that is what an event breaks


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifyingLimit:
    """What a certificate may cost, fixed when the search is over.

    All are of both sides together. `choosing` draws may go into the choice of the event first. With
    them, from `least` to `most` draws are made, as the event promises. They end by a share of the
    seconds, `by`. An event that breaks a claim by its delta may take up to `most_for_delta`.
    """

    choosing: int
    least: int
    most: int
    most_for_delta: int
    by: float = 1.0

    @classmethod
    def of(cls, budget: Budget, certify: Certify, *, seen: int) -> CertifyingLimit:
        """The limit after a search that spent this much; the event's pair was `seen` so often.

        >>> budget = Budget(300_000, None)
        >>> budget.spent = 148
        >>> CertifyingLimit.of(budget, "fast", seen=148).most
        21480
        >>> CertifyingLimit.of(budget, "sharp", seen=148).least
        80000
        """
        most, left = min(MAX_CERTIFYING_DRAWS, budget.left), budget.left
        if certify == "sharp":
            choosing = int(CHOOSING_SHARE * most)
            return cls(choosing=choosing, least=most, most=left, most_for_delta=left)
        allowed = SEARCH_FACTOR * budget.spent + FREE_DRAWS
        most = min(most, allowed)
        choosing = min(int(CHOOSING_SHARE * most), _CHOOSING_FACTOR * seen + _FREE_CHOOSING_DRAWS)
        return cls(
            choosing=choosing,
            least=0,
            most=most,
            most_for_delta=min(left, allowed),
            by=_fast_end(budget),
        )

    def fresh(self, chosen: int) -> FreshDraws:
        """The fresh draws of a side, after `chosen` draws to choose the event on."""
        least, most, most_for_delta = (
            max(draws - chosen, 0) // 2 for draws in (self.least, self.most, self.most_for_delta)
        )
        least = min(max(least, MIN_CERTIFYING_DRAWS), most)
        return FreshDraws(least=least, most=most, most_for_delta=most_for_delta, by=self.by)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshDraws:
    """Between how many draws of a side certify an event, and by which share of the seconds.

    An event that breaks a claim by its delta may take more than `most`.
    """

    least: int
    most: int
    most_for_delta: int = 0
    by: float = 1.0


def _fast_end(budget: Budget) -> float:
    """The share of the seconds at which a fast certificate ends; 1 without a limit of seconds."""
    if budget.seconds is None:
        return 1.0
    return min(((1 + SEARCH_FACTOR) * budget.elapsed + _FREE_SECONDS) / budget.seconds, 1.0)


def draws_for_promise(
    likely: tuple[float, float],
    unlikely: tuple[float, float],
    fresh: FreshDraws,
    *,
    level: tuple[float, float],
    alpha: float,
    anytime: bool = False,
) -> int:
    """The draws of a side that should certify 95 % of the epsilon that an event promises.

    `likely` and `unlikely` are its hits and draws so far, `level` the claim's epsilon and delta. An
    event that was never seen on the unlikely side promises an epsilon without end: under a claim
    with a delta, what should be certified is half of its excess over that. Otherwise, or if it
    promises nothing, all draws are made.

    >>> fresh = FreshDraws(least=1, most=10**6)
    >>> draws_for_promise((700, 1000), (200, 1000), fresh, level=(1.0, 0.0), alpha=1e-6)
    45099
    """
    epsilon, delta = level
    p, q = (min(hits / max(draws, 1.0), 1.0) for hits, draws in (likely, unlikely))
    promised, excess = epsilon_from_event(p, q, delta), p - math.exp(epsilon) * q - delta
    by_delta = delta > 0.0 and excess > 0.0 and (q == 0.0 or promised <= epsilon)
    if not by_delta and not 0.0 < promised < math.inf:
        return fresh.most
    most = max(fresh.most, fresh.most_for_delta) if by_delta else fresh.most

    def suffices(draws: int) -> bool:
        """By the hits to expect, rounded to the bad side."""
        above = Tally.of(math.floor(draws * p), draws, alpha=alpha, anytime=anytime)
        below = Tally.of(math.ceil(draws * q), draws, alpha=alpha, anytime=anytime)
        if by_delta:
            certified = above.lower - math.exp(epsilon) * below.upper
            return certified >= delta + _EXCESS_SHARE * excess
        expected = epsilon_from_event(above.lower, below.upper, delta)
        return expected >= _PROMISED_SHARE * promised

    low, high = max(fresh.least, 1), max(fresh.least, 1)
    while high < most and not suffices(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:  # too few at `low`; enough at `high`, or it is the most
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
