"""What more draws buy: a higher certified epsilon on one pair, fewer trials until a bug is found.

    python experiments/sample_size.py [--quick | --figure-only]

These are the two panels of "Effect of sample size" of DP-Auditorium (Kong, Medina, Ribero and Syed
2023, section 6.6), for Gaussian noise that claims (1, 0.01)-DP and a sparse vector that claims
1-DP. On a fixed pair all draws go into the bound, and the exact epsilon stands beside it. A search
tries at most 50 pairs; bets have as many draws in all as 50 trials of a batch tester.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from exact_divergence import hockey_stick
from exact_outputs import Masses, exact_outputs
from sample_size_figure import FIXED, draw
from scipy import optimize
from study import Study, Task, study_main
from table2 import ALPHA, DELTA, TESTERS, TRIALS, AtMost
from tables import Column, mean_and_error, number
from verdicts import Ended, ended

from dpaudit import BettingTester
from dpaudit import zoo as mechanisms
from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import floats
from dpaudit.neighbours import Relation, add_or_remove_one, query_answers
from dpaudit.search import as_finder
from dpaudit.testers import Trials

SEED = 20_260_808
RESULTS = Path(__file__).parent / "results"
EPSILON = 1.0
BOUND_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 500_000)  # draws of a side
SEARCHES = (("gp", "hockey-stick"), ("gp", "betting"), ("auto", "betting"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A mechanism: what it claims, a pair that shows its bug, where to search, with how much.

    `search_sizes` are the draws of a side in a trial: from too few to enough.
    """

    claim: PureDP | ApproxDP
    pair: tuple[tuple[float, ...], tuple[float, ...]]
    neighbours: Callable[..., Relation]
    search_sizes: tuple[int, ...]


