"""A sample project in continuous integration: what its run prints, writes and exits with."""

from __future__ import annotations

import json
import re
import shlex
from argparse import ArgumentTypeError
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commands import run
from projects import ON_CLAIM, Project, lines_between

import _dpaudit_pytest
import dpaudit
from dpaudit.report import PROBLEMS
from dpaudit.report import name_of_test as named_after
from dpaudit.testing import Baseline

_HEAD = """
import dpaudit
from dpaudit.mechanisms import RandomizedResponse

CLAIM, PAIR = dpaudit.PureDP(1.0), [([1], [0])]
"""
UNDECIDED = f"""{_HEAD}
def test_few_draws():
    mechanism = RandomizedResponse(1.0)
    dpaudit.assert_private(mechanism, CLAIM, PAIR, samples=20, fail_on="undecided")
"""
TOO_WEAK = f"""{_HEAD}
def test_power():
    dpaudit.assert_private(RandomizedResponse(1.0), CLAIM, PAIR, samples=200, detects=1.1)
"""
STRONG = TOO_WEAK.replace(
    "samples=200, detects=1.1", 'samples=9_000, fail_on="undecided", detects=2'
)
LEAKY = (
    ON_CLAIM.replace("Response(1.0)", "Response(8.0)")
    .replace("=200", "=2_000")
    .replace("test_answers", "test_leaky")
)
EXPECTED = LEAKY.replace("assert_private", "assert_refuted").replace("test_leaky", "test_known")
NO_PAGES = "import sys\nsys.modules['jinja2'] = None"  # pages take seconds
TESTS = {
    "test_answers": ON_CLAIM,
    "test_few": UNDECIDED,
    "test_known": EXPECTED,
    "test_leaky": LEAKY,
    "test_power": TOO_WEAK,
}


def line_that_asks(source: str) -> int:
    lines = source.splitlines()
    return 1 + next(number for number, line in enumerate(lines) if "dpaudit.assert_" in line)


@pytest.fixture
def on_github(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path.parent))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "summary.md"))
    (project.path / "summary.md").write_text("of an earlier step\n")
    return project


# --- the exit code --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        (LEAKY, 1, "RandomizedResponse(epsilon=8.0) is not 1-DP:"),
        (UNDECIDED, 1, "undecided: RandomizedResponse, claimed"),
        (TOO_WEAK, 1, "too weak: RandomizedResponse, claimed 1-DP"),
        (EXPECTED.replace("8.0", "1.0"), 1, "not refuted: RandomizedResponse, claimed"),
        (ON_CLAIM, 0, None),
        (STRONG, 0, None),
        (EXPECTED, 0, None),
    ],
    ids=["refuted", "undecided", "too weak", "not refuted", "green", "strong", "expected"],
)
def test_only_what_was_asked_for_exits_with_0(
    project: Project, source: str, code: int, says: str | None
) -> None:
    project.write(test_one=source)
    result = project.run()
    assert result.ret == code, result.stdout.str()
    if says is not None:
        result.stdout.fnmatch_lines([f"FAILED test_one.py::* - {says}*"])
    said = (line for line in result.outlines if not line.startswith(("rootdir: ", ">")))
    assert max(map(len, said)) <= 80


def test_the_same_undecided_audit_fails_only_where_a_verdict_is_asked_for(
    project: Project,
) -> None:
    lenient = UNDECIDED.replace(', fail_on="undecided"', "")
    project.write(test_few=lenient)
    project.run("-Wdefault").assert_outcomes(passed=1, warnings=1)
    project.run("--dpaudit-fail-on=undecided").assert_outcomes(failed=1)
    project.write(ini="dpaudit_fail_on = undecided", test_few=lenient)
    project.run().assert_outcomes(failed=1)


# --- what is written ------------------------------------------------------------------------------


