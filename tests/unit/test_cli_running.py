"""An audit of the command line while it runs: progress, warnings, mechanisms that fail, Ctrl-C."""

import dataclasses
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from commands import ANSWER, GOOD, RECORDS, FakeAudit, run

from dpaudit.errors import HealthWarning
from dpaudit.mechanism import as_mechanism
from dpaudit.results import Audit, Progress

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
