"""Noise of several libraries, looked at with its bits: which of it is safe in floating point.

    pip install opendp diffprivlib "scikit-learn<1.7" python-dp
    python experiments/floats.py [--quick | --rows OpenDP]

A sum of 0 or of 1 is released with noise that is right on real numbers, and audited with
`floats="bits"`. Noise that is added in floats has 200 000 draws and is refuted within them (Mironov
2012); what is made for floats has a million and is not. OpenDP and python-dp draw from the
operating system, so their rows differ a little from run to run.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
import numpy.typing as npt
from study import Study, Task, study_main
from tables import Column, number, yes_or_no

import dpaudit
from dpaudit import ApproxDP, PureDP, Subject
from dpaudit.claims import Claim
from dpaudit.zoo import Geometric, Snapping

SEED = 20_261_116
RESULTS = Path(__file__).parent / "results"
SAMPLES = {True: 200_000, False: 1_000_000}  # of an audit, by whether noise is added in floats
LAPLACE = PureDP(1.0)
GAUSSIAN = ApproxDP(4.4, 1e-5)  # on real numbers a standard deviation of 1 has delta 9.1e-6 there
ANSWERS = dpaudit.pairs([(np.array([1.0]), np.array([0.0]))])
COUNTS = dpaudit.pairs([([1.0], [])])

Floats = npt.NDArray[Any]
Noise = Callable[[np.random.Generator, int], Floats]


def plus(noise: Noise, claim: Claim = LAPLACE, *, grid: float | None = None) -> Subject:
    """A sum plus noise by NumPy, rounded to multiples of `grid` if there is one."""

    def noisy_sum(data: Any, size: int, rng: np.random.Generator) -> Floats:
        noisy = float(sum(data)) + noise(rng, size)
        return noisy if grid is None else np.round(noisy / grid) * grid

    return Subject(mechanism=noisy_sum, claim=claim, neighbours=ANSWERS)


def of_opendp(kind: str, norm: str, claim: Claim) -> Subject:
    """A measurement with noise of scale 1; a vector of equal answers is as many draws of one."""
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    answers = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    measurement = getattr(dp.m, kind)(answers, getattr(dp, norm)(T=float), scale=1.0)

    def noisy_sum(data: Any, size: int) -> list[float]:
        released: list[float] = measurement([float(sum(data))] * size)
        return released

    return Subject(mechanism=noisy_sum, claim=claim, neighbours=ANSWERS)


def of_diffprivlib(kind: str, **given: float) -> Subject:
    """A mechanism of diffprivlib with the claim that it makes."""
    mechanisms = importlib.import_module("diffprivlib.mechanisms")
    made = dpaudit.integrations.from_diffprivlib(getattr(mechanisms, kind)(sensitivity=1, **given))
    return replace(made, neighbours=ANSWERS)


def of_python_dp(kind: str, claim: Claim, **given: float) -> Subject:
    """A numerical mechanism of python-dp, Google's in C++."""
    mechanisms = importlib.import_module("pydp.algorithms.numerical_mechanisms")
    made = getattr(mechanisms, kind)(sensitivity=1.0, **given)

    def noisy_sum(data: Any, size: int) -> list[float]:
        total = float(sum(data))
        return [made.add_noise(total) for _ in range(size)]

    return Subject(mechanism=noisy_sum, claim=claim, neighbours=ANSWERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a release comes from: how it is made, and whether its noise is added in floats."""

    package: str
    make: Callable[[], Subject]
    adds_in_floats: bool = False


def _naive(package: str, make: Callable[[], Subject]) -> Source:
    return Source(package=package, make=make, adds_in_floats=True)


SOURCES: dict[str, Source] = {
    "NumPy, x + rng.laplace()": _naive("numpy", lambda: plus(lambda rng, n: rng.laplace(size=n))),
    "NumPy, x + rng.normal()": _naive(
        "numpy", lambda: plus(lambda rng, n: rng.normal(size=n), GAUSSIAN)
    ),
    "NumPy, x + noise in float32": _naive(
        "numpy", lambda: plus(lambda rng, n: rng.laplace(size=n).astype(np.float32).astype(float))
    ),
    "diffprivlib, Laplace": _naive("diffprivlib", lambda: of_diffprivlib("Laplace", epsilon=1.0)),
    "diffprivlib, GaussianAnalytic": _naive(
        "diffprivlib", lambda: of_diffprivlib("GaussianAnalytic", epsilon=1.0, delta=1e-5)
    ),
    "NumPy, rounded to 2^-20": Source(
        package="numpy", make=lambda: plus(lambda rng, n: rng.laplace(size=n), grid=2.0**-20)
    ),
    "OpenDP, make_laplace": Source(
        package="opendp", make=lambda: of_opendp("make_laplace", "l1_distance", LAPLACE)
    ),
    "OpenDP, make_gaussian": Source(
        package="opendp", make=lambda: of_opendp("make_gaussian", "l2_distance", GAUSSIAN)
    ),
    "python-dp, LaplaceMechanism": Source(
        package="python-dp", make=lambda: of_python_dp("LaplaceMechanism", LAPLACE, epsilon=1.0)
    ),
    "dpaudit, Snapping": Source(
        package="dpaudit",
        make=lambda: Subject(mechanism=Snapping(), claim=LAPLACE, neighbours=COUNTS),
    ),
    "dpaudit, Geometric": Source(
        package="dpaudit",
        make=lambda: Subject(mechanism=Geometric(), claim=LAPLACE, neighbours=COUNTS),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One source and its number of draws; `place` decides its seeds."""

    place: int
    source: str
    samples: int

    @property
    def label(self) -> str:
        return self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one audit ended; the version is that of the package it was run with."""

    version: str
    claim: str
    refuted: bool
    draws: int
    epsilon_lower: float
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """All audits of one source: a line of the table and of the CSV."""

    mechanism: str
    package: str
    version: str
    claim: str
    adds_in_floats: bool
    samples: int
    audits: int
    refuted: int
    mean_draws: float
    least_epsilon: float
    event: str


def releases() -> list[Release]:
    """List every source."""
    return [
        Release(place=place, source=name, samples=SAMPLES[source.adds_in_floats])
        for place, (name, source) in enumerate(SOURCES.items())
    ]


def run(task: Task[Release]) -> Outcome:
    """Audit the bits of one source."""
    source = SOURCES[task.cell.source]
    subject = source.make()
    audit = dpaudit.audit(subject, samples=task.cell.samples, rng=task.entropy, floats="bits")
    return Outcome(
        version=version(source.package),
        claim=str(subject.claim),
        refuted=audit.refuted,
        draws=audit.samples,
        epsilon_lower=audit.epsilon_lower or 0.0,
        event="" if audit.counterexample is None else audit.counterexample.event,
    )


def summary(cell: Release, outcomes: Sequence[Outcome]) -> Looked:
    """Sum up the audits of one source."""
    source, events = SOURCES[cell.source], [one.event for one in outcomes if one.event]
    return Looked(
        mechanism=cell.source,
        package=source.package,
        version=outcomes[0].version,
        claim=outcomes[0].claim,
        adds_in_floats=source.adds_in_floats,
        samples=cell.samples,
        audits=len(outcomes),
        refuted=sum(one.refuted for one in outcomes),
        mean_draws=mean(one.draws for one in outcomes),
        least_epsilon=min(one.epsilon_lower for one in outcomes),
        event=max(events, key=events.count, default=""),
    )


COLUMNS: list[Column[Looked]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("version", lambda row: row.version, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("adds in\nfloats", lambda row: yes_or_no(row.adds_in_floats)),
    Column("audits", lambda row: number(row.audits)),
    Column("refuted", lambda row: number(row.refuted)),
    Column("draws\nmean", lambda row: number(row.mean_draws)),
    Column("certified\nleast", lambda row: number(row.least_epsilon, 2)),
]
NOTES = "draws: until refuted and certified, or all. certified: the least epsilon of an audit."

STUDY = Study(
    name="floats",
    title="Noise of several libraries with its bits, alpha 1e-06",
    notes=NOTES,
    seed=SEED,
    cells=releases(),
    quick=[replace(cell, samples=20_000) for cell in releases()],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=COLUMNS,
    folder=RESULTS,
    runs=3,
    quick_runs=1,
    once=lambda cell: cell.samples == SAMPLES[False],
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
