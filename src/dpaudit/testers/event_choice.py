"""Testers that choose an event on training outputs and bound it on those held out.

Events are `score > threshold`, chosen by the bound to be expected on the outputs held out. Their
counts come from outputs that the score has not learned, so a score that has merely memorised its
outputs is expected to certify nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from dpaudit.arrays import Counts, Floats, Index, Labels
from dpaudit.claims import Claim, PureDP, Scalable, falling_span, tangent_points
from dpaudit.events import upper_bound
from dpaudit.guessing import Samples
from dpaudit.testers.event_bound import (
    Curve,
    LevelBound,
    allowed,
    curve_finding,
    exact,
    exp,
    gilbert_mcmillan,
    hoeffding,
    level_finding,
)
from dpaudit.testers.tester import Finding, HeldOutTester, Parts, Rng, largest_strength

EventBounds: TypeAlias = Callable[[float], Floats]  # at a level: P(A) - e^epsilon Q(A) by event

_EVEN_THRESHOLDS = 256  # with equally many outputs between two; the rarest events are cut finer
_CAUTION = 2.0  # standard errors by which counts are set back: the best of many is partly luck
_PROFILE_LEVELS = 16
_BISECTIONS = 16  # four digits of a strength
_CURVE_EVENTS = 12


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ranked:
    """Events `score > threshold`, the rarest first, and their hits in training; the last is all."""

    thresholds: Floats
    hits: Floats
    neighbour_hits: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Outputs held out on both sides, and the chance of a false accusation allowed there."""

    draws: int
    neighbour_draws: int
    alpha: float

    @classmethod
    def of(cls, labels: Labels, alpha: float) -> Sizes:
        """Count the labels of both sides."""
        draws = int(np.count_nonzero(labels))
        return cls(draws=draws, neighbour_draws=len(labels) - draws, alpha=alpha)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeldOutScores:
    """Events ranked in training, and the scores of the outputs held out."""

    events: Ranked
    scores: Floats
    labels: Labels

    def finding(self, claim: Claim, *, alpha: float, bound: str) -> Finding:
        """Choose an event for a claim, and bound it: `"exact"` or by `"hoeffding"`."""
        sizes = Sizes.of(self.labels, alpha)
        if bound == "exact":
            return curve_finding(claim, self._exact(exact_events(claim, self.events, sizes), sizes))
        expected = expected_hoeffding(self.events, sizes)
        excess = expected_excess(claim, expected)
        event = int(np.argmax(excess)) if excess.max() > 0.0 else strongest(claim, expected)[1]
        level = best_level(claim, lambda epsilon: float(expected(epsilon)[event]))
        (hits,), (neighbour_hits,) = (counts.tolist() for counts in self._hits([event]))
        certified = hoeffding(hits, sizes.draws, neighbour_hits, sizes.neighbour_draws, alpha=alpha)
        return level_finding(claim, certified, level)

    def curve(self, *, alpha: float) -> Curve:
        """Choose about a dozen events, and bound them all."""
        sizes = Sizes.of(self.labels, alpha)
        return self._exact(curve_events(self.events, sizes), sizes)

    def _exact(self, chosen: list[int], sizes: Sizes) -> Curve:
        hits, neighbour_hits = self._hits(chosen)
        return exact(hits, sizes.draws, neighbour_hits, sizes.neighbour_draws, alpha=sizes.alpha)

    def _hits(self, chosen: list[int]) -> tuple[Counts, Counts]:
        above = self.scores > self.events.thresholds[chosen][:, None]
        return (above & self.labels).sum(axis=1), (above & ~self.labels).sum(axis=1)


