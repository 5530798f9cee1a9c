"""How many canaries refute a claim under independence, and how many steps, step by step.

    python experiments/training/independent.py [--quick]

Scores are those of Gaussian canaries with unit noise and a shift of 1.4 where they are in, as Kutta
et al. (2026) have them for CIFAR-10; their test is APT. The floor is the fewest canaries with which
anybody could refute on average (docs/mathematics.md, section 2). Step by step a canary is inserted
at fair coins, and the noise is right, halved, or the same at every step.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from study import Study, Task, study_main
from tables import Column, mean_and_error, number

from dpaudit.arrays import Floats
from dpaudit.claims import GaussianDP
from dpaudit.training.independent import independent
from dpaudit.training.steps import bet_on_steps

SEED = 20_261_119
TRUTH = 1.4
# Claim: the floor and what APT needed, at alpha 0.05; None where it refuted in few of its runs.
PEERS: dict[float, tuple[int, int | None]] = {
    0.5: (37, 77),
    0.7: (61, 122),
    0.9: (120, 246),
    1.1: (334, 1_003),
    1.2: (752, 4_808),
    1.25: (1_339, None),
    1.3: (3_001, None),
}
MOST = 6  # times the floor: the canaries of a run
LEARNED = 1.1  # the largest claim that is also tested with the noise unknown
STEPS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """A claim and a truth; `place` decides the seeds."""

    place: int
    claim: float
    truth: float
    alpha: float
    noise_known: bool
    canaries: int
    floor: int
    apt: int | None

    @property
    def label(self) -> str:
        return f"{self.claim:g} {self.truth:g} {'known' if self.noise_known else 'learned'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What is wrong with the noise of a training; `place` decides the seeds."""

    place: int
    noise: str
    alpha: float
    steps: int = STEPS

    @property
    def label(self) -> str:
        return f"{self.noise} {self.alpha:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """After how many draws a run refuted: all that it had if it did not."""

    draws: int
    refuted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CanariesRow:
    """All runs of one claim: a line of `independent.csv`."""

    claim: float
    truth: float
    alpha: float
    noise_known: bool
    runs: int
    refuted: int
    canaries: float
    error: float
    floor: int
    apt: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsRow:
    """All runs of one training: a line of `steps.csv`."""

    noise: str
    alpha: float
    most_steps: int
    runs: int
    refuted: int
    steps: float
    error: float


def canaries() -> list[Canaries]:
    """List the claims of the peers, with the noise known and learned, and noise that is halved."""
    known = [(claim, TRUTH, 0.05, True, *PEERS[claim]) for claim in PEERS]
    learned = [(claim, TRUTH, 0.05, False, *PEERS[claim]) for claim in PEERS if claim <= LEARNED]
    halved = [(1.0, 2.0, 1e-6, True, 212, None)]
    return [
        Canaries(
            place=place,
            claim=claim,
            truth=truth,
            alpha=alpha,
            noise_known=is_known,
            canaries=MOST * floor,
            floor=floor,
            apt=apt,
        )
        for place, (claim, truth, alpha, is_known, floor, apt) in enumerate(
            [*known, *learned, *halved]
        )
    ]


def trainings() -> list[Training]:
    """List what may be wrong with the noise, at both alphas."""
    kinds = [(noise, alpha) for noise in ("same", "halved", "right") for alpha in (0.05, 1e-6)]
    return [
        Training(place=place, noise=noise, alpha=alpha)
        for place, (noise, alpha) in enumerate(kinds)
    ]


def run_canaries(task: Task[Canaries]) -> Outcome:
    """Test one run of a training."""
    cell, rng = task.cell, np.random.default_rng(task.entropy)
    bits = rng.random(cell.canaries) < 0.5
    scores = rng.normal(size=cell.canaries) + cell.truth * bits
    _, trace = independent(
        scores,
        bits,
        GaussianDP(cell.claim),
        cell.alpha,
        noise=1.0 if cell.noise_known else None,
        rng=rng,
    )
    return outcome(trace.refuted_after, cell.canaries)


def run_training(task: Task[Training]) -> Outcome:
    """Test one training step by step."""
    cell, rng = task.cell, np.random.default_rng(task.entropy)
    inserted = rng.random(cell.steps) < 0.5
    observations = inserted + noise_of(cell.noise, cell.steps, rng)
    _, trace, _ = bet_on_steps(observations, inserted, GaussianDP(1.0), alpha=cell.alpha, noise=1.0)
    return outcome(trace.refuted_after, cell.steps)


def noise_of(kind: str, steps: int, rng: np.random.Generator) -> Floats:
    """Noise for every step; the claim is that it is fresh and has a standard deviation of 1."""
    fresh = rng.normal(size=steps)
    return {"right": fresh, "halved": 0.5 * fresh, "same": np.full(steps, fresh[0])}[kind]


def outcome(refuted_after: int | None, draws: int) -> Outcome:
    """What a trace says."""
    if refuted_after is None:
        return Outcome(draws=draws, refuted=False)
    return Outcome(draws=refuted_after, refuted=True)


def sum_canaries(cell: Canaries, outcomes: Sequence[Outcome]) -> CanariesRow:
    """Sum up the runs of one claim."""
    mean, error = mean_and_error([one.draws for one in outcomes])
    return CanariesRow(
        claim=cell.claim,
        truth=cell.truth,
        alpha=cell.alpha,
        noise_known=cell.noise_known,
        runs=len(outcomes),
        refuted=sum(one.refuted for one in outcomes),
        canaries=mean,
        error=error,
        floor=cell.floor,
        apt=cell.apt,
    )


def sum_training(cell: Training, outcomes: Sequence[Outcome]) -> StepsRow:
    """Sum up the runs of one training."""
    mean, error = mean_and_error([one.draws for one in outcomes])
    return StepsRow(
        noise=cell.noise,
        alpha=cell.alpha,
        most_steps=cell.steps,
        runs=len(outcomes),
        refuted=sum(one.refuted for one in outcomes),
        steps=mean,
        error=error,
    )


CANARY_COLUMNS: list[Column[CanariesRow]] = [
    Column("claim", lambda row: number(row.claim, 2)),
    Column("truth", lambda row: number(row.truth, 2)),
    Column("alpha", lambda row: f"{row.alpha:g}"),
    Column("noise", lambda row: "known" if row.noise_known else "learned", "left"),
    Column("refuted", lambda row: f"{row.refuted} of {row.runs}"),
    Column("canaries", lambda row: number(row.canaries)),
    Column("error", lambda row: number(row.error)),
    Column("floor", lambda row: number(row.floor)),
    Column("APT", lambda row: number(row.apt)),
]
STEP_COLUMNS: list[Column[StepsRow]] = [
    Column("noise", lambda row: row.noise, "left"),
    Column("alpha", lambda row: f"{row.alpha:g}"),
    Column("refuted", lambda row: f"{row.refuted} of {row.runs}"),
    Column("steps", lambda row: number(row.steps)),
    Column("error", lambda row: number(row.error)),
]

INDEPENDENT = Study(
    name="independent",
    title="Canaries until a Gaussian claim is refuted, under independence",
    notes="A run that did not refute counts with all canaries it had, six times the floor.",
    seed=SEED,
    cells=canaries(),
    quick=canaries()[:1],
    run=run_canaries,
    outcome=Outcome,
    summary=sum_canaries,
    columns=CANARY_COLUMNS,
    folder=Path(__file__).parent / "results",
    runs=40,
)
STEP_BY_STEP = Study(
    name="steps",
    title="Steps until GaussianDP(1) is refuted, step by step",
    notes="A run that did not refute counts with all of its steps.",
    seed=SEED,
    cells=trainings(),
    quick=trainings()[:1],
    run=run_training,
    outcome=Outcome,
    summary=sum_training,
    columns=STEP_COLUMNS,
    folder=Path(__file__).parent / "results",
    runs=40,
)


if __name__ == "__main__":
    raise SystemExit(study_main(INDEPENDENT) or study_main(STEP_BY_STEP))
