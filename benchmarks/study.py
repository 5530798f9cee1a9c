"""Many cells, several runs of each, one line of a table for each cell.

A benchmark (`benchmark_main`) runs from start to end. A study (`study_main`) that was stopped goes
on where it stood: finished runs are kept beside its CSV until all are done.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from many_runs import INTERRUPTED, entropy, run_all
from tables import RESULTS, Column, save, show

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Labelled(Protocol):
    """A cell: a frozen value whose `place` decides its seeds and whose `label` names it."""

    @property
    def place(self) -> int: ...
    @property
    def label(self) -> str: ...


Cell = TypeVar("Cell", bound=Labelled)
Result = TypeVar("Result")
Outcome = TypeVar("Outcome", bound="DataclassInstance")
Row = TypeVar("Row", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[Cell]):
    """One run of a cell."""

    cell: Cell
    entropy: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(Generic[Cell, Outcome, Row]):
    """What is run, how the runs of a cell are summed up, and how the lines are shown.

    `run` is a function of a module: other processes call it. Outcomes are flat: numbers, texts and
    None. `quick` gives the few and small cells of a rehearsal. `draw` makes a figure of the CSV.
    """

    name: str
    title: str
    notes: str
    seed: int
    cells: Sequence[Cell]
    quick: Sequence[Cell]
    run: Callable[[Task[Cell]], Outcome]
    outcome: type[Outcome]
    summary: Callable[[Cell, Sequence[Outcome]], Row]
    columns: Sequence[Column[Row]]
    folder: Path
    draw: Callable[[Path], Path] | None = None
    runs: int = 10
    quick_runs: int = 2
    once: Callable[[Cell], bool] = lambda cell: False  # too long to be run more than once


def benchmark_main(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    cells: Sequence[Cell],
    *,
    name: str,
    seed: int,
    runs: Callable[[Cell], int],
    run: Callable[[Task[Cell]], Result],
    summary: Callable[[Cell, Sequence[Result]], Row],
    report: Callable[[Sequence[Row]], None],
) -> int:
    """Run the cells that the options of `add_options` choose; 130 if Ctrl-C ended it."""
    cells = _chosen(parser, cells, options.rows)
    tasks = _tasks(seed, cells, runs)
    finished = run_all(run, tasks, workers=options.workers, title=name.replace("_", " "))
    rows = _summed_up(cells, finished.results, summary)
    if rows:
        report(rows)
    complete = not finished.interrupted and options.rows is None
    save(rows, folder=options.results, name=name, complete=complete)
    return INTERRUPTED if finished.interrupted else 0


def one_by_one(
    name: str, measure: Callable[..., Row], cells: Iterable[tuple[Any, ...]]
) -> tuple[list[Row], bool]:
    """Call a function on each cell in this process; what was measured, and whether Ctrl-C ended it.

    This is for times: nothing else runs meanwhile.
    """
    rows: list[Row] = []
    try:
        for cell in cells:
            said = (f"{each:,}" if isinstance(each, int) else each for each in cell)
            print(f"{name}: {', '.join(said)}", file=sys.stderr, flush=True)
            rows.append(measure(*cell))
    except KeyboardInterrupt:
        return rows, True
    return rows, False


def study_main(study: Study[Cell, Outcome, Row], arguments: Sequence[str] | None = None) -> int:
    """Run a study as its options say; 130 if Ctrl-C ended it."""
    parser = _parser(study)
    options = parser.parse_args(arguments)
    folder = options.results or (study.folder / "quick" if options.quick else study.folder)
    if options.figure_only:
        return _draw(study, folder / f"{study.name}.csv")
    cells = _chosen(parser, study.quick if options.quick else study.cells, options.rows)
    runs = options.runs or (study.quick_runs if options.quick else study.runs)
    kept = Kept(folder / f"{study.name}.runs.jsonl", study.outcome)
    if options.fresh:
        kept.forget()
    results, interrupted = _run(study, cells, runs, kept, options.workers)
    rows = _summed_up(cells, results, study.summary)
    if rows:
        show(study.title, study.columns, rows, study.notes)
    complete = not interrupted and options.rows is None
    path = save(rows, folder=folder, name=study.name, complete=complete)
    if complete:
        kept.forget()
    if path is not None and study.draw is not None:
        _draw(study, path)  # without matplotlib the CSV is still whole
    return INTERRUPTED if interrupted else 0


class Kept(Generic[Outcome]):
    """The finished runs of a study, one line of JSON each, under the text of their task."""

    def __init__(self, path: Path, kind: type[Outcome]) -> None:
        self._path = path
        self._kind = kind

    def read(self) -> dict[str, Outcome]:
        """What is there; a line that was cut short by a crash is passed over."""
        found: dict[str, Outcome] = {}
        if not self._path.exists():
            return found
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                saved = json.loads(line)
                found[saved["task"]] = self._kind(**saved["outcome"])
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def add(self, task: str, outcome: Outcome) -> None:
        """Write one run down at once."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"task": task, "outcome": dataclasses.asdict(outcome)})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def forget(self) -> None:
        """Start anew."""
        self._path.unlink(missing_ok=True)


