"""Mechanisms that keep their claim, with odd outputs or with draws that depend on each other.

    python benchmarks/false_accusations.py --runs 400

Each mechanism sits exactly on its claim, output by output. An audit may refute it in a share alpha
of the runs, and no more. Draws that depend on each other bound nothing: there an audit should stop
with an error. To set an older version beside, first run its code, then the present one:

    PYTHONPATH=OLDER/src python benchmarks/false_accusations.py --runs 400 --as-before
    python benchmarks/false_accusations.py --runs 400
"""

from __future__ import annotations

import argparse
import csv
import enum
import math
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom
from study import Task, add_options, benchmark_main
from tables import Column, number, show, yes_or_no

import dpaudit
from dpaudit.errors import DependentDraws, InvalidOutput

SEED = 20_261_118
NAME, BEFORE = "false_accusations", "false_accusations_before"
RARE = 0.002  # the chance of the odd output, on either dataset
ALLOWED = 1e-3  # the chance that a share alpha of the runs, and no more, looks like too many
ONE_PAIR = dpaudit.pairs([([0], [1])])
RECORDS = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)

Rng = np.random.Generator


class Level(enum.IntEnum):
    """Two answers that are integers too."""

    LOW = 1
    HIGH = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """Randomized response at epsilon 1 between two values, and rarely something odd instead."""

    values: tuple[Any, Any]
    odd: Any

    def __call__(self, data: Any, size: int, rng: Rng) -> list[Any]:
        lies = rng.random(size) < 1 / (1 + math.e)
        found = [self.values[data[0] ^ int(lie)] for lie in lies]
        for place in np.flatnonzero(rng.random(size) < RARE):
            if isinstance(self.odd, Exception):
                raise self.odd
            found[place] = self.odd
        return found


ODD: dict[str, Answer] = {
    "IntEnum, rarely None": Answer((Level.LOW, Level.HIGH), None),
    "IntEnum, rarely an error": Answer((Level.LOW, Level.HIGH), ValueError("no answer")),
    "complex, rarely None": Answer((1j, 1 + 1j), None),
    "complex, rarely a number": Answer((1j, 1 + 1j), 0.5),
    "integers from 2^63, rarely a float": Answer((2**63, 2**63 + 1), 0.5),
    "integers above 2^53, rarely NaN": Answer((2**60, 2**60 + 1), math.nan),
    "vectors, rarely a longer one": Answer((np.zeros(2), np.ones(2)), np.zeros(3)),
}


def repeated(data: Any, size: int, rng: Rng) -> Any:
    """One noise for all draws of a call."""
    return np.full(size, len(data) + rng.laplace())


def beside_zeros(data: Any, size: int, rng: Rng) -> Any:
    """The same, as a user may write it after an error about the length."""
    return len(data) + rng.laplace() + np.zeros(size)


def walking(data: Any, size: int, rng: Rng) -> Any:
    """Laplace noise that changes once in a hundred draws."""
    noise, changes = rng.laplace(size=size), rng.random(size) < 0.01
    changes[:1] = True
    return len(data) + noise[np.maximum.accumulate(np.where(changes, np.arange(size), 0))]


def autoregressive(data: Any, size: int, rng: Rng) -> Any:
    """Normal noise with a correlation of 0.99 from draw to draw."""
    from scipy.signal import lfilter

    shocks = math.sqrt(1 - 0.99**2) * rng.normal(size=size)
    shocks[:1] = rng.normal(size=1)
    return len(data) + lfilter([1.0], [1.0, -0.99], shocks)


def shared(data: Any, size: int, rng: Rng) -> Any:
    """Laplace noise for each draw, and normal noise for all of a call."""
    return len(data) + rng.laplace(size=size) + rng.normal()


