"""How long the batch testers take for one direction, by samples a side, on CPU and GPU.

    python benchmarks/batch_speed.py --draws 50_000 100_000 500_000
    python benchmarks/batch_speed.py --testers neural --devices cpu cuda --name batch_speed_gpu

The core's testers run in a fresh process with one thread; the neural ones, which need torch, with
as many threads as torch takes by itself.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from many_runs import INTERRUPTED, entropy, fresh_processes
from study import one_by_one
from tables import RESULTS, Column, number, save, show, yes_or_no

SEED = 20_260_505
MOST_SECONDS = {"histogram": 0.5, "mmd": 0.5, "hockey-stick linear": 3.0, "renyi chebyshev": 5.0}
NEURAL = ("hockey-stick neural", "renyi neural")
LARGEST = 500_000  # samples a side, for which the most seconds are meant


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """One tester at one size: a line of the table and of the CSV."""

    tester: str
    device: str
    threads: int
    draws_a_side: int
    repeats: int
    seconds: float
    epsilon_lower: float | None
    most_seconds: float | None
    met: bool | None


def tester_named(name: str, device: str) -> Any:
    """Make the tester; loads what it needs."""
    from dpaudit.testers import HistogramTester, HockeyStickTester, MMDTester, RenyiTester

    match name:
        case "histogram":
            return HistogramTester()
        case "mmd":
            return MMDTester()
        case "hockey-stick linear":
            return HockeyStickTester(classifier="linear")
        case "hockey-stick neural":
            return HockeyStickTester(classifier="neural", device=device)
        case "renyi chebyshev":
            return RenyiTester()
        case "renyi neural":
            return RenyiTester(witness="neural", device=device)
    raise ValueError(f"no tester is called {name!r}.")


def timed(name: str, device: str, draws: int, repeats: int) -> tuple[float, float | None]:
    """Examine Laplace noise of epsilon 1.1 against a claim of 1: median seconds, and the bound."""
    import numpy as np

    from dpaudit import PureDP

    tester, claim = tester_named(name, device), PureDP(1.0)
    seconds, found = [], None
    for repeat in range(repeats + 1):  # the first one loads and warms up, on fewer samples
        rng = np.random.default_rng(entropy(SEED, repeat))
        size = draws if repeat else min(draws, 20_000)
        outputs, neighbours = 1.1 + rng.laplace(size=size), rng.laplace(size=size)
        start = time.perf_counter()
        found = tester.examine(outputs, neighbours, claim, alpha=0.025, rng=rng)
        seconds.append(time.perf_counter() - start)
    assert found is not None
    return statistics.median(seconds[1:]), found.strength_lower


def measured(name: str, device: str, draws: int, repeats: int) -> Seconds:
    """Time one tester at one size."""
    if name in NEURAL:
        import torch

        threads = torch.get_num_threads()
        seconds, bound = timed(name, device, draws, repeats)
    else:
        threads = 1
        with fresh_processes(1) as pool:
            seconds, bound = pool.submit(timed, name, device, draws, repeats).result()
    most = MOST_SECONDS.get(name) if draws == LARGEST else None
    return Seconds(
        tester=name,
        device=device,
        threads=threads,
        draws_a_side=draws,
        repeats=repeats,
        seconds=seconds,
        epsilon_lower=bound,
        most_seconds=most,
        met=None if most is None else seconds < most,
    )


COLUMNS: list[Column[Seconds]] = [
    Column("tester", lambda row: row.tester, "left"),
    Column("device", lambda row: row.device, "left"),
    Column("threads", lambda row: number(row.threads)),
    Column("samples\na side", lambda row: f"{row.draws_a_side:,}"),
    Column("seconds", lambda row: number(row.seconds, 3)),
    Column("at\nmost", lambda row: number(row.most_seconds, 1)),
    Column("met", lambda row: yes_or_no(row.met)),
    Column("epsilon\nat least", lambda row: number(row.epsilon_lower, 3)),
]
NOTES = "seconds: of one direction, all included; the median of the repeats."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    options = _parser().parse_args(arguments)
    chosen: list[tuple[str, str]] = []
    if options.testers in ("core", "all"):
        chosen += [(name, "cpu") for name in MOST_SECONDS]
    if options.testers in ("neural", "all"):
        chosen += [(name, device) for name in NEURAL for device in options.devices]
    sizes = [(*one, draws, options.repeats) for one in chosen for draws in options.draws]
    rows, interrupted = one_by_one("batch speed", measured, sizes)
    if rows:
        show("Batch testers, Laplace outputs", COLUMNS, rows, NOTES)
    save(rows, folder=options.results, name=options.name, complete=not interrupted)
    return INTERRUPTED if interrupted else 0


def _whole(text: str) -> int:
    return int(text.replace("_", ""))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Seconds of the batch testers.")
    parser.add_argument(
        "--draws", type=_whole, nargs="+", default=[50_000, 100_000, LARGEST], help="a side"
    )
    parser.add_argument("--testers", choices=("core", "neural", "all"), default="core")
    parser.add_argument("--devices", nargs="+", default=["cpu"], help="for the neural testers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--name", default="batch_speed", help="of the CSV, without its ending")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the CSV")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
