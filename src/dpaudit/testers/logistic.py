"""The logistic regressions of DP-Sniper and Delta-Siege, on plain features of the outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpaudit.arrays import Floats
from dpaudit.guessing import balanced_weights, newton

_MAX_DESIGN_CELLS = 2e7  # numbers in a design: rows beyond are not learned from
_CELLS_AT_ONCE = 4e6  # scored
_FITS = 2  # of a few Newton steps each, the second from where the first ended
_BITS = 64  # of a float


@dataclass(eq=False)
class PlainLogistic:
    """Linear log-odds of the standardised numbers of an output, or of the 64 bits of each number.

    The mean loss is charged `ridge` times the sum of the squared weights, that of the constant
    among them, as published; both sides weigh the same. It has scikit-learn's methods, so that
    words become columns of 0 and 1, as for anyone's own classifier.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(2000) < 0.5
    >>> model = PlainLogistic(features="values", ridge=1e-6)
    >>> model.fit(rng.normal(size=(2000, 1)) + labels[:, None], labels.astype(np.int64))
    >>> model.predict_proba(np.array([[0.5]])).round(1).tolist()  # half-way between the sides
    [[0.5, 0.5]]
    """

    features: Literal["values", "bits"]
    ridge: float

    def fit(self, rows: Floats, labels: npt.NDArray[np.int64]) -> None:
        """Learn from rows of either side, in one go."""
        # In units of the largest number, so that the squares of large ones are floats too.
        self._unit = np.maximum(np.abs(rows).max(axis=0, initial=0.0), 1e-300)
        self._centre, spread = ((rows / self._unit).mean(axis=0), (rows / self._unit).std(axis=0))
        self._spread = np.where(spread > 0.0, spread, np.inf)  # a constant column says nothing
        width = rows.shape[1] * (_BITS if self.features == "bits" else 1) + 1
        some = slice(max(int(_MAX_DESIGN_CELLS / width), 1))
        data = labels[some] == 1
        weights = balanced_weights(data)
        penalty = np.full((1, width), 2.0 * self.ridge * len(data))
        design, mode = self._design(rows[some])[None], np.zeros((1, width))
        for _ in range(_FITS):
            mode, _ = newton(design, weights * data, weights * ~data, penalty, mode)
        self._weights = mode[0]

    def predict_proba(self, rows: Floats) -> npt.NDArray[Any]:
        """The probabilities of the neighbour and of the data, one row each."""
        found = [np.empty(0), *(self._design(part) @ self._weights for part in self._parts(rows))]
        data = expit(np.concatenate(found))
        return np.column_stack([1.0 - data, data])

    def _parts(self, rows: Floats) -> Iterator[Floats]:
        size = max(int(_CELLS_AT_ONCE / len(self._weights)), 1)
        return (rows[start : start + size] for start in range(0, len(rows), size))

    def _design(self, rows: Floats) -> Floats:
        """One row of features for each output; the last is 1."""
        ones = np.ones((len(rows), 1))
        if self.features == "bits":
            return np.hstack([bits_of(rows), ones])
        with np.errstate(over="ignore"):
            away = (rows / self._unit - self._centre) / self._spread
        return np.hstack([np.clip(np.nan_to_num(away), -1e9, 1e9), ones])


def bits_of(rows: Floats) -> Floats:
    """The sign, the exponent and the fraction of each number, bit by bit.

    >>> bits_of(np.array([[-2.0]]))[0, :4].tolist(), bits_of(np.zeros((5, 2))).shape
    ([1.0, 1.0, 0.0, 0.0], (5, 128))
    """
    stored = np.ascontiguousarray(rows, dtype=np.float64).astype(">f8")
    octets = stored.view(np.uint8).reshape(len(rows), -1)
    return np.unpackbits(octets, axis=1).astype(np.float64)
