"""Ridge logistic regression, several models at once, with honest uncertainty.

`c(x) = 1/(1 + exp(-x.beta))`, `beta` the posterior mode under a Gaussian prior, found by Newton's
method; predictions are shrunk by the posterior variance of the logit (MacKay 1992), because an
over-confident guess loses money. All models of one bank have designs of one shape, so that a refit
is a few small matrix products rather than a loop over models.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from dpaudit.arrays import Floats
from dpaudit.guessing.columns import View
from dpaudit.guessing.features import FeatureMap, design, penalties
from dpaudit.guessing.sample import Sample

_STEPS = 5
_LONGEST_STEP = 4.0  # nats a Newton step may move any logit: far from the mode it overshoots
_CONVERGED = 0.01  # nats: finer than any sample can tell
_BLOCK = 65_536  # rows whose weighted copy is held at once


class LinearBank:
    """Additive logistic models over the columns, one for each pair of feature map and penalty."""

    def __init__(self, models: tuple[tuple[FeatureMap, Floats], ...], *, first: int = 0) -> None:
        self._models = models
        self._first = first  # draws before which these models have nothing to say
        self.count = len(models)
        self._beta = np.zeros((self.count, 0))
        self._covariance = np.zeros((self.count, 0, 0))

    def fit(self, sample: Sample, view: View) -> Floats:
        """Learn the past, starting from the last fit; the log-odds it gives to the past."""
        if sample.size < self._first:
            return np.zeros((self.count, len(view.table)))
        features = self._design(view)
        penalty = np.stack([penalties(view.columns, shape) for _, shape in self._models])
        start = self._beta if self._beta.shape == penalty.shape else np.zeros_like(penalty)
        self._beta, self._covariance = newton(features, sample.ones, sample.zeros, penalty, start)
        return self._predict(features)

    def logits(self, view: View) -> Floats:
        """The log-odds of `data` for each model and row, shrunk by their uncertainty."""
        if self._beta.shape[1] == 0:
            return np.zeros((self.count, len(view.table)))
        return self._predict(self._design(view))

    def _predict(self, features: Floats) -> Floats:
        mode = np.matmul(features, self._beta[:, :, None])[:, :, 0]
        variance = variances(features, self._covariance)
        return np.asarray(mode / np.sqrt(1.0 + np.pi / 8.0 * variance))

    def _design(self, view: View) -> Floats:
        made = {feature_map: design(view, feature_map) for feature_map, _ in self._models}
        return np.stack([made[feature_map] for feature_map, _ in self._models])


def variances(features: Floats, covariance: Floats) -> Floats:
    """The posterior variance of the logit of every row of a design."""
    return np.asarray((np.matmul(features, covariance) * features).sum(axis=-1))


def newton(
    features: Floats, ones: Floats, zeros: Floats, penalty: Floats, start: Floats
) -> tuple[Floats, Floats]:
    """Posterior mode and covariance of each model: `features` is (models, rows, features).

    >>> features = np.ones((1, 2, 1))
    >>> mode, _ = newton(
    ...     features,
    ...     np.array([30.0, 0.0]),
    ...     np.array([0.0, 10.0]),
    ...     np.full((1, 1), 1e-9),
    ...     np.zeros((1, 1)),
    ... )
    >>> print(round(float(mode[0, 0]), 3))  # log(30 / 10)
    1.099
    """
    beta, total = start, ones + zeros
    diagonal = np.arange(features.shape[2])
    blocks = [slice(first, first + _BLOCK) for first in range(0, max(features.shape[1], 1), _BLOCK)]
    for _ in range(_STEPS):
        gradient, hessian = -penalty * beta, np.zeros((*penalty.shape, penalty.shape[1]))
        for block in blocks:
            part = features[:, block]
            transposed = part.transpose(0, 2, 1)
            guess = expit(np.matmul(part, beta[:, :, None])[:, :, 0])
            surprise = ones[block] - total[block] * guess
            gradient += np.matmul(transposed, surprise[:, :, None])[:, :, 0]
            weight = total[block] * np.maximum(guess * (1.0 - guess), 1e-6)
            hessian += np.matmul(transposed * weight[:, None, :], part)
        hessian[:, diagonal, diagonal] += penalty
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        reach = np.abs(np.matmul(features, step[:, :, None])[:, :, 0]).max(axis=1, initial=0.0)
        beta = beta + step * np.minimum(1.0, _LONGEST_STEP / np.maximum(reach, 1e-300))[:, None]
        if reach.max() < _CONVERGED:
            break
    return beta, np.linalg.inv(hessian)
