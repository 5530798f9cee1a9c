"""Trials and draws until a bug is found, by finder, mechanism and tester, beside the paper's.

    python experiments/table2.py [--quick | --figure-only]

This is the table "Average number of trials to find a bug" of DP-Auditorium (Kong, Medina, Ribero
and Syed 2023), made again with as many draws and an alpha that holds for the whole run. A run ends
when the claim is refuted, after 50 pairs, or when its draws are used up; not found counts as 50
trials. The bets stop when they are sure.
"""

from __future__ import annotations

import csv
import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from study import Study, Task, study_main
from table2_figure import draw
from tables import Column, mean_and_error, number
from verdicts import ended

from dpaudit import BettingTester
from dpaudit import zoo as mechanisms
from dpaudit.claims import ApproxDP, Claim, PureDP, RenyiDP
from dpaudit.domains import floats
from dpaudit.neighbours import Pair, Relation, add_or_remove_one, query_answers
from dpaudit.search import Finder, as_finder
from dpaudit.testers import (
    BatchTester,
    HistogramTester,
    HockeyStickTester,
    MMDTester,
    RenyiTester,
    Trials,
)

SEED = 20_260_606
HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAPER = HERE / "reference" / "table2_trials.csv"
ALPHA = 0.05
TRIALS = 50
TRIAL_SIZE = 500_000  # draws of each side in a trial, as in the paper
SAMPLES = 2 * TRIAL_SIZE * TRIALS + 80_000  # of a run; what is over is kept to certify
BETTING_SAMPLES = 2 * TRIAL_SIZE  # of a run of bets: as many as one trial of the others
SPARSE_SAMPLES = 100_000  # of a run of bets on sparse vectors
QUICK_SAMPLES = 20_000
EPSILON = 0.01
DELTA = 0.01  # of Gaussian noise
ORDER = 1.5  # of a Rényi divergence

