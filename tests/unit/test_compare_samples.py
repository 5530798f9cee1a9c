"""Outputs in hand: an answer that is as valid as an audit's."""

import json
import math
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from compared import BATCH, BETS, QUICK, laplace, name_of, without_seconds
from scipy.stats import binom

import dpaudit
from dpaudit import Pair, PureDP, Verdict, compare_samples
from dpaudit.auditing import SamplesInHand
from dpaudit.errors import Underpowered
from dpaudit.results import audit_from_json

Floats = npt.NDArray[np.float64]


class Recording:
    """A tester from elsewhere that refutes where it is told to, and remembers what it was given."""

    def __init__(self, *, refutes_in: int = 0) -> None:
        self.refutes_in = refutes_in
        self.calls: list[tuple[Any, Any, float, float]] = []

    def threshold(self, claim: Any) -> float:
        return 0.5

    def lower_bound(
        self, outputs: Any, neighbour_outputs: Any, claim: Any, *, alpha: float, rng: Any
    ) -> float:
        self.calls.append((outputs, neighbour_outputs, alpha, rng.random()))
        return 1.0 if len(self.calls) == self.refutes_in else 0.0


# --- what comes back ------------------------------------------------------------------------------


@pytest.mark.parametrize("tester", [*QUICK, Recording(refutes_in=2)], ids=name_of)
def test_a_leak_is_refuted_with_an_event_in_words(tester: Any, tmp_path: Path) -> None:
    """Null: a shift of 6 scales is refuted as 1-DP; held for 30 of 30 other seeds.

    Alternative: a tester that finds nothing; caught always.
    """
    found = compare_samples(
        laplace(800, shift=6.0), laplace(700, seed=1), PureDP(1.0), tester=tester, rng=3
    )
    assert found.verdict is Verdict.REFUTED
    assert found.mechanism == "the sampled mechanism"
    assert found.neighbours == "two samples in hand"
    assert found.pairs_tried == 1
    assert found.samples == 1_500
    assert found.lower_bound is not None
    assert found.lower_bound >= 1.0
    shown = found.counterexample
    assert shown is not None
    assert shown.pair == found.history[0].pair == Pair("outputs", "neighbour_outputs")
    assert shown.event.startswith("output ")
    assert shown.seed == ()
    assert shown.epsilon_lower > 1.0
    assert found.evidence.e_value >= 1e6 * (1 - 1e-9)
    assert audit_from_json(json.loads(json.dumps(found.to_json()))) == found
    found.save(tmp_path / "audit.json")
    assert dpaudit.load(tmp_path / "audit.json") == found
    assert str(found).startswith("REFUTED: the sampled mechanism is not 1-DP: epsilon >")


@pytest.mark.parametrize("tester", [*BETS, *BATCH, Recording()], ids=name_of)
def test_the_same_distribution_is_not_refuted(tester: Any) -> None:
    """Null: the sides have one distribution; accused with probability at most 1e-6.

    Alternative: a tester that accuses in 0.99 of such comparisons, caught with power 0.99.
    """
    found = compare_samples(laplace(500), laplace(500, seed=1), PureDP(1.0), tester=tester, rng=3)
    assert found.verdict is Verdict.NOT_REFUTED
    assert found.counterexample is None
    assert found.lower_bound is not None
    assert 0.0 <= found.lower_bound <= 1.0
    assert found.strongest is not None
    assert audit_from_json(json.loads(json.dumps(found.to_json()))) == found
    assert str(found).startswith("NOT REFUTED: the sampled mechanism, claimed 1-DP")


@pytest.mark.parametrize("tester", QUICK, ids=name_of)
def test_the_same_rng_gives_the_same_audit(tester: Any) -> None:
    def once(rng: Any) -> str:
        outputs, others = laplace(300, shift=3.0), laplace(300, seed=1)
        return without_seconds(
            compare_samples(outputs, others, PureDP(0.5), tester=tester, rng=rng)
        )

    assert once(5) == once(5) != once(6)
    assert once(np.random.default_rng(5)) == once(np.random.default_rng(5))


def test_the_mechanism_may_be_named_and_the_samples_stay_as_they_are() -> None:
    outputs, others = laplace(100), laplace(100, seed=1).tolist()
    kept = outputs.copy(), list(others)
    found = compare_samples(outputs, others, PureDP(1.0), rng=1, name="counter")
    assert found.mechanism == "counter"
    assert np.array_equal(outputs, kept[0])
    assert others == kept[1]


