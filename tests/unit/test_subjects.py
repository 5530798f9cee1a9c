"""What brings its own claim and neighbours is all that an audit needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import error_line, run

import dpaudit
from dpaudit.claims import PureDP
from dpaudit.domains import floats
from dpaudit.integrations import as_subject, brought_by, load_mechanism, load_target
from dpaudit.neighbours import add_or_remove_one

PEOPLE = add_or_remove_one(floats(0, 1), max_records=3)


def count(data: Any, size: int, rng: np.random.Generator) -> Any:
    return len(data) + rng.laplace(size=size)


SUBJECT = dpaudit.Subject(mechanism=count, claim=PureDP(1.0), neighbours=PEOPLE)
TOO_MUCH = dpaudit.Subject(mechanism=count, claim=PureDP(0.1), neighbours=PEOPLE)


def test_a_subject_is_all_that_an_audit_needs() -> None:
    alone = dpaudit.audit(TOO_MUCH, rng=7)
    assert alone.refuted
    same = dpaudit.audit(count, PureDP(0.1), PEOPLE, rng=7)
    assert (alone.samples, alone.lower_bound) == (same.samples, same.lower_bound)


def test_what_is_given_wins_over_what_is_brought() -> None:
    assert not dpaudit.audit(TOO_MUCH, PureDP(1.0), samples=20_000, rng=7).refuted
    elsewhere = dpaudit.audit(TOO_MUCH, neighbours=[([0.5], [0.7])], samples=5_000, rng=7)
    assert not elsewhere.refuted
    assert elsewhere.neighbours == "1 given pair"


def test_an_assertion_takes_a_subject() -> None:
    with pytest.raises(dpaudit.PrivacyViolation, match=r"count is not 0\.1-DP"):
        dpaudit.assert_private(TOO_MUCH, rng=7)
    assert not dpaudit.assert_private(SUBJECT, samples=20_000, rng=7).refuted


@pytest.mark.parametrize(
    ("arguments", "what"),
    [((), "claim"), ((PureDP(1.0),), "neighbours"), ((None, PEOPLE), "claim")],
)
def test_what_nobody_brings_is_asked_for(arguments: tuple[Any, ...], what: str) -> None:
    for judge in (dpaudit.audit, dpaudit.assert_private):
        with pytest.raises(TypeError, match=f"count brings no {what} of its own. Pass {what}="):
            judge(count, *arguments)


def test_what_is_brought_is_recognised() -> None:
    assert brought_by(count) is None
    assert brought_by(SUBJECT) is SUBJECT


def test_a_subject_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("subjects_for_test.py").write_text(
        "import dpaudit\n"
        "def count(data, size, rng):\n"
        "    return len(data) + rng.laplace(size=size)\n"
        "people = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)\n"
        "claim = dpaudit.PureDP(0.1)\n"
        "subject = dpaudit.Subject(mechanism=count, claim=claim, neighbours=people)\n"
    )
    target = "subjects_for_test.py:subject"
    assert isinstance(load_target(target), dpaudit.Subject)
    assert load_mechanism(target).target == target
    refuted = run("audit", target, "--seed", "7", "--output", "audit.json")
    assert refuted.exit_code == 1, refuted.output
    assert dpaudit.load("audit.json").target == target
    assert run("replay", "audit.json", "--seed", "1").exit_code == 1
    kept = run("audit", target, "--claim", "eps=1", "--seed", "7", "--samples", "20000")
    assert kept.exit_code == 0, kept.output
    pair = run("audit", target, "--pair", "[[0.1], [0.2]]", "--seed", "7", "--samples", "5000")
    assert "1 given pair" in pair.output
    bare = run("audit", "subjects_for_test.py:count")
    assert bare.exit_code == 2
    assert "say what is claimed: --claim eps=1, or a TARGET that brings its claim." in bare.output
    message = error_line(run("audit", "subjects_for_test.py:count", "--claim", "1"))
    assert message.startswith("say which datasets are neighbours: --relation ")


def test_as_subject_leaves_its_argument_as_it_is() -> None:
    changed = as_subject(SUBJECT, PureDP(3.0), None)
    assert changed.claim == PureDP(3.0)
    assert SUBJECT.claim == PureDP(1.0)
