"""How many draws the bets need against a total leak: an output that names its dataset.

On a total leak every guess of the label is right. Under a claim a guess is right with probability
at most `right`, so the best bet pays `1/right` on each draw and grows by `log(1/right)`: no audit
refutes the claim with fewer than `log(1/alpha) / log(1/right)` draws on a pair, whatever it finds.

A level `(epsilon, delta)` of a profile bounds `right` by `(1 + delta x) / (1 + x)`,
`x = e^-epsilon`: what the tangent bet pays on a sure guess, inverted
(docs/mathematics.md, section 3). A Rényi
divergence of at most `e` at `order` bounds it directly, where its profile says nothing: `right` is
at most the `p` with

    p^order (1-p)^(1-order) + (1-p)^order p^(1-order) = e^((order-1) e).

(The pairs within a claim form a convex set that swapping both sides and outputs maps to itself, so
the best of them is symmetric: `Q(A) = 1 - P(A)`.)
"""

from __future__ import annotations

import math

from dpaudit.betting.payoffs import renyi_orders
from dpaudit.claims import ZCDP, Claim, GaussianDP, Profile, RenyiDP, point_of

_HALVINGS = 200
_WANTED_FACTOR = 2.0  # times the draws of a total leak, before silence counts as evidence


def draws_for_leak(claim: Claim, alpha: float) -> float:
    """About how many draws on one pair a total leak needs to be refuted; infinite if none will do.

    >>> from dpaudit.claims import PureDP
    >>> round(draws_for_leak(PureDP(1.0), 1e-6)), round(draws_for_leak(PureDP(10.0), 1e-6), -3)
    (44, 304000.0)
    """
    growth = leak_growth(claim)
    return math.log(1.0 / alpha) / growth if growth > 0.0 else math.inf


def draws_wanted(claim: Claim, alpha: float) -> float:
    """The draws on one pair without which an audit is undecided; infinite where none are enough.

    >>> from dpaudit.claims import PureDP
    >>> draws_wanted(PureDP(1.0), 1e-6), draws_wanted(PureDP(10.0), 1e-6)
    (88.0, 608628.0)
    """
    wanted = _WANTED_FACTOR * draws_for_leak(claim, alpha)
    return float(max(round(wanted), 1)) if math.isfinite(wanted) else math.inf


def leak_growth(claim: Claim) -> float:
    """The log-wealth that a draw of a total leak is worth against a claim, at best.

    >>> from dpaudit.claims import ApproxDP
    >>> round(leak_growth(ApproxDP(1.0, 0.01)), 6)  # log((1 + e^-1) / (1 + 0.01 e^-1))
    0.30959
    """
    found = [tangent_growth(epsilon, delta) for epsilon, delta in _levels(claim)]
    return max(found + [renyi_growth(*bound) for bound in renyi_orders(claim)])


def tangent_growth(epsilon: float, delta: float) -> float:
    """The growth against `(epsilon, delta)`-DP: `log((1 + x) / (1 + delta x))`, `x = e^-epsilon`.

    >>> round(tangent_growth(1.0, 0.0), 6)
    0.313262
    """
    x = math.exp(-epsilon)
    return math.log1p(x * (1.0 - delta) / (1.0 + delta * x))


def renyi_growth(order: float, epsilon: float) -> float:
    """The growth against a Rényi divergence of at most `epsilon`, in both directions.

    >>> round(renyi_growth(2.0, 1.0), 6)
    0.256074
    """
    bound = (order - 1.0) * epsilon

    def log_moment(wrong: float) -> float:  # wrong = 1 - p
        one, zero = math.log1p(-wrong), math.log(wrong)
        first, second = order * one + (1.0 - order) * zero, order * zero + (1.0 - order) * one
        most = max(first, second)
        return most + math.log(math.exp(first - most) + math.exp(second - most))

    low, high = math.log(1e-300), math.log(0.5)  # bisected as logarithms: p may be nearly 1
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_moment(math.exp(middle)) > bound else (low, middle)
    return -math.log1p(-math.exp(low))  # low: rounding errs towards less growth


def _levels(claim: Claim) -> tuple[tuple[float, float], ...]:
    """Levels of a claim, the best among them: 0, or those that are saved of a profile."""
    point = point_of(claim)
    if point is not None:
        return (point,)
    if isinstance(claim, GaussianDP | ZCDP | RenyiDP):
        return ((0.0, claim.delta(0.0)),)
    saved = claim.to_json() if isinstance(claim, Profile) else Profile(claim.delta).to_json()
    points = saved["points"]
    assert isinstance(points, list)
    return tuple((float(epsilon), min(float(delta), 1.0)) for epsilon, delta in points)