class Counting:
    """Laplace noise for each draw, and the number of the call beside it."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Any, size: int, rng: Rng) -> list[Any]:
        self.calls += 1
        return [(len(data) + noise, self.calls) for noise in rng.laplace(size=size).tolist()]


DEPENDENT: dict[str, Callable[[], Any]] = {
    "one noise a call": lambda: repeated,
    "one noise a call, beside zeros": lambda: beside_zeros,
    "noise that changes rarely": lambda: walking,
    "autoregressive noise": lambda: autoregressive,
    "one more noise a call": lambda: shared,
    "the number of the call": Counting,
}

REFUTED, STOPPED, FAILED, NEITHER = "refuted", "stopped", "failed", "not refuted"


def _audited(
    mechanism: Any, neighbours: Any, task: Task[Asked], claim: Any = None, **more: Any
) -> str:
    claim = dpaudit.PureDP(1.0) if claim is None else claim
    more |= {"alpha": task.cell.alpha, "rng": task.entropy}
    found = dpaudit.audit(mechanism, claim, neighbours, **more)
    return REFUTED if found.refuted else NEITHER


def _measured(mechanism: Any, data: Any, neighbour: Any, task: Task[Asked]) -> str:
    found = dpaudit.measure_epsilon(
        mechanism, data, neighbour, alpha=task.cell.alpha, samples=4_000, rng=task.entropy
    )
    return REFUTED if found.epsilon_lower > 1.0 else NEITHER


def _compared(mechanism: Any, task: Task[Asked], tester: Any = None) -> str:
    rng = np.random.default_rng(task.entropy)
    one = dpaudit.one_at_a_time(lambda data, generator: mechanism(data, 1, generator)[0])
    found = dpaudit.compare_samples(
        one([0], 1_000, rng),
        one([1], 1_000, rng),
        dpaudit.PureDP(1.0),
        tester=tester,
        alpha=task.cell.alpha,
        rng=task.entropy,
    )
    return REFUTED if found.refuted else NEITHER


def _of_files(task: Task[Asked]) -> str:
    """Fair coin flips in two files, and a line of two words in one of them."""
    from click.testing import CliRunner

    from dpaudit.cli import main as command

    rng = np.random.default_rng(task.entropy)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("first.txt", "second.txt")]
        for path in paths:
            path.write_text("\n".join(rng.choice(["heads", "tails"], size=600)))
        with paths[int(rng.integers(2))].open("a") as file:
            file.write("\nheads tails")
        options = ["--claim", "eps=1", "--alpha", str(task.cell.alpha), "--seed", str(task.entropy)]
        code = CliRunner().invoke(command, ["samples", *map(str, paths), *options]).exit_code
    return REFUTED if code == 1 else NEITHER if code in (0, 3) else STOPPED


def _histogram(mechanism: Any, neighbours: Any, task: Task[Asked]) -> str:
    tester = dpaudit.testers.Trials(dpaudit.testers.HistogramTester(), count=2)
    return _audited(mechanism, neighbours, task, tester=tester, samples=6_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One row: a mechanism and the way it is asked; `place` decides its seeds."""

    place: int
    mechanism: str
    asked_by: str
    alpha: float

    @property
    def label(self) -> str:
        return f"{self.mechanism} {self.asked_by}"


