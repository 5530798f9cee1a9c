"""What one run of a training can say whatever its canaries do to each other: validity and power.

    python experiments/training/one_run.py {validity,power} [--runs 1000] [--quick]

Validity: mechanisms exactly on their claim, whose canaries hang together or do not. Power:
independent Gaussian canaries whose claim is exactly true, and the bounds that are certified.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from leaks import Independent, coins, on_their_claims
from scipy.stats import binom
from study import Study, Task, study_main
from tables import Column, number

from dpaudit.claims import GaussianDP, point_of
from dpaudit.results import Finding
from dpaudit.training.any_mechanism import TESTS
from dpaudit.training.levels import point_claim
from dpaudit.training.several_runs import combined_runs

SEED = 20_260_815
ALPHA = 0.05
DELTA = 1e-5
LUCK = 1e-3  # the chance that a valid test looks invalid in a line
RUNS_TOGETHER = 3
TOGETHER = f"{RUNS_TOGETHER} runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Honest:
    """A mechanism on its claim and a test; `place` gives its seeds."""

    place: int
    mechanism: str
    canaries: int
    test: str

    @property
    def label(self) -> str:
        return f"{self.mechanism}, {self.canaries}, {self.test}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Whether a test refuted the claim, and whether its bound lay above the truth."""

    refuted: bool
    bound_wrong: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """All runs of one mechanism and test; `allowed` is exceeded by luck once in a thousand lines.

    `wrong` counts the runs that refuted the claim or gave a bound at or above it.
    """

    mechanism: str
    claim: str
    canaries: int
    test: str
    alpha: float
    runs: int
    wrong: int
    share: float
    allowed: int


def honest() -> list[Honest]:
    """List the mechanisms with every test that there is for their claims."""
    cells = [
        (name, canaries, test)
        for name in on_their_claims()
        for canaries in (1_000, 4_000)
        for test in (*TESTS, TOGETHER)
    ]
    return [
        Honest(place=place, mechanism=name, canaries=canaries, test=test)
        for place, (name, canaries, test) in enumerate(cells)
        if test != TOGETHER or canaries == 1_000
    ]


def judge(task: Task[Honest]) -> Judged:
    """Test once. Tests of a point get the epsilon that a curve implies at delta 1e-5."""
    cell = task.cell
    rng = np.random.default_rng(task.entropy)
    leak, claim = on_their_claims()[cell.mechanism]
    runs = []
    for _ in range(RUNS_TOGETHER if cell.test == TOGETHER else 1):
        bits = coins(cell.canaries, rng)
        runs.append((leak(bits, rng), bits))
    if cell.test == TOGETHER:
        found = combined_runs(runs, claim, ALPHA)
    else:
        if point_of(claim) is None and cell.test != "error recursion":
            implied = point_claim(claim, DELTA)
            assert implied is not None  # Gaussian claims imply one
            claim = implied
        found = TESTS[cell.test](*runs[0], claim, ALPHA)
    assert found.lower_bound is not None  # all these claims have a strength
    return Judged(
        refuted=found.refuted,
        bound_wrong=0.0 < getattr(claim, "strength", math.inf) <= found.lower_bound,
    )


def accused(cell: Honest, judged: Sequence[Judged]) -> Accused:
    """Sum up the runs of one mechanism and test."""
    _, claim = on_their_claims()[cell.mechanism]
    wrong = sum(one.refuted or one.bound_wrong for one in judged)
    return Accused(
        mechanism=cell.mechanism,
        claim=str(claim),
        canaries=cell.canaries,
        test=cell.test,
        alpha=ALPHA,
        runs=len(judged),
        wrong=wrong,
        share=wrong / len(judged),
        allowed=int(binom.isf(LUCK, len(judged), ALPHA)),
    )


