"""How often each tester detects a bug on a fixed pair, beside the paper's figures and the truth.

    python experiments/table1.py [--quick | --figure-only]

This is the table "Detection rate of non-private mechanisms" of DP-Auditorium (Kong, Medina, Ribero
and Syed 2023), made again with an alpha of 0.05. Every line also says whether the pair violates the
claim at all, by the exact divergence, and how few draws could show it to anybody.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

from exact_divergence import floor, hockey_stick, renyi, total_variation
from exact_outputs import Dataset, exact_outputs
from fixed_pair import look
from study import Study, Task, study_main
from table1_figure import draw
from table2 import ALPHA, DELTA, MEANS, MECHANISMS, ORDER, TESTERS
from tables import Column, mean_and_error, number, yes_or_no

from dpaudit import zoo as mechanisms
from dpaudit.claims import ApproxDP, PureDP, RenyiDP

Datasets: TypeAlias = tuple[Dataset, Dataset]

SEED = 20_260_707
HERE = Path(__file__).parent
PAPER = HERE / "reference" / "table1_detection.csv"
EPSILONS = (0.01, 1.0)
SIZES = (50_000, 100_000, 500_000)  # draws of a side
MEAN_PAIR = ((0.0,), (0.0, 1.0))
# The paper names no answers. A remark of its code gives the records [0, 1] and [0, 1, 0] and the
# queries that repeat the last record and end with the one before it; here they are ten.
SVT_PAIR = ((1.0,) * 9 + (0.0,), (0.0,) * 9 + (1.0,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """One mechanism, tester and number of draws of a side; `place` decides its seeds."""

    place: int
    mechanism: str
    epsilon: float
    tester: str
    draws: int

    @property
    def label(self) -> str:
        return f"{self.mechanism} {self.epsilon:g} {self.tester} {self.draws}"

    @property
    def claim(self) -> PureDP | ApproxDP | RenyiDP:
        """Pure DP; Gaussian noise claims a delta besides, or a Rényi divergence."""
        if "Gaussian" not in self.mechanism:
            return PureDP(self.epsilon)
        if self.tester == "renyi":
            return RenyiDP(ORDER, self.epsilon)
        return ApproxDP(self.epsilon, DELTA)

    @property
    def pair(self) -> Datasets:
        return MEAN_PAIR if self.mechanism in MEANS else SVT_PAIR


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is true of a pair, whoever looks.

    `excess` is by how much the exact divergence exceeds the claim: hockey-stick, or Rényi where
    that is claimed. `visible` is whether the tester's own divergence exceeds what it allows: the
    Rényi tester and MMD do not see every violation of pure DP. `floor` is in draws of a side, None
    for a Rényi claim.
    """

    excess: float
    visible: bool
    floor: float | None

    def state(self, draws: int) -> str:
        """Say what can be asked of the tester with this number of draws of a side.

        >>> Truth(excess=0.01, visible=True, floor=900.0).state(50_000)
        'violation'
        """
        if self.excess <= 0.0:
            return "no violation"
        if self.floor is not None and self.floor >= draws:
            return "too few draws"
        return "violation" if self.visible else "unseen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run ended; the draws are those of both sides until then."""

    refuted: bool
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """All runs of one detection: a line of the table and of the CSV.

    `state` is "violation" where the tester can be asked to detect; else "no violation", "too few
    draws" if the floor is not below them, or "unseen" if the tester's divergence does not show it.
    `mean_draws` are of a side, over the runs that detected. `holds`, of the bets alone, is whether
    all runs detected where they can be asked to.
    """

    mechanism: str
    epsilon: float
    tester: str
    draws: int
    claim: str
    alpha: float
    state: str
    excess: float
    floor: float | None
    runs: int
    detected: int
    mean_draws: float | None
    paper_detected: int | None
    holds: bool | None


def detections() -> list[Detection]:
    """List every mechanism, epsilon and tester; the bets once, with the most draws."""
    cells = [
        (mechanism, epsilon, tester, draws)
        for mechanism in MECHANISMS
        for epsilon in EPSILONS
        for tester in TESTERS
        for draws in (SIZES[-1:] if tester == "betting" else SIZES)
    ]
    return [
        Detection(place=place, mechanism=mechanism, epsilon=epsilon, tester=tester, draws=draws)
        for place, (mechanism, epsilon, tester, draws) in enumerate(cells)
    ]


