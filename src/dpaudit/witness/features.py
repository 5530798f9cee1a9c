"""Outputs as features: shapes a difference between two sides usually has, free of units.

A release is nearly always something plus noise, so the two sides nearly always differ by a shift or
a scale. Each map below is the pair of features (shift, scale) that is right for one noise:

- `gaussian`: `z` and `z^2`; `laplace`: `z` near the centre and `|z|`; both about median and median
  distance, clipped where they would trust an outlier;
- `normal_scores`: the Gaussian's, of ranks: any monotone transform of a shift or a scale;
- `cauchy`: `2z/(1+z^2)` and `(z^2-1)/(z^2+1)` at a small scale: a shift in the middle of outputs
  that are otherwise far away, even astronomically far.

`cosines` of the rank are the general map: any smooth difference, at the price of more to learn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpaudit.outputs import Table
from dpaudit.witness.columns import SHARES, Column

Floats = npt.NDArray[np.float64]
_INTERCEPT, _INDICATOR = 30.0, 0.3  # ridge penalties
FeatureMap = Callable[[Column, Floats], Floats]


def _standard(column: Column, numbers: Floats, scale: float) -> Floats:
    """Distances from the median in units of `scale`, finite however far an output lies."""
    with np.errstate(over="ignore"):
        return np.clip((numbers - column.median) / scale, -1e100, 1e100)


def gaussian(column: Column, numbers: Floats) -> Floats:
    """Shift and scale of Gaussian noise: `(z, z^2)`, `z` clipped to 3 standard deviations."""
    z = np.clip(_standard(column, numbers, 1.48 * column.scales[-1]), -3.0, 3.0)
    return np.stack([z, (z * z - 1.0) / 1.4], axis=1)


def laplace(column: Column, numbers: Floats) -> Floats:
    """Shift and scale of Laplace noise: `(clip(z), |z|)`."""
    z = _standard(column, numbers, column.scales[-1])
    distance = np.minimum(np.abs(z), 8.0)
    return np.stack([np.clip(z, -1.0, 1.0), distance / 1.44 - 1.0], axis=1)


def normal_scores(column: Column, numbers: Floats) -> Floats:
    """The Gaussian's shift and scale, of the normal scores of the ranks."""
    from scipy.special import ndtri

    z = ndtri(column.rank(numbers))
    return np.stack([z, (z * z - 1.0) / 1.4], axis=1)


def cauchy(share: float) -> FeatureMap:
    """Shift and scale of Cauchy noise whose scale is a quantile of the distance to the median."""
    place = SHARES.index(share)

    def features(column: Column, numbers: Floats) -> Floats:
        z = _standard(column, numbers, column.scales[place])
        return np.stack([2.0 * z, z * z - 1.0], axis=1) / (1.0 + z * z)[:, None]

    return features


def cosines(order: int) -> FeatureMap:
    """`cos(pi k u)` of the rank `u`, for `k = 1..order`."""
    frequencies = np.pi * np.arange(1, order + 1)

    def features(column: Column, numbers: Floats) -> Floats:
        return np.asarray(np.cos(column.rank(numbers)[:, None] * frequencies))

    return features


def design(columns: tuple[Column, ...], table: Table, feature_map: FeatureMap) -> Floats:
    """The matrix of a model that adds up over the columns; its first column is the intercept."""
    parts = [np.ones((len(table), 1))]
    for column in columns:
        if len(column.ordered):
            features = feature_map(column, table.numbers[:, column.place])
            plain = column.plain(table)
            parts.append(features if plain is None else features * plain[:, None])
        parts.append(column.indicators(table))
    return np.concatenate(parts, axis=1)


def penalties(columns: tuple[Column, ...], shape: Floats) -> Floats:
    """Ridge penalties beside `design`: `shape` for a column's features.

    The label is a fair coin, so the intercept is nearly 0 and hardly worth learning.
    """
    parts = [np.full(1, _INTERCEPT)]
    for column in columns:
        if len(column.ordered):
            parts.append(shape)
        parts.append(np.full(len(column.words) + len(column.repeated), _INDICATOR))
    return np.concatenate(parts)
