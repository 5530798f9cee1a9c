"""What an audit costs beside the draws themselves: time as a multiple of numpy's, and memory.

    python benchmarks/speed.py --draws 1_000_000 10_000_000 1_000_000_000 --repeats 3

A correct scalar mechanism on a fixed pair: nothing is refuted, so every draw is made and bet on.
Each figure is taken in a fresh process with one thread.
"""

from __future__ import annotations

import argparse
import cProfile
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TypeVar

from many_runs import INTERRUPTED, entropy, fresh_processes
from study import one_by_one
from tables import RESULTS, Column, number, save, show, yes_or_no

SEED = 20_260_303
MOST_RATIO = 40.0
MOST_MEMORY = 500.0  # MiB
PIECE = 1_000_000  # draws of numpy at once: their memory would cost more than they do

Result = TypeVar("Result")

# Which calls of which function are a part of the work; what is in none of them is the rest.
PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "draw": {
        "PendingBatch.outputs": ("_Later.outputs", "_batch"),
        "_Later.counted": ("_Later.outputs",),
    },
    "encode": {
        "Shards._take_open": ("Encoder.encode",),
        "_Later.counted": ("CellReader.__call__",),
    },
    "guess": {"PairBettor.play": ("Past.compress", "Ensemble.guesses", "Ensemble.average")},
    "bet": {
        "PairBettor.play": ("TangentBook.log_payoffs", "PairBettor._crossing", "PairBettor._pay"),
        "PairBettor.play_counted": ("PairBettor._pay",),
    },
    "learn": {
        "PairBettor.play": ("PairBettor._fitted", "PairBettor.learn", "Ensemble.score"),
        "PairBettor.play_counted": ("Past.add_counted", "Ensemble.score"),
        "PairBettor.reader": ("PairBettor._fitted",),
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds for as many draws, side by side: medians of the repeats."""

    draws: int
    numpy: float
    audit: float
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The peak of a process in MiB: with dpaudit imported, and after the audit."""

    imported: float
    audited: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """One number of draws: a line of the tables and of the CSV."""

    samples: int
    draws: int
    repeats: int
    numpy_seconds: float
    audit_seconds: float
    ratio: float
    target_ratio: float
    ratio_met: bool
    imported_mib: float
    peak_mib: float
    target_mib: float
    memory_met: bool
    draw_share: float
    encode_share: float
    guess_share: float
    bet_share: float
    learn_share: float
    rest_share: float


def audit_honest(samples: int, seed: int) -> int:
    """Audit a count with Laplace noise that keeps its claim; the number of draws it took."""
    import dpaudit
    from dpaudit.zoo import LaplaceCount

    audit = dpaudit.audit(
        LaplaceCount(1.0),
        dpaudit.PureDP(1.0),
        dpaudit.pairs([([1.0], [])]),
        samples=samples,
        rng=seed,
    )
    if audit.refuted:
        raise RuntimeError(f"an honest mechanism was refuted (rng={seed}): no speed is worth that.")
    return audit.samples


def timing(samples: int, repeats: int) -> Timing:
    """Time audits and numpy's own draws of the same number, in turns."""
    import numpy as np

    draws = audit_honest(1_000, SEED)  # loads what is loaded on first use
    numpy_seconds, audit_seconds = [], []
    for repeat in range(repeats):
        seed = entropy(SEED, repeat)
        start = time.perf_counter()
        draws = audit_honest(samples, seed)
        audit_seconds.append(time.perf_counter() - start)
        rng = np.random.default_rng(seed)
        start = time.perf_counter()
        for first in range(0, draws, PIECE):
            rng.laplace(size=min(PIECE, draws - first))
        numpy_seconds.append(time.perf_counter() - start)
    return Timing(
        draws=draws,
        numpy=statistics.median(numpy_seconds),
        audit=statistics.median(audit_seconds),
        ratio=statistics.median(
            ours / theirs for ours, theirs in zip(audit_seconds, numpy_seconds, strict=True)
        ),
    )


def memory(samples: int) -> Memory:
    """Measure the peak memory of this process before and after one audit. Run it in a fresh one."""
    import dpaudit.auditing
    import dpaudit.zoo  # noqa: F401 -- the import is what is measured

    imported = peak_mib()
    audit_honest(samples, entropy(SEED, 0))
    return Memory(imported=imported, audited=peak_mib())


def shares(samples: int) -> dict[str, float]:
    """Give the share of the time that each part of an audit takes, by a profile."""
    audit_honest(1_000, SEED)
    profile = cProfile.Profile()
    start = time.perf_counter()
    profile.runcall(audit_honest, samples, entropy(SEED, 0))
    total = time.perf_counter() - start
    calls = {(caller, callee): seconds for caller, callee, seconds in _seconds_by_call(profile)}
    found = {
        part: sum(
            calls.get((caller, callee), 0.0)
            for caller, callees in places.items()
            for callee in callees
        )
        / total
        for part, places in PARTS.items()
    }
    return {**found, "rest": 1.0 - sum(found.values())}


def peak_mib() -> float:
    """Give the most memory this process has held, in MiB.

    `ru_maxrss` of a process starts at what its parent held when it was forked, so the kernel's own
    mark of this process is taken where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024  # given in KiB
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def in_fresh_process(function: Callable[..., Result], *arguments: int) -> Result:
    """Call a function in a process of its own, with one thread."""
    with fresh_processes(1) as pool:
        return pool.submit(function, *arguments).result()


def measured(samples: int, repeats: int) -> Speed:
    """Take all figures for one budget of draws, one after the other."""
    timed = in_fresh_process(timing, samples, repeats)
    held = in_fresh_process(memory, samples)
    parts = in_fresh_process(shares, samples)
    return Speed(
        samples=samples,
        draws=timed.draws,
        repeats=repeats,
        numpy_seconds=timed.numpy,
        audit_seconds=timed.audit,
        ratio=timed.ratio,
        target_ratio=MOST_RATIO,
        ratio_met=timed.ratio <= MOST_RATIO,
        imported_mib=held.imported,
        peak_mib=held.audited,
        target_mib=MOST_MEMORY,
        memory_met=held.audited < MOST_MEMORY,
        **{f"{part}_share": share for part, share in parts.items()},
    )


COLUMNS: list[Column[Speed]] = [
    Column("draws", lambda row: f"{row.draws:,}"),
    Column("numpy\nseconds", lambda row: number(row.numpy_seconds, 4)),
    Column("audit\nseconds", lambda row: number(row.audit_seconds, 3)),
    Column("ratio", lambda row: number(row.ratio, 1)),
    Column("at\nmost", lambda row: number(row.target_ratio)),
    Column("met", lambda row: yes_or_no(row.ratio_met)),
    Column("imported\nMiB", lambda row: number(row.imported_mib)),
    Column("peak\nMiB", lambda row: number(row.peak_mib)),
    Column("increase\nMiB", lambda row: number(row.peak_mib - row.imported_mib)),
    Column("below", lambda row: number(row.target_mib)),
    Column("met", lambda row: yes_or_no(row.memory_met)),
]
NOTES = (
    "ratio: the audit's time over that of rng.laplace(size=draws), median of the repeats.\n"
    "A budget keeps some draws for certifying, which an audit that refutes nothing does not make."
)
PART_COLUMNS: list[Column[Speed]] = [
    Column("draws", lambda row: f"{row.draws:,}"),
    Column("draw", lambda row: _percent(row.draw_share)),
    Column("encode", lambda row: _percent(row.encode_share)),
    Column("guess", lambda row: _percent(row.guess_share)),
    Column("bet", lambda row: _percent(row.bet_share)),
    Column("learn", lambda row: _percent(row.learn_share)),
    Column("rest", lambda row: _percent(row.rest_share)),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    options = _parser().parse_args(arguments)
    sizes = [(samples, options.repeats) for samples in options.draws]
    rows, interrupted = one_by_one("speed", measured, sizes)
    if rows:
        show("An audit of LaplaceCount(1.0) on one pair, one thread", COLUMNS, rows, NOTES)
        show("Where the time goes", PART_COLUMNS, rows, "From a profiled run of its own.")
    save(rows, folder=options.results, name="speed", complete=not interrupted)
    return INTERRUPTED if interrupted else 0


def _seconds_by_call(profile: cProfile.Profile) -> Iterator[tuple[str, str, float]]:
    """Yield caller, callee and the seconds spent in those calls, what they call included."""
    for entry in profile.getstats():
        if isinstance(entry.code, CodeType):
            for call in entry.calls or ():
                if isinstance(call.code, CodeType):
                    yield entry.code.co_qualname, call.code.co_qualname, call.totaltime


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _whole(text: str) -> int:
    return int(float(text)) if "e" in text.lower() else int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time and memory of an audit.")
    parser.add_argument(
        "--draws",
        type=_whole,
        nargs="+",
        default=[1_000_000],
        help="budgets to measure, such as 1_000_000 or 1e7",
    )
    parser.add_argument("--repeats", type=int, default=5, help="of which the median is taken")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the CSV")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
