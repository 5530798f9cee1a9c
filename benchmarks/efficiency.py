"""How many pairs of draws refute a false claim, against the fewest that any valid test can need.

    python benchmarks/efficiency.py --runs 200

Published figures: Gonzalez, Dulce-Rubio, Ramdas and Ribero (2025), a sequential MMD test; Kutta,
Dunsche, Wei and Zikas (2026), APT. A pair is one draw from each side.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mechanisms import NormalCount
from searching import search
from study import Task, add_options, benchmark_main
from tables import Column, mean_and_error, number, show, yes_or_no

from dpaudit import zoo
from dpaudit.claims import ApproxDP, GaussianDP, PureDP, RenyiDP, Scalable
from dpaudit.neighbours import pairs
from dpaudit.zoo import LaplaceCount

SEED = 20_260_101
REFERENCE = Path(__file__).parent / "reference" / "sequential.csv"
PAIR = ([0.0], [0.0, 1.0])
TARGETS = {"1": 3.0, "2": 3.5}  # times the floor, for the two kinds of broken mean
FLOOR_ALPHA = 0.05  # of the floors given below; they grow with log(1/alpha)
SAMPLES_PER_FLOOR = 120  # 60 times the floor, which is in pairs
LEAST_SAMPLES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A mechanism with a claim it breaks; `place` among all of them decides its seeds."""

    place: int
    name: str
    mechanism: Callable[..., object]
    claim: Scalable
    floor_at_5_percent: int
    gonzalez2025: int | None = None
    apt2026: int | None = None
    target: float | None = None
    alpha: float = FLOOR_ALPHA

    @property
    def label(self) -> str:
        return f"{self.name} {self.claim}"

    @property
    def floor(self) -> float:
        """The fewest pairs, on average, with which a valid test can refute the claim."""
        return self.floor_at_5_percent * math.log(self.alpha) / math.log(FLOOR_ALPHA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run spent, in pairs of draws."""

    refuted: bool
    pairs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """All runs on one violation: a line of the table and of the CSV."""

    mechanism: str
    claim: str
    claim_strength: float
    alpha: float
    floor_pairs: float
    gonzalez2025_pairs: int | None
    apt2026_pairs: int | None
    runs: int
    mean_pairs: float
    standard_error: float
    ratio_to_floor: float
    share_refuted: float
    target_ratio: float | None
    met: bool | None


def published() -> list[Violation]:
    """List the broken means with published figures, as in `reference/sequential.csv`."""
    with REFERENCE.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return [
        Violation(
            place=place,
            name=line["mechanism"],
            mechanism=getattr(zoo, line["mechanism"])(float(line["claim_epsilon"])),
            claim=ApproxDP(float(line["claim_epsilon"]), float(line["claim_delta"])),
            floor_at_5_percent=int(line["floor_pairs"]),
            gonzalez2025=_whole(line["gonzalez2025_pairs"]),
            apt2026=_whole(line["apt2026_pairs"]),
            target=TARGETS[line["mechanism"][-1]],
        )
        for place, line in enumerate(lines)
    ]


def further() -> list[Violation]:
    """List violations of other claims, with the floors that were computed for alpha = 0.05."""
    laplace = [(1.0, 0.9, 2169), (2.0, 1.8, 1159), (4.0, 3.6, 1713), (0.1, 0.05, 5088)]
    gaussian = [(0.5, 54, 198), (0.8, 339, 1466), (0.9, 1360, None)]
    return [
        *(
            Violation(
                place=100 + place,
                name=f"Laplace, epsilon {true:g}",
                mechanism=LaplaceCount(true),
                claim=PureDP(claimed),
                floor_at_5_percent=floor,
            )
            for place, (true, claimed, floor) in enumerate(laplace)
        ),
        *(
            Violation(
                place=200 + place,
                name="Gaussian, mu 1",
                mechanism=NormalCount(),
                claim=GaussianDP(claimed),
                floor_at_5_percent=floor,
                apt2026=apt,
            )
            for place, (claimed, floor, apt) in enumerate(gaussian)
        ),
        Violation(
            place=300,
            name="Gaussian, mu 1",
            mechanism=NormalCount(),
            claim=RenyiDP(order=2, epsilon=0.5),
            floor_at_5_percent=240,
        ),
    ]


def refute(task: Task[Violation]) -> Outcome:
    """Audit one violation on the fixed pair, and count the draws up to the refutation."""
    violation = task.cell
    samples = math.ceil(SAMPLES_PER_FLOOR * violation.floor)
    loop = search(
        violation.mechanism,
        violation.claim,
        pairs([PAIR]),
        alpha=violation.alpha,
        samples=max(samples, LEAST_SAMPLES),
        entropy=task.entropy,
    )
    if loop.account.refuted:
        return Outcome(refuted=True, pairs=loop.evidence.trace[-1][0] / 2)
    return Outcome(refuted=False, pairs=loop.run.budget.spent / 2)


def summary(violation: Violation, outcomes: Sequence[Outcome]) -> Efficiency:
    """Sum up the runs. One without a refutation counts with all it spent, and misses the target."""
    mean, error = mean_and_error([outcome.pairs for outcome in outcomes])
    refuted, floor = sum(outcome.refuted for outcome in outcomes), violation.floor
    ratio, target = mean / floor, violation.target
    return Efficiency(
        mechanism=violation.name,
        claim=str(violation.claim),
        claim_strength=violation.claim.strength,
        alpha=violation.alpha,
        floor_pairs=floor,
        gonzalez2025_pairs=violation.gonzalez2025,
        apt2026_pairs=violation.apt2026,
        runs=len(outcomes),
        mean_pairs=mean,
        standard_error=error,
        ratio_to_floor=ratio,
        share_refuted=refuted / len(outcomes),
        target_ratio=target,
        met=None if target is None else refuted == len(outcomes) and ratio <= target,
    )


MECHANISM: Column[Efficiency] = Column("mechanism", lambda row: row.mechanism, "left")
EPSILON: Column[Efficiency] = Column("epsilon", lambda row: f"{row.claim_strength:g}")
CLAIM: Column[Efficiency] = Column("claim", lambda row: row.claim, "left")
FLOOR: Column[Efficiency] = Column("floor", lambda row: number(row.floor_pairs))
MMD: Column[Efficiency] = Column("MMD\n2025", lambda row: number(row.gonzalez2025_pairs))
APT: Column[Efficiency] = Column("APT\n2026", lambda row: number(row.apt2026_pairs))
OURS: list[Column[Efficiency]] = [
    Column("ours", lambda row: number(row.mean_pairs, 1)),
    Column("std.\nerror", lambda row: number(row.standard_error, 1)),
    Column("ratio\nto floor", lambda row: number(row.ratio_to_floor, 2)),
    Column("share\nrefuted", lambda row: number(row.share_refuted, 3)),
    Column("runs", lambda row: number(row.runs)),
]
TARGET: list[Column[Efficiency]] = [
    Column("target", lambda row: number(row.target_ratio, 1)),
    Column("met", lambda row: yes_or_no(row.met)),
]
NOTES = (
    "Pairs of draws until refuted, mean over the runs; the floor is what no valid test beats on\n"
    "average. A run without a refutation counts with all it spent: then the mean is too low."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    parser = argparse.ArgumentParser(description="Draws until a false claim is refuted.")
    parser.add_argument("--runs", type=int, default=200, help="on each published violation")
    parser.add_argument("--further-runs", type=int, default=40, help="on each further violation")
    parser.add_argument(
        "--alpha", type=float, default=0.05, help="the published figures are for 0.05"
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    return benchmark_main(
        parser,
        options,
        [replace(violation, alpha=options.alpha) for violation in (*published(), *further())],
        name="efficiency",
        seed=SEED,
        runs=lambda cell: options.further_runs if cell.target is None else options.runs,
        run=refute,
        summary=summary,
        report=lambda rows: _report(rows, options.alpha),
    )


def _report(rows: Sequence[Efficiency], alpha: float) -> None:
    with_target = [row for row in rows if row.target_ratio is not None]
    without = [row for row in rows if row.target_ratio is None]
    if with_target:
        columns = [MECHANISM, EPSILON, FLOOR, MMD, APT, *OURS, *TARGET]
        title = f"Violations with published figures, claim (epsilon, 1e-5)-DP, alpha {alpha:g}"
        show(title, columns, with_target, NOTES)
    if without:
        columns = [MECHANISM, CLAIM, FLOOR, APT, *OURS]
        show(f"Further violations, alpha {alpha:g}", columns, without, NOTES)


def _whole(text: str) -> int | None:
    return int(text) if text else None


if __name__ == "__main__":
    raise SystemExit(main())
