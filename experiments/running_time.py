"""How long one trial takes, by tester and draws, on CPU and GPU.

    python experiments/running_time.py [--quick | --figure-only]
    python experiments/running_time.py --device cuda

This is the experiment "Running time" of DP-Auditorium (Kong, Medina, Ribero and Syed 2023, section
6.4): NonDPLaplace1 on one pair, the draws and both directions included. The bets are timed until
they refute, and to the end of the draws. The second command is for a machine with a GPU: it times
the testers that train a network on both its processors, into a CSV of its own. What needs torch or
a GPU that is not there stays in the table as "not measured here".
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.util
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from batch_speed import MOST_SECONDS, NEURAL, tester_named
from running_time_figure import GPU, draw
from study import Study, Task, study_main
from tables import Column, mean_and_error, number
from verdicts import Ended, ended

from dpaudit import BettingTester
from dpaudit.claims import PureDP
from dpaudit.search import as_finder
from dpaudit.testers import Trials
from dpaudit.zoo import NonDPLaplace1, pair_of

SEED = 20_261_010
RESULTS = Path(__file__).parent / "results"
ALPHA = 0.05
EPSILON = 1.0
SIZES = (50_000, 100_000, 500_000)  # draws of a side
WARM_UP = 10_000
PAIR = pair_of([0], [0, 1])
BETS = {
    "betting, until refuted": BettingTester(),
    "betting, all draws": BettingTester(after_refuting="sharpen"),
}
CORE = (*BETS, *MOST_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One tester and its number of draws of a side; `place` decides its seeds."""

    place: int
    tester: str
    device: str
    draws: int

    @property
    def label(self) -> str:
        return f"{self.tester} {self.device} {self.draws}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How long one trial took; None where torch or the device is lacking."""

    seconds: float | None
    threads: int
    refuted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """All runs of one trial: a line of the table and of the CSV."""

    tester: str
    device: str
    threads: int
    draws_a_side: int
    runs: int
    refuted: int
    mean_seconds: float | None
    standard_error: float | None


def trials(device: str) -> list[Trial]:
    """List what is timed: everything on a CPU; beside a GPU the testers with a network alone."""
    if device == "cpu":
        chosen = [(name, "cpu") for name in (*CORE, *NEURAL)]
    else:
        chosen = [(name, each) for name in NEURAL for each in ("cpu", device)]
    cells = [(name, each, draws) for name, each in chosen for draws in SIZES]
    return [
        Trial(place=place, tester=name, device=each, draws=draws)
        for place, (name, each, draws) in enumerate(cells)
    ]


def run(task: Task[Trial]) -> Outcome:
    """Time one trial; before the first of its kind a small one loads what is needed."""
    cell = task.cell
    if cell.tester in NEURAL and not _can_train(cell.device):
        return Outcome(seconds=None, threads=0, refuted=False)
    _warm_up(cell.tester, cell.device)
    threads = 1
    with contextlib.ExitStack() as stack:
        if cell.tester in NEURAL:
            threads = importlib.import_module("torch").get_num_threads()
        else:
            pools = importlib.import_module("threadpoolctl")  # comes with scikit-learn
            stack.enter_context(pools.threadpool_limits(1))
        start = time.perf_counter()
        found = _try(cell.tester, cell.device, cell.draws, entropy=task.entropy)
        seconds = time.perf_counter() - start
    return Outcome(seconds=seconds, threads=threads, refuted=found.refuted)


def _can_train(device: str) -> bool:
    """Whether torch is installed, and has the device."""
    if importlib.util.find_spec("torch") is None:
        return False
    return device == "cpu" or bool(importlib.import_module("torch").cuda.is_available())


@functools.cache
def _warm_up(tester: str, device: str) -> None:
    _try(tester, device, WARM_UP, entropy=0)


def _try(name: str, device: str, draws: int, *, entropy: int) -> Ended:
    bets = BETS.get(name)
    return ended(
        NonDPLaplace1(EPSILON),
        PureDP(EPSILON),
        as_finder([PAIR], "auto", np.random.default_rng(0)),
        Trials(tester_named(name, device)) if bets is None else bets,
        alpha=ALPHA,
        samples=2 * draws,
        entropy=entropy,
    )


def summary(cell: Trial, outcomes: Sequence[Outcome]) -> Timed:
    """Sum up the runs of one trial."""
    seconds = [one.seconds for one in outcomes if one.seconds is not None]
    mean, error = mean_and_error(seconds) if seconds else (None, None)
    return Timed(
        tester=cell.tester,
        device=cell.device,
        threads=outcomes[0].threads,
        draws_a_side=cell.draws,
        runs=len(seconds),
        refuted=sum(one.refuted for one in outcomes),
        mean_seconds=mean,
        standard_error=error,
    )


COLUMNS: list[Column[Timed]] = [
    Column("tester", lambda row: row.tester, "left"),
    Column("device", lambda row: row.device, "left"),
    Column("threads", lambda row: number(row.threads or None)),
    Column("draws\na side", lambda row: f"{row.draws_a_side:,}"),
    Column("runs", lambda row: number(row.runs)),
    Column("refuted", lambda row: number(row.refuted if row.runs else None)),
    Column(
        "seconds\nmean",
        lambda row: number(row.mean_seconds, 3) if row.runs else "not measured here",
    ),
    Column("std.\nerror", lambda row: number(row.standard_error, 3)),
]
NOTES = "seconds: of one trial, its draws and both directions included; measured one by one."


def study(device: str) -> Study[Trial, Outcome, Timed]:
    """Give the study of a device; a GPU's has a CSV of its own."""
    return Study(
        name="running_time" if device == "cpu" else GPU,
        title="Seconds of one trial on NonDPLaplace1",
        notes=NOTES,
        seed=SEED,
        cells=trials(device),
        quick=[trial for trial in trials(device) if trial.draws == SIZES[0]],
        run=run,
        outcome=Outcome,
        summary=summary,
        columns=COLUMNS,
        folder=RESULTS,
        draw=draw,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Time the trials of a device, one after the other unless told otherwise."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options, others = parser.parse_known_args(arguments)
    return study_main(study(options.device), ["--workers", "1", *others])


if __name__ == "__main__":
    raise SystemExit(main())
