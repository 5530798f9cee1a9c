"""A model of the scores: a Gaussian process with one length scale for each group of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

STEPS = 50  # of a fit of the scales
# The variance, the length scales of three groups of columns, the noise; the best score is 1. A
# variance far below that would leave no hope for what is unknown, and the search would stand still.
START, LOWEST, HIGHEST = np.log(
    [[0.25, 1.0, 0.5, 1.0, 0.01], [0.05, 0.2, 0.15, 0.2, 1e-4], [4.0, 20.0, 20.0, 20.0, 0.1]]
)


class Surrogate:
    """Predicts scores of rows by a Gaussian process (Matern 5/2) on scikit-learn.

    Length scales are shared within a group of columns: one for each column could not be learned
    from a few hundred scores.

    >>> model = Surrogate(groups=np.array([0, 1, 2]))
    >>> rows = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> model.learn(rows, scores=np.array([0.0, 1.0]), doubts=np.full(2, 0.01))
    >>> means, deviations = model.predict(np.array([[0.0, 0.9, 0.0], [1.0, 0.5, 1.0]]))
    >>> bool(means[0] > means[1]), bool(deviations[0] < deviations[1])
    (True, True)
    """

    def __init__(self, groups: NDArray[np.int64]) -> None:
        self.scales: Numbers = START.copy()  # logarithms
        self._groups = groups
        self._model: Any = None

    def fit_scales(self, rows: Numbers, scores: Numbers, doubts: Numbers) -> None:
        """Find the scales under which these scores are likeliest."""
        from scipy.optimize import Bounds, minimize

        self.learn(rows, scores, doubts)
        likelihood = self._model.log_marginal_likelihood

        def loss(scales: Numbers) -> float:
            return -float(likelihood(self._spelt_out(scales), clone_kernel=False))

        found = minimize(
            loss,
            np.clip(self.scales, LOWEST, HIGHEST),
            method="Nelder-Mead",
            bounds=Bounds(LOWEST, HIGHEST),
            options={"maxfev": STEPS, "disp": False},
        )
        self.scales = np.asarray(found.x, dtype=np.float64)

    def learn(self, rows: Numbers, scores: Numbers, doubts: Numbers) -> None:
        """Know these scores, each with its variance, and nothing else."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        kernel = ConstantKernel() * Matern(np.ones(len(self._groups)), nu=2.5) + WhiteKernel()
        kernel = kernel.clone_with_theta(self._spelt_out(self.scales))
        self._model = GaussianProcessRegressor(kernel, alpha=doubts, optimizer=None)
        self._model.fit(rows, scores)

    def predict(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """The expected scores and their standard deviations, without the noise of a telling."""
        means, deviations = self._model.predict(rows, return_std=True)
        variances = deviations**2 - np.exp(self.scales[-1])
        return means, np.sqrt(np.maximum(variances, 0.0))

    def _spelt_out(self, scales: Numbers) -> Numbers:
        """One length scale for each column, as scikit-learn wants them."""
        return np.concatenate([scales[:1], scales[1:-1][self._groups], scales[-1:]])
