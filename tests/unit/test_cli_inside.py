"""`dpaudit inside`: answers, exit codes, what is saved, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import error_line, run, run_apart

import dpaudit
from dpaudit.results import audit_from_json

CODE = """
import numpy as np
import dpaudit

def noisy_sum(data, rng):
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0)

def many(data, size, rng):
    print("said by the mechanism")
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)

def beta(data, rng):
    return np.sum(data) + rng.beta(1.0, 1.0)

def rejects(data, size, rng):  # the output has one law; what is thrown away has not
    from dpaudit.inside import Laplace, release
    release(np.full(size, 4.0 * len(data)), Laplace(1.0), rng)
    return release(np.zeros(size), Laplace(1.0), rng)

def other_form(data, size, rng):
    draws = np.zeros(size) if len(data) > 1 else np.ones(size)
    return draws + 0.0 * rng.laplace(size=size)

subject = dpaudit.Subject(
    mechanism=noisy_sum,
    claim=dpaudit.PureDP(1.0),
    neighbours=dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=4),
)
"""
NEAR = ("--records", "floats:-1:1", "--relation", "replace-one", "--seed", "7")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_modules: None) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("code_inside.py").write_text(CODE)
    return tmp_path


@pytest.mark.parametrize(
    ("target", "claim", "exit_code", "words"),
    [
        ("noisy_sum", "eps=1", 1, "BROKEN INSIDE: noisy_sum, claimed 1-DP: loss "),
        ("many", "eps=1", 1, "BROKEN INSIDE: many, claimed 1-DP: loss "),
        ("many", "eps=2", 0, "NOT REFUTED: many, claimed 2-DP: 40 transcripts, largest loss "),
        ("many", "eps=2.5,delta=1e-5", 0, "NOT REFUTED: many, claimed (2.5, 1e-05)-DP: "),
        ("beta", "eps=1", 3, "CANNOT FOLLOW: beta, claimed 1-DP: code_inside.py:13: uses rng.beta"),
    ],
)
def test_the_exit_code_is_the_verdict(target: str, claim: str, exit_code: int, words: str) -> None:
    asked = ("inside", f"code_inside.py:{target}", "--claim", claim, *NEAR, "--transcripts", "40")
    result = run_apart(*asked, "--quiet")
    assert result.stdout.startswith(words), result.stdout
    assert result.stdout.count("\n") == 1
    assert result.exit_code == exit_code
    whole = run_apart(*asked)
    assert whole.exit_code == exit_code
    assert "said by the mechanism" not in whole.stdout
    assert "looked at" in whole.stdout
    assert max(map(len, whole.stdout.splitlines())) <= 72


def test_a_replay_that_differs_is_undecided_until_it_is_confirmed() -> None:
    start = ("inside", "code_inside.py:other_form", "--claim", "eps=1", "--seed", "7")
    asked = (*start, "--pair", "[[1], [1, 1]]", "--quiet", "--transcripts", "4")
    result = run_apart(*asked)
    assert (result.exit_code, result.stdout[:10]) == (3, "UNDECIDED:")
    confirmed = run_apart(*asked, "--confirm")
    assert confirmed.exit_code == 1  # the black box refuted it
    assert [line.split(":")[0] for line in confirmed.stdout.splitlines()] == [
        "UNDECIDED",
        "REFUTED",
    ]


def test_what_is_broken_inside_stays_so_where_the_output_is_private() -> None:
    asked = ("inside", "code_inside.py:rejects", "--claim", "eps=1", "--pair", "[[1], [1, 1]]")
    result = run_apart(*asked, "--seed", "7", "--confirm")
    assert result.exit_code == 1
    assert result.stdout.startswith("BROKEN INSIDE")
    assert "The black box on this pair:\n\nNOT REFUTED: rejects" in result.stdout


def test_without_a_pair_there_is_nothing_to_confirm() -> None:
    result = run_apart("inside", "code_inside.py:beta", "--claim", "eps=1", *NEAR, "--confirm")
    assert result.exit_code == 3
    assert "there is no pair to ask about" in result.stderr


def test_a_subject_brings_its_claim_and_its_neighbours() -> None:
    assert run("inside", "code_inside.py:subject", "--seed", "7", "--quiet").exit_code == 1
    assert run("inside", "code_inside.py:subject", "--claim", "eps=2", "--quiet").exit_code == 0
    assert "say which datasets" in error_line(
        run("inside", "code_inside.py:noisy_sum", "--claim", "eps=1")
    )


def test_json_is_what_is_saved_and_a_saved_file_has_a_page() -> None:
    asked = ("inside", "code_inside.py:noisy_sum", "--claim", "eps=1", *NEAR)
    printed = json.loads(run_apart(*asked, "--json", "--output", "inside.json").stdout)
    saved = json.loads(Path("inside.json").read_text())
    assert printed == saved
    found = dpaudit.load("inside.json")
    assert isinstance(found, dpaudit.InsideAudit)
    assert found.broken
    assert found.target == "one_at_a_time(code_inside.py:noisy_sum)"
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    assert run("report", "inside.json").output == "inside.html\n"
    assert "Broken inside" in Path("inside.html").read_text(encoding="utf-8")
    Path("folder").mkdir()
    found.save("folder/inside.json")
    assert run("report", "folder").exit_code == 0
    assert "1 broken inside" in Path("folder/report/index.html").read_text(encoding="utf-8")
    assert "still refuted" in run("compare", "inside.json", "inside.json").output


def test_json_with_confirm_holds_both() -> None:
    asked = ("inside", "code_inside.py:noisy_sum", "--claim", "eps=1", *NEAR)
    both = json.loads(run_apart(*asked, "--json", "--confirm").stdout)
    assert dpaudit.inside.inside_from_json(both["inside"]).broken
    assert audit_from_json(both["confirmed"]).refuted


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("code_inside.py:nobody", "--claim", "eps=1", *NEAR), "has no attribute 'nobody'"),
        (("code_inside.py:noisy_sum", "--claim", "eps=x", *NEAR), "--claim: "),
        (("code_inside.py:noisy_sum", "--claim", "eps=1", *NEAR, "--output", "no/a"), "--output"),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments: tuple[str, ...], words: str) -> None:
    assert words in error_line(run("inside", *arguments))
