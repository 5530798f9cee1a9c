"""The suite of DP-Sniper: the epsilon certified on its mechanisms and inputs, beside its figures.

    python experiments/peers.py [--quick | --figure-only]

Fifteen mechanisms at epsilon = 0.1, each on one pair of inputs (Bichsel, Steffen, Bogunovic and
Vechev 2021, "DP-Sniper: black-box discovery of differential privacy violations using classifiers").
Theirs: their logistic attack with 2.3 million draws, three seeds (their code, run by us), and the
figures of their paper with 200 million. Ours: `dpaudit.measure_epsilon` with 2.3 and 50 million.
All at 90 % confidence, each row for itself.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from peers_figure import draw
from study import Study, Task, study_main
from tables import Column, number, yes_or_no

from dpaudit import measure_epsilon
from dpaudit import zoo as mechanisms

SEED = 20_261_127
HERE = Path(__file__).parent
RESULTS = HERE / "results"
THEIRS = HERE / "reference" / "peers_suite.csv"
ALPHA = 0.1
EPSILON = 0.1
SIZES = (2_300_000, 50_000_000)  # draws, both sides together

_RISING, _FALLING = [0.0] * 5 + [1.0] * 5, [1.0] * 5 + [0.0] * 5
_ONES, _TWOS, _ZEROS = [1.0] * 10, [2.0] * 5, [0.0] * 10

Mechanism = Callable[..., Any]

# The row of the suite: our mechanism and the two inputs.
ROWS: dict[str, tuple[Mechanism, Sequence[float], Sequence[float]]] = {
    "Laplace": (mechanisms.LaplaceCount(EPSILON), [], [1.0]),
    "TruncatedGeometric": (mechanisms.RoundedGeometricNaturalLog(EPSILON), [1.0, 1.0], [1.0]),
    "NoisyHist1": (mechanisms.NoisyHistogram(EPSILON), [0, 1, 2, 3, 4], [0, 0, 1, 2, 3, 4]),
    "NoisyHist2": (
        mechanisms.NoisyHistogramScaleEpsilon(EPSILON),
        [0, 1, 2, 3, 4],
        [0, 0, 1, 2, 3, 4],
    ),
    "NoisyMax1": (mechanisms.NoisyMaxLaplace(EPSILON), [1.0] * 5, [0.0] + [2.0] * 4),
    "NoisyMax3": (mechanisms.NoisyMaxValueLaplace(EPSILON), [1.0] * 5, _TWOS),
    "NoisyMax4": (mechanisms.NoisyMaxValueExponential(EPSILON), [1.0] * 5, _TWOS),
    "SVT1": (mechanisms.SVT1(EPSILON, threshold=0.5), _FALLING, _RISING),
    "SVT3": (mechanisms.SVT3(EPSILON, threshold=1.0), _RISING, _FALLING),
    "SVT4": (mechanisms.SVT4(EPSILON, threshold=1.0), _RISING, _FALLING),
    "SVT5": (mechanisms.SVT5(EPSILON, threshold=1.0), [2.0] * 5 + [0.0] * 5, _ONES),
    "SVT6": (mechanisms.SVT6(EPSILON, threshold=1.0), _FALLING, _RISING),
    "Rappor": (mechanisms.Rappor(), [1], [0]),
    "OneTimeRappor": (mechanisms.OneTimeRappor(), [1], [0]),
    "PrefixSum": (mechanisms.PrefixSum(EPSILON), _ONES, _ZEROS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One row of the suite and its number of draws; `place` decides its seeds."""

    place: int
    row: str
    samples: int

    @property
    def label(self) -> str:
        return f"{self.row} {self.samples}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one measurement certified."""

    epsilon_lower: float
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All runs of one measurement: a line of the table and of the CSV."""

    row: str
    samples: int
    alpha: float
    runs: int
    lowest: float
    median: float
    highest: float
    above_true: int
    true_epsilon: float
    sniper_best: float | None
    sniper_200m: float
    beats_best: bool
    beats_200m: bool
    rule: str


def measures() -> list[Measure]:
    """List every row with every number of draws."""
    cells = [(row, samples) for samples in SIZES for row in ROWS]
    return [
        Measure(place=place, row=row, samples=samples) for place, (row, samples) in enumerate(cells)
    ]


def run(task: Task[Measure]) -> Outcome:
    """Measure once."""
    mechanism, data, neighbour = ROWS[task.cell.row]
    found = measure_epsilon(
        mechanism,
        np.array(data),
        np.array(neighbour),
        alpha=ALPHA,
        samples=task.cell.samples,
        rng=task.entropy,
    )
    return Outcome(epsilon_lower=found.epsilon_lower, rule=found.rule)


def theirs(row: str) -> tuple[float, float | None, float]:
    """Give the true epsilon, and DP-Sniper's best of three seeds and with 200 million draws.

    >>> theirs("Laplace"), theirs("SVT1")
    ((0.1, 0.086, 0.0976), (0.0878, None, 0.0858))
    """
    with THEIRS.open(newline="", encoding="utf-8") as file:
        (line,) = (line for line in csv.DictReader(file) if line["row"] == row)
    seeds = [float(line[f"sniper_{seed}"]) for seed in (1, 2, 3) if line[f"sniper_{seed}"]]
    return float(line["true_epsilon"]), max(seeds, default=None), float(line["sniper_200m"])


def summary(cell: Measure, outcomes: Sequence[Outcome]) -> Measured:
    """Sum up the runs of one measurement."""
    true_epsilon, best, large = theirs(cell.row)
    found = sorted(one.epsilon_lower for one in outcomes)
    median = float(np.median(found))
    return Measured(
        row=cell.row,
        samples=cell.samples,
        alpha=ALPHA,
        runs=len(found),
        lowest=found[0],
        median=median,
        highest=found[-1],
        # The published truth has three or four digits.
        above_true=sum(one > true_epsilon * (1.0 + 5e-4) for one in found),
        true_epsilon=true_epsilon,
        sniper_best=best,
        sniper_200m=large,
        beats_best=median > (best or 0.0),
        beats_200m=median > large,
        rule=max({one.rule for one in outcomes}, key=[one.rule for one in outcomes].count),
    )


def _epsilon(value: float | None) -> str:
    if value is None:
        return "none"
    return "inf" if math.isinf(value) else number(value, 4 if value < 1.0 else 2)


COLUMNS: list[Column[Measured]] = [
    Column("mechanism", lambda row: row.row, "left"),
    Column("draws", lambda row: f"{row.samples:,}"),
    Column("runs", lambda row: number(row.runs)),
    Column("certified\nmedian", lambda row: _epsilon(row.median)),
    Column("lowest", lambda row: _epsilon(row.lowest)),
    Column("highest", lambda row: _epsilon(row.highest)),
    Column("true", lambda row: _epsilon(row.true_epsilon)),
    Column("above\nit", lambda row: number(row.above_true)),
    Column("Sniper\nbest of 3", lambda row: _epsilon(row.sniper_best)),
    Column("Sniper\n200M", lambda row: _epsilon(row.sniper_200m)),
    Column("beats\n3", lambda row: yes_or_no(row.beats_best)),
    Column("beats\n200M", lambda row: yes_or_no(row.beats_200m)),
]
NOTES = (
    "certified at 90 % confidence, each row for itself: one bound in ten may lie above the truth.\n"
    "Sniper: 2.3 million draws (the best of three seeds) and 200 million (its paper)."
)

STUDY = Study(
    name="peers",
    title="The largest epsilon certified on DP-Sniper's suite",
    notes=NOTES,
    seed=SEED,
    cells=measures(),
    quick=[replace(cell, samples=200_000) for cell in measures()[: len(ROWS)]],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=COLUMNS,
    folder=RESULTS,
    draw=draw,
    runs=10,
    quick_runs=1,
    once=lambda cell: cell.samples == max(SIZES),
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
