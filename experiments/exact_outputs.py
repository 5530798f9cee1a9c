"""The exact outputs of the paper's broken mechanisms on a pair of datasets.

Both output distributions are given as the masses of the same cells: an output that is a number is
cut into cells so small that every integral over it is a sum, to at least four digits. The formulas
are those of the mechanisms' docstrings, for their default threshold of 0.5 and cutoff of 1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

Floats: TypeAlias = npt.NDArray[np.float64]
Density: TypeAlias = Callable[[Floats], Floats]
Dataset: TypeAlias = tuple[float, ...]

THRESHOLD = 0.5  # of the sparse vector technique
LEAST_COUNT = 1e-12  # of a noisy count
REACH = 38.0  # scales of noise; beyond them even its density is no float any more
MIXED_REACH = {
    "laplace": 38.0,
    "normal": 9.0,
}  # the same for a mixture: what is left is below 1e-16


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Masses:
    """How likely each of the same cells is on the data, and on their neighbour."""

    data: Floats
    neighbour: Floats


@functools.lru_cache
def exact_outputs(mechanism: str, epsilon: float, data: Dataset, neighbour: Dataset) -> Masses:
    """Give the outputs of a mechanism of the zoo, built for this epsilon, on a pair.

    >>> masses = exact_outputs("SVT5", 1.0, (1.0, 0.0), (0.0, 1.0))
    >>> print(masses.data.round(4), masses.neighbour.round(4))
    [0.3894 0.     0.2212 0.3894] [0.3894 0.2212 0.     0.3894]
    """
    try:
        both_sides = _MECHANISMS[mechanism]
    except KeyError:
        known = ", ".join(_MECHANISMS)
        raise ValueError(
            f"no exact outputs are known of {mechanism}; of {known} they are."
        ) from None
    ours, theirs = both_sides(epsilon, (data, neighbour))
    seen = ours + theirs > 0
    return Masses(data=ours[seen], neighbour=theirs[seen])


def gauss_legendre(edges: Floats, order: int) -> tuple[Floats, Floats]:
    """Give nodes and weights, panel by panel: exact between the edges for smooth functions.

    >>> nodes, weights = gauss_legendre(np.array([0.0, 1.0, 3.0]), 5)
    >>> nodes.shape, round(float(np.sum(weights * nodes**2)), 9)
    ((2, 5), 9.0)
    """
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + edges[1:, None]) / 2 + half * nodes, half * weights


def laplace(x: Floats) -> Floats:
    """Give the density of Laplace noise of scale 1."""
    return np.asarray(np.exp(-np.abs(x)) / 2)


def laplace_cdf(x: Floats) -> Floats:
    """Give the chance that Laplace noise of scale 1 is at most x."""
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def normal(x: Floats) -> Floats:
    """Give the density of normal noise of scale 1."""
    return np.asarray(np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi))


def _mean(family: str, epsilon: float, pair: Sequence[Dataset]) -> tuple[Floats, Floats]:
    """The mean, with noise of scale `2 / (n epsilon)`, `n` the true count."""
    scales = [2 / (epsilon * len(side)) for side in pair]
    widest = REACH * max(scales)
    near = np.linspace(-widest, widest, 1_200)
    edges = np.unique([*near, *(math.fsum(side) / len(side) for side in pair)])
    nodes, weights = gauss_legendre(edges, 10)
    ours, theirs = (
        weights * _FAMILIES[family]((nodes - math.fsum(side) / len(side)) / scale) / scale
        for side, scale in zip(pair, scales, strict=True)
    )
    return ours.ravel(), theirs.ravel()


def _mean_of_noisy_count(
    family: str, epsilon: float, pair: Sequence[Dataset]
) -> tuple[Floats, Floats]:
    """The mean, with noise of scale `2 / (n epsilon)`, `n` a noisy count of at least 1e-12."""
    centres = [math.fsum(side) / len(side) for side in pair]
    low, high = min(centres), max(centres)
    farthest = MIXED_REACH[family] * 2 / (epsilon * LEAST_COUNT)
    away = np.geomspace(1e-3, farthest, int(12 * math.log10(farthest / 1e-3)))
    edges = np.unique([*(low - away), *np.linspace(low, high, 61), *(high + away)])
    nodes, weights = gauss_legendre(edges, 10)
    ours, theirs = (
        weights.ravel() * _mixture(family, epsilon, len(side), nodes.ravel() - centre)
        for side, centre in zip(pair, centres, strict=True)
    )
    return ours, theirs


def _mixture(family: str, epsilon: float, records: int, x: Floats) -> Floats:
    """The density of noise whose scale is set by a noisy count of the records."""
    density, scale = _FAMILIES[family], 2 / epsilon
    most = records + MIXED_REACH[family] * scale
    small = np.geomspace(LEAST_COUNT, scale / 10, 40)
    edges = np.unique([*small, *np.linspace(scale / 10, most, 120), records])
    nodes, weights = gauss_legendre(edges, 12)
    chances = (weights * density((nodes - records) / scale) / scale).ravel()
    at_least = float(_CUMULATIVE[family](np.array((LEAST_COUNT - records) / scale)))
    counts, chances = np.append(LEAST_COUNT, nodes.ravel()), np.append(at_least, chances)
    found = np.empty(len(x))
    for start in range(0, len(x), 512):  # no table of all outputs and counts at once
        part = slice(start, start + 512)
        found[part] = density(x[part, None] * (counts / scale)) @ (chances * counts / scale)
    return found


def _bars(scale: float, *, least: float, pair: Sequence[Dataset]) -> Floats:
    """Edges between which the noise on the threshold is smooth, and so is all that meets it."""
    kinks = [0.0, *(answer - THRESHOLD for side in pair for answer in side)]
    reach = REACH * scale
    return np.unique([*np.linspace(-reach, reach, int(4 * reach / least)), *kinks])


def _first_above(
    bar: float, query: float, epsilon: float, pair: Sequence[Dataset]
) -> tuple[Floats, Floats]:
    """The place of the first answer above; the last cell is "none".

    `bar` and `query` are the scales of the noise on the threshold and on the answers, in units of
    `1/epsilon`.
    """
    scale, query_scale = bar / epsilon, query / epsilon
    nodes, weights = gauss_legendre(_bars(scale, least=query_scale, pair=pair), 12)
    sides = []
    for answers in pair:
        left = (weights * laplace(nodes / scale) / scale).ravel()
        places = []
        for answer in answers:
            below = laplace_cdf((THRESHOLD + nodes.ravel() - answer) / query_scale)
            places.append(float(np.sum(left * (1 - below))))
            left = left * below
        sides.append(np.array([*places, float(left.sum())]))
    return sides[0], sides[1]


def _first_above_and_its_answer(epsilon: float, pair: Sequence[Dataset]) -> tuple[Floats, Floats]:
    """SVT3: the place of the first answer above and that answer; the last cell is "none".

    `x` in place i comes out with density `Pr[noisy threshold <= x, all before below] * pdf(x - q)`.
    """
    scale = 2 / epsilon
    edges = _bars(scale, least=scale, pair=pair)
    nodes, weights = gauss_legendre(edges, 10)
    # From the left end of its panel to every node: what of the panel lies below that node.
    inner, inner_weights = np.polynomial.legendre.leggauss(10)
    half = (nodes - edges[:-1, None])[..., None] / 2
    within = edges[:-1, None, None] + half * (1 + inner)
    sides = []
    for answers in pair:
        left = weights * laplace(nodes / scale) / scale
        left_within = half * inner_weights * laplace(within / scale) / scale
        cells = []
        for answer in answers:
            before = np.cumsum(left.sum(axis=1)) - left.sum(axis=1)
            reached = before[:, None] + left_within.sum(axis=2)
            released = laplace((THRESHOLD + nodes - answer) / scale) / scale
            cells.append((weights * reached * released).ravel())
            left = left * laplace_cdf((THRESHOLD + nodes - answer) / scale)
            left_within = left_within * laplace_cdf((THRESHOLD + within - answer) / scale)
        sides.append(np.concatenate([*cells, [left.sum()]]))
    return sides[0], sides[1]


def _order_of_answers(epsilon: float, pair: Sequence[Dataset]) -> tuple[Floats, Floats]:
    """SVT5: which answers are above one noisy threshold, for every place it can fall into."""
    cuts = np.unique([answer for side in pair for answer in side])
    below = laplace_cdf((cuts - THRESHOLD) * epsilon / 2)
    chances = np.diff(below, prepend=0.0, append=1.0)  # of bars up to each cut, then beyond all
    bars = [*cuts, math.inf]
    ways = [[tuple(answer >= bar for answer in side) for bar in bars] for side in pair]
    cells = sorted(set(ways[0]) | set(ways[1]))
    ours, theirs = (
        np.array([math.fsum(chances[[way == cell for way in each]]) for cell in cells])
        for each in ways
    )
    return ours, theirs


def _all_answers(epsilon: float, pair: Sequence[Dataset]) -> tuple[Floats, Floats]:
    """SVT6: every way in which the answers can be above and below, one cell each."""
    scale = 2 / epsilon
    nodes, weights = gauss_legendre(_bars(scale, least=2 * scale, pair=pair), 12)
    sides = []
    for answers in pair:
        ways = (weights * laplace(nodes / scale) / scale).reshape(1, -1)
        for answer in answers:
            below = laplace_cdf((THRESHOLD + nodes.ravel() - answer) / scale)
            ways = np.concatenate([ways * below, ways * (1 - below)])
        sides.append(ways.sum(axis=1))
    return sides[0], sides[1]


_FAMILIES: dict[str, Density] = {"laplace": laplace, "normal": normal}
_CUMULATIVE: dict[str, Density] = {"laplace": laplace_cdf, "normal": special.ndtr}
_MECHANISMS: dict[str, Callable[[float, Sequence[Dataset]], tuple[Floats, Floats]]] = {
    "NonDPLaplace1": functools.partial(_mean, "laplace"),
    "NonDPLaplace2": functools.partial(_mean_of_noisy_count, "laplace"),
    "NonDPGaussian1": functools.partial(_mean, "normal"),
    "NonDPGaussian2": functools.partial(_mean_of_noisy_count, "normal"),
    "SVT1": functools.partial(_first_above, 2.0, 4.0),
    "SVT2": functools.partial(_first_above, 2.0, 4.0),  # with a cutoff of 1
    "SVT3": _first_above_and_its_answer,
    "SVT4": functools.partial(_first_above, 4.0, 4 / 3),
    "SVT5": _order_of_answers,
    "SVT6": _all_answers,
}
