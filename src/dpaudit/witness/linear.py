"""Ridge logistic regression, several models at once, with honest uncertainty.

`c(x) = 1/(1 + exp(-x.beta))`, `beta` the posterior mode under a Gaussian prior, found by Newton's
method; predictions are shrunk by the posterior variance of the logit (MacKay 1992), because an
over-confident guess loses money. All models of one bank have designs of one shape, so that a refit
is a few small matrix products rather than a loop over models.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpaudit.outputs import Table
from dpaudit.witness.columns import Column
from dpaudit.witness.features import FeatureMap, design, penalties
from dpaudit.witness.sample import Sample

Floats = npt.NDArray[np.float64]

_STEPS = 6
_LONGEST_STEP = 4.0  # nats a Newton step may move any logit: far from the mode it overshoots
_CONVERGED = 1e-3


class LinearBank:
    """Additive logistic models over the columns, one for each pair of feature map and penalty."""

    def __init__(self, models: tuple[tuple[FeatureMap, Floats], ...]) -> None:
        self._models = models
        self.count = len(models)
        self._columns: tuple[Column, ...] = ()
        self._beta = np.zeros((self.count, 0))
        self._covariance = np.zeros((self.count, 0, 0))

    def fit(self, sample: Sample, columns: tuple[Column, ...]) -> None:
        """Learn the past; the last fit is where this one starts."""
        self._columns = columns
        features = self._design(sample.rows)
        penalty = np.stack([penalties(columns, shape) for _, shape in self._models])
        start = self._beta if self._beta.shape == penalty.shape else np.zeros_like(penalty)
        self._beta, self._covariance = newton(
            features, sample.ones, sample.zeros, penalty, start
        )

    def logits(self, table: Table) -> Floats:
        """The log-odds of `data` for each model and row, shrunk by their uncertainty."""
        features = self._design(table)
        mode = np.matmul(features, self._beta[:, :, None])[:, :, 0]
        variance = (np.matmul(features, self._covariance) * features).sum(axis=2)
        return np.asarray(mode / np.sqrt(1.0 + np.pi / 8.0 * variance))

    def _design(self, table: Table) -> Floats:
        made: dict[int, Floats] = {}
        for feature_map, _ in self._models:
            if id(feature_map) not in made:
                made[id(feature_map)] = design(self._columns, table, feature_map)
        return np.stack([made[id(feature_map)] for feature_map, _ in self._models])


def newton(
    features: Floats, ones: Floats, zeros: Floats, penalty: Floats, start: Floats
) -> tuple[Floats, Floats]:
    """Posterior mode and covariance of each model: `features` is (models, rows, features).

    >>> features = np.ones((1, 2, 1))
    >>> mode, _ = newton(features, np.array([30.0, 0.0]), np.array([0.0, 10.0]),
    ...                  np.full((1, 1), 1e-9), np.zeros((1, 1)))
    >>> print(round(float(mode[0, 0]), 3))  # log(30 / 10)
    1.099
    """
    beta, total = start, ones + zeros
    transposed = features.transpose(0, 2, 1)
    diagonal = np.arange(features.shape[2])
    for _ in range(_STEPS):
        guess = expit(np.matmul(features, beta[:, :, None])[:, :, 0])
        gradient = np.matmul(transposed, (ones - total * guess)[:, :, None])[:, :, 0]
        gradient -= penalty * beta
        weight = total * np.maximum(guess * (1.0 - guess), 1e-6)
        hessian = np.matmul(transposed * weight[:, None, :], features)
        hessian[:, diagonal, diagonal] += penalty
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        reach = np.abs(np.matmul(features, step[:, :, None])[:, :, 0]).max(axis=1, initial=0.0)
        beta = beta + step * np.minimum(1.0, _LONGEST_STEP / np.maximum(reach, 1e-300))[:, None]
        if reach.max() < _CONVERGED:
            break
    return beta, np.linalg.inv(hessian)
