"""Trials of a batch tester: what it is given, what it may spend, what becomes of its answers."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from scripted import (
    MANY,
    PROFILE,
    Answer,
    Examining,
    Scripted,
    audit,
    in_call,
    laplace,
    leak,
    listed,
    nothing,
)

import dpaudit
from dpaudit import Pair, PureDP, Verdict
from dpaudit.testers import Trials, share_of_alpha

# --- what a trial may spend -----------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 7, 50])
def test_alpha_is_spent_over_trials_and_directions(count: int) -> None:
    tester = Scripted()
    audit(Trials(tester, count=count), alpha=0.05)
    alphas = [call["alpha"] for call in tester.calls]
    expected = [0.05 * 6 / (math.pi**2 * trial**2) / 2 for trial in range(1, count + 1)]
    assert alphas[::2] == alphas[1::2] == pytest.approx(expected, rel=1e-12)
    assert 0.05 * (1 - 1 / count) < sum(alphas) < 0.05  # 6/pi^2 times the sum of 1/t^2 beyond T


def test_the_shares_of_all_trials_sum_to_one() -> None:
    shares = [share_of_alpha(trial, 10**6) for trial in range(1, 10**5)]
    assert 1 - 1e-5 < sum(shares) < 1.0


@pytest.mark.parametrize("tester", [lambda one: one, lambda one: Trials(one, count=9)])
def test_a_sole_pair_gets_all_of_alpha(tester: Any) -> None:
    scripted = Scripted()
    audit(tester(scripted), listed(1), alpha=0.05)
    assert [call["alpha"] for call in scripted.calls] == [0.025, 0.025]


def test_a_sole_trial_gets_all_of_alpha() -> None:
    scripted = Scripted()
    audit(Trials(scripted, count=1), alpha=0.05)
    assert [call["alpha"] for call in scripted.calls] == [0.025, 0.025]


def test_a_tester_that_errs_as_often_as_it_may_accuses_as_often_as_alpha() -> None:
    """Null: both directions of trial t err with probability alpha_t / 2 each, independently.

    The number of accusations is then binomial with chance 0.37; a two-sided test with false alarm
    1e-6. Alternatives: the two directions share their luck (chance 0.21, caught with probability
    0.99), or each gets all of alpha_t (chance 0.63, caught with probability 0.9999).
    """
    alpha, trials, runs = 0.5, 4, 400
    chance = 1.0 - math.prod(
        (1.0 - alpha * share_of_alpha(trial, trials) / 2) ** 2 for trial in range(1, trials + 1)
    )

    class Erring(Scripted):
        def lower_bound(self, *outputs: Any, alpha: float, rng: Any) -> float:
            return 1.0 if rng.random() < alpha else 0.0

    accused = sum(
        audit(Trials(Erring(), count=trials), alpha=alpha, samples=40, rng=seed).refuted
        for seed in range(runs)
    )
    assert binom.ppf(5e-7, runs, chance) <= accused <= binom.isf(5e-7, runs, chance)


# --- what a trial is given ------------------------------------------------------------------------


def test_both_directions_see_the_same_outputs_with_luck_of_their_own() -> None:
    tester = Scripted()
    audit(tester, listed(3), mechanism=laplace)
    for there, back in zip(tester.calls[::2], tester.calls[1::2], strict=True):
        assert np.array_equal(there["outputs"], back["neighbour_outputs"])
        assert np.array_equal(there["neighbour_outputs"], back["outputs"])
        assert not np.array_equal(there["outputs"], there["neighbour_outputs"])
    assert len({call["luck"] for call in tester.calls}) == 6
    assert all(call["claim"] == PureDP(0.3) for call in tester.calls)


def test_each_trial_has_a_pair_and_draws_of_its_own() -> None:
    tester = Scripted()
    found = audit(tester, listed(3))
    there = tester.calls[::2]
    assert [call["outputs"][0] for call in there] == [1.0, 2.0, 3.0]
    assert [call["neighbour_outputs"][0] for call in there] == [0.0, 1.0, 2.0]
    assert [record.pair for record in found.history] == [Pair(*pair) for pair in listed(3)]
    drawn = Scripted()
    audit(drawn, [listed(1)[0]] * 2, mechanism=laplace)
    assert not np.array_equal(drawn.calls[0]["outputs"], drawn.calls[2]["outputs"])


@pytest.mark.parametrize(
    ("trials", "neighbours", "count"),
    [
        (None, MANY, 20),
        (None, listed(3), 3),
        (5, MANY, 5),
        (2, listed(3), 2),
        (50, listed(3), 3),
        (1, MANY, 1),
    ],
)
def test_the_draws_are_shared_evenly_among_the_trials(
    trials: int | None, neighbours: Any, count: int
) -> None:
    tester = Scripted()
    found = audit(Trials(tester, count=trials), neighbours, samples=2_000)
    each = (2_000 - 100) // (2 * count)  # a twentieth is kept for certifying
    assert len(tester.calls) == 2 * count
    for call in tester.calls:
        assert len(call["outputs"]) == len(call["neighbour_outputs"]) == each
    assert found.pairs_tried == len(found.history) == count
    assert found.samples == 2 * each * count
    assert all(record.samples == 2 * each for record in found.history)


def test_a_finder_that_has_no_more_pairs_ends_the_run() -> None:
    tester = Scripted()
    with pytest.warns(dpaudit.HealthWarning, match="gave 1.0 at all of 94 draws"):
        found = audit(tester, dpaudit.replace_one(dpaudit.categories("a", "b"), max_records=1))
    assert found.pairs_tried == len(tester.calls) // 2 == 1  # ab; ba is the same, the other way


def test_outputs_of_changing_form_are_one_list() -> None:
    def sometimes(data: Any, size: int) -> list[Any]:
        return [1.0] * size if size < 20 else ["word"] * size

    tester = Scripted()
    audit(Trials(tester, count=1), mechanism=sometimes, samples=300)
    outputs = tester.calls[0]["outputs"]
    assert isinstance(outputs, list)
    assert len(outputs) == 118
    assert outputs[:8] == [1.0] * 8
    assert outputs[8:104] == ["word"] * 96  # three pieces of 32


# --- what becomes of the answers ------------------------------------------------------------------


@pytest.mark.parametrize("call", [1, 2, 5, 6, 40])
def test_the_run_stops_at_a_refutation(call: int) -> None:
    tester = Scripted(in_call(call))
    found = audit(tester, mechanism=leak, alpha=0.01)
    trial = (call + 1) // 2
    assert found.verdict is Verdict.REFUTED
    assert found.pairs_tried == trial
    assert len(tester.calls) == 2 * trial
    assert found.strongest == found.history[-1]
    assert found.counterexample is not None
    assert found.counterexample.pair == found.history[-1].pair


@pytest.mark.parametrize("bound", [0.5, 0.4, -3.0, -math.inf])
def test_a_bound_at_the_threshold_refutes_nothing(bound: float) -> None:
    found = audit(Scripted(lambda call: bound))
    assert found.verdict is Verdict.NOT_REFUTED
    assert found.counterexample is None
    assert found.forecast is None


@pytest.mark.parametrize(
    ("claim", "answer", "bound"),
    [
        (PureDP(0.3), nothing, 0.0),
        (PureDP(0.3), in_call(2, 0.02), 0.2),
        (PureDP(0.3), lambda call: -1.0, 0.0),
        (PureDP(0.3), lambda call: -math.inf, 0.0),
        (PureDP(0.3), lambda call: 0.001 * call, 0.04),  # 4 calls
        (PureDP(0.3), lambda call: 0.04 - 0.001 * call, 0.39),
        (PureDP(0.3), in_call(3, 0.6), 6.0),
        (dpaudit.GaussianDP(9.0), in_call(3, 0.6), 9.0),  # refuted, so no less than claimed
        (PROFILE, in_call(3, 0.6), None),
        (PROFILE, nothing, None),
    ],
)
def test_the_bound_is_the_best_of_all_trials_and_directions(
    claim: Any, answer: Answer, bound: float | None
) -> None:
    found = audit(Examining(answer), listed(2), claim=claim, mechanism=leak)
    assert found.lower_bound == (None if bound is None else pytest.approx(bound))


@pytest.mark.parametrize(
    ("claim", "answer", "bound"),
    [
        (PureDP(0.3), nothing, 0.0),
        (PureDP(0.3), in_call(3), 0.3),
        (dpaudit.ZCDP(2.0), in_call(3), 2.0),
        (PROFILE, in_call(3), None),
        (PROFILE, nothing, None),
    ],
)
def test_a_tester_without_a_parameter_bounds_what_it_refutes(
    claim: Any, answer: Answer, bound: float | None
) -> None:
    found = audit(Scripted(answer), listed(2), claim=claim, mechanism=leak)
    assert found.refuted == (answer is not nothing)
    assert found.lower_bound == bound


def test_the_evidence_is_what_is_not_staked_yet() -> None:
    found = audit(Trials(Scripted(), count=4), alpha=0.01)
    left = [1 - sum(share_of_alpha(trial, 4) for trial in range(1, last + 1)) for last in (1, 2, 3)]
    assert [wealth for _, wealth in found.evidence.trace[:3]] == pytest.approx(np.log(left))
    assert [samples for samples, _ in found.evidence.trace] == [474, 948, 1422, 1896]
    assert found.evidence.log_wealth == found.evidence.trace[-1][1] < 0.0
    assert found.evidence.p_value == 1.0
    assert sum(one.log_wealth for one in found.history) == pytest.approx(found.evidence.log_wealth)


@pytest.mark.parametrize("trial", [1, 3])
def test_a_refutation_is_worth_one_over_alpha(trial: int) -> None:
    found = audit(Scripted(in_call(2 * trial)), mechanism=leak, alpha=0.01)
    left = 1 - sum(share_of_alpha(each, 20) for each in range(1, trial + 1))
    assert found.evidence.e_value == pytest.approx(100 + left)
    assert found.evidence.p_value <= 0.01 * (1 + 1e-12)
    assert found.evidence.peak == found.evidence.log_wealth == found.evidence.trace[-1][1]


def test_a_sole_trial_stakes_all() -> None:
    lost = audit(Scripted(), listed(1), alpha=0.01)
    assert lost.evidence.log_wealth == -math.inf
    assert lost.evidence.e_value == 0.0
    assert lost.evidence.p_value == 1.0
    won = audit(Scripted(in_call(1)), listed(1), mechanism=leak, alpha=0.01)
    assert won.evidence.e_value == pytest.approx(100.0)


class Listening:
    """A finder that proposes ever larger datasets, and remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, float]] = []
        self.asked = 0

    def ask(self) -> Pair:
        self.asked += 1
        return Pair(np.ones(self.asked), np.ones(self.asked - 1))

    def tell(self, pair: Pair, score: float) -> None:
        self.told.append((len(pair.data), score))