class EventTester(HeldOutTester):
    """A tester that scores outputs and bounds `P(A) - e^epsilon Q(A)` of the best event."""

    bound: str

    def _scored(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> HeldOutScores:
        """Learn a score from the first part, and score the second."""
        raise NotImplementedError

    def threshold(self, claim: Claim) -> float:
        """The claim's delta; 0 for a profile, of which the excess is bounded."""
        return allowed(claim)

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        scored = self._scored(parts, claim, alpha=alpha, rng=rng)
        return scored.finding(claim, alpha=alpha, bound=self.bound)

    def curve(
        self, outputs: Samples, neighbour_outputs: Samples, *, alpha: float, rng: Rng
    ) -> Curve:
        """Bound the whole privacy profile from below, with exact bounds on a dozen events."""
        parts = self._share.part(outputs, neighbour_outputs, rng)
        return self._scored(parts, PureDP(0.0), alpha=alpha, rng=rng).curve(alpha=alpha)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What is certified if every held-out output of the data hits, and no other does."""
        n, m = self._share.held_out(draws), self._share.held_out(neighbour_draws)
        if self.bound == "exact":
            return curve_finding(claim, exact(np.array([n]), n, np.array([0]), m, alpha=alpha))
        if self.bound == "hoeffding":
            certified = hoeffding(n, n, 0, m, alpha=alpha)
        else:  # a cell for each side, and one for outputs unlike any seen
            hits, neighbour_hits = np.array([n, 0, 0]), np.array([0, m, 0])
            certified = gilbert_mcmillan(hits, n, neighbour_hits, m, alpha=alpha)
        return level_finding(claim, certified, best_level(claim, certified))


def ranked(scores: Floats, ones: Floats, zeros: Floats) -> Ranked:
    """Rank scores seen `ones` times in the data's outputs and `zeros` times in the neighbour's.

    >>> events = ranked(np.array([0.0, 2.0, 2.0]), np.array([3.0, 1.0, 2.0]), np.ones(3))
    >>> events.thresholds.tolist(), events.hits.tolist(), events.neighbour_hits.tolist()
    ([1.0, -inf], [3.0, 6.0], [2.0, 3.0])
    """
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
    kept = last[_spaced(len(last))]
    # Half-way to the next score, so that a score learned anew falls on the same side.
    below = np.append(scores[kept[:-1] + 1], -np.inf)
    with np.errstate(over="ignore"):
        thresholds = np.where(np.isinf(below), below, scores[kept] / 2.0 + below / 2.0)
    hits, neighbour_hits = (np.cumsum(counts[order])[kept] for counts in (ones, zeros))
    return Ranked(thresholds=thresholds, hits=hits, neighbour_hits=neighbour_hits)


def _spaced(size: int) -> Index:
    """Some places of `size`: all if they are few; else evenly spaced, the first doubling."""
    if size <= 2 * _EVEN_THRESHOLDS:
        return np.arange(size)
    even = np.linspace(0, size - 1, _EVEN_THRESHOLDS).astype(np.intp)
    powers = 1.4 ** np.arange(2.0, math.log(size / _EVEN_THRESHOLDS, 1.4) + 3)
    doubling = powers.astype(np.intp)
    return np.unique(np.concatenate([doubling[doubling < size], even]))


def expected_exact(events: Ranked, sizes: Sizes, *, shares: int = 1) -> EventBounds:
    """What exact bounds are expected to give if `shares` events share alpha."""
    p, q = _expected(events, sizes, shares)
    return lambda epsilon: np.asarray(p - exp(epsilon) * q)


def expected_hoeffding(events: Ranked, sizes: Sizes) -> EventBounds:
    """What Hoeffding's bound is expected to give."""
    p, q = events.hits / events.hits[-1], events.neighbour_hits / events.neighbour_hits[-1]
    penalty = hoeffding(0, sizes.draws, 0, sizes.neighbour_draws, alpha=sizes.alpha)
    return lambda epsilon: np.asarray(p - exp(epsilon) * q + penalty(epsilon))


def strongest(claim: Claim, expected: EventBounds) -> tuple[float, int]:
    """The largest strength of a claim that some event is expected to refute, and that event.

    Where there is none, or the claim has no strength: the largest excess over the claim.
    """

    def refuted(other: Claim) -> bool:
        return bool(expected_excess(other, expected).max() > 0.0)

    strength = largest_strength(claim, refuted, steps=_BISECTIONS)
    if strength is not None and strength > 0.0 and isinstance(claim, Scalable):
        found = expected_excess(claim.with_strength(strength), expected)
        return strength, int(np.argmax(found))
    found = expected_excess(claim, expected)
    return float(found.max()), int(np.argmax(found))


def expected_excess(claim: Claim, expected: EventBounds) -> Floats:
    """By how much each event is expected to exceed what the claim allows, at its best level."""
    excess = [expected(level) - delta for level, delta in levels_of(claim)]
    return np.asarray(np.max(excess, axis=0))


def best_level(claim: Claim, bound: LevelBound) -> float:
    """The level at which a bound exceeds the claim's profile most."""
    return max(levels_of(claim), key=lambda point: bound(point[0]) - point[1])[0]


def levels_of(claim: Claim) -> Sequence[tuple[float, float]]:
    """Levels with their deltas at which a claim is worth testing."""
    # A bisection asks for the same strengths again and again.
    return _cached_levels(claim) if isinstance(claim, Hashable) else _levels(claim)


def _levels(claim: Claim) -> Sequence[tuple[float, float]]:
    tangents = getattr(claim, "tangents", None)
    if callable(tangents):
        points: Sequence[tuple[float, float]] = tangents(_PROFILE_LEVELS)
        return points
    return tangent_points(claim.delta, falling_span(claim.delta), _PROFILE_LEVELS)


_cached_levels = lru_cache(maxsize=512)(_levels)


def exact_events(claim: Claim, events: Ranked, sizes: Sizes) -> list[int]:
    """The one or two events to certify with exact bounds.

    One is expected to refute the largest strength. Where half of alpha should refute the claim
    anyway, the other half goes to the event with the largest divergence at the claim's own level.
    """
    _, first = strongest(claim, expected_exact(events, sizes))
    halved = expected_excess(claim, expected_exact(events, sizes, shares=2))
    second = int(np.argmax(halved))
    return [first, second] if halved[first] > 0.0 and second != first else [first]


def curve_events(events: Ranked, sizes: Sizes) -> list[int]:
    """About a dozen events that should give the best curve, from epsilon = 0 to the highest."""
    p, q = _expected(events, sizes, _CURVE_EVENTS)
    with np.errstate(divide="ignore"):
        highest = float(np.max(np.log(p) - np.log(q)))
    levels = np.linspace(0.0, max(highest, 0.0), _CURVE_EVENTS)
    return sorted({int(np.argmax(p - math.exp(level) * q)) for level in levels})


def _expected(events: Ranked, sizes: Sizes, shares: int) -> tuple[Floats, Floats]:
    """A lower bound on `P(A)` and an upper one on `Q(A)`, as if held-out outputs hit as expected.

    Both are set back by the training counts' own standard error first.
    """
    z = -NormalDist().inv_cdf(sizes.alpha / (2 * shares))
    draws, neighbour_draws = float(events.hits[-1]), float(events.neighbour_hits[-1])
    missed = upper_bound(draws - events.hits, draws, _CAUTION)
    hit = upper_bound(events.neighbour_hits, neighbour_draws, _CAUTION)
    p = 1.0 - upper_bound(missed * sizes.draws, sizes.draws, z)
    q = upper_bound(hit * sizes.neighbour_draws, sizes.neighbour_draws, z)
    return np.asarray(np.maximum(p, 0.0)), q
