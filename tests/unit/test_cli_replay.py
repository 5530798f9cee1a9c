"""`dpaudit replay`: a saved counterexample is counted again, and what stands in the way is said."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import error_line, run

import dpaudit
from dpaudit.integrations import load_mechanism
from dpaudit.results import Audit, Evidence, Verdict

CODE = """
import numpy as np

def leaky(data, size, rng):
    return sum(data) + rng.laplace(scale=1.0, size=size)

def mended(data, size, rng):
    return sum(data) + rng.laplace(scale=2.0, size=size)

def single(data, rng):
    return sum(data) + rng.laplace(scale=1.0)
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_modules: None
) -> Callable[..., Path]:
    """A folder with `sums_for_replay.py`; call it to save an audit of its leaky sum."""
    (tmp_path / "sums_for_replay.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    leaky = load_mechanism("sums_for_replay.py:leaky")
    audit = dpaudit.audit(leaky, dpaudit.PureDP(1.0), [([1.0], [-1.0])], samples=20_000, rng=7)

    def saved(**changes: Any) -> Path:
        dataclasses.replace(audit, **changes).save("audit.json")
        return tmp_path / "audit.json"

    return saved


def test_the_same_code_is_refuted_again(here: Callable[..., Path]) -> None:
    """Null: the same code is refuted again; held for 30 of 30 other seeds.

    Alternative: other code is drawn that keeps 1-DP, refuted with at most 1e-6; caught always.
    """
    here()
    result = run("replay", "audit.json", "--seed", "3")
    assert result.exit_code == 1, result.output
    assert result.output.startswith("REFUTED AGAIN: leaky is not 1-DP: epsilon >= 1.")
    assert "  replayed    sums_for_replay.py:leaky\n" in result.output
    assert "  seed        3\n" in result.output
    assert max(map(len, result.output.splitlines())) <= 72


def test_mended_code_is_not_refuted_and_that_proves_nothing(here: Callable[..., Path]) -> None:
    """Null: the mended code is exactly on its claim: accused with probability at most 1e-6.

    Alternative: the saved counts are judged again, or the old code is drawn; caught always.
    """
    here()
    result = run("replay", "audit.json", "sums_for_replay.py:mended", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("NOT REFUTED: mended, claimed 1-DP, by this event")
    assert "This is not a proof of privacy" in result.output


def test_a_seed_makes_the_same_replay_again(here: Callable[..., Path]) -> None:
    here()
    first, second = (run("replay", "audit.json", "--seed", "3").output for _ in range(2))
    assert first == second
    assert first != run("replay", "audit.json", "--seed", "4").output


def test_json_has_both_counts(here: Callable[..., Path]) -> None:
    here()
    result = run("replay", "audit.json", "--json", "--seed", "3", "--alpha", "0.01")
    found = json.loads(result.output)
    assert result.exit_code == 1
    assert (found["verdict"], found["target"]) == ("refuted", "sums_for_replay.py:leaky")
    assert found["before"]["data"]["draws"] > found["again"]["data"]["draws"]
    assert found["again"]["alpha"] == 0.01
    assert found["again"]["seed"] == [3, 8]


def test_quiet_is_one_line_and_samples_bound_the_draws(here: Callable[..., Path]) -> None:
    here()
    result = run("replay", "audit.json", "--quiet", "--samples", "100", "--seed", "3")
    assert result.output.count("\n") == 1
    few = run("replay", "audit.json", "--json", "--samples", "100", "--seed", "3")
    assert json.loads(few.output)["again"]["data"]["draws"] == 50


def test_another_claim_is_judged_at_its_own_delta(here: Callable[..., Path]) -> None:
    """Null: 2-DP and (1, 0.45)-DP hold, accused with at most 1e-6; (1, 0.01)-DP is refuted.

    All held for 30 of 30 other seeds. Alternative: judged at the old delta; caught always.
    """
    here()
    assert run("replay", "audit.json", "--claim", "eps=2", "--seed", "3").exit_code == 0
    assert run("replay", "audit.json", "--claim", "eps=1,delta=0.01", "--seed", "3").exit_code == 1
    assert run("replay", "audit.json", "--claim", "eps=1,delta=0.45", "--seed", "3").exit_code == 0


def test_one_output_a_call_is_replayed(here: Callable[..., Path]) -> None:
    """Null: the leak is refuted again, one output a call; held for 30 of 30 other seeds.

    Alternative: no outputs, or one output repeated; 1-DP is then not refuted, caught always.
    """
    here()
    target = ("sums_for_replay.py:single", "--one-at-a-time")
    assert run("replay", "audit.json", *target, "--seed", "3").exit_code == 1
    here(target="one_at_a_time(sums_for_replay.py:single)")
    assert run("replay", "audit.json", "--seed", "3").exit_code == 1
    line = error_line(run("replay", "audit.json", "--one-at-a-time"))
    assert line.startswith("--one-at-a-time goes with a TARGET")


def test_the_simplest_is_replayed(here: Callable[..., Path]) -> None:
    path = here()
    found = dpaudit.load(path).counterexample
    assert found is not None
    plainer = dataclasses.replace(found, pair=dpaudit.Pair([3.0], [1.0]))
    here(simplest=plainer, samples=40_000)
    assert "  A = [3.0]" in run("replay", "audit.json", "--simplest").output
    assert "  A = [1.0]" in run("replay", "audit.json").output


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {
                "verdict": Verdict.NOT_REFUTED,
                "counterexample": None,
                "lower_bound": 0.0,
                "evidence": Evidence(trace=((300, 0.0),), log_wealth=0.0, peak=0.0),
            },
            "audit.json: the audit is not refuted, so it has no counterexample to replay.",
        ),
        ({"counterexample": None, "lower_bound": 1.0}, "no single event was certified"),
        ({"target": None}, "does not say where leaky is: it had no name to be imported by"),
        ({"target": "gone_for_test:leaky"}, "no module 'gone_for_test'"),
        ({"target": "gone_for_test:leaky"}, "dpaudit replay audit.json module:function"),
        ({"target": "sums_for_replay.py:leeky"}, "Did you mean leaky?"),
    ],
)
def test_what_stands_in_the_way_is_said(
    here: Callable[..., Path], changes: dict[str, Any], words: str
) -> None:
    here(**changes)
    assert words in error_line(run("replay", "audit.json"))


