"""Events that share one noise: their probability, by an integral over that noise.

A sparse vector compares every answer with one noisy threshold; a noisy maximum compares the winner
with all others. Given the shared noise the events are independent, so the probability is
`integral f(t) prod_i P_i(t) dt`. All laws here are log-concave, and so is the integrand: its mode
is found from where the laws have their kinks and their middles, and Gauss and Legendre's rule is
exact to many digits on pieces between them (docs/inside.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from dpaudit.arrays import Floats
from dpaudit.inside.noise.laws import KINKS, SUPPORTS, Noise

PRECISION = 1e-9  # of the logarithm of an integral
_NEGLIGIBLE = 50.0  # how far below its largest value the logarithm of the integrand is left out
_STEPS = np.concatenate([[0.25, 0.5], np.arange(1.0, 8.0), 2.0 ** np.arange(3.0, 12.0)])
_ORDERS = 12, 18  # of two rules that must agree
_HALVINGS = 6


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of `slope * shared + factor * own`: it lies within (low, high], or is `value`.

    Without `own` noise it is `slope * shared` alone.
    """

    slope: float
    factor: float
    own: Noise | None
    low: float
    high: float
    value: float | None = None

    def log_chance(self, shared: Floats) -> Floats:
        """The log probability, or the log density, given the shared noise."""
        moved = self.slope * shared
        if self.own is None:
            inside = (moved > self.low) & (moved <= self.high)
            return np.where(inside, 0.0, -np.inf)
        if self.value is not None:
            return self.own.log_density((self.value - moved) / self.factor) - math.log(
                abs(self.factor)
            )
        ends = (self.low - moved) / self.factor, (self.high - moved) / self.factor
        low, high = ends if self.factor > 0.0 else ends[::-1]
        return self.own.log_within(low, high)

    def places(self) -> list[tuple[float, float]]:
        """Where, in terms of the shared noise, something changes: each place with its scale."""
        known = [self.value] if self.value is not None else [self.low, self.high]
        if self.own is None:
            return [(edge / self.slope, 0.0) for edge in known if math.isfinite(edge)]
        scale = abs(float(self.own.scale) * self.factor / self.slope)
        kinks = KINKS.get(self.own.kind, (0.0,))
        return [
            ((edge - self.factor * kink) / self.slope, scale)
            for edge in known
            for kink in kinks
            if edge is not None and math.isfinite(edge)
        ]

    def bounds(self) -> tuple[float, float]:
        """Outside of which the probability is 0."""
        if self.own is None:
            low, high = self.low, self.high
        else:
            least, most = SUPPORTS.get(self.own.kind, (-math.inf, math.inf))
            least, most = sorted((self.factor * least, self.factor * most))
            low = (self.low if self.value is None else self.value) - most
            high = (self.high if self.value is None else self.value) - least
        ends = low / self.slope, high / self.slope
        return ends if self.slope > 0.0 else (ends[1], ends[0])


def log_integral(shared: Noise, given: Sequence[Given]) -> float | None:
    """The log of the probability of all that is given; None if it cannot be found to its digits.

    Two answers of 0 below a threshold of 0, all with the same noise: the threshold is the largest.

    >>> below = Given(-1.0, 1.0, Noise("laplace", 1.0), -math.inf, 0.0)
    >>> print(round(math.exp(log_integral(Noise("laplace", 1.0), [below, below])), 12))
    0.333333333333
    """
    low, high = SUPPORTS.get(shared.kind, (-math.inf, math.inf))
    for each in given:
        ends = each.bounds()
        low, high = max(low, ends[0]), min(high, ends[1])
    if not low < high:
        return -math.inf

    def log_integrand(t: Floats) -> Floats:
        return sum((each.log_chance(t) for each in given), start=shared.log_density(t))

    places = [(kink, float(shared.scale)) for kink in KINKS.get(shared.kind, (0.0,))]
    for each in given:
        places += each.places()
    edges = _edges(log_integrand, places, low, high)
    if edges is None:
        return -math.inf
    for _ in range(_HALVINGS):
        both = [_rule(log_integrand, edges, order) for order in _ORDERS]
        if not math.isfinite(both[1]) or abs(both[0] - both[1]) <= 0.1 * PRECISION:
            return both[1]
        edges = np.sort(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1])]))
    return None


def _edges(log_integrand, places, low: float, high: float) -> Floats | None:  # type: ignore[no-untyped-def]
    """The ends of the pieces, over all that counts; None if nothing does."""
    scales = [scale for _, scale in places if scale > 0.0]
    least, most = min(scales), max(scales)
    ends = [edge for edge in (low, high) if math.isfinite(edge)]
    kinks = np.unique(np.clip([place for place, _ in places] + ends, low, high))
    around = [
        place + sign * scale * _STEPS for place, scale in places if scale > 0.0 for sign in (-1, 1)
    ]
    known = np.unique(np.clip(np.concatenate([kinks, *around]), low, high))
    tried = np.unique(np.concatenate([known, 0.5 * (known[1:] + known[:-1])]))
    inner = tried[(tried > low) & (tried < high)]
    found = log_integrand(inner) if inner.size else np.empty(0)
    if not inner.size or not np.isfinite(found).any():
        return None
    mode = float(inner[int(np.argmax(found))])
    near = np.concatenate([[mode], *(mode + sign * least * _STEPS for sign in (-1, 1))])
    inner = np.unique(np.concatenate([inner, near[(near > low) & (near < high)]]))
    found = log_integrand(inner)
    peak = float(found.max())
    counted = inner[found > peak - _NEGLIGIBLE]
    left = _reach(log_integrand, float(counted[0]), -most, low, peak)
    right = _reach(log_integrand, float(counted[-1]), most, high, peak)
    inside = np.concatenate([inner, kinks])
    inside = inside[(inside > left) & (inside < right)]
    return np.asarray(
        np.unique(np.concatenate([[left], _thinned(inside, kinks, 0.25 * least), [right]]))
    )


def _reach(log_integrand, start: float, step: float, bound: float, peak: float) -> float:  # type: ignore[no-untyped-def]
    """Where the integrand no longer counts, in this direction; not beyond the bound."""
    place = start
    for _ in range(200):
        further = place + step
        if (step > 0.0) == (further >= bound):
            return bound
        place, step = further, 1.5 * step
        if float(log_integrand(np.asarray([place]))[0]) < peak - _NEGLIGIBLE:
            break
    return place


def _thinned(places: Floats, kept: Floats, apart: float) -> Floats:
    """The places without those that lie close to another one; kinks stay."""
    ordered = np.unique(places)
    chosen, last = [], -math.inf
    kinks = set(kept.tolist())
    for place in ordered.tolist():
        if place in kinks or place - last >= apart:
            chosen.append(place)
            last = place
    return np.asarray(chosen)


def _rule(log_integrand, edges: Floats, order: int) -> float:  # type: ignore[no-untyped-def]
    """Gauss and Legendre's rule on every piece."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * (edges[1:] - edges[:-1])
    points = middle[:, None] + half[:, None] * nodes
    logs = log_integrand(points.ravel()).reshape(points.shape)
    if not np.isfinite(logs).any():
        return -math.inf
    return float(logsumexp(logs, b=half[:, None] * weights))
