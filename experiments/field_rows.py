"""The rows of the table of testers: false claims on fixed pairs, and claims that are exactly tight.

False claims are those of the suite of floors (`benchmarks/floor_rows.py`) and of all broken
mechanisms of the zoo on the pairs that show their bugs. Two of the zoo are left out, since there
are no two arrays of independent numbers to hand over: `FixedSeed` always gives the same number, and
`RaisesOnEmpty` raises an error.
"""

from __future__ import annotations

import csv
import functools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose rows and oracle are shared

import numpy as np
from exact_divergence import hockey_stick
from exact_outputs import Masses, exact_outputs
from floor_oracle import Sides, best_growth
from floor_rows import RareNumber, Row, Shifted
from floor_rows import rows as floor_rows
from scipy import optimize, special, stats

from dpaudit import zoo
from dpaudit.arrays import Floats
from dpaudit.auditing import in_hand
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP, point_of
from dpaudit.outputs import Outputs
from dpaudit.testing import TightPair, tight_pairs

TIGHT_GROUP = "exactly on its claim"
MOST_CERTIFIED = 12.0  # epsilon; a truth beyond it is as good as infinite with so few draws
LEAST_EXCESS = 1e-9  # of a hockey-stick divergence: below it masses are rounding
# A row belongs to the first group with a beginning of its name.
GROUPS: dict[str, tuple[str, ...]] = {
    "means": ("NonDP", "ClippedMean"),
    "sparse vector, noisy max": ("SVT", "noisy max", "NoisyMax", "PrivateMedian"),
    "vectors": ("vector", "prefix", "PrefixSum", "ForgottenBudget"),
    "bits, categories, words": (
        *("RAPPOR", "Rappor", "Unary", "16 ", "256 ", "words", "RoundedGeometric"),
    ),
    "atoms, spikes, tails": ("atom", "spike", "tails", "RareLeak"),
    "rare outputs": ("number or None", "stability", "Thresholded", "HistogramThreshold"),
    "Gaussian, zCDP, Rényi claims": ("Gaussian, noise", "ScaledGD"),
    "noise of a wrong scale": ("Laplace", "Gaussian", "Classical", "Clipped", "NoisyHistogram"),
}
_OF_THE_SUITE = Path(__file__).parents[1] / "benchmarks" / "results" / "floors_0.05.csv"
_NOT_TWO_ARRAYS = ("FixedSeed", "RaisesOnEmpty")
_ALSO_IN_THE_SUITE = ("NonDPGaussian1", "NonDPGaussian2")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """A mechanism on one pair of datasets, and a claim; `place` decides its seeds.

    `sides` gives the exact masses, for a false claim. `truth` is the least strength that holds on
    the pair, in the claim's own parameter; None if there is none.
    """

    place: int = 0
    name: str
    group: str
    mechanism: Callable[..., Any]
    claim: Claim
    pair: tuple[Any, Any]
    sides: Callable[[], Sides] | None
    truth: Callable[[], float | None]

    @property
    def label(self) -> str:
        return f"{self.name}, {self.claim}"

    @property
    def tight(self) -> bool:
        """Whether the claim holds, with nothing to spare."""
        return self.group == TIGHT_GROUP

    def draw(self, size: int, rng: np.random.Generator) -> tuple[Outputs, Outputs]:
        """So many outputs on each dataset, as an audit of two samples hands them to a tester."""
        data, neighbour = (self.mechanism(side, size, rng) for side in self.pair)
        return in_hand(data, neighbour)

    def growth(self) -> float:
        """The growth of the best bet against the claim, per draw; 0 where the claim holds."""
        if self.sides is None:
            return 0.0
        known = _growths_of_the_suite().get((self.name, str(self.claim)))
        return best_growth(self.sides(), self.claim) if known is None else known


def rows() -> list[FieldRow]:
    """All rows, group by group; the claims that hold are the last."""
    found = [*_of_the_suite(), *_of_the_zoo()]
    order = list(GROUPS)
    found.sort(key=lambda row: order.index(row.group))
    return [replace(row, place=place) for place, row in enumerate([*found, *_tight()])]


def group_of(name: str) -> str:
    """The group of a false claim.

    >>> group_of("Gaussian, noise 0.5"), group_of("Gaussian, mu 2")
    ('Gaussian, zCDP, Rényi claims', 'noise of a wrong scale')
    """
    return next(group for group, begins in GROUPS.items() if name.startswith(begins))