SUBJECTS = {
    "NonDPGaussian1": Subject(
        claim=ApproxDP(EPSILON, DELTA),
        pair=((0.0, 1.0), (0.0,)),
        neighbours=functools.partial(add_or_remove_one, floats(0, 1), min_records=1),
        search_sizes=(100, 300, 1_000, 3_000, 10_000),
    ),
    "SVT4": Subject(
        claim=PureDP(EPSILON),
        pair=((1.0,) * 5 + (0.0,) * 5, (0.0,) * 5 + (1.0,) * 5),
        neighbours=functools.partial(query_answers, 10),
        search_sizes=(10_000, 30_000, 100_000),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One mechanism, finder (or the fixed pair) and tester at one size; `place` gives its seeds."""

    place: int
    mechanism: str
    finder: str
    tester: str
    draws: int

    @property
    def label(self) -> str:
        return f"{self.mechanism} {self.finder} {self.tester} {self.draws}"

    @property
    def fixed(self) -> bool:
        return self.finder == FIXED


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run ended: the pairs and draws until it refuted, and the epsilon certified."""

    found: bool
    trials: int
    draws: int
    epsilon_lower: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All runs of one setting: a line of the table and of the CSV.

    On the fixed pair the certified epsilons count: the mean, the least and the largest of a run,
    beside the exact one. In a search the trials do; a run that found nothing counts as 50. The
    draws are those until found, of the runs that did.
    """

    mechanism: str
    claim: str
    finder: str
    tester: str
    alpha: float
    draws_a_side: int
    runs: int
    found: int
    mean_draws: float | None
    mean_trials: float | None
    mean_epsilon: float | None
    least_epsilon: float | None
    largest_epsilon: float | None
    exact_epsilon: float | None


def settings() -> list[Setting]:
    """List what is measured on the fixed pairs, then the searches."""
    fixed = [
        (mechanism, FIXED, tester, draws)
        for mechanism in SUBJECTS
        for tester in TESTERS
        # An (epsilon, delta) claim bounds no Rényi divergence.
        if not (tester == "renyi" and mechanism == "NonDPGaussian1")
        for draws in BOUND_SIZES
    ]
    searched = [
        (mechanism, finder, tester, draws)
        for mechanism, subject in SUBJECTS.items()
        for finder, tester in SEARCHES
        for draws in subject.search_sizes
    ]
    return [
        Setting(place=place, mechanism=mechanism, finder=finder, tester=tester, draws=draws)
        for place, (mechanism, finder, tester, draws) in enumerate([*fixed, *searched])
    ]


def least_epsilon(masses: Masses, delta: float) -> float:
    """Give the least epsilon that holds at delta on a pair, both directions.

    >>> masses = Masses(data=np.array([0.75, 0.25]), neighbour=np.array([0.25, 0.75]))
    >>> print(round(least_epsilon(masses, 0.0), 6), round(least_epsilon(masses, 0.25), 6))
    1.098612 0.693147
    """
    if delta == 0.0:
        return float(np.max(np.abs(np.log(masses.data / masses.neighbour))))
    if hockey_stick(masses, 0.0) <= delta:
        return 0.0
    return float(optimize.brentq(lambda level: hockey_stick(masses, level) - delta, 0.0, 50.0))


@functools.cache
def exact_epsilon(mechanism: str) -> float:
    """Give the least epsilon of a mechanism on its pair, at the delta of its claim."""
    subject = SUBJECTS[mechanism]
    masses = exact_outputs(mechanism, EPSILON, *subject.pair)
    return least_epsilon(masses, subject.claim.delta(subject.claim.epsilon))


def run(task: Task[Setting]) -> Outcome:
    """Audit the fixed pair with all draws, or search until the claim is refuted."""
    how = _on_the_pair(task) if task.cell.fixed else _by_search(task)
    assert how.lower_bound is not None  # these claims have an epsilon
    most = 1 if task.cell.fixed else TRIALS
    return Outcome(
        found=how.refuted,
        trials=how.pairs if how.refuted else most,
        draws=how.draws,
        epsilon_lower=how.lower_bound,
    )


def _on_the_pair(task: Task[Setting]) -> Ended:
    cell, subject = task.cell, SUBJECTS[task.cell.mechanism]
    batch, _ = TESTERS[cell.tester]
    return ended(
        getattr(mechanisms, cell.mechanism)(EPSILON),
        subject.claim,
        as_finder([subject.pair], "auto", np.random.default_rng(0)),
        BettingTester(after_refuting="sharpen") if batch is None else Trials(batch),
        alpha=ALPHA,
        samples=2 * cell.draws,
        entropy=task.entropy,
    )


def _by_search(task: Task[Setting]) -> Ended:
    cell, subject = task.cell, SUBJECTS[task.cell.mechanism]
    batch, _ = TESTERS[cell.tester]
    rng = np.random.default_rng(np.random.SeedSequence(task.entropy, spawn_key=(2,)))
    return ended(
        getattr(mechanisms, cell.mechanism)(EPSILON),
        subject.claim,
        AtMost(as_finder(subject.neighbours(), cell.finder, rng), TRIALS),
        BettingTester() if batch is None else Trials(batch, count=TRIALS),
        alpha=ALPHA,
        samples=2 * TRIALS * cell.draws,
        entropy=task.entropy,
    )


def summary(setting: Setting, outcomes: Sequence[Outcome]) -> Measured:
    """Sum up the runs of one setting."""
    found = [one for one in outcomes if one.found]
    bounds = [one.epsilon_lower for one in outcomes]
    fixed = setting.fixed
    return Measured(
        mechanism=setting.mechanism,
        claim=str(SUBJECTS[setting.mechanism].claim),
        finder=setting.finder,
        tester=setting.tester,
        alpha=ALPHA,
        draws_a_side=setting.draws,
        runs=len(outcomes),
        found=len(found),
        mean_draws=mean_and_error([one.draws for one in found])[0] if found else None,
        mean_trials=None if fixed else mean_and_error([one.trials for one in outcomes])[0],
        mean_epsilon=mean_and_error(bounds)[0] if fixed else None,
        least_epsilon=min(bounds) if fixed else None,
        largest_epsilon=max(bounds) if fixed else None,
        exact_epsilon=exact_epsilon(setting.mechanism) if fixed else None,
    )


COLUMNS: list[Column[Measured]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("finder", lambda row: row.finder, "left"),
    Column("tester", lambda row: row.tester, "left"),
    Column("draws\na side", lambda row: f"{row.draws_a_side:,}"),
    Column("found", lambda row: f"{row.found}/{row.runs}"),
    Column("draws\nmean", lambda row: number(row.mean_draws)),
    Column("trials\nmean", lambda row: number(row.mean_trials, 1)),
    Column("epsilon\nat least", lambda row: number(row.mean_epsilon, 3)),
    Column("epsilon\nexact", lambda row: number(row.exact_epsilon, 3)),
]
NOTES = (
    "draws a side: of the pair, or of one trial; in a search bets have as many as 50 trials.\n"
    "trials: pairs tried until found, 50 where nothing was; epsilon: the mean certified."
)

STUDY = Study(
    name="sample_size",
    title=f"Effect of the sample size, alpha {ALPHA:g}",
    notes=NOTES,
    seed=SEED,
    cells=settings(),
    quick=[
        setting
        for setting in settings()
        if setting.draws in ((1_000, 10_000) if setting.fixed else (300, 10_000))
        and not (setting.mechanism == "SVT4" and setting.finder == "gp")
    ],
    run=run,
    outcome=Outcome,
    summary=summary,
    columns=COLUMNS,
    folder=RESULTS,
    draw=draw,
)

if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