@pytest.mark.parametrize(
    ("kind", "claim", "bounds", "scores"),
    [
        (Examining, PureDP(0.3), [0.01, 0.02, -0.5, -1.0], [0.2, 0.0]),
        (Examining, PROFILE, [0.1, 0.2, -0.5, -0.7], [math.exp(-0.3), math.exp(-1.0)]),
        (Scripted, PureDP(0.3), [0.4, 0.1, -0.5, -0.7], [math.exp(-0.1), math.exp(-1.0)]),
        (Scripted, PureDP(0.3), [-math.inf, -math.inf, 0.1, 0.0], [0.0, math.exp(-0.4)]),
    ],
)
def test_the_finder_is_told_what_a_pair_showed(
    kind: Any, claim: Any, bounds: list[float], scores: list[float]
) -> None:
    finder = Listening()
    found = audit(Trials(kind(lambda call: bounds[call - 1]), count=2), finder, claim=claim)
    assert finder.asked == 2
    assert [number for number, _ in finder.told] == [1, 2]
    assert [score for _, score in finder.told] == pytest.approx(scores)
    assert found.strongest == found.history[int(np.argmax(scores))]


# --- with the testers of the library --------------------------------------------------------------


TESTERS: list[Any] = [
    dpaudit.testers.HistogramTester(),
    dpaudit.testers.HockeyStickTester(classifier="linear"),
    dpaudit.testers.RenyiTester(),
    dpaudit.testers.MMDTester(),
]