def floor(growth: float, alpha: float) -> float:
    """The fewest draws, on average, with which a valid test can refute; both sides together."""
    return math.log(1.0 / alpha) / growth if growth > 0.0 else math.inf


def ceiling(growth: float, draws: int, alpha: float) -> float:
    """The largest probability with which a valid test can refute with this number of draws.

    With probability `p` its data-processing inequality is `kl(p, alpha) <= draws * growth`, `kl`
    the divergence of two coins: the growth of the best bet is the least divergence, per draw, from
    any mechanism that keeps the claim. It is 1 from the floor on.

    >>> ceiling(0.0, 100, 0.05), ceiling(1.0, 100, 0.05)
    (0.05, 1.0)
    >>> print(round(ceiling(0.01, 100, 0.05), 3))  # of 300 draws of the floor
    0.556
    """

    def excess(p: float) -> float:
        both = special.rel_entr([p, 1.0 - p], [alpha, 1.0 - alpha])
        return float(both.sum()) - draws * growth

    if excess(1.0) <= 0.0:
        return 1.0
    return float(optimize.brentq(excess, alpha, 1.0)) if growth > 0.0 else alpha


def true_strength(sides: Sides, claim: Claim) -> float | None:
    """The least epsilon that holds at the delta of a claim; None if it is as good as infinite.

    >>> sides = Sides(data=np.array([0.75, 0.25]), neighbour=np.array([0.25, 0.75]))
    >>> print(round(true_strength(sides, PureDP(0.1)), 4))  # log(3)
    1.0986
    """
    point = point_of(claim)
    assert point is not None, f"{claim} is no point of a profile"
    masses = Masses(data=sides.data, neighbour=sides.neighbour)

    def excess(epsilon: float) -> float:
        return hockey_stick(masses, epsilon) - point[1] - LEAST_EXCESS

    if excess(MOST_CERTIFIED) > 0.0:
        return None
    return float(optimize.brentq(excess, 0.0, MOST_CERTIFIED))


@functools.cache
def _growths_of_the_suite() -> dict[tuple[str, str], float]:
    """What the suite of floors has worked out already."""
    if not _OF_THE_SUITE.exists():
        return {}
    with _OF_THE_SUITE.open(newline="", encoding="utf-8") as file:
        return {
            (line["mechanism"], line["claim"]): math.log(1.0 / float(line["alpha"]))
            / float(line["floor_draws"])
            for line in csv.DictReader(file)
        }


def _of_the_suite() -> Iterator[FieldRow]:
    for row in floor_rows():
        yield FieldRow(
            name=row.name,
            group=group_of(row.name),
            mechanism=row.mechanism,
            claim=row.claim,
            pair=row.pair,
            sides=row.sides,
            truth=functools.partial(_truth_of_the_suite, row),
        )


def _truth_of_the_suite(row: Row) -> float | None:
    """Of Gaussian noise under a claim of its own kind the truth has a formula."""
    if point_of(row.claim) is not None:
        return true_strength(row.sides(), row.claim)
    assert isinstance(row.mechanism, Shifted), row.name
    mu = 1.0 / row.mechanism.scale
    if isinstance(row.claim, RenyiDP):
        return row.claim.order * mu**2 / 2.0
    return mu if isinstance(row.claim, GaussianDP) else mu**2 / 2.0


def _of_the_zoo() -> Iterator[FieldRow]:
    for entry in zoo.ZOO.values():
        if entry.keeps_claim or entry.name in (*_NOT_TWO_ARRAYS, *_ALSO_IN_THE_SUITE):
            continue
        sides = functools.partial(zoo_sides, entry.name)
        yield FieldRow(
            name=f"{entry.name}, ten answers" if entry.name.startswith("SVT") else entry.name,
            group=group_of(entry.name),
            mechanism=entry.factory(),
            claim=entry.claim,
            pair=(entry.pair.data, entry.pair.neighbour),
            sides=sides,
            truth=functools.partial(_truth_of_the_zoo, entry),
        )


def _truth_of_the_zoo(entry: zoo.ZooEntry) -> float | None:
    """That of the pair, which may be below what the zoo says of all pairs."""
    if isinstance(entry.claim, RenyiDP):
        return entry.true_epsilon
    return true_strength(zoo_sides(entry.name), entry.claim)


