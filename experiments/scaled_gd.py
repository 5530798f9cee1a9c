"""Gradient descent with less noise than it is accounted for: how little less can be told.

    python experiments/scaled_gd.py [--quick | --figure-only]

This is the experiment "ScaledGD" of DP-Auditorium (Kong, Medina, Ribero and Syed 2023, section
6.5). A developer accounts for a noise multiplier and runs with `scale` times as much. On the pair
of no record and one that is clipped, the Rényi divergence is exact; every tester has 100 000 draws.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from many_runs import entropy
from scaled_gd_figure import draw
from study import Study, Task, study_main
from tables import Column, mean_and_error, number, yes_or_no
from verdicts import ended

from dpaudit import BettingTester
from dpaudit.search import as_finder
from dpaudit.testers import RenyiTester, Trials
from dpaudit.zoo import ScaledGD, pair_of

SEED = 20_260_909
RESULTS = Path(__file__).parent / "results"
ALPHA = 0.05
SAMPLES = 100_000  # of an audit, both sides together
ORDER = 1.5  # of the paper's Rényi tester
NOISE_MULTIPLIER = 1.0
PAIR = pair_of([10], [])  # whose one record is clipped
SCALES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.1, 1.2)
PAPER_FOUND_TO = 0.6  # the largest scale at which the paper's Rényi tester finds the bug
# Exactly on the claim a run is ten audits: whether a share exceeds alpha shows in many only.
ON_THE_CLAIM, AUDITS_THERE = 1.0, 10
TESTERS: dict[str, BettingTester | Trials] = {
    "betting": BettingTester(after_refuting="sharpen"),
    "renyi": Trials(RenyiTester()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """One scale of the noise, one tester; `place` decides its seeds."""

    place: int
    scale: float
    tester: str
    samples: int = SAMPLES
    audits: int = 1

    @property
    def label(self) -> str:
        return f"s={self.scale:g} {self.tester}"

    @property
    def mechanism(self) -> ScaledGD:
        return ScaledGD(self.scale, NOISE_MULTIPLIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the audits of one run ended; draws and bounds are sums over them.

    `draws` are those until refuted, of the audits that refuted.
    """

    audits: int
    refuted: int
    draws: int
    bounds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All runs of one scale and tester: a line of the table and of the CSV.

    The bounds are certified on the divergence: the mean, and the least and the largest of a run.
    """

    scale: float
    tester: str
    order: float
    alpha: float
    samples: int
    true_divergence: float
    claimed_divergence: float
    keeps_claim: bool
    audits: int
    refuted: int
    mean_draws: float | None
    mean_bound: float
    least_bound: float
    largest_bound: float
    paper_refuted: bool


def cells() -> list[Scaled]:
    """List every scale with every tester."""
    return [
        Scaled(
            place=place,
            scale=scale,
            tester=tester,
            audits=AUDITS_THERE if scale == ON_THE_CLAIM else 1,
        )
        for place, (tester, scale) in enumerate((one, s) for one in TESTERS for s in SCALES)
    ]


def run(task: Task[Scaled]) -> Outcome:
    """Audit the one pair with all draws."""
    cell = task.cell
    found = [
        ended(
            cell.mechanism,
            cell.mechanism.claim(ORDER),
            as_finder([PAIR], "auto", np.random.default_rng(0)),
            TESTERS[cell.tester],
            alpha=ALPHA,
            samples=cell.samples,
            entropy=entropy(task.entropy, turn),
        )
        for turn in range(cell.audits)
    ]
    return Outcome(
        audits=len(found),
        refuted=sum(one.refuted for one in found),
        draws=sum(one.draws for one in found if one.refuted),
        bounds=sum(one.lower_bound or 0.0 for one in found),
    )


def summary(cell: Scaled, outcomes: Sequence[Outcome]) -> Told:
    """Sum up the runs of one scale and tester."""
    refuted = sum(one.refuted for one in outcomes)
    bounds = [one.bounds / one.audits for one in outcomes]
    return Told(
        scale=cell.scale,
        tester=cell.tester,
        order=ORDER,
        alpha=ALPHA,
        samples=cell.samples,
        true_divergence=cell.mechanism.divergence(ORDER),
        claimed_divergence=cell.mechanism.claim(ORDER).epsilon,
        keeps_claim=cell.scale >= ON_THE_CLAIM,
        audits=sum(one.audits for one in outcomes),
        refuted=refuted,
        mean_draws=sum(one.draws for one in outcomes) / refuted if refuted else None,
        mean_bound=mean_and_error(bounds)[0],
        least_bound=min(bounds),
        largest_bound=max(bounds),
        paper_refuted=cell.scale <= PAPER_FOUND_TO,
    )


COLUMNS: list[Column[Told]] = [
    Column("scale", lambda row: number(row.scale, 2)),
    Column("tester", lambda row: row.tester, "left"),
    Column("divergence", lambda row: number(row.true_divergence, 3)),
    Column("claimed", lambda row: number(row.claimed_divergence, 3)),
    Column("certified\nmean", lambda row: number(row.mean_bound, 3)),
    Column("audits", lambda row: number(row.audits)),
    Column("refuted", lambda row: number(row.refuted)),
    Column("draws\nmean", lambda row: number(row.mean_draws)),
    Column("paper\nrefuted", lambda row: yes_or_no(row.paper_refuted)),
]
NOTES = (
    f"divergence: Rényi, of order {ORDER:g}; certified: the lower bound of all draws.\n"
    "draws: until refuted, of the audits that refuted; a batch tester uses all."
)

STUDY = Study(
    name="scaled_gd",
    title=f"Noise scaled in gradient descent, alpha {ALPHA:g}",
    notes=NOTES,
    seed=SEED,
    cells=cells(),
    quick=[
        dataclasses.replace(cell, samples=SAMPLES // 5, audits=1)
        for cell in cells()
        if cell.scale in (0.5, 0.8, 1.0)
    ],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=COLUMNS,
    folder=RESULTS,
    draw=draw,
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
