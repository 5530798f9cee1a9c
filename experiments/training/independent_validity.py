"""Bets on independent canaries, for mechanisms exactly on their claim: how often they are refuted.

    python experiments/training/independent_validity.py [--runs 1000] [--quick]

Gaussian canaries are tested as a profile: the claim without the ladder of levels around it, which
could only keep it from being refuted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from leaks import Independent, Leak, coins, responses
from scipy.stats import binom
from study import Study, Task, study_main
from tables import Column, number

from dpaudit.arrays import Floats, Labels
from dpaudit.claims import ApproxDP, Claim, GaussianDP, Profile, PureDP
from dpaudit.training.independent import independent

SEED = 20_261_123
ALPHA, SHOWN = 0.05, 0.05
LUCK = 1e-3  # the chance that a valid test looks invalid in a line


def response(bits: Labels, rng: np.random.Generator) -> Floats:
    """Randomized response at epsilon 1."""
    return responses(bits, np.ones(len(bits)), rng)


def rarely_tells(bits: Labels, rng: np.random.Generator) -> Floats:
    """The same, and a canary shows its bit with probability 0.05."""
    shown = rng.random(len(bits)) < SHOWN
    return np.where(shown, 3.0 * np.where(bits, 1.0, -1.0), response(bits, rng))


MECHANISMS: dict[str, tuple[Leak, Claim]] = {
    "Gaussian": (Independent(1.0), Profile(GaussianDP(1.0).delta, "1-GDP")),
    "randomized response": (response, PureDP(1.0)),
    "randomized response, some shown": (rarely_tells, ApproxDP(1.0, SHOWN)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Honest:
    """A mechanism on its claim; `place` gives its seeds."""

    place: int
    mechanism: str
    canaries: int

    @property
    def label(self) -> str:
        return f"{self.mechanism}, {self.canaries}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuted:
    """Whether one run refuted the claim."""

    refuted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """All runs of one mechanism; `allowed` is exceeded by luck once in a thousand lines."""

    mechanism: str
    claim: str
    canaries: int
    alpha: float
    runs: int
    refuted: int
    share: float
    allowed: int


def judge(task: Task[Honest]) -> Refuted:
    """Bet on the canaries of one run."""
    rng = np.random.default_rng(task.entropy)
    leak, claim = MECHANISMS[task.cell.mechanism]
    bits = coins(task.cell.canaries, rng)
    found, _ = independent(leak(bits, rng), bits, claim, ALPHA, rng=rng)
    return Refuted(refuted=found.refuted)


def accused(cell: Honest, judged: Sequence[Refuted]) -> Accused:
    """Sum up the runs of one mechanism."""
    refuted = sum(one.refuted for one in judged)
    return Accused(
        mechanism=cell.mechanism,
        claim=str(MECHANISMS[cell.mechanism][1]),
        canaries=cell.canaries,
        alpha=ALPHA,
        runs=len(judged),
        refuted=refuted,
        share=refuted / len(judged),
        allowed=int(binom.isf(LUCK, len(judged), ALPHA)),
    )


CELLS = [
    Honest(place=place, mechanism=name, canaries=1_000) for place, name in enumerate(MECHANISMS)
]
STUDY = Study(
    name="independent_validity",
    title=f"Independent canaries exactly on their claim, alpha {ALPHA:g}",
    notes="refuted: runs that refuted the claim; allowed: more than this by luck once in 1,000.",
    seed=SEED,
    cells=CELLS,
    quick=CELLS,
    run=judge,
    outcome=Refuted,
    summary=accused,
    columns=[
        Column("mechanism", lambda row: row.mechanism, "left"),
        Column("claim", lambda row: row.claim, "left"),
        Column("canaries", lambda row: f"{row.canaries:,}"),
        Column("runs", lambda row: number(row.runs)),
        Column("refuted", lambda row: number(row.refuted)),
        Column("allowed", lambda row: number(row.allowed)),
    ],
    folder=Path(__file__).parent / "results",
    runs=1_000,
    quick_runs=5,
)


if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
