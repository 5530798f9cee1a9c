"""The hockey-stick tester: what it is given, what it finds, and what its parts promise.

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

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.errors import Underpowered
from dpaudit.guessing import BoostedScore, LinearScore, Share
from dpaudit.testers import BatchTester, Curve, Examiner, Finding, HockeyStickTester
from dpaudit.zoo import SVT3, SVT4, SVT5, SVT6

Floats = npt.NDArray[np.float64]
SIZE = 2_000
CLASSIFIERS = ("linear", "boosted")


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
    tester = HockeyStickTester(**settings)
    rng = np.random.default_rng(1)
    return tester.examine(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng)


class Memory:
    """A classifier that is certain of every row it has seen, and knows nothing else."""

    def __init__(self) -> None:
        self.seen: dict[bytes, int] = {}

    def fit(self, rows: Floats, labels: npt.NDArray[np.int64]) -> None:
        assert rows.ndim == 2
        assert rows.dtype == np.float64
        assert set(labels.tolist()) == {0, 1}
        self.seen = {row.tobytes(): int(y) for row, y in zip(rows, labels, strict=True)}

    def predict_proba(self, rows: Floats) -> Floats:
        ones = np.array([self.seen.get(row.tobytes(), 0.5) for row in rows])
        return np.column_stack([1.0 - ones, ones])


class First(Memory):
    """A classifier that believes in its first column."""

    def predict_proba(self, rows: Floats) -> Floats:
        ones = np.clip(rows[:, 0] / 10.0 + 0.5, 0.0, 1.0)
        return np.column_stack([1.0 - ones, ones])


def test_it_is_a_tester() -> None:
    assert isinstance(HockeyStickTester(), BatchTester)
    assert isinstance(HockeyStickTester(), Examiner)


def test_the_bound_is_that_of_the_finding() -> None:
    a, b = laplace(2.0), laplace(0.0, seed=1)
    bound = HockeyStickTester().lower_bound(
        a, b, PureDP(0.3), alpha=0.025, rng=np.random.default_rng(1)
    )
    assert bound == examine(a, b).lower_bound > HockeyStickTester().threshold(PureDP(0.3)) == 0.0
    assert HockeyStickTester().threshold(ApproxDP(1.0, 0.01)) == 0.01


@pytest.mark.parametrize("size", [2, 3, 5, 10_000])
def test_every_output_is_learned_from_or_held_out(size: int) -> None:
    share = Share(training=0.4, most=1_000)
    learn, held_out = share.part(
        np.arange(size), np.arange(size, 2 * size + 3), np.random.default_rng(0)
    )
    both = np.concatenate([learn.table.numbers, held_out.table.numbers])[:, 0]
    assert sorted(both.tolist()) == list(range(2 * size + 3))
    assert np.count_nonzero(held_out.labels) == share.held_out(size)
    assert np.count_nonzero(~held_out.labels) == share.held_out(size + 3)
    for part in (learn, held_out):
        assert np.array_equal(part.labels, part.table.numbers[:, 0] < size)


def test_what_is_learned_does_not_depend_on_what_is_held_out() -> None:
    """Words are coded from the outputs learned from; all new ones are alike."""
    share = Share(training=0.4, most=1_000)
    learn, held_out = share.part(
        [str(i) for i in range(50)], [str(i) for i in range(25, 75)], np.random.default_rng(3)
    )
    order = np.random.default_rng(3).permutation(50)
    kept = set(order[:20].tolist())
    changed = [str(i) if i in kept else ("never", i) for i in range(50)]
    again, _ = share.part(changed, [str(i) for i in range(25, 75)], np.random.default_rng(3))
    assert np.array_equal(learn.table.codes(), again.table.codes())
    known = set(learn.table.codes().ravel().tolist())
    assert len(set(held_out.table.codes().ravel().tolist()) - known) == 1


@pytest.mark.parametrize("classifier", ["auto", *CLASSIFIERS])
def test_words_that_never_repeat_tell_nothing(classifier: str) -> None:
    """Codes are given in the order of first sight, which must not tell the sides apart."""
    rng = np.random.default_rng(0)
    words = [f"{number:x}" for number in rng.integers(2**60, size=12_000)]
    finding = examine(words[:6_000], words[6_000:], PureDP(0.01), alpha=1e-7, classifier=classifier)
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


def test_what_is_not_an_array_is_an_error() -> None:
    with pytest.raises(TypeError, match="outputs must be an array or a list, got generator"):
        examine((x for x in [1.0, 2.0]), laplace(0.0))


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("word", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_on_one_side_is_found(word: float, classifier: str) -> None:
    mixed = np.where(np.random.default_rng(2).random(SIZE) < 0.1, word, laplace(0.0))
    assert examine(mixed, laplace(0.0, seed=1), classifier=classifier).lower_bound > 0.0


@pytest.mark.parametrize("classifier", CLASSIFIERS)
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
    ],
    ids=["words", "mixed", "dicts", "bools", "huge", "lengths", "integers", "column", "far"],
)
def test_a_difference_is_found_in_any_form(
    outputs: Any, neighbour_outputs: Any, classifier: str
) -> None:
    assert examine(outputs, neighbour_outputs, classifier=classifier).lower_bound > 0.0


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("output", [0.0, "a", None, (), math.nan])
def test_constant_outputs_are_not_refuted(output: Any, classifier: str) -> None:
    finding = examine([output] * 100, [output] * 100, classifier=classifier)
    assert finding.lower_bound < 0.0
    assert finding.strength_lower == 0.0


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_one_of_fifty_columns_is_found(classifier: str) -> None:
    shifted = laplace(0.0, (SIZE, 50)) + 3.0 * np.eye(50)[17]
    finding = examine(shifted, laplace(0.0, (SIZE, 50), seed=1), classifier=classifier)
    assert finding.lower_bound > 0.4


def test_trees_find_what_no_column_tells_alone() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(2, size=(SIZE, 2))
    equal = np.column_stack([bits[:, 0], bits[:, 0]])
    assert examine(equal + laplace(0.0, (SIZE, 2)) / 9, bits).lower_bound > 0.3


@pytest.mark.parametrize("epsilon", [1.0, 8.5])
def test_a_certain_leak_is_found_to_the_highest_epsilon(epsilon: float) -> None:
    """30 000 held out at 0.0125 a side: `log(30000 / log(80)) = 8.83`."""
    finding = examine(np.zeros(50_000), np.ones(50_000), PureDP(epsilon))
    assert finding.lower_bound > 0.0
    assert finding.strength_lower == pytest.approx(math.log(30_000 / math.log(80)), abs=1e-3)


@pytest.mark.parametrize("bound", ["exact", "hoeffding"])
def test_a_test_that_can_never_fire_is_refused(bound: str) -> None:
    with pytest.raises(Underpowered, match=r"can never refute 9-DP with 50000 and 50000 samples"):
        examine(np.zeros(50_000), np.ones(50_000), PureDP(9.0), bound=bound)
    with pytest.raises(Underpowered, match=r"most it could certify is epsilon >= 8\.83"):
        examine(np.zeros(50_000), np.ones(50_000), PureDP(9.0))


def test_the_best_case_is_what_a_certain_leak_gives() -> None:
    tester = HockeyStickTester()
    best = tester.best(PureDP(1.0), 2_000, 3_000, alpha=0.05)
    found = examine(np.zeros(2_000), np.ones(3_000), PureDP(1.0), alpha=0.05)
    assert found == best


BROKEN = [PureDP(0.5), ApproxDP(0.5, 0.05), GaussianDP(0.5), ZCDP(0.1), RenyiDP(2.0, 0.2)]
KEPT = [ApproxDP(1.0, GaussianDP(1.0).delta(1.0)), GaussianDP(1.0), ZCDP(0.5), RenyiDP(2.0, 1.0)]


def normal(size: int) -> tuple[Floats, Floats]:
    """Gaussian noise with mu = 1."""
    rng = np.random.default_rng(0)
    return 1.0 + rng.normal(size=size), rng.normal(size=size)


@pytest.mark.parametrize("claim", BROKEN, ids=str)
@pytest.mark.parametrize("bound", ["exact", "hoeffding"])
def test_gaussian_noise_is_refuted_where_it_breaks_a_claim(claim: Any, bound: str) -> None:
    finding = examine(*normal(4_000), claim, bound=bound)
    assert finding.lower_bound > HockeyStickTester().threshold(claim)
    assert finding.strength_lower is not None
    assert finding.strength_lower > claim.strength


@pytest.mark.parametrize("claim", KEPT, ids=str)
@pytest.mark.parametrize("bound", ["exact", "hoeffding"])
def test_gaussian_noise_is_not_refuted_where_it_keeps_a_claim(claim: Any, bound: str) -> None:
    finding = examine(*normal(4_000), claim, bound=bound, alpha=1e-7)
    assert finding.lower_bound <= HockeyStickTester().threshold(claim)
    assert finding.strength_lower is not None
    assert finding.strength_lower <= claim.strength


def test_both_bounds_are_on_the_same_divergence() -> None:
    """At epsilon = 0 it is the total variation, 0.3935 for Laplace noise shifted by its scale."""
    a, b = laplace(1.0, 20_000), laplace(0.0, 20_000, seed=1)
    for bound in ("exact", "hoeffding"):
        finding = examine(a, b, PureDP(0.0), bound=bound)
        assert 0.36 < finding.lower_bound < 1.0 - math.exp(-0.5)


def test_the_strength_of_laplace_noise_is_nearly_its_epsilon() -> None:
    a, b = laplace(1.0, 50_000), laplace(0.0, 50_000, seed=1)
    for epsilon in (0.1, 1.2):
        finding = examine(a, b, PureDP(epsilon), alpha=1e-7)
        assert finding.strength_lower is not None
        assert 0.85 < finding.strength_lower <= 1.0


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [(SVT3, 1.0), (SVT4, 1.0), (SVT5, 1.0), (SVT6, 1.0), (SVT5, 0.01)],
    ids=["SVT3", "SVT4", "SVT5", "SVT6", "SVT5-0.01"],
)
def test_broken_sparse_vectors_are_found(mechanism: Callable[..., Any], epsilon: float) -> None:
    """In the direction that shows the bug; a run of both has alpha = 0.05."""
    rng = np.random.default_rng(0)
    draw = mechanism(epsilon)
    outputs = draw([0] * 5 + [1] * 5, 50_000, rng)
    neighbour_outputs = draw([1] * 5 + [0] * 5, 50_000, rng)
    assert examine(outputs, neighbour_outputs, PureDP(epsilon)).lower_bound > 0.0


def test_the_curve_lies_below_the_profile_and_not_far() -> None:
    curve = HockeyStickTester().curve(*normal(50_000), alpha=1e-7, rng=np.random.default_rng(0))
    assert isinstance(curve, Curve)
    assert 4 <= len(curve.events) <= 12
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = GaussianDP(1.0).delta(epsilon)
        assert truth - 0.05 < curve.delta_lower(epsilon) <= truth
    assert curve.epsilon_lower(0.0) > 1.7


def test_one_s_own_classifier_sees_numbers_and_words_and_is_not_changed() -> None:
    own = First()
    mixed = [None, 3.0] * 1_000
    finding = examine(mixed, laplace(0.0).tolist(), classifier=own)
    assert finding.lower_bound > 0.3
    assert own.seen == {}


def test_a_classifier_that_only_remembers_promises_nothing() -> None:
    finding = examine(laplace(1.0), laplace(0.0, seed=1), classifier=Memory(), alpha=1e-7)
    assert finding.lower_bound <= 0.0


class Wrong(Memory):
    def predict_proba(self, rows: Floats) -> Floats:
        return np.full(len(rows), 0.5)


def test_wrong_probabilities_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"Wrong\.predict_proba must give 800 rows of two"):
        examine(laplace(1.0), laplace(0.0), classifier=Wrong())


@pytest.mark.parametrize("classifier", ["forest", 3, Memory])
def test_an_unknown_classifier_is_an_error(classifier: Any) -> None:
    with pytest.raises(ValueError, match=r"classifier must be one of 'auto', 'linear'"):
        HockeyStickTester(classifier=classifier)


def test_an_unknown_bound_is_an_error() -> None:
    with pytest.raises(ValueError, match="bound must be one of 'exact', 'hoeffding', got"):
        HockeyStickTester(bound="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [LinearScore, BoostedScore])
def test_scores_follow_the_likelihood_ratio(score: Callable[..., Any]) -> None:
    """Of Laplace noise it rises between the two centres and is flat beyond."""
    train, _ = Share(training=0.9, most=10_000).part(
        laplace(1.0, 10_000), laplace(0.0, 10_000, seed=1), np.random.default_rng(0)
    )
    points, _ = Share(training=0.5, most=3).part(
        np.array([-1.0] * 6), np.array([2.0] * 6), np.random.default_rng(0)
    )
    scores = score(train)(points.table)
    assert np.allclose(np.sort(scores), [-1.0] * 3 + [1.0] * 3, atol=0.35)


def test_a_score_does_not_depend_on_the_size_of_a_side() -> None:
    train, _ = Share(training=0.9, most=10_000).part(
        laplace(0.0, 10_000), laplace(0.0, 500, seed=1), np.random.default_rng(0)
    )
    for score in (LinearScore(train), BoostedScore(train)):
        assert abs(float(np.mean(score(train.table)))) < 0.4


def test_same_seed_same_finding() -> None:
    a, b = laplace(1.0, (SIZE, 2)), laplace(0.0, (SIZE, 2), seed=1)
    assert examine(a, b) == examine(a, b)


def test_a_network_finds_a_shift() -> None:
    pytest.importorskip("torch", reason="the neural classifier needs torch")
    a, b = laplace(1.5, (1_000, 2)), laplace(0.0, (1_000, 2), seed=1)
    assert examine(a, b, classifier="neural", device="cpu").lower_bound > 0.1
