"""DP-SGD with six bugs, in NumPy and with Opacus: transcripts beside draws of the output.

    python experiments/inside/sgd.py [--rows numpy] [--runs 3] [--quick]
    python experiments/inside/sgd.py validity [--runs 1000] [--quick]

Both audits get the same pair, the claim of dp-accounting and alpha 1e-6; the black box sees the
weights of the last step, and its draws are capped. CPU seconds are of one process, without the
claim's curve. `validity` audits tight mechanisms at alpha 0.05. Needs `dp-accounting`, and `opacus`
for its rows.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
import opacus_trainings
import trainings
from scipy.stats import binom
from study import Study, Task, study_main
from tables import Column, number

import dpaudit
from dpaudit.claims import GaussianDP, Profile, RenyiDP
from dpaudit.inside.bets import bets_on

SEED = 20_261_202
ALPHA = 1e-6
DRAWS = {"numpy": 20_000, "opacus": 1_000}
WIDE_DRAWS = 2_000
TRANSCRIPTS = {"numpy": 3_000, "opacus": 1_000}  # of a broken training
RIGHT_TRANSCRIPTS = {"numpy": 300, "opacus": 60}
WIDE = 20_000  # features of the last row


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A training with a bug, or with none; `place` gives its seeds."""

    place: int
    library: str
    bug: str
    features: int = trainings.FEATURES

    @property
    def label(self) -> str:
        return f"{self.library}, {self.bug}, {self.features} features"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What both audits of one training say."""

    verdict: str
    transcripts: int
    seconds: float
    output_verdict: str
    draws: int
    output_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """All runs of one training: medians, and how often each audit found it."""

    library: str
    bug: str
    features: int
    runs: int
    broken: int
    transcripts: float
    most_transcripts: int
    seconds: float
    refuted: int
    draws: float
    output_seconds: float
    ratio: float


@cache
def claim() -> Profile:
    """The claim of all trainings; its curve is reckoned before the clock starts."""
    made = trainings.claim_of()
    bets_on(made)
    return made


def mechanism_of(cell: Broken) -> tuple[Any, Any]:
    """The mechanism of a row, and its pair of datasets."""
    if cell.library == "opacus":
        return opacus_trainings.mechanism_of(cell.bug), opacus_trainings.neighbours()
    records = trainings.RECORDS if cell.features == trainings.FEATURES else 24
    data = trainings.table(records, cell.features)
    return trainings.Training(bug=cell.bug, size=records), trainings.neighbours(data)


def beside(task: Task[Broken]) -> Beside:
    """Both audits of one training."""
    cell = task.cell
    mechanism, pairs = mechanism_of(cell)
    most = (RIGHT_TRANSCRIPTS if cell.bug == "none" else TRANSCRIPTS)[cell.library]
    said, start = claim(), time.process_time()
    with warnings.catch_warnings(action="ignore"):  # of Opacus
        found = dpaudit.audit_inside(
            mechanism, said, pairs, alpha=ALPHA, transcripts=most, rng=task.entropy
        )
        middle = time.process_time()
        whole: Any = found.mechanism  # made to be drawn from
        draws = WIDE_DRAWS if cell.features == WIDE else DRAWS[cell.library]
        seen = dpaudit.audit(whole, said, pairs, alpha=ALPHA, samples=draws, rng=task.entropy)
    return Beside(
        verdict=found.verdict.value,
        transcripts=found.transcripts,
        seconds=middle - start,
        output_verdict=seen.verdict.value,
        draws=seen.samples,
        output_seconds=time.process_time() - middle,
    )


def line_of(cell: Broken, runs: Sequence[Beside]) -> Line:
    """Sum up the runs of one row."""

    def median(of: Callable[[Beside], float]) -> float:
        return statistics.median(map(of, runs))

    return Line(
        library=cell.library,
        bug=cell.bug,
        features=cell.features,
        runs=len(runs),
        broken=sum(one.verdict == "broken inside" for one in runs),
        transcripts=median(lambda one: one.transcripts),
        most_transcripts=max(one.transcripts for one in runs),
        seconds=median(lambda one: one.seconds),
        refuted=sum(one.output_verdict == "refuted" for one in runs),
        draws=median(lambda one: one.draws),
        output_seconds=median(lambda one: one.output_seconds),
        ratio=median(lambda one: one.output_seconds / one.seconds),
    )


CELLS = [
    Broken(place=10 * (library == "opacus") + place, library=library, bug=bug)
    for library in ("numpy", "opacus")
    for place, bug in enumerate(trainings.BUGS)
]
WIDE_CELL = Broken(place=20, library="numpy", bug="batch clipped", features=WIDE)
STUDY = Study(
    name="sgd",
    title=f"DP-SGD with bugs: transcripts beside draws, alpha {ALPHA:g}",
    notes="Medians. ratio: CPU seconds of the black box over those of the audit inside.",
    seed=SEED,
    cells=[*CELLS, WIDE_CELL],
    quick=CELLS[1:3],
    run=beside,
    outcome=Beside,
    summary=line_of,
    columns=[
        Column("library", lambda row: row.library, "left"),
        Column("bug", lambda row: row.bug, "left"),
        Column("features", lambda row: number(row.features)),
        Column("runs", lambda row: number(row.runs)),
        Column("broken\ninside", lambda row: number(row.broken)),
        Column("transcripts", lambda row: number(row.transcripts)),
        Column("most", lambda row: number(row.most_transcripts)),
        Column("seconds", lambda row: number(row.seconds, 2)),
        Column("refuted", lambda row: number(row.refuted)),
        Column("draws", lambda row: number(row.draws)),
        Column("seconds", lambda row: number(row.output_seconds, 1)),
        Column("ratio", lambda row: number(row.ratio, 1)),
    ],
    folder=Path(__file__).parent / "results",
    runs=3,
    quick_runs=1,
    once=lambda cell: cell.library == "opacus" or cell.features == WIDE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tight:
    """A mechanism that just keeps its claim."""

    place: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """Whether one audit accused it."""

    accused: bool
    transcripts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """All audits of a tight mechanism; more than `limit` accusations have a chance below 1e-3."""

    mechanism: str
    audits: int
    accused: int
    limit: int
    transcripts: int


LEVEL = 0.05
TIGHT_STEPS, TIGHT_RECORDS, TIGHT_TRANSCRIPTS = 5, 8, 60


@cache
def short_claim() -> Profile:
    """The claim of a short training."""
    return trainings.claim_of(steps=TIGHT_STEPS)


def noisy_sum(data: Any, rng: np.random.Generator) -> object:
    return dpaudit.release(np.clip(data, 0, 1).sum(), dpaudit.inside.Gaussian(1.0), rng)


def accused(task: Task[Tight]) -> Accused:
    """One audit of a tight mechanism."""
    one: Any = [(np.ones(3), np.ones(2))]
    data = trainings.table(TIGHT_RECORDS)
    short = trainings.Training(size=TIGHT_RECORDS, steps=TIGHT_STEPS)
    claims: dict[str, tuple[Any, Any, Any]] = {
        "DP-SGD, profile": (short, short_claim, trainings.neighbours(data)),
        "Gaussian, GDP": (noisy_sum, lambda: GaussianDP(1.0), one),
        "Gaussian, Rényi": (noisy_sum, lambda: RenyiDP(2.0, 1.0), one),
    }
    mechanism, made, pairs = claims[task.cell.label]
    found = dpaudit.audit_inside(
        mechanism, made(), pairs, alpha=LEVEL, transcripts=TIGHT_TRANSCRIPTS, rng=task.entropy
    )
    return Accused(accused=found.verdict.value == "broken inside", transcripts=found.transcripts)


def share_of(cell: Tight, runs: Sequence[Accused]) -> Share:
    """How many of the audits accused a mechanism."""
    return Share(
        mechanism=cell.label,
        audits=len(runs),
        accused=sum(one.accused for one in runs),
        limit=int(binom.ppf(1.0 - 1e-3, len(runs), LEVEL)),
        transcripts=TIGHT_TRANSCRIPTS,
    )


TIGHT = [
    Tight(place=place, label=label)
    for place, label in enumerate(("DP-SGD, profile", "Gaussian, GDP", "Gaussian, Rényi"))
]
VALIDITY = Study(
    name="sgd_validity",
    title=f"Tight mechanisms, followed: accused at alpha {LEVEL:g}",
    notes="More accusations than the limit have a chance below 1e-3 where the share is alpha.",
    seed=SEED + 1,
    cells=TIGHT,
    quick=TIGHT[1:],
    run=accused,
    outcome=Accused,
    summary=share_of,
    columns=[
        Column("mechanism", lambda row: row.mechanism, "left"),
        Column("audits", lambda row: number(row.audits)),
        Column("accused", lambda row: number(row.accused)),
        Column("limit", lambda row: number(row.limit)),
        Column("transcripts", lambda row: number(row.transcripts)),
    ],
    folder=Path(__file__).parent / "results",
    runs=1_000,
    quick_runs=5,
)


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked[:1] == ["validity"]:
        raise SystemExit(study_main(VALIDITY, asked[1:]))
    raise SystemExit(study_main(STUDY, asked))
