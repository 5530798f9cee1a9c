"""The rows of the suite of floors: mechanisms, claims, and the exact masses of both sides.

Every mechanism is asked on the pair `[0]`, `[0, 1]`, unless it is one of the zoo with a pair of its
own. Where an output is a vector of which one coordinate differs, the masses are those of that
coordinate: the others say nothing.
"""

from __future__ import annotations

import csv
import functools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from floor_oracle import Sides
from scipy import stats

from dpaudit import zoo
from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # whose exact outputs are shared

from exact_outputs import exact_outputs, gauss_legendre, laplace, laplace_cdf

PUBLISHED = Path(__file__).parent / "reference" / "sequential.csv"
PAIR = ([0.0], [0.0, 1.0])
SVT_PAIR = ([1.0, 0.0], [0.0, 1.0])
ANSWERS = ([1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0, 1.0])
_CELLS = 4_000
_FEW_CELLS = 300  # where the best bet is a mixture of many
_CELLS_OF_THREE = 40  # of each of three numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A false claim; `sides` gives the masses of the outputs on either dataset."""

    name: str
    mechanism: Callable[..., object]
    claim: Claim
    sides: Callable[[], Sides]
    pair: tuple[Any, Any] = PAIR


@dataclass(frozen=True, slots=True)
class Shifted:
    """Noise of a family and a scale, shifted by 1 on the larger dataset; `columns` numbers."""

    family: str
    scale: float
    columns: int = 1

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        draw = rng.laplace if self.family == "laplace" else rng.normal
        if self.columns == 1:
            return len(data) - 1 + draw(scale=self.scale, size=size)
        noise: Floats = draw(scale=self.scale, size=(size, self.columns))
        noise[:, 0] += len(data) - 1
        return noise

    def sides(self, cells: int = _CELLS) -> Sides:
        """The masses of the coordinate that differs."""
        family = stats.laplace if self.family == "laplace" else stats.norm
        reach = (38.0 if self.family == "laplace" else 9.0) * self.scale
        edges = np.unique([*np.linspace(-reach, 1.0 + reach, cells + 1), 0.0, 1.0])
        ours, theirs = (
            np.diff(family.cdf(edges - shift, scale=self.scale), prepend=0.0, append=1.0)
            for shift in (1.0, 0.0)
        )
        return Sides(data=ours, neighbour=theirs)


@dataclass(frozen=True, slots=True)
class RareNumber:
    """Nothing, but on the larger dataset now and then a number: a threshold that is too low."""

    chance: float

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> list[float | None]:
        shown = rng.random(size) < (self.chance if len(data) > 1 else 0.0)
        return [
            number if here else None
            for here, number in zip(shown, rng.normal(size=size), strict=True)
        ]

    def sides(self) -> Sides:
        return Sides(
            data=np.array([self.chance, 1.0 - self.chance]), neighbour=np.array([0.0, 1.0])
        )


@dataclass(frozen=True, slots=True)
class Spiked:
    """Noise; on the larger dataset a share of it falls into a place of a given width instead."""

    share: float
    width: float
    family: str = "normal"

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        noise = rng.normal(size=size) if self.family == "normal" else rng.laplace(size=size)
        if len(data) == 1:
            return noise
        return np.where(rng.random(size) < self.share, 0.7 + self.width * rng.random(size), noise)

    def sides(self) -> Sides:
        family = stats.laplace if self.family == "laplace" else stats.norm
        inside = float(family.cdf(0.7 + self.width) - family.cdf(0.7))
        ours = self.share + (1.0 - self.share) * inside
        return Sides(data=np.array([ours, 1.0 - ours]), neighbour=np.array([inside, 1.0 - inside]))


@dataclass(frozen=True, slots=True)
class HeavierTails:
    """Laplace noise; on the larger dataset a small share of it is pushed out by 6."""

    share: float

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        noise = rng.laplace(size=size)
        pushed = rng.random(size) < (self.share if len(data) > 1 else 0.0)
        return noise + 6.0 * np.sign(noise) * pushed

    def sides(self) -> Sides:
        edges = np.unique([*np.linspace(-44.0, 44.0, _CELLS + 1), -6.0, 0.0, 6.0])
        plain = np.diff(stats.laplace.cdf(edges), prepend=0.0, append=1.0)
        folded = np.where(edges > 0.0, np.maximum(edges - 6.0, 0.0), np.minimum(edges + 6.0, 0.0))
        far = np.diff(stats.laplace.cdf(folded), prepend=0.0, append=1.0)
        return Sides(data=(1.0 - self.share) * plain + self.share * far, neighbour=plain)


