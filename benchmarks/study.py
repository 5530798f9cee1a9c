"""A study: many cells, several runs of each, one line of a table for each cell.

A study that was stopped goes on where it stood: finished runs are kept beside its CSV until all are
done. `study_main` is the command line that all studies share.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from many_runs import INTERRUPTED, entropy, run_all
from tables import Column, save, show

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Labelled(Protocol):
    """A cell: a frozen value whose `place` decides its seeds and whose `label` names it."""

    @property
    def place(self) -> int: ...
    @property
    def label(self) -> str: ...


Cell = TypeVar("Cell", bound=Labelled)
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


def study_main(study: Study[Cell, Outcome, Row], arguments: Sequence[str] | None = None) -> int:
    """Run a study as its options say; 130 if Ctrl-C ended it."""
    parser = _parser(study)
    options = parser.parse_args(arguments)
    folder = options.results or (study.folder / "quick" if options.quick else study.folder)
    if options.figure_only:
        return _draw(study, folder / f"{study.name}.csv")
    cells = [
        cell
        for cell in (study.quick if options.quick else study.cells)
        if options.rows is None or any(text in cell.label for text in options.rows)
    ]
    if not cells:
        parser.error(f"no row has any of {options.rows} in its label.")
    runs = options.runs or (study.quick_runs if options.quick else study.runs)
    kept = Kept(folder / f"{study.name}.runs.jsonl", study.outcome)
    if options.fresh:
        kept.forget()
    outcomes, interrupted = _run(study, cells, runs, kept, options.workers)
    rows = [study.summary(cell, outcomes[cell.place]) for cell in cells if outcomes[cell.place]]
    if rows:
        show(study.title, study.columns, rows, study.notes)
    complete = not interrupted and options.rows is None
    path = save(rows, folder=folder, name=study.name, complete=complete)
    print("Nothing was finished." if path is None else f"Written to {path}")
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
) -> tuple[dict[int, list[Outcome]], bool]:
    """Run what is not kept yet; all outcomes by the place of their cell."""
    tasks = [
        Task(cell=cell, entropy=entropy(study.seed, cell.place, turn))
        for cell in cells
        for turn in range(1 if study.once(cell) else runs)
    ]
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
    outcomes: dict[int, list[Outcome]] = defaultdict(list)
    for task in tasks:
        if repr(task) in known:
            outcomes[task.cell.place].append(known[repr(task)])
    return outcomes, finished.interrupted


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


def _parser(study: Study[Cell, Outcome, Row]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=study.title)
    parser.add_argument("--runs", type=int, help=f"of each row (default {study.runs})")
    parser.add_argument(
        "--rows", nargs="+", metavar="TEXT", help="only rows with such a text in their labels"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--results", type=Path, help="the folder for the CSV and the figure")
    parser.add_argument("--quick", action="store_true", help="a rehearsal: few, small cells")
    parser.add_argument("--fresh", action="store_true", help="forget the runs of a stopped study")
    parser.add_argument("--figure-only", action="store_true", help="draw what the CSV has")
    return parser
