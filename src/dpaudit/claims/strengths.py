"""What an event shows of a claim: whether it refutes it, and which strengths of it.

An event has probability at least `likely` on one dataset and at most `unlikely` on the other. A
claim that bounds Rényi divergences bounds that of the two coins directly (data processing), which
says more than the profile it implies; a Gaussian claim bounds the trade-off of the errors.

Only `math` and `statistics` are used, so that claims can be read without loading numpy.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from dpaudit.architecture import Claim, Scalable
from dpaudit.claims.kinds import ZCDP, GaussianDP, RenyiDP, point_of
from dpaudit.claims.profiles import most_likely

_HALVINGS = 60
_MAX_STRENGTH = 1e6  # no audit has draws enough to show more
# Orders at which zCDP is looked at: any of them is safe, more of them are sharper.
_ORDERS = tuple(1.0 + math.exp(-6.0 + step / 8.0) for step in range(97))


def strength_of_event(claim: Scalable, likely: float, unlikely: float) -> float:
    """The largest strength that an event refutes, with all below; 0 if it shows nothing.

    Gaussian: `mu >= z(likely) - z(unlikely)`, z the normal quantile (Dong, Roth and Su 2022).
    Rényi: the divergence of two coins. zCDP: the largest of these over the order, by the order.
    `(epsilon, delta)`: the epsilon at that delta. Other claims: their profile.

    >>> from dpaudit.claims import PureDP
    >>> print(round(strength_of_event(GaussianDP(1.0), 0.5, 0.1), 4))
    1.2816
    >>> print(round(strength_of_event(PureDP(1.0), 0.9, 0.1), 4))  # log(0.9 / 0.1)
    2.1972
    """
    if not likely > unlikely:
        return 0.0
    if point := point_of(claim):
        return _epsilon(likely, unlikely, point[1])
    if not isinstance(claim, GaussianDP | RenyiDP | ZCDP):
        return _by_profile(claim, likely, unlikely)
    if unlikely <= 0.0 or likely >= 1.0:
        return math.inf
    if isinstance(claim, GaussianDP):
        return NormalDist().inv_cdf(likely) - NormalDist().inv_cdf(unlikely)
    if isinstance(claim, RenyiDP):
        return renyi_of_coins(claim.order, likely, unlikely)
    return max(renyi_of_coins(order, likely, unlikely) / order for order in _ORDERS)


def refutes(claim: Claim, likely: float, unlikely: float) -> bool:
    """Whether a claim allows no event with these probabilities; it bounds the complement too.

    >>> refutes(GaussianDP(1.0), 0.5, 0.1), refutes(GaussianDP(1.5), 0.5, 0.1)
    (True, False)
    """
    if point := point_of(claim):
        inside, outside = (likely, unlikely), (1.0 - unlikely, 1.0 - likely)
        return any(_epsilon(*sides, point[1]) > point[0] for sides in (inside, outside))
    if isinstance(claim, GaussianDP | RenyiDP | ZCDP):
        return strength_of_event(claim, likely, unlikely) > claim.strength
    return likely > most_likely(claim.delta, unlikely)


def most_allowed(claim: Claim, unlikely: float) -> float:
    """The most that a claim allows on one dataset, with at most `unlikely` on the other.

    >>> print(round(most_allowed(GaussianDP(1.2816), 0.1), 4))
    0.5
    """
    if point_of(claim) is None and not isinstance(claim, GaussianDP | RenyiDP | ZCDP):
        return most_likely(claim.delta, unlikely)
    low, high = unlikely, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if refutes(claim, middle, unlikely) else (middle, high)
    return high


def renyi_of_coins(order: float, likely: float, unlikely: float) -> float:
    """The Rényi divergence of two coins, in the direction in which it is larger.

    `log(p^a q^(1-a) + (1-p)^a (1-q)^(1-a)) / (a - 1)`, `a` the order. It grows in `p` and falls in
    `q` while `p > q`, so bounds on both sides give a bound.

    >>> print(round(renyi_of_coins(2.0, 0.9, 0.1), 4))  # log(0.81 / 0.1 + 0.01 / 0.9)
    2.0932
    """

    def moment(p: float, q: float) -> float:
        hit = order * math.log(p) + (1.0 - order) * math.log(q)
        miss = order * math.log1p(-p) + (1.0 - order) * math.log1p(-q)
        most = max(hit, miss)
        return most + math.log1p(math.exp(min(hit, miss) - most))

    largest = max(moment(likely, unlikely), moment(unlikely, likely))
    return max(largest, 0.0) / (order - 1.0)


def _epsilon(likely: float, unlikely: float, delta: float) -> float:
    from dpaudit.bounds import epsilon_from_event  # loads numpy

    return epsilon_from_event(likely, unlikely, delta)


def _by_profile(claim: Scalable, likely: float, unlikely: float) -> float:
    """The largest strength whose profile the event breaks, by doubling and bisection."""

    def broken(strength: float) -> bool:
        return refutes(claim.with_strength(strength), likely, unlikely)

    low, high = 0.0, claim.strength or 1.0
    while broken(high):
        low, high = high, 2.0 * high
        if high > _MAX_STRENGTH:
            return low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if broken(middle) else (low, middle)
    return low