def test_sharpening_goes_on_betting() -> None:
    """Null: 2.5-DP is refuted as 1-DP, its bound at most 2.5; held for 30 of 30 other seeds.

    The bound is above 2.5 with probability at most 1e-6.
    Alternative: the bets stop where they refute, after far fewer than 1600 outputs; caught always.
    """
    outputs, others = laplace(1_000, shift=1.0, scale=0.4), laplace(1_000, scale=0.4, seed=1)
    tester = dpaudit.BettingTester(after_refuting="sharpen")
    found = compare_samples(outputs, others, PureDP(1.0), tester=tester, rng=1)
    assert found.verdict is Verdict.REFUTED
    assert found.evidence.trace[-1][0] > 1_600
    assert found.lower_bound is not None
    assert 1.0 < found.lower_bound <= 2.5


# --- a batch tester: one trial with all outputs ---------------------------------------------------


def test_a_batch_tester_gets_all_outputs_and_half_of_alpha_in_each_direction() -> None:
    outputs, others = laplace(30), laplace(20, seed=1)
    tester = Recording()
    found = compare_samples(outputs, others, PureDP(1.0), tester=tester, alpha=0.1, rng=1)
    there, back = tester.calls
    assert np.array_equal(there[0], outputs)
    assert np.array_equal(there[1], others)
    assert np.array_equal(back[0], others)
    assert np.array_equal(back[1], outputs)
    assert there[2] == back[2] == 0.05
    assert there[3] != back[3]
    assert found.samples == 50
    assert found.evidence.log_wealth == -math.inf
    assert found.evidence.trace == ((50, -math.inf),)


def test_the_event_is_chosen_on_one_half_and_counted_on_the_other() -> None:
    tester = Recording(refutes_in=1)
    outputs, others = np.arange(201.0), 500.0 + np.arange(141.0)
    found = compare_samples(outputs, others, PureDP(1.0), tester=tester, rng=1)
    shown = found.counterexample
    assert shown is not None
    assert (shown.data.draws, shown.neighbour.draws) == (101, 71)
    assert (shown.data.hits, shown.neighbour.hits) in ((101, 0), (0, 71))
    assert found.samples == 342


def test_trials_are_refused() -> None:
    with pytest.raises(TypeError, match="two samples are compared in one trial: give the tester"):
        compare_samples([1, 2], [1, 2], PureDP(1.0), tester=dpaudit.testers.Trials(Recording()))  # type: ignore[arg-type]


@pytest.mark.parametrize("tester", BATCH, ids=name_of)
def test_a_test_that_can_never_fire_is_refused_with_its_reach(tester: Any) -> None:
    with pytest.raises(Underpowered, match=r"can never refute 8-DP with 20 and 20 samples.*>="):
        compare_samples(np.zeros(20), np.ones(20), PureDP(8.0), tester=tester)


@pytest.mark.parametrize("sizes", [(12, 2_000), (2_000, 12)])
def test_a_direction_that_cannot_fire_leaves_the_other(sizes: tuple[int, int]) -> None:
    """Of few outputs none is likely enough for P(A), or all are too rare for Q(A)."""
    tester = dpaudit.testers.HistogramTester()
    outputs, others = np.zeros(sizes[0]), np.ones(sizes[1])
    with pytest.raises(Underpowered):
        tester.examine(
            np.ones(2_000), np.zeros(12), PureDP(1.0), alpha=0.025, rng=np.random.default_rng(0)
        )
    found = compare_samples(outputs, others, PureDP(1.0), tester=tester, alpha=0.05, rng=1)
    assert found.verdict is Verdict.REFUTED


# --- bets: the outputs are dealt like draws -------------------------------------------------------


def test_every_output_is_given_out_once_in_random_order() -> None:
    """Null: the order is random; it is the sorted one with probability 1 / 1000!.

    Alternative: no shuffle, or an output dealt twice; caught always.
    """
    samples = SamplesInHand(np.arange(1_000), list("abc"), np.random.default_rng(0))
    first, second = samples.take("outputs", 400), samples.take("outputs", 600)
    dealt = np.concatenate([np.asarray(first), np.asarray(second)])
    assert sorted(dealt.tolist()) == list(range(1_000))
    assert not np.array_equal(dealt, np.arange(1_000))
    assert (samples.left_of("outputs"), samples.left, samples.left_of_fewer) == (0, 3, 0)
    assert sorted(samples.take("neighbour_outputs", 3)) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="1 outputs are wanted, but only 0 are left"):
        samples.take("outputs", 1)


