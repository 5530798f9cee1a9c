"""How much faster workers make an audit, and how much longer a store: side by side, in turns.

    python benchmarks/workers.py

A draw of the slow mechanism computes for 5 ms. Run it on an idle machine with two cores or more.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tables import RESULTS, Column, number, save, show

import dpaudit
from dpaudit.arrays import Floats

SEED = 20_261_119
DRAW_SECONDS = 0.005
SLOW_DRAWS, QUICK_DRAWS = 1_500, 3_000_000
PAIR = dpaudit.pairs([([0.5], [])])
RECORDS = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=5)


@dataclass(frozen=True, slots=True)
class SlowCount:
    """A Laplace count that computes for some time at every draw."""

    seconds: float = DRAW_SECONDS

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        end = time.thread_time() + size * self.seconds
        while time.thread_time() < end:
            pass
        return len(data) + rng.laplace(size=size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An audit in two ways: a line of the table and of the CSV."""

    audit: str
    way: str
    draws: int
    seconds_alone: float
    seconds: float
    ratio: float
    wanted: str


def once(mechanism: Any, neighbours: Any, samples: int, **where: Any) -> tuple[float, float]:
    """The seconds of an audit, and its log-wealth."""
    start = time.perf_counter()
    found = dpaudit.audit(
        mechanism, dpaudit.PureDP(1.0), neighbours, samples=samples, rng=SEED, **where
    )
    return time.perf_counter() - start, found.evidence.log_wealth


def compared(
    name: str, way: str, wanted: str, asked: tuple[Any, Any, int], options: Any, repeats: int
) -> Compared:
    """Both ways in turns; the ratio is the median of those of the turns."""
    taken: list[tuple[float, float]] = []
    for turn in range(repeats):
        found = {}
        for place in (turn % 2, 1 - turn % 2):
            with options() if place else nullcontext({}) as where:
                found[place] = once(*asked, **where)
        assert found[0][1] == found[1][1], "the audits differ"
        taken.append((found[0][0], found[1][0]))
    alone, other = (statistics.median(each) for each in zip(*taken, strict=True))
    ratio = statistics.median(
        before / now if wanted.startswith("at least") else now / before for before, now in taken
    )
    return Compared(
        audit=name,
        way=way,
        draws=asked[2],
        seconds_alone=alone,
        seconds=other,
        ratio=ratio,
        wanted=wanted,
    )


@contextmanager
def cluster() -> Iterator[Any]:
    """A client of a scheduler and two workers, each a process of its own on this machine."""
    from distributed import Client

    with tempfile.TemporaryDirectory() as folder, ExitStack() as ended:
        file = Path(folder) / "scheduler.json"
        common = ["--no-dashboard", "--scheduler-file", str(file)]
        commands = [["scheduler", "--host", "127.0.0.1", "--port", "0", *common]]
        commands += [["worker", "--nthreads", "1", "--no-nanny", *common]] * 2
        for command in commands:
            start = f"from distributed.cli.dask_{command[0]} import main; main()"
            process = subprocess.Popen(
                [sys.executable, "-c", start, *command[1:]],
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            ended.callback(process.wait)
            ended.callback(process.kill)
        while not file.exists():
            time.sleep(0.1)
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2)
            yield client


def rows(repeats: int) -> Iterator[Compared]:
    """Measure everything, line by line."""
    slow_pair = (SlowCount(), PAIR, SLOW_DRAWS)
    slow_search = (SlowCount(), RECORDS, SLOW_DRAWS)
    quick = (SlowCount(0.0), PAIR, QUICK_DRAWS)

    @contextmanager
    def stored() -> Iterator[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            yield {"store": Path(folder) / "audit.sqlite"}

    def processes() -> Any:
        from dpaudit.mechanism.processes import OwnProcesses

        @contextmanager
        def given() -> Iterator[dict[str, Any]]:
            with OwnProcesses(2) as pool:
                list(pool.map(abs, range(4)))  # they are there
                yield {"executor": pool}

        return given()

    def line(name: str, way: str, wanted: str, asked: Any, options: Callable[[], Any]) -> Compared:
        print(f"{name}, {way}", file=sys.stderr, flush=True)
        return compared(name, way, wanted, asked, options, repeats)

    yield line("a pair, 5 ms a draw", "2 processes", "at least 1.8", slow_pair, processes)
    yield line("a search, 5 ms a draw", "2 processes", "at least 1.7", slow_search, processes)
    with cluster() as client:

        @contextmanager
        def on_cluster() -> Iterator[dict[str, Any]]:
            yield {"executor": client}

        yield line("a pair, 5 ms a draw", "Dask, 2 workers", "at least 1.6", slow_pair, on_cluster)
        yield line(
            "a search, 5 ms a draw", "Dask, 2 workers", "at least 1.6", slow_search, on_cluster
        )
    yield line("a pair, 5 ms a draw", "with a store", "at most 1.02", slow_pair, stored)
    yield line("a pair, quick", "with a store", "at most 1.15", quick, stored)


COLUMNS: list[Column[Compared]] = [
    Column("audit", lambda row: row.audit, "left"),
    Column("way", lambda row: row.way, "left"),
    Column("draws", lambda row: number(row.draws)),
    Column("seconds\nalone", lambda row: number(row.seconds_alone, 2)),
    Column("seconds", lambda row: number(row.seconds, 2)),
    Column("ratio", lambda row: number(row.ratio, 2)),
    Column("wanted", lambda row: row.wanted, "left"),
]
NOTES = (
    "ratio: times as fast with workers, times as long with a store; the median of the turns.\n"
    "Every audit came out the same in both ways, to the last digit of its wealth."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Workers and stores beside neither.")
    parser.add_argument("--repeats", type=int, default=3, help="of either way")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the results")
    options = parser.parse_args(arguments)
    found = list(rows(options.repeats))
    show("Workers and stores", COLUMNS, found, NOTES)
    save(found, folder=options.results, name="workers", complete=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
