"""Pairs of output distributions that lie exactly on a claim: the hardest that keep it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP

Draw: TypeAlias = Callable[[int, np.random.Generator], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class TightPair:
    """A mechanism on two neighbours, by the distributions of its outputs."""

    name: str
    data: Draw
    neighbour: Draw


def tight_pairs(claim: Claim, *, draws: int) -> tuple[TightPair, ...]:
    """Pairs exactly on the claim; for a claim not known here, two sides that are the same.

    One of the pairs for pure DP differs only in events that `draws` outputs hardly show: bounds
    that assume normal errors fail on it.

    >>> [pair.name for pair in tight_pairs(PureDP(1.0), draws=1000)]
    ['randomized response', 'the Laplace mechanism', 'rare events']
    """
    if isinstance(claim, PureDP):
        return _pure(claim.epsilon, draws)
    if isinstance(claim, ApproxDP):
        return (_approx(claim.epsilon, claim.delta_at_epsilon),)
    if isinstance(claim, GaussianDP):
        return (_gaussian(claim.mu),)
    if isinstance(claim, ZCDP):  # order * mu^2 / 2 = order * rho
        return (_gaussian(math.sqrt(2.0 * claim.rho)),)
    if isinstance(claim, RenyiDP):
        return (_gaussian(math.sqrt(2.0 * claim.epsilon / claim.order)),)
    same = _discrete([0.5, 0.5])
    return (TightPair(name="a mechanism that ignores its data", data=same, neighbour=same),)


def _pure(epsilon: float, draws: int) -> tuple[TightPair, ...]:
    ratio = math.exp(epsilon)
    rare = 1.0 / (draws + ratio + 1.0)
    return (
        _mirrored("randomized response", [ratio / (1.0 + ratio), 1.0 / (1.0 + ratio)]),
        TightPair(
            name="the Laplace mechanism",
            data=lambda size, rng: epsilon + rng.laplace(size=size),
            neighbour=lambda size, rng: rng.laplace(size=size),
        ),
        _mirrored("rare events", [ratio * rare, 1.0 - (1.0 + ratio) * rare, rare]),
    )


def _approx(epsilon: float, delta: float) -> TightPair:
    """The four points that dominate every pair with this claim (Kairouz, Oh and Viswanath 2015)."""
    ratio, kept = math.exp(epsilon), 1.0 - delta
    likely, unlikely = kept * ratio / (1.0 + ratio), kept / (1.0 + ratio)
    return _mirrored("the pair that dominates all others", [delta, likely, unlikely, 0.0])


def _gaussian(mu: float) -> TightPair:
    return TightPair(
        name="the Gaussian mechanism",
        data=lambda size, rng: mu + rng.normal(size=size),
        neighbour=lambda size, rng: rng.normal(size=size),
    )


def _mirrored(name: str, chances: list[float]) -> TightPair:
    """The outputs 0, 1, ... with these chances, and with the same in reverse."""
    return TightPair(name=name, data=_discrete(chances), neighbour=_discrete(chances[::-1]))


def _discrete(chances: list[float]) -> Draw:
    return lambda size, rng: rng.choice(len(chances), size=size, p=chances).astype(np.float64)
