"""How many pairs and draws a search needs, without hints: the domain and the relation only.

    python benchmarks/search.py --runs 10 --honest-runs 400

Broken mechanisms must be found within a number of pairs and draws; honest ones, exactly on their
claim, are searched in the same way and may be refuted in a share alpha of the runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mechanisms import LeaksAtTwins, LeaksNear, LowThreshold, NormalCount, RareAtom, RoughQuantile
from searching import search
from study import Task, add_options, benchmark_main
from tables import Column, mean_and_error, number, share_allowed, show, yes_or_no

from dpaudit.claims import ApproxDP
from dpaudit.domains import categories, floats, integers
from dpaudit.neighbours import add_or_remove_one, pairs, query_answers, replace_one
from dpaudit.zoo import (
    SVT1,
    SVT3,
    SVT4,
    SVT5,
    SVT6,
    DPLaplace,
    LaplaceCount,
    NonDPGaussian1,
    NonDPLaplace1,
    NonDPLaplace2,
)

SEED = 20_260_505
ALPHA = 0.05
LARGE_MU = 3.94  # epsilon is 13.4 at delta .05


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """One mechanism searched by one finder; `place` decides its seeds, `honest` what is wanted."""

    place: int
    mechanism: Callable[..., object]
    epsilon: float
    neighbours: Any
    finder: str
    samples: int
    pair_limit: int | None = None
    draw_limit: int | None = None
    least_found: float | None = None
    honest: bool = False
    alpha: float = ALPHA
    delta: float = 0.0

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__

    @property
    def label(self) -> str:
        return f"{self.name} {self.finder}{' honest' if self.honest else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run ended."""

    refuted: bool
    pairs: int
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """All runs of one hunt: a line of the table and of the CSV.

    Pairs and draws are those of the runs that found something; of honest mechanisms, of all runs.
    """

    mechanism: str
    claim_epsilon: float
    neighbours: str
    finder: str
    honest: bool
    alpha: float
    runs: int
    found: int
    mean_pairs: float
    most_pairs: int
    mean_draws: float
    most_draws: int
    pair_limit: int | None
    draw_limit: int | None
    holds: bool | None


def hunts() -> list[Hunt]:
    """List the searches: broken mechanisms, needles, honest mechanisms."""
    small, large = floats(0, 1), integers(1, 1000)
    rows: list[Hunt] = []

    def add(mechanism: Callable[..., object], epsilon: float, **more: object) -> None:
        rows.append(
            Hunt(place=len(rows), mechanism=mechanism, epsilon=epsilon, **more)  # type: ignore[arg-type]
        )

    for mean in (NonDPLaplace1(0.01), NonDPLaplace2(0.01), NonDPGaussian1(0.01)):
        add(
            mean,
            0.01,
            neighbours=add_or_remove_one(small),
            finder="auto",
            samples=20_000,
            pair_limit=5,
            draw_limit=20_000,
            least_found=1.0,
        )
    for sparse in (SVT3(1.0), SVT4(1.0), SVT5(1.0), SVT6(1.0)):
        add(
            sparse,
            1.0,
            neighbours=query_answers(10, sensitivity=1),
            finder="auto",
            samples=500_000,
            pair_limit=50,
            draw_limit=500_000,
            least_found=1.0,
        )
    for finder in ("auto", "random"):
        wanted = finder == "auto"
        add(
            LeaksAtTwins(),
            1.0,
            neighbours=add_or_remove_one(large),
            finder=finder,
            samples=300_000,
            pair_limit=300 if wanted else None,
            least_found=1.0 if wanted else None,
        )
        add(
            LeaksNear(),
            1.0,
            neighbours=add_or_remove_one(small),
            finder=finder,
            samples=1_000_000,
            pair_limit=500 if wanted else None,
            least_found=0.8 if wanted else None,
        )
    for share in (0.5, 0.75):
        add(
            RoughQuantile(share),
            1.0,
            neighbours=replace_one(small),
            finder="auto",
            samples=300_000,
            least_found=1.0,
            alpha=1e-6,
        )
    add(
        LowThreshold(),
        1.0,
        delta=0.001,
        neighbours=add_or_remove_one(categories("a record"), max_records=12),
        finder="auto",
        samples=500_000,
        draw_limit=500_000,
        least_found=1.0,
        alpha=1e-6,
    )
    for honest, epsilon, relation, samples in (
        (DPLaplace(0.01), 0.01, add_or_remove_one(small, min_records=1), 10_000),
        (LaplaceCount(1.0), 1.0, add_or_remove_one(small), 10_000),
        (LaplaceCount(1.0), 1.0, add_or_remove_one(large), 10_000),
        (SVT1(1.0), 1.0, query_answers(10, sensitivity=1), 4_000),
    ):
        add(honest, epsilon, neighbours=relation, finder="auto", samples=samples, honest=True)
    for leak, epsilon, delta, samples, limit in (
        (LowThreshold(), 1.0, 0.001, 300_000, 160_000),
        (NormalCount(LARGE_MU), 10.0, 0.05, 10_000_000, 9_000_000),
        (RareAtom(1e-6), 1.0, 0.0, 300_000_000, 300_000_000),
    ):
        add(
            leak,
            epsilon,
            delta=delta,
            neighbours=pairs([(["a record"], [])]),
            finder="auto",
            samples=samples,
            draw_limit=limit,
            least_found=1.0,
            alpha=1e-6,
        )
    return rows