Way = Callable[[str, Task[Asked]], str]
ODD_WAYS: dict[str, Way] = {
    "audit": lambda name, task: _audited(ODD[name], ONE_PAIR, task, samples=3_000),
    "audit, histogram": lambda name, task: _histogram(ODD[name], ONE_PAIR, task),
    "compare_samples": lambda name, task: _compared(ODD[name], task),
    "compare_samples, histogram": lambda name, task: _compared(
        ODD[name], task, dpaudit.testers.HistogramTester()
    ),
    "measure_epsilon": lambda name, task: _measured(ODD[name], [0], [1], task),
}
DEPENDENT_WAYS: dict[str, Way] = {
    "audit": lambda name, task: _audited(
        DEPENDENT[name](),
        RECORDS,
        task,
        dpaudit.GaussianDP(1.0) if name.startswith("auto") else None,
        samples=10_000,
    ),
    "audit, histogram": lambda name, task: _histogram(DEPENDENT[name](), RECORDS, task),
    "measure_epsilon": lambda name, task: _measured(DEPENDENT[name](), [0.0], [], task),
}
# Samples in hand have no calls, and errors are no samples; normal noise has no pure epsilon.
_LEFT_OUT = {("IntEnum, rarely an error", way) for way in ODD_WAYS if way.startswith("compare")} | {
    ("autoregressive noise", way) for way in ("audit, histogram", "measure_epsilon")
}
ROWS: dict[tuple[str, str], Way] = {
    **{(name, way): ask for name in ODD for way, ask in ODD_WAYS.items()},
    ("coin flips, a line of two words", "dpaudit samples"): lambda _, task: _of_files(task),
    **{(name, way): ask for name in DEPENDENT for way, ask in DEPENDENT_WAYS.items()},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """All runs of a row: a line of the table and of the CSV."""

    mechanism: str
    asked_by: str
    alpha: float
    runs: int
    share_refuted_before: float | None
    share_refuted: float
    share_stopped: float
    share_failed: float
    most_allowed: int
    holds: bool


def accuse(task: Task[Asked]) -> str:
    """Ask once; "stopped" where an error says that outputs or draws cannot be used, or "failed"."""
    stopping = (DependentDraws, InvalidOutput)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpaudit.HealthWarning)
        try:
            return ROWS[task.cell.mechanism, task.cell.asked_by](task.cell.mechanism, task)
        except stopping:
            return STOPPED
        except Exception:
            return FAILED


def summary(cell: Asked, outcomes: Sequence[str], before: float | None) -> Accused:
    """Sum up the runs of a row."""
    runs, refuted = len(outcomes), outcomes.count(REFUTED)
    most = int(binom.isf(ALLOWED, runs, cell.alpha))
    return Accused(
        mechanism=cell.mechanism,
        asked_by=cell.asked_by,
        alpha=cell.alpha,
        runs=runs,
        share_refuted_before=before,
        share_refuted=refuted / runs,
        share_stopped=outcomes.count(STOPPED) / runs,
        share_failed=outcomes.count(FAILED) / runs,
        most_allowed=most,
        holds=refuted <= most and FAILED not in outcomes,
    )


COLUMNS: list[Column[Accused]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("asked by", lambda row: row.asked_by, "left"),
    Column("before\n%", lambda row: number(_percent(row.share_refuted_before), 1)),
    Column("refuted\n%", lambda row: number(_percent(row.share_refuted), 1)),
    Column("stopped\n%", lambda row: number(_percent(row.share_stopped), 1)),
    Column("holds", lambda row: yes_or_no(row.holds)),
]
NOTES = (
    "refuted: of the runs, although the claim holds; at most alpha is allowed (holds: binomial,\n"
    "at 1e-3). stopped: an error said that outputs or draws cannot be used. before: by older code."
)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def shares_before(folder: Path) -> dict[tuple[str, str], float]:
    """What the older code refuted, row by row, where it was run."""
    path = folder / f"{BEFORE}.csv"
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return {(line["mechanism"], line["asked_by"]): float(line["share_refuted"]) for line in lines}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    parser = argparse.ArgumentParser(description="Odd outputs and dependent draws.")
    parser.add_argument("--runs", type=int, default=400, help="of each row")
    parser.add_argument("--alpha", type=float, default=0.05, help="of each run")
    add_options(parser)
    parser.add_argument(
        "--as-before", action="store_true", help="keep the shares for the column 'before'"
    )
    options = parser.parse_args(arguments)
    before = {} if options.as_before else shares_before(options.results)
    title = f"Claims that hold, alpha {options.alpha:g}, {options.runs} runs each"
    return benchmark_main(
        parser,
        options,
        [
            Asked(place=place, mechanism=row[0], asked_by=row[1], alpha=options.alpha)
            for place, row in enumerate(ROWS)
            if row not in _LEFT_OUT
        ],
        name=BEFORE if options.as_before else NAME,
        seed=SEED,
        runs=lambda cell: options.runs,
        run=accuse,
        summary=lambda cell, outcomes: summary(
            cell, outcomes, before.get((cell.mechanism, cell.asked_by))
        ),
        report=lambda rows: show(title, COLUMNS, rows, NOTES),
    )


if __name__ == "__main__":
    raise SystemExit(main())
