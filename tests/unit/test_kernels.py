"""Kernels on outputs: estimates against naive loops, their mean, and scales."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dpaudit.outputs import Encoder
from dpaudit.testers.kernels import (
    Kernel,
    Kind,
    Points,
    as_they_are,
    block_means,
    median_distance,
    ranks_of,
)

KINDS: tuple[Kind, ...] = ("rbf", "laplacian")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def points(outputs: Any) -> Points:
    return as_they_are(Encoder().encode(outputs))


def similarity(kernel: Kernel, x: list[Any], y: list[Any]) -> float:
    """The kernel by its definition, cell by cell; None is an atom."""
    gaps = []
    for a, b in zip(x, y, strict=True):
        both_numbers = a is not None and b is not None
        gaps.append(abs(a - b) if both_numbers else kernel.far * (a is not b))
    if kernel.kind == "rbf":
        return math.exp(-sum(gap**2 for gap in gaps) / (2 * kernel.bandwidth**2))
    return math.exp(-sum(gaps) / kernel.bandwidth)


def rows_of(size: int, seed: int) -> list[list[Any]]:
    numbers = rng(seed).normal(size=(size, 2)).tolist()
    return [[a if a > -1 else None, b if b < 1 else None] for a, b in numbers]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(2, 2), (3, 5), (4, 2)], ids=str)
def test_block_means_are_the_naive_loops(kind: Kind, sizes: tuple[int, int]) -> None:
    blocks = 7
    kernel = Kernel(kind=kind, bandwidth=0.8, far=1.5)
    data, neighbour = rows_of(blocks * sizes[0], 1), rows_of(blocks * sizes[1], 2)
    encoder = Encoder()
    first, second = (as_they_are(encoder.encode(side)) for side in (data, neighbour))
    means = block_means(kernel, first, second, blocks=blocks, sizes=sizes)
    for block in range(blocks):
        x, y = data[block::blocks], neighbour[block::blocks]
        within = [
            np.mean([similarity(kernel, a, b) for a, b in itertools.permutations(side, 2)])
            for side in (x, y)
        ]
        across = np.mean([similarity(kernel, a, b) for a in x for b in y])
        assert means[block] == pytest.approx(sum(within) - 2 * across, abs=1e-6)


@pytest.mark.parametrize("blocks", [1, 2, 40_000])
def test_stretches_of_blocks_change_nothing(blocks: int) -> None:
    kernel = Kernel(kind="rbf", bandwidth=1.0, far=1.0)
    x, y = rng(0).normal(size=2 * blocks), rng(1).normal(size=2 * blocks)
    means = block_means(kernel, points(x), points(y), blocks=blocks, sizes=(2, 2))
    assert means.shape == (blocks,)
    for block in {0, blocks // 2, blocks - 1}:
        alone = [points(side[block::blocks]) for side in (x, y)]
        assert means[block] == block_means(kernel, *alone, blocks=1, sizes=(2, 2))[0]


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2)], ids=str)
def test_an_estimate_has_the_squared_discrepancy_as_its_mean(sizes: tuple[int, int]) -> None:
    """Exact: all samples of a block, each with its probability, on three outputs."""
    p, q, values = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6], np.array([0.0, 1.0, 3.0])
    kernel = Kernel(kind="laplacian", bandwidth=2.0, far=1.0)
    every = list(itertools.product(range(3), repeat=sum(sizes)))
    drawn = values[np.array(every)].T  # (points of a block, blocks)
    first, second = (points(part.reshape(-1)) for part in np.split(drawn, [sizes[0]]))
    means = block_means(kernel, first, second, blocks=len(every), sizes=sizes)
    chances = [
        math.prod([p[i] for i in each[: sizes[0]]] + [q[i] for i in each[sizes[0] :]])
        for each in every
    ]
    k = np.exp(-np.abs(values[:, None] - values) / 2.0)
    gap = np.array(p) - np.array(q)
    assert np.dot(chances, means) == pytest.approx(gap @ k @ gap, abs=1e-6)
    assert np.abs(means).max() <= 2.0


def test_the_discrepancy_of_any_kernel_from_0_to_1_is_bounded_by_total_variation() -> None:
    """`E k(x,x') - 2 E k(x,y) + E k(y,y') <= 2 TV^2` for kernels that are not definite either."""
    generator = rng(0)
    closest = 0.0
    for _ in range(500):
        size = int(generator.integers(2, 6))
        k = generator.integers(0, 2, size=(size, size)) * generator.random((size, size)) ** 0.1
        k = np.tril(k) + np.tril(k, -1).T
        p, q = generator.dirichlet(np.full(size, 0.3), size=2)
        total_variation = 0.5 * np.abs(p - q).sum()
        squared = (p - q) @ k @ (p - q)
        assert squared <= 2.0 * total_variation**2 + 1e-12
        closest = max(closest, squared / (2.0 * total_variation**2))
    assert closest > 0.9  # the bound is not loose either


@pytest.mark.parametrize("kind", KINDS)
def test_astronomic_outputs_are_merely_far(kind: Kind) -> None:
    kernel = Kernel(kind=kind, bandwidth=1.0, far=3.0)
    huge = points(np.array([1e308, -1e308, 5.0, 0.0]))
    assert kernel.similarity(huge, huge.part(slice(0, 1))).tolist() == [1.0, 0.0, 0.0, 0.0]


# Scales


def test_ranks_are_the_share_of_training_outputs_below() -> None:
    train = Encoder().encode(np.array([1.0, 1.0, 5.0, 7.0]))
    ranks = ranks_of(train, train)
    table = Encoder().encode(np.array([0.0, 1.0, 3.0, 5.0, 6.0, 7.0, 8.0]))
    found = ranks(table, slice(None)).coordinates[0].tolist()
    assert found == [0.0, 0.25, 0.4375, 0.625, 0.75, 0.875, 1.0]


def test_ranks_of_atoms_are_nothing() -> None:
    table = Encoder().encode([None, "a", math.nan])
    assert ranks_of(table, table)(table, slice(None)).coordinates.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("x", "y", "median"),
    [
        (np.zeros(20), np.ones(20), 1.0),
        (np.zeros(20), np.zeros(20), 1.0),  # nothing differs
        (np.array([0.0] * 19 + [4.0]), np.zeros(20), 4.0),
        (["a"] * 20, ["b"] * 20, 2.0),  # atoms are `far` apart
        (np.zeros((20, 2)), np.full((20, 2), [3.0, 4.0]), 5.0),
    ],
    ids=["leak", "constant", "rarely-else", "words", "vectors"],
)
def test_the_median_is_of_distances_that_are_not_zero(x: Any, y: Any, median: float) -> None:
    encoder = Encoder()
    first, second = (as_they_are(encoder.encode(side)) for side in (x, y))
    assert median_distance("rbf", 2.0, first, second) == pytest.approx(median)
