"""The sequential testers on the violations whose authors give figures, beside these figures.

    python experiments/sequential_figures.py [--quick]

How many pairs of outputs are looked at until the claim is accused, at alpha = 0.05 over both
directions? Published: González, Dulce-Rubio, Ramdas and Ribero (2025) for the sequential MMD test;
Kutta, Dunsche, Wei and Zikas (2026) for APT, whose burn-in is 50 pairs. `benchmarks/reference` says
what is drawn. The floor is what no valid test beats on average (`benchmarks/efficiency.py`). The
MMD test has a second row with a wider kernel, of 2.2 median distances.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from efficiency import FLOOR_ALPHA, PAIR, REFERENCE, Violation, further, published
from study import Study, Task, study_main
from tables import Column, mean_and_error, number

from dpaudit.testers import APT, SequentialMMD, SequentialTester

SEED = 20_261_128
RESULTS = Path(__file__).parent / "results"
MOST_PAIRS = 5_000
TESTERS: dict[str, SequentialTester] = {
    "sequential MMD": SequentialMMD(most_pairs=MOST_PAIRS),
    "sequential MMD, wide": SequentialMMD(bandwidth=2.2, most_pairs=MOST_PAIRS),
    "APT": APT(most_pairs=MOST_PAIRS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A tester on a violation with a published figure; `place` decides its seeds."""

    place: int
    tester: str
    violation: Violation
    published_pairs: int | None
    published_share: float | None

    @property
    def label(self) -> str:
        return f"{self.tester}: {self.violation.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """After how many pairs the claim was accused, in the earlier direction; None: never."""

    pairs: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All runs of one case: a line of the table and of the CSV."""

    tester: str
    mechanism: str
    claim: str
    floor_pairs: int
    runs: int
    accused: int
    mean_pairs: float | None
    standard_error: float | None
    published_pairs: int | None
    published_share: float | None


def cases() -> list[Case]:
    """List every tester with every violation for which its authors give a figure."""
    with REFERENCE.open(newline="", encoding="utf-8") as file:
        shares = [line["apt2026_rejected"] for line in csv.DictReader(file)]
    given = published()
    found: list[tuple[str, Violation, int | None, float | None]] = [
        (tester, violation, violation.gonzalez2025, None)
        for violation in given
        for tester in ("sequential MMD", "sequential MMD, wide")
        if violation.gonzalez2025 is not None
    ]
    found += [
        ("APT", violation, violation.apt2026, float(share))
        for violation, share in zip(given, shares, strict=True)
        if share
    ]
    found += [
        ("APT", violation, violation.apt2026, None)
        for violation in further()
        if violation.apt2026 is not None
    ]
    return [
        Case(
            place=place,
            tester=tester,
            violation=violation,
            published_pairs=pairs,
            published_share=share,
        )
        for place, (tester, violation, pairs, share) in enumerate(found)
    ]


def run(task: Task[Case]) -> Outcome:
    """Draw as many pairs as are looked at, and test both directions at half of alpha."""
    violation, tester = task.cell.violation, TESTERS[task.cell.tester]
    rng = np.random.default_rng(task.entropy)
    mechanism: Any = violation.mechanism
    outputs, others = (mechanism(np.array(side), MOST_PAIRS, rng) for side in PAIR)
    found = [
        tester.pairs_until_accused(*sides, violation.claim, alpha=FLOOR_ALPHA / 2, rng=rng)
        for sides in ((outputs, others), (others, outputs))
    ]
    return Outcome(pairs=min((pairs for pairs in found if pairs is not None), default=None))


def summary(case: Case, outcomes: Sequence[Outcome]) -> Found:
    """Sum up the runs; the mean is over those that accuse."""
    pairs = [float(one.pairs) for one in outcomes if one.pairs is not None]
    mean, error = mean_and_error(pairs) if pairs else (math.nan, math.nan)
    return Found(
        tester=case.tester,
        mechanism=case.violation.name,
        claim=str(case.violation.claim),
        floor_pairs=case.violation.floor_at_5_percent,
        runs=len(outcomes),
        accused=len(pairs),
        mean_pairs=None if math.isnan(mean) else mean,
        standard_error=None if math.isnan(error) else error,
        published_pairs=case.published_pairs,
        published_share=case.published_share,
    )


COLUMNS: list[Column[Found]] = [
    Column("tester", lambda row: row.tester, "left"),
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("floor", lambda row: number(row.floor_pairs)),
    Column("runs", lambda row: number(row.runs)),
    Column("accused", lambda row: number(row.accused)),
    Column("mean\npairs", lambda row: number(row.mean_pairs, 1)),
    Column("std.\nerror", lambda row: number(row.standard_error, 1)),
    Column("published\npairs", lambda row: number(row.published_pairs)),
    Column("published\nshare", lambda row: number(row.published_share, 2)),
]
NOTES = (
    f"At most {MOST_PAIRS:,} pairs, alpha {FLOOR_ALPHA} over both directions. The mean is over\n"
    "the runs that accuse."
)

STUDY = Study(
    name="sequential_figures",
    title="Pairs until a sequential tester accuses, beside its authors' figures",
    notes=NOTES,
    seed=SEED,
    cells=cases(),
    quick=[case for case in cases() if case.violation.claim.strength < 0.1],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=COLUMNS,
    folder=RESULTS,
    runs=20,
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
