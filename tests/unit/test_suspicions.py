"""A tester without a finite-sample guarantee suspects, and never refutes, whatever the door."""

from __future__ import annotations

import dataclasses
import inspect
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import GOOD, run

import dpaudit
from dpaudit import Audit, HealthWarning, PureDP, Verdict
from dpaudit.cli.options import TESTERS
from dpaudit.errors import Inconclusive, InvalidAuditFile
from dpaudit.report import (
    SUSPECTED,
    badge,
    changes_between,
    headline,
    markdown,
    page_of,
    sarif,
    saved_brief,
    write_suite,
)
from dpaudit.report.methods_of_testers import OF_TESTERS
from dpaudit.report.wording import PROVED
from dpaudit.results import audit_from_json
from dpaudit.testers import BettingTester, Method, is_batch_tester, method_of

PAIR: Any = [([1.0], [])]
GUARANTEES = ("none", "asymptotic")


class Accuses:
    """Accuses every claim, and says that it is worth nothing."""

    method = Method(source="a crystal ball", guarantee="none", assumptions=("The moon is full.",))

    def lower_bound(self, *samples: Any, alpha: float, rng: np.random.Generator) -> float:
        return 1.0

    def threshold(self, claim: Any) -> float:
        return 0.0


class AccusesInTheLimit(Accuses):
    method = Method(source="Welch 1947", guarantee="asymptotic")


class AccusesAsPromised(Accuses):
    method = Method(source="a crystal ball", guarantee="exact")


class Acquits(Accuses):
    def threshold(self, claim: Any) -> float:
        return 2.0


def honest(data: Any, size: int, rng: np.random.Generator) -> Any:
    return len(data) + rng.laplace(size=size)


def leak(data: Any, size: int, rng: np.random.Generator) -> Any:
    return np.full(size, float(len(data)))


def audited(mechanism: Any = honest, tester: Any = None, **settings: Any) -> Audit:
    settings = {"samples": 4_000, "rng": 1, "neighbours": PAIR, **settings}
    return dpaudit.audit(mechanism, PureDP(1.0), tester=tester or Accuses(), **settings)


def compared() -> Audit:
    outputs, others = np.random.default_rng(0).laplace(size=(2, 500))
    return dpaudit.compare_samples(outputs, others, PureDP(1.0), tester=Accuses(), rng=1)


# --- what an audit says ---------------------------------------------------------------------------


@pytest.mark.parametrize("tester", [Accuses(), AccusesInTheLimit()], ids=GUARANTEES)
@pytest.mark.parametrize("mechanism", [honest, leak])
def test_an_accusation_that_proves_nothing_certifies_nothing(mechanism: Any, tester: Any) -> None:
    found = audited(mechanism, tester)
    assert found.verdict is Verdict.SUSPECTED
    assert (found.refuted, found.suspected) == (False, True)
    assert (found.lower_bound, found.epsilon_lower, found.delta_lower) == (0.0, 0.0, 0.0)
    assert (found.counterexample, found.simplest, found.detectable) == (None, None, None)
    assert (found.evidence.e_value, found.evidence.p_value) == (1.0, 1.0)
    assert found.evidence.trace == ()
    assert found.method == tester.method


def test_the_same_accusation_refutes_if_its_tester_is_exact() -> None:
    found = audited(leak, AccusesAsPromised())
    assert found.verdict is Verdict.REFUTED
    assert found.evidence.p_value == pytest.approx(1e-6)
    assert found.counterexample is not None


def test_no_accusation_is_no_suspicion() -> None:
    """Not refuted after enough draws for a verdict, undecided after fewer."""
    assert audited(tester=Acquits()).verdict is Verdict.NOT_REFUTED
    few = audited(tester=Acquits(), samples=40)
    assert few.verdict is Verdict.UNDECIDED
    assert few.evidence.trace == ()


def test_a_search_ends_with_the_first_accusation() -> None:
    near = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)
    found = audited(neighbours=near)
    assert found.pairs_tried == 1
    assert found.strongest is not None


def test_samples_in_hand_are_suspected_too() -> None:
    found = compared()
    assert found.verdict is Verdict.SUSPECTED
    said = " ".join(str(found).split())
    assert "To decide, compare the same samples with the default tester: leave out tester." in said


def test_a_claim_without_a_parameter_is_suspected_too() -> None:
    claim = dpaudit.Profile(PureDP(1.0).delta, name="mine")
    found = dpaudit.audit(honest, claim, PAIR, tester=Accuses(), samples=400, rng=1)
    assert (found.verdict, found.lower_bound) == (Verdict.SUSPECTED, None)


# --- in words -------------------------------------------------------------------------------------


