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

from dpaudit.arrays import Floats
from dpaudit.guessing.columns import SHARES, Column, View

_INTERCEPT, _INDICATOR = 30.0, 0.3  # ridge penalties
FeatureMap = Callable[[Column, View], Floats]


def _standard(column: Column, view: View, scale: float) -> Floats:
    """Distances from the median in units of `scale`, finite however far an output lies."""
    with np.errstate(over="ignore"):
        return np.clip((view.table.numbers[:, column.place] - column.median) / scale, -1e100, 1e100)


def gaussian(column: Column, view: View) -> Floats:
    """Shift and scale of Gaussian noise: `(z, z^2)`, `z` clipped to 3 standard deviations."""
    z = np.clip(_standard(column, view, 1.48 * column.scales[-1]), -3.0, 3.0)
    return np.stack([z, (z * z - 1.0) / 1.4], axis=1)


def laplace(column: Column, view: View) -> Floats:
    """Shift and scale of Laplace noise: `(clip(z), |z|)`."""
    z = _standard(column, view, column.scales[-1])
    distance = np.minimum(np.abs(z), 8.0)
    return np.stack([np.clip(z, -1.0, 1.0), distance / 1.44 - 1.0], axis=1)


def normal_scores(column: Column, view: View) -> Floats:
    """The Gaussian's shift and scale, of the normal scores of the ranks."""
    from scipy.special import ndtri

    z = ndtri(view.rank(column))
    return np.stack([z, (z * z - 1.0) / 1.4], axis=1)


def cauchy(share: float) -> FeatureMap:
    """Shift and scale of Cauchy noise whose scale is a quantile of the distance to the median."""
    place = SHARES.index(share)

    def features(column: Column, view: View) -> Floats:
        z = _standard(column, view, column.scales[place])
        return np.stack([2.0 * z, z * z - 1.0], axis=1) / (1.0 + z * z)[:, None]

    return features


def cosines(order: int) -> FeatureMap:
    """`cos(pi k u)` of the rank `u`, for `k = 1..order`."""
    frequencies = np.pi * np.arange(1, order + 1)

    def features(column: Column, view: View) -> Floats:
        return np.asarray(np.cos(view.rank(column)[:, None] * frequencies))

    return features


def design(view: View, feature_map: FeatureMap) -> Floats:
    """The matrix of a model that adds up over the columns; its first column is the intercept."""
    parts = [np.ones((len(view.table), 1))]
    for column in view.columns:
        if len(column.ordered):
            features = feature_map(column, view)
            plain = column.plain(view.table)
            parts.append(features if plain is None else features * plain[:, None])
        if column.repeats:
            parts.append(view.indicators(column))
    return np.concatenate(parts, axis=1)


def penalties(columns: tuple[Column, ...], shape: Floats) -> Floats:
    """Ridge penalties beside `design`: `shape` for a column's features.

    The label is a fair coin, so the intercept is nearly 0 and hardly worth learning.
    """
    parts = [np.full(1, _INTERCEPT)]
    for column in columns:
        if len(column.ordered):
            parts.append(shape)
        parts.append(np.full(column.repeats, _INDICATOR))
    return np.concatenate(parts)
