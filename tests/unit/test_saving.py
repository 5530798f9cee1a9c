"""An audit is saved whole and comes back equal; any other file is refused."""

import dataclasses
import datetime
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from saved_audits import (
    COUNTEREXAMPLE,
    HISTOGRAM,
    RECORD,
    REFUTED,
    UNDECIDED,
)

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.domains import Unsaved, decoded, encoded
from dpaudit.errors import InvalidAuditFile
from dpaudit.results import (
    Audit,
    audit_from_json,
    load,
    saving,
)


def changed(audit: Audit, **changes: Any) -> dict[str, object]:
    return {**audit.to_json(), **changes}


# --- there and back -------------------------------------------------------------------------------


@pytest.mark.parametrize("audit", [REFUTED, UNDECIDED], ids=["refuted", "undecided"])
def test_an_audit_comes_back_equal(audit: Audit, tmp_path: Path) -> None:
    audit.save(tmp_path / "audit.json")
    assert load(tmp_path / "audit.json") == audit
    assert audit_from_json(json.loads(json.dumps(audit.to_json()))) == audit


@pytest.mark.parametrize(
    "claim",
    [PureDP(1), ApproxDP(0.5, 1e-6), RenyiDP(2, 1), ZCDP(0.1), GaussianDP(0)],
    ids=str,
)
def test_a_claim_comes_back_equal(claim: Claim) -> None:
    audit = dataclasses.replace(REFUTED, claim=claim, counterexample=None, simplest=None)
    assert audit_from_json(audit.to_json()) == audit


def test_a_profile_comes_back_as_its_chords_and_then_stays() -> None:
    by_hand = Profile(GaussianDP(1).delta, name="by hand")
    audit = dataclasses.replace(REFUTED, claim=by_hand, lower_bound=None)
    once = audit_from_json(audit.to_json())
    assert str(once.claim) == "privacy profile 'by hand'"
    assert once.claim.delta(1.0) >= GaussianDP(1).delta(1.0)
    assert audit_from_json(once.to_json()) == once


def test_a_claim_of_the_user_is_saved_as_its_profile() -> None:
    class Half:
        def delta(self, epsilon: float) -> float:
            return 0.5

        def __str__(self) -> str:
            return "half"

    half = dataclasses.replace(REFUTED, claim=Half(), lower_bound=None)
    audit = audit_from_json(half.to_json())
    assert str(audit.claim) == "privacy profile 'half'"
    assert audit.claim.delta(3.0) == 0.5


def test_numpy_numbers_are_saved_as_numbers() -> None:
    numbers: dict[str, Any] = {
        "samples": np.int64(4000),
        "lower_bound": np.float64(1.1875),
        "interrupted": np.bool_(False),
    }
    audit = dataclasses.replace(REFUTED, **numbers)
    assert audit_from_json(json.loads(json.dumps(audit.to_json()))) == REFUTED


def test_every_field_has_a_form() -> None:
    """A field that is added and not saved would be lost without a word."""
    saved: Any = REFUTED.to_json()
    for value, form in (
        (REFUTED, saved),
        (COUNTEREXAMPLE, saved["counterexample"]),
        (REFUTED.evidence, saved["evidence"]),
        (RECORD, saved["strongest"]),
        (COUNTEREXAMPLE.data, saved["counterexample"]["data"]),
    ):
        assert set(form) - {"schema", "delta_lower"} == {
            field.name for field in dataclasses.fields(value)
        }


@pytest.mark.parametrize(
    "value",
    [
        np.longdouble(1) / 3,
        np.array([np.longdouble(1) / 3]),
        np.array([0x7FF8000000000123], dtype=np.uint64).view(np.float64),  # a NaN with a payload
        np.array(-0.0),
        np.array([[1, 2], [3, 4]])[:, 0],
        {"b": 1, "a": (None, True)},
        2**200,
        datetime.date(2024, 2, 29),
    ],
    ids=repr,
)
def test_odd_data_come_back_to_the_bit(value: Any) -> None:
    back = decoded(json.loads(json.dumps(encoded(value), allow_nan=False)))
    assert type(back) is type(value)
    assert np.asarray(back).dtype == np.asarray(value).dtype
    if isinstance(value, np.ndarray) and np.isnan(value).any():
        assert back.tobytes() == value.tobytes()
    else:
        assert np.array_equal(back, value)
        assert repr(back) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        object,
        range(3),
        type("Text", (str,), {})("a"),
        np.ma.masked_array([1, 2], mask=[False, True]),
    ],
    ids=repr,
)
def test_what_cannot_be_saved_is_marked(value: Any) -> None:
    assert decoded(encoded([value])) == [Unsaved(repr(value))]


