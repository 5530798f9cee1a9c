"""Draws against exact distributions, at fixed seeds.

Use `assert_counts` for discrete outputs, `assert_distributed` for numbers with a known distribution
function, `assert_own_noise` for rows of numbers, and `gauss_legendre` for integrals. For each of
the assertions the null is that the outputs have the exact distribution, and a right mechanism fails
one with probability at most `LUCK`, for each cell of counts. With 50,000 draws, a cell or a
half-line whose probability is off by 0.02 fails with a probability above 0.99:

>>> half = stats.binom(DRAWS, 0.5)
>>> most = half.isf(LUCK / 2)  # the counts that both assertions let pass lie below
>>> bool(stats.binom(DRAWS, 0.52).sf(most) > 0.99)
True
>>> least_distance = stats.kstwo(DRAWS).isf(LUCK)
>>> bool(stats.binom(DRAWS, 0.52).sf(DRAWS * (0.5 + least_distance)) > 0.99)
True
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dpaudit.mechanism import as_mechanism

Floats = npt.NDArray[np.float64]

DRAWS = 50_000
LUCK = 1e-9


def draw(mechanism: Callable[..., Any], data: Any, draws: int = DRAWS) -> npt.NDArray[Any]:
    outputs = as_mechanism(mechanism).draw(data, draws, np.random.default_rng(12345))
    assert isinstance(outputs, np.ndarray)
    return outputs


def assert_counts(observed: npt.NDArray[Any], probabilities: npt.NDArray[Any]) -> None:
    """Each cell's count is binomial with its probability; no cell outside has probability."""
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    total = int(observed.sum())
    for count, probability in zip(observed.ravel(), probabilities.ravel(), strict=True):
        assert stats.binomtest(int(count), total, min(1.0, float(probability))).pvalue > LUCK


def assert_distributed(outputs: npt.NDArray[Any], cdf: Callable[..., Any]) -> None:
    """The outputs come from the distribution with this distribution function (Kolmogorov)."""
    assert stats.kstest(outputs, cdf).pvalue > LUCK


def assert_own_noise(outputs: Floats, centres: Any, scale: float) -> None:
    """Every column has Laplace noise, independent of the next column's."""
    noise = (outputs - centres) / scale
    for column in noise.T:
        assert_distributed(column, stats.laplace.cdf)
    for left, right in itertools.pairwise(noise.T):
        alike = int(np.count_nonzero((left > 0) == (right > 0)))
        assert stats.binomtest(alike, len(noise)).pvalue > LUCK


def gauss_legendre(edges: Floats) -> tuple[Floats, Floats]:
    """A composite rule that is exact between the edges up to rounding, for smooth functions."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    middles = (edges[:-1, None] + edges[1:, None]) / 2
    return (middles + half * nodes).ravel(), (half * weights).ravel()
