"""How many draws refute false claims of every kind, against the fewest that anybody could need.

    python benchmarks/floors.py --alpha 1e-6
    PYTHONPATH=OLDER/src python benchmarks/floors.py --alpha 1e-6 --runs 5 --as-before

Draws are counted up to the refutation; those that certify an event afterwards are not.
"""

from __future__ import annotations

import argparse
import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from floor_oracle import best_growth
from floor_rows import Row, rows
from searching import search
from study import Task, add_options, benchmark_main
from tables import Column, mean_and_error, number, show

from dpaudit.neighbours import pairs

SEED = 20_261_118
SAMPLES_PER_FLOOR, LEAST_SAMPLES = 30, 20_000
LARGE_FLOOR, SAMPLES_PER_LARGE_FLOOR = 100_000, 6
HUGE_FLOOR, RUNS_AT_HUGE_FLOORS = 1_000_000, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A row of the suite, by its place."""

    place: int
    alpha: float

    @property
    def row(self) -> Row:
        return rows()[self.place]

    @property
    def label(self) -> str:
        return f"{self.row.name}, {self.row.claim}"

    @property
    def floor(self) -> float:
        """The fewest draws, on average, with which a valid test can refute the claim."""
        return math.log(1.0 / self.alpha) / growth_of(self.place)


@functools.cache
def growth_of(place: int) -> float:
    """The growth of the best bet of a row, per draw."""
    row = rows()[place]
    return best_growth(row.sides(), row.claim)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run spent."""

    refuted: bool
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """All runs of a row: a line of the table and of the CSV."""

    mechanism: str
    claim: str
    alpha: float
    floor_draws: float
    runs: int
    mean_draws: float
    standard_error: float
    ratio_to_floor: float
    share_refuted: float
    before: bool


def refute(task: Task[Cell]) -> Outcome:
    """Audit the pair of a row, and count the draws up to the refutation."""
    cell, row = task.cell, task.cell.row
    times = SAMPLES_PER_FLOOR if cell.floor < LARGE_FLOOR else SAMPLES_PER_LARGE_FLOOR
    loop = search(
        row.mechanism,
        row.claim,
        pairs([row.pair]),
        alpha=cell.alpha,
        samples=max(math.ceil(times * cell.floor), LEAST_SAMPLES),
        entropy=task.entropy,
    )
    refuted = loop.account.refuted
    return Outcome(
        refuted=refuted, draws=loop.evidence.trace[-1][0] if refuted else loop.run.budget.spent
    )


def summary(cell: Cell, outcomes: Sequence[Outcome], *, before: bool = False) -> Efficiency:
    """Sum up the runs. One without a refutation counts with all it spent."""
    mean, error = mean_and_error([float(outcome.draws) for outcome in outcomes])
    return Efficiency(
        mechanism=cell.row.name,
        claim=str(cell.row.claim),
        alpha=cell.alpha,
        floor_draws=cell.floor,
        runs=len(outcomes),
        mean_draws=mean,
        standard_error=error,
        ratio_to_floor=mean / cell.floor,
        share_refuted=sum(outcome.refuted for outcome in outcomes) / len(outcomes),
        before=before,
    )


COLUMNS: list[Column[Efficiency]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("floor", lambda row: number(row.floor_draws)),
    Column("ours", lambda row: number(row.mean_draws)),
    Column("std.\nerror", lambda row: number(row.standard_error)),
    Column("ratio\nto floor", lambda row: number(row.ratio_to_floor, 2)),
    Column("share\nrefuted", lambda row: number(row.share_refuted, 3)),
    Column("runs", lambda row: number(row.runs)),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    parser = argparse.ArgumentParser(description="Draws until a false claim is refuted.")
    parser.add_argument("--runs", type=int, default=40, help="of each row")
    parser.add_argument(
        "--alpha", type=float, default=1e-6, help="the chance of a false accusation"
    )
    parser.add_argument(
        "--as-before", action="store_true", help="these are the figures of an older version"
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    fewer = min(options.runs, RUNS_AT_HUGE_FLOORS)
    return benchmark_main(
        parser,
        options,
        [Cell(place=place, alpha=options.alpha) for place in range(len(rows()))],
        name=f"floors_{options.alpha:g}{'_before' if options.as_before else ''}",
        seed=SEED,
        runs=lambda cell: options.runs if cell.floor < HUGE_FLOOR else fewer,
        run=refute,
        summary=functools.partial(summary, before=options.as_before),
        report=lambda found: _report(found, options.alpha),
    )


def _report(found: Sequence[Efficiency], alpha: float) -> None:
    ratios = [row.ratio_to_floor for row in found]
    notes = (
        f"{len(ratios)} rows: median ratio {statistics.median(ratios):.2f}, highest "
        f"{max(ratios):.2f}, {sum(ratio > 3.0 for ratio in ratios)} above 3. The floor is what no "
        "valid test\nbeats on average, even one that knows both distributions."
    )
    show(f"Draws until refuted, alpha {alpha:g}", COLUMNS, found, notes)


if __name__ == "__main__":
    raise SystemExit(main())