def test_the_text_says_why_nothing_is_refuted_and_what_would_decide() -> None:
    said = " ".join(str(audited()).split())
    for text in (
        "SUSPECTED: honest, claimed 1-DP: accused by Accuses, which refutes nothing "
        "(no guarantee, alpha = 1e-06)",
        "Accuses accuses the claim, but it has no guarantee: nothing is proved of what it says. So "
        "this refutes nothing.",
        "To decide, audit this pair with the default tester: "
        "dpaudit.audit(mechanism, claim, [(A, B)]).",
        "The accused pair: A = [1.0] B = []",
        "tester Accuses (a crystal ball), no guarantee",
        "assumes The moon is full.",
    ):
        assert text in said, text
    for wrong in ("If the claim held", "certified", "e-value", "epsilon"):
        assert wrong not in said, wrong


def test_an_asymptotic_guarantee_is_named() -> None:
    said = " ".join(str(audited(tester=AccusesInTheLimit())).split())
    assert "(asymptotic, alpha = 1e-06)" in said
    assert "its guarantee is asymptotic: it holds in the limit of many outputs only" in said


def test_every_batch_tester_says_what_it_guarantees() -> None:
    said = " ".join(str(audited(tester=dpaudit.testers.HistogramTester())).split())
    assert "tester HistogramTester (Gilbert and McMillan 2018), exact" in said
    bets = audited(tester=BettingTester())
    assert bets.method == BettingTester.method
    assert "tester" not in str(bets)


def test_the_page_gives_no_chance_of_a_false_accusation() -> None:
    page = page_of(audited())
    assert ("false accusation", "not bounded") in page["facts"]
    assert "So this refutes nothing." in page["notes"][0]
    assert ("assumes", "The moon is full.") in page["searched"]
    facts = page_of(audited(tester=AccusesInTheLimit()))["facts"]
    assert ("false accusation", "bounded in the limit only") in facts


def test_pages_tables_and_exports_know_the_word(tmp_path: Path) -> None:
    found = audited()
    found.report(tmp_path / "audit.html")
    assert "Suspected" in (tmp_path / "audit.html").read_text()
    index = write_suite([found], tmp_path / "site").read_text()
    assert "1 suspected" in index
    assert "Suspected" in found._repr_html_()
    brief = saved_brief(found, key="audit")
    assert (brief.problem, brief.fails, brief.past_claim) == (SUSPECTED, False, False)
    (result,) = json.loads(sarif([brief]))["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("suspected", "warning")
    assert json.loads(badge([brief]))["color"] == "yellow"
    assert "| suspected |" in markdown([brief])
    quiet = saved_brief(audited(tester=Acquits()), key="audit")
    assert not any(change.is_worse for change in changes_between([quiet], [brief]))


# --- in files -------------------------------------------------------------------------------------


def test_a_suspicion_is_saved_with_its_tester() -> None:
    found = audited()
    saved = found.to_json()
    assert saved["verdict"] == "suspected"
    assert saved["method"] == {
        "source": "a crystal ball",
        "guarantee": "none",
        "assumptions": ["The moon is full."],
    }
    assert audit_from_json(saved) == found


def test_an_older_file_has_no_method() -> None:
    found = dataclasses.replace(audited(tester=dpaudit.testers.MMDTester()), method=None)
    saved = {**found.to_json(), "schema": 7}
    del saved["method"]
    assert audit_from_json(saved) == found
    with pytest.raises(InvalidAuditFile, match="no field 'method'"):
        audit_from_json({**saved, "schema": 8})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"verdict": "refuted"}, "the verdict is 'refuted', and the guarantee of Accuses is 'none"),
        ({"verdict": "undecided"}, "the verdict is 'undecided', and its draws say otherwise"),
        ({"method": None}, "'suspected', and no tester is named whose accusations refute nothing"),
        ({"lower_bound": 1.5}, r"the bound is 1\.5, which neither its bets nor its event can"),
        (
            {"evidence": {"log_wealth": 14.0, "peak": 14.0, "trace": [[9, 14.0]]}},
            "there is wealth against the claim, and the guarantee of Accuses is 'none'",
        ),
        ({"strongest": None}, "the verdict is 'suspected', and no pair was tried"),
        (
            {"method": {"source": "", "guarantee": "likely", "assumptions": []}},
            "method.guarantee must be one of exact, asymptotic, none, got 'likely'",
        ),
    ],
)
def test_a_forged_file_is_refused(changes: dict[str, object], why: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidAuditFile, match=why):
        audit_from_json({**audited().to_json(), **changes})
    path = tmp_path / "audit.json"
    path.write_text(json.dumps({**audited().to_json(), **changes}))
    assert run("verify", str(path)).exit_code in (1, 2)


