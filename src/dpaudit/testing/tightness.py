"""The hardest mechanisms that keep a claim: their outputs lie exactly on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

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
        ratio = math.exp(claim.epsilon)
        rare = 1.0 / (draws + ratio + 1.0)
        return (
            _mirrored("randomized response", [ratio / (1.0 + ratio), 1.0 / (1.0 + ratio)]),
            _shifted("the Laplace mechanism", claim.epsilon, np.random.Generator.laplace),
            _mirrored("rare events", [ratio * rare, 1.0 - (1.0 + ratio) * rare, rare]),
        )
    if isinstance(claim, ApproxDP):  # four points (Kairouz, Oh and Viswanath 2015)
        ratio, delta = math.exp(claim.epsilon), claim.delta_at_epsilon
        likely, unlikely = (1.0 - delta) * ratio / (1.0 + ratio), (1.0 - delta) / (1.0 + ratio)
        chances = [delta, likely, unlikely, 0.0]
        return (_mirrored("the pair that dominates all others", chances),)
    if isinstance(claim, GaussianDP):
        return (_gaussian(claim.mu),)
    if isinstance(claim, ZCDP):  # order * mu^2 / 2 = order * rho
        return (_gaussian(math.sqrt(2.0 * claim.rho)),)
    if isinstance(claim, RenyiDP):
        return (_gaussian(math.sqrt(2.0 * claim.epsilon / claim.order)),)
    return (_mirrored("a mechanism that ignores its data", [0.5, 0.5]),)


def _gaussian(mu: float) -> TightPair:
    return _shifted("the Gaussian mechanism", mu, np.random.Generator.normal)


def _shifted(name: str, shift: float, noise: Callable[..., Any]) -> TightPair:
    return TightPair(
        name=name,
        data=lambda size, rng: np.asarray(shift + noise(rng, size=size)),
        neighbour=lambda size, rng: np.asarray(noise(rng, size=size)),
    )


def _mirrored(name: str, chances: list[float]) -> TightPair:
    """The outputs 0, 1, ... with these chances, and with the same in reverse."""
    return TightPair(name=name, data=_discrete(chances), neighbour=_discrete(chances[::-1]))


def _discrete(chances: list[float]) -> Draw:
    return lambda size, rng: rng.choice(len(chances), size=size, p=chances).astype(np.float64)