def paper_detected(detection: Detection) -> int | None:
    """Give the paper's figure, of ten runs; None where it has none.

    >>> paper_detected(next(each for each in detections() if each.tester == "mmd"))
    10
    """
    _, column = TESTERS[detection.tester]
    wanted = (detection.mechanism, detection.epsilon, column, detection.draws)
    return _paper().get(wanted) if column is not None else None


@functools.cache
def _paper() -> dict[tuple[str, float, str | None, int], int]:
    with PAPER.open(newline="", encoding="utf-8") as file:
        return {
            (
                line["mechanism"],
                float(line["epsilon"]),
                line["tester"],
                1_000 * int(line["n_thousand"]),
            ): int(line["detected_of_10"])
            for line in csv.DictReader(file)
        }


def truth(detection: Detection) -> Truth:
    """Work out what can be seen on the pair of a detection."""
    claim, (tester, _) = detection.claim, TESTERS[detection.tester]
    masses = exact_outputs(detection.mechanism, detection.epsilon, *detection.pair)
    if isinstance(claim, RenyiDP):
        excess, least = renyi(masses, ORDER) - claim.epsilon, None
    else:
        excess = hockey_stick(masses, claim.epsilon) - claim.delta(claim.epsilon)
        least = _floor(detection.mechanism, claim, detection.pair)
    visible = excess > 0.0
    if tester is not None and detection.tester == "renyi":
        visible = renyi(masses, ORDER) > tester.threshold(claim)
    elif tester is not None and detection.tester == "mmd":
        # No kernel up to 1 tells more than sqrt(2) times the total variation.
        visible = math.sqrt(2) * total_variation(masses) > tester.threshold(claim)
    return Truth(excess=excess, visible=visible, floor=least)


@functools.cache
def _floor(mechanism: str, claim: PureDP | ApproxDP, pair: Datasets) -> float:
    masses = exact_outputs(mechanism, claim.epsilon, *pair)
    return floor(masses, claim.epsilon, claim.delta(claim.epsilon), alpha=ALPHA)


def run(task: Task[Detection]) -> Outcome:
    """Test once."""
    cell = task.cell
    mechanism = getattr(mechanisms, cell.mechanism)(cell.epsilon)
    found = look(
        mechanism, cell.claim, cell.pair, cell.tester, draws=cell.draws, entropy=task.entropy
    )
    return Outcome(refuted=found.refuted, draws=found.draws)


def summary(detection: Detection, outcomes: Sequence[Outcome]) -> Detected:
    """Sum up the runs of one detection."""
    found, known = [one for one in outcomes if one.refuted], truth(detection)
    state, holds = known.state(detection.draws), None
    if detection.tester == "betting":
        holds = state != "violation" or len(found) == len(outcomes)
    return Detected(
        mechanism=detection.mechanism,
        epsilon=detection.epsilon,
        tester=detection.tester,
        draws=detection.draws,
        claim=str(detection.claim),
        alpha=ALPHA,
        state=state,
        excess=known.excess,
        floor=known.floor,
        runs=len(outcomes),
        detected=len(found),
        mean_draws=mean_and_error([one.draws / 2 for one in found])[0] if found else None,
        paper_detected=paper_detected(detection),
        holds=holds,
    )


COLUMNS: list[Column[Detected]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("epsilon", lambda row: f"{row.epsilon:g}"),
    Column("tester", lambda row: row.tester, "left"),
    Column("n", lambda row: f"{row.draws / 1_000:g}k"),
    Column("state", lambda row: row.state, "left"),
    Column("excess", lambda row: f"{row.excess:.2g}"),
    Column("floor", lambda row: number(row.floor)),
    Column("de-\ntected", lambda row: f"{row.detected}/{row.runs}"),
    Column("paper", lambda row: number(row.paper_detected)),
    Column("draws\nmean", lambda row: number(row.mean_draws)),
    Column("holds", lambda row: yes_or_no(row.holds)),
]
NOTES = (
    "n, floor and draws: of a side. excess: of the exact divergence over the claim. unseen: not\n"
    "in the tester's own divergence. holds: the bets always detect if the floor is below n."
)


STUDY = Study(
    name="table1",
    title=f"Detected on a fixed pair, alpha {ALPHA:g}",
    notes=NOTES,
    seed=SEED,
    cells=detections(),
    quick=[
        dataclasses.replace(detection, draws=20_000)
        for detection in detections()
        if detection.mechanism in ("NonDPLaplace1", "NonDPGaussian2", "SVT5")
        and detection.draws in (SIZES[0], SIZES[-1] if detection.tester == "betting" else 0)
    ],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=COLUMNS,
    folder=HERE / "results",
    draw=draw,
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
