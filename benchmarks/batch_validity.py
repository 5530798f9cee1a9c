"""How often the batch testers accuse a mechanism that keeps its claim with nothing to spare.

    python benchmarks/batch_validity.py --runs 400 --workers 2

Every run is an audit of 50 trials, each in both directions (the paper's Algorithm 1), that stops as
soon as a trial refutes.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from many_runs import INTERRUPTED, entropy, run_all
from normal_count import NormalCount
from tables import RESULTS, Column, number, save, show, yes_or_no

import dpaudit
from dpaudit import ApproxDP, GaussianDP, PureDP
from dpaudit.claims import Claim
from dpaudit.testers import (
    BatchTester,
    HistogramTester,
    HockeyStickTester,
    MMDTester,
    RenyiTester,
    Trials,
)
from dpaudit.zoo import GaussianCount, LaplaceCount, RandomizedResponse

SEED = 20_260_404
EPSILONS = (0.01, 0.1, 1.0)
ERRORS = 3.0  # standard errors that luck may add
# Outputs of either side in a trial: enough for the first trial to be able to refute epsilon = 1.
TESTERS: tuple[tuple[str, BatchTester, int], ...] = (
    ("histogram", HistogramTester(), 400),
    ("hockey-stick", HockeyStickTester(), 400),
    ("renyi", RenyiTester(), 400),
    ("mmd", MMDTester(), 400),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One run: an audit of an honest mechanism by one tester; `row` counts the lines."""

    row: int
    tester: str
    mechanism: Callable[..., object]
    claim: Claim
    trials: int
    alpha: float
    entropy: int

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__

    @property
    def label(self) -> str:
        return f"{self.tester} {self.name} {self.claim}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accusations:
    """One tester on one mechanism: a line of the table and of the CSV."""

    tester: str
    mechanism: str
    claim: str
    alpha: float
    draws_a_side: int
    trials: int
    runs: int
    refuted: int
    share_refuted: float
    standard_error: float
    share_allowed: float
    holds: bool


def honest_mechanisms(tester: str) -> list[tuple[Callable[..., object], Claim]]:
    """Mechanisms exactly on their claims; a Rényi divergence says nothing of (epsilon, delta)."""
    rows: list[tuple[Callable[..., object], Claim]] = []
    for epsilon in EPSILONS:
        rows.append((LaplaceCount(epsilon), PureDP(epsilon)))
        rows.append((RandomizedResponse(epsilon), PureDP(epsilon)))
    if tester == "renyi":
        return [*rows, (NormalCount(), GaussianDP(1.0))]
    return [*rows, (GaussianCount(0.5, 0.05), ApproxDP(0.5, 0.05))]


def accuse(task: Task) -> bool:
    """Audit an honest mechanism; whether it was refuted."""
    _, tester, draws = next(entry for entry in TESTERS if entry[0] == task.tester)
    bit = isinstance(task.mechanism, RandomizedResponse)
    pair: tuple[list[float], list[float]] = ([0], [1]) if bit else ([1.0], [])
    kept = 20 / 19  # a twentieth of the budget is for certifying
    audit = dpaudit.audit(
        task.mechanism,
        task.claim,
        dpaudit.pairs([pair] * task.trials),
        tester=Trials(tester),
        alpha=task.alpha,
        samples=math.ceil(2 * draws * task.trials * kept),
        rng=task.entropy,
    )
    return audit.refuted


def all_tasks(runs: int, trials: int, alpha: float) -> list[Task]:
    """Every run of every line, with a seed of its own."""
    lines = [
        (name, mechanism, claim)
        for name, _, _ in TESTERS
        for mechanism, claim in honest_mechanisms(name)
    ]
    return [
        Task(
            row=row,
            tester=name,
            mechanism=mechanism,
            claim=claim,
            trials=trials,
            alpha=alpha,
            entropy=entropy(SEED, row, run),
        )
        for row, (name, mechanism, claim) in enumerate(lines)
        for run in range(runs)
    ]


def summary(task: Task, outcomes: Sequence[bool]) -> Accusations:
    """Sum up the runs. Luck gets three standard errors of a share alpha."""
    runs, refuted = len(outcomes), sum(outcomes)
    share = refuted / runs
    allowed = task.alpha + ERRORS * math.sqrt(task.alpha * (1 - task.alpha) / runs)
    return Accusations(
        tester=task.tester,
        mechanism=task.name,
        claim=str(task.claim),
        alpha=task.alpha,
        draws_a_side=next(draws for name, _, draws in TESTERS if name == task.tester),
        trials=task.trials,
        runs=runs,
        refuted=refuted,
        share_refuted=share,
        standard_error=math.sqrt(share * (1 - share) / runs),
        share_allowed=allowed,
        holds=share <= allowed,
    )


COLUMNS: list[Column[Accusations]] = [
    Column("tester", lambda row: row.tester, "left"),
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("draws\na side", lambda row: number(row.draws_a_side)),
    Column("trials", lambda row: number(row.trials)),
    Column("runs", lambda row: number(row.runs)),
    Column("share\n%", lambda row: number(100 * row.share_refuted, 2)),
    Column("std.\nerror", lambda row: number(100 * row.standard_error, 2)),
    Column("holds", lambda row: yes_or_no(row.holds)),
]
NOTES = "share: of the runs that refuted; holds: it is at most alpha within three standard errors."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    tasks = [
        task
        for task in all_tasks(options.runs, options.trials, options.alpha)
        if options.rows is None or any(text in task.label for text in options.rows)
    ]
    if not tasks:
        parser.error(f"no row has any of {options.rows} in its tester, mechanism or claim.")
    finished = run_all(accuse, tasks, workers=options.workers, title="batch validity")
    outcomes: dict[int, list[bool]] = defaultdict(list)
    first: dict[int, Task] = {}
    for task, refuted in finished.results:
        outcomes[task.row].append(refuted)
        first.setdefault(task.row, task)
    rows = [summary(first[row], outcomes[row]) for row in sorted(outcomes)]
    if rows:
        show(f"Honest mechanisms, alpha {options.alpha:g}", COLUMNS, rows, NOTES)
    complete = not finished.interrupted and options.rows is None
    path = save(rows, folder=options.results, name="batch_validity", complete=complete)
    print("Nothing was finished." if path is None else f"Written to {path}")
    return INTERRUPTED if finished.interrupted else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="False accusations by the batch testers.")
    parser.add_argument("--runs", type=int, default=400, help="of each line")
    parser.add_argument("--trials", type=int, default=50, help="of each run, in both directions")
    parser.add_argument("--alpha", type=float, default=0.05, help="of each run")
    parser.add_argument(
        "--rows", nargs="+", metavar="TEXT", help="only rows with such a text in their names"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the CSV")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
