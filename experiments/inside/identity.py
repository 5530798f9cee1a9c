"""The mean of `exp(-L)` over transcripts, which is 1 for exact losses, for every kind of release.

    python experiments/inside/identity.py [--runs 2000] [--quick]

`E_P[exp(-L)] = sum of Q over all that P can release`: 1 where P can release all that Q can. Each
run is one whole transcript, recorded on one dataset and replayed on the other. Losses are of size 1
or less, so that the mean of 2,000 has a small error.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from scipy import stats
from study import Study, Task, study_main
from tables import Column, number

from dpaudit import Pair, hidden_sample, one_at_a_time, primitive, release
from dpaudit.inside import (
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Kernel,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    SparseVector,
    Staircase,
    Vector,
    transcript_of,
)
from dpaudit.mechanism import as_mechanism

SEED = 20_261_202
Code = Callable[[Any, np.random.Generator], object]
SIDES = [1.0, 0.0, 0.5], [0.0, 0.5, 1.0]
SHARES = [0.5, 0.3, 0.2], [0.4, 0.2, 0.4]


def released(kernel: Kernel, data: Any, neighbour: Any) -> tuple[Code, Any, Any]:
    """A single release of a kernel."""
    return lambda given, rng: release(given, kernel, rng), data, neighbour


def coded(code: Code) -> tuple[Code, Any, Any]:
    """Code that draws from its generator, on three answers."""
    return code, np.array(SIDES[0]), np.array(SIDES[1])


def sparse_vector(data: Any, rng: np.random.Generator) -> object:
    bar, found = rng.laplace(0.5, 2.0), []
    for answer in data:
        found.append(bool(answer + rng.laplace(scale=4.0) >= bar))
        if found[-1]:
            break
    return found


def best_of_both(data: Any, rng: np.random.Generator) -> object:
    noisy = data + rng.laplace(scale=3.0, size=3)
    return np.argmax(noisy), np.max(noisy)


@primitive(log_density=lambda output, value, scale: stats.cauchy.logpdf(output, value, scale))
def cauchy(value: float, scale: float, rng: np.random.Generator) -> float:
    return float(value + scale * rng.standard_cauchy())


def two_steps(data: Any, rng: np.random.Generator) -> object:
    """Two sampled steps, of which the second goes on from what the first released."""
    weight = 0.0
    for _ in range(2):
        chosen = hidden_sample(len(data), 0.3, rng)
        weight += release(float((data[chosen] - 0.1 * weight).sum()), Gaussian(1.5), rng)
    return weight


CASES: dict[str, tuple[Code, Any, Any]] = {
    "Laplace": released(Laplace(1.0), 1.0, 0.0),
    "Gaussian": released(Gaussian(1.5), np.ones(2), np.zeros(2)),
    "Staircase": released(Staircase(1.0, epsilon=1.0), 1.0, 0.0),
    "DiscreteLaplace": released(DiscreteLaplace(1.0), 1, 0),
    "DiscreteGaussian": released(DiscreteGaussian(1.5), 1, 0),
    "ExponentialMechanism": released(ExponentialMechanism(epsilon=1.0), *SIDES),
    "PermuteAndFlip": released(PermuteAndFlip(epsilon=1.0), *SIDES),
    "RandomizedResponse": released(RandomizedResponse(epsilon=1.0, categories=4), 0, 3),
    "Categorical": released(Categorical(), *SHARES),
    "ReportNoisyMax, Laplace": released(ReportNoisyMax(scale=2.0), *SIDES),
    "ReportNoisyMax, normal": released(ReportNoisyMax(scale=2.0, kind="normal"), *SIDES),
    "ReportNoisyMax, exponential": released(ReportNoisyMax(scale=2.0, kind="exponential"), *SIDES),
    "ReportNoisyMax, Gumbel": released(ReportNoisyMax(scale=2.0, kind="gumbel"), *SIDES),
    "SparseVector": released(
        SparseVector(threshold=0.5, threshold_scale=2.0, answer_scale=4.0), *SIDES
    ),
    "Vector": released(Vector((Laplace(2.0), Gaussian(2.0))), [1.0, 1.0], [0.0, 0.0]),
    "rng.laplace": coded(lambda data, rng: data + rng.laplace(scale=2.0, size=3)),
    "rng.normal, summed": coded(lambda data, rng: (data[:2] + rng.normal(size=2)).sum()),
    "rng.geometric, two-sided": coded(
        lambda data, rng: int(2 * data[0]) + rng.geometric(0.4) - rng.geometric(0.4)
    ),
    "rng.gumbel": coded(lambda data, rng: data[0] + rng.gumbel(scale=2.0)),
    "rng.logistic": coded(lambda data, rng: data[0] + rng.logistic(scale=2.0)),
    "rng.random, compared": coded(lambda data, rng: rng.random(3) < 0.2 + 0.5 * data),
    "rng.choice": coded(lambda data, rng: rng.choice(3, p=(data + 1) / (data + 1).sum())),
    "cumulative sums": coded(lambda data, rng: np.cumsum(data + rng.laplace(scale=2.0, size=3))),
    "clip": coded(lambda data, rng: np.clip(data + rng.laplace(scale=2.0, size=3), 0.0, 1.0)),
    "a comparison": coded(lambda data, rng: data + rng.laplace(scale=2.0, size=3) > 0.7),
    "two noisy numbers compared": coded(
        lambda data, rng: bool(data[0] + rng.laplace() > data[1] + rng.laplace())
    ),
    "argmax": coded(lambda data, rng: np.argmax(data + rng.laplace(scale=2.0, size=3))),
    "argmax and max": coded(best_of_both),
    "a sparse vector": coded(sparse_vector),
    "a primitive, Cauchy": coded(lambda data, rng: cauchy(float(data[0]), 2.0, rng)),
    "hidden_sample, with the record": (two_steps, np.ones(3), np.ones(2)),
    "hidden_sample, without it": (two_steps, np.ones(2), np.ones(3)),
    "hidden_sample, one replaced": (two_steps, np.ones(3), np.array([1.0, 0.0, 1.0])),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A kind of release; `place` gives its seeds."""

    place: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The loss of one transcript."""

    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """All transcripts of one kind of release."""

    release: str
    transcripts: int
    largest: float
    mean: float
    error: float
    off: float


def lost(task: Task[Released]) -> Lost:
    """One transcript."""
    code, data, neighbour = CASES[task.cell.label]
    rng = np.random.default_rng(task.entropy)
    mechanism = as_mechanism(one_at_a_time(code))
    return Lost(loss=transcript_of(mechanism, Pair(data, neighbour), rng).loss)


def identity(cell: Released, runs: Sequence[Lost]) -> Identity:
    """The mean of `exp(-L)`, its standard error, and how many errors it lies off 1."""
    ratios = [math.exp(-one.loss) for one in runs]
    mean, error = statistics.fmean(ratios), statistics.pstdev(ratios) / math.sqrt(len(ratios))
    return Identity(
        release=cell.label,
        transcripts=len(runs),
        largest=max(abs(one.loss) for one in runs),
        mean=mean,
        error=error,
        off=abs(mean - 1.0) / error if error > 0.0 else 0.0,
    )


CELLS = [Released(place=place, label=label) for place, label in enumerate(CASES)]
STUDY = Study(
    name="inside_identity",
    title="The mean of exp(-L) over transcripts",
    notes="It is 1 for exact losses; the last column counts standard errors from 1.",
    seed=SEED,
    cells=CELLS,
    quick=CELLS[:2],
    run=lost,
    outcome=Lost,
    summary=identity,
    columns=[
        Column("release", lambda row: row.release, justify="left"),
        Column("transcripts", lambda row: number(row.transcripts)),
        Column("largest loss", lambda row: number(row.largest, 3)),
        Column("mean", lambda row: number(row.mean, 4)),
        Column("error", lambda row: number(row.error, 4)),
        Column("errors off", lambda row: number(row.off, 1)),
    ],
    folder=Path(__file__).parent / "results",
    runs=2_000,
    quick_runs=200,
)


if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
