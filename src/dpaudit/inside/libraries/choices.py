"""Choices that libraries make: among candidates, answers, and the intervals of a quantile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from dpaudit.arrays import Floats
from dpaudit.inside.choosing import PermuteAndFlip


@dataclass(frozen=True, slots=True)
class WeightedChoice:
    """A place with probability in proportion to its weight; the input is the log weights.

    >>> print(round(math.exp(WeightedChoice().log_density(0, [math.log(3.0), 0.0])), 12))
    0.75
    """

    def log_density(self, output: Any, input: Any) -> float:
        """The log probability of this place."""
        logs = self._logs(np.asarray(input, dtype=np.float64))
        return float(logs[int(output)]) if 0 <= int(output) < logs.size else -math.inf

    def draw(self, input: Any, rng: np.random.Generator) -> int:
        """A place."""
        shares = np.exp(self._logs(np.asarray(input, dtype=np.float64)))
        return int(rng.choice(shares.size, p=shares / shares.sum()))

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """Twice the largest error of a log weight."""
        return 2.0 * float(np.max(error, initial=0.0))

    def _logs(self, weights: Floats) -> Floats:
        return np.asarray(weights - logsumexp(weights))


@dataclass(frozen=True, slots=True)
class FlippedChoice(WeightedChoice):
    """Places in a random order, each taken with its probability; the input is their logs.

    The law of `dpaudit.inside.PermuteAndFlip`, by the numbers that a library computes for it.

    >>> print(round(math.exp(FlippedChoice().log_density(0, [0.0, 0.0])), 12))
    0.5
    """

    def _logs(self, weights: Floats) -> Floats:
        return PermuteAndFlip(epsilon=1.0)._logs(weights)


@dataclass(frozen=True, slots=True)
class PiecewiseConstant:
    """A number whose density is constant between neighbouring edges: a quantile.

    The input is the sorted edges, and the log of what a unit of each interval weighs
    (Smith 2011, "Privacy-preserving statistical estimation with optimal convergence rates").

    >>> flat = PiecewiseConstant()
    >>> print(round(math.exp(flat.log_density(0.5, ([0.0, 1.0, 4.0], [0.0, 0.0]))), 12))
    0.25
    """

    def log_density(self, output: Any, input: Any) -> float:
        """The log density at this number."""
        edges, logs = (np.asarray(part, dtype=np.float64) for part in input)
        place = int(np.searchsorted(edges, output)) - 1
        if not edges[0] < output < edges[-1]:
            return -math.inf
        return float(logs[place] - logsumexp(self._masses(edges, logs)))

    def draw(self, input: Any, rng: np.random.Generator) -> float:
        """A number."""
        edges, logs = (np.asarray(part, dtype=np.float64) for part in input)
        place = WeightedChoice().draw(self._masses(edges, logs), rng)
        return float(edges[place] + rng.random() * (edges[place + 1] - edges[place]))

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """Nothing: edges are numbers of the dataset."""
        return 0.0

    def _masses(self, edges: Floats, logs: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # an interval without length
            return np.asarray(logs + np.log(np.diff(edges)))
