"""Algorithm 1: what a batch tester is given, what it may spend, and what becomes of its answers."""

import importlib
import json
import math
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

import dpaudit
from dpaudit import Audit, Pair, PureDP, Verdict
from dpaudit.auditing import Budget, Rounds
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.mechanism import as_mechanism
from dpaudit.results import audit_from_json
from dpaudit.testers import Finding, Trials, is_batch_tester, share_of_alpha

Floats = npt.NDArray[np.float64]
Answer = Callable[[int], float]  # from the number of the call (two for each trial) to a bound

MANY = dpaudit.add_or_remove_one(dpaudit.floats(0, 1))  # more pairs than any test asks for
PROFILE = dpaudit.Profile(dpaudit.GaussianDP(1.0).delta, name="gaussian")


def nothing(call: int) -> float:
    return 0.0


def in_call(number: int, bound: float = 1.0) -> Answer:
    """A bound in one call, and nothing in the others."""
    return lambda call: bound if call == number else 0.0


@dataclass
class Scripted:
    """A tester from elsewhere, with the two methods only: answers as told, remembers the rest."""

    answer: Answer = nothing
    limit: float = 0.5
    calls: list[dict[str, Any]] = field(default_factory=list)

    def threshold(self, claim: Any) -> float:
        return self.limit

    def lower_bound(
        self, outputs: Any, neighbour_outputs: Any, claim: Any, *, alpha: float, rng: Any
    ) -> float:
        self.calls.append(
            {
                "outputs": outputs,
                "neighbour_outputs": neighbour_outputs,
                "claim": claim,
                "alpha": alpha,
                "luck": rng.random(),
            }
        )
        return self.answer(len(self.calls))


