"""Runs of trials: saved and repeated, refused, ended early, with wrong testers, and certified."""

import importlib
import json
import math
import signal
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
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
    side,
    without_seconds,
)

import dpaudit
from dpaudit import Verdict
from dpaudit.arrays import Floats
from dpaudit.auditing import Budget, Rounds
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.mechanism import CallsHere, as_mechanism
from dpaudit.results import audit_from_json
from dpaudit.testers import Finding, Trials, is_batch_tester, share_of_alpha

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
        caller=CallsHere(as_mechanism(leak)),
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