def test_the_shuffle_is_fair() -> None:
    """Null: all 6 orders of 3 outputs are equally likely; a count leaves 394 to 612 with 5e-7.

    Alternative: an order with chance 0.225 in place of 0.167, caught with power 0.997.
    """
    rng, runs = np.random.default_rng(0), 3_000
    orders = Counter(
        tuple(SamplesInHand([1, 2, 3], [0, 0], rng).take("outputs", 3)) for _ in range(runs)
    )
    assert len(orders) == 6
    low, high = binom.ppf(5e-8, runs, 1 / 6), binom.isf(5e-8, runs, 1 / 6)
    assert all(low <= count <= high for count in orders.values())


@pytest.mark.parametrize("sizes", [(200, 200), (40, 4_000)])
def test_the_smaller_side_is_used_up_and_as_much_of_the_larger(sizes: tuple[int, int]) -> None:
    """Null: the coin is fair; six deviations is a 2e-9 event. Held for 30 of 30 other seeds.

    Alternative: half of 200 outputs are left unused, which is ten deviations; caught always.
    """
    used = 2 * 0.95 * min(sizes)  # one in twenty is kept back; the coin is fair, not even
    outputs, others = (laplace(size, seed=seed) for seed, size in enumerate(sizes))
    for first, second in ((outputs, others), (others, outputs)):
        found = compare_samples(first, second, PureDP(1.0), rng=1)
        assert abs(found.samples - used) < 6 * math.sqrt(used)


def test_all_outputs_count_where_a_leak_is_found() -> None:
    found = compare_samples(np.ones(5_000), np.zeros(200), PureDP(1.0), rng=1)
    shown = found.counterexample
    assert shown is not None
    assert found.samples == 5_200
    bets = found.evidence.trace[-1][0]
    assert bets < 100
    assert shown.data.draws > 4_700
    assert 40 < shown.neighbour.draws < 180
    assert {shown.data.hits, shown.neighbour.hits} in (
        {0, shown.data.draws},
        {0, shown.neighbour.draws},
    )


@pytest.mark.parametrize("size", [2, 3, 5, 8, 12, 20])
@pytest.mark.parametrize("leaks", [True, False])
def test_few_outputs_are_no_error(size: int, leaks: bool) -> None:
    found = compare_samples(np.ones(size), np.zeros(size) if leaks else np.ones(size), PureDP(0.1))
    assert found.samples <= 2 * size
    if not leaks:
        assert found.verdict is Verdict.UNDECIDED


def test_an_interrupted_comparison_returns_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    given, take = 0, SamplesInHand.take

    def stopped(samples: SamplesInHand, side: str, size: int) -> Any:
        nonlocal given
        given += size
        if given > 100:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        return take(samples, side, size)

    monkeypatch.setattr(SamplesInHand, "take", stopped)
    found = compare_samples(laplace(400), laplace(400, seed=1), PureDP(1.0), rng=1)
    assert found.interrupted
    assert 50 < found.samples <= 100
    assert found.pairs_tried == 1


def test_the_order_of_the_outputs_says_nothing() -> None:
    """Null: the sides hold the same values, one sorted up and one down; accused with at most 1e-6.

    Alternative: the outputs are dealt in their order; refused as dependent draws, caught always.
    """
    values = laplace(150)
    found = compare_samples(np.sort(values), -np.sort(-values), PureDP(0.1), rng=1)
    assert found.verdict is Verdict.NOT_REFUTED


def test_bets_on_a_mechanism_exactly_on_its_claim_are_fair() -> None:
    """Null: randomized response keeps 0.5-DP exactly, so a run accuses with probability <= 0.05.

    The accusations are at most binomial: 12 of 40 or more is a 4e-7 event.
    Alternative: a true rate of 0.5, caught with power 0.996.
    """
    runs, size, rng = 40, 30, np.random.default_rng(0)
    truth = math.exp(0.5) / (1 + math.exp(0.5))
    accused = 0
    for seed in range(runs):
        outputs, others = rng.random(size) < truth, rng.random(size) >= truth
        accused += compare_samples(outputs, others, PureDP(0.5), alpha=0.05, rng=seed).refuted
    assert accused <= binom.isf(1e-6, runs, 0.05)