def zoo_sides(name: str) -> Sides:
    """The exact masses of a broken mechanism of the zoo on its pair."""
    entry = zoo.ZOO[name]
    mechanism: Any = entry.factory()
    if name.startswith(("SVT", "NonDP")):
        sides = (tuple(side.tolist()) for side in (entry.pair.data, entry.pair.neighbour))
        masses = exact_outputs(name, mechanism.epsilon, *sides)
        return Sides(data=masses.data, neighbour=masses.neighbour)
    return _SIDES[name](mechanism)


def repeated(sides: Sides, times: int) -> Sides:
    """Masses of the sum of the cells' places over independent repetitions.

    For cells in a row whose log-odds rise evenly the sum says all there is.

    >>> coin = Sides(data=np.array([0.75, 0.25]), neighbour=np.array([0.25, 0.75]))
    >>> repeated(coin, 2).data.tolist()
    [0.5625, 0.375, 0.0625]
    """
    ours, theirs = (functools.reduce(np.convolve, [side] * times) for side in _both(sides))
    return Sides(data=ours, neighbour=theirs)


def _both(sides: Sides) -> tuple[Floats, Floats]:
    return sides.data, sides.neighbour


def _product(sides: Sides, other: Sides) -> Sides:
    ours, theirs = (
        np.multiply.outer(one, two).ravel()
        for one, two in zip(_both(sides), _both(other), strict=True)
    )
    return Sides(data=ours, neighbour=theirs)


def _laplace_steps(epsilon: float, times: int, cells: int = 400) -> Sides:
    """Several Laplace numbers of scale `1 / epsilon`, each shifted by 1, in even cells."""
    edges = np.linspace(0.0, 1.0, cells + 1)
    one, other = (
        np.diff(stats.laplace.cdf(edges - shift, scale=1.0 / epsilon), prepend=0.0, append=1.0)
        for shift in (0.0, 1.0)
    )
    return repeated(Sides(data=one, neighbour=other), times)


def _couples_of_bits(flip: float, couples: int) -> Sides:
    """Bits that differ between the datasets: how many are as on one says all there is."""
    hits = np.arange(2 * couples + 1)
    ours, theirs = (stats.binom.pmf(hits, 2 * couples, each) for each in (1.0 - flip, flip))
    return Sides(data=ours, neighbour=theirs)


def _mean_of_clipped(mechanism: Any) -> Sides:
    """The mean 1/2 of two records beside the mean 0 of one, each with its own scale."""
    edges = np.unique([*np.linspace(-40.0, 40.5, 40_001), 0.0, 0.5])
    ours, theirs = (
        np.diff(stats.laplace.cdf(edges - centre, scale=scale), prepend=0.0, append=1.0)
        for centre, scale in ((0.5, 0.5 / mechanism.epsilon), (0.0, 1.0 / mechanism.epsilon))
    )
    return Sides(data=ours, neighbour=theirs)


def _near_the_median(mechanism: Any) -> Sides:
    """The density is constant between the records 0.9 and 1: two cells."""
    widths, weight = np.array([0.9, 0.1]), mechanism.epsilon
    # Of 0.9 and 1: nobody below and two above, then one and one. Of 0.9: one beside, either way.
    ours, theirs = (widths * np.exp(weight * np.array(u)) for u in ([-2.0, 0.0], [-1.0, -1.0]))
    return Sides(data=ours / ours.sum(), neighbour=theirs / theirs.sum())


def _largest_of_five(family: Any, mechanism: Any) -> Sides:
    """The largest of five equal answers, 1 or 2, after noise of scale `2 / epsilon`."""
    scale = 2.0 / mechanism.epsilon
    edges = np.unique([*np.linspace(-80.0, 82.0, 16_001), 1.0, 2.0])
    ours, theirs = (
        np.diff(family.cdf(edges - answer, scale=scale) ** 5, prepend=0.0, append=1.0)
        for answer in (1.0, 2.0)
    )
    return Sides(data=ours, neighbour=theirs)


def _rounded_geometric(mechanism: Any) -> Sides:
    """Counts of 2 and of 1 with noise `a^|j|`, clamped to 0..most."""
    base, most = math.exp(-mechanism.loss), mechanism.most
    noise = np.arange(-1_000, 1_001)
    chances = base ** np.abs(noise)
    chances /= chances.sum()
    ours, theirs = (
        np.asarray(np.bincount(np.clip(count + noise, 0, most), weights=chances), dtype=np.float64)
        for count in (2, 1)
    )
    return Sides(data=ours, neighbour=theirs)


