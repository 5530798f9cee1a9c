"""Mechanisms that lie exactly on their claim, with canaries that hang together in different ways.

Each is a function from the bits to scores, larger for a canary that is likelier in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr

from dpaudit.arrays import Floats, Labels
from dpaudit.claims import ApproxDP, Claim, GaussianDP, PureDP

Leak = Callable[[Labels, np.random.Generator], Floats]


@dataclass(frozen=True, slots=True)
class Independent:
    """Gaussian noise, drawn for every canary: `mu`-GDP."""

    mu: float

    def __call__(self, bits: Labels, rng: np.random.Generator) -> Floats:
        return rng.normal(size=len(bits)) + self.mu * bits


@dataclass(frozen=True, slots=True)
class Shared:
    """One public loss `l ~ |N(mu^2/2, mu^2)|`, then randomized response at epsilon `l`: `mu`-GDP.

    The loss of each canary is normal, as that of the Gaussian mechanism; all canaries have one.
    """

    mu: float

    def __call__(self, bits: Labels, rng: np.random.Generator) -> Floats:
        return responses(bits, losses(self.mu, np.full(len(bits), rng.random())), rng)


@dataclass(frozen=True, slots=True)
class Tail:
    """A public coin picks the largest losses, a share `top` of the law, or all others: `mu`-GDP."""

    mu: float
    top: float

    def __call__(self, bits: Labels, rng: np.random.Generator) -> Floats:
        within = rng.random(len(bits))
        highest = rng.random() < self.top
        place = 1.0 - self.top * within if highest else (1.0 - self.top) * within
        return responses(bits, losses(self.mu, place), rng)


@dataclass(frozen=True, slots=True)
class Revealed:
    """Randomized response; a `share` of the canaries is revealed with probability `delta / share`.

    `(epsilon, delta)`-DP for each canary. A share of 1 reveals all or nothing; 0 names and shames:
    every canary is revealed on its own with probability delta.
    """

    epsilon: float
    delta: float
    share: float

    def __call__(self, bits: Labels, rng: np.random.Generator) -> Floats:
        loss = np.full(len(bits), self.epsilon)
        if self.share == 0.0:
            named = rng.random(len(bits)) < self.delta
        else:
            named = rng.random(len(bits)) < self.share
            named &= rng.random() < self.delta / self.share
        return responses(bits, np.where(named, np.inf, loss), rng)


def losses(mu: float, place: Floats) -> Floats:
    """The quantiles of `|N(mu^2/2, mu^2)|` at these places, by interpolation.

    >>> median = losses(1.0, np.array([0.5]))
    >>> print(ndtr(median - 0.5) - ndtr(-median - 0.5))
    [0.5]
    """
    return np.interp(place, *_law(mu))


@functools.cache
def _law(mu: float) -> tuple[Floats, Floats]:
    """Places and quantiles, rising."""
    grid = np.linspace(0.0, mu * (mu / 2.0 + 9.0), 200_001)
    return ndtr(grid / mu - mu / 2.0) - ndtr(-grid / mu - mu / 2.0), grid


def responses(bits: Labels, loss: Floats, rng: np.random.Generator) -> Floats:
    """Randomized response at these losses: the loss itself, with the sign of the answer."""
    told = rng.random(len(bits)) < expit(loss)
    return np.where(told == bits, loss, -loss)


def coins(canaries: int, rng: np.random.Generator) -> Labels:
    """Fair bits."""
    return np.asarray(rng.random(canaries) < 0.5)


def on_their_claims() -> dict[str, tuple[Leak, Claim]]:
    """List the mechanisms by name, each with the claim that it keeps exactly."""
    return {
        "independent Gaussian": (Independent(1.0), GaussianDP(1.0)),
        "Shared": (Shared(1.0), GaussianDP(1.0)),
        "Tail(1/2)": (Tail(1.0, 0.5), GaussianDP(1.0)),
        "Tail(1/20)": (Tail(1.0, 0.05), GaussianDP(1.0)),
        "randomized response": (Revealed(1.0, 0.0, 1.0), PureDP(1.0)),
        "reveal all": (Revealed(1.0, 0.04, 1.0), ApproxDP(1.0, 0.04)),
        "reveal a tenth": (Revealed(1.0, 0.004, 0.1), ApproxDP(1.0, 0.004)),
        "name and shame": (Revealed(1.0, 0.001, 0.0), ApproxDP(1.0, 0.001)),
        "name and shame, rarely": (Revealed(1.0, 1e-5, 0.0), ApproxDP(1.0, 1e-5)),
    }
