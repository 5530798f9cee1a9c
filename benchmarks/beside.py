"""How much longer an audit takes than with an older version, measured in turns on an idle machine.

    python benchmarks/beside.py OLDER/src

The audit is that of `speed.py`: a correct scalar Laplace mechanism on one pair. Every run is a
fresh process with one thread; which version comes first changes from run to run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import dpaudit

_RUN = """
import sys, time
sys.path.insert(0, sys.argv[1])
import dpaudit
from dpaudit.mechanisms import LaplaceCount

def audit(samples):
    pair = dpaudit.pairs([([0.5], [])])
    dpaudit.audit(LaplaceCount(1.0), dpaudit.PureDP(1.0), pair, samples=samples, rng=1)

audit(20_000)  # what is loaded on first use
start = time.process_time()
audit(int(sys.argv[2]))
print(time.process_time() - start)
"""


def seconds(source: Path, draws: int) -> float:
    """Give the seconds of one audit by the code in a folder, in a process of its own."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    ended = subprocess.run(
        [sys.executable, "-c", _RUN, str(source), str(draws)],
        env={**os.environ, **threads, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(ended.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both versions in turns, and print the median of the ratios."""
    parser = argparse.ArgumentParser(description="An older version beside this one.")
    parser.add_argument("older", type=Path, help="the folder that holds the older dpaudit")
    parser.add_argument("--draws", type=int, default=1_000_000, help="of each audit")
    parser.add_argument("--repeats", type=int, default=15, help="of either version")
    options = parser.parse_args(arguments)
    sources = options.older.resolve(), Path(dpaudit.__file__).parents[1]
    taken: list[tuple[float, float]] = []
    for turn in range(options.repeats):
        found = {
            place: seconds(sources[place], options.draws) for place in (turn % 2, 1 - turn % 2)
        }
        taken.append((found[0], found[1]))
    older, newer = (statistics.median(each) for each in zip(*taken, strict=True))
    ratio = statistics.median(now / before for before, now in taken)
    print(
        f"older {older:.3f} s, now {newer:.3f} s: {ratio:.3f} times as long, the median of ratios"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
