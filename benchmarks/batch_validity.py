"""How often the batch testers accuse a mechanism that keeps its claim with nothing to spare.

    python benchmarks/batch_validity.py --runs 400 --workers 2

Every run is an audit of 50 trials, each in both directions (the paper's Algorithm 1), that stops as
soon as a trial refutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mechanisms import NormalCount
from study import Task, add_options, benchmark_main
from tables import Column, number, share_allowed, show, yes_or_no

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
# Outputs of either side in a trial: enough for the first trial to be able to refute epsilon = 1.
TESTERS: tuple[tuple[str, BatchTester, int], ...] = (
    ("histogram", HistogramTester(), 400),
    ("hockey-stick", HockeyStickTester(), 400),
    ("renyi", RenyiTester(), 400),
    ("mmd", MMDTester(), 400),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """An honest mechanism and one tester; `place` decides its seeds."""

    place: int
    tester: str
    mechanism: Callable[..., object]
    claim: Claim
    trials: int
    alpha: float

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


def examined(trials: int, alpha: float) -> list[Examined]:
    """List every tester with every mechanism that it can examine."""
    lines = [
        (name, mechanism, claim)
        for name, _, _ in TESTERS
        for mechanism, claim in honest_mechanisms(name)
    ]
    return [
        Examined(
            place=place,
            tester=name,
            mechanism=mechanism,
            claim=claim,
            trials=trials,
            alpha=alpha,
        )
        for place, (name, mechanism, claim) in enumerate(lines)
    ]


def accuse(task: Task[Examined]) -> bool:
    """Audit an honest mechanism; whether it was refuted."""
    cell = task.cell
    _, tester, draws = next(entry for entry in TESTERS if entry[0] == cell.tester)
    bit = isinstance(cell.mechanism, RandomizedResponse)
    pair: tuple[list[float], list[float]] = ([0], [1]) if bit else ([1.0], [])
    kept = 20 / 19  # a twentieth of the budget is for certifying
    audit = dpaudit.audit(
        cell.mechanism,
        cell.claim,
        dpaudit.pairs([pair] * cell.trials),
        tester=Trials(tester),
        alpha=cell.alpha,
        samples=math.ceil(2 * draws * cell.trials * kept),
        rng=task.entropy,
    )
    return audit.refuted


def summary(cell: Examined, outcomes: Sequence[bool]) -> Accusations:
    """Sum up the runs. Luck gets three standard errors of a share alpha."""
    runs, refuted = len(outcomes), sum(outcomes)
    share, allowed = refuted / runs, share_allowed(cell.alpha, runs)
    return Accusations(
        tester=cell.tester,
        mechanism=cell.name,
        claim=str(cell.claim),
        alpha=cell.alpha,
        draws_a_side=next(draws for name, _, draws in TESTERS if name == cell.tester),
        trials=cell.trials,
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
    parser = argparse.ArgumentParser(description="False accusations by the batch testers.")
    parser.add_argument("--runs", type=int, default=400, help="of each line")
    parser.add_argument("--trials", type=int, default=50, help="of each run, in both directions")
    parser.add_argument("--alpha", type=float, default=0.05, help="of each run")
    add_options(parser)
    options = parser.parse_args(arguments)
    title = f"Honest mechanisms, alpha {options.alpha:g}"
    return benchmark_main(
        parser,
        options,
        examined(options.trials, options.alpha),
        name="batch_validity",
        seed=SEED,
        runs=lambda cell: options.runs,
        run=accuse,
        summary=summary,
        report=lambda rows: show(title, COLUMNS, rows, NOTES),
    )


if __name__ == "__main__":
    raise SystemExit(main())
