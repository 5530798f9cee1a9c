"""Draws against exact distributions: at fixed seeds, so that luck fails a test once in 1e9.

Use `assert_counts` for discrete outputs, `assert_distributed` for numbers with a known distribution
function, and `gauss_legendre` for integrals.
"""

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


def gauss_legendre(edges: Floats) -> tuple[Floats, Floats]:
    """A composite rule that is exact between the edges up to rounding, for smooth functions."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    middles = (edges[:-1, None] + edges[1:, None]) / 2
    return (middles + half * nodes).ravel(), (half * weights).ravel()
