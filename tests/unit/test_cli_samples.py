"""The command line of the batch testers: `--tester`, `--trials`, and `dpaudit samples`."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from commands import GOOD, error_line, run

import dpaudit
from dpaudit import PureDP
from dpaudit.cli.samples import read_both
from dpaudit.results import audit_from_json, load
from dpaudit.testers import Trials


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two samples that differ and two that do not."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "far.npy", 9.0 + rng.laplace(size=500))
    np.save(tmp_path / "near.npy", rng.laplace(size=500))
    np.save(tmp_path / "same.npy", rng.laplace(size=500))
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- the tester of an audit -----------------------------------------------------------------------


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command hands to the audit, which then stops."""
    options: dict[str, Any] = {}

    def audit(*subject: Any, **given: Any) -> None:
        options.update(given)
        raise KeyboardInterrupt

    module: Any = ModuleType("dpaudit.auditing")
    module.audit = audit
    monkeypatch.setitem(sys.modules, "dpaudit.auditing", module)
    return options


@pytest.mark.parametrize(
    ("name", "tester"),
    [
        ("histogram", dpaudit.testers.HistogramTester()),
        ("hockey-stick", dpaudit.testers.HockeyStickTester()),
        ("renyi", dpaudit.testers.RenyiTester()),
        ("mmd", dpaudit.testers.MMDTester()),
    ],
    ids=["histogram", "hockey-stick", "renyi", "mmd"],
)
def test_the_tester_is_handed_over(handed_over: dict[str, Any], name: str, tester: Any) -> None:
    run(*GOOD, "--tester", name)
    assert handed_over["tester"] == tester
    run(*GOOD, "--tester", name, "--trials", "50")
    assert handed_over["tester"] == Trials(tester, count=50)


@pytest.mark.parametrize("tester", [(), ("--tester", "betting")])
def test_without_a_tester_bets_are_made(
    handed_over: dict[str, Any], tester: tuple[str, ...]
) -> None:
    run(*GOOD, *tester)
    assert handed_over["rng"] is None
    assert "tester" not in handed_over
    message = "--trials does not go with --tester betting, which shares its draws out"
    assert error_line(run(*GOOD, *tester, "--trials", "5")).startswith(message)


@pytest.mark.parametrize("wrong", [("--tester", "nonsense"), ("--trials", "0")])
def test_wrong_usage_ends_with_2(wrong: tuple[str, ...]) -> None:
    result = run(*GOOD, *wrong)
    assert result.exit_code == 2
    assert "Usage: dpaudit audit" in result.output


def test_an_audit_by_trials_runs() -> None:
    result = run(*GOOD, "--tester", "mmd", "--trials", "3", "--seed", "1", "--json")
    assert result.exit_code == 1, result.output
    found = audit_from_json(json.loads(result.output))
    assert found.refuted
    assert found.pairs_tried == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tester", "histogram", "--samples", "200"), "can never refute 1-DP with 3 and 3"),
        (("--tester", "histogram", "--samples", "20"), "20 samples are too few for 20 trials"),
    ],
)
def test_settings_that_cannot_refute_are_one_clear_line(
    options: tuple[str, ...], message: str
) -> None:
    assert message in error_line(run(*GOOD, *options))


# --- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("tester", ["betting", "histogram", "mmd"])
def test_the_exit_code_is_the_verdict(here: Path, tester: str) -> None:
    options = ("--claim", "eps=0.5", "--tester", tester, "--seed", "1")
    far = run("samples", "far.npy", "near.npy", *options, "--quiet")
    assert far.exit_code == 1, far.output
    assert far.output.startswith("REFUTED: the sampled mechanism is not 0.5-DP: epsilon >")
    assert far.output.count("\n") == 1
    same = run("samples", "same.npy", "near.npy", *options)
    assert same.exit_code == 0, same.output
    assert same.output.startswith("NOT REFUTED: the sampled mechanism, claimed 0.5-DP")
    assert max(map(len, same.output.splitlines())) <= 80