# Our name of a finder, and the paper's.
FINDERS: dict[str, str | None] = {
    "gp": "gaussian_process",
    "random": "random",
    "grid": "grid",
    "auto": None,
}
MEANS = ("NonDPLaplace1", "NonDPLaplace2", "NonDPGaussian1", "NonDPGaussian2")
MECHANISMS = (*MEANS, "SVT3", "SVT4", "SVT5", "SVT6")
# Fifty trials of a million sparse vectors take minutes, and no tester of the paper found anything:
# so they are run once, with one finder, unless the tester bets.
SPARSE_FINDERS = ("random",)
# Our name of a tester, what it is (None bets), and the paper's name.
TESTERS: dict[str, tuple[BatchTester | None, str | None]] = {
    "betting": (None, None),
    "histogram": (HistogramTester(), "Histogram"),
    "renyi": (RenyiTester(order=ORDER), "Renyi"),
    "mmd": (MMDTester(), "MMD"),
    "hockey-stick": (HockeyStickTester(), "HockeyStick"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One mechanism searched by one finder and tester; `place` decides its seeds."""

    place: int
    finder: str
    mechanism: str
    tester: str
    samples: int = SAMPLES

    @property
    def label(self) -> str:
        return f"{self.finder} {self.mechanism} {self.tester}"

    @property
    def claim(self) -> Claim:
        """Pure DP; Gaussian noise claims a delta besides, or a Rényi divergence."""
        if "Gaussian" not in self.mechanism:
            return PureDP(EPSILON)
        return RenyiDP(ORDER, EPSILON) if self.tester == "renyi" else ApproxDP(EPSILON, DELTA)

    @property
    def neighbours(self) -> Relation:
        if self.mechanism in MEANS:
            return add_or_remove_one(floats(0, 1), min_records=1)
        return query_answers(10, sensitivity=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run ended; the draws are those made until then."""

    found: bool
    trials: int
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """All runs of one search: a line of the table and of the CSV.

    A run that found nothing counts as 50 trials; the draws are those of the runs that did.
    """

    finder: str
    mechanism: str
    claim: str
    tester: str
    alpha: float
    samples: int
    runs: int
    found: int
    mean_trials: float
    mean_draws: float | None
    paper_trials: float | None


class AtMost:
    """A finder that proposes at most `most` pairs."""

    def __init__(self, finder: Finder, most: int) -> None:
        self._finder = finder
        self._left = most

    def ask(self) -> Pair | None:
        if self._left == 0:
            return None
        self._left -= 1
        return self._finder.ask()

    def tell(self, pair: Pair, score: float) -> None:
        self._finder.tell(pair, score)


def searches() -> list[Search]:
    """List every finder on every mechanism with every tester."""
    cells = [
        (finder, mechanism, tester)
        for finder in FINDERS
        for mechanism in MECHANISMS
        for tester in TESTERS
    ]
    return [
        Search(
            place=place,
            finder=finder,
            mechanism=mechanism,
            tester=tester,
            samples=_samples(mechanism, tester),
        )
        for place, (finder, mechanism, tester) in enumerate(cells)
        if tester == "betting" or mechanism in MEANS or finder in SPARSE_FINDERS
    ]


def _samples(mechanism: str, tester: str) -> int:
    if tester != "betting":
        return SAMPLES
    return BETTING_SAMPLES if mechanism in MEANS else SPARSE_SAMPLES


def paper_trials(finder: str, mechanism: str, tester: str) -> float | None:
    """Give the paper's figure; None where it has none.

    >>> paper_trials("gp", "NonDPLaplace2", "renyi"), paper_trials("grid", "SVT3", "histogram")
    (9.5, None)
    """
    _, column = TESTERS[tester]
    with PAPER.open(newline="", encoding="utf-8") as file:
        lines = {(line["finder"], line["mechanism"]): line for line in csv.DictReader(file)}
    line = lines.get((FINDERS[finder] or "", mechanism))
    if line is None or column is None or line[column] == "":
        return None
    return float(line[column])


def run(task: Task[Search]) -> Outcome:
    """Search until the claim is refuted, or until pairs or draws are used up."""
    search = task.cell
    rng = np.random.default_rng(np.random.SeedSequence(task.entropy, spawn_key=(2,)))
    finder = as_finder(search.neighbours, search.finder, rng)
    batch, _ = TESTERS[search.tester]
    how = ended(
        getattr(mechanisms, search.mechanism)(EPSILON),
        search.claim,
        AtMost(finder, TRIALS) if batch is None else finder,
        BettingTester() if batch is None else Trials(batch, count=TRIALS),
        alpha=ALPHA,
        samples=search.samples,
        entropy=task.entropy,
    )
    return Outcome(found=how.refuted, trials=how.pairs if how.refuted else TRIALS, draws=how.draws)


def summary(search: Search, outcomes: Sequence[Outcome]) -> Searched:
    """Sum up the runs of one search."""
    found = [one for one in outcomes if one.found]
    return Searched(
        finder=search.finder,
        mechanism=search.mechanism,
        claim=str(search.claim),
        tester=search.tester,
        alpha=ALPHA,
        samples=search.samples,
        runs=len(outcomes),
        found=len(found),
        mean_trials=mean_and_error([one.trials for one in outcomes])[0],
        mean_draws=mean_and_error([one.draws for one in found])[0] if found else None,
        paper_trials=paper_trials(search.finder, search.mechanism, search.tester),
    )


COLUMNS: list[Column[Searched]] = [
    Column("finder", lambda row: row.finder, "left"),
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("tester", lambda row: row.tester, "left"),
    Column("runs", lambda row: number(row.runs)),
    Column("found", lambda row: number(row.found)),
    Column("trials\nmean", lambda row: number(row.mean_trials, 1)),
    Column("paper", lambda row: number(row.paper_trials, 1)),
    Column("draws\nmean", lambda row: number(row.mean_draws)),
]
NOTES = (
    "trials: pairs tried until found, 50 where nothing was; draws: of the runs that found it.\n"
    "A trial of a batch tester draws 1 000 000 outputs, as in the paper; a run of bets no more.\n"
    "Sparse vectors with batch testers are run once."
)


STUDY = Study(
    name="table2",
    title=f"Trials until found, alpha {ALPHA:g}",
    notes=NOTES,
    seed=SEED,
    cells=searches(),
    quick=[
        dataclasses.replace(search, samples=QUICK_SAMPLES)
        for search in searches()
        if search.finder == "auto" and search.mechanism in MEANS[:2]
    ],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=COLUMNS,
    folder=RESULTS,
    draw=draw,
    once=lambda search: search.mechanism not in MEANS and search.tester != "betting",
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
