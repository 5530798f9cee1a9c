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
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from asked_peers import ALPHA, DELTA, PEERS, Peer, Scores, epsilon_of
from digits import BUGS, claimed_mu, load, path_of
from leaks import Independent, Leak, Shared, Tail, coins
from many_runs import INTERRUPTED, entropy, run_all
from study import Kept, add_options
from tables import Column, number, save, show

RESULTS = Path(__file__).parent / "results"
SEED = 20_261_123
SLOW_RUNS = 50  # of a source, in which peers are asked that take seconds


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
    """What every peer that is installed says of one run, and the epsilon that is claimed.

    None stands for a peer that stopped with an error.
    """

    claimed: float
    epsilons: dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A source and a peer: a line of `training_peers.csv`.

    `truth` says whether the scores keep what is claimed. `accused` counts the runs whose bound is
    not below it, and `stopped` those in which the peer stopped with an error.
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
    stopped: int
    epsilon: float
    accused: int


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
        Source(
            place=10, name="pure noise", canaries=small, runs=few, leak=Independent(0.0), mu=0.1
        ),
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
    said = {peer.name: _bound_of(peer, given) for peer in asked}
    return Bounds(claimed=given.epsilon, epsilons=said)


def _bound_of(peer: Peer, given: Scores) -> float | None:
    """A peer's bound; what it raises is counted, and ours flies."""
    try:
        return peer.bound(given)
    except ValueError as error:
        if peer.package == "dpaudit":
            raise
        print(f"{peer.name} stopped: {error}", file=sys.stderr)
        return None


def lines_of(source: Source, runs: Sequence[Bounds]) -> list[Line]:
    """Sum up the runs of a source, a line for each peer that was asked."""
    claimed, found = runs[0].claimed, []
    for peer in PEERS:
        asked = [run.epsilons[peer.name] for run in runs if peer.name in run.epsilons]
        epsilons = [epsilon for epsilon in asked if epsilon is not None]
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
                runs=len(asked),
                stopped=len(asked) - len(epsilons),
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