def test_a_forged_verdict_with_all_that_belongs_to_it_is_refused() -> None:
    """The file of an exact refutation, of which only the guarantee is another."""
    saved = audited(leak, AccusesAsPromised()).to_json()
    assert audit_from_json(saved).refuted
    method = {"source": "a crystal ball", "guarantee": "none", "assumptions": []}
    with pytest.raises(InvalidAuditFile, match="contradicts itself"):
        audit_from_json({**saved, "method": method})


def test_verify_says_what_it_cannot_derive(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    audited().save(path)
    found = dpaudit.verify(path)
    assert found.holds
    (verdict,) = (check for check in found.checks if check.name == "verdict")
    assert (verdict.holds, verdict.said[:31]) == (None, "its tester accused the claim; w")


# --- on the command line --------------------------------------------------------------------------


def test_the_command_line_ends_with_3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dpaudit.testers, "MMDTester", Accuses)
    saved = tmp_path / "audit.json"
    result = run(*GOOD, "--tester", "mmd", "--seed", "1", "--output", str(saved))
    assert result.exit_code == 3, result.output
    assert "SUSPECTED: " in result.output
    assert dpaudit.load(saved).verdict is Verdict.SUSPECTED
    replayed = run("replay", str(saved), "dpaudit.zoo:ClippedSum")
    assert replayed.exit_code == 2
    assert "the audit is suspected, so it has no counterexample" in replayed.output
    for name in ("with.npy", "without.npy"):
        np.save(tmp_path / name, np.random.default_rng(0).laplace(size=100))
    files = (str(tmp_path / name) for name in ("with.npy", "without.npy"))
    result = run("samples", *files, "--claim", "eps=1", "--tester", "mmd")
    assert result.exit_code == 3, result.output
    assert "SUSPECTED: " in result.output


def test_the_command_line_knows_every_tester_that_needs_no_argument() -> None:
    ready = set()
    for name, kind in vars(dpaudit.testers).items():
        given = inspect.isclass(kind) and isinstance(getattr(kind, "method", None), Method)
        if given and all(
            one.default is not one.empty for one in inspect.signature(kind).parameters.values()
        ):
            ready |= {name} if is_batch_tester(kind()) else set()
    assert set(TESTERS.values()) == ready
    exact = {each for each in ready if getattr(dpaudit.testers, each).method.refutes}
    assert set(PROVED) == exact  # what a page says of them
    assert set(OF_TESTERS) == ready  # and by which formulas
    for statement in OF_TESTERS.values():
        assert "<math" in "".join([statement.html["text"], *statement.html["formulas"]])
    assert all(method_of(getattr(dpaudit.testers, each)()).source for each in ready)


# --- in tests -------------------------------------------------------------------------------------


def test_an_assertion_warns_and_does_not_fail() -> None:
    with pytest.warns(HealthWarning, match="suspected: honest, claimed 1-DP: accused by Accuses"):
        found = dpaudit.assert_private(
            honest, PureDP(1.0), PAIR, tester=Accuses(), samples=400, rng=1
        )
    assert found.verdict is Verdict.SUSPECTED
    with warnings.catch_warnings():
        warnings.simplefilter("error", HealthWarning)
        dpaudit.assert_private(honest, PureDP(1.0), PAIR, tester=Acquits(), samples=4_000, rng=1)


def test_an_assertion_that_asks_for_a_verdict_fails() -> None:
    with pytest.raises(
        Inconclusive, match=r"^suspected: honest, claimed 1-DP, where the\s+test asks"
    ):
        dpaudit.assert_private(
            honest,
            PureDP(1.0),
            PAIR,
            tester=Accuses(),
            samples=400,
            rng=1,
            fail_on="undecided",
        )


def test_a_suspicion_is_not_the_refutation_that_a_test_expects() -> None:
    with pytest.raises(
        Inconclusive, match=r"^suspected: leak, claimed 1-DP, where the\s+test\s+expects"
    ):
        dpaudit.assert_refuted(leak, PureDP(1.0), PAIR, tester=Accuses(), samples=400, rng=1)


def test_a_suspicion_on_a_pinned_pair_is_not_lost() -> None:
    """The search after it would find nothing, and say so."""

    class AccusesOnce(Accuses):
        asked = 0

        def lower_bound(self, *samples: Any, alpha: float, rng: np.random.Generator) -> float:
            AccusesOnce.asked += 1
            return 1.0 if AccusesOnce.asked <= 2 else -1.0

    @dpaudit.example([1.0, 1.0], [1.0])
    def pinned(data: Any, size: int, rng: np.random.Generator) -> Any:
        return honest(data, size, rng)

    near = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)
    with pytest.warns(HealthWarning, match="suspected: "):
        found = dpaudit.assert_private(
            pinned, PureDP(1.0), near, tester=AccusesOnce(), samples=4_000, rng=1
        )
    assert found.verdict is Verdict.SUSPECTED


def test_the_headline_is_one_line() -> None:
    assert "\n" not in headline(audited())
