"""What all studies share: they run, can be stopped and taken up, and write their rows."""

import dataclasses
import importlib
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from scripts import imported, read


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    place: int
    label: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    value: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    label: str
    runs: int
    total: int


CELLS = [Cell(place=place, label=label) for place, label in enumerate(("red", "green", "blue"))]


study_module = imported("study")


@pytest.fixture
def small(study_module: ModuleType, tmp_path: Path) -> SimpleNamespace:
    """A study of three cells; `done` lists the labels of the runs made."""
    columns = importlib.import_module("tables").Column
    done: list[str] = []
    left = SimpleNamespace(until_interrupt=10**9)

    def run(task: Any) -> Outcome:
        if len(done) >= left.until_interrupt:
            raise KeyboardInterrupt
        done.append(task.cell.label)
        return Outcome(value=task.entropy % 7)

    def summary(cell: Cell, outcomes: list[Outcome]) -> Row:
        return Row(label=cell.label, runs=len(outcomes), total=sum(one.value for one in outcomes))

    study = study_module.Study(
        name="small",
        title="Colours",
        notes="nothing to note.",
        seed=5,
        cells=CELLS,
        quick=CELLS[:1],
        run=run,
        outcome=Outcome,
        summary=summary,
        columns=[
            columns("label", lambda row: row.label),
            columns("runs", lambda row: str(row.runs)),
        ],
        folder=tmp_path,
        runs=3,
        quick_runs=1,
    )
    main = lambda *options: study_module.study_main(study, ["--workers", "1", *options])  # noqa: E731
    return SimpleNamespace(study=study, main=main, done=done, left=left, folder=tmp_path)


def test_a_study_runs_every_cell_and_writes_its_rows(
    small: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert small.main() == 0
    assert [row["label"] for row in read(small.folder / "small.csv")] == ["red", "green", "blue"]
    assert sorted(small.done) == sorted(["red", "green", "blue"] * 3)
    assert [path.name for path in small.folder.iterdir()] == ["small.csv"]
    assert "Colours" in capsys.readouterr().out


def test_a_cell_that_is_too_long_is_run_once(
    study_module: ModuleType, small: SimpleNamespace
) -> None:
    study = dataclasses.replace(small.study, once=lambda cell: cell.label == "green")
    assert study_module.study_main(study, ["--workers", "1"]) == 0
    assert [small.done.count(cell.label) for cell in CELLS] == [3, 1, 3]


def test_a_stopped_study_goes_on_where_it_stood(
    small: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    small.left.until_interrupt = 4
    assert small.main() == 130
    assert [row["runs"] for row in read(small.folder / "small.partial.csv")] == ["3", "1"]
    assert not (small.folder / "small.csv").exists()
    small.left.until_interrupt = 10**9
    assert small.main() == 0
    assert len(small.done) == 9  # none twice
    stopped = read(small.folder / "small.csv")
    assert "4 runs of 9 are kept from before" in capsys.readouterr().out
    small.main()
    assert len(small.done) == 18  # a finished study starts anew
    assert read(small.folder / "small.csv") == stopped


def test_fresh_forgets_the_runs_of_a_stopped_study(small: SimpleNamespace) -> None:
    small.left.until_interrupt = 4
    small.main()
    small.left.until_interrupt = 10**9
    small.main("--fresh")
    assert len(small.done) == 4 + 9


def test_a_line_cut_short_is_run_again(study_module: ModuleType, tmp_path: Path) -> None:
    kept = study_module.Kept(tmp_path / "runs.jsonl", Outcome)
    kept.add("one", Outcome(value=1))
    whole = (tmp_path / "runs.jsonl").read_text(encoding="utf-8")
    other = json.dumps({"task": "another study", "outcome": {"colour": 1}})
    (tmp_path / "runs.jsonl").write_text(f"{whole}{other}\n{whole[:-9]}", encoding="utf-8")
    assert kept.read() == {"one": Outcome(value=1)}


def test_rows_can_be_chosen_and_are_no_whole_table(small: SimpleNamespace) -> None:
    assert small.main("--rows", "gre", "blu") == 0
    assert [row["label"] for row in read(small.folder / "small.partial.csv")] == ["green", "blue"]
    assert not (small.folder / "small.csv").exists()


def test_a_rehearsal_does_not_touch_the_results(small: SimpleNamespace) -> None:
    assert small.main("--quick") == 0
    assert small.done == ["red"]
    assert [row["runs"] for row in read(small.folder / "quick" / "small.csv")] == ["1"]
    assert not (small.folder / "small.csv").exists()


def test_a_filter_without_a_row_is_refused(
    small: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        small.main("--rows", "Nobody")
    assert "no row has any of ['Nobody']" in capsys.readouterr().err


def test_a_study_without_a_figure_says_so(
    small: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert small.main("--figure-only") == 1
    assert "small has no figure" in capsys.readouterr().err


def test_a_figure_without_a_csv_is_refused(
    study_module: ModuleType, small: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = dataclasses.replace(small.study, draw=lambda path: path.open() and path)
    assert study_module.study_main(drawn, ["--figure-only"]) == 1
    assert "No figure: " in capsys.readouterr().err


def test_a_run_without_matplotlib_still_has_its_csv(
    study_module: ModuleType, small: SimpleNamespace
) -> None:
    def draw(path: Path) -> Path:
        raise ImportError("no matplotlib")

    drawn = dataclasses.replace(small.study, draw=draw)
    assert study_module.study_main(drawn, ["--workers", "1"]) == 0
    assert len(read(small.folder / "small.csv")) == 3


def test_a_table_without_a_csv_of_a_benchmark_is_an_experiments(
    scripts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = importlib.import_module("fill_tables")
    experiments, benchmarks = tmp_path / "experiments", tmp_path / "benchmarks"
    experiments.mkdir()
    (experiments / "speed.csv").write_text("draws,ratio,peak_mib\n1000,2,3\n", encoding="utf-8")
    monkeypatch.setattr(script, "EXPERIMENTS", experiments)
    filled = script.filled("<!-- table: speed -->\n<!-- end -->", benchmarks)
    assert "| 1,000 | 2.0 | 3 MiB |" in filled
