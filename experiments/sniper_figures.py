"""DP-Sniper on its own suite: our tester beside its authors' code and figures.

    python experiments/sniper_figures.py [--quick]

Theirs: their logistic attack with 2.3 million draws, three seeds (their code, run by us), and the
figures of their paper with 200 million (Bichsel, Steffen, Bogunovic and Vechev 2021). Ours:
`dpaudit.testers.DPSniper` with as many draws on the same mechanisms and inputs, in either
direction, three seeds. All at 90 % confidence, each direction of a row for itself.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from peers import ALPHA, RESULTS, ROWS, THEIRS
from study import Study, Task, study_main
from tables import Column, number

from dpaudit.claims import PureDP
from dpaudit.testers import DPSniper

SEED = 20_261_129
CLAIM = PureDP(0.01)  # what is certified does not depend on it
DRAWS = 1_150_000  # of a side
QUICK_DRAWS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """One row of the suite; `place` decides its seeds."""

    place: int
    row: str
    draws: int = DRAWS

    @property
    def label(self) -> str:
        return self.row


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run certified, with the event likelier on the data, and on the neighbour."""

    data: float
    neighbour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All runs of a row, lowest and highest, beside theirs."""

    row: str
    draws: int
    runs: int
    lowest: float
    highest: float
    lowest_reversed: float
    highest_reversed: float
    their_lowest: float | None
    their_highest: float | None
    theirs_200m: float
    true_epsilon: float


def run(task: Task[Shot]) -> Outcome:
    """Draw both sides once, and test either direction."""
    mechanism, *sides = ROWS[task.cell.row]
    rng = np.random.default_rng(task.entropy)
    outputs, others = (mechanism(np.array(side), task.cell.draws, rng) for side in sides)
    data, neighbour = (
        DPSniper().examine(*pair, CLAIM, alpha=ALPHA, rng=rng).lower_bound
        for pair in ((outputs, others), (others, outputs))
    )
    return Outcome(data=data, neighbour=neighbour)


def theirs(row: str) -> tuple[list[float], float, float]:
    """Their three seeds, their figure with 200 million draws, and the true epsilon.

    >>> theirs("Laplace")
    ([0.03, 0.056, 0.086], 0.0976, 0.1)
    """
    with THEIRS.open(newline="", encoding="utf-8") as file:
        (line,) = (line for line in csv.DictReader(file) if line["row"] == row)
    seeds = [float(line[f"sniper_{seed}"]) for seed in (1, 2, 3) if line[f"sniper_{seed}"]]
    return sorted(seeds), float(line["sniper_200m"]), float(line["true_epsilon"])


def summary(cell: Shot, outcomes: Sequence[Outcome]) -> Compared:
    """Sum up the runs of a row; a bound below 0 says nothing."""
    seeds, large, true_epsilon = theirs(cell.row)
    data, neighbour = (
        sorted(max(0.0, getattr(one, side)) for one in outcomes) for side in ("data", "neighbour")
    )
    return Compared(
        row=cell.row,
        draws=2 * cell.draws,
        runs=len(outcomes),
        lowest=data[0],
        highest=data[-1],
        lowest_reversed=neighbour[0],
        highest_reversed=neighbour[-1],
        their_lowest=seeds[0] if seeds else None,
        their_highest=seeds[-1] if seeds else None,
        theirs_200m=large,
        true_epsilon=true_epsilon,
    )


SHOTS = [Shot(place=place, row=row) for place, row in enumerate(ROWS)]
STUDY = Study(
    name="sniper_figures",
    title="DP-Sniper on its suite: our tester beside its authors' code",
    notes="90 % confidence in each direction. Theirs: lowest and highest of three seeds.",
    seed=SEED,
    cells=SHOTS,
    quick=[replace(shot, draws=QUICK_DRAWS) for shot in SHOTS],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=[
        Column("mechanism", lambda row: row.row, "left"),
        Column("runs", lambda row: number(row.runs)),
        Column("lowest", lambda row: number(row.lowest, 3)),
        Column("highest", lambda row: number(row.highest, 3)),
        Column("reversed,\nlowest", lambda row: number(row.lowest_reversed, 3)),
        Column("reversed,\nhighest", lambda row: number(row.highest_reversed, 3)),
        Column("theirs,\nlowest", lambda row: number(row.their_lowest, 3)),
        Column("theirs,\nhighest", lambda row: number(row.their_highest, 3)),
        Column("theirs,\n200M", lambda row: number(row.theirs_200m, 3)),
        Column("true", lambda row: number(row.true_epsilon, 3)),
    ],
    folder=RESULTS,
    runs=3,
    quick_runs=1,
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
