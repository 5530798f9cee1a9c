"""How often a mechanism that sits exactly on its claim is accused: at most alpha, all told.

    python benchmarks/validity.py --audits 2000

Each audit searches at least 20 pairs and stops as soon as it refutes. The wealth at the end has
mean at most 1 if every bet was fair (docs/mathematics.md, section 2); this is checked directly.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mechanisms import NormalCount
from searching import search
from study import Task, add_options, benchmark_main
from tables import Column, mean_and_error, number, share_allowed, show, yes_or_no

from dpaudit.claims import ApproxDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.domains import floats
from dpaudit.neighbours import Relation, add_or_remove_one, pairs
from dpaudit.zoo import DPLaplace, GaussianCount, Geometric, LaplaceCount, RandomizedResponse

SEED = 20_260_202
SAMPLES = 5_000  # enough for about 22 pairs
MORE_SAMPLES = 200  # at a time, where one pair took most draws and fewer pairs were tried
LEAST_PAIRS = 20
ERRORS = 3.0  # standard errors that luck may add


@dataclass(frozen=True, slots=True, kw_only=True)
class Honest:
    """A mechanism that keeps its claim with nothing to spare; `place` decides its seeds.

    Audits of a `slow` one take several times as long, so there are fewer of them.
    """

    place: int
    mechanism: Callable[..., object]
    claim: Claim
    neighbours: Relation
    slow: bool = False
    alpha: float = 0.05
    samples: int = SAMPLES

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__

    @property
    def label(self) -> str:
        return f"{self.name} {self.claim}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one audit ended."""

    refuted: bool
    wealth: float
    largest_wealth: float
    pairs: int
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """All audits of one mechanism: a line of the table and of the CSV."""

    mechanism: str
    claim: str
    alpha: float
    audits: int
    share_refuted: float
    standard_error: float
    share_allowed: float
    largest_wealth: float
    mean_wealth: float
    mean_wealth_error: float
    mean_pairs: float
    fewest_pairs: int | None
    mean_samples: float
    share_holds: bool
    wealth_holds: bool


def honest_mechanisms() -> list[Honest]:
    """List the mechanisms on the edge of their claims, each with at least 20 pairs to search."""
    five_records = add_or_remove_one(floats(0, 1), max_records=5)
    # One bit has one pair. Met again it is a fresh step of the search, as any other pair would be.
    bits = pairs([([0], [1]), ([1], [0])] * LEAST_PAIRS)
    rows: list[tuple[Callable[..., object], Claim, Relation]] = [
        (LaplaceCount(0.1), PureDP(0.1), five_records),
        (LaplaceCount(1.0), PureDP(1.0), five_records),
        (RandomizedResponse(1.0), PureDP(1.0), bits),
        (Geometric(0.5), PureDP(0.5), five_records),
        (GaussianCount(0.5, 0.05), ApproxDP(0.5, 0.05), five_records),
        (
            DPLaplace(1.0),
            PureDP(1.0),
            add_or_remove_one(floats(0, 1), max_records=5, min_records=1),
        ),
    ]
    profiles: list[Claim] = [GaussianDP(1.0), RenyiDP(order=2, epsilon=1.0)]
    return [
        *(
            Honest(place=place, mechanism=mechanism, claim=claim, neighbours=neighbours)
            for place, (mechanism, claim, neighbours) in enumerate(rows)
        ),
        *(
            Honest(
                place=100 + place,
                mechanism=NormalCount(),
                claim=claim,
                neighbours=five_records,
                slow=True,
            )
            for place, claim in enumerate(profiles)
        ),
    ]


def accuse(task: Task[Honest]) -> Outcome:
    """Audit an honest mechanism, and see how far the wealth got."""
    loop = search(
        task.cell.mechanism,
        task.cell.claim,
        task.cell.neighbours,
        alpha=task.cell.alpha,
        samples=task.cell.samples,
        entropy=task.entropy,
    )
    while not loop.account.refuted and loop.pairs_tried < LEAST_PAIRS:
        loop.run.budget.samples += MORE_SAMPLES  # an audit may always go on
        loop.search()
    evidence = loop.evidence
    return Outcome(
        refuted=loop.account.refuted,
        wealth=evidence.e_value,
        largest_wealth=math.exp(evidence.peak),
        pairs=loop.pairs_tried,
        samples=loop.run.budget.spent,
    )


def summary(honest: Honest, outcomes: Sequence[Outcome]) -> Validity:
    """Sum up the audits. Luck gets three standard errors: of a share alpha, and of the wealth."""
    audits = len(outcomes)
    share = sum(outcome.refuted for outcome in outcomes) / audits
    allowed = share_allowed(honest.alpha, audits)
    wealth, wealth_error = mean_and_error([outcome.wealth for outcome in outcomes])
    return Validity(
        mechanism=honest.name,
        claim=str(honest.claim),
        alpha=honest.alpha,
        audits=audits,
        share_refuted=share,
        standard_error=math.sqrt(share * (1 - share) / audits),
        share_allowed=allowed,
        largest_wealth=max(outcome.largest_wealth for outcome in outcomes),
        mean_wealth=wealth,
        mean_wealth_error=wealth_error,
        mean_pairs=sum(outcome.pairs for outcome in outcomes) / audits,
        fewest_pairs=min(
            (outcome.pairs for outcome in outcomes if not outcome.refuted), default=None
        ),
        mean_samples=sum(outcome.samples for outcome in outcomes) / audits,
        share_holds=share <= allowed,
        wealth_holds=wealth <= 1 or wealth <= 1 + ERRORS * wealth_error,
    )


COLUMNS: list[Column[Validity]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("runs", lambda row: number(row.audits)),
    Column("share\n%", lambda row: number(100 * row.share_refuted, 2)),
    Column("std.\nerror", lambda row: number(100 * row.standard_error, 2)),
    Column("largest\nwealth", lambda row: number(row.largest_wealth, 1)),
    Column("mean\nwealth", lambda row: number(row.mean_wealth, 3)),
    Column("std.\nerror", lambda row: number(row.mean_wealth_error, 3)),
    Column("pairs", lambda row: number(row.mean_pairs, 1)),
    Column("holds", lambda row: yes_or_no(row.share_holds and row.wealth_holds)),
]
NOTES = (
    "share: of the audits that refuted. holds: it is at most alpha, and the mean wealth at the\n"
    "end at most 1, both within three standard errors."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 130 if Ctrl-C ended it."""
    parser = argparse.ArgumentParser(description="False accusations of honest mechanisms.")
    parser.add_argument("--audits", type=int, default=2_000, help="of each mechanism")
    parser.add_argument(
        "--further-audits", type=int, default=200, help="of each that claims a whole profile"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="of each audit")
    parser.add_argument(
        "--samples",
        type=int,
        default=SAMPLES,
        help="the budget of each audit; it goes on until it has tried 20 pairs",
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    title = f"Honest mechanisms, alpha {options.alpha:g}"
    return benchmark_main(
        parser,
        options,
        [
            replace(honest, alpha=options.alpha, samples=options.samples)
            for honest in honest_mechanisms()
        ],
        name="validity",
        seed=SEED,
        runs=lambda honest: options.further_audits if honest.slow else options.audits,
        run=accuse,
        summary=summary,
        report=lambda rows: show(title, COLUMNS, rows, NOTES),
    )


if __name__ == "__main__":
    raise SystemExit(main())