def _run(
    study: Study[Cell, Outcome, Row],
    cells: Sequence[Cell],
    runs: int,
    kept: Kept[Outcome],
    workers: int,
) -> tuple[list[tuple[Task[Cell], Outcome]], bool]:
    """Run what is not kept yet; all tasks that are done, with their outcomes."""
    tasks = _tasks(study.seed, cells, lambda cell: 1 if study.once(cell) else runs)
    known = kept.read()
    left = [task for task in tasks if repr(task) not in known]
    if len(left) < len(tasks):
        print(f"{len(tasks) - len(left)} runs of {len(tasks)} are kept from before.", flush=True)
    finished = run_all(
        study.run,
        left,
        workers=workers,
        title=study.name,
        on_result=lambda task, outcome: kept.add(repr(task), outcome),
    )
    known |= {repr(task): outcome for task, outcome in finished.results}
    done = [(task, known[repr(task)]) for task in tasks if repr(task) in known]
    return done, finished.interrupted


def _chosen(
    parser: argparse.ArgumentParser, cells: Sequence[Cell], texts: Sequence[str] | None
) -> list[Cell]:
    """The cells with one of the texts in their labels; all of them without texts."""
    chosen = [cell for cell in cells if texts is None or any(text in cell.label for text in texts)]
    if not chosen:
        parser.error(f"no row has any of {texts} in its label.")
    return chosen


def _tasks(seed: int, cells: Sequence[Cell], runs: Callable[[Cell], int]) -> list[Task[Cell]]:
    """Every run of every cell, each with a seed of its own."""
    return [
        Task(cell=cell, entropy=entropy(seed, cell.place, turn))
        for cell in cells
        for turn in range(runs(cell))
    ]


def _summed_up(
    cells: Sequence[Cell],
    results: Sequence[tuple[Task[Cell], Result]],
    summary: Callable[[Cell, Sequence[Result]], Row],
) -> list[Row]:
    """One line for each cell that has results."""
    by_place: dict[int, list[Result]] = defaultdict(list)
    for task, result in results:
        by_place[task.cell.place].append(result)
    return [summary(cell, by_place[cell.place]) for cell in cells if by_place[cell.place]]


def _draw(study: Study[Cell, Outcome, Row], path: Path) -> int:
    """Draw the figure beside the CSV; 1 if that cannot be done."""
    if study.draw is None:
        print(f"{study.name} has no figure.", file=sys.stderr)
        return 1
    try:
        print(f"Drawn to {study.draw(path)}")
    except (ImportError, FileNotFoundError) as error:
        print(f"No figure: {error}", file=sys.stderr)
        return 1
    return 0


def add_options(parser: argparse.ArgumentParser, results: Path | None = RESULTS) -> None:
    """Add the options that benchmarks and studies share."""
    parser.add_argument(
        "--rows", nargs="+", metavar="TEXT", help="only rows with such a text in their labels"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--results", type=Path, default=results, help="the folder for the results")


def _parser(study: Study[Cell, Outcome, Row]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=study.title)
    parser.add_argument("--runs", type=int, help=f"of each row (default {study.runs})")
    add_options(parser, results=None)
    parser.add_argument("--quick", action="store_true", help="a rehearsal: few, small cells")
    parser.add_argument("--fresh", action="store_true", help="forget the runs of a stopped study")
    parser.add_argument("--figure-only", action="store_true", help="draw what the CSV has")
    return parser
