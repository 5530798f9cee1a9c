"""`dpaudit training`: files of scores, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dpaudit.cli import main
from dpaudit.training import canaries

PLAN = canaries(300, rng=7)
SCORES = np.random.default_rng(1).normal(size=300) + 3.0 * PLAN.bits


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    PLAN.save("plan.json")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["training", *arguments, "--claim", "mu=1", "--seed", "7"])


def table(path: str, header: str = "", **columns: Any) -> str:
    np.savetxt(
        path, np.column_stack([*columns.values()]), delimiter=",", header=header, comments=""
    )
    return path


def test_all_forms_of_a_file_say_the_same() -> None:
    order = np.random.default_rng(2).permutation(300)
    np.save("plain.npy", SCORES)
    Path("list.json").write_text(json.dumps(SCORES.tolist()), encoding="utf-8")
    asked = [
        (table("both.csv", scores=SCORES, included=PLAN.bits),),
        (table("named.csv", "included,score", included=PLAN.bits, scores=SCORES),),
        (table("ids.csv", ids=order, scores=SCORES[order]), "--canaries", "plan.json"),
        (
            table("turned.txt", "score,id", scores=SCORES[order], ids=order),
            *("--canaries", "plan.json"),
        ),
        ("plain.npy", "--canaries", "plan.json"),
        ("list.json", "--canaries", "plan.json"),
    ]
    said = []
    for arguments in asked:
        result = run(*arguments, "--json")
        assert result.exit_code == 1, result.output
        found = json.loads(result.stdout)
        said.append((found["verdict"], found["lower_bound"], found["training"]["separations"]))
    assert all(each == said[0] for each in said)


def test_the_answer_names_the_null() -> None:
    result = run(table("a.csv", scores=SCORES, included=PLAN.bits), "--assume", "independent")
    assert result.exit_code == 1
    assert "(tested: this claim and" in " ".join(result.stdout.split())
    assert "Any mechanism with this claim:" in result.stdout


def test_several_files_are_several_runs() -> None:
    files = []
    for number in range(3):
        bits = PLAN.fresh(number).bits
        noise = np.random.default_rng([3, number]).normal(size=300)
        files.append(table(f"run{number}.csv", scores=noise + 2.0 * bits))
    result = run(*files, "--canaries", "plan.json", "--alpha", "0.001")
    assert "3 trainings" in result.stdout
    assert result.exit_code == 1
    separations = run(*files, "--canaries", "plan.json", "--json").stdout
    assert min(json.loads(separations)["training"]["separations"]) > 1.5


def test_steps_have_the_claim_of_a_step() -> None:
    file = table("steps.csv", scores=PLAN.bits + 0.3 * (SCORES - 3.0 * PLAN.bits), bits=PLAN.bits)
    result = run(file, "--steps", "--noise", "1.0")
    assert result.exit_code == 1
    assert "this claim for every step" in " ".join(result.stdout.split())
    assert run(file, "--steps", "--planned", "2").exit_code == 2


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("", (), "each line must hold a score"),
        ("score\n", (), "each line must hold a score"),
        ("1.0\n2.0\n", (), "without --canaries each line must hold a score and whether"),
        ("1.0,0,3\n", (), "each line must hold a score"),
        ("score,colour\n1,2\n", (), "a header may name id, score, included"),
        ("1.0,0\n2.0\n", (), "line 2 must hold 2 numbers"),
        ("1.0,x\n", (), "line 1 must hold 2 numbers"),
        ("1.0,2\n", (), "one bit for each canary"),
        ("score,included\n1,1\n", ("--canaries", "plan.json"), "may contradict"),
        (
            "0,1.0\n0,2.0\n",
            ("--canaries", "plan.json"),
            "ids must be whole numbers, each of them once",
        ),
        ("0,1.0\n", ("--canaries", "plan.json"), "299 are missing"),
        ("1.0\n", ("--canaries", "plan.json"), "every one of 300 canaries needs a score"),
        ("x,y\n1,2\n", ("--canaries", "a.csv"), "is not JSON"),
        ("1.0\n", ("--canaries", "none.json"), "there is no file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: str, more: tuple[str, ...], said: str) -> None:
    Path("a.csv").write_text(text, encoding="utf-8")
    result = run("a.csv", *more)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_a_claim_out_of_reach_is_an_error_that_says_what_would_help() -> None:
    file = table("a.csv", scores=SCORES, included=PLAN.bits)
    result = CliRunner().invoke(main, ["training", file, "--claim", "eps=9"])
    assert result.exit_code == 2
    assert "perfect guesses of all 300 canaries would not refute 9-DP" in result.output
