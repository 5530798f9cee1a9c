"""Every peer's bound on the scores of the same canaries, and how often each accuses the honest.

    python experiments/training/training_peers.py [--rows mu] [--workers 2] [--quick]

Scores: independent Gaussian canaries that are exactly on their claim; kept trainings of digits
(`digits.py`), correct and with half the noise; and mechanisms exactly on a claim whose canaries
hang together (`leaks.py`). A line is a source of scores and a peer: the median bound, an epsilon at
delta 1e-5 and alpha .05, and how many runs put it at what is claimed or above. What a peer assumes
is said by its own documentation or paper.

It needs `jax-privacy` and `opake-auditing`; a peer that is not installed is left out. A stopped run
goes on where it stood.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from digits import BUGS, claimed_mu, load, path_of
from leaks import Independent, Leak, Shared, Tail, coins
from many_runs import INTERRUPTED, entropy, run_all
from study import Kept, add_options
from tables import Column, number, save, show

from dpaudit.architecture import Claim
from dpaudit.arrays import Floats, Labels
from dpaudit.claims import GaussianDP
from dpaudit.training.any_mechanism import TESTS
from dpaudit.training.independent import independent
from dpaudit.training.levels import point_claim

RESULTS = Path(__file__).parent / "results"
SEED = 20_261_123
ALPHA, DELTA = 0.05, 1e-5
SLOW_RUNS = 50  # of a source, in which peers are asked that take seconds
GRID = 1_000  # points of Opake's integrals: the fewest that it allows
WHATEVER, CURVE, SAID = "nothing", "a Gaussian curve", "nothing, it says"
COINS, BOTH = "independent canaries", "independent canaries, a Gaussian curve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of one run; `mu` is the Gaussian curve of the claim, `epsilon` what it implies."""

    scores: Floats
    bits: Labels
    mu: float
    epsilon: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Whose bound it is, in its own words; what it assumes; which package it needs.

    One that is `slow` is asked in the first runs of a source only.
    """

    name: str
    said: str
    assumes: str
    package: str
    bound: Callable[[Scores], float]
    slow: bool = False

    @property
    def installed(self) -> bool:
        """Whether it can be asked here."""
        return self.package == "dpaudit" or find_spec(_MODULES[self.package]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where scores come from; `place` decides the seeds. A training of digits is a kept one."""

    place: int
    name: str
    canaries: int
    runs: int
    leak: Leak | None = None
    mu: float = 1.0
    bug: str | None = None

    @property
    def label(self) -> str:
        return f"{self.name}, {self.canaries}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One run of a source."""

    source: Source
    turn: int

    @property
    def key(self) -> str:
        return f"{self.source.label}, {self.turn}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What every peer that is installed says of one run, and the epsilon that is claimed."""

    claimed: float
    epsilons: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A source and a peer: a line of `training_peers.csv`.

    `truth` says whether the scores keep what is claimed. `accused` counts the runs whose bound is
    not below it.
    """

    source: str
    canaries: int
    truth: str
    claimed: float
    peer: str
    version: str
    said: str
    assumes: str
    alpha: float
    runs: int
    epsilon: float
    accused: int


def of_jax_privacy(method: str) -> Callable[[Scores], float]:
    """A method of `jax_privacy.auditing.CanaryScoreAuditor`."""

    def bound(given: Scores) -> float:
        auditor = import_module("jax_privacy.auditing").CanaryScoreAuditor(
            given.scores[given.bits], given.scores[~given.bits]
        )
        return float(getattr(auditor, method)(significance=ALPHA, delta=DELTA))

    return bound


def of_opake(method: str, **settings: Any) -> Callable[[Scores], float]:
    """A method of `opake.auditing.one_run`, whose partition is made from our coins."""

    def bound(given: Scores) -> float:
        auditing, types = import_module("opake.auditing"), import_module("opake.auditing.types")
        ids = np.arange(len(given.bits))
        partition = types.CoinFlip(
            num_canaries=len(ids),
            canary_indices=ids,
            _in_mask=given.bits,
            in_indices=ids[given.bits],
            out_indices=ids[~given.bits],
        )
        named = auditing.canary_scores(given.scores, canary_indices=ids)
        estimate = getattr(auditing.one_run(named, coin_flip=partition), method)(**settings)
        return float(estimate.epsilon_at(delta=DELTA, significance=ALPHA))

    return bound


def of_ours(test: str) -> Callable[[Scores], float]:
    """A test of this library for any mechanism, or for a Gaussian curve."""

    def bound(given: Scores) -> float:
        claim: Claim | None = GaussianDP(given.mu)
        if test != "error recursion":
            claim = point_claim(GaussianDP(given.mu), DELTA)
        assert claim is not None  # Gaussian claims imply one
        found = TESTS[test](given.scores, given.bits, claim, ALPHA).lower_bound
        assert found is not None  # both kinds of claims have a strength
        return epsilon_of(found) if test == "error recursion" else found

    return bound


def one_wealth(given: Scores) -> float:
    """The bets of this library on independent canaries."""
    found, _ = independent(given.scores, given.bits, GaussianDP(given.mu), ALPHA, rng=given.seed)
    assert found.lower_bound is not None  # Gaussian claims have a strength
    return epsilon_of(found.lower_bound)


def epsilon_of(mu: float) -> float:
    """The epsilon of a Gaussian curve at delta 1e-5; 0 for a mu of 0."""
    point = point_claim(GaussianDP(mu), DELTA) if mu > 0 else None
    return 0.0 if point is None else point.strength


_MODULES = {"jax-privacy": "jax_privacy", "opake-auditing": "opake"}
_JAX = [
    ("epsilon_clopper_pearson", "epsilon lower bound", COINS),
    ("epsilon_from_gdp", "an estimate for epsilon with GDP", BOTH),
    ("epsilon_one_run", "lower bound on epsilon", WHATEVER),
    ("epsilon_one_run_fdp", "lower bound on epsilon", CURVE),
]
_OPAKE: list[tuple[str, str, dict[str, Any]]] = [
    ("gdp", "μ-GDP order-statistics audit", {"grid_size": GRID}),
    ("eps_delta", "mechanism-agnostic order-statistics audit", {}),
]
PEERS = [
    *(
        Peer(
            name=f"jax_privacy, {method}",
            said=said,
            assumes=assumes,
            package="jax-privacy",
            bound=of_jax_privacy(method),
        )
        for method, said, assumes in _JAX
    ),
    *(
        Peer(
            name=f"Opake, {method}",
            said=said,
            assumes=BOTH if method == "gdp" else SAID,
            package="opake-auditing",
            bound=of_opake(method, **settings),
            slow=method == "gdp",
        )
        for method, said, settings in _OPAKE
    ),
    Peer(
        name="right guesses",
        said="Steinke, Nasr and Jagielski 2023, ours",
        assumes=WHATEVER,
        package="dpaudit",
        bound=of_ours("right guesses"),
    ),
    Peer(
        name="error recursion",
        said="Mahloujifar, Melis and Chaudhuri 2024, ours",
        assumes=CURVE,
        package="dpaudit",
        bound=of_ours("error recursion"),
    ),
    Peer(
        name="stopped wealth",
        said="certified epsilon",
        assumes=WHATEVER,
        package="dpaudit",
        bound=of_ours("stopped wealth"),
    ),
    Peer(
        name="one wealth over canaries",
        said="certified mu",
        assumes=BOTH,
        package="dpaudit",
        bound=one_wealth,
        slow=True,
    ),
]


def sources(quick: bool = False) -> list[Source]:
    """All sources of scores; small ones with few runs for a rehearsal."""
    few, many = (1, 1) if quick else (10, 200)
    small = 1_000
    found = [
        Source(place=0, name="mu 1", canaries=small, runs=many, leak=Independent(1.0)),
        Source(place=1, name="Shared, mu 1", canaries=small, runs=many, leak=Shared(1.0)),
        Source(place=2, name="Tail(1/2), mu 1", canaries=small, runs=many, leak=Tail(1.0, 0.5)),
        Source(place=3, name="mu 2", canaries=small, runs=few, leak=Independent(2.0), mu=2.0),
        Source(place=4, name="digits, correct", canaries=small, runs=few, bug="none"),
        Source(place=5, name="digits, noise halved", canaries=small, runs=few, bug="noise halved"),
    ]
    if quick:
        return [each for each in found if each.place in (0, 1, 4)]
    large = 10_000
    return [
        *found,
        Source(place=6, name="mu 1", canaries=large, runs=few, leak=Independent(1.0)),
        Source(place=7, name="mu 2", canaries=large, runs=few, leak=Independent(2.0), mu=2.0),
        Source(place=8, name="digits, correct", canaries=large, runs=1, bug="none"),
        Source(place=9, name="digits, noise halved", canaries=large, runs=1, bug="noise halved"),
    ]


def scores_of(task: Task) -> Scores:
    """Draw the scores of a run, or read those of a kept training."""
    source = task.source
    seed = entropy(SEED, source.place, task.turn)
    if source.bug is None:
        assert source.leak is not None  # a source is one or the other
        rng = np.random.default_rng(seed)
        bits = coins(source.canaries, rng)
        scores, mu = source.leak(bits, rng), source.mu
        return Scores(scores=scores, bits=bits, mu=mu, epsilon=epsilon_of(mu), seed=seed)
    bug = next(bug for bug in BUGS if bug.name == source.bug)
    arrays, claim = load(path_of(bug, source.canaries, task.turn, RESULTS))
    mu = claimed_mu(claim)
    scores = arrays["steps"].astype(np.float64)
    return Scores(scores=scores, bits=arrays["bits"], mu=mu, epsilon=epsilon_of(mu), seed=seed)


def bounds_of(task: Task) -> Bounds:
    """Ask every peer that is installed."""
    given, early = scores_of(task), task.turn < SLOW_RUNS
    asked = [peer for peer in PEERS if peer.installed and (early or not peer.slow)]
    return Bounds(claimed=given.epsilon, epsilons={one.name: one.bound(given) for one in asked})


def lines_of(source: Source, runs: Sequence[Bounds]) -> list[Line]:
    """Sum up the runs of a source, a line for each peer that was asked."""
    claimed, found = runs[0].claimed, []
    for peer in PEERS:
        epsilons = [run.epsilons[peer.name] for run in runs if peer.name in run.epsilons]
        if not epsilons:
            continue
        found.append(
            Line(
                source=source.name,
                canaries=source.canaries,
                truth="half the noise" if source.bug == "noise halved" else "keeps its claim",
                claimed=claimed,
                peer=peer.name,
                version=metadata.version(peer.package) if peer.package != "dpaudit" else "",
                said=peer.said,
                assumes=peer.assumes,
                alpha=ALPHA,
                runs=len(epsilons),
                epsilon=statistics.median(epsilons),
                accused=sum(each >= claimed * (1.0 - 1e-9) for each in epsilons),
            )
        )
    return found


COLUMNS: list[Column[Line]] = [
    Column("source", lambda line: line.source, "left"),
    Column("canaries", lambda line: f"{line.canaries:,}"),
    Column("claimed", lambda line: number(line.claimed, 2)),
    Column("peer", lambda line: line.peer, "left"),
    Column("epsilon", lambda line: number(line.epsilon, 2)),
    Column("accused", lambda line: f"{line.accused}/{line.runs}"),
]
NOTES = (
    f"epsilon: the median bound at alpha {ALPHA:g} and delta {DELTA:g}.\n"
    "accused: bounds of at least what is claimed.\n"
    "PrivacyGuard (facebookresearch) is not on PyPI: privacy-guard there is another project."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask what is not asked yet, and show and save the table; 130 if Ctrl-C ended it."""
    parser = argparse.ArgumentParser(description="Peers' bounds on the same canaries.")
    add_options(parser, results=None)
    parser.add_argument("--quick", action="store_true", help="a rehearsal: few runs")
    options = parser.parse_args(arguments)
    folder = options.results or (RESULTS / "quick" if options.quick else RESULTS)
    kept = Kept(folder / "training_peers.runs.jsonl", Bounds)
    chosen = [
        each
        for each in sources(options.quick)
        if not options.rows or any(text in each.label for text in options.rows)
    ]
    tasks = [Task(source=each, turn=turn) for each in chosen for turn in range(each.runs)]
    known = kept.read()
    finished = run_all(
        bounds_of,
        [task for task in tasks if task.key not in known],
        workers=options.workers,
        title="training peers",
        on_result=lambda task, bounds: kept.add(task.key, bounds),
    )
    known |= {task.key: bounds for task, bounds in finished.results}
    lines = []
    for source in chosen:
        mine = [task.key for task in tasks if task.source is source and task.key in known]
        lines += lines_of(source, [known[key] for key in mine]) if mine else []
    show("Bounds on the same canaries", COLUMNS, lines, NOTES)
    complete = not finished.interrupted and options.rows is None
    save(lines, folder=folder, name="training_peers", complete=complete)
    if complete:
        kept.forget()
    return INTERRUPTED if finished.interrupted else 0


if __name__ == "__main__":
    raise SystemExit(main())
