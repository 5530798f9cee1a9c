"""Audits of trainings: what comes back, what is refused, and that nothing is trained twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.arrays import Floats
from dpaudit.errors import CannotUseStore, InvalidSamples, Underpowered
from dpaudit.results import TrainingEvidence, audit_from_json
from dpaudit.training import (
    Canaries,
    Null,
    Training,
    canaries,
    compare_scores,
    compare_steps,
    of_loop,
    one_run,
    several_runs,
)

COUNT = 300
PLAN = canaries(COUNT, rng=7)
CLAIM = dpaudit.GaussianDP(1.0)


def scores_of(plan: Canaries, shift: float, *, seed: int = 1) -> Floats:
    """One unit of noise, and a shift where a canary was in: exactly `shift`-GDP."""
    return np.random.default_rng(seed).normal(size=plan.count) + shift * plan.bits


def seen(audit: dpaudit.Audit) -> TrainingEvidence:
    assert audit.training is not None
    return audit.training


def training(shift: float = 1.0, drawn: list[int] | None = None) -> Training:
    def train(included: Any, rng: np.random.Generator) -> Floats:
        if drawn is not None:
            drawn.append(len(included))
        released = rng.normal(size=COUNT)
        released[included] += shift
        return released

    return of_loop(
        train,
        insert=lambda included: included,
        score=lambda released: released,
        canaries=PLAN,
        claim=CLAIM,
        noise=1.0,
        name="sums",
    )


def test_both_nulls_stand_side_by_side_and_the_first_decides() -> None:
    scores = scores_of(PLAN, 3.0)
    whatever = one_run(scores, PLAN, CLAIM, rng=7)
    independent = one_run(scores, PLAN, CLAIM, assume="independent", rng=7)
    assert seen(whatever).null is Null.ANY_MECHANISM
    assert seen(independent).null is Null.INDEPENDENT_CANARIES
    assert whatever.refuted
    assert independent.refuted
    for audit in (whatever, independent):
        assert {finding.null for finding in seen(audit).findings} >= {
            Null.ANY_MECHANISM,
            Null.INDEPENDENT_CANARIES,
        }
        assert audit.lower_bound == seen(audit).deciding.lower_bound
        assert audit.epsilon_lower is None  # mu is no epsilon
    assert len(independent.evidence.trace) > 1


@pytest.mark.parametrize(
    "claim",
    [
        dpaudit.PureDP(1.0),
        dpaudit.ApproxDP(1.0, 1e-5),
        dpaudit.GaussianDP(1.0),
        dpaudit.ZCDP(0.5),
        dpaudit.RenyiDP(2.0, 1.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("assume", ["nothing", "independent"])
@pytest.mark.parametrize("shift", [0.5, 3.0])
def test_an_audit_comes_back_from_its_file(
    claim: Any, assume: Any, shift: float, tmp_path: Path
) -> None:
    audit = one_run(scores_of(PLAN, shift), PLAN, claim, assume=assume, rng=7)
    assert audit.refuted == (shift > 1.0)
    audit.save(tmp_path / "audit.json")
    assert dpaudit.load(tmp_path / "audit.json") == audit


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "not refuted"}, "the verdict is 'not refuted'"),
        ({"lower_bound": 2.0}, "the bound is 2.0"),
        ({"samples": 301}, "are not 301 draws"),
        ({"tester": "RenyiTester"}, "and canaries were seen"),
        ({"training": None}, "and canaries were not seen"),
    ],
)
def test_a_changed_file_is_refused(change: dict[str, object], said: str) -> None:
    saved = one_run(scores_of(PLAN, 3.0), PLAN, CLAIM, rng=7).to_json()
    with pytest.raises(dpaudit.errors.InvalidAuditFile, match="contradicts itself") as caught:
        audit_from_json({**saved, **change})
    assert said in str(caught.value)


def test_no_word_of_a_bound_without_its_null() -> None:
    """Headline, text, page and failing test say what is refuted."""
    audit = one_run(scores_of(PLAN, 3.0), PLAN, CLAIM, assume="independent", rng=7)
    said = "this claim and independent canaries"
    assert said in repr(audit)
    assert said in " ".join(str(audit).split())
    with pytest.raises(dpaudit.PrivacyViolation) as caught:
        dpaudit.assert_private(training(3.0), assume="independent", rng=7)
    assert said in " ".join(str(caught.value).split()[:20])


def test_scores_may_come_by_id() -> None:
    scores = scores_of(PLAN, 3.0)
    by_id = {place: float(scores[place]) for place in reversed(range(COUNT))}
    assert one_run(by_id, PLAN, CLAIM, rng=7) == one_run(scores, PLAN, CLAIM, rng=7)
    del by_id[17]
    with pytest.raises(InvalidSamples, match="1 are missing, and 299 are there"):
        one_run(by_id, PLAN, CLAIM)


@pytest.mark.parametrize(
    ("scores", "plan", "said"),
    [
        (np.zeros(299), PLAN, "every one of 300 canaries needs a score"),
        (["a"] * 300, PLAN, "scores must be numbers"),
        (np.zeros(3), [0, 1, 2], "one bit for each canary"),
        (np.zeros(0), [], "one bit for each canary"),
    ],
)
def test_odd_scores_are_refused(scores: Any, plan: Any, said: str) -> None:
    with pytest.raises(InvalidSamples, match=said):
        one_run(scores, plan, CLAIM)


def test_scores_that_are_not_finite_are_no_guess_and_no_bet() -> None:
    scores = scores_of(PLAN, 3.0)
    scores[::50] = np.nan
    audit = one_run(scores, PLAN, CLAIM, rng=7)
    assert audit.warnings == ("6 of 300 scores are not finite, so none was bet on.",)
    assert all(finding.null is Null.ANY_MECHANISM for finding in seen(audit).findings)
    with pytest.raises(InvalidSamples, match="With assume='nothing' they need not be"):
        one_run(scores, PLAN, CLAIM, assume="independent")


def test_a_claim_that_no_run_could_refute_is_told_before_the_training() -> None:
    drawn: list[int] = []
    hopeless = training(drawn=drawn)
    for claim, assume in ((dpaudit.PureDP(6.0), "nothing"), (dpaudit.PureDP(6.0), "independent")):
        large: Any = Training(
            **{name: getattr(hopeless, name) for name in ("name", "canaries", "run", "what")},
            claim=claim,
        )
        with pytest.raises(Underpowered, match="perfect guesses of all 300 canaries"):
            dpaudit.training.audit(large, assume=assume)  # type: ignore[arg-type]
    assert drawn == []


def test_lists_that_no_fair_coins_give_are_refused() -> None:
    rng = np.random.default_rng(1)
    found = compare_scores(rng.normal(size=160) + 3.0, rng.normal(size=140), CLAIM, rng=7)
    assert found.refuted
    with pytest.raises(InvalidSamples, match="are not the result of fair coins"):
        compare_scores(rng.normal(size=220), rng.normal(size=80), CLAIM)


def test_runs_multiply_and_no_run_counts_twice() -> None:
    plans = [PLAN.fresh(run) for run in range(4)]
    runs = [(scores_of(plan, 2.0, seed=plan.run), plan) for plan in plans]
    audit = several_runs(runs, dpaudit.ApproxDP(1.0, 1e-5), alpha=1e-3, rng=7)
    assert audit.refuted
    assert seen(audit).runs == 4
    assert audit.samples == 4 * COUNT
    with pytest.raises(InvalidSamples, match="two runs have the same bits"):
        several_runs([runs[0], runs[0]], CLAIM)
    with pytest.raises(InvalidSamples, match="as many canaries as the first"):
        several_runs([runs[0], (np.zeros(3), [True, False, True])], CLAIM)


def test_shared_randomness_shows_from_run_to_run() -> None:
    """The noise of a run is large or small as a whole: every run alone looks like a correct one."""
    rng = np.random.default_rng(1)
    runs = []
    for run in range(12):
        plan = PLAN.fresh(run)
        runs.append((rng.normal(size=COUNT) + rng.choice([0.2, 1.8]) * plan.bits, plan))
    dispersion = seen(several_runs(runs, CLAIM, rng=7)).dispersion
    assert dispersion is not None
    assert dispersion > 10.0
    steady = [(scores_of(PLAN.fresh(run), 1.0, seed=run), PLAN.fresh(run)) for run in range(12)]
    assert seen(several_runs(steady, CLAIM, rng=7)).dispersion == pytest.approx(1.0, abs=1.2)


def test_a_store_keeps_every_training(tmp_path: Path) -> None:
    drawn: list[int] = []
    asked = training(2.0, drawn)
    store = tmp_path / "runs.sqlite"
    first = dpaudit.training.audit(asked, runs=3, rng=7, store=store)
    assert len(drawn) == 3
    again = dpaudit.training.audit(asked, runs=3, rng=7, store=store)
    assert len(drawn) == 3
    assert (again.training, again.evidence) == (first.training, first.evidence)
    more = dpaudit.training.audit(asked, runs=5, store=store)
    assert len(drawn) == 5
    assert seen(more).separations[:3] == seen(first).separations
    with pytest.raises(CannotUseStore, match="holds the draws of another audit"):
        dpaudit.training.audit(asked, runs=3, rng=8, store=store)


def test_one_run_that_was_judged_gets_no_company(tmp_path: Path) -> None:
    """It spent the whole alpha: a second look with more runs would make it two."""
    store = tmp_path / "one.sqlite"
    dpaudit.training.audit(training(2.0), rng=7, store=store)
    with pytest.raises(InvalidSamples, match="The first spent the whole alpha"):
        dpaudit.training.audit(training(2.0), runs=2, store=store)
    runs = [(scores_of(PLAN.fresh(run), 1.0), PLAN.fresh(run)) for run in range(2)]
    with pytest.raises(InvalidSamples, match="Plan several from the start"):
        several_runs(runs, CLAIM, planned=1)


def test_bets_on_a_run_do_not_depend_on_how_many_follow() -> None:
    """So more runs continue one wealth: looking at it after some of them costs nothing."""
    runs = [(scores_of(PLAN.fresh(run), 1.1, seed=run), PLAN.fresh(run)) for run in range(3)]
    few, many = (
        several_runs(runs[:count], CLAIM, planned=3, assume="independent", rng=7).evidence.trace
        for count in (1, 3)
    )
    assert many[: len(few) - 1] == few[:-1]


def test_trainings_are_the_same_on_workers() -> None:
    here = dpaudit.training.audit(training(2.0), runs=3, rng=7)
    there = dpaudit.training.audit(training(2.0), runs=3, rng=7, workers=2)
    assert (there.training, there.evidence) == (here.training, here.evidence)


def test_what_is_pressed_between_trainings_loses_none() -> None:
    asked = training(2.0)

    def pressed(done: int, runs: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    found = dpaudit.training.audit(asked, runs=3, rng=7, progress=pressed)
    assert found.interrupted
    assert seen(found).runs == 2


def test_steps_end_where_they_refute() -> None:
    rng = np.random.default_rng(1)
    inserted = rng.random(2_000) < 0.5
    audit = compare_steps(inserted + 0.4 * rng.normal(size=2_000), inserted, CLAIM, noise=1.0)
    assert audit.refuted
    assert audit.samples == audit.evidence.trace[-1][0] < 2_000
    assert seen(audit).null is Null.EVERY_STEP
    assert audit_from_json(audit.to_json()) == audit


@pytest.mark.parametrize(
    "options", [{"assume": "all"}, {"alpha": 0.0}, {"rng": -1}, {"claim": 1.0}], ids=str
)
def test_odd_settings_are_refused(options: dict[str, Any]) -> None:
    asked = {"claim": CLAIM, **options}
    with pytest.raises((TypeError, ValueError)):
        one_run(np.zeros(COUNT), PLAN, **asked)