@dataclass(frozen=True, slots=True)
class Categories:
    """One of `count` numbers or words, the right one with the odds of k-ary randomized response."""

    count: int
    epsilon: float

    @property
    def chances(self) -> tuple[float, float]:
        """Of the right category, and of each other."""
        right = math.exp(self.epsilon) / (math.exp(self.epsilon) + self.count - 1)
        return right, (1.0 - right) / (self.count - 1)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        truth = len(data) - 1
        other = rng.integers(0, self.count - 1, size=size)
        return np.where(rng.random(size) < self.chances[0], truth, other + (other >= truth))

    def sides(self) -> Sides:
        right, wrong = self.chances
        rest = 1.0 - right - wrong
        return Sides(data=np.array([right, wrong, rest]), neighbour=np.array([wrong, right, rest]))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A word of a thousand, each up to `e^ratio` times likelier on one dataset."""

    ratio: float
    count: int = 1_000

    def sides(self) -> Sides:
        chances = 1.0 / np.sqrt(np.arange(1.0, self.count + 1))
        tilt = np.exp(0.5 * self.ratio * np.random.default_rng(0).choice([1.0, -1.0], self.count))
        ours, theirs = chances * tilt, chances / tilt
        return Sides(data=ours / ours.sum(), neighbour=theirs / theirs.sum())

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> list[str]:
        sides = self.sides()
        chances = sides.data if len(data) > 1 else sides.neighbour
        return [f"word{number}" for number in rng.choice(self.count, size=size, p=chances)]


def rows() -> list[Row]:
    """All rows, the plainest first."""
    return [*_shifts(), *_deltas(), *_shapes(), *_vectors(), *_profiles(), *_of_the_zoo()]


def _shifts() -> Iterator[Row]:
    for true, claimed in (
        (0.1, 0.05), (0.1, 0.09), (1.0, 0.5), (1.0, 0.9), (2.0, 1.8), (4.0, 3.6), (8.0, 7.0),
    ):  # fmt: skip
        noise = Shifted("laplace", 1.0 / true)
        yield Row(
            name=f"Laplace, epsilon {true:g}",
            mechanism=noise,
            claim=PureDP(claimed),
            sides=noise.sides,
        )
    for mu, epsilon, delta in (
        (2.0, 4.0, 1e-5), (2.5, 6.0, 1e-3), (3.0, 8.0, 1e-2), (3.94, 10.0, 0.05), (4.6, 12.0, 0.1),
    ):  # fmt: skip
        noise = Shifted("normal", 1.0 / mu)
        yield Row(
            name=f"Gaussian, mu {mu:g}",
            mechanism=noise,
            claim=ApproxDP(epsilon, delta),
            sides=noise.sides,
        )


def _deltas() -> Iterator[Row]:
    for delta, factor in (
        (1e-2, 2.0), (1e-2, 2.7), (1e-2, 10.0), (1e-3, 2.0), (1e-3, 2.72), (1e-3, 10.0),
        (1e-4, 2.7), (1e-4, 10.0), (1e-5, 10.0),
    ):  # fmt: skip
        count = RareNumber(factor * delta)
        name = f"number or None, {factor:g} times delta"
        yield Row(name=name, mechanism=count, claim=ApproxDP(1.0, delta), sides=count.sides)
    for delta, factor in ((1e-2, 2.0), (1e-3, 2.7), (1e-3, 10.0)):
        shown = RareNumber(factor * delta)
        yield Row(
            name=f"stability histogram, {factor:g} times delta",
            mechanism=zoo.ThresholdedHistogram(1.0, factor * delta),
            claim=ApproxDP(1.0, delta),
            sides=shown.sides,
            pair=([0] * 40 + [1], [0] * 40),
        )


def _shapes() -> Iterator[Row]:
    for share in (1e-2, 1e-3, 1e-4):
        atom = Spiked(share, 0.0, "laplace")
        yield Row(name=f"atom of {share:g}", mechanism=atom, claim=PureDP(1.0), sides=atom.sides)
    for claim in (PureDP(2.4), ApproxDP(2.4, 1e-5)):
        spike = Spiked(0.2, 0.003)
        yield Row(name="spike", mechanism=spike, claim=claim, sides=spike.sides)
    for share, epsilon in ((0.1, 1.0), (0.01, 0.5)):
        tails = HeavierTails(share)
        yield Row(
            name=f"tails, {share:g}", mechanism=tails, claim=PureDP(epsilon), sides=tails.sides
        )
    for count, true, claimed in ((16, 2.0, 1.5), (256, 4.0, 3.5)):
        told = Categories(count, true)
        yield Row(
            name=f"{count} categories", mechanism=told, claim=PureDP(claimed), sides=told.sides
        )
    words = Vocabulary(2.0)
    yield Row(name="words", mechanism=words, claim=PureDP(1.0), sides=words.sides)


def _vectors() -> Iterator[Row]:
    for columns, claimed in ((2, 0.5), (10, 0.8), (20, 0.5), (100, 0.8), (200, 0.5)):
        vector = Shifted("laplace", 1.0, columns)
        name = f"vector of {columns}"
        yield Row(name=name, mechanism=vector, claim=PureDP(claimed), sides=vector.sides)
    yield Row(
        name="RAPPOR",
        mechanism=zoo.OneTimeRappor(),
        claim=PureDP(0.45),
        sides=_rappor,
        pair=([1], [0]),
    )
    yield Row(
        name="prefix sums",
        mechanism=zoo.PrefixSum(1.0),
        claim=PureDP(2.0),
        sides=_prefix_sums,
        pair=([0.0] * 3, [1.0] * 3),
    )


def _profiles() -> Iterator[Row]:
    for factor in (0.5, 0.8, 0.9):
        noise = Shifted("normal", 1.0)
        sides = noise.sides
        few = _with_cells(noise)
        yield Row(
            name=f"Gaussian, noise {factor:g}", mechanism=noise, claim=GaussianDP(factor), sides=few
        )
        rho, order = factor**2 / 2, 2.0
        yield Row(name=f"Gaussian, noise {factor:g}", mechanism=noise, claim=ZCDP(rho), sides=sides)
        renyi = RenyiDP(order=order, epsilon=order * rho)
        yield Row(name=f"Gaussian, noise {factor:g}", mechanism=noise, claim=renyi, sides=sides)


def _with_cells(noise: Shifted) -> Callable[[], Sides]:
    return lambda: noise.sides(_FEW_CELLS)


def _of_the_zoo() -> Iterator[Row]:
    for name, built_for, claimed in (
        ("SVT1", 4.0, 1.0), ("SVT2", 4.0, 1.0), ("SVT3", 1.0, 0.1),
        ("SVT4", 1.0, 1.0), ("SVT5", 1.0, 1.0), ("SVT6", 1.0, 0.5),
    ):  # fmt: skip
        sides = _exact(name, built_for)
        cutoff = {"cutoff": 1} if name == "SVT2" else {}
        mechanism = getattr(zoo, name)(built_for, **cutoff)
        yield Row(name=name, mechanism=mechanism, claim=PureDP(claimed), sides=sides, pair=SVT_PAIR)
    yield Row(
        name="noisy max",
        mechanism=zoo.NoisyMaxLaplace(2.0),
        claim=PureDP(1.0),
        sides=_noisy_max,
        pair=ANSWERS,
    )
    yield Row(
        name="noisy max, its value",
        mechanism=zoo.NoisyMaxValueLaplace(2.0),
        claim=PureDP(2.0),
        sides=_noisy_max_value,
        pair=([0.0] * 5, [1.0] * 5),
    )
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            name, epsilon = line["mechanism"], float(line["claim_epsilon"])
            yield Row(
                name=name,
                mechanism=getattr(zoo, name)(epsilon),
                claim=ApproxDP(epsilon, float(line["claim_delta"])),
                sides=_exact(name, epsilon, PAIR),
            )


def _rappor() -> Sides:
    """Six bits differ; how many of them are as on one dataset says all there is."""
    flip, changed = 0.475, 6
    hits = np.arange(changed + 1)
    ours = stats.binom.pmf(hits, changed, 1.0 - flip)
    return Sides(data=ours, neighbour=stats.binom.pmf(hits, changed, flip))


def _prefix_sums() -> Sides:
    """The differences of the sums: three Laplace shifts, each cut into cells where it says more."""
    edges = np.linspace(0.0, 1.0, _CELLS_OF_THREE + 1)
    one, other = (
        np.diff(stats.laplace.cdf(edges - shift), prepend=0.0, append=1.0) for shift in (0.0, 1.0)
    )
    ours, theirs = (functools.reduce(np.multiply.outer, [side] * 3) for side in (one, other))
    return Sides(data=ours.ravel(), neighbour=theirs.ravel())


def _noisy_max() -> Sides:
    """The chance of every place: that its noisy answer is above all others."""
    ours, theirs = (_places_of_max(np.array(side)) for side in ANSWERS)
    return Sides(data=ours, neighbour=theirs)


def _places_of_max(answers: Floats) -> Floats:
    nodes, weights = gauss_legendre(np.unique([*np.linspace(-40.0, 41.0, 400), *answers]), 10)
    below = laplace_cdf(nodes[None] - answers[:, None, None])
    each = [
        weights * laplace(nodes - answer) * np.prod(np.delete(below, place, axis=0), axis=0)
        for place, answer in enumerate(answers)
    ]
    return np.array([float(one.sum()) for one in each])


def _noisy_max_value() -> Sides:
    edges = np.unique([*np.linspace(-38.0, 39.0, _CELLS + 1), 0.0, 1.0])
    ours, theirs = (
        np.diff(stats.laplace.cdf(edges - shift) ** 5, prepend=0.0, append=1.0)
        for shift in (0.0, 1.0)
    )
    return Sides(data=ours, neighbour=theirs)


def _exact(name: str, epsilon: float, pair: tuple[Any, Any] = SVT_PAIR) -> Callable[[], Sides]:
    def sides() -> Sides:
        masses = exact_outputs(name, epsilon, *(tuple(side) for side in pair))
        return Sides(data=masses.data, neighbour=masses.neighbour)

    return sides
