"""What the histogram and the hockey-stick tester have in common: they bound an event.

Findings about honest mechanisms are asked for at alpha = 1e-7: such a test fails by chance with
that probability. The seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import SIZE, examine, laplace, normal, unique_words

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, ApproxDP, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import Underpowered
from dpaudit.testers import BatchTester, Curve, Examiner, HistogramTester, HockeyStickTester
from dpaudit.zoo import SVT3, SVT4, SVT5, SVT6

DEFAULTS = [HistogramTester(), HockeyStickTester()]
BOUNDS = [
    *(HistogramTester(), HistogramTester(bound="gilbert-mcmillan")),
    *(HockeyStickTester(), HockeyStickTester(bound="hoeffding")),
]
FORMS = [
    *(HistogramTester(), HistogramTester(bound="gilbert-mcmillan")),
    *(HockeyStickTester(classifier="linear"), HockeyStickTester(classifier="boosted")),
]


def label(tester: Any) -> str:
    name = type(tester).__name__.removesuffix("Tester")
    return f"{name}-{getattr(tester, 'classifier', 'cells')}-{tester.bound}"


each_default = pytest.mark.parametrize("tester", DEFAULTS, ids=label)
each_bound = pytest.mark.parametrize("tester", BOUNDS, ids=label)
each_form = pytest.mark.parametrize("tester", FORMS, ids=label)


@each_default
def test_it_is_a_tester_and_an_examiner(tester: Examiner) -> None:
    assert isinstance(tester, BatchTester)
    assert isinstance(tester, Examiner)


@each_default
def test_the_bound_is_that_of_the_finding(tester: Examiner) -> None:
    a, b = laplace(2.0), laplace(0.0, seed=1)
    bound = tester.lower_bound(a, b, PureDP(0.3), alpha=0.025, rng=np.random.default_rng(1))
    assert bound == examine(tester, a, b).lower_bound > tester.threshold(PureDP(0.3)) == 0.0
    assert tester.threshold(ApproxDP(1.0, 0.01)) == 0.01


@each_default
def test_same_seed_same_finding(tester: Examiner) -> None:
    a, b = laplace(1.0, (SIZE, 2)), laplace(0.0, (SIZE, 2), seed=1)
    assert examine(tester, a, b) == examine(tester, a, b)


# --- what it is given -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tester",
    [
        *(HistogramTester(), HistogramTester(bins="atoms"), HockeyStickTester()),
        *(HockeyStickTester(classifier="linear"), HockeyStickTester(classifier="boosted")),
    ],
    ids=repr,
)
def test_words_that_never_repeat_tell_nothing(tester: Examiner) -> None:
    """Codes are given in the order of first sight, which must not tell the sides apart."""
    words = unique_words(0, 12_000)
    finding = examine(tester, words[:6_000], words[6_000:], PureDP(0.01), alpha=1e-7)
    assert finding.lower_bound <= 0.0


@each_default
def test_unequal_sizes_all_count(tester: Examiner) -> None:
    few = examine(tester, laplace(2.0, 4_000), laplace(0.0, 400, seed=1))
    many = examine(tester, laplace(2.0, 4_000), laplace(0.0, 40_000, seed=1))
    assert 0.0 < few.lower_bound < many.lower_bound


@each_default
@pytest.mark.parametrize("outputs", [[], [1.0], np.zeros((0, 3)), np.zeros((1, 3))])
def test_too_few_outputs_are_an_error(tester: Examiner, outputs: Any) -> None:
    with pytest.raises(ValueError, match=r"outputs must hold at least 2 outputs.*got [01]\."):
        examine(tester, outputs, laplace(0.0))
    with pytest.raises(ValueError, match=r"neighbour_outputs must hold at least 2 outputs"):
        examine(tester, laplace(0.0), outputs)


@each_default
@pytest.mark.parametrize("alpha", [0.0, 1.0, math.nan])
def test_alpha_is_a_probability(tester: Examiner, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha must be in \(0, 1\)"):
        examine(tester, laplace(0.0), laplace(0.0), alpha=alpha)


@each_default
def test_what_is_not_an_array_is_an_error(tester: Examiner) -> None:
    with pytest.raises(TypeError, match="outputs must be an array or a list, got generator"):
        examine(tester, (x for x in [1.0, 2.0]), laplace(0.0))


@each_form
@pytest.mark.parametrize("word", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_on_one_side_is_found(tester: Any, word: float) -> None:
    share = 0.2 if isinstance(tester, HistogramTester) else 0.1
    mixed = np.where(np.random.default_rng(2).random(SIZE) < share, word, laplace(0.0))
    assert examine(tester, mixed, laplace(0.0, seed=1)).lower_bound > 0.0


@each_form
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
    tester: Examiner, outputs: Any, neighbour_outputs: Any
) -> None:
    assert examine(tester, outputs, neighbour_outputs).lower_bound > 0.0


@each_form
@pytest.mark.parametrize("output", [0.0, "a", None, (), math.nan])
def test_constant_outputs_are_not_refuted(tester: Examiner, output: Any) -> None:
    finding = examine(tester, [output] * 400, [output] * 400)
    assert finding.lower_bound < 0.0
    assert finding.strength_lower == 0.0


# --- what it finds --------------------------------------------------------------------------------


@each_default
@pytest.mark.parametrize("epsilon", [1.0, 8.5])
def test_a_certain_leak_is_found_to_the_highest_epsilon(tester: Examiner, epsilon: float) -> None:
    """30 000 held out at 0.0125 a side: `log(30000 / log(80)) = 8.83`."""
    finding = examine(tester, np.zeros(50_000), np.ones(50_000), PureDP(epsilon))
    assert finding.lower_bound > 0.0
    assert finding.strength_lower == pytest.approx(math.log(30_000 / math.log(80)), abs=1e-3)


@each_bound
def test_an_underpowered_test_is_refused(tester: Any) -> None:
    with pytest.raises(
        Underpowered, match=r"can never refute 9-DP with 50000 and 50000 samples"
    ) as told:
        examine(tester, np.zeros(50_000), np.ones(50_000), PureDP(9.0))
    if tester.bound == "exact":
        assert "most it could certify is epsilon >= 8.83" in str(told.value)


@pytest.mark.parametrize("tester", BOUNDS[:3], ids=label)
def test_the_best_case_is_what_a_certain_leak_gives(tester: Examiner) -> None:
    best = tester.best(PureDP(1.0), 2_000, 3_000, alpha=0.05)
    assert examine(tester, np.zeros(2_000), np.ones(3_000), PureDP(1.0), alpha=0.05) == best


BROKEN = [PureDP(0.5), ApproxDP(0.5, 0.05), GaussianDP(0.5), ZCDP(0.1), RenyiDP(2.0, 0.2)]
KEPT = [ApproxDP(1.0, GaussianDP(1.0).delta(1.0)), GaussianDP(1.0), ZCDP(0.5), RenyiDP(2.0, 1.0)]


def gaussian(tester: Examiner) -> tuple[Floats, Floats]:
    return normal(8_000 if isinstance(tester, HistogramTester) else 4_000)


@each_bound
@pytest.mark.parametrize("claim", BROKEN, ids=str)
def test_gaussian_noise_is_refuted_where_it_breaks_a_claim(tester: Examiner, claim: Any) -> None:
    finding = examine(tester, *gaussian(tester), claim)
    assert finding.lower_bound > tester.threshold(claim)
    assert finding.strength_lower is not None
    assert finding.strength_lower > claim.strength


@each_bound
@pytest.mark.parametrize("claim", KEPT, ids=str)
def test_gaussian_noise_is_not_refuted_where_it_keeps_a_claim(tester: Examiner, claim: Any) -> None:
    finding = examine(tester, *gaussian(tester), claim, alpha=1e-7)
    assert finding.lower_bound <= tester.threshold(claim)
    assert finding.strength_lower is not None
    assert finding.strength_lower <= claim.strength


@each_bound
def test_a_profile_is_tested_without_a_strength(tester: Examiner) -> None:
    finding = examine(tester, *normal(8_000), Profile(GaussianDP(0.5).delta))
    assert finding.lower_bound > 0.0
    assert finding.strength_lower is None


@each_default
def test_the_strength_of_laplace_noise_is_nearly_its_epsilon(tester: Examiner) -> None:
    a, b = laplace(1.0, 50_000), laplace(0.0, 50_000, seed=1)
    for epsilon in (0.1, 1.2):
        finding = examine(tester, a, b, PureDP(epsilon), alpha=1e-7)
        assert finding.strength_lower is not None
        assert 0.85 < finding.strength_lower <= 1.0


@pytest.mark.parametrize(
    ("tester", "mechanism", "epsilon"),
    [
        *((HistogramTester(), svt, 1.0) for svt in (SVT3, SVT5, SVT6)),
        *((HockeyStickTester(), svt, 1.0) for svt in (SVT3, SVT4, SVT5, SVT6)),
        *((tester, SVT5, 0.01) for tester in DEFAULTS),
    ],
    ids=lambda part: getattr(part, "__name__", str(part)[:6]),
)
def test_broken_sparse_vectors_are_found(
    tester: Examiner, mechanism: Callable[..., Any], epsilon: float
) -> None:
    """In the direction that shows the bug. Their outputs are vectors."""
    rng = np.random.default_rng(0)
    draw = mechanism(epsilon)
    outputs = draw([0] * 5 + [1] * 5, 50_000, rng)
    neighbour_outputs = draw([1] * 5 + [0] * 5, 50_000, rng)
    assert examine(tester, outputs, neighbour_outputs, PureDP(epsilon)).lower_bound > 0.0


@each_default
def test_the_curve_lies_below_the_profile_and_not_far(tester: Any) -> None:
    curve = tester.curve(*normal(50_000), alpha=1e-7, rng=np.random.default_rng(0))
    assert isinstance(curve, Curve)
    assert 4 <= len(curve.events) <= 12
    far = 0.06 if isinstance(tester, HistogramTester) else 0.05
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = GaussianDP(1.0).delta(epsilon)
        assert truth - far < curve.delta_lower(epsilon) <= truth
    assert curve.epsilon_lower(0.0) > 1.7


@pytest.mark.parametrize(
    ("kind", "bound", "known"),
    [
        (HistogramTester, "hoeffding", "'exact', 'gilbert-mcmillan'"),
        (HockeyStickTester, "best", "'exact', 'hoeffding'"),
    ],
)
def test_an_unknown_bound_is_an_error(kind: Any, bound: str, known: str) -> None:
    with pytest.raises(ValueError, match=f"bound must be one of {known}, got '{bound}'"):
        kind(bound=bound)
