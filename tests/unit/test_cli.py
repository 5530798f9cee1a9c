"""The command line: what it hands to the audit, what it prints, and how it ends.

The audit itself is replaced by one that remembers its arguments and gives a prepared answer.
"""

import dataclasses
import json
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from commands import error_line, run

from dpaudit import __version__
from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import categories, floats, integers
from dpaudit.errors import HealthWarning
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import Pair, add_or_remove_one, pairs, query_answers, replace_one
from dpaudit.results import Audit, Evidence, PairRecord, Progress, Verdict, audit_from_json, load
from dpaudit.zoo import ZOO

ANSWER = Audit(
    mechanism="ClippedSum",
    claim=PureDP(1.0),
    verdict=Verdict.NOT_REFUTED,
    lower_bound=0.9,
    counterexample=None,
    evidence=Evidence(trace=((10, 0.5),), log_wealth=0.5, peak=0.5),
    samples=1000,
    seconds=0.5,
    alpha=1e-6,
    rng_seed=7,
    pairs_tried=2,
    neighbours="replace one of at most 5 records of floats(-1, 1)",
    strongest=PairRecord(
        pair=Pair(np.array([1.0]), np.array([-1.0])), samples=1000, log_wealth=0.5, growth=5e-4
    ),
    detectable=1.2,
    forecast=None,
    history=(),
    warnings=(),
    interrupted=False,
    version=__version__,
)
TARGET = "dpaudit.zoo:ClippedSum"
RECORDS = ("--records", "floats:-1:1", "--relation", "replace-one")
GOOD = ("audit", TARGET, "--claim", "eps=1", *RECORDS)


class FakeAudit:
    """Stands in for `dpaudit.auditing.audit`."""

    def __init__(self) -> None:
        self.answer: Callable[[], Audit] = lambda: ANSWER
        self.mechanism: Any = None
        self.claim: Any = None
        self.neighbours: Any = None
        self.options: dict[str, Any] = {}
        self.progress: list[Progress] = []

    def __call__(self, mechanism: Any, claim: Any, neighbours: Any, **options: Any) -> Audit:
        self.mechanism, self.claim, self.neighbours = mechanism, claim, neighbours
        self.options = options
        for progress in self.progress:
            options["progress"](progress)
        return self.answer()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAudit]:
    module: Any = ModuleType("dpaudit.auditing")
    module.audit = FakeAudit()
    monkeypatch.setitem(sys.modules, "dpaudit.auditing", module)
    path = list(sys.path)
    yield module.audit
    sys.path[:] = path  # a target's folder was put there


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
    assert fake.options["progress"] is None


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
    }


