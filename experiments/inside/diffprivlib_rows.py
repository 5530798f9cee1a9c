"""Known faults of diffprivlib, followed inside and by the black box, and their right twins.

    python experiments/inside/diffprivlib_rows.py [--quick] [--rows TEXT ...]

A fault has one pair: 20 audits inside, and one audit by outputs on the same pair, in the same
process. A right twin has the settings that docs/field.md recommends, and several pairs: each must
have a loss, and none may be accused. Needs `diffprivlib`.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared
sys.path.append(str(Path(__file__).parents[1] / "libraries"))

import numpy as np
from diffprivlib_mechanisms import state_of
from diffprivlib_models import (
    CLASSES,
    LINE,
    TREE,
    UNIT,
    Floats,
    far_record,
    labelled,
    moved,
    near_the_origin,
    one_more,
    one_of_a_leaf,
    one_relabelled,
    regression,
    taught,
    told,
)
from diffprivlib_tools import IN_BINS, weighted
from diffprivlib_tools import UNIT as UNIT_TOOL
from diffprivlib_tools import of as tool
from study import Study, Task, study_main
from tables import Column, number

import dpaudit
from dpaudit import InsideVerdict, Pair, PureDP, Subject, Verdict

SEED = 20_261_201
AUDITS = 20  # of a fault, with seeds of their own
TREE_AUDITS, CONFIRMING = 50, 1_000
TRANSCRIPTS = 100  # of a pair of a right twin, and of an audit of a tree
MOST_DRAWS = 100_000  # of the black box
CLAIM = PureDP(1.0)

Pairs = list[tuple[Any, Any]]
NUMBERS = [[0.0, 1.0], [0.0, 0.0], [0.4, 1.0], [0.2, 0.7, 1.0], [1.0, 1.0, 0.0], [0.3]]
RIGHT_ROWS = [[1.0, 0.5], [-1.0, 1.0], [0.3, -0.4], [0.0, 1.0], [0.7, 0.7], [-0.2, -1.0]]
BINS = [([0.1], []), ([0.5, 0.9], [0.9]), ([0.2], [0.2, 0.9]), ([0.0], [0.0, 0.0])]
BINS += [([0.4, 0.4], [0.4]), ([], [1.0])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A row: a subject of diffprivlib and its pairs. `place` gives its seeds."""

    place: int
    label: str
    kind: str  # "fault", "right" or "tree"
    rehearsed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What audits inside said of a row, and the black box of the same pair."""

    label: str
    kind: str
    audits: int
    broken_inside: int
    other_verdicts: str
    pairs: int
    informative: int
    transcripts: float
    most_transcripts: int
    seconds: float
    largest_loss: float
    black_box: str
    draws: int | None
    black_box_seconds: float | None


def first(neighbours: Any) -> Pairs:
    """The pairs that are given, as data and neighbour."""
    return [(pair.data, pair.neighbour) for pair in neighbours.edge_pairs()]


def replaced(rows: Sequence[Sequence[float]], origin: int = 3) -> Pairs:
    """Each row beside records at the origin, or replaced by another one there."""
    base = [[0.0] * len(rows[0])] * origin
    return [(np.array([row, *base]), np.array([base[0], *base])) for row in rows]


def in_its_class() -> Pairs:
    """One of four records, of two classes, moves."""
    base = np.array([[0.2], [0.6], [0.4], [0.9]])
    found = []
    for place, value in ((0, 1.0), (1, 0.0), (2, 1.0), (3, 0.0), (0, 0.7), (3, 0.2)):
        other = base.copy()
        other[place] = value
        found.append((base, other))
    return found


def norm_one() -> Pairs:
    """One of four records of norm at most 1 moves."""
    base = np.array([[0.3], [-0.5], [0.1], [0.8]])
    found = []
    for place, value in ((0, -1.0), (1, 1.0), (2, 1.0), (3, -1.0), (0, 1.0), (2, -0.7)):
        other = base.copy()
        other[place] = value
        found.append((base, other))
    return found


def relabelled() -> Pairs:
    """One of four records changes its label."""
    rows = np.array([[0.0, 0.0], [0.2, 0.0], [0.8, 1.0], [1.0, 1.0]])
    found = []
    for base in (rows, np.column_stack([rows[:, 0], [0.0, 1.0, 0.0, 1.0]])):
        for place in range(4):
            other = base.copy()
            other[place, 1] = 1.0 - other[place, 1]
            found.append((base, other))
    return found


def one_record_more() -> Pairs:
    """A record more in the leaf of others, or in one of its own."""
    rows = np.array([[0.1, 0.0], [0.2, 1.0], [0.9, 1.0]])
    left = [(rows, np.delete(rows, place, axis=0)) for place in range(3)]
    return [*first(one_of_a_leaf()), *left]


def halved(epsilon: float) -> Callable[[], Subject]:
    """A forest that is fitted with another epsilon than it claims."""

    def fit(data: Floats, rng: np.random.Generator) -> list[float]:
        budget = import_module("diffprivlib.accountant").BudgetAccountant()
        given = {**TREE, "random_state": state_of(rng), "accountant": budget}
        forest = import_module("diffprivlib.models").RandomForestClassifier
        return told(forest(2, epsilon=epsilon, **given).fit(data[:, :-1], data[:, -1]))

    return lambda: Subject(
        mechanism=dpaudit.one_at_a_time(fit), claim=CLAIM, neighbours=one_relabelled()
    )


def filled(size: int) -> Pairs:
    """Numbers without NaN, of which one changes."""
    return [
        (np.array([*row, 0.5][:size]), np.array([1.0 - row[0], *row[1:], 0.5][:size]))
        for row in NUMBERS
    ]


missing = [np.nan] * 20
SOME_NAN: Pairs = [(np.array([0.0, 0.0, *missing]), np.array([0.0, 1.0, *missing]))]
UINT8 = np.array([0, 0, 1]), np.array([0, 0])
LOGISTIC = "LogisticRegression"
ROWS: dict[str, tuple[str, Callable[[], Subject], Callable[[], Pairs]]] = {
    "LinearRegression, bounds_X=(0, 1), no intercept": (
        "fault",
        regression(near_the_origin(), 0, intercept=False),
        lambda: first(near_the_origin()),
    ),
    "LinearRegression, bounds_X=(0, 1)": (
        "fault",
        regression(near_the_origin(), 0, intercept=True),
        lambda: first(near_the_origin()),
    ),
    "LogisticRegression, data_norm=100, no intercept": (
        "fault",
        taught(LOGISTIC, LINE, far_record(100.0), data_norm=100.0, fit_intercept=False),
        lambda: first(far_record(100.0)),
    ),
    "GaussianNB, a label changes, bounds away from 0": (
        "fault",
        labelled("GaussianNB", CLASSES, moved(11.0), bounds=(10, 11)),
        lambda: first(moved(11.0)),
    ),
    "RandomForestClassifier, a label changes": (
        "fault",
        labelled("RandomForestClassifier", told, one_relabelled(), **TREE, n_estimators=2),
        lambda: first(one_relabelled()),
    ),
    "RandomForestClassifier, one record more": (
        "fault",
        labelled("RandomForestClassifier", told, one_more(), **TREE, n_estimators=3),
        lambda: first(one_more()),
    ),
    "nanmean, some NaN": ("fault", tool("nanmean", **UNIT_TOOL), lambda: SOME_NAN),
    "histogram, weights of 3": ("fault", weighted(3.0), lambda: [([0.5], [])]),
    "GaussianNB, a label changes, bounds (0, 1)": (
        "fault",
        labelled("GaussianNB", CLASSES, moved(1.0), **UNIT),
        lambda: first(moved(1.0)),
    ),
    "LinearRegression, bounds_X=(-1, 1), no intercept": (
        "right",
        regression(near_the_origin(), -1, intercept=False),
        lambda: replaced(RIGHT_ROWS),
    ),
    "LogisticRegression, data_norm=1, no intercept": (
        "right",
        taught(LOGISTIC, LINE, far_record(1.0), data_norm=1.0, fit_intercept=False),
        norm_one,
    ),
    "GaussianNB, labels stay": ("right", taught("GaussianNB", CLASSES, None, **UNIT), in_its_class),
    "RandomForestClassifier, half of epsilon": ("right", halved(0.5), relabelled),
    "nanmean, no NaN": ("right", tool("nanmean", **UNIT_TOOL), lambda: filled(3)),
    "histogram": ("right", tool("histogram", **IN_BINS), lambda: list(BINS)),
    "DecisionTreeClassifier": (
        "tree",
        labelled("DecisionTreeClassifier", told, one_of_a_leaf(), **TREE),
        one_record_more,
    ),
}


def followed(task: Task[Known]) -> Followed:
    """Audit a row inside, and a fault by its outputs too."""
    cell = task.cell
    _, make, pairs_of = ROWS[cell.label]
    subject, pairs = make(), pairs_of()
    inside(subject, pairs[:1], 0, 2)  # the library is imported
    count = {"fault": AUDITS, "right": 1, "tree": TREE_AUDITS}[cell.kind]
    asked = pairs[:1] if cell.kind == "fault" else pairs
    count = min(count, 2) if cell.rehearsed else count
    listed = [asked] * count if cell.kind == "tree" else [[pair] for pair in asked] * count
    found, seconds = [], []
    for turn, ours in enumerate(listed):
        most = None if cell.kind == "fault" else TRANSCRIPTS
        begun = time.process_time()
        found.append(inside(subject, ours, task.entropy + turn, most))
        seconds.append(time.process_time() - begun)
    worst = [one.worst for one in found if one.worst is not None]
    broken = [one for one in found if one.verdict is InsideVerdict.BROKEN_INSIDE]
    others = {one.verdict.value for one in found} - {"broken inside", "not refuted"}
    box, draws, spent = black_box(cell, subject, asked, found, task.entropy)
    return Followed(
        label=cell.label,
        kind=cell.kind,
        audits=len(found),
        broken_inside=len(broken),
        other_verdicts=", ".join(sorted(others)),
        pairs=len(asked),
        informative=len({_either_way(w.pair) for w in worst if abs(w.loss) > w.tolerance}),
        transcripts=statistics.median(one.transcripts for one in found),
        most_transcripts=max(one.transcripts for one in found),
        seconds=statistics.median(seconds),
        largest_loss=max((abs(one.loss) for one in worst), default=0.0),
        black_box=box,
        draws=draws,
        black_box_seconds=spent,
    )


def _either_way(pair: Pair) -> frozenset[str]:
    return frozenset((repr(np.asarray(pair.data)), repr(np.asarray(pair.neighbour))))


def inside(subject: Subject, pairs: Pairs, seed: int, transcripts: int | None) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return dpaudit.audit_inside(
            subject.mechanism, CLAIM, pairs, rng=seed, transcripts=transcripts
        )


def black_box(
    cell: Known, subject: Subject, pairs: Pairs, found: list[Any], seed: int
) -> tuple[str, int | None, float | None]:
    """Of a fault one audit by its outputs; of a tree, each pair that was worst is confirmed."""
    if cell.kind == "right":
        return "", None, None
    begun = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        if cell.kind == "fault":
            most = 2_000 if cell.rehearsed else MOST_DRAWS
            audit = dpaudit.audit(subject.mechanism, CLAIM, pairs, samples=most, rng=seed)
            return audit.verdict.value, audit.samples, time.process_time() - begun
        said = [one.confirm(samples=CONFIRMING) for one in found if one.worst is not None]
    refuted = sum(one.verdict is Verdict.REFUTED for one in said)
    verdict = f"{refuted} of {len(said)} refuted"
    return verdict, sum(one.samples for one in said), time.process_time() - begun


def the_one(cell: Known, outcomes: Sequence[Followed]) -> Followed:
    """A row is run once."""
    (outcome,) = outcomes
    return outcome


CELLS = [
    Known(place=place, label=label, kind=row[0]) for place, (label, row) in enumerate(ROWS.items())
]
QUICK = [
    Known(place=each.place, label=each.label, kind=each.kind, rehearsed=True)
    for each in CELLS
    if each.label in ("histogram, weights of 3", "histogram")
]
STUDY = Study(
    name="diffprivlib_rows",
    title="Known faults of diffprivlib and their right twins, claim 1-DP",
    notes="transcripts and seconds: medians, most. Black box: one audit at alpha 1e-6.",
    seed=SEED,
    cells=CELLS,
    quick=QUICK,
    run=followed,
    outcome=Followed,
    summary=the_one,
    columns=[
        Column("row", lambda row: row.label[:44], "left"),
        Column("broken", lambda row: f"{row.broken_inside} of {row.audits}"),
        Column("pairs", lambda row: f"{row.informative} of {row.pairs}"),
        Column("transcr.", lambda row: f"{row.transcripts:g} ({row.most_transcripts})"),
        Column("sec.", lambda row: number(row.seconds, 3)),
        Column("draws", lambda row: number(row.draws)),
        Column("sec.", lambda row: number(row.black_box_seconds, 1)),
    ],
    folder=Path(__file__).parent / "results",
    runs=1,
    quick_runs=1,
)


if __name__ == "__main__":
    raise SystemExit(study_main(STUDY))