@dataclass
class Examining(Scripted):
    """A tester that also bounds the claim's parameter, ten times the divergence."""

    least: int = 0  # outputs of a side, below which it cannot refute,
    at: float = 0.0  # and the alpha, below which it cannot

    def examine(
        self, outputs: Any, neighbour_outputs: Any, claim: Any, *, alpha: float, rng: Any
    ) -> Finding:
        bound = self.lower_bound(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng)
        scaled = None if claim is PROFILE else 10.0 * bound
        return Finding(lower_bound=bound, strength_lower=scaled)

    def best(self, claim: Any, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        able = min(draws, neighbour_draws) >= self.least and alpha >= self.at
        return Finding(lower_bound=1.0 if able else 0.0, strength_lower=7.0)


def side(data: Any, size: int) -> Floats:
    """The outputs tell where they come from: 1 more record, 1 more."""
    return np.full(size, float(len(data)))


def laplace(data: Any, size: int, rng: np.random.Generator) -> Floats:
    return len(data) + rng.laplace(size=size)


def leak(data: Any, size: int, rng: np.random.Generator) -> Floats:
    return 5.0 * len(data) + rng.laplace(size=size)


def listed(count: int) -> list[tuple[Floats, Floats]]:
    return [(np.ones(number + 1), np.ones(number)) for number in range(count)]


def audit(tester: Any, neighbours: Any = MANY, **options: Any) -> Audit:
    options = {"mechanism": side, "claim": PureDP(0.3), "rng": 1, "samples": 2_000, **options}
    return dpaudit.audit(neighbours=neighbours, tester=tester, **options)


def without_seconds(found: Audit) -> str:
    return json.dumps({**found.to_json(), "seconds": 0}, sort_keys=True)


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

    The number of accusations is then binomial; a two-sided test with false alarm 1e-6. It fails
    when trials or directions share their luck, or get another alpha.
    """
    alpha, trials, runs = 0.2, 4, 300
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


# --- saved, repeated, shown -----------------------------------------------------------------------


@pytest.mark.parametrize("answer", [nothing, in_call(3)])
@pytest.mark.parametrize("neighbours", [listed(1), listed(2), MANY])
def test_the_audit_is_saved_and_read_back(answer: Answer, neighbours: Any, tmp_path: Path) -> None:
    found = audit(Scripted(answer), neighbours, mechanism=leak)
    assert audit_from_json(json.loads(json.dumps(found.to_json()))) == found
    found.save(tmp_path / "audit.json")
    assert dpaudit.load(tmp_path / "audit.json") == found
    assert str(found).startswith(f"{found.verdict.value.upper()}: leak")


def test_the_same_seed_gives_the_same_audit() -> None:
    def once(rng: Any, mechanism: Any) -> str:
        tester = dpaudit.testers.HistogramTester()
        return without_seconds(
            audit(Trials(tester, count=2), mechanism=mechanism, rng=rng, alpha=0.01)
        )

    for mechanism in (laplace, leak):
        assert once(5, mechanism) == once(5, mechanism) != once(6, mechanism)
        first, second = (once(np.random.default_rng(5), mechanism) for _ in range(2))
        assert first == second


def test_progress_is_told_after_every_trial() -> None:
    told: list[Any] = []
    found = audit(Examining(lambda call: 0.001 * call), progress=told.append)
    assert [one.pairs for one in told] == list(range(1, 21))
    assert [one.samples for one in told] == [samples for samples, _ in found.evidence.trace]
    assert [one.log_wealth for one in told] == [wealth for _, wealth in found.evidence.trace]
    assert told[-1].lower_bound == found.lower_bound == pytest.approx(0.4)
    assert {(one.budget, one.alpha) for one in told} == {(2_000, 1e-6)}
    assert told[0].pair == str(found.history[0].pair)


# --- settings that can never refute ---------------------------------------------------------------


def never_drawn(data: Any, size: int) -> Floats:
    raise AssertionError("nothing should be drawn")


def test_a_powerless_test_is_refused_before_any_draw() -> None:
    with pytest.raises(
        Underpowered, match=r"can never refute 0.3-DP with 47 and 47 samples"
    ) as told:
        audit(Examining(least=48), mechanism=never_drawn)
    assert "epsilon >= 7" in str(told.value)
    first = 1e-6 * share_of_alpha(1, 20) / 2
    audit(Examining(at=first))
    with pytest.raises(Underpowered, match="Give more samples"):
        audit(Examining(at=first * 1.01), mechanism=never_drawn)


def test_too_few_samples_for_the_trials_are_refused() -> None:
    with pytest.raises(Underpowered, match="50 samples are too few for 20 trials"):
        audit(Scripted(), mechanism=never_drawn, samples=50)
    audit(Scripted(), samples=120)


def test_a_later_trial_without_power_ends_the_run() -> None:
    tester = Examining(at=1e-6 * share_of_alpha(3, 20) / 2)
    found = audit(tester)
    assert found.verdict is Verdict.NOT_REFUTED
    assert found.pairs_tried == 3
    assert len(tester.calls) == 6
    (note,) = found.warnings
    assert note.startswith("The search ended before trial 4 of 20: 47 outputs of either side can")
    assert "(3.8e-08)" in note
    assert found.evidence.log_wealth > math.log(1 / 20)  # what was not tried was not spent


def test_a_tester_that_gives_up_later_ends_the_run_and_at_once_is_refused() -> None:
    class GivesUp(Scripted):
        def lower_bound(self, *outputs: Any, alpha: float, rng: Any) -> float:
            if alpha < self.limit:
                raise Underpowered("too small an alpha")
            return 0.0

    found = audit(GivesUp(limit=1e-7))
    assert found.pairs_tried == 1
    assert len(found.warnings) == 1
    with pytest.raises(Underpowered, match="too small an alpha"):
        audit(GivesUp(limit=1e-6))


def test_a_claim_that_a_tester_does_not_know_is_refused_before_any_draw() -> None:
    class Picky(Scripted):
        def threshold(self, claim: Any) -> float:
            raise UnsupportedClaim("not this one")

    with pytest.raises(UnsupportedClaim, match="not this one"):
        audit(Picky(), mechanism=never_drawn)


# --- testers that are wrong -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Scripted, Examining])
@pytest.mark.parametrize("wrong", [math.nan, np.float64("nan"), None, "much", True])
def test_a_bound_that_is_no_number_is_an_error_that_names_the_tester(kind: Any, wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        audit(kind(lambda call: wrong))
    if kind is Scripted:
        assert f"gave a lower bound of {wrong!r} for 0.3-DP" in str(caught.value)
        assert "Scripted(answer=" in str(caught.value)
    assert any(
        "while testing 47 outputs of either side on data=" in note for note in _notes(caught)
    )


def _notes(caught: pytest.ExceptionInfo[Any]) -> list[str]:
    return list(caught.value.__notes__)


def test_a_parameter_that_is_no_number_is_an_error() -> None:
    class Unsure(Examining):
        def examine(self, *outputs: Any, alpha: float, rng: Any) -> Finding:
            return Finding(lower_bound=0.0, strength_lower=math.nan)

    with pytest.raises(ValueError, match="gave a bound on the claim's parameter of nan"):
        audit(Unsure())


@pytest.mark.parametrize("limit", [math.nan, math.inf, -math.inf])
def test_a_threshold_that_is_not_finite_is_an_error(limit: float) -> None:
    with pytest.raises(ValueError, match=r"gave a threshold of (nan|inf|-inf) for 0.3-DP"):
        audit(Scripted(limit=limit), mechanism=never_drawn)


def test_errors_of_the_tester_fly_with_a_note() -> None:
    def broken(call: int) -> float:
        raise ZeroDivisionError("in the tester")

    with pytest.raises(ZeroDivisionError, match="in the tester") as caught:
        audit(Scripted(broken))
    assert any("while testing" in note for note in _notes(caught))


@pytest.mark.parametrize("wrong", ["histogram", Scripted, 3, object()])
def test_what_is_no_tester_is_refused(wrong: Any) -> None:
    assert not is_batch_tester(wrong)
    with pytest.raises(TypeError, match=r"tester must be a BettingTester, got .* lower_bound and"):
        audit(wrong)
    with pytest.raises(TypeError, match="Trials needs a batch tester, with the methods"):
        Trials(wrong)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "many"])
def test_a_number_of_trials_that_cannot_be_meant_is_refused(count: Any) -> None:
    with pytest.raises(ValueError, match="count must be a whole number >= 1, got"):
        Trials(Scripted(), count=count)


# --- budgets, interruptions, health ---------------------------------------------------------------


@pytest.mark.parametrize("answer", [nothing, in_call(1), in_call(6)])
@pytest.mark.parametrize("samples", [120, 121, 333, 2_000])
def test_no_more_samples_are_drawn_than_allowed(answer: Answer, samples: int) -> None:
    drawn = 0

    def counting(data: Any, size: int, rng: np.random.Generator) -> Floats:
        nonlocal drawn
        drawn += size
        return leak(data, size, rng)

    found = audit(Scripted(answer), mechanism=counting, samples=samples)
    assert drawn == found.samples <= samples


@pytest.mark.parametrize("answer", [nothing, in_call(2)])
@pytest.mark.parametrize("trials", [1, 20])
def test_no_more_time_is_spent_than_allowed(
    answer: Answer, trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def slow(data: Any, size: int, rng: np.random.Generator) -> Floats:
        nonlocal now
        now += size * 1e-4
        return leak(data, size, rng)

    module = importlib.import_module("dpaudit.auditing.audit")
    monkeypatch.setattr(module, "Budget", partial(Budget, clock=lambda: now))
    tester = Scripted(answer)
    found = audit(
        Trials(tester, count=trials), mechanism=slow, seconds=0.5, samples=300_000, alpha=0.01
    )
    assert found.seconds == now <= 0.55  # of the 30 s that all draws would take
    assert 0 < found.samples <= 5_500
    assert found.pairs_tried > 0
    assert len(tester.calls[0]["outputs"]) < 142_500 // trials  # what would fit without a limit


def test_too_little_time_for_power_ends_the_run() -> None:
    def slow(data: Any, size: int) -> Floats:
        time.sleep(size * 1e-3)
        return side(data, size)

    found = audit(Examining(least=5_000), mechanism=slow, seconds=0.2, samples=1_000_000)
    assert found.verdict is Verdict.UNDECIDED
    assert found.pairs_tried == 0
    assert found.evidence.trace == ()
    assert "The time ended before trial 1 of 20" in found.warnings[0]


@pytest.mark.parametrize("calls", [0, 1, 7, 13])
def test_an_interrupted_audit_returns_what_it_has(calls: int) -> None:
    sizes: list[int] = []

    def stopped(data: Any, size: int) -> Floats:
        if len(sizes) == calls:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        sizes.append(size)
        return side(data, size)

    found = audit(Examining(lambda call: 0.001 * call), mechanism=stopped)
    assert found.interrupted
    enough = found.pairs_tried > 0  # a trial of 94 draws
    assert found.verdict is (Verdict.NOT_REFUTED if enough else Verdict.UNDECIDED)
    assert found.samples == sum(sizes)
    assert found.pairs_tried == len(sizes) // 6  # 8, 32 and 7 outputs of either side
    assert "Interrupted" in str(found)


def test_an_interruption_while_testing_keeps_the_trials_before_it() -> None:
    def stopped(call: int) -> float:
        if call == 4:
            raise KeyboardInterrupt
        return 0.02

    found = audit(Examining(stopped))
    assert found.interrupted
    assert found.pairs_tried == 1
    assert found.lower_bound == pytest.approx(0.2)


def test_an_interruption_while_certifying_keeps_the_refutation() -> None:
    drawn = 0

    def stopped(data: Any, size: int, rng: np.random.Generator) -> Floats:
        nonlocal drawn
        drawn += 1
        if drawn > 6:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        return leak(data, size, rng)

    found = audit(Scripted(in_call(2)), mechanism=stopped)
    assert found.interrupted
    assert found.verdict is Verdict.REFUTED
    assert found.counterexample is None
    assert found.lower_bound == 0.3


def test_a_frozen_seed_is_reported_once() -> None:
    def frozen(data: Any, size: int) -> Floats:
        return np.random.default_rng(0).laplace(size=size)

    with pytest.warns(dpaudit.HealthWarning, match="frozen returned the same .* outputs") as told:
        found = audit(Scripted(), mechanism=frozen, samples=10_000)
    assert len(told) == len(found.warnings) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit(Scripted(), mechanism=laplace, samples=10_000)


def test_errors_of_the_mechanism_fly_with_a_note() -> None:
    def broken(data: Any, size: int) -> Floats:
        raise ZeroDivisionError("no records")

    with pytest.raises(ZeroDivisionError, match="no records") as caught:
        audit(Scripted(), mechanism=broken)
    assert any("outputs from broken on data=" in note for note in _notes(caught))


# --- the event in words ---------------------------------------------------------------------------


def test_the_event_is_certified_on_fresh_draws_that_can_be_drawn_again() -> None:
    found = audit(Scripted(in_call(4)), listed(3), mechanism=leak, alpha=0.01, samples=3_000)
    shown = found.counterexample
    assert shown is not None
    assert shown.alpha == 0.01
    assert shown.likelier == ("data" if ">" in shown.event else "neighbour")
    assert shown.likely.rate > 0.5 > 0.3 > shown.unlikely.rate
    assert shown.epsilon_lower > 1.0
    rounds = Rounds(
        mechanism=as_mechanism(leak),
        pair=shown.pair,
        draws=shown.data.draws,
        budget=Budget(3_000, None),
        seed=shown.seed,
    )
    bound = float(shown.event.split()[-1])
    for again, tally in zip(rounds.joined(), (shown.data, shown.neighbour), strict=True):
        assert isinstance(again, np.ndarray)
        hits = int((again > bound).sum() if ">" in shown.event else (again < bound).sum())
        assert (hits, len(again)) == (tally.hits, tally.draws)


@pytest.mark.parametrize(
    "claim",
    [dpaudit.GaussianDP(1.0), dpaudit.RenyiDP(2.0, 0.5), dpaudit.ApproxDP(0.5, 1e-3), PROFILE],
    ids=str,
)
def test_the_event_breaks_whatever_was_claimed(claim: Any) -> None:
    found = audit(Scripted(in_call(1)), listed(1), claim=claim, mechanism=leak, samples=4_000)
    shown = found.counterexample
    assert shown is not None
    assert shown.likely.lower > math.exp(0.5) * shown.unlikely.upper + claim.delta(0.5)


@pytest.mark.parametrize(
    ("strange", "ordinary"), [("yes", "no"), (None, 2.0), (math.nan, 2.0), ((1, 2), (1, 3))]
)
def test_outputs_that_are_no_numbers_are_refuted_in_words(strange: Any, ordinary: Any) -> None:
    def tells(data: Any, size: int, rng: np.random.Generator) -> list[Any]:
        odd = rng.random(size) < (0.95 if len(data) else 0.05)
        return [strange if here else ordinary for here in odd.tolist()]

    found = audit(dpaudit.testers.HistogramTester(), listed(1), mechanism=tells)
    assert found.verdict is Verdict.REFUTED
    assert found.counterexample is not None
    assert " = " in found.counterexample.event
    assert found.epsilon_lower is not None
    assert 1.5 < found.epsilon_lower < math.log(19.0)


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