def test_no_plainer_counterexample_is_said(here: Callable[..., Path]) -> None:
    here(simplest=None)
    assert "Leave out --simplest" in error_line(run("replay", "audit.json", "--simplest"))


def test_a_counterexample_without_its_rule_says_what_to_do(here: Callable[..., Path]) -> None:
    saved = json.loads(here().read_text())
    del saved["counterexample"]["rule"], saved["target"], saved["software"], saved["delta_lower"]
    Path("audit.json").write_text(json.dumps({**saved, "simplest": None, "schema": 2}))
    line = error_line(run("replay", "audit.json", "sums_for_replay.py:leaky"))
    assert line.startswith("audit.json: this counterexample was saved by an older dpaudit")


def test_data_that_could_not_be_saved_are_named(here: Callable[..., Path]) -> None:
    path = here()
    found = dpaudit.load(path).counterexample
    assert found is not None
    pair = dpaudit.Pair([1.0, range(3)], [1.0])
    here(counterexample=dataclasses.replace(found, pair=pair))
    line = error_line(run("replay", "audit.json"))
    assert "of a kind that cannot be saved" in line
    assert "range(0, 3)" in line


def test_samples_in_hand_cannot_be_replayed(here: Callable[..., Path]) -> None:
    here()
    audit = dpaudit.compare_samples([1.0] * 500, [0.0] * 500, dpaudit.PureDP(1.0), rng=1)
    assert audit.counterexample is not None
    audit.save("audit.json")
    line = error_line(run("replay", "audit.json", "sums_for_replay.py:leaky"))
    assert "there are no datasets to draw from again" in line


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "there is no file 'audit.json'."), ("[]", "a saved audit must be a JSON object")],
)
def test_a_file_that_is_no_audit_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("audit.json").write_text(text)
    assert words in error_line(run("replay", "audit.json"))


def test_a_folder_is_no_audit_file(tmp_path: Path) -> None:
    assert "cannot be read: Is a directory." in error_line(run("replay", str(tmp_path)))


def test_an_audit_of_the_command_line_can_be_replayed(here: Callable[..., Path]) -> None:
    here()
    made = run(
        *("audit", "sums_for_replay.py:single", "--one-at-a-time", "--claim", "eps=1"),
        *("--pair", "[[1.0], [-1.0]]", "--samples", "20000", "--seed", "7"),
        *("--output", "audit.json", "--quiet"),
    )
    assert made.exit_code == 1, made.output
    audit: Audit = dpaudit.load("audit.json")
    assert audit.target == "one_at_a_time(sums_for_replay.py:single)"
    assert run("replay", "audit.json", "--seed", "3").exit_code == 1