def run(task: Task[Hunt]) -> Outcome:
    """Search until the claim is refuted or the budget is used up."""
    hunt = task.cell
    loop = search(
        hunt.mechanism,
        ApproxDP(hunt.epsilon, hunt.delta),
        hunt.neighbours,
        alpha=hunt.alpha,
        samples=hunt.samples,
        entropy=task.entropy,
        finder=hunt.finder,
    )
    draws = loop.evidence.trace[-1][0]
    return Outcome(refuted=loop.account.refuted, pairs=loop.pairs_tried, draws=draws)


def summary(hunt: Hunt, outcomes: Sequence[Outcome]) -> Searched:
    """Sum up the runs of one hunt."""
    found = [one for one in outcomes if one.refuted]
    counted = list(outcomes) if hunt.honest or not found else found
    return Searched(
        mechanism=hunt.name,
        claim_epsilon=hunt.epsilon,
        neighbours=hunt.neighbours.describe(),
        finder=hunt.finder,
        honest=hunt.honest,
        alpha=hunt.alpha,
        runs=len(outcomes),
        found=len(found),
        mean_pairs=mean_and_error([one.pairs for one in counted])[0],
        most_pairs=max(one.pairs for one in counted),
        mean_draws=mean_and_error([one.draws for one in counted])[0],
        most_draws=max(one.draws for one in counted),
        pair_limit=hunt.pair_limit,
        draw_limit=hunt.draw_limit,
        holds=_holds(hunt, outcomes),
    )


def _holds(hunt: Hunt, outcomes: Sequence[Outcome]) -> bool | None:
    """Whether enough runs found it within the limits, or few enough accused the honest."""
    if hunt.honest:
        share = sum(one.refuted for one in outcomes) / len(outcomes)
        return share <= share_allowed(hunt.alpha, len(outcomes))
    if hunt.least_found is None:
        return None
    within = [
        one
        for one in outcomes
        if one.refuted
        and one.pairs <= (hunt.pair_limit or math.inf)
        and one.draws <= (hunt.draw_limit or math.inf)
    ]
    return len(within) / len(outcomes) >= hunt.least_found


COLUMNS: list[Column[Searched]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: f"{row.claim_epsilon:g}"),
    Column("alpha", lambda row: f"{row.alpha:g}"),
    Column("finder", lambda row: row.finder, "left"),
    Column("runs", lambda row: number(row.runs)),
    Column("refuted", lambda row: number(row.found)),
    Column("pairs\nmean", lambda row: number(row.mean_pairs, 1)),
    Column("most", lambda row: number(row.most_pairs)),
    Column("draws\nmean", lambda row: number(row.mean_draws)),
    Column("most", lambda row: number(row.most_draws)),
    Column("limit\npairs", lambda row: number(row.pair_limit)),
    Column("holds", lambda row: yes_or_no(row.holds)),
]
NOTES = "pairs and draws: of the runs that refuted (of honest mechanisms: of all runs)."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    parser = argparse.ArgumentParser(description="Pairs and draws that a search needs.")
    parser.add_argument("--runs", type=int, default=10, help="of each broken mechanism")
    parser.add_argument("--honest-runs", type=int, default=400, help="of each honest mechanism")
    add_options(parser)
    options = parser.parse_args(arguments)
    title = "Pairs and draws until refuted"
    return benchmark_main(
        parser,
        options,
        hunts(),
        name="search",
        seed=SEED,
        runs=lambda hunt: options.honest_runs if hunt.honest else options.runs,
        run=run,
        summary=summary,
        report=lambda rows: show(title, COLUMNS, rows, NOTES),
    )


if __name__ == "__main__":
    raise SystemExit(main())
