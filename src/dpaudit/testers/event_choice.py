"""The choice of an event from outputs to learn from, by the bound it promises on those held out.

Events are `score > threshold`. Their counts come from outputs that the score has not learned, so
that a score which has merely memorised its outputs promises nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, Claim, GaussianDP, RenyiDP, Scalable, falling_span, tangent_points
from dpaudit.events import upper_bound
from dpaudit.testers.batch import Finding
from dpaudit.testers.event_bound import (
    Curve,
    LevelBound,
    curve_finding,
    exact,
    hoeffding,
    largest_refuted,
    level_finding,
)

ExpectedBound: TypeAlias = Callable[
    [float], Floats
]  # at a level: P(A) - e^epsilon Q(A) for each event

_THRESHOLDS = 256  # evenly many outputs between two of them; the rarest events are cut finer
_CAUTION = 2.0  # standard errors by which counts are set back: the best of many is partly luck
_LEVELS = 16  # of a profile
_STEPS = 16  # of a bisection: four digits of a strength
_CURVE = 12  # events of a curve


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ranked:
    """Events `score > threshold`, from the rarest on, and how often each was seen in training."""

    thresholds: Floats
    hits: Floats
    neighbour_hits: Floats

    @property
    def draws(self) -> float:
        """Outputs of the data; the last event is all there is."""
        return float(self.hits[-1])

    @property
    def neighbour_draws(self) -> float:
        """Outputs of the neighbour."""
        return float(self.neighbour_hits[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Outputs held out on both sides, and the chance of a false accusation allowed there."""

    draws: int
    neighbour_draws: int
    alpha: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trial:
    """Events ranked in training, and the scores of the outputs held out."""

    events: Ranked
    scores: Floats
    labels: npt.NDArray[np.bool_]

    def finding(
        self, claim: Claim, *, alpha: float, bound: Literal["exact", "hoeffding"]
    ) -> Finding:
        """Choose an event for a claim, and certify it."""
        sizes = self._sizes(alpha)
        if bound == "exact":
            return curve_finding(
                claim, self._certified(exact_events(claim, self.events, sizes), alpha)
            )
        promise = hoeffding_promise(self.events, sizes)
        excess = promised_excess(claim, promise)
        event = int(np.argmax(excess)) if excess.max() > 0.0 else strongest(claim, promise)[1]
        level = best_level(claim, lambda epsilon: float(promise(epsilon)[event]))
        hits, neighbour_hits = self._hits([event])
        certified = hoeffding(
            int(hits[0]), sizes.draws, int(neighbour_hits[0]), sizes.neighbour_draws, alpha=alpha
        )
        return level_finding(claim, certified, level)

    def curve(self, *, alpha: float) -> Curve:
        """Choose about a dozen events, and certify them all."""
        return self._certified(curve_events(self.events, self._sizes(alpha)), alpha)

    def _certified(self, chosen: list[int], alpha: float) -> Curve:
        sizes = self._sizes(alpha)
        hits, neighbour_hits = self._hits(chosen)
        return exact(hits, sizes.draws, neighbour_hits, sizes.neighbour_draws, alpha=alpha)

    def _hits(self, chosen: list[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        above = [self.scores > threshold for threshold in self.events.thresholds[chosen]]
        hits = [np.count_nonzero(event & self.labels) for event in above]
        neighbour_hits = [np.count_nonzero(event & ~self.labels) for event in above]
        return np.array(hits, dtype=np.int64), np.array(neighbour_hits, dtype=np.int64)

    def _sizes(self, alpha: float) -> Sizes:
        draws = int(np.count_nonzero(self.labels))
        return Sizes(draws=draws, neighbour_draws=len(self.labels) - draws, alpha=alpha)


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
    return Ranked(
        thresholds=thresholds,
        hits=np.cumsum(ones[order])[kept],
        neighbour_hits=np.cumsum(zeros[order])[kept],
    )


def exact_promise(events: Ranked, sizes: Sizes, *, shares: int = 1) -> ExpectedBound:
    """What exact bounds are expected to give when `alpha` is shared out over so many events."""
    p, q = _promised(events, sizes, shares)
    return lambda epsilon: np.asarray(p - math.exp(min(epsilon, 700.0)) * q)


def hoeffding_promise(events: Ranked, sizes: Sizes) -> ExpectedBound:
    """What Hoeffding's bound is expected to give."""
    p, q = events.hits / events.draws, events.neighbour_hits / events.neighbour_draws

    def promise(epsilon: float) -> Floats:
        scale = math.exp(min(epsilon, 300.0))
        spread = 1.0 / sizes.draws + scale**2 / sizes.neighbour_draws
        return np.asarray(p - scale * q - math.sqrt(spread * math.log(1.0 / sizes.alpha) / 2.0))

    return promise


def strongest(claim: Claim, promise: ExpectedBound) -> tuple[float, int]:
    """The largest strength of a claim that some event promises to refute, and that event.

    Where none does, or the claim has no strength: the largest excess over the claim and its event.

    >>> from dpaudit.claims import PureDP
    >>> strength, event = strongest(
    ...     PureDP(1.0),
    ...     lambda epsilon: np.array([0.5, 0.9]) - np.exp(epsilon) * np.array([0.1, 0.3]),
    ... )
    >>> print(round(strength, 4), event)  # log(0.5 / 0.1)
    1.6094 0
    """
    if isinstance(claim, Scalable):
        strength = largest_refuted(
            lambda value: _promises(claim.with_strength(value), promise),
            claim.strength,
            steps=_STEPS,
        )
        if strength > 0.0:
            found = promised_excess(claim.with_strength(strength), promise)
            return strength, int(np.argmax(found))
    found = promised_excess(claim, promise)
    return float(found.max()), int(np.argmax(found))


def _promises(claim: Claim, promise: ExpectedBound) -> bool:
    return bool(promised_excess(claim, promise).max() > 0.0)


def promised_excess(claim: Claim, promise: ExpectedBound) -> Floats:
    """By how much each event promises to exceed what the claim allows, at its best level."""
    excess = [promise(level) - delta for level, delta in levels_of(claim)]
    return np.asarray(np.max(excess, axis=0))


def best_level(claim: Claim, bound: LevelBound) -> float:
    """The level at which a bound exceeds the claim's profile most."""
    return max(levels_of(claim), key=lambda point: bound(point[0]) - point[1])[0]


def levels_of(claim: Claim) -> Sequence[tuple[float, float]]:
    """Levels with their deltas at which a claim is worth testing."""
    if isinstance(claim, GaussianDP | ZCDP | RenyiDP):
        return _levels_of_value(claim)  # a bisection asks for the same strengths again and again
    tangents = getattr(claim, "tangents", None)
    if callable(tangents):
        points: Sequence[tuple[float, float]] = tangents(_LEVELS)
        return points
    return tangent_points(claim.delta, falling_span(claim.delta), _LEVELS)


@lru_cache(maxsize=512)
def _levels_of_value(claim: GaussianDP | ZCDP | RenyiDP) -> Sequence[tuple[float, float]]:
    return claim.tangents(_LEVELS)


def exact_events(claim: Claim, events: Ranked, sizes: Sizes) -> list[int]:
    """The one or two events to certify with exact bounds.

    One promises to refute the largest strength. Where half of alpha promises to refute the claim
    anyway, the other half goes to the event with the largest divergence at the claim's own level.
    """
    _, first = strongest(claim, exact_promise(events, sizes))
    halved = promised_excess(claim, exact_promise(events, sizes, shares=2))
    second = int(np.argmax(halved))
    return [first, second] if halved[first] > 0.0 and second != first else [first]


def curve_events(events: Ranked, sizes: Sizes) -> list[int]:
    """About a dozen events that promise the best curve, from epsilon = 0 to the highest reached."""
    p, q = _promised(events, sizes, _CURVE)
    with np.errstate(divide="ignore"):
        reach = float(np.max(np.log(p) - np.log(q)))
    levels = np.linspace(0.0, max(reach, 0.0), _CURVE)
    return sorted({int(np.argmax(p - math.exp(level) * q)) for level in levels})


def _promised(events: Ranked, sizes: Sizes, shares: int) -> tuple[Floats, Floats]:
    """A lower bound on `P(A)` and an upper one on `Q(A)`, as if held-out outputs hit as expected.

    Both are set back by the training counts' own standard error first.
    """
    z = -NormalDist().inv_cdf(sizes.alpha / (2 * shares))
    missed = upper_bound(events.draws - events.hits, events.draws, _CAUTION)
    hit = upper_bound(events.neighbour_hits, events.neighbour_draws, _CAUTION)
    p = 1.0 - upper_bound(missed * sizes.draws, sizes.draws, z)
    q = upper_bound(hit * sizes.neighbour_draws, sizes.neighbour_draws, z)
    return np.asarray(np.maximum(p, 0.0)), q


def _spaced(size: int) -> npt.NDArray[np.intp]:
    """Some places of `size`: all if they are few; else evenly spaced, the first doubling."""
    if size <= 2 * _THRESHOLDS:
        return np.arange(size)
    even = np.linspace(0, size - 1, _THRESHOLDS).astype(np.intp)
    doubling = np.unique(
        (1.4 ** np.arange(2.0, math.log(size / _THRESHOLDS, 1.4) + 3)).astype(np.intp)
    )
    return np.unique(np.concatenate([doubling[doubling < size], even]))
