"""DP-SGD with six bugs and without, in NumPy: what `sgd.py` and the tests audit.

Logistic regression on a fixed table. A record is a row of features with its label, 1 or -1, in the
last column. The claim is that of the accountant for the noise multiplier, the sampling rate and the
number of steps, when a record is added or removed; the number of all records is public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import dpaudit
from dpaudit.inside import Gaussian

Floats = NDArray[np.float64]
CLIP, RATE, STEPS, SIGMA = 1.0, 0.25, 20, 0.7
RECORDS, FEATURES = 500, 10
LEARNING_RATE = 0.05
BUGS = (
    "none",
    "microbatches clipped",
    "batch clipped",
    "not clipped",
    "noise over batch",
    "noise squared",
    "private number",
)


def table(records: int = RECORDS, features: int = FEATURES) -> Floats:
    """A far row of one class, which will be removed, then rows of another, of all sizes."""
    rng = np.random.default_rng(20_261_201)
    rows = rng.normal(0.4, 1.0, size=(records, features))
    rows *= rng.lognormal(0.5, 1.0, size=(records, 1))  # of very different sizes, as amounts are
    rows[0] = 4.0
    labels = np.ones((records, 1))
    labels[0] = -1.0
    return np.hstack([rows, labels])


def neighbours(data: Floats) -> list[tuple[Floats, Floats]]:
    """The table with the far record and without it."""
    return [(data, data[1:])]


def clipped(rows: Floats) -> Floats:
    """Each row with a norm of at most `CLIP`."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, CLIP / np.maximum(norms, 1e-12)))


def gradients(weights: Floats, records: Floats) -> Floats:
    """Of the logistic loss, a row for each record."""
    x, y = records[:, :-1], records[:, -1:]
    return np.asarray(-y * x / (1.0 + np.exp(y * (x @ weights)[:, None])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """DP-SGD that releases the noisy sum of clipped gradients at each step; with one bug, or none.

    The output is the weights of the last step.
    """

    bug: str = "none"
    size: int = RECORDS  # which is public
    steps: int = STEPS
    sigma: float = SIGMA

    def __call__(self, data: Floats, rng: np.random.Generator) -> Floats:
        weights = np.zeros(data.shape[1] - 1)
        batch = RATE * self.size
        for _ in range(self.steps):
            chosen = data[dpaudit.hidden_sample(len(data), RATE, rng)]
            total = self.total(gradients(weights, chosen), batch, len(data))
            noisy = dpaudit.release(total, Gaussian(self.scale(batch)), rng)
            weights = weights - LEARNING_RATE * noisy / batch
        return weights

    def total(self, each: Floats, batch: float, private: int) -> Floats:
        """The sum of gradients before the noise."""
        match self.bug:
            case "microbatches clipped":  # two records each, whose mean is clipped
                padded = np.vstack([each, np.zeros((len(each) % 2, each.shape[1]))])
                return np.asarray(clipped(padded.reshape(-1, 2, each.shape[1]).mean(1)).sum(0))
            case "batch clipped":  # the mean of the batch is clipped, not each of its gradients
                return np.asarray(batch * clipped(each.sum(0, keepdims=True) / batch)[0])
            case "not clipped":
                return np.asarray(each.sum(0))
            case "private number":
                return np.asarray(clipped(each).sum(0) * self.size / private)
            case _:
                return np.asarray(clipped(each).sum(0))

    def scale(self, batch: float) -> float:
        """The standard deviation of the noise."""
        match self.bug:
            case "noise over batch":
                return self.sigma * CLIP / batch
            case "noise squared":
                return self.sigma**2 * CLIP
            case _:
                return self.sigma * CLIP


def claim_of(sigma: float = SIGMA, rate: float = RATE, steps: int = STEPS) -> dpaudit.Profile:
    """The curve of dp-accounting for Poisson-subsampled Gaussian noise."""
    events = dpaudit.integrations.needed("dp_accounting", "dp-accounting")
    step = events.PoissonSampledDpEvent(rate, events.GaussianDpEvent(sigma))
    composed = events.SelfComposedDpEvent(step, steps)
    return dpaudit.integrations.from_dp_accounting(composed, name=f"DP-SGD, {steps} steps")