def test_a_value_that_contains_itself_is_marked() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert decoded(encoded(loop)) == Unsaved("[[...]]")


def test_a_value_without_a_repr_does_not_lose_the_audit() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    name = "test_a_value_without_a_repr_does_not_lose_the_audit.<locals>.Mute"
    assert decoded(encoded(Mute())) == Unsaved(f"<{name} without a repr>")


# --- files ----------------------------------------------------------------------------------------


def test_equal_audits_give_equal_bytes(tmp_path: Path) -> None:
    REFUTED.save(tmp_path / "a.json")
    load(tmp_path / "a.json").save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_only_the_seconds_differ_between_two_runs() -> None:
    slow = dataclasses.replace(REFUTED, seconds=9.5)
    first, second = (saving.audit_text(audit).splitlines() for audit in (REFUTED, slow))
    assert [a for a, b in zip(first, second, strict=True) if a != b] == ['"seconds": 0.125,']


def test_an_audit_of_the_first_schema_can_still_be_read() -> None:
    saved = {**REFUTED.to_json(), "schema": 1}
    del saved["simplest"], saved["tester"], saved["target"], saved["software"]
    del saved["delta_lower"]
    counterexample = cast(dict[str, Any], saved["counterexample"])
    del counterexample["rule"], counterexample["data"]["anytime"]
    expected = dataclasses.replace(
        REFUTED,
        target=None,
        software=(),
        simplest=None,
        tester="not recorded",
        counterexample=dataclasses.replace(COUNTEREXAMPLE, rule=None),
    )
    assert audit_from_json(saved) == expected
    with pytest.raises(InvalidAuditFile, match="unknown field 'colour'"):
        audit_from_json({**saved, "colour": "red"})


def test_an_audit_of_the_third_schema_can_still_be_read() -> None:
    saved = {**REFUTED.to_json(), "schema": 3}
    del saved["target"], saved["software"], saved["delta_lower"]
    assert audit_from_json(saved) == dataclasses.replace(REFUTED, target=None, software=())


def test_outlines_of_outputs_came_with_the_fourth_schema() -> None:
    outlined = dataclasses.replace(COUNTEREXAMPLE, outputs=(HISTOGRAM,))
    audit = dataclasses.replace(REFUTED, counterexample=outlined, outputs=(HISTOGRAM,))
    assert audit_from_json(audit.to_json()) == audit
    saved = {**audit.to_json(), "schema": 3}
    del saved["delta_lower"]
    del saved["outputs"], cast(dict[str, object], saved["counterexample"])["outputs"]
    assert audit_from_json(saved) == REFUTED


def test_the_file_is_strict_json_in_ascii(tmp_path: Path) -> None:
    audit = dataclasses.replace(UNDECIDED, mechanism="sommé")
    audit.save(tmp_path / "audit.json")
    text = (tmp_path / "audit.json").read_text(encoding="ascii")
    saved = json.loads(text, parse_constant=lambda literal: pytest.fail(literal))
    assert saved["schema"] == 8
    assert saved["evidence"]["log_wealth"] == {"$float": "-inf"}
    assert load(tmp_path / "audit.json").mechanism == "sommé"


def test_a_crash_while_saving_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.json"
    REFUTED.save(path)
    before = path.read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the disk is full"):
        UNDECIDED.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_many_threads_may_save_to_one_path(tmp_path: Path) -> None:
    path, either = tmp_path / "audit.json", (REFUTED, UNDECIDED)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda turn: either[turn % 2].save(path), range(200)))
    assert load(path) in either
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("letter", ["x", "é", "[", "*"])
def test_a_name_may_be_as_long_as_the_file_system_takes(letter: str, tmp_path: Path) -> None:
    path = tmp_path / f"{letter * (245 // len(letter.encode()))}.json"
    for audit in (UNDECIDED, REFUTED):
        audit.save(path)
    assert load(path) == REFUTED
    assert [*tmp_path.iterdir()] == [path]


def test_a_name_that_is_too_long_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long"):
        REFUTED.save(tmp_path / ("x" * 256))
    assert list(tmp_path.iterdir()) == []


def test_a_draft_of_a_killed_process_is_removed_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "audit.json", tmp_path / ".other.json.tmp"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", lambda self, missing_ok: None)  # nobody tidies up
        patched.setattr(os, "fsync", lambda descriptor: 1 / 0)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                REFUTED.save(path)
    old, new = tmp_path.iterdir()
    other.touch()
    for file in (old, other):
        os.utime(file, (0, 0))
    REFUTED.save(path)
    assert {*tmp_path.iterdir()} == {new, other, path}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "audit.json")
    REFUTED.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load(tmp_path / "audit.json") == REFUTED


