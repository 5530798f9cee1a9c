"""`dpaudit audit`: what it hands to the audit, what it prints and saves, and what it refuses.

The audit itself is replaced by one that keeps its arguments and gives a prepared answer.
"""

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import ANSWER, GOOD, RECORDS, TARGET, FakeAudit, error_line, run

from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import categories, floats, integers
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import add_or_remove_one, pairs, query_answers, replace_one
from dpaudit.results import Audit, Verdict, audit_from_json, load

# --- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "code"),
    [(Verdict.NOT_REFUTED, 0), (Verdict.REFUTED, 1), (Verdict.UNDECIDED, 3)],
)
@pytest.mark.parametrize("flags", [(), ("--quiet",), ("--json",)])
def test_the_exit_code_is_the_verdict(
    fake: FakeAudit, verdict: Verdict, code: int, flags: tuple[str, ...]
) -> None:
    fake.answer = lambda: dataclasses.replace(ANSWER, verdict=verdict)
    assert run(*GOOD, *flags).exit_code == code


def test_the_report_is_printed_without_colour_off_a_terminal(fake: FakeAudit) -> None:
    result = run(*GOOD)
    assert result.output == f"{ANSWER}\n"
    assert "\x1b" not in result.output


def test_quiet_prints_the_headline(fake: FakeAudit) -> None:
    result = run(*GOOD, "--quiet")
    line = "NOT REFUTED: ClippedSum, claimed 1-DP: at least epsilon 0.9 leaks"
    assert result.output == f"{line} (certified, alpha = 1e-06)\n"
    assert fake.options["progress"] is False


def test_json_prints_the_audit(fake: FakeAudit) -> None:
    assert audit_from_json(json.loads(run(*GOOD, "--json").output)) == ANSWER


def test_output_saves_the_audit(fake: FakeAudit, tmp_path: Path) -> None:
    assert run(*GOOD, "--output", str(tmp_path / "audit.json")).exit_code == 0
    assert load(tmp_path / "audit.json") == ANSWER


def test_output_into_no_folder_fails_before_the_audit(fake: FakeAudit, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "audit.json"
    assert "there is no folder" in error_line(run(*GOOD, "--output", str(path)))
    assert fake.mechanism is None


def test_an_audit_that_cannot_be_saved_is_still_printed(
    fake: FakeAudit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Audit, path: Path) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Audit, "save", fail)
    result = run(*GOOD, "--output", str(tmp_path / "audit.json"))
    assert result.exit_code == 2
    assert result.output.startswith("NOT REFUTED: ")
    assert "Error: --output: the audit above could not be saved: the disk is full." in result.output


# --- what is handed over --------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_library(fake: FakeAudit) -> None:
    run(*GOOD)
    assert fake.mechanism.name == "ClippedSum"
    assert fake.claim == PureDP(1.0)
    assert fake.neighbours == replace_one(floats(-1, 1))
    options = {name: value for name, value in fake.options.items() if name != "progress"}
    assert options == {
        "finder": "auto",
        "alpha": 1e-6,
        "samples": None,
        "seconds": None,
        "rng": None,
        "floats": "real",
        "on_error": "output",
        "certify": "fast",
    }


def test_the_options_are_handed_over(fake: FakeAudit) -> None:
    given = ("--alpha", "0.01", "--samples", "5000", "--seconds", "2.5", "--seed", "7")
    run(*GOOD, *given, "--floats", "bits", "--certify", "sharp")
    options = {name: value for name, value in fake.options.items() if name != "progress"}
    assert options == {
        "finder": "auto",
        "alpha": 0.01,
        "samples": 5000,
        "seconds": 2.5,
        "rng": 7,
        "floats": "bits",
        "on_error": "output",
        "certify": "sharp",
    }


@pytest.mark.parametrize(
    ("arguments", "neighbours"),
    [
        (
            "--relation add-or-remove-one --records integers:0:3 --max-records 5",
            add_or_remove_one(integers(0, 3), max_records=5),
        ),
        (
            "--relation add-or-remove-one --records floats:0:1 --min-records 2",
            add_or_remove_one(floats(0, 1), min_records=2),
        ),
        (
            "--relation replace-one --records categories:a,b --max-records 4 --min-records 2",
            replace_one(categories("a", "b"), max_records=4, min_records=2),
        ),
        ("--relation query-answers --length 10", query_answers(10)),
        ("--relation query-answers --length 3 --sensitivity 2", query_answers(3, 2)),
        ("--pair '[[0], [0, 1]]'", pairs([(np.array([0.0]), np.array([0.0, 1.0]))])),
        (
            "--pair '[[], [2]]' --pair '[[1.5], []]'",
            pairs([(np.array([]), np.array([2.0])), (np.array([1.5]), np.array([]))]),
        ),
        ("""--pair '[["a"], {"b": null}]'""", pairs([(["a"], {"b": None})])),
        (
            "--pair '[[1], []]' --records integers:0:1",
            pairs([(np.array([1]), integers(0, 1).dataset([]))]),
        ),
    ],
)
def test_the_neighbours_are_those_of_the_options(
    fake: FakeAudit, arguments: str, neighbours: Any
) -> None:
    result = run("audit", TARGET, "--claim", "eps=1", *shlex.split(arguments))
    assert result.exit_code == 0, result.output
    assert fake.neighbours == neighbours


