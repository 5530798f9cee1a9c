"""A saved audit is checked against itself: what contradicts itself does not load."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import error_line, run_apart
from reported import not_refuted, of_words, refuted

import dpaudit
from dpaudit.errors import InvalidAuditFile
from dpaudit.results import Audit, Verdict, audit_from_json, audit_text, load

ROOT = Path(__file__).parents[2]
Saved = dict[str, Any]


def saved(audit: Audit) -> Saved:
    return dict(json.loads(audit_text(audit)))


def changed(audit: Audit, change: Callable[[Saved], object]) -> Saved:
    form = saved(audit)
    change(form)
    return form


def put(form: Any, path: str, value: object) -> None:
    *way, last = (int(key) if key.isdigit() else key for key in path.split("."))
    for key in way:
        form = form[key]
    form[last] = value


# --- genuine files load ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [refuted, not_refuted, of_words])
def test_what_an_audit_saves_loads_and_saves_the_same(make: Callable[[], Audit]) -> None:
    text = audit_text(make())
    assert audit_text(audit_from_json(json.loads(text))) == text


FILES = sorted((ROOT / "experiments" / "results").rglob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_audit_of_the_repository_loads(file: Path) -> None:
    assert load(file).refuted


def test_an_audit_that_was_short_of_time_loads(tmp_path: Path) -> None:
    relation = dpaudit.replace_one(dpaudit.floats(-1, 1))
    audit = dpaudit.audit(
        lambda data, size, rng: sum(data) + rng.laplace(size=size),
        dpaudit.PureDP(1.0),
        relation,
        seconds=0.5,
        samples=20_000,
        rng=1,
    )
    audit.save(tmp_path / "audit.json")
    assert load(tmp_path / "audit.json").verdict is audit.verdict


# --- contradictions do not ------------------------------------------------------------------------

OTHER_SIDE = "the other side"
REFUTED_CHANGES: list[tuple[str, object]] = [
    ("verdict", "not refuted"),
    ("verdict", "undecided"),
    ("alpha", 5),
    ("alpha", 0),
    ("alpha", 1e-9),
    ("seconds", {"$float": "nan"}),
    ("seconds", -1.0),
    ("samples", 10),
    ("lower_bound", 9.0),
    ("lower_bound", 0.5),
    ("lower_bound", None),
    ("pairs_tried", 0),
    ("detectable", 1.2),
    ("forecast", 100),
    ("claim.epsilon", 3.0),
    ("counterexample", None),
    ("counterexample.alpha", 0.5),
    ("counterexample.delta", 0.1),
    ("counterexample.epsilon_lower", 7.0),
    ("counterexample.event", "output > 12345"),
    ("counterexample.likelier", OTHER_SIDE),
    ("counterexample.data.hits", 10**9),
    ("counterexample.data.hits", 1),
    ("counterexample.data.draws", 10**7),
    ("counterexample.data.lower", 0.99),
    ("counterexample.data.upper", 0.01),
    ("counterexample.data.anytime", True),
    ("counterexample.outputs.0.data.0", 10**6),
    ("counterexample.outputs.0.edges", [0.0, 0.0]),
    ("evidence.peak", 1.0),
    ("evidence.peak", 400.0),
    ("evidence.log_wealth", 2.0),
    ("evidence.trace", []),
    ("evidence.trace.0.0", 10**9),
    ("history.0.growth", 9.0),
    ("history.0.samples", 10**9),
    ("strongest.log_wealth", 9.0),
]
QUIET_CHANGES: list[tuple[str, object]] = [
    ("verdict", "refuted"),
    ("verdict", "undecided"),
    ("evidence.peak", 99.0),
    ("lower_bound", 2.5),
    ("detectable", 0.5),
    ("detectable", {"$float": "inf"}),
    ("forecast", 100),
    ("claim.epsilon", 12.0),  # of which too few draws say nothing
    ("history", []),
]


@pytest.mark.parametrize(("path", "value"), REFUTED_CHANGES, ids=str)
def test_a_refuted_audit_that_was_changed_does_not_load(path: str, value: object) -> None:
    if value is OTHER_SIDE:
        found = refuted().counterexample
        assert found is not None
        value = "data" if found.likelier == "neighbour" else "neighbour"
    with pytest.raises(InvalidAuditFile):
        audit_from_json(changed(refuted(), lambda form: put(form, path, value)))


@pytest.mark.parametrize(("path", "value"), QUIET_CHANGES[:-1], ids=str)
def test_a_quiet_audit_that_was_changed_does_not_load(path: str, value: object) -> None:
    with pytest.raises(InvalidAuditFile):
        audit_from_json(changed(not_refuted(), lambda form: put(form, path, value)))


def test_silence_without_draws_does_not_load() -> None:
    form = saved(not_refuted())
    form["history"], form["strongest"] = [], None
    with pytest.raises(InvalidAuditFile, match="its evidence says 'undecided'"):
        audit_from_json(form)


def test_the_message_says_what_contradicts_what() -> None:
    form = changed(refuted(), lambda form: put(form, "counterexample.data", _tally(5, 10, 0.99)))
    with pytest.raises(InvalidAuditFile) as caught:
        audit_from_json(form)
    assert "the audit contradicts itself: 5 hits of 10 draws give at least" in str(caught.value)
    assert "Was the file edited?" in str(caught.value)


def _tally(hits: int, draws: int, lower: float) -> Saved:
    return {"hits": hits, "draws": draws, "lower": lower, "upper": 1.0, "anytime": False}


def test_words_of_another_rule_do_not_load() -> None:
    for other in ("output = 'no' ", "output != 'no'", ""):
        form = saved(of_words())
        put(form, "counterexample.event", other)
        with pytest.raises(InvalidAuditFile, match="which is not what its rule says"):
            audit_from_json(form)


def test_a_field_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    text = audit_text(refuted())
    path = tmp_path / "audit.json"
    path.write_text(text.replace("{\n", '{\n"alpha": 0.5,\n', 1))
    with pytest.raises(InvalidAuditFile, match="the field 'alpha' is there twice"):
        load(path)
    path.write_text(text.replace('"delta": 0.0', '"delta": 0.0, "delta": 0.0'))
    with pytest.raises(InvalidAuditFile, match="the field 'delta' is there twice"):
        load(path)


# --- older schemas --------------------------------------------------------------------------------


def older(audit: Audit) -> Saved:
    form = {**saved(audit), "schema": 4}
    del form["delta_lower"]
    for name in ("counterexample", "simplest"):
        for side in ("data", "neighbour") if form[name] else ():
            del form[name][side]["anytime"]
    return form


def test_an_older_file_may_be_more_cautious_than_its_counts_and_never_less() -> None:
    form = older(refuted())
    assert audit_from_json(copy.deepcopy(form)) == refuted()
    found = form["counterexample"]
    likely, other = (found["data"], found["neighbour"])
    if found["likelier"] == "neighbour":
        likely, other = other, likely
    likely["lower"] *= 0.99
    other["upper"] *= 1.01
    found["epsilon_lower"] = math.log(likely["lower"] / other["upper"])
    form["lower_bound"] = max(1.0, found["epsilon_lower"])
    assert audit_from_json(copy.deepcopy(form)).refuted
    now = copy.deepcopy({**form, "schema": 5})
    for side in ("data", "neighbour"):
        now["counterexample"][side]["anytime"] = False
    with pytest.raises(InvalidAuditFile, match="contradicts itself"):
        audit_from_json(now)
    likely["lower"] = 0.999
    with pytest.raises(InvalidAuditFile, match="draws give at least"):
        audit_from_json(form)


def test_an_older_verdict_without_evidence_loads_as_undecided() -> None:
    form = older(not_refuted())
    form["history"], form["strongest"] = [], None
    found = audit_from_json(form)
    assert found.verdict is Verdict.UNDECIDED
    assert audit_from_json(saved(found)) == found


def test_an_older_peak_was_that_of_the_claim_alone() -> None:
    goal = math.log(1e6)
    form = older(not_refuted())
    form["evidence"]["peak"] = goal + 0.4
    form["evidence"]["trace"][0][1] = goal + 0.4
    found = audit_from_json(form)
    assert found.evidence.peak < goal
    assert audit_from_json(saved(found)) == found
    form["evidence"]["peak"] = form["evidence"]["trace"][0][1] = goal + 0.6
    with pytest.raises(InvalidAuditFile, match=r"where .* refutes"):
        audit_from_json(form)
    form = older(refuted())
    form["evidence"]["peak"] = goal - 0.1
    with pytest.raises(InvalidAuditFile):
        audit_from_json(form)


# --- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["report", "replay", "compare"])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("samples", 10**400),
        ("mechanism", "\ud800"),
        ("seconds", {"$float": "nan"}),
        ("verdict", "not refuted"),
        (
            "counterexample.pair.data",
            {"$array": {"dtype": "U500000000", "shape": [9], "values": ["a"] * 9}},
        ),
    ],
    ids=["huge", "half a character", "NaN", "contradiction", "dtype"],
)
def test_a_bad_file_is_one_line_and_exit_code_2(
    command: str, path: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    form = changed(refuted(), lambda form: put(form, path, value))
    Path("audit.json").write_text(json.dumps(form))
    result = run_apart(command, "audit.json", *(["audit.json"] if command == "compare" else []))
    assert result.exit_code == 2, result.output
    assert error_line(result).startswith("audit.json")


def test_a_folder_with_an_unreadable_file_is_reported_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refuted().save("a.json")
    Path("b.json").write_text('{"schema": 5, "schema": 5}')
    result = run_apart("report", ".", "-o", "site")
    assert result.exit_code == 0, result.output
    assert "left out: b.json: the field 'schema' is there twice" in result.output + result.stderr
    assert len(list((tmp_path / "site").glob("*.html"))) == 2
    Path("a.json").unlink()
    assert "no audit in the folder '.' that can be read" in run_apart("report", ".").stderr


def test_a_folder_with_an_unreadable_file_is_not_compared(tmp_path: Path) -> None:
    """A file left out would be one claim fewer that can have got worse."""
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        refuted().save(tmp_path / folder / "a.json")
    (tmp_path / "new" / "b.json").write_text("{}")
    result = run_apart("compare", str(tmp_path / "old"), str(tmp_path / "new"))
    assert result.exit_code == 2
    assert "b.json" in error_line(result)