def test_a_run_on_github_marks_lines_and_writes_all_its_files(on_github: Project) -> None:
    on_github.write(**TESTS)
    written = ("--dpaudit-sarif=out/dpaudit.sarif", "--dpaudit-badge=badge.txt")
    result = on_github.run("--junitxml=junit.xml", *written)
    result.assert_outcomes(failed=3, passed=2)
    assert_annotated(on_github, result)
    assert_summarised((on_github.path / "summary.md").read_text())
    assert_in_junit(ElementTree.parse(on_github.path / "junit.xml").getroot())
    assert_in_sarif((on_github.path / "out" / "dpaudit.sarif").read_text(), on_github)
    assert json.loads((on_github.path / "badge.txt").read_text()) == {
        "schemaVersion": 1,
        "label": "dpaudit",
        "message": "5 audits: 1 as expected, 1 not refuted, 1 refuted, 1 too weak, 1 undecided",
        "color": "red",
    }
    assert len(on_github.kept()) == 1  # that of test_leaky, not the one that was expected
    rows = lines_between(result, f"{'=' * 35} dpaudit", "=")[:6]
    assert [re.split(" {2,}", row)[0] for row in rows] == ["test", *sorted(TESTS_NAMED)]


TESTS_NAMED = {"test_answers", "test_leaky", "test_few_draws", "test_known", "test_power"}


def assert_annotated(project: Project, result: pytest.RunResult) -> None:
    found = [line for line in result.outlines if line.startswith("::")]
    place = re.compile(r"::error file=([^,]+),line=(\d+),title=(\w+)%3A [^:,]+::(.+)")
    matched = [place.fullmatch(line) for line in found]
    assert all(matched), found
    at = [each.groups()[:3] for each in matched if each is not None]
    home = project.path.name
    wanted = (("test_few", "test_few_draws"), ("test_leaky", "test_leaky"))
    assert at == [
        (f"{home}/{file}.py", str(line_that_asks(source_of(project, file))), name)
        for file, name in (*wanted, ("test_power", "test_power"))
    ]


def source_of(project: Project, file: str) -> str:
    return (project.path / f"{file}.py").read_text()


def assert_summarised(text: str) -> None:
    first, title, _, headings, _, *rows = text.splitlines()
    assert first == "of an earlier step"
    assert title.startswith("### 5 audits: ")
    assert headings.startswith("| test | mechanism | claim | verdict | leaks at least | draws |")
    cells = [[cell.strip().replace("\\", "") for cell in row.split(" | ")] for row in rows]
    assert [row[0].removeprefix("| ") for row in cells] == [
        *("test_few_draws", "test_leaky", "test_power"),  # what fails comes first
        *("test_answers", "test_known"),
    ]
    verdicts = ["undecided", "refuted", "too weak", "not refuted", "as expected"]
    assert [row[3] for row in cells] == verdicts


def assert_in_junit(root: ElementTree.Element) -> None:
    told = {
        str(case.get("name")): {
            str(each.get("name")): str(each.get("value")) for each in case.iter("property")
        }
        for case in root.iter("testcase")
    }
    assert set(told) == TESTS_NAMED
    counted = told["test_leaky"]
    assert counted["dpaudit.verdict"] == "refuted"
    assert counted["dpaudit.claim"] == "1-DP"
    assert float(counted["dpaudit.lower_bound"]) > 1.0
    assert int(counted["dpaudit.draws"]) > 60
    assert told["test_answers"]["dpaudit.verdict"] == "not refuted"


