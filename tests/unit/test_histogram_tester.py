"""The histogram tester: its cells, what it is given, and what it finds.

Findings of honest mechanisms are asked at alpha = 1e-7, so that a failure of such a test by chance
is as rare.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import Underpowered
from dpaudit.guessing import Share, row_keys
from dpaudit.outputs import Encoder
from dpaudit.testers import (
    BatchTester,
    Cells,
    Examiner,
    Finding,
    HistogramTester,
    candidates,
    grid,
    whole,
)
from dpaudit.zoo import SVT3, SVT5, SVT6

Floats = npt.NDArray[np.float64]
SIZE = 2_000
BOUNDS = ("exact", "gilbert-mcmillan")


def laplace(shift: float, shape: Any = SIZE, seed: int = 0) -> Floats:
    return np.asarray(shift + np.random.default_rng(seed).laplace(size=shape))


def examine(
    outputs: Any,
    neighbour_outputs: Any,
    claim: Claim | None = None,
    *,
    alpha: float = 0.025,
    **settings: Any,
) -> Finding:
    claim = PureDP(0.3) if claim is None else claim
    tester = HistogramTester(**settings)
    rng = np.random.default_rng(1)
    return tester.examine(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng)


def test_it_is_a_tester() -> None:
    assert isinstance(HistogramTester(), BatchTester)
    assert isinstance(HistogramTester(), Examiner)


def test_the_bound_is_that_of_the_finding() -> None:
    a, b = laplace(2.0), laplace(0.0, seed=1)
    bound = HistogramTester().lower_bound(
        a, b, PureDP(0.3), alpha=0.025, rng=np.random.default_rng(1)
    )
    assert bound == examine(a, b).lower_bound > HistogramTester().threshold(PureDP(0.3)) == 0.0
    assert HistogramTester().threshold(ApproxDP(1.0, 0.01)) == 0.01


def test_bins_hold_equally_many_numbers() -> None:
    table = Encoder().encode(laplace(0.0, 1_000))
    cells = Cells(table, grid(columns=(0,), bins=10))
    assert np.bincount(cells.index(table)).tolist() == [100] * 10
    assert cells.count == 11


def test_what_repeats_and_what_is_no_number_are_cells_of_their_own() -> None:
    encoder = Encoder()
    numbers = laplace(0.0, 900).tolist()
    odd = [0.0, math.nan, math.inf, -math.inf, None, "a", "b"]
    table = encoder.encode(numbers + odd * 20)
    cells = Cells(table, grid(columns=(0,), bins=2))
    places = [set(cells.index(table.take(slice(900 + i, None, 7))).tolist()) for i in range(7)]
    assert all(len(place) == 1 for place in places)
    ordinary = set(cells.index(table.take(slice(900))).tolist())
    assert len(set.union(*places)) == 7
    assert not ordinary & set.union(*places)
    new = cells.index(encoder.encode(["never seen"]))
    assert new.tolist() == [cells.count - 1]


def test_products_of_bins_are_told_apart() -> None:
    table = Encoder().encode(laplace(0.0, (4_000, 2)))
    cells = Cells(table, grid(columns=(0, 1), bins=4))
    sides = [Cells(table, grid(columns=(column,), bins=4)).index(table) for column in (0, 1)]
    pairs = set(zip(sides[0].tolist(), sides[1].tolist(), cells.index(table).tolist(), strict=True))
    assert len(pairs) == 16
    assert {cell for _, _, cell in pairs} == set(range(16))


def test_whole_outputs_that_repeat_are_cells() -> None:
    table = Encoder().encode([(1, "a")] * 5 + [(1, "b")] * 5 + [(2, "a")] * 5 + [(3, "c")])
    index = Cells(table, whole).index(table)
    assert len({tuple(index[i : i + 5].tolist()) for i in (0, 5, 10)}) == 3
    assert index[15] == 3  # seen once, it shares the last cell


def test_keys_tell_numbers_words_and_places_apart() -> None:
    rows = [(1.0, 2.0), (2.0, 1.0), (None, 2.0), (1.0, None), ("x", 2.0), (0.0, 2.0), (-0.0, 2.0)]
    keys = row_keys(Encoder().encode(rows))
    assert len(set(keys.tolist())) == 6
    assert keys[5] == keys[6]


def test_automatic_cells_are_not_too_many() -> None:
    share = Share(training=0.5, most=5_000)
    for shape in ((4_000,), (4_000, 3), (4_000, 50)):
        train, _ = share.part(laplace(0.0, shape), laplace(0.0, shape), np.random.default_rng(0))
        counts = [cells.count for cells in candidates(train, "auto")]
        assert len(counts) >= 2
        assert max(counts) <= len(train.labels) // 4


@pytest.mark.parametrize("bins", ["auto", "atoms"])
def test_words_that_never_repeat_tell_nothing(bins: str) -> None:
    """Codes are given in the order of first sight, which must not tell the sides apart."""
    rng = np.random.default_rng(0)
    words = [f"{number:x}" for number in rng.integers(2**60, size=12_000)]
    finding = examine(words[:6_000], words[6_000:], PureDP(0.01), alpha=1e-7, bins=bins)
    assert finding.lower_bound <= 0.0


def test_unequal_sizes_all_count() -> None:
    few = examine(laplace(2.0, 4_000), laplace(0.0, 400, seed=1))
    many = examine(laplace(2.0, 4_000), laplace(0.0, 40_000, seed=1))
    assert 0.0 < few.lower_bound < many.lower_bound


@pytest.mark.parametrize("outputs", [[], [1.0], np.zeros((0, 3)), np.zeros((1, 3))])
def test_too_few_outputs_are_an_error(outputs: Any) -> None:
    with pytest.raises(ValueError, match=r"outputs must hold at least 2 outputs.*got [01]\."):
        examine(outputs, laplace(0.0))
    with pytest.raises(ValueError, match=r"neighbour_outputs must hold at least 2 outputs"):
        examine(laplace(0.0), outputs)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("word", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_on_one_side_is_found(word: float, bound: str) -> None:
    mixed = np.where(np.random.default_rng(2).random(SIZE) < 0.2, word, laplace(0.0))
    assert examine(mixed, laplace(0.0, seed=1), bound=bound).lower_bound > 0.0


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    ("outputs", "neighbour_outputs"),
    [
        (["a"] * 1_500 + ["b"] * 500, ["b"] * 1_500 + ["a"] * 500),
        ([None, 1.5] * 1_000, [(1, 2), "x"] * 1_000),
        ([{"count": 1}] * SIZE, [{"count": 1, "rest": 2}] * SIZE),
        (np.ones(SIZE, dtype=bool), np.zeros(SIZE)),
        ([10**400] * SIZE, [10**401] * SIZE),
        (np.zeros((SIZE, 2)), np.zeros((SIZE, 3))),
        (np.random.default_rng(0).poisson(4, SIZE), np.random.default_rng(1).poisson(9, SIZE)),
        (laplace(2.0, (SIZE, 1)), laplace(0.0, seed=1)),
        (1e300 * laplace(0.0), -np.abs(1e300 * laplace(0.0, seed=1))),
        (laplace(0.0, (SIZE, 50)) + 3.0 * np.eye(50)[17], laplace(0.0, (SIZE, 50), seed=1)),
    ],
    ids=["words", "mixed", "dicts", "bools", "huge", "lengths", "integers", "column", "far", "50"],
)
def test_a_difference_is_found_in_any_form(
    outputs: Any, neighbour_outputs: Any, bound: str
) -> None:
    assert examine(outputs, neighbour_outputs, bound=bound).lower_bound > 0.0


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("output", [0.0, "a", None, (), math.nan])
def test_constant_outputs_are_not_refuted(output: Any, bound: str) -> None:
    finding = examine([output] * 400, [output] * 400, bound=bound)
    assert finding.lower_bound < 0.0
    assert finding.strength_lower == 0.0


@pytest.mark.parametrize("epsilon", [1.0, 8.5])
def test_a_certain_leak_is_found_to_the_highest_epsilon(epsilon: float) -> None:
    """30 000 held out at 0.0125 a side: `log(30000 / log(80)) = 8.83`."""
    finding = examine(np.zeros(50_000), np.ones(50_000), PureDP(epsilon))
    assert finding.lower_bound > 0.0
    assert finding.strength_lower == pytest.approx(math.log(30_000 / math.log(80)), abs=1e-3)


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_test_that_can_never_fire_is_refused(bound: str) -> None:
    with pytest.raises(Underpowered, match=r"can never refute 9-DP with 50000 and 50000 samples"):
        examine(np.zeros(50_000), np.ones(50_000), PureDP(9.0), bound=bound)
    with pytest.raises(Underpowered, match=r"most it could certify is epsilon >= 8\.83"):
        examine(np.zeros(50_000), np.ones(50_000), PureDP(9.0))


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_best_case_is_what_a_certain_leak_gives(bound: str) -> None:
    tester = HistogramTester(bound=bound)  # type: ignore[arg-type]
    best = tester.best(PureDP(1.0), 2_000, 3_000, alpha=0.05)
    assert examine(np.zeros(2_000), np.ones(3_000), PureDP(1.0), alpha=0.05, bound=bound) == best


BROKEN = [PureDP(0.5), ApproxDP(0.5, 0.05), GaussianDP(0.5), ZCDP(0.1), RenyiDP(2.0, 0.2)]
KEPT = [ApproxDP(1.0, GaussianDP(1.0).delta(1.0)), GaussianDP(1.0), ZCDP(0.5), RenyiDP(2.0, 1.0)]


def normal(size: int) -> tuple[Floats, Floats]:
    """Gaussian noise with mu = 1."""
    rng = np.random.default_rng(0)
    return 1.0 + rng.normal(size=size), rng.normal(size=size)


@pytest.mark.parametrize("claim", BROKEN, ids=str)
@pytest.mark.parametrize("bound", BOUNDS)
def test_gaussian_noise_is_refuted_where_it_breaks_a_claim(claim: Any, bound: str) -> None:
    finding = examine(*normal(8_000), claim, bound=bound)
    assert finding.lower_bound > HistogramTester().threshold(claim)
    assert finding.strength_lower is not None
    assert finding.strength_lower > claim.strength


@pytest.mark.parametrize("claim", KEPT, ids=str)
@pytest.mark.parametrize("bound", BOUNDS)
def test_gaussian_noise_is_not_refuted_where_it_keeps_a_claim(claim: Any, bound: str) -> None:
    finding = examine(*normal(8_000), claim, bound=bound, alpha=1e-7)
    assert finding.lower_bound <= HistogramTester().threshold(claim)
    assert finding.strength_lower is not None
    assert finding.strength_lower <= claim.strength


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_profile_is_tested_without_a_strength(bound: str) -> None:
    finding = examine(*normal(8_000), Profile(GaussianDP(0.5).delta), bound=bound)
    assert finding.lower_bound > 0.0
    assert finding.strength_lower is None


def test_the_strength_of_laplace_noise_is_nearly_its_epsilon() -> None:
    a, b = laplace(1.0, 50_000), laplace(0.0, 50_000, seed=1)
    for epsilon in (0.1, 1.2):
        finding = examine(a, b, PureDP(epsilon), alpha=1e-7)
        assert finding.strength_lower is not None
        assert 0.85 < finding.strength_lower <= 1.0


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [(SVT3, 1.0), (SVT5, 1.0), (SVT6, 1.0), (SVT5, 0.01)],
    ids=["SVT3", "SVT5", "SVT6", "SVT5-0.01"],
)
def test_vectors_are_binned_or_taken_as_a_whole(
    mechanism: Callable[..., Any], epsilon: float
) -> None:
    rng = np.random.default_rng(0)
    draw = mechanism(epsilon)
    outputs = draw([0] * 5 + [1] * 5, 50_000, rng)
    neighbour_outputs = draw([1] * 5 + [0] * 5, 50_000, rng)
    assert examine(outputs, neighbour_outputs, PureDP(epsilon)).lower_bound > 0.0


def test_a_rare_value_among_numbers_is_found() -> None:
    rng = np.random.default_rng(0)
    numbers = laplace(0.0, 50_000)
    rare = np.where(rng.random(50_000) < 0.003, 0.125, numbers)
    for bins in ("auto", "atoms"):
        finding = examine(rare, laplace(0.0, 50_000, seed=1), PureDP(0.3), bins=bins)
        assert finding.lower_bound > 0.0


def test_rare_atoms_are_not_trusted() -> None:
    """Thousands of outputs seen a few times each: what one part shows the other does not bear out.

    A choice that trusted them would certify a large set, far below nothing.
    """
    rng = np.random.default_rng(0)
    a, b = rng.integers(2_000, size=(2, 10_000))
    finding = examine(a, b, PureDP(0.01), bins="atoms", alpha=1e-7)
    assert -0.3 < finding.lower_bound <= 0.0


def test_the_curve_lies_below_the_profile_and_not_far() -> None:
    curve = HistogramTester().curve(*normal(50_000), alpha=1e-7, rng=np.random.default_rng(0))
    assert len(curve.events) <= 12
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = GaussianDP(1.0).delta(epsilon)
        assert truth - 0.06 < curve.delta_lower(epsilon) <= truth
    assert curve.epsilon_lower(0.0) > 1.7


@pytest.mark.parametrize("bins", [1, 0, -3, True, 2.5, "few", None])
def test_wrong_bins_are_an_error(bins: Any) -> None:
    with pytest.raises(ValueError, match=r'bins must be "auto", "atoms" or a whole number >= 2'):
        HistogramTester(bins=bins)


def test_an_unknown_bound_is_an_error() -> None:
    with pytest.raises(ValueError, match="bound must be one of 'exact', 'gilbert-mcmillan', got"):
        HistogramTester(bound="hoeffding")  # type: ignore[arg-type]


def test_a_given_number_of_bins_is_used() -> None:
    a, b = laplace(1.0, 20_000), laplace(0.0, 20_000, seed=1)
    for bins in (2, 20):
        for bound in BOUNDS:
            finding = examine(a, b, PureDP(0.1), bins=bins, bound=bound)
            assert 0.2 < finding.lower_bound < 1.0 - math.exp(-0.5)


def test_same_seed_same_finding() -> None:
    a, b = laplace(1.0, (SIZE, 2)), laplace(0.0, (SIZE, 2), seed=1)
    assert examine(a, b) == examine(a, b)