def test_a_target_in_a_file(fake: FakeAudit, tmp_path: Path) -> None:
    file = tmp_path / "my_counts.py"
    file.write_text("def noisy(data, size, rng):\n    return len(data) + rng.normal(size=size)\n")
    result = run("audit", f"{file}:noisy", "--claim", "eps=1,delta=1e-6", *RECORDS)
    assert result.exit_code == 0, result.output
    assert fake.mechanism.name == "noisy"
    assert fake.claim == ApproxDP(1.0, 1e-6)


@pytest.mark.parametrize("signature", ["data", "data, rng"])
def test_a_target_that_gives_one_output_a_call(
    fake: FakeAudit, tmp_path: Path, signature: str
) -> None:
    file = tmp_path / f"single_{len(signature)}.py"
    file.write_text(f"def single({signature}):\n    return len(data)\n")
    arguments = ("audit", f"{file}:single", "--claim", "1", *RECORDS)
    assert "(Here: --one-at-a-time.)" in error_line(run(*arguments))
    result = run(*arguments, "--one-at-a-time")
    assert result.exit_code == 0, result.output
    outputs = as_mechanism(fake.mechanism).draw([0.0, 0.0], 3, np.random.default_rng(0))
    assert list(outputs) == [2, 2, 2]


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"{TARGET} --claim eps=-1", "--claim: epsilon must be >= 0, got -1.0."),
        (f"{TARGET} --claim nonsense", "--claim: cannot read 'nonsense'"),
        (f"{TARGET} --claim 1", "say which datasets are neighbours: --relation replace-one|"),
        (f"{TARGET} --claim 1 --relation replace-one", "--relation replace-one needs --records, s"),
        (
            f"{TARGET} --claim 1 --relation query-answers",
            "--relation query-answers needs --length, such as --length 10.",
        ),
        (
            f"{TARGET} --claim 1 --relation query-answers --length 3 --max-records 3",
            "--max-records does not go with --relation query-answers. Leave it out.",
        ),
        (
            f"{TARGET} --claim 1 --relation query-answers --length 0",
            "query_answers needs a length of at least 1, got 0.",
        ),
        (
            f"{TARGET} --claim 1 --relation replace-one --records floats:0:1 --sensitivity 1",
            "--sensitivity does not go with --relation replace-one.",
        ),
        (
            f"{TARGET} --claim 1 --relation replace-one --records floats:0",
            "--records: cannot read the domain 'floats:0'.",
        ),
        (
            f"{TARGET} --claim 1 --relation replace-one --records floats:0:1 --max-records 0",
            "replace_one needs max_records of at least 1, got 0.",
        ),
        (
            f"{TARGET} --claim 1 --relation replace-one --pair '[[], [1]]'",
            "--relation does not go with --pair.",
        ),
        (f"{TARGET} --claim 1 --pair '[[0]'", "--pair: '[[0]' is not JSON: "),
        (f"{TARGET} --claim 1 --pair '[[0]]'", "--pair: two datasets are needed, such as [[0], ["),
        (f"{TARGET} --claim 1 --pair '3'", "--pair: two datasets are needed"),
        (
            f"{TARGET} --claim 1 --pair '[[0], [5]]' --records floats:0:1",
            "--pair: 5.0 is not one of floats(0, 1).",
        ),
        (
            f"""{TARGET} --claim 1 --pair '[[0], ["a"]]' --records floats:0:1""",
            "--pair: not a dataset of floats(0, 1): ['a'].",
        ),
    ],
)
def test_a_mistake_is_one_clear_line(fake: FakeAudit, arguments: str, message: str) -> None:
    assert message in error_line(run("audit", *shlex.split(arguments)))
    assert fake.mechanism is None


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nonsense", "a mechanism is named module:function or file.py:function, got 'nonsense'."),
        ("no_such_module:f", "no module 'no_such_module'"),
        ("no_such_file.py:f", "no file 'no_such_file.py'"),
        ("dpaudit.zoo:NoSuch", "has no attribute 'NoSuch'"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--one-at-a-time",)])
def test_a_target_that_is_not_there(
    fake: FakeAudit, target: str, message: str, flags: tuple[str, ...]
) -> None:
    assert message in error_line(run("audit", target, "--claim", "1", *RECORDS, *flags))


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit",),
        ("audit", TARGET),
        ("audit", TARGET, "--claim", "1", "--relation", "nonsense"),
        (*GOOD, "--alpha", "0"),
        (*GOOD, "--alpha", "1"),
        (*GOOD, "--samples", "0"),
        (*GOOD, "--seconds", "-1"),
        (*GOOD, "--seed", "-1"),
        (*GOOD, "--nonsense"),
        ("nonsense",),
    ],
)
def test_wrong_usage_ends_with_2(fake: FakeAudit, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: dpaudit" in result.output
    assert fake.mechanism is None
