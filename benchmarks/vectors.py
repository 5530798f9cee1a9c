"""Vectors and long counts beside an older version: CPU seconds, and how fast the wealth grows.

    python benchmarks/vectors.py OLDER/src --repeats 3

Of 20 coordinates one differs between the datasets. Seconds are those of whole audits of 300,000
draws against claims that hold exactly, in turns, each in a fresh process with one thread. Growth is
that of the bettor on broken mechanisms, in nats a draw, on the same seeds for both versions: the
mean difference has the standard error of a paired comparison.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from many_runs import INTERRUPTED, entropy
from study import one_by_one
from tables import RESULTS, Column, number, save, show, yes_or_no

SEED = 20_260_415
COORDINATES = 20
MOST_RATIO = 0.5  # of the older version's seconds
MOST_ERRORS = 3.0  # standard errors by which the growth may lie below the older version's
WARM_UP_DRAWS = 3_000

_RUN = """
import json, sys
sys.path[:0] = sys.argv[1:3]
import vectors
print(json.dumps(getattr(vectors, sys.argv[3])(*json.loads(sys.argv[4]))))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """CPU seconds of both versions for one audit: medians over the repeats."""

    mechanism: str
    claim: str
    draws: int
    repeats: int
    older_seconds: float
    seconds: float
    ratio: float
    target_ratio: float
    ratio_met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Nats a draw of both versions on one broken mechanism, over the same seeds."""

    mechanism: str
    claim: str
    draws: int
    seeds: int
    older_nats: float
    nats: float
    difference: float
    standard_error: float
    ratio: float
    same: bool


def laplace(data: list[float], size: int, rng: Any) -> Any:
    """Laplace noise of scale 1 on every coordinate."""
    return rng.laplace(size=(size, COORDINATES)) + data


def gaussian(data: list[float], size: int, rng: Any) -> Any:
    """Gaussian noise of standard deviation 1 on every coordinate."""
    return rng.normal(size=(size, COORDINATES)) + data


def together(data: list[float], size: int, rng: Any) -> Any:
    """Give Gaussian noise whose first two signs tell the data only together."""
    outputs = rng.normal(size=(size, COORDINATES))
    agrees = rng.random(size) < 0.5 + 0.45 * data[0]
    outputs[:, 1] = abs(outputs[:, 1]) * (1.0 - 2.0 * ((outputs[:, 0] > 0.0) != agrees))
    return outputs


def rare(data: list[float], size: int, rng: Any) -> Any:
    """Give Laplace noise that is left out once in 500 draws of one dataset."""
    outputs = rng.laplace(size=(size, COORDINATES))
    outputs[rng.random(size) < 2e-3 * data[0], 0] = math.nan
    return outputs


def count(data: list[float], size: int, rng: Any) -> Any:
    """Laplace noise of scale 1 on the first coordinate alone."""
    return rng.laplace(size=size) + data[0]


MECHANISMS: dict[str, Callable[[list[float], int, Any], Any]] = {
    function.__name__: function for function in (laplace, gaussian, together, rare, count)
}
CLAIMS = {  # epsilon and delta
    "1-DP": (1.0, 0.0),
    "(1, 0.1269...)-DP": (1.0, 0.126936737506644),  # of a shift by one standard deviation
    "0.97-DP": (0.97, 0.0),
    "0.8-DP": (0.8, 0.0),
    "(1, 0.05)-DP": (1.0, 0.05),
    "0.5-DP": (0.5, 0.0),
    "0.1-DP": (0.1, 0.0),
}
HONEST = [("laplace", "1-DP"), ("gaussian", "(1, 0.1269...)-DP")]
BROKEN = [  # with how many draws and seeds
    ("laplace", "0.8-DP", 20_000, 50),
    ("gaussian", "(1, 0.05)-DP", 20_000, 5),
    ("together", "0.5-DP", 20_000, 5),
    ("rare", "0.1-DP", 20_000, 5),
    ("count", "0.97-DP", 2_000_000, 50),
]
LONG_DRAWS = 1_000_000  # from which growth is that of a whole search


def audit_seconds(name: str, claim: str, draws: int, seed: int) -> float:
    """Give the CPU seconds of one audit, by the code that is imported in this process."""
    import dpaudit

    pair = dpaudit.pairs([_pair()])

    def audit(samples: int) -> None:
        promised = dpaudit.ApproxDP(*CLAIMS[claim])
        dpaudit.audit(MECHANISMS[name], promised, pair, samples=samples, rng=seed)

    audit(WARM_UP_DRAWS)  # what is loaded on first use
    start = time.process_time()
    audit(draws)
    return time.process_time() - start


def growths(name: str, claim: str, draws: int, seeds: list[int]) -> list[float]:
    """Give the nats a draw that the bets against the claim win, for every seed."""
    return [_growth(name, claim, draws, seed) for seed in seeds]


def _growth(name: str, claim: str, draws: int, seed: int) -> float:
    return (_long_growth if draws >= LONG_DRAWS else _short_growth)(name, claim, draws, seed)


def _long_growth(name: str, claim: str, draws: int, seed: int) -> float:
    from searching import search

    import dpaudit

    promised = dpaudit.ApproxDP(*CLAIMS[claim])
    pair = dpaudit.pairs([_pair()])
    never = 1e-300  # is this wealth reached: every draw is bet on
    loop = search(MECHANISMS[name], promised, pair, alpha=never, samples=draws, entropy=seed)
    return loop.account.log_wealth / loop.run.budget.spent


def _pair() -> tuple[list[float], list[float]]:
    return [0.0] * COORDINATES, [1.0] + [0.0] * (COORDINATES - 1)


def _short_growth(name: str, claim: str, draws: int, seed: int) -> float:
    import numpy as np

    import dpaudit
    from dpaudit.betting import PairBettor, book_for
    from dpaudit.outputs import Encoder

    rng, encoder = np.random.default_rng(seed), Encoder()
    labels = rng.random(draws) < 0.5
    neighbour, data = _pair()
    outputs = MECHANISMS[name](neighbour, draws, rng)
    outputs[labels] = MECHANISMS[name](data, draws, rng)[labels]
    table = encoder.encode(outputs)
    book = book_for(dpaudit.ApproxDP(*CLAIMS[claim]))
    bettor = PairBettor(book, encoder)
    while bettor.draws < draws:
        batch = slice(bettor.draws, bettor.draws + bettor.next_batch(patience=1.0))
        bettor.play(table.take(batch), labels[batch], target=math.inf)
    return float(bettor.log_wealth[book.place]) / draws


def by_version(source: Path, function: str, *arguments: object) -> Any:
    """Call a function of this file in a fresh process, with the dpaudit of a folder."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    folders = [str(source), str(Path(__file__).parent)]
    ended = subprocess.run(
        [sys.executable, "-c", _RUN, *folders, function, json.dumps(arguments)],
        env={**os.environ, **threads, "PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(ended.stdout.splitlines()[-1])


def timed(sources: tuple[Path, Path], name: str, claim: str, draws: int, repeats: int) -> Seconds:
    """Time both versions in turns; which comes first changes from repeat to repeat."""
    taken: list[tuple[float, float]] = []
    for turn in range(repeats):
        task = name, claim, draws, entropy(SEED, turn)
        found = {
            place: by_version(sources[place], "audit_seconds", *task)
            for place in (turn % 2, 1 - turn % 2)
        }
        taken.append((found[0], found[1]))
    older, newer = (statistics.median(each) for each in zip(*taken, strict=True))
    ratio = statistics.median(now / before for before, now in taken)
    return Seconds(
        mechanism=name,
        claim=claim,
        draws=draws,
        repeats=repeats,
        older_seconds=older,
        seconds=newer,
        ratio=ratio,
        target_ratio=MOST_RATIO,
        ratio_met=ratio <= MOST_RATIO,
    )


def compared(sources: tuple[Path, Path], name: str, claim: str, draws: int, seeds: int) -> Growth:
    """Compare the growth of both versions on the same draws."""
    numbers = [entropy(SEED, draws, seed) for seed in range(seeds)]
    before, now = (by_version(source, "growths", name, claim, draws, numbers) for source in sources)
    differences = [new - old for new, old in zip(now, before, strict=True)]
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(seeds) if seeds > 1 else math.nan
    return Growth(
        mechanism=name,
        claim=claim,
        draws=draws,
        seeds=seeds,
        older_nats=statistics.fmean(before),
        nats=statistics.fmean(now),
        difference=mean,
        standard_error=error,
        ratio=statistics.fmean(now) / statistics.fmean(before),
        same=not mean < -MOST_ERRORS * error,
    )


SECONDS_COLUMNS: list[Column[Seconds]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("draws", lambda row: f"{row.draws:,}"),
    Column("older\nseconds", lambda row: number(row.older_seconds, 2)),
    Column("now\nseconds", lambda row: number(row.seconds, 2)),
    Column("ratio", lambda row: number(row.ratio, 2)),
    Column("at\nmost", lambda row: number(row.target_ratio, 1)),
    Column("met", lambda row: yes_or_no(row.ratio_met)),
]
GROWTH_COLUMNS: list[Column[Growth]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("draws", lambda row: f"{row.draws:,}"),
    Column("seeds", lambda row: f"{row.seeds}"),
    Column("older\n1e-6 nats", lambda row: number(1e6 * row.older_nats, 1)),
    Column("now\n1e-6 nats", lambda row: number(1e6 * row.nats, 1)),
    Column("difference", lambda row: number(1e6 * row.difference, 1)),
    Column("std.\nerror", lambda row: number(1e6 * row.standard_error, 1)),
    Column("ratio", lambda row: number(row.ratio, 3)),
    Column("same", lambda row: yes_or_no(row.same)),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    options = _parser().parse_args(arguments)
    sources = options.older.resolve(), _present()
    rows = MECHANISMS if options.rows is None else options.rows
    honest = [(*row, options.draws, options.repeats) for row in HONEST if row[0] in rows]
    broken = [
        (name, claim, options.growth_draws or draws, options.seeds or seeds)
        for name, claim, draws, seeds in BROKEN
        if name in rows
    ]
    seconds, stopped = one_by_one("seconds", partial(timed, sources), honest)
    growth: list[Growth] = []
    if not stopped:
        growth, stopped = one_by_one("growth", partial(compared, sources), broken)
    if seconds:
        notes = "ratio: the median over the repeats."
        show("CPU seconds of an audit, beside an older version", SECONDS_COLUMNS, seconds, notes)
    if growth:
        notes = f"same: not more than {MOST_ERRORS:g} standard errors below the older version."
        show("Growth of the wealth a draw", GROWTH_COLUMNS, growth, notes)
    whole = not stopped and options.rows is None
    save(seconds, folder=options.results, name="vectors_seconds", complete=whole)
    save(growth, folder=options.results, name="vectors_growth", complete=whole)
    return INTERRUPTED if stopped else 0


def _present() -> Path:
    import dpaudit

    return Path(dpaudit.__file__).parents[1]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Vectors beside an older version.")
    parser.add_argument("older", type=Path, help="the folder that holds the older dpaudit")
    parser.add_argument("--draws", type=int, default=300_000, help="of each audit that is timed")
    parser.add_argument("--repeats", type=int, default=5, help="of either version")
    parser.add_argument("--seeds", type=int, help="on which the growth is compared")
    parser.add_argument("--growth-draws", type=int, help="instead of those of each row")
    parser.add_argument("--rows", nargs="+", choices=MECHANISMS, help="only these mechanisms")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the CSVs")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
