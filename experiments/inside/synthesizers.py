"""Two bugs of synthesizers, in NumPy, with right twins: transcripts beside draws of the output.

    python experiments/inside/synthesizers.py [--runs 5] [--quick]

`privbayes` releases the joint counts of two columns that a synthesizer samples from; with the bug
their noise is divided by the number of rows, as if they were shares. `covariance` releases a noisy
covariance of bounded columns; with the bug the noise forgets that a row moves two numbers of every
pair of columns, and that it has several pairs: the sensitivity of a single number is used.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from study import Study, Task, study_main
from tables import Column, number

import dpaudit

SEED = 20_261_203
ALPHA, EPSILON, DRAWS, TRANSCRIPTS = 1e-6, 1.0, 60_000, 200
ROWS, COLUMNS = 30, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesizer:
    """A synthesizer, right or not; `place` gives its seeds."""

    place: int
    name: str
    right: bool

    @property
    def label(self) -> str:
        return f"{self.name}, {'right' if self.right else 'broken'}"


def counts_of(data: Any) -> Any:
    """The joint counts of the first two columns, each of them in three parts."""
    places = np.minimum((np.asarray(data)[:, :2] * 3).astype(int), 2)
    counts = np.zeros((3, 3))
    np.add.at(counts, (places[:, 0], places[:, 1]), 1.0)
    return counts


@dataclass(frozen=True, slots=True)
class PrivBayes:
    """Zhang et al. (2014), "PrivBayes": the noisy joint counts, as the synthesizer keeps them.

    A replaced row moves two counts by 1 each, so the scale is `2 / epsilon`.
    """

    right: bool

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        scale = 2.0 / EPSILON
        if not self.right:
            scale /= len(data)
        noisy = dpaudit.release(counts_of(data), dpaudit.inside.Laplace(scale), rng)
        kept = np.maximum(noisy, 1e-9)
        return kept / kept.sum()


@dataclass(frozen=True, slots=True)
class Covariance:
    """A noisy sum of `x_i x_j` over rows with entries of 0 to 1, for all `i <= j`.

    A replaced row moves each of the six sums by at most 1, so the scale is `6 / epsilon`.
    """

    right: bool

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        rows = np.asarray(data)
        places = np.triu_indices(rows.shape[1])
        sums = (rows.T @ rows)[places]
        scale = (len(sums) if self.right else 2.0) / EPSILON
        noisy = dpaudit.release(sums, dpaudit.inside.Laplace(scale), rng)
        made = np.zeros((rows.shape[1],) * 2)
        made[places] = noisy
        return (made + np.triu(made, 1).T) / len(data)


MECHANISMS: dict[str, Any] = {"privbayes": PrivBayes, "covariance": Covariance}


def pairs_of() -> list[tuple[Any, Any]]:
    """A table in which one row is replaced by the opposite one."""
    rows = np.random.default_rng(7).random((ROWS, COLUMNS))
    first, second = rows.copy(), rows.copy()
    first[0], second[0] = 1.0, 0.0
    return [(first, second)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What both audits of one synthesizer say."""

    verdict: str
    transcripts: int
    seconds: float
    output_verdict: str
    draws: int
    output_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """All runs of one synthesizer: medians, and how often each audit found it broken."""

    synthesizer: str
    right: bool
    runs: int
    broken: int
    transcripts: float
    seconds: float
    refuted: int
    draws: float
    output_seconds: float


def beside(task: Task[Synthesizer]) -> Beside:
    """Both audits of one synthesizer."""
    code, claim = MECHANISMS[task.cell.name](task.cell.right), dpaudit.PureDP(EPSILON)
    start = time.process_time()
    found = dpaudit.audit_inside(
        code, claim, pairs_of(), alpha=ALPHA, transcripts=TRANSCRIPTS, rng=task.entropy
    )
    middle = time.process_time()
    assert found.mechanism is not None
    seen = dpaudit.audit(
        found.mechanism, claim, pairs_of(), alpha=ALPHA, samples=DRAWS, rng=task.entropy
    )
    return Beside(
        verdict=found.verdict.value,
        transcripts=found.transcripts,
        seconds=middle - start,
        output_verdict=seen.verdict.value,
        draws=seen.samples,
        output_seconds=time.process_time() - middle,
    )


def line_of(cell: Synthesizer, runs: Sequence[Beside]) -> Line:
    """Sum up the runs of one synthesizer."""
    return Line(
        synthesizer=cell.name,
        right=cell.right,
        runs=len(runs),
        broken=sum(one.verdict == "broken inside" for one in runs),
        transcripts=statistics.median(one.transcripts for one in runs),
        seconds=statistics.median(one.seconds for one in runs),
        refuted=sum(one.output_verdict == "refuted" for one in runs),
        draws=statistics.median(one.draws for one in runs),
        output_seconds=statistics.median(one.output_seconds for one in runs),
    )


CELLS = [
    Synthesizer(place=2 * place + right, name=name, right=bool(right))
    for place, name in enumerate(MECHANISMS)
    for right in (0, 1)
]
STUDY = Study(
    name="synthesizers",
    title=f"Synthesizers: transcripts beside draws, epsilon {EPSILON:g}, alpha {ALPHA:g}",
    notes="Medians. CPU seconds of one process.",
    seed=SEED,
    cells=CELLS,
    quick=CELLS[:2],
    run=beside,
    outcome=Beside,
    summary=line_of,
    columns=[
        Column("synthesizer", lambda row: row.synthesizer, "left"),
        Column("right", lambda row: "yes" if row.right else "no", "left"),
        Column("runs", lambda row: number(row.runs)),
        Column("broken\ninside", lambda row: number(row.broken)),
        Column("transcripts", lambda row: number(row.transcripts)),
        Column("seconds", lambda row: number(row.seconds, 3)),
        Column("refuted", lambda row: number(row.refuted)),
        Column("draws", lambda row: number(row.draws)),
        Column("seconds", lambda row: number(row.output_seconds, 1)),
    ],
    folder=Path(__file__).parent / "results",
    runs=5,
    quick_runs=1,
)


if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
