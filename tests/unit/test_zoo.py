"""Every mechanism of the zoo draws from its exact distribution, and the registry tells the truth.

Draws are compared with exact formulas at fixed seeds; a test fails by bad luck with probability
below 1e-9. Epsilons are computed by quadrature, without drawing.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dpaudit.mechanism import InvalidMechanism, as_mechanism
from dpaudit.mechanisms import (
    SVT1,
    SVT3,
    SVT4,
    SVT5,
    SVT6,
    ZOO,
    ClippedSum,
    DPLaplace,
    GaussianCount,
    Geometric,
    LaplaceCount,
    NonDPGaussian1,
    NonDPGaussian2,
    NonDPLaplace1,
    NonDPLaplace2,
    RandomizedResponse,
    ZooEntry,
)
from dpaudit.mechanisms.additive import gaussian_delta
from dpaudit.neighbours import Pair

mpmath: Any = pytest.importorskip("mpmath")

Floats = npt.NDArray[np.float64]

DRAWS = 50_000
LUCK = 1e-9
PAIR = ([1.0] * 5 + [0.0] * 5, [0.0] * 5 + [1.0] * 5)


def draw(mechanism: Callable[..., Any], data: Any, draws: int = DRAWS) -> npt.NDArray[Any]:
    outputs = as_mechanism(mechanism).draw(data, draws, np.random.default_rng(12345))
    assert isinstance(outputs, np.ndarray)
    return outputs


def assert_counts(observed: npt.NDArray[Any], probabilities: npt.NDArray[Any]) -> None:
    """Each cell's count is binomial with its probability; no cell outside has probability."""
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    total = int(observed.sum())
    for count, probability in zip(observed.ravel(), probabilities.ravel(), strict=True):
        assert stats.binomtest(int(count), total, min(1.0, float(probability))).pvalue > LUCK


# --- noise added to a number ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "data", "exact"),
    [
        (LaplaceCount(1.0), [0.3] * 4, stats.laplace(4, 1)),
        (LaplaceCount(0.1), [], stats.laplace(0, 10)),
        (ClippedSum(1.0), [5.0, -0.5, 0.25], stats.laplace(0.75, 1)),
        (ClippedSum(2.0, bound=3.0), [5.0, -0.5], stats.laplace(2.5, 1.5)),
        (ClippedSum(2.0), [], stats.laplace(0, 0.5)),
        (GaussianCount(1.0, 1e-5), [0.3] * 4, stats.norm(4, 3.730631634816464)),
        (NonDPLaplace1(0.5), [0.0, 1.0, 1.0, 1.0], stats.laplace(0.75, 1)),
        (NonDPLaplace1(1.0), [], stats.laplace(0, 2e12)),
        (NonDPGaussian1(0.5), [0.0, 1.0, 1.0, 1.0], stats.norm(0.75, 1)),
        (NonDPGaussian1(1.0), [], stats.norm(0, 2e12)),
    ],
)
def test_noise_on_a_number(mechanism: Callable[..., Any], data: list[float], exact: Any) -> None:
    assert stats.kstest(draw(mechanism, data), exact.cdf).pvalue > LUCK


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_geometric_noise(epsilon: float) -> None:
    outputs = draw(Geometric(epsilon), [0.0] * 3)
    assert outputs.dtype.kind == "i"
    base = math.exp(-epsilon)
    values = np.arange(-5, 6)
    inside = (1 - base) / (1 + base) * base ** np.abs(values)
    observed = np.array([np.count_nonzero(outputs - 3 == value) for value in values])
    assert_counts(
        np.append(observed, DRAWS - observed.sum()), np.append(inside, 1 - math.fsum(inside))
    )
    assert inside[5] / inside[6] == pytest.approx(math.exp(epsilon))


@pytest.mark.parametrize("bit", [0, 1])
def test_randomized_response(bit: int) -> None:
    outputs = draw(RandomizedResponse(1.0), np.array([bit]))
    assert set(outputs.tolist()) == {0, 1}
    kept = math.e / (1 + math.e)
    assert_counts(np.bincount(outputs != bit), np.array([kept, 1 - kept]))


def exact_gaussian_delta(epsilon: float, sigma: float) -> Any:
    with mpmath.workdps(40):
        e, s = mpmath.mpf(epsilon), mpmath.mpf(sigma)
        first, second = mpmath.ncdf(1 / (2 * s) - e * s), mpmath.ncdf(-1 / (2 * s) - e * s)
        return first - mpmath.exp(e) * second


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.01, 0.5])
def test_the_gaussian_sits_exactly_on_its_claim(epsilon: float, delta: float) -> None:
    sigma = GaussianCount(epsilon, delta).sigma
    assert float(exact_gaussian_delta(epsilon, sigma)) == pytest.approx(delta, rel=1e-9)
    assert gaussian_delta(epsilon, sigma) <= delta < gaussian_delta(epsilon, sigma * (1 - 1e-12))