def test_a_file_that_is_not_there_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "audit.json is not an audit file: Expecting value"),
        ('{"schema": 1,', "audit.json is not an audit file: "),
        ("[" * 100_000, "audit.json is not an audit file: "),
        ("\xff", "audit.json is not an audit file: "),
        ('{"schema": NaN}', "audit.json: NaN is not JSON"),
        ("[]", "audit.json: a saved audit must be a JSON object, got list"),
        ("{}", "reads audits of schema 8, got schema None"),
        ('{"schema": 9}', "reads audits of schema 8, got schema 9"),
        ('{"schema": true}', "reads audits of schema 8, got schema True"),
    ],
)
def test_another_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "audit.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidAuditFile) as caught:
        load(path)
    assert message in str(caught.value)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surprise": 1}, "unknown field 'surprise'. Was it saved by a newer dpaudit?"),
        (
            {"verdict": "passed"},
            "verdict must be one of refuted, suspected, not refuted, undecided, got 'pa",
        ),
        ({"verdict": []}, "verdict must be one of "),
        ({"samples": 1.5}, "samples must be a whole number, got 1.5."),
        ({"samples": True}, "samples must be a whole number, got True."),
        ({"alpha": "1e-6"}, "alpha must be a number, got '1e-6'."),
        ({"alpha": {"$float": "1"}}, "cannot read the saved value {'$float': '1'}"),
        ({"alpha": {"$tuple": []}}, "alpha must be a number, got {'$tuple': []}."),
        ({"mechanism": None}, "mechanism must be text, got None."),
        ({"interrupted": 0}, "interrupted must be true or false, got 0."),
        ({"warnings": "none"}, "warnings must be a list, got 'none'."),
        ({"warnings": [1]}, "warnings[0] must be text, got 1."),
        ({"target": 7}, "target must be text, got 7."),
        ({"software": [["numpy"]]}, "software[0] must be a list of 2, got ['numpy']."),
        ({"software": [["numpy", 2]]}, "software[0] must be text, got 2."),
        ({"rng_seed": "7"}, "rng_seed must be a whole number, got '7'."),
        ({"rng_seed": [1.0]}, "rng_seed[0] must be a whole number, got 1.0."),
        ({"strongest": []}, "strongest must be an object, got []."),
        ({"claim": {"kind": "Trust"}}, "claim: kind must be one of "),
        ({"claim": {"kind": "PureDP", "epsilon": -1}}, "claim: epsilon must be >= 0, got -1"),
        ({"evidence": {}}, "no field 'log_wealth' in evidence: the audit is not whole."),
        (
            {"evidence": {"trace": [[1, 2, 3]], "log_wealth": 0, "peak": 0}},
            "evidence.trace[0] must be a list of 2, got [1, 2, 3].",
        ),
    ],
)
def test_a_wrong_field_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidAuditFile) as caught:
        audit_from_json(changed(REFUTED, **changes))
    assert message in str(caught.value)


def test_a_missing_field_is_refused_by_name() -> None:
    saved = REFUTED.to_json()
    del saved["alpha"]
    with pytest.raises(InvalidAuditFile, match="no field 'alpha': the audit is not whole"):
        audit_from_json(saved)


def test_a_wrong_side_is_refused_by_name() -> None:
    saved = json.loads(json.dumps(REFUTED.to_json()))
    saved["counterexample"]["likelier"] = "both"
    with pytest.raises(
        InvalidAuditFile,
        match=r"counterexample\.likelier must be one of data, neighbour, got 'both'",
    ):
        audit_from_json(saved)


@pytest.mark.parametrize(
    "form",
    [
        {"$tuple": 1},
        {"$pickle": "x"},
        {"$tuple": [], "$set": []},
        {},
        {"$dict": [1]},
        {"$dict": [[[], 1]]},
        {"$bytes": "%"},
        {"$date": "today"},
        {"$complex": [1]},
        {"$float": []},
        {"$array": {"dtype": "<f8", "shape": [3], "values": [1.0]}},
        {"$array": {"dtype": "<f8", "shape": [1]}},
        {"$array": {"dtype": "nonsense", "shape": [0], "values": []}},
        {"$array": {"dtype": "|O", "shape": [1], "bytes": "AAAAAAAAAAA="}},
        {"$array": {"dtype": "|V4", "shape": [1], "bytes": "AAAAAA=="}},
        {"$array": []},
        {"$scalar": {"dtype": "<f8", "shape": [], "values": ["x"]}},
    ],
    ids=str,
)
def test_a_malformed_value_is_refused(form: Any) -> None:
    with pytest.raises(InvalidAuditFile):
        decoded(form)
