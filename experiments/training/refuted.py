"""After how many canaries or steps each bug of `digits.py` is refuted, and what is certified.

    python experiments/training/refuted.py [--rows noise] [--quick]

A line is a bug and a way of looking at it. Canaries: the scores of whole trainings, which are the
final weights (their noise is known), the log-likelihood ratio of all noisy gradients under the
claim, or a score that was made for the bug. Runs of fresh canaries are put together where one has
too few. Steps: what `digit_steps.py` observes, bet on by a `StepAudit` until it refutes. The bounds
are those of one run.

Trainings that are not kept yet are run with Opacus; a stopped run of this script goes on where it
stood.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and seeds are shared

import numpy as np
from digit_steps import BATCH, ORDER, RECORD, WAYS, claim_of_step, noise_of_step, observed
from digits import BUGS, RESULTS, Bug, claimed_mu, keep_run, load, path_of
from many_runs import entropy
from study import Kept
from tables import Column, number, save, show

from dpaudit.architecture import Claim
from dpaudit.claims import GaussianDP
from dpaudit.results import Audit, Null
from dpaudit.training.independent import independent
from dpaudit.training.levels import point_claim
from dpaudit.training.one_run import one_run
from dpaudit.training.several_runs import combined_runs
from dpaudit.training.steps import StepAudit

SEED = 20_261_122
LOOSE, STRICT = 0.05, 1e-6  # alphas
DELTA = 1e-5
CANARIES = 1_000
WEIGHTS, GRADIENTS, MADE = "final weights", "noisy gradients", "a score made for it"
SCORES = {WEIGHTS: "weights", GRADIENTS: "steps", MADE: "made"}
# Way of looking at steps: most steps, and runs of each bug.
STEPS: dict[str, tuple[int, int]] = {BATCH: (400, 5), RECORD: (2_000, 3), ORDER: (500, 5)}
# Of which runs are needed other than `RUNS`: audits of how many runs of fresh canaries each.
AUDITS = {
    "none": (40, 1),
    "noise halved": (10, 1),
    "accountant told q/2": (3, 3),
    "accountant told .7 q": (1, 9),
}
RUNS = (3, 1)
# Bugs that show step by step; a training that is right is looked at in every way.
SHOWN = {
    "none": (BATCH, RECORD, ORDER),
    "noise halved": (BATCH,),
    "same noise every step": (BATCH,),
    "gradient kept without clone": (BATCH,),
    "fixed order": (ORDER,),
    "secret reshuffle": (ORDER,),
    "microbatches clipped together": (RECORD,),
    "averaged gradient clipped": (RECORD,),
    "size-dependent normaliser": (RECORD,),
}
QUICK = (
    f"none, {WEIGHTS}",
    f"same noise every step, {MADE}",
    f"same noise every step, {BATCH}",
    f"averaged gradient clipped, {RECORD}",
    f"fixed order, {ORDER}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A bug and how it is looked at: `audits` audits of `together` trainings each."""

    bug: Bug
    seen: str
    audits: int
    together: int
    most: int  # canaries of an audit, or steps

    @property
    def of_steps(self) -> bool:
        return self.seen in STEPS

    @property
    def label(self) -> str:
        return f"{self.bug.name}, {self.seen}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One audit: after how many canaries or steps it refuted at either alpha, and its bounds.

    `refuted` is the verdict at the loose alpha whatever the canaries do to each other; the bounds
    are epsilons, at that alpha too.
    """

    loose: int | None
    strict: int | None
    refuted: bool | None = None
    epsilon: float | None = None
    epsilon_if_gaussian: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """All audits of one cell. Numbers of draws are medians; an audit that did not refute is last.

    `null` is what `loose` and `strict` refute; `whatever` counts audits that refuted the claim
    alone. `slowest` is the audit at the strict alpha that needed most. The epsilons are medians.
    """

    bug: str
    seen: str
    unit: str
    null: str
    most: int
    audits: int
    loose_alpha: float
    loose: int
    loose_draws: float | None
    strict_alpha: float
    strict: int
    strict_draws: float | None
    slowest: int | None
    whatever: int | None
    claimed: float
    epsilon: float | None
    epsilon_if_gaussian: float | None


def cells() -> list[Cell]:
    """Every bug in every way in which it is looked at."""
    found = []
    for bug in BUGS:
        audits, together = AUDITS.get(bug.name, RUNS)
        for seen in (WEIGHTS, GRADIENTS, *([MADE] if bug.made is not None else [])):
            most = together * CANARIES
            found.append(Cell(bug=bug, seen=seen, audits=audits, together=together, most=most))
        for seen in SHOWN.get(bug.name, ()):
            most, runs = STEPS[seen]
            found.append(Cell(bug=bug, seen=seen, audits=runs, together=1, most=most))
    return found


def quick_cells() -> list[Cell]:
    """One bug for each way of looking, once; ten steps."""
    found = []
    for cell in cells():
        if cell.label in QUICK:
            most = 10 if cell.of_steps else CANARIES
            found.append(replace(cell, audits=1, together=1, most=most))
    return found


def canaries_until(cell: Cell, turn: int) -> Outcome:
    """Audit trainings that are kept, or run now."""
    first = turn * cell.together
    places = range(first, first + cell.together)
    loaded = [load(keep_run(cell.bug, CANARIES, place, RESULTS)) for place in places]
    noise = 1.0 if cell.seen == WEIGHTS else None
    runs = [(arrays[SCORES[cell.seen]].astype(np.float64), arrays["bits"]) for arrays, _ in loaded]
    claim, seed = loaded[0][1], entropy(SEED, cell.bug.place, turn)
    scores, bits = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    after = {
        alpha: independent(scores, bits, claim, alpha, noise=noise, rng=seed)[1].refuted_after
        for alpha in (LOOSE, STRICT)
    }
    whole = one_run(*runs[0], claim, alpha=LOOSE, noise=noise, rng=seed)
    several = combined_runs(runs, claim, LOOSE).refuted if len(runs) > 1 else whole.refuted
    shaped, _ = independent(*runs[0], GaussianDP(claimed_mu(claim)), LOOSE, noise=noise, rng=seed)
    assert shaped.lower_bound is not None  # Gaussian claims have a strength
    return Outcome(
        loose=after[LOOSE],
        strict=after[STRICT],
        refuted=several,
        epsilon=epsilon_of(whole),
        epsilon_if_gaussian=epsilon_of_curve(GaussianDP(shaped.lower_bound)),
    )


def epsilon_of(audit: Audit) -> float | None:
    """What the stopped wealth certifies whatever the canaries do, at delta 1e-5."""
    assert audit.training is not None  # it is an audit of a training
    found = (each for each in audit.training.findings if each.test == "stopped wealth")
    return next(found).lower_bound


def epsilon_of_curve(claim: Claim) -> float:
    """The epsilon that a curve implies at delta 1e-5."""
    point = point_claim(claim, DELTA)
    return 0.0 if point is None else point.strength


def steps_until(cell: Cell, turn: int) -> Outcome:
    """Bet on the steps of a training until the strict audit refutes, or has seen enough."""
    claim, noise = claim_of_step(cell.seen), noise_of_step(cell.seen)
    strict, loose = (StepAudit(claim, alpha=alpha, noise=noise) for alpha in (STRICT, LOOSE))
    seed = entropy(SEED, cell.bug.place, WAYS.index(cell.seen), turn)
    training = observed(cell.bug, cell.seen, seed)
    for number_along, inserted in islice(training, cell.most):
        if not loose.refuted:
            loose.see(number_along, inserted)
        if strict.see(number_along, inserted).refuted:
            break
    training.close()
    after = loose.trace.refuted_after, strict.trace.refuted_after
    return Outcome(loose=after[0], strict=after[1])


def outcomes(cell: Cell, kept: Kept[Outcome]) -> list[Outcome]:
    """Every audit of a cell; those that are done are read."""
    found = []
    for turn in range(cell.audits):
        key, known = f"{cell.label}, {cell.most}, {turn}", kept.read()
        if key in known:
            found.append(known[key])
            continue
        run = steps_until(cell, turn) if cell.of_steps else canaries_until(cell, turn)
        kept.add(key, run)
        print(f"{key}: {run.loose} at {LOOSE:g}, {run.strict} at {STRICT:g}", flush=True)
        found.append(run)
    return found


def line_of(cell: Cell, runs: Sequence[Outcome]) -> Line:
    """Sum up the audits of a cell."""
    null = Null.EVERY_STEP if cell.of_steps else Null.INDEPENDENT_CANARIES
    strict = [run.strict for run in runs if run.strict is not None]
    return Line(
        bug=cell.bug.name,
        seen=cell.seen,
        unit="steps" if cell.of_steps else "canaries",
        null=null.value,
        most=cell.most,
        audits=len(runs),
        loose_alpha=LOOSE,
        loose=sum(run.loose is not None for run in runs),
        loose_draws=median([run.loose for run in runs]),
        strict_alpha=STRICT,
        strict=len(strict),
        strict_draws=median([run.strict for run in runs]),
        slowest=max(strict) if len(strict) == len(runs) else None,
        whatever=None if cell.of_steps else sum(run.refuted is True for run in runs),
        claimed=claimed_epsilon(cell),
        epsilon=median([run.epsilon for run in runs]),
        epsilon_if_gaussian=median([run.epsilon_if_gaussian for run in runs]),
    )


def median(values: Sequence[float | None]) -> float | None:
    """The median, where None is larger than every number; None if that is it.

    >>> median([3, None, 5]), median([3, None, None])
    (5, None)
    """
    middle = statistics.median_high([np.inf if each is None else each for each in values])
    return None if middle == np.inf else middle


def claimed_epsilon(cell: Cell) -> float:
    """The epsilon of the claim at delta 1e-5: of a step, or of the training."""
    return epsilon_of_curve(claim_of_step(cell.seen) if cell.of_steps else _claim(cell.bug))


@cache
def _claim(bug: Bug) -> Claim:
    return load(path_of(bug, CANARIES, 0, RESULTS))[1]


def after(count: int, audits: int, draws: float | None) -> str:
    """How many audits refuted, and after how many draws.

    >>> after(3, 3, 1118), after(0, 3, None)
    ('3/3, 1,118', '0/3')
    """
    return f"{count}/{audits}" if draws is None else f"{count}/{audits}, {draws:,.0f}"


COLUMNS: list[Column[Line]] = [
    Column("bug", lambda line: line.bug, "left"),
    Column("seen", lambda line: line.seen, "left"),
    Column("at .05", lambda line: after(line.loose, line.audits, line.loose_draws), "left"),
    Column("at 1e-6", lambda line: after(line.strict, line.audits, line.strict_draws), "left"),
    Column("claim\nalone", lambda line: number(line.whatever)),
    Column("at\nleast", lambda line: number(line.epsilon, 2)),
    Column("if\nnormal", lambda line: number(line.epsilon_if_gaussian, 2)),
]
NOTES = (
    "at: how many audits refuted, after how many canaries or steps (a median). claim alone: how\n"
    "many refuted at .05 whatever the canaries do. at least: the epsilon certified whatever they\n"
    "do. if normal: if they are independent and Gaussian."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit what is not audited yet, and show and save the table."""
    parser = argparse.ArgumentParser(description="Canaries and steps until a bug is refuted.")
    parser.add_argument("--rows", nargs="+", metavar="TEXT", help="only rows with such a label")
    parser.add_argument("--quick", action="store_true", help="a rehearsal: one short audit each")
    parser.add_argument("--results", type=Path, help="the folder for the results")
    options = parser.parse_args(arguments)
    for noted in ("Secure RNG turned off", "Full backward hook is firing"):
        warnings.filterwarnings("ignore", message=noted)
    folder = options.results or (RESULTS / "quick" if options.quick else RESULTS)
    kept = Kept(folder / "refuted.runs.jsonl", Outcome)
    chosen = [
        cell
        for cell in (quick_cells() if options.quick else cells())
        if not options.rows or any(text in cell.label for text in options.rows)
    ]
    lines = [line_of(cell, outcomes(cell, kept)) for cell in chosen]
    show("Bugs in trainings of digits, and when they are refuted", COLUMNS, lines, NOTES)
    complete = options.rows is None
    save(lines, folder=folder, name="refuted", complete=complete)
    if complete:
        kept.forget()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