def assert_in_sarif(text: str, project: Project) -> None:
    """The structure by hand, and by the models of a package where there is one."""
    log = json.loads(text)
    assert log["version"] == "2.1.0"
    (found,) = log["runs"]
    rules = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    assert rules == [*PROBLEMS]
    assert [result["ruleId"] for result in found["results"]] == ["undecided", "refuted", "too-weak"]
    for result in found["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] == "error"
        assert result["message"]["text"]
        (place,) = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        line = place["physicalLocation"]["region"]["startLine"]
        assert line == line_that_asks((project.path.parent / uri).read_text())
    prints = {str(result["partialFingerprints"]) for result in found["results"]}
    assert len(prints) == 3
    if find_spec("sarif_pydantic") is not None:
        read = import_module("sarif_pydantic").Sarif.model_validate_json(text)
        assert len(read.runs[0].results) == 3


def test_elsewhere_a_run_marks_nothing(project: Project) -> None:
    project.write(test_leaky=LEAKY)
    project.run("--dpaudit-badge=badge.txt").stdout.no_fnmatch_line("::*")
    assert not (project.path / "summary.md").exists()
    assert json.loads((project.path / "badge.txt").read_text())["color"] == "red"


def test_what_cannot_be_written_fails_no_test(project: Project) -> None:
    project.write(test_answers=ON_CLAIM)
    (project.path / "taken").write_text("")
    result = project.run("--dpaudit-badge=taken/badge.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["warning: *badge.json could not be written: *"])


def test_two_assertions_of_a_test_are_told_apart(project: Project) -> None:
    twice = ON_CLAIM + "    " + ON_CLAIM.splitlines()[-1].strip() + "\n"
    project.write(test_answers=twice)
    result = project.run("--junitxml=junit.xml", "--dpaudit-save=main")
    rows = lines_between(result, f"{'=' * 35} dpaudit", "=")
    assert [re.split(" {2,}", row)[0] for row in rows[1:3]] == ["test_answers", "test_answers #2"]
    text = (project.path / "junit.xml").read_text()
    assert 'name="dpaudit.draws" value="136"' in text
    assert 'name="dpaudit-2.draws" value="136"' in text
    briefs = Baseline.named("main", project.path / ".dpaudit").read()
    assert [named_after(brief.key) for brief in briefs] == ["test_answers", "test_answers #2"]


def test_an_expected_refutation_is_saved_apart(project: Project) -> None:
    project.write(conftest=NO_PAGES, test_known=EXPECTED, test_answers=ON_CLAIM)
    project.run("--dpaudit-report=audits").assert_outcomes(passed=2)
    assert list(project.saved()) == ["test_answers-1"]
    assert [audit.refuted for audit in project.saved("audits/expected").values()] == [True]
    assert run("compare", *[str(project.path / "audits")] * 2).exit_code == 0


# --- baselines ------------------------------------------------------------------------------------


def test_a_run_is_compared_with_a_baseline(project: Project) -> None:
    """A test that got worse is told by its name; one that was broken before is not worse."""
    tolerant = "import pytest\n" + LEAKY.replace(
        "    dpaudit.assert_private",
        "    with pytest.raises(AssertionError):\n        dpaudit.assert_private",
    )
    project.write(test_leaky=LEAKY.replace("8.0", "1.0"), test_answers=ON_CLAIM)
    project.run("--dpaudit-save=main").assert_outcomes(passed=2)
    same = project.run("--dpaudit-compare=main")
    assert same.ret == 0
    same.stdout.fnmatch_lines(["since the baseline main:", "same verdict *", "Nothing got worse*"])
    project.write(test_leaky=tolerant)
    worse = project.run("--dpaudit-compare=main", "--dpaudit-save=next")
    worse.assert_outcomes(passed=2)
    assert worse.ret == 1
    worse.stdout.fnmatch_lines(["now refuted *Response*", "*test_leaky*", "Worse: 1 audit*"])
    assert project.run("--dpaudit-compare=next").ret == 0


def test_a_baseline_that_is_not_there_ends_the_run_before_anything_runs(project: Project) -> None:
    project.write(test_answers=ON_CLAIM)
    result = project.run_apart("--dpaudit-compare=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*there is no baseline 'main'. Make one: pytest --dpaudit-save=main*"]
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 2}', '{"schema": 1, "audits": [{}]}'])
def test_a_baseline_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    baseline = Baseline.named("bad", tmp_path)
    baseline.save([])
    assert baseline.read() == []
    baseline.path.write_text(text)
    with pytest.raises(ValueError, match=r"bad.json cannot be read: "):
        baseline.read()


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x"])
def test_a_limit_is_a_number_of_seconds(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="above 0, got"):
        _dpaudit_pytest._seconds(text)


# --- the time limit -------------------------------------------------------------------------------


def test_a_slow_test_ends_at_its_limit_and_says_so(project: Project) -> None:
    slow = """
        import time, dpaudit

        def slow(data, size, rng):
            time.sleep(0.0005 * size)
            return sum(data) + rng.laplace(scale=2, size=size)

        def test_slow():
            near = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=2)
            dpaudit.assert_private(slow, dpaudit.PureDP(1.0), near)
        """
    project.write(conftest=NO_PAGES, test_slow=slow)
    result = project.run("-Wdefault", "--dpaudit-seconds=0.3", "--dpaudit-report=audits")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*HealthWarning: slow, claimed 1-DP: * the limit of 0.3 seconds*"])
    assert project.saved()["test_slow-1"].interrupted
    assert result.duration < 10  # of 300,000 draws that would take 150 s


def test_until_its_limit_it_is_the_audit_without_one(project: Project) -> None:
    project.write(test_answers=ON_CLAIM)
    saved = []
    for limit in ("1000", "2000"):
        project.run(f"--dpaudit-seconds={limit}", f"--dpaudit-save={limit}")
        (brief,) = Baseline.named(limit, project.path / ".dpaudit").read()
        saved.append(replace(brief, seconds=0.0))
    assert saved[0] == saved[1]


# --- saved audits ---------------------------------------------------------------------------------


def test_saved_audits_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("release.py").write_text("\n\ndef count(data, size):\n    return [len(data)] * size\n")
    asked = ("--claim", "eps=1", "--pair", "[[0],[]]", "--samples", "20000", "--seed", "1")
    run("audit", "release.py:count", *asked, "--output", "a.json")
    done = run("export", "a.json", "-o", "dpaudit.sarif")
    assert (done.exit_code, done.output) == (0, "dpaudit.sarif\n")
    (result,) = json.loads(Path("dpaudit.sarif").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "release.py"
    assert place["region"] == {"startLine": 3}
    assert result["message"]["text"].startswith("REFUTED: count is not 1-DP: epsilon >= ")
    badge = json.loads(run("export", "a.json", "--as", "badge").output)
    assert (badge["message"], badge["color"]) == ("1 audit: 1 refuted", "red")
    assert "| a | count | 1-DP | refuted |" in run("export", "a.json", "--as", "markdown").output
    assert run("export", "a.json", "-o", "a.json").exit_code == 2
    assert dpaudit.load("a.json").refuted


# --- the recipes of docs/ci.md --------------------------------------------------------------------

CI_PAGE = Path(__file__).parents[2] / "docs" / "ci.md"


def recipe(number: int) -> Any:
    """A YAML block of the page."""
    if not CI_PAGE.exists():
        pytest.skip("the source distribution has no documentation")
    yaml = pytest.importorskip("yaml")
    text = re.findall(r"^```yaml\n(.*?)^```", CI_PAGE.read_text(encoding="utf-8"), re.S | re.M)[
        number
    ]
    return yaml.safe_load(text)


def options_in(command: str) -> list[str]:
    start, *options = shlex.split(command.removeprefix("python -m "))
    assert start == "pytest"
    return options


def test_the_workflow_of_the_page_uploads_what_its_run_writes(on_github: Project) -> None:
    steps = recipe(0)["jobs"]["audits"]["steps"]
    (command,) = (step["run"] for step in steps if "-m pytest" in step.get("run", ""))
    on_github.write(conftest=NO_PAGES, **TESTS)
    assert on_github.run(*options_in(command)).ret == 1
    always = [step for step in steps if step.get("if") == "always()"]
    sarif, artifact = (step["with"] for step in always)
    for name in (sarif["sarif_file"], *artifact["path"].split()):
        assert (on_github.path / name).exists(), name
    (cache,) = (step["with"] for step in steps if "cache" in step.get("uses", ""))
    assert (on_github.path / cache["path"] / "kept").is_dir()
    assert recipe(0)["permissions"]["security-events"] == "write"


def test_the_hook_of_the_page_stops_a_commit_that_breaks_a_claim(project: Project) -> None:
    (hook,) = recipe(1)["repos"][0]["hooks"]
    assert (hook["language"], hook["pass_filenames"]) == ("system", False)
    folder = project.path / "tests" / "privacy"
    folder.mkdir(parents=True)
    for source, code in ((ON_CLAIM, 0), (LEAKY, 1)):
        (folder / "test_one.py").write_text(source)
        assert project.run(*options_in(hook["entry"])).ret == code