def test_the_answer_is_that_of_the_library(here: Path) -> None:
    expected = dpaudit.compare_samples(
        np.load("far.npy"), np.load("near.npy"), PureDP(2.0), alpha=0.01, rng=3
    )
    options = ("--claim", "eps=2", "--alpha", "0.01", "--seed", "3")
    result = run("samples", "far.npy", "near.npy", *options, "--json", "--output", "audit.json")
    assert result.exit_code == 1
    assert result.output == (here / "audit.json").read_text()
    unlike: dict[str, object] = {"seconds": 0, "provenance": None}
    assert {**json.loads(result.output), **unlike} == {**expected.to_json(), **unlike}
    assert load("audit.json").rng_seed == 3


def test_samples_run_as_a_command_of_80_columns(here: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "dpaudit", "samples", "far.npy", "near.npy", "--claim", "eps=1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr == ""
    assert ended.stdout.startswith("REFUTED: the sampled mechanism is not 1-DP: epsilon >= ")
    assert "searched    two samples in hand; 1 pair tried" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--claim", "nonsense"), "--claim: cannot read 'nonsense'"),
        (("--claim", "eps=9", "--tester", "histogram"), "can never refute 9-DP with 500 and 500"),
        (
            ("--claim", "eps=1", "--output", "nowhere/audit.json"),
            "--output: there is no folder",
        ),
        (("--claim", "eps=1,delta=1e-6", "--tester", "renyi"), "1e-06)-DP"),
    ],
)
def test_a_mistake_is_one_clear_line(here: Path, options: tuple[str, ...], message: str) -> None:
    assert message in error_line(run("samples", "far.npy", "near.npy", *options))


def test_a_difference_of_form_is_a_warning_on_the_report(here: Path) -> None:
    np.save("wide.npy", np.zeros((60, 2)))
    np.save("narrow.npy", np.zeros(60))
    result = run("samples", "wide.npy", "narrow.npy", "--claim", "eps=1", "--seed", "1")
    assert result.exit_code == 1
    assert "warning     the sampled mechanism gave numbers of shape (2,)" in result.output


# --- files ----------------------------------------------------------------------------------------


def test_arrays_are_read(tmp_path: Path) -> None:
    array = np.array([[1.5, math.nan], [2.0, math.inf]])
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", only=array)
    for name in ("a.npy", "a.npz"):
        assert np.array_equal(read_both(tmp_path / name, tmp_path / name)[0], array, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "text", "outputs"),
    [
        ("a.csv", "1\n2.5\n", [1.0, 2.5]),
        ("a.CSV", "1,2\n3,4\n", [[1.0, 2.0], [3.0, 4.0]]),
        ("a.csv", "1, yes\n2, no\n", [[1.0, "yes"], [2.0, "no"]]),
        ("a.csv", '1,"yes, or no"\n', [[1.0, "yes, or no"]]),
        ("a.csv", "output\n1\n2\n", [1.0, 2.0]),
        ("a.csv", "\ufeffx,y\n1,2\n", [[1.0, 2.0]]),
        ("a.csv", "# a note\n\n1\n2\n", [1.0, 2.0]),
        ("a.csv", "yes\nno\nyes\n", ["yes", "no", "yes"]),
        ("a.csv", "yes\n1\nno\n", ["yes", 1.0, "no"]),  # no header: there is another word
        ("a.csv", "1\nNA\n", [1.0, "NA"]),
        ("a.csv", "1,\n2,3\n", [[1.0, ""], [2.0, 3.0]]),
        ("a.txt", "1 2\n3\t4\n", [[1.0, 2.0], [3.0, 4.0]]),
        ("a.txt", "1, 2\n3,4\n", [[1.0, 2.0], [3.0, 4.0]]),
        ("a.txt", "inf\n-inf\n1e3\n", [math.inf, -math.inf, 1000.0]),
        ("a.txt", "yes 1\nno\n", [["yes", 1.0], "no"]),
        ("a.json", '[1, "a", null, {"b": [2]}]', [1, "a", None, {"b": [2]}]),
        ("a.csv", "", []),
        ("a.csv", "1\r\n2\r\n", [1.0, 2.0]),
    ],
    ids=lambda value: None,
)
def test_text_is_read_cell_by_cell(tmp_path: Path, name: str, text: str, outputs: Any) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8"))
    assert read_both(tmp_path / name, tmp_path / name)[0] == outputs


