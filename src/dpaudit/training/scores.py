"""Scores of a whole training from what was observed at its steps (docs/mathematics.md, section 12).

Each is the log-likelihood ratio of "in" against "out", or a monotone function of it, so no other
function of the observations tells more about the canary.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import GaussianDP


def subsampled_score(observations: Any, rate: float, sigma: float) -> Floats:
    """The score of canaries that each step samples with probability `rate`.

    `observations` has the steps on its last axis: 1 or 0 for a sampled canary or another, plus
    `N(0, sigma^2)`. The score is `sum_t log(1 - rate + rate exp((z_t - 1/2) / sigma^2))`, the
    log-likelihood ratio of a canary that is in. The sum of `z_t` tells less: it also counts steps
    that clearly went without the canary.

    >>> subsampled_score([[0.5, 0.5], [0.5, 2.5]], rate=0.1, sigma=1.0).round(3)
    array([0.   , 0.494])
    """
    if not 0.0 < rate <= 1.0:
        raise ValueError(f"rate must be a probability above 0, got {rate!r}.")
    ratio = (np.asarray(observations, dtype=np.float64) - 0.5) / _positive(sigma) ** 2
    without = math.log1p(-rate) if rate < 1.0 else -math.inf
    return np.asarray(np.logaddexp(without, math.log(rate) + ratio).sum(axis=-1))


def matrix_score(observations: Any, strategy: Any, participation: Any) -> Floats:
    """The score of canaries under DP-FTRL or another matrix factorisation.

    What is observed at the steps, on the last axis of `observations`, is `u b + C^-1 Z`: `u` the
    `participation` of the canary at every step, `b` whether it is in, `C` the `strategy` and `Z`
    independent `N(0, sigma^2)`. The score `<C u, C obs> / |C u|` is `N(|C u| b, sigma^2)`, whatever
    the factorisation: compare it with `matrix_claim`.

    >>> strategy = np.array([[1.0, 0.0], [0.5, 1.0]])  # C u = (1, 0.5)
    >>> print(matrix_score([1.0, 0.0], strategy, [1.0, 0.0]).round(3))  # without noise |C u|
    1.118
    """
    encoded = _encoded(strategy, participation)
    seen = np.asarray(observations, dtype=np.float64) @ np.asarray(strategy, dtype=np.float64).T
    return np.asarray(seen @ encoded / np.linalg.norm(encoded))


def banded_score(
    observations: Any, strategy: Any, *, cycle: int, rate: float, sigma: float
) -> Floats:
    """The score of canaries under BandMF: each is in one of `cycle` groups, nobody knows which.

    A group takes part in every `cycle`-th step, and a canary of it is in such a batch with
    probability `rate`. The observations are those of `matrix_score`, `sigma` is the noise there.
    The score is the log-likelihood ratio: the mean over the groups, and for a group the product
    over its steps, as in `subsampled_score`. With at most `cycle` bands these are independent.

    One band and one group are DP-SGD:

    >>> print(banded_score([[0.5, 2.5]], np.eye(2), cycle=1, rate=0.1, sigma=1.0).round(3))
    [0.494]
    """
    matrix = np.asarray(strategy, dtype=np.float64)
    steps = np.eye(len(matrix))
    groups = [steps[first::cycle] for first in range(min(cycle, len(matrix)))]
    scores = []
    for group in groups:  # at a rate of 1 a canary takes part in all steps of its group at once
        taken = group.sum(axis=0, keepdims=True) if rate == 1.0 else group
        products = (taken @ matrix.T) @ (taken @ matrix.T).T
        if not np.allclose(products, np.diag(np.diag(products))):
            raise ValueError(
                f"at a rate below 1 a strategy may have {cycle} bands at most (its cycle): the "
                "likelihood of steps that share noise is not known."
            )
        norms = np.sqrt(np.diag(products))
        parts = [
            subsampled_score(matrix_score(observations, matrix, each)[..., None] / norm, rate, s)
            for each, norm, s in zip(taken, norms, _positive(sigma) / norms, strict=True)
        ]
        scores.append(np.sum(parts, axis=0))
    return np.asarray(np.logaddexp.reduce(scores, axis=0) - math.log(len(groups)))


def matrix_claim(strategy: Any, participation: Any, sigma: float) -> GaussianDP:
    """The claim that the score of `matrix_score` keeps exactly: `GaussianDP(|C u| / sigma)`.

    That of the accountant is the largest of these over all ways to participate.

    >>> print(matrix_claim(np.eye(4), [1.0, 1.0, 1.0, 1.0], sigma=2.0))
    1-GDP
    """
    return GaussianDP(float(np.linalg.norm(_encoded(strategy, participation))) / _positive(sigma))


def _encoded(strategy: Any, participation: Any) -> Floats:
    """`C u`, which must not be 0."""
    encoded = np.asarray(strategy, dtype=np.float64) @ np.asarray(participation, dtype=np.float64)
    if encoded.ndim != 1 or not np.any(encoded):
        raise ValueError(
            "the canary must take part: strategy @ participation must be a vector other than 0, "
            f"got {encoded!r}."
        )
    return np.asarray(encoded)


def _positive(sigma: float) -> float:
    if not (sigma > 0.0 and math.isfinite(sigma)):
        raise ValueError(f"sigma must be a standard deviation > 0, got {sigma!r}.")
    return float(sigma)