@pytest.mark.parametrize("tester", TESTERS, ids=lambda tester: type(tester).__name__)
def test_the_broken_is_found_and_the_honest_is_not(tester: Any) -> None:
    """Null of the second half: the audit accuses with probability at most 1e-6."""
    broken = audit(tester, listed(2), mechanism=leak, samples=8_000)
    assert broken.verdict is Verdict.REFUTED
    assert broken.lower_bound is not None
    assert broken.lower_bound > 0.3
    honest = audit(tester, listed(2), mechanism=laplace, claim=PureDP(1.0), samples=8_000)
    assert honest.verdict is Verdict.NOT_REFUTED
    assert honest.lower_bound is not None
    assert 0.0 <= honest.lower_bound <= 1.0


def test_a_tester_of_dp_auditorium_runs() -> None:
    class Difference:
        def estimate_lower_bound(self, samples1: Any, samples2: Any, chance: float) -> float:
            noise = math.sqrt(2 * math.log(2 / chance) / len(samples1))
            return float(np.mean(samples1 > 2.5) - np.mean(samples2 > 2.5) - noise)

        def reject_property(self, lower_bound: float) -> bool:
            return lower_bound > 0.3  # total variation under 0.6-DP is at most 0.2913

    tester = dpaudit.testers.from_dp_auditorium(Difference())
    broken = audit(tester, listed(2), mechanism=leak, claim=PureDP(0.6))
    assert broken.verdict is Verdict.REFUTED
    assert broken.lower_bound == 0.6
    assert not audit(tester, listed(2), mechanism=laplace, claim=PureDP(1.0)).refuted
