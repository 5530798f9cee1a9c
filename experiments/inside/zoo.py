"""The zoo inside: what its releases show, what the black box says of that pair, and of the search.

    python experiments/inside/zoo.py [--runs 3] [--quick]

Every mechanism of the zoo is audited inside with the transcripts that are set if none are asked for
(400 for a pure claim, else 2,000), numbers that are used in other ways counted as released. The
pair that was found is then given to the black box (`confirm()`), and the black box searches for
itself with 300,000 draws.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

from study import Study, Task, study_main
from tables import Column, number

import dpaudit
from dpaudit.zoo import ZOO

SEED = 20_261_201
DRAWS = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A mechanism of the zoo; `place` gives its seeds."""

    place: int
    name: str

    @property
    def label(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """One audit inside, with the black box beside it."""

    inside: str
    transcripts: int
    seconds: float
    loss: float | None
    confirmed: str
    outside: str
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """All audits of one mechanism: verdicts with their counts, medians of the costs."""

    mechanism: str
    keeps_claim: bool
    inside: str
    transcripts: float
    seconds: float
    confirmed: str
    outside: str
    draws: float


def looked(task: Task[Mechanism]) -> Looked:
    """Audit a mechanism inside, confirm what was found, and let the black box search."""
    entry = ZOO[task.cell.name]
    code, neighbours, seed = entry.factory(), entry.neighbours(), task.entropy
    started = time.process_time()
    found = dpaudit.audit_inside(code, entry.claim, neighbours, reveal=True, rng=seed)
    seconds = time.process_time() - started
    with warnings.catch_warnings(action="ignore"):
        outside = dpaudit.audit(code, entry.claim, neighbours, samples=DRAWS, rng=seed)
        confirmed = "no pair"
        if found.worst is not None or found.differs is not None:
            confirmed = found.confirm(samples=DRAWS).verdict.value
    return Looked(
        inside=found.verdict.value,
        transcripts=found.transcripts,
        seconds=seconds,
        loss=None if found.worst is None else abs(found.worst.loss),
        confirmed=confirmed,
        outside=outside.verdict.value,
        draws=outside.samples,
    )


def summed(cell: Mechanism, runs: Sequence[Looked]) -> Summed:
    """Sum up the audits of one mechanism."""
    return Summed(
        mechanism=cell.name,
        keeps_claim=ZOO[cell.name].keeps_claim,
        inside=counted(one.inside for one in runs),
        transcripts=middle([one.transcripts for one in runs]),
        seconds=middle([one.seconds for one in runs]),
        confirmed=counted(one.confirmed for one in runs),
        outside=counted(one.outside for one in runs),
        draws=middle([one.draws for one in runs]),
    )


def counted(verdicts: object) -> str:
    """Verdicts with how often they came, where they are not all the same.

    >>> counted(["refuted", "refuted"]), counted(["refuted", "undecided"])
    ('refuted', 'refuted 1, undecided 1')
    """
    found = Counter(verdicts)  # type: ignore[call-overload]
    if len(found) == 1:
        return str(next(iter(found)))
    return ", ".join(f"{verdict} {count}" for verdict, count in sorted(found.items()))


def middle(values: Sequence[float]) -> float:
    """The median; the larger one of two in the middle."""
    return sorted(values)[len(values) // 2]


CELLS = [Mechanism(place=place, name=name) for place, name in enumerate(ZOO)]
STUDY = Study(
    name="inside_zoo",
    title="The zoo inside",
    notes="`confirm()` is the black box on the pair found inside; the last two columns are its own "
    f"search of {DRAWS:,} draws. Seconds are of the processor, medians.",
    seed=SEED,
    cells=CELLS,
    quick=[CELLS[0], CELLS[4]],
    run=looked,
    outcome=Looked,
    summary=summed,
    columns=[
        Column("mechanism", lambda row: row.mechanism),
        Column("keeps\nits claim", lambda row: "yes" if row.keeps_claim else "no"),
        Column("inside", lambda row: row.inside),
        Column("transcripts", lambda row: number(row.transcripts, 0)),
        Column("seconds", lambda row: number(row.seconds, 2)),
        Column("confirm()", lambda row: row.confirmed),
        Column("black box", lambda row: row.outside),
        Column("draws", lambda row: number(row.draws, 0)),
    ],
    folder=Path(__file__).parent / "results",
    runs=3,
    quick_runs=1,
)


if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