def test_one_word_in_a_file_leaves_its_numbers_the_same(tmp_path: Path) -> None:
    """Null: one side has one word more among the same numbers; accused with 1e-6 at most."""
    numbers = [f"{i % 7}" for i in range(300)]
    (tmp_path / "numbers.csv").write_text("\n".join(numbers))
    (tmp_path / "mixed.csv").write_text("\n".join([*numbers[:-1], "NA"]))
    files = (str(tmp_path / "numbers.csv"), str(tmp_path / "mixed.csv"))
    result = run("samples", *files, "--claim", "eps=1", "--tester", "histogram", "--seed", "1")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("tester", ["betting", "histogram", "hockey-stick"])
@pytest.mark.parametrize(
    "odd", ["heads tails", "heads,1", "3", "NA", ""], ids=["words", "cells", "number", "NA", "none"]
)
def test_one_odd_line_in_a_file_leaves_the_others_the_same(
    tmp_path: Path, tester: str, odd: str
) -> None:
    """Null: fair coin flips on both sides, and one odd line on one; accused with 1e-6 at most."""
    coins = np.random.default_rng(3).choice(["heads", "tails"], size=(2, 600))
    (tmp_path / "coins.txt").write_text("\n".join(coins[0]))
    (tmp_path / "odd.txt").write_text("\n".join([*coins[1], odd]))
    files = (str(tmp_path / "coins.txt"), str(tmp_path / "odd.txt"))
    result = run("samples", *files, "--claim", "eps=1", "--tester", tester, "--seed", "1")
    assert result.exit_code == 0, result.output


def test_a_header_is_looked_for_in_both_files_together(tmp_path: Path) -> None:
    def read(first: str, second: str) -> Any:
        paths = tmp_path / "first.csv", tmp_path / "second.csv"
        for path, text in zip(paths, (first, second), strict=True):
            path.write_text(text)
        return read_both(*paths)

    assert read("x\n1\n2\n", "x\n3\nNA\n4") == ([1.0, 2.0], [3.0, "NA", 4.0])
    assert read("x\n1\n2\n", "3\n4\n") == ([1.0, 2.0], [3.0, 4.0])
    assert read("NA\n1\n2\n", "3\nNA\n4\n") == (["NA", 1.0, 2.0], [3.0, "NA", 4.0])
    assert read("x,y\n1,2\n", "x,y\n3,4\n") == ([[1.0, 2.0]], [[3.0, 4.0]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.npy", b"nonsense", "a.npy cannot be read: "),
        ("a.npy", b"", "a.npy cannot be read: "),
        ("a.npz", b"nonsense", "a.npz cannot be read: it is no archive of arrays."),
        ("a.json", b"{}", "a.json cannot be read: it must hold a list of outputs, got dict."),
        ("a.json", b"[1,", "a.json cannot be read: Expecting value"),
        ("a.txt", b"\xff\xfe\x00", "a.txt cannot be read: 'utf-8' codec can't decode"),
        ("a.dat", b"1", "a.dat: outputs are read from .npy, .npz, .csv, .txt, .json files only."),
        ("a.csv", b"", "outputs must hold at least 2 outputs, got 0."),
        ("a.csv", b"1\n", "outputs must hold at least 2 outputs, got 1."),
    ],
)
def test_a_file_that_holds_no_outputs_is_one_clear_line(
    here: Path, name: str, content: bytes, message: str
) -> None:
    (here / name).write_bytes(content)
    assert message in error_line(run("samples", name, "near.npy", "--claim", "eps=1"))


def test_a_file_that_is_not_there_or_holds_too_much_is_one_clear_line(here: Path) -> None:
    def said(name: str) -> str:
        return error_line(run("samples", "near.npy", name, "--claim", "eps=1"))

    assert said("missing.npy") == "there is no file 'missing.npy'."
    assert said("missing.npz") == "there is no file 'missing.npz'."
    np.savez("two.npz", first=np.zeros(3), second=np.ones(3))
    assert (
        said("two.npz") == "two.npz cannot be read: it must hold one array, got 2 (first, second)."
    )
    np.save("objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    assert said("objects.npy").startswith("objects.npy cannot be read: Object arrays cannot be")
    np.save("number.npy", np.array(1.0))
    assert said("number.npy").startswith("neighbour_outputs must be an array or a list with one")
    Path("folder.csv").mkdir()
    assert "folder.csv cannot be read: " in said("folder.csv")
