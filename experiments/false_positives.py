"""How often each tester accuses a mechanism that keeps its claim, on the pair that is hardest.

    python experiments/false_positives.py [--quick]

These are the correct mechanisms of DP-Auditorium (Kong, Medina, Ribero and Syed 2023), section
"Bug catching rate", and randomized response, which lies on its claim with all of its outputs. The
paper reports no false positive; alpha allows at most one in twenty.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

from fixed_pair import look
from study import Study, Task, study_main
from table2 import ALPHA, ORDER, TESTERS
from tables import Column, number

from dpaudit.claims import Claim, PureDP, RenyiDP
from dpaudit.zoo import ZOO, DPLaplace, ZooEntry

SEED = 20_260_808
DRAWS = 50_000  # of a side
MECHANISMS = (
    *("DPLaplace", "SVT1", "SVT2", "DPGaussian"),
    *("PrivateMedian", "NoisyMaxLaplace", "RandomizedResponse"),
)
HIGH_PRIVACY = "DPLaplace, epsilon 0.01"  # the paper's other regime
# Count and sum of DPGaussian are Gaussian mechanisms with mu = 1/2 each: order * mu^2 in all.
GAUSSIAN_DIVERGENCE = ORDER / 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Honest:
    """One correct mechanism and tester; `place` decides its seeds."""

    place: int
    mechanism: str
    tester: str
    draws: int = DRAWS

    @property
    def label(self) -> str:
        return f"{self.mechanism} {self.tester}"

    @property
    def entry(self) -> ZooEntry:
        return ZOO[self.mechanism.split(",")[0]]

    @property
    def subject(self) -> Callable[..., object]:
        return DPLaplace(0.01) if self.mechanism == HIGH_PRIVACY else self.entry.factory()

    @property
    def claim(self) -> Claim:
        """That of the zoo; of Gaussian noise the Rényi tester is told a Rényi divergence."""
        if self.mechanism == HIGH_PRIVACY:
            return PureDP(0.01)
        if self.mechanism == "DPGaussian" and self.tester == "renyi":
            return RenyiDP(ORDER, GAUSSIAN_DIVERGENCE)
        return self.entry.claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Whether one run accused."""

    refuted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """All runs of one mechanism and tester: a line of the table and of the CSV.

    `promised` is the most that alpha allows on average.
    """

    mechanism: str
    claim: str
    tester: str
    draws: int
    alpha: float
    runs: int
    refuted: int
    promised: float


def honest() -> list[Honest]:
    """List every correct mechanism with every tester."""
    cells = [(mechanism, tester) for mechanism in (HIGH_PRIVACY, *MECHANISMS) for tester in TESTERS]
    return [
        Honest(place=place, mechanism=mechanism, tester=tester)
        for place, (mechanism, tester) in enumerate(cells)
    ]


def run(task: Task[Honest]) -> Outcome:
    """Test once."""
    cell = task.cell
    found = look(
        cell.subject,
        cell.claim,
        cell.entry.pair,
        cell.tester,
        draws=cell.draws,
        entropy=task.entropy,
    )
    return Outcome(refuted=found.refuted)


def summary(cell: Honest, outcomes: Sequence[Outcome]) -> Accused:
    """Sum up the runs of one mechanism and tester."""
    return Accused(
        mechanism=cell.mechanism,
        claim=str(cell.claim),
        tester=cell.tester,
        draws=cell.draws,
        alpha=ALPHA,
        runs=len(outcomes),
        refuted=sum(one.refuted for one in outcomes),
        promised=ALPHA * len(outcomes),
    )


COLUMNS: list[Column[Accused]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("tester", lambda row: row.tester, "left"),
    Column("draws\na side", lambda row: number(row.draws)),
    Column("runs", lambda row: number(row.runs)),
    Column("refuted", lambda row: number(row.refuted)),
    Column("promised", lambda row: number(row.promised, 1)),
]


STUDY = Study(
    name="false_positives",
    title=f"False accusations on a fixed pair, alpha {ALPHA:g}",
    notes="promised: the most that alpha allows, on average over many such tables.",
    seed=SEED,
    cells=honest(),
    quick=[dataclasses.replace(cell, draws=5_000) for cell in honest()],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=COLUMNS,
    folder=Path(__file__).parent / "results",
    quick_runs=1,
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