# --- means ----------------------------------------------------------------------------------------


def count_rule(family: Any, records: int, epsilon: float) -> tuple[Floats, Floats]:
    """Nodes and weights of the noisy count's distribution: its atom at 1e-12, then the rest."""
    scale = 2 / epsilon
    reach = 40 if family is stats.laplace else 9
    kinks = [1e-12, *np.geomspace(1e-9, 1e-2, 24), records]
    edges = np.unique([*kinks, *np.linspace(1e-2, records + reach * scale, 200)])
    nodes, weights = gauss_legendre(edges[edges >= 1e-12])
    weights = weights * family.pdf(nodes, records, scale)
    return np.append(1e-12, nodes), np.append(family.cdf(1e-12, records, scale), weights)


def gauss_legendre(edges: Floats) -> tuple[Floats, Floats]:
    """A composite rule that is exact between the edges up to rounding, for smooth functions."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    middles = (edges[:-1, None] + edges[1:, None]) / 2
    return (middles + half * nodes).ravel(), (half * weights).ravel()


def mean_cdf(family: Any, data: list[float], epsilon: float, y: float, *, divisor: str) -> float:
    """`Pr[output <= y]`, the sum divided by the true or the noisy count."""
    counts, weights = count_rule(family, len(data), epsilon)
    divided = sum(data) / (counts if divisor == "noisy" else max(len(data), 1e-12))
    return float(weights @ family.cdf((y - divided) * counts * epsilon / 2))


def mean_density(family: Any, data: list[float], epsilon: float, y: Floats) -> Floats:
    """The density of the "2" variants, whose mean is divided by the true count."""
    counts, weights = count_rule(family, len(data), epsilon)
    scales = 2 / (counts * epsilon)
    centre = sum(data) / max(len(data), 1e-12)
    return np.array([float(weights @ family.pdf(value - centre, 0, scales)) for value in y])


@pytest.mark.parametrize("data", [[], [0.0], [0.0, 1.0], [0.5] * 6], ids=str)
@pytest.mark.parametrize(
    ("mechanism", "family", "divisor"),
    [
        (DPLaplace(1.0), stats.laplace, "noisy"),
        (DPLaplace(0.1), stats.laplace, "noisy"),
        (NonDPLaplace2(1.0), stats.laplace, "true"),
        (NonDPLaplace2(0.1), stats.laplace, "true"),
        (NonDPGaussian2(1.0), stats.norm, "true"),
        (NonDPGaussian2(0.1), stats.norm, "true"),
    ],
)
def test_means_with_a_noisy_count(
    mechanism: Any, family: Any, divisor: str, data: list[float]
) -> None:
    outputs = draw(mechanism, data)
    for y in (-1e12, -1e3, -2.0, -0.1, 0.0, 0.5, 0.6, 1.0, 3.0, 1e3, 1e12):
        exact = mean_cdf(family, data, mechanism.epsilon, y, divisor=divisor)
        hits = int(np.count_nonzero(outputs <= y))
        assert stats.binomtest(hits, DRAWS, min(1.0, exact)).pvalue > LUCK, y


def test_dp_laplace_reaches_its_epsilon_and_no_more() -> None:
    def log_ratio(y: float) -> float:
        without, beside = (
            mean_cdf(stats.laplace, data, 1.0, y, divisor="noisy") for data in ([0.0], [0.0, 1.0])
        )
        return math.log(without / beside)

    assert log_ratio(-1e9) == pytest.approx(1.0, abs=1e-6)
    for y in (-1e12, -1e6, -100.0, -10.0, -1.0, 0.0, 0.5, 1.0, 10.0, 1e3):
        assert abs(log_ratio(y)) <= 1 + 1e-9


def test_non_dp_laplace_1_has_no_epsilon() -> None:
    """Laplace noise of two scales: the log-ratio of the densities grows linearly."""
    for y in (10.0, 100.0, 300.0):
        beside, without = stats.laplace(0.5, 1).logpdf(y), stats.laplace(0, 2).logpdf(y)
        assert without - beside > 0.3 * y


def hockey_stick(family: Any, epsilon: float, level: float) -> float:
    """The larger `H_level` of the two directions, for the "2" variants on [0], [0, 1]."""
    y, weights = gauss_legendre(np.linspace(-5, 6, 111))
    without, beside = (mean_density(family, data, epsilon, y) for data in ([0.0], [0.0, 1.0]))
    excess = [without - math.exp(level) * beside, beside - math.exp(level) * without]
    return max(float(weights @ np.maximum(0, one_way)) for one_way in excess)


def test_the_second_variants_break_their_claims() -> None:
    assert hockey_stick(stats.laplace, 1.0, 1.0) > 0.01
    assert hockey_stick(stats.norm, 0.1, 0.1) > 0.05
    # The reference's remark: at epsilon = 1 this pair does not show the Gaussian's bug.
    assert hockey_stick(stats.norm, 1.0, 1.0) == 0.0


def test_non_dp_gaussian_1_breaks_its_claim() -> None:
    """Beyond |y| = 6 the wider noise on [0] is far more likely than that on [0, 1]."""
    wide, narrow = stats.norm(0, 2), stats.norm(0.5, 1)
    excess = 2 * wide.sf(6) - math.e * (narrow.sf(6) + narrow.cdf(-6))
    assert excess > 0.002 > 1e-5


# --- the sparse vector technique ------------------------------------------------------------------

BAR_NODES, BAR_WEIGHTS = gauss_legendre(
    np.unique([*np.linspace(-250, 250, 1001), *np.linspace(-12, 12, 97)])
)


def first_above(answers: list[float], bar_scale: float, query_scale: float) -> Floats:
    """`Pr[the first above is query i]` for each i, then `Pr[none]`; the threshold is 0.5."""
    bar = stats.laplace.pdf(BAR_NODES, 0, bar_scale) * BAR_WEIGHTS
    found = []
    for answer in answers:
        gap = 0.5 + BAR_NODES - answer
        found.append(float(np.sum(bar * stats.laplace.sf(gap, 0, query_scale))))
        bar = bar * stats.laplace.cdf(gap, 0, query_scale)
    return np.array([*found, float(np.sum(bar))])


def largest_log_ratio(probabilities: Callable[[list[float]], Floats]) -> float:
    return float(np.max(np.abs(np.log(probabilities(PAIR[0]) / probabilities(PAIR[1])))))


def split(mechanism: SVT1 | SVT3 | SVT4) -> tuple[float, float]:
    """The scales of the noise on the threshold and on the queries, for epsilon = cutoff = 1."""
    return {"SVT1": (2.0, 4.0), "SVT3": (2.0, 2.0), "SVT4": (4.0, 4 / 3)}[mechanism.name]


@pytest.mark.parametrize("mechanism", [SVT1(), SVT3(), SVT4()], ids=repr)
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_above(mechanism: SVT1 | SVT3 | SVT4, side: int) -> None:
    outputs = draw(mechanism, PAIR[side])
    assert outputs.shape == (DRAWS, 10)
    above = outputs == 1 if mechanism.name != "SVT3" else np.isfinite(outputs)
    below = outputs == 0 if mechanism.name != "SVT3" else np.isneginf(outputs)
    assert np.all(above.sum(axis=1) <= 1)
    place = np.where(above.any(axis=1), np.argmax(above, axis=1), 10)
    np.testing.assert_array_equal(below, np.arange(10) < place[:, None])  # then nothing
    exact = first_above(PAIR[side], *split(mechanism))
    assert_counts(np.bincount(place, minlength=11), exact)


def test_the_answer_that_svt3_releases() -> None:
    """With one query: `Pr[nu <= x, released] = int pdf(v) Pr[rho <= 1 + v - 0.5] dv`."""
    outputs = draw(SVT3(), [1.0])[:, 0]
    noise, weights = gauss_legendre(np.linspace(-80, 80, 1281))
    density = stats.laplace.pdf(noise, 0, 2) * stats.laplace.cdf(0.5 + noise, 0, 2) * weights
    for most in (-3.0, -1.0, 0.0, 2.0, 5.0):
        exact = float(np.sum(density[noise <= most]))
        hits = int(np.count_nonzero(np.isfinite(outputs) & (outputs <= 1.0 + most)))
        assert stats.binomtest(hits, DRAWS, exact).pvalue > LUCK


def test_svt3_breaks_its_claim_on_its_pair() -> None:
    """Four below, then a very low answer: `e^2.5` times likelier where those five are 0."""

    def density(answer: float, released: float) -> float:
        """Of `released` in fifth place after four below, all five queries with this answer."""
        bar, weights = gauss_legendre(np.linspace(released - 0.5 - 150, released - 0.5, 301))
        below = stats.laplace.cdf(0.5 + bar - answer, 0, 2) ** 4
        passed = float(np.sum(weights * stats.laplace.pdf(bar, 0, 2) * below))
        return passed * float(stats.laplace.pdf(released - answer, 0, 2))

    assert math.log(density(0.0, -3.0) / density(1.0, -3.0)) == pytest.approx(2.5, abs=1e-6)


def test_svt1_keeps_its_claim_on_its_pair_and_svt4_does_not() -> None:
    assert 0.87 < largest_log_ratio(lambda answers: first_above(answers, 2.0, 4.0)) <= 1
    assert 1.69 < largest_log_ratio(lambda answers: first_above(answers, 4.0, 4 / 3)) <= 1.75


@pytest.mark.parametrize(
    ("bar_scale", "query_scale", "exact"), [(2.0, 4.0, 1.0), (4.0, 4 / 3, 1.75)]
)
def test_the_epsilons_of_svt1_and_svt4_are_reached(
    bar_scale: float, query_scale: float, exact: float
) -> None:
    """High answers below lift the noisy threshold out of all kinks: the bound is met in the limit.

    Between the neighbours the answers below move up by 1 and the one above down by 1.
    """
    high = 40.0
    data, neighbour = [high] * 9 + [0.0], [high + 1] * 9 + [-1.0]
    here = first_above(data, bar_scale, query_scale)[9]
    there = first_above(neighbour, bar_scale, query_scale)[9]
    assert math.log(here / there) == pytest.approx(exact, abs=1e-6)


def svt6_counts(answers: list[float]) -> Floats:
    """`Pr[i of the first five above, j of the last five above]`."""
    bar = stats.laplace.pdf(BAR_NODES, 0, 2) * BAR_WEIGHTS
    halves = []
    for answer in (answers[0], answers[-1]):
        above = stats.laplace.sf(0.5 + BAR_NODES - answer, 0, 2)
        halves.append(stats.binom.pmf(np.arange(6)[:, None], 5, above))
    table: Floats = np.einsum("ik,jk,k->ij", halves[0], halves[1], bar)
    return table


@pytest.mark.parametrize("side", [0, 1])
def test_svt6_counts_of_aboves(side: int) -> None:
    outputs = draw(SVT6(), PAIR[side])
    assert set(np.unique(outputs).tolist()) == {0, 1}
    first, last = outputs[:, :5].sum(axis=1), outputs[:, 5:].sum(axis=1)
    observed = np.bincount(6 * first + last, minlength=36).reshape(6, 6)
    assert_counts(observed, svt6_counts(PAIR[side]))


def test_svt6_breaks_its_claim_on_its_pair() -> None:
    assert 4.0 < largest_log_ratio(svt6_counts) <= 5.0


@pytest.mark.parametrize("side", [0, 1])
def test_svt5_tells_the_sides_apart(side: int) -> None:
    """One noisy threshold for all: nothing above, the ones above (one side only), all above."""
    outputs = draw(SVT5(), PAIR[side])
    bar = stats.laplace(0.5, 2)
    ways = np.array([[0] * 10, PAIR[side], [1] * 10])
    observed = np.array([np.count_nonzero((outputs == way).all(axis=1)) for way in ways])
    assert observed.sum() == DRAWS  # so the other side's middle way never comes
    assert_counts(observed, np.array([bar.sf(1), bar.cdf(1) - bar.cdf(0), bar.cdf(0)]))


def test_a_larger_cutoff_stops_later() -> None:
    for mechanism in (SVT1(cutoff=3), SVT4(cutoff=3)):
        outputs = draw(mechanism, [99.0, -9e9, 9e9, 9e9, 9e9], 100)
        np.testing.assert_array_equal(outputs, [[1, 0, 1, 1, -1]] * 100)
    outputs = draw(SVT3(cutoff=2), [9e9, -9e9, 9e9, 9e9], 100)
    np.testing.assert_array_equal(np.isnan(outputs), [[False, False, False, True]] * 100)
    assert np.all(np.isneginf(outputs[:, 1]))


def test_the_noise_of_the_sparse_vectors_has_the_published_scales() -> None:
    """The threshold's and the queries' scales, with another epsilon, cutoff and sensitivity."""
    answers, epsilon, sensitivity = [0.0], 0.5, 3.0
    published: dict[Any, tuple[float, float]] = {
        SVT1(epsilon, cutoff=2, sensitivity=sensitivity): (12.0, 48.0),
        SVT3(epsilon, cutoff=2, sensitivity=sensitivity): (12.0, 24.0),
        SVT4(epsilon, cutoff=2, sensitivity=sensitivity): (24.0, 8.0),
        SVT6(epsilon, sensitivity=sensitivity): (12.0, 12.0),
    }
    edges = np.unique([*np.linspace(-1000, 1000, 2001), *np.linspace(-2, 2, 9)])
    nodes, weights = gauss_legendre(edges)
    for mechanism, (bar_scale, query_scale) in published.items():
        outputs = draw(dataclasses.replace(mechanism, threshold=30.0), answers)[:, 0]
        passes = stats.laplace.sf(30.0 + nodes, 0, query_scale)
        exact = float(np.sum(weights * stats.laplace.pdf(nodes, 0, bar_scale) * passes))
        hits = int(np.count_nonzero(outputs > 0 if mechanism.name != "SVT3" else outputs > -1e300))
        assert stats.binomtest(hits, DRAWS, exact).pvalue > LUCK, mechanism


# --- the registry ---------------------------------------------------------------------------------

ENTRIES = pytest.mark.parametrize("entry", ZOO.values(), ids=lambda entry: entry.name)


def test_the_zoo_is_complete_and_closed() -> None:
    assert set(ZOO) == {
        *("LaplaceCount", "Geometric", "GaussianCount", "RandomizedResponse", "ClippedSum"),
        *("DPLaplace", "NonDPLaplace1", "NonDPLaplace2", "NonDPGaussian1", "NonDPGaussian2"),
        *("SVT1", "SVT3", "SVT4", "SVT5", "SVT6"),
    }
    with pytest.raises(TypeError):
        ZOO["mine"] = ZOO["SVT1"]  # type: ignore[index]


@ENTRIES
def test_an_entry_agrees_with_its_mechanism(entry: ZooEntry) -> None:
    mechanism: Any = entry.factory()
    assert as_mechanism(mechanism).name == mechanism.name == entry.name == type(mechanism).__name__
    assert mechanism == entry.factory()
    assert hash(mechanism) == hash(entry.factory())
    assert entry.claim.epsilon == mechanism.epsilon
    if isinstance(mechanism, GaussianCount):
        assert entry.claim.delta(mechanism.epsilon) == mechanism.delta
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 2.0


@ENTRIES
def test_an_entry_agrees_with_itself(entry: ZooEntry) -> None:
    assert entry.keeps_claim == (entry.bug == "")
    assert entry.source != ""
    if entry.true_epsilon is not None:
        assert entry.keeps_claim == (entry.true_epsilon <= entry.claim.epsilon)
    else:
        assert not entry.keeps_claim


@ENTRIES
def test_the_pair_is_one_of_the_neighbours(entry: ZooEntry) -> None:
    relation = entry.neighbours()
    assert relation.contains(entry.pair)
    assert not relation.contains(Pair(entry.pair.data, entry.pair.data))


@ENTRIES
def test_the_mechanism_takes_all_of_its_neighbours(entry: ZooEntry) -> None:
    rng = np.random.default_rng(1)
    relation = entry.neighbours()
    pairs = [entry.pair, *relation.edge_pairs(), *(relation.random_pair(rng) for _ in range(20))]
    with np.errstate(all="raise"):
        for pair in pairs:
            for data in (pair.data, pair.neighbour):
                for size in (1, 7):
                    assert len(as_mechanism(entry.factory()).draw(data, size, rng)) == size


@ENTRIES
def test_draws_come_from_the_generator_alone(entry: ZooEntry) -> None:
    mechanism = as_mechanism(entry.factory())
    first, second, third = (
        mechanism.draw(entry.pair.data, 50, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LaplaceCount(0.0), "LaplaceCount needs a positive epsilon, got 0.0"),
        (lambda: Geometric(-1.0), "positive epsilon, got -1.0"),
        (lambda: RandomizedResponse(math.nan), "positive epsilon, got nan"),
        (lambda: DPLaplace(math.inf), "positive epsilon, got inf"),
        (lambda: NonDPLaplace1(0.0), "NonDPLaplace1 needs a positive epsilon"),
        (lambda: NonDPLaplace2(0.0), "NonDPLaplace2 needs a positive epsilon"),
        (lambda: NonDPGaussian1(0.0), "NonDPGaussian1 needs a positive epsilon"),
        (lambda: NonDPGaussian2(0.0), "NonDPGaussian2 needs a positive epsilon"),
        (lambda: ClippedSum(bound=0.0), "positive bound, got 0.0"),
        (lambda: GaussianCount(delta=0.0), "positive delta, got 0.0"),
        (lambda: GaussianCount(delta=1.0), "delta below 1, got 1.0"),
        (lambda: SVT1(cutoff=0), "SVT1 needs a cutoff of at least 1, got 0"),
        (lambda: SVT5(sensitivity=0.0), "positive sensitivity, got 0.0"),
    ],
)
def test_wrong_parameters_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidMechanism, match=message):
        make()