def test_the_options_are_handed_over(fake: FakeAudit) -> None:
    given = ("--alpha", "0.01", "--samples", "5000", "--seconds", "2.5", "--seed", "7")
    run(*GOOD, *given, "--floats", "bits")
    options = {name: value for name, value in fake.options.items() if name != "progress"}
    assert options == {
        "finder": "auto",
        "alpha": 0.01,
        "samples": 5000,
        "seconds": 2.5,
        "rng": 7,
        "floats": "bits",
        "on_error": "output",
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


# --- mechanisms that fail -------------------------------------------------------------------------


def drawing(fake: FakeAudit) -> Callable[[], Audit]:
    def answer() -> Audit:
        as_mechanism(fake.mechanism).draw(np.array([1.0]), 5, np.random.default_rng(0))
        return ANSWER

    return answer


def test_an_error_of_the_mechanism_shows_the_user_their_own_code(
    fake: FakeAudit, tmp_path: Path
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "def broken(data, size, rng):\n    return deeper()\n\ndef deeper():\n    1 / 0\n"
    )
    fake.answer = drawing(fake)
    result = run("audit", f"{file}:broken", "--claim", "1", *RECORDS)
    assert result.exit_code == 2
    assert f'File "{file}", line 2, in broken' in result.output
    assert "ZeroDivisionError: division by zero\n" in result.output
    assert "while drawing 5 outputs from broken on data=array([1.])\n" in result.output
    assert "Error: it stopped before a verdict.\n" in result.output
    assert "mechanism.py" not in result.output
    assert "click" not in result.output


def test_outputs_that_are_none_are_one_clear_message(fake: FakeAudit, tmp_path: Path) -> None:
    file = tmp_path / "short.py"
    file.write_text("def short(data, size, rng):\n    return [1.0]\n")
    fake.answer = drawing(fake)
    result = run("audit", f"{file}:short", "--claim", "1", *RECORDS)
    assert result.exit_code == 2
    assert result.output.startswith("Error: short ")
    assert "while drawing 5 outputs from short on data=array([1.])\n" in result.output
    assert "Traceback" not in result.output


def test_a_target_that_cannot_be_imported_shows_why(fake: FakeAudit, tmp_path: Path) -> None:
    file = tmp_path / "unimportable.py"
    file.write_text("import numpy\nraise RuntimeError('not today')\n")
    result = run("audit", f"{file}:f", "--claim", "1", *RECORDS)
    assert result.exit_code == 2
    assert f'File "{file}", line 2' in result.output
    assert "RuntimeError: not today" in result.output


def test_a_mistake_of_ours_shows_everything_and_is_no_refutation(fake: FakeAudit) -> None:
    def answer() -> Audit:
        raise AssertionError("impossible")

    fake.answer = answer
    result = run(*GOOD)
    assert result.exit_code == 2
    assert "AssertionError: impossible" in result.output


def test_an_interrupt_outside_the_audit_is_no_refutation(fake: FakeAudit) -> None:
    def answer() -> Audit:
        signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        return ANSWER

    fake.answer = answer
    result = run(*GOOD)
    assert result.exit_code == 130
    assert result.output == "Interrupted.\n"


# --- while it runs --------------------------------------------------------------------------------


PROGRESS = Progress(
    pairs=1,
    samples=1000,
    budget=9000,
    seconds=1.0,
    lower_bound=0.5,
    log_wealth=1.0,
    alpha=1e-6,
    pair="[1.0] | []",
)


def test_off_a_terminal_a_line_is_printed_now_and_then(fake: FakeAudit) -> None:
    fake.progress = [dataclasses.replace(PROGRESS, seconds=float(at)) for at in (1, 5, 11, 12, 22)]
    lines = run(*GOOD).output.splitlines()
    assert lines[:2] == [
        "1000 of 9000 draws, 1 min 28 s left, epsilon 0.5 leaks, evidence 7%, pair 1",
        "1000 of 9000 draws, 2 min 56 s left, epsilon 0.5 leaks, evidence 7%, pair 1",
    ]
    assert lines[2].startswith("NOT REFUTED: ")


@pytest.mark.parametrize("columns", [30, 80, 200])
def test_on_a_terminal_the_line_is_live_and_the_verdict_in_colour(
    fake: FakeAudit, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", str(columns))):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    fake.progress = [PROGRESS]
    output = run(*GOOD).output
    live, _, report = output.partition("\x1b[1;36mNOT REFUTED\x1b[0m: ClippedSum, claimed 1-DP")
    drawn = [line for line in live.splitlines() if "1000 of 9000 draws" in line]
    assert bool(drawn) == (columns >= 80)
    assert report.endswith("seed        7\n")


@pytest.mark.parametrize("listed", [True, False])
def test_a_health_warning_is_said_once(fake: FakeAudit, listed: bool) -> None:
    message = "a seed is fixed inside it"

    def answer() -> Audit:
        warnings.warn(message, HealthWarning, stacklevel=1)
        return dataclasses.replace(ANSWER, warnings=(message,) if listed else ())

    fake.answer = answer
    result = run(*GOOD)
    assert result.exit_code == 0
    assert result.output.count(message) == 1
    assert ("warning: " in result.output) is not listed


def test_other_warnings_are_the_users_own(fake: FakeAudit) -> None:
    def answer() -> Audit:
        warnings.warn("theirs", UserWarning, stacklevel=1)
        return ANSWER

    fake.answer = answer
    with pytest.warns(UserWarning, match="theirs"):
        run(*GOOD)


# --- the demo -------------------------------------------------------------------------------------


def test_the_demo_audits_a_broken_and_an_honest_mechanism(fake: FakeAudit) -> None:
    seen = []

    def answer() -> Audit:
        seen.append((fake.mechanism.name, fake.claim, fake.options["rng"]))
        verdict = Verdict.REFUTED if len(seen) == 1 else Verdict.NOT_REFUTED
        return dataclasses.replace(ANSWER, verdict=verdict)

    fake.answer = answer
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert seen == [("ClippedSum", PureDP(1.0), 7), ("LaplaceCount", PureDP(1.0), 7)]
    assert max(map(len, result.output.splitlines())) <= 80
    assert "\x1b" not in result.output


def test_a_demo_that_goes_wrong_says_so_by_its_exit_code(fake: FakeAudit) -> None:
    assert run("demo").exit_code == 1


# --- the zoo --------------------------------------------------------------------------------------


def test_the_zoo_is_a_table_of_80_columns() -> None:
    result = run("mechanisms")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    for name, entry in ZOO.items():
        (row,) = (line for line in lines if line.split()[:1] == [name])
        assert str(entry.claim) in row
        assert f" {'yes' if entry.keeps_claim else 'no'} " in row


@pytest.mark.parametrize("name", ZOO)
def test_a_mechanism_is_shown_with_the_way_to_audit_it(fake: FakeAudit, name: str) -> None:
    result = run("mechanisms", name.lower())
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    shown, _, way = result.output.partition("Audit it:\n")
    assert str(ZOO[name].claim) in shown
    if way.strip().startswith("dpaudit "):
        command = shlex.split(way.replace("\\\n", " "))
        assert run(*command[1:]).exit_code == 0
        assert as_mechanism(fake.mechanism).name == name
    else:
        assert f'ZOO["{name}"]' in way
        return
    assert fake.claim == ZOO[name].claim
    assert fake.neighbours == ZOO[name].neighbours()
    assert fake.mechanism.function.function == ZOO[name].factory()


def test_an_unknown_mechanism_is_refused_with_a_hint() -> None:
    assert error_line(run("mechanisms", "staircas")) == (
        "no mechanism 'staircas'. Did you mean Staircase?"
    )
    assert error_line(run("mechanisms", "zzz")) == "no mechanism 'zzz'. See: dpaudit mechanisms"


# --- the rest -------------------------------------------------------------------------------------


def test_the_version() -> None:
    assert run("--version").output == f"dpaudit {__version__}\n"


def test_help_of_a_command_loads_nothing_heavy() -> None:
    code = """
import sys
from dpaudit.cli import main
for arguments in (["audit", "--help"], ["demo", "--help"], ["mechanisms", "--help"]):
    try:
        main(arguments)
    except SystemExit as stop:
        assert stop.code == 0, stop.code
sys.exit(str([name for name in ("numpy", "rich") if name in sys.modules]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.stderr.strip() == "[]"