def _rare_leak(mechanism: Any) -> Sides:
    """A Laplace count of 1 or 0, and now and then the count itself."""
    told, noise = mechanism.probability, Shifted("laplace", 1.0 / mechanism.epsilon).sides()
    ours, theirs = ((1.0 - told) * side for side in _both(noise))
    return Sides(data=np.append(ours, [told, 0.0]), neighbour=np.append(theirs, [0.0, told]))


def _randomized_bits(mechanism: Any) -> Sides:
    return _couples_of_bits(mechanism.chances[1], 1)


def _rappor_bits(mechanism: Any) -> Sides:
    mixed = (1.0 - mechanism.f / 2.0) * mechanism.p + mechanism.f / 2.0 * mechanism.q
    return _couples_of_bits(mixed, mechanism.hashes)


_SIDES: dict[str, Callable[[Any], Sides]] = {
    "ClassicalGaussianCountTooLoose": lambda own: Shifted("normal", own.sigma).sides(),
    "ClippedSum": lambda own: Shifted("laplace", 0.5 / own.epsilon).sides(),  # it moves by 2
    "RoundedGeometricNaturalLog": _rounded_geometric,
    "UnaryEncodingWholeEpsilon": _randomized_bits,
    "RapporOneHashClaim": _rappor_bits,
    "ClippedMeanExactCount": _mean_of_clipped,
    "PrefixSum": lambda own: _laplace_steps(own.epsilon, 10),
    "ForgottenBudget": lambda own: _laplace_steps(own.epsilon, 2),
    "NoisyHistogramScaleEpsilon": lambda own: Shifted("laplace", own.epsilon).sides(),
    "ThresholdedHistogramNoDelta": lambda own: RareNumber(own.delta).sides(),
    "HistogramThresholdBeforeNoise": lambda own: RareNumber(1.0).sides(),
    "PrivateMedianHalfNoise": _near_the_median,
    "NoisyMaxValueLaplace": functools.partial(_largest_of_five, stats.laplace),
    "NoisyMaxValueExponential": functools.partial(_largest_of_five, stats.expon),
    "ScaledGD": lambda own: Shifted("normal", own.scale * own.noise_multiplier).sides(),
    "RareLeak": _rare_leak,
}


def _tight() -> Iterator[FieldRow]:
    """Mechanisms exactly on their claims: the zoo's, and the hardest pairs of every kind."""
    for name in (
        *("LaplaceCount", "Geometric", "RandomizedResponse", "KaryRandomizedResponse"),
        *("SymmetricUnaryEncoding", "NoisyHistogram"),
    ):
        entry = zoo.ZOO[name]
        yield _on_claim(name, entry.factory(), entry.claim, entry.pair.data, entry.pair.neighbour)
    yield _on_claim("ThresholdedHistogram", zoo.ThresholdedHistogram(), ApproxDP(1.0, 0.01),
                    [0], [])  # fmt: skip
    yield _on_claim("GaussianCount", zoo.GaussianCount(0.5, 0.05), ApproxDP(0.5, 0.05), [1.0], [])
    rare = tight_pairs(PureDP(1.0), draws=1_000)[-1]
    claims: tuple[Claim, ...] = (GaussianDP(1.0), ZCDP(0.5), RenyiDP(2.0, 1.0))
    hard = [(rare, PureDP(1.0)), *((tight_pairs(each, draws=1_000)[0], each) for each in claims)]
    dominating = ApproxDP(1.0, 0.01)
    for pair, claim in [*hard, (tight_pairs(dominating, draws=1_000)[0], dominating)]:
        yield _on_claim(pair.name, _TwoSided(pair), claim, [1], [0])


@dataclass(frozen=True, slots=True)
class _TwoSided:
    """A pair of output distributions as a mechanism."""

    pair: TightPair

    def __call__(self, data: list[int], size: int, rng: np.random.Generator) -> Floats:
        return (self.pair.data if data == [1] else self.pair.neighbour)(size, rng)


def _on_claim(
    name: str, mechanism: Callable[..., Any], claim: Claim, data: Any, neighbour: Any
) -> FieldRow:
    return FieldRow(
        name=name,
        group=TIGHT_GROUP,
        mechanism=mechanism,
        claim=claim,
        pair=(data, neighbour),
        sides=None,
        truth=lambda: float(getattr(claim, "strength")),  # noqa: B009 -- every claim here has one
    )