VALIDITY = Study(
    name="one_run_validity",
    title=f"Mechanisms exactly on their claim, alpha {ALPHA:g}",
    notes="wrong: runs that refuted the claim; allowed: more than this by luck once in 1,000.",
    seed=SEED,
    cells=honest(),
    quick=[cell for cell in honest() if cell.canaries == 1_000],
    run=judge,
    outcome=Judged,
    summary=accused,
    columns=[
        Column("mechanism", lambda row: row.mechanism, "left"),
        Column("claim", lambda row: row.claim, "left"),
        Column("canaries", lambda row: f"{row.canaries:,}"),
        Column("test", lambda row: row.test, "left"),
        Column("runs", lambda row: number(row.runs)),
        Column("wrong", lambda row: number(row.wrong)),
        Column("allowed", lambda row: number(row.allowed)),
    ],
    folder=Path(__file__).parent / "results",
    runs=1_000,
    quick_runs=20,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Independent Gaussian canaries on their claim; `place` gives the seeds."""

    place: int
    mu: float
    canaries: int

    @property
    def label(self) -> str:
        return f"mu {self.mu:g}, {self.canaries}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one run certifies: mu, and epsilons at delta 1e-5."""

    mu: float
    recursion: float
    right_guesses: float
    stopped_wealth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """The median bounds of all runs with one truth.

    `epsilon_if_gaussian` is the bound on mu, written as the epsilon of that Gaussian curve. The
    other epsilons hold for any mechanism. All are at delta 1e-5.
    """

    mu: float
    epsilon: float
    canaries: int
    alpha: float
    runs: int
    mu_lower: float
    epsilon_if_gaussian: float
    error_recursion: float
    right_guesses: float
    stopped_wealth: float


def epsilon_of(mu: float) -> float:
    """Give the epsilon of a Gaussian curve at delta 1e-5.

    >>> print(round(epsilon_of(1.0), 2), epsilon_of(0.0))
    4.38 0.0
    """
    point = point_claim(GaussianDP(mu), DELTA)
    return 0.0 if point is None else point.strength


def bounded(task: Task[Truth]) -> Bounds:
    """Certify what one run can."""
    cell = task.cell
    rng = np.random.default_rng(task.entropy)
    bits = coins(cell.canaries, rng)
    scores = Independent(cell.mu)(bits, rng)
    claim = GaussianDP(cell.mu)
    point = point_claim(claim, DELTA)
    assert point is not None  # Gaussian claims imply one
    return Bounds(
        mu=_lower(TESTS["error recursion"](scores, bits, claim, ALPHA)),
        recursion=_lower(TESTS["error recursion"](scores, bits, point, ALPHA)),
        right_guesses=_lower(TESTS["right guesses"](scores, bits, point, ALPHA)),
        stopped_wealth=_lower(TESTS["stopped wealth"](scores, bits, point, ALPHA)),
    )


def certified(cell: Truth, bounds: Sequence[Bounds]) -> Certified:
    """Sum up the runs with one truth."""
    mu = statistics.median(one.mu for one in bounds)
    return Certified(
        mu=cell.mu,
        epsilon=epsilon_of(cell.mu),
        canaries=cell.canaries,
        alpha=ALPHA,
        runs=len(bounds),
        mu_lower=mu,
        epsilon_if_gaussian=epsilon_of(mu),
        error_recursion=statistics.median(one.recursion for one in bounds),
        right_guesses=statistics.median(one.right_guesses for one in bounds),
        stopped_wealth=statistics.median(one.stopped_wealth for one in bounds),
    )


def _lower(finding: Finding) -> float:
    assert finding.lower_bound is not None  # all these claims have a strength
    return finding.lower_bound


TRUTHS = [
    Truth(place=place, mu=mu, canaries=canaries)
    for place, (mu, canaries) in enumerate(((1.0, 1_000), (1.0, 10_000), (2.0, 10_000)))
]
POWER = Study(
    name="one_run_power",
    title=f"Median bounds on independent Gaussian canaries, alpha {ALPHA:g}, delta {DELTA:g}",
    notes=(
        "mu: certified, and as the epsilon of that Gaussian curve. The three epsilons on the\n"
        "right hold for any mechanism. true: the epsilon of the mechanism."
    ),
    seed=SEED + 1,
    cells=TRUTHS,
    quick=TRUTHS[:1],
    run=bounded,
    outcome=Bounds,
    summary=certified,
    columns=[
        Column("mu", lambda row: number(row.mu, 1)),
        Column("true", lambda row: number(row.epsilon, 2)),
        Column("canaries", lambda row: f"{row.canaries:,}"),
        Column("runs", lambda row: number(row.runs)),
        Column("mu\nat least", lambda row: number(row.mu_lower, 3)),
        Column("epsilon if\nGaussian", lambda row: number(row.epsilon_if_gaussian, 2)),
        Column("error\nrecursion", lambda row: number(row.error_recursion, 2)),
        Column("right\nguesses", lambda row: number(row.right_guesses, 2)),
        Column("stopped\nwealth", lambda row: number(row.stopped_wealth, 2)),
    ],
    folder=Path(__file__).parent / "results",
    runs=400,
    quick_runs=20,
)
STUDIES = {"validity": VALIDITY, "power": POWER}


def main(arguments: Sequence[str]) -> int:
    """Run the study that is named first."""
    if not arguments or arguments[0] not in STUDIES:
        print(__doc__)
        return 2
    which, *options = arguments
    if which == "validity":
        return study_main(VALIDITY, options)
    return study_main(POWER, options)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
