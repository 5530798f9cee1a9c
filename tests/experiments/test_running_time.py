"""The running times are measured, at the smallest sizes. Their figures are not tested here."""

import doctest
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts import read, written


@pytest.fixture
def running_time(scripts: None, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    script = importlib.import_module("running_time")
    monkeypatch.setattr(script, "WARM_UP", 200)
    return script


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


def outcome_of(running_time: ModuleType, tester: str, *, device: str = "cpu") -> Any:
    trial = running_time.Trial(place=0, tester=tester, device=device, draws=5_000)
    return running_time.run(running_time.Task(cell=trial, entropy=6))


def whole_table(running_time: ModuleType, device: str, folder: Path, *, seconds: float) -> Path:
    """A CSV with every line of a device, as if all trials had taken as long."""
    outcome = running_time.Outcome(seconds=seconds, threads=1, refuted=True)
    study = running_time.study(device)
    rows = [running_time.summary(trial, [outcome] * 10) for trial in study.cells]
    return written(rows, folder, study.name)


def test_a_cpu_runs_every_tester_and_a_gpu_those_with_a_network(running_time: ModuleType) -> None:
    on_cpu, beside_gpu = running_time.trials("cpu"), running_time.trials("cuda")
    assert len({trial.label for trial in on_cpu}) == len(on_cpu) == 8 * 3
    assert {trial.device for trial in on_cpu} == {"cpu"}
    assert {(trial.tester, trial.device) for trial in beside_gpu} == {
        (tester, device)
        for tester in ("hockey-stick neural", "renyi neural")
        for device in ("cpu", "cuda")
    }
    for trials in (on_cpu, beside_gpu):
        assert [trial.place for trial in trials] == list(range(len(trials)))


def test_the_doctests_pass(running_time: ModuleType) -> None:
    assert doctest.testmod(importlib.import_module("running_time_figure")) == (0, 1)


@pytest.mark.parametrize("tester", ["betting, until refuted", "betting, all draws", "histogram"])
def test_a_trial_is_timed_on_one_thread(running_time: ModuleType, tester: str) -> None:
    """Null: 5000 draws a side refute; held for 28 of 28 other seeds with each tester.

    Alternative: a trial that does not test; caught always.
    """
    outcome = outcome_of(running_time, tester)
    assert outcome.seconds > 0.0
    assert (outcome.threads, outcome.refuted) == (1, True)


def test_without_torch_a_network_is_not_measured(
    running_time: ModuleType, without_torch: None
) -> None:
    assert outcome_of(running_time, "renyi neural").seconds is None
    assert outcome_of(running_time, "renyi neural", device="cuda").seconds is None


def test_the_second_device_has_a_table_of_its_own(
    running_time: ModuleType,
    without_torch: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert running_time.main(["--device", "cuda", "--results", str(tmp_path)]) == 0
    rows = read(tmp_path / "running_time_gpu.csv")
    assert len(rows) == 2 * 2 * 3
    assert {(row["runs"], row["mean_seconds"]) for row in rows} == {("0", "")}
    shown = capsys.readouterr().out
    assert shown.count("not measured here") == len(rows)
    table = [line for line in shown.splitlines() if str(tmp_path) not in line]
    assert max(map(len, table)) <= 100


def test_trials_are_timed_one_by_one_unless_told_otherwise(
    running_time: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[Sequence[str]] = []

    def study_main(study: Any, arguments: Sequence[str]) -> int:
        passed.append(arguments)
        return 0

    monkeypatch.setattr(running_time, "study_main", study_main)
    running_time.main(["--quick"])
    running_time.main(["--workers", "2"])
    assert passed == [["--workers", "1", "--quick"], ["--workers", "1", "--workers", "2"]]


def test_an_unknown_device_is_refused(
    running_time: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        running_time.main(["--device", "abacus"])
    assert "invalid choice: 'abacus'" in capsys.readouterr().err


def test_a_mean_is_that_of_the_runs(running_time: ModuleType) -> None:
    trial = running_time.trials("cpu")[0]
    outcomes = [
        running_time.Outcome(seconds=seconds, threads=1, refuted=True) for seconds in (1.0, 3.0)
    ]
    row = running_time.summary(trial, outcomes)
    assert (row.runs, row.refuted, row.mean_seconds, row.standard_error) == (2, 2, 2.0, 1.0)


def test_a_figure_without_either_table_is_refused(
    running_time: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert running_time.main(["--figure-only", "--results", str(tmp_path)]) == 1
    assert "No figure: there is neither " in capsys.readouterr().err


def test_the_figure_has_a_panel_for_each_device(running_time: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = whole_table(running_time, "cpu", tmp_path, seconds=0.5)
    alone = running_time.draw(path).read_text(encoding="utf-8")
    assert ">betting, until refuted<" in alone
    assert ">renyi neural, cuda<" not in alone
    gpu = whole_table(running_time, "cuda", tmp_path, seconds=2.0)
    both = running_time.draw(gpu)
    assert both.name == "running_time.svg"
    drawn = both.read_text(encoding="utf-8")
    assert [word for word in ("histogram", "renyi neural, cuda") if f">{word}<" not in drawn] == []
    assert running_time.draw(path).read_text(encoding="utf-8") == drawn


def test_the_documentation_says_what_was_not_measured(
    running_time: ModuleType, without_torch: None, tmp_path: Path
) -> None:
    script = importlib.import_module("fill_tables")
    whole_table(running_time, "cpu", tmp_path, seconds=0.5)
    running_time.main(["--device", "cuda", "--results", str(tmp_path)])
    marked = "<!-- table: {} -->\n<!-- end -->"
    head, _, *rows = script.filled(marked.format("running_time"), tmp_path).splitlines()[1:-1]
    assert head == "| tester | device | 50,000 a side | 100,000 a side | 500,000 a side |"
    assert rows[2] == "| histogram | cpu | 0.50 s | 0.50 s | 0.50 s |"
    *_, last, _ = script.filled(marked.format("running_time_gpu"), tmp_path).splitlines()
    assert last == "| renyi neural | cuda | not measured | not measured | not measured |"
