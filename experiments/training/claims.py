"""What is certified of correct trainings of digits, at claimed epsilons from 1 to 10.

    python experiments/training/claims.py [--runs 20] [--quick]

The noise is what Opacus takes to claim each epsilon at delta 1e-5: digits, a network of 64-64-10,
60 steps at a sampling rate of 1/9, a canary head with 1,000 canaries, scored by all noisy
gradients. Needs `opacus` and `torch`.
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import digits
import numpy as np
from study import Study, Task, study_main
from tables import Column, number

from dpaudit.claims import ApproxDP
from dpaudit.integrations import needed
from dpaudit.training import CanaryHead, canaries, of_opacus
from dpaudit.training.any_mechanism import any_mechanism
from dpaudit.training.conclusion import separation
from dpaudit.training.independent import independent

SEED = 20_261_124
ALPHA, DELTA = 0.05, 1e-5
CANARIES = 1_000
EPSILONS = (1.0, 2.0, 4.0, 8.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """An epsilon that is claimed; `place` gives its seeds."""

    place: int
    epsilon: float

    @property
    def label(self) -> str:
        return f"epsilon {self.epsilon:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """The bounds of one training on epsilon, and whether they refute what is claimed."""

    any_mechanism: float
    any_refuted: bool
    independent: float
    independent_refuted: bool
    separation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """All trainings with one claim: medians of the bounds at alpha 0.05, and what was refuted."""

    epsilon: float
    noise: float
    runs: int
    separation: float
    any_mechanism: float
    any_refuted: int
    independent: float
    independent_refuted: int


def noise_for(epsilon: float) -> float:
    """The noise multiplier for which Opacus' accountant claims this epsilon."""
    found = needed("opacus.accountants.utils", "opacus").get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=DELTA,
        sample_rate=digits.RATE,
        steps=digits.STEPS,
        accountant="prv",
    )
    return float(found)


def trained(epsilon: float, seed: int) -> Any:
    """One training: its plan, and the scores of its canaries."""
    made, loss = digits.made_private(digits.BUGS[0])
    made["optimizer"].noise_multiplier = noise_for(epsilon)

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        for x, y in batches:
            optimizer.zero_grad()
            loss(module(x), y).backward()
            optimizer.step()

    plan = canaries(CANARIES, rng=seed)
    claim = ApproxDP(epsilon, DELTA)
    head = CanaryHead(observe="steps")
    training = of_opacus(train, **made, canaries=plan, insert=head, claim=claim, steps=digits.STEPS)
    return plan, training.run(np.array(plan.bits), np.random.default_rng(seed))


def bounded(task: Task[Claimed]) -> Bounded:
    """Train once and bound epsilon under both nulls, also where no run could refute the claim."""
    with warnings.catch_warnings(action="ignore"):  # the generators are not secure, says Opacus
        plan, scores = trained(task.cell.epsilon, task.entropy % 2**32)
    claim = ApproxDP(task.cell.epsilon, DELTA)
    whatever, _ = any_mechanism(scores, plan.bits, claim, ALPHA)
    bets, _ = independent(scores, plan.bits, claim, ALPHA, rng=task.entropy)
    return Bounded(
        any_mechanism=whatever.lower_bound or 0.0,
        any_refuted=whatever.refuted,
        independent=bets.lower_bound or 0.0,
        independent_refuted=bets.refuted,
        separation=separation(scores, plan.bits),
    )


def certified(cell: Claimed, runs: Sequence[Bounded]) -> Certified:
    """Sum up the trainings with one claim."""
    return Certified(
        epsilon=cell.epsilon,
        noise=noise_for(cell.epsilon),
        runs=len(runs),
        separation=statistics.median(one.separation for one in runs),
        any_mechanism=statistics.median(one.any_mechanism for one in runs),
        any_refuted=sum(one.any_refuted for one in runs),
        independent=statistics.median(one.independent for one in runs),
        independent_refuted=sum(one.independent_refuted for one in runs),
    )


CELLS = [Claimed(place=place, epsilon=epsilon) for place, epsilon in enumerate(EPSILONS)]
STUDY = Study(
    name="training_claims",
    title=f"Correct trainings of digits, {CANARIES:,} canaries, alpha {ALPHA:g}",
    notes="Medians of certified epsilons, and how many trainings were refuted.",
    seed=SEED,
    cells=CELLS,
    quick=CELLS[:1],
    run=bounded,
    outcome=Bounded,
    summary=certified,
    columns=[
        Column("claimed\nepsilon", lambda row: number(row.epsilon, 0)),
        Column("noise", lambda row: number(row.noise, 2)),
        Column("runs", lambda row: number(row.runs)),
        Column("separation", lambda row: number(row.separation, 2)),
        Column("any\nmechanism", lambda row: number(row.any_mechanism, 2)),
        Column("refuted", lambda row: number(row.any_refuted)),
        Column("if\nindependent", lambda row: number(row.independent, 2)),
        Column("refuted", lambda row: number(row.independent_refuted)),
    ],
    folder=Path(__file__).parent / "results",
    runs=20,
    quick_runs=1,
)


if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
