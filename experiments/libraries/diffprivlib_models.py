"""Models of diffprivlib, after those of scikit-learn: what is learned is the release.

All are given bounds (or a norm) and, where they take them, classes: the library warns of no leak.
The size of the training data is known to all, so one record is replaced by another. Where a model
is taught, it is said whether the label of the record may change too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from diffprivlib_mechanisms import state_of
from entry import Entry

import dpaudit
from dpaudit import PureDP, Subject

Floats = npt.NDArray[np.float64]
Rows = Sequence[Sequence[float]]

EPSILON = 1.0
LABELS = (0, 0, 1, 1)  # of the four records whose labels stay as they are
CORNERS = np.array([[0.0], [1.0]])
LABEL = "a label that changes"
RARE = "a class that is seen once"


def fitted(kind: str, data: Floats, labels: Any, rng: np.random.Generator, settings: Any) -> Any:
    """A fresh model that has learned from these records, on a budget of its own."""
    budget = importlib.import_module("diffprivlib.accountant").BudgetAccountant()
    model = getattr(importlib.import_module("diffprivlib.models"), kind)(
        epsilon=EPSILON, random_state=state_of(rng), accountant=budget, **settings
    )
    return model.fit(data) if labels is None else model.fit(data, labels)


def learned(*names: str) -> Callable[[Any], list[float]]:
    """The attributes of a model, in a row."""
    return lambda model: [float(x) for name in names for x in np.ravel(getattr(model, name))]


def told(model: Any) -> list[float]:
    """What a tree, or each tree of a forest, predicts at both ends of the range."""
    trees = getattr(model, "estimators_", [model])
    return [float(label) for tree in trees for label in tree.predict(CORNERS)]


def unexplained(model: Any) -> float:
    """What is left of `inertia_` if all four records were at the origin: 0 if they are."""
    nearest = float(np.min(np.square(model.cluster_centers_)))
    return round(float(model.inertia_) - len(LABELS) * nearest, 9)


def untaught(
    kind: str, read: Callable[[Any], Any], neighbours: Any, **settings: Any
) -> Callable[[], Subject]:
    """A model of records without labels."""

    def train(data: Any, rng: np.random.Generator) -> Any:
        return read(fitted(kind, np.asarray(data), None, rng, settings))

    return _subject(train, neighbours)


def taught(
    kind: str, read: Callable[[Any], Any], neighbours: Any, **settings: Any
) -> Callable[[], Subject]:
    """A model of records whose labels stay as they are."""

    def train(data: Any, rng: np.random.Generator) -> Any:
        return read(fitted(kind, np.asarray(data), np.array(LABELS), rng, settings))

    return _subject(train, neighbours)


def labelled(
    kind: str, read: Callable[[Any], Any], neighbours: Any, **settings: Any
) -> Callable[[], Subject]:
    """A model of records whose last column is the label."""

    def train(data: Any, rng: np.random.Generator) -> Any:
        return read(fitted(kind, data[:, :-1], data[:, -1], rng, settings))

    return _subject(train, neighbours)


def _subject(train: Callable[..., Any], neighbours: Any) -> Callable[[], Subject]:
    return lambda: Subject(
        mechanism=dpaudit.one_at_a_time(train), claim=PureDP(EPSILON), neighbours=neighbours
    )


def four(low: float, high: float, width: int = 1) -> Any:
    """One of four records is replaced."""
    return dpaudit.replace_one(
        dpaudit.vectors(width, low, high), min_records=len(LABELS), max_records=len(LABELS)
    )


def pair(data: Rows, neighbour: Rows) -> Any:
    """One pair of datasets, by rows."""
    return dpaudit.pairs([(np.array(data, dtype=float), np.array(neighbour, dtype=float))])


def moved(value: float) -> Any:
    """Of three records with label 0 and three with label 1, one changes its label."""
    rows = [[value, float(label)] for label in (0, 0, 0, 1, 1, 1)]
    return pair(rows, [*rows[:2], [value, 1.0], *rows[3:]])


def last_of_its_class() -> Any:
    """The only record with label 1 gets the label 0."""
    rows = [[0.5, 0.0], [0.5, 0.0], [0.5, 0.0]]
    return pair([*rows, [0.5, 1.0]], [*rows, [0.5, 0.0]])


def one_more() -> Any:
    """A fourth record comes last; all fall into the same leaf."""
    rows = [[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    return pair(rows, [*rows, [0.0, 0.0]])


def one_relabelled() -> Any:
    """Of two records of the first tree, one changes its label; all fall into the same leaf."""
    rows = [[0.0, float(label)] for label in LABELS]
    return pair(rows, [rows[0], [0.0, 1.0], *rows[2:]])


def one_of_a_leaf() -> Any:
    """A record more at either end of the range, beside one that says the same or not."""
    ends = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    one = np.array([[0.0, 0.0]])
    return dpaudit.pairs([(one, np.append(one, [end], axis=0)) for end in ends])


def one_far() -> Any:
    """Of four equal records one moves away, so that both clusters have records."""
    rows = [[0.0]] * 3
    return pair([*rows, [1.0]], [*rows, [0.0]])


def one_missing() -> Any:
    """Of four records one is NaN."""
    rows = [[0.0], [0.5], [1.0]]
    return pair([*rows, [0.5]], [*rows, [np.nan]])


def far_record(norm: float) -> Any:
    """Of four records at the origin, one lies as far out as the norm allows."""
    origin = [[0.0]] * 4
    return pair(origin, [[norm], *origin[1:]])


MOMENTS = learned("mean_", "var_")
CLASSES = learned("class_count_", "theta_", "var_")
LINE = learned("coef_", "intercept_")
UNIT = {"bounds": (0, 1)}
TREE = {**UNIT, "max_depth": 1, "classes": [0, 1]}


def regression(neighbours: Any, low: float, *, intercept: bool) -> Callable[[], Subject]:
    """A line through records of one feature and a target, both from `low` to 1."""
    bounds = {"bounds_X": (low, 1), "bounds_y": (low, 1)}
    return labelled("LinearRegression", LINE, neighbours, **bounds, fit_intercept=intercept)


def near_the_origin() -> Any:
    """Of four records at the origin, one lies at one end of the range, or near the other."""
    origin = [[0.0, 0.0]] * 3
    return pair([[1.0, 0.0], *origin], [[0.1, 0.0], *origin])


def entry(
    function: str, make: Callable[[], Subject], watched: str = "", *, samples: int = 2_000
) -> Entry:
    """One model; a fit takes about a thousandth of a second."""
    return Entry(function, make, samples=samples, watched=watched)


ENTRIES: tuple[Entry, ...] = (
    entry("StandardScaler", untaught("StandardScaler", MOMENTS, four(0, 1), **UNIT)),
    entry("StandardScaler, NaN", untaught("StandardScaler", MOMENTS, one_missing(), **UNIT), "NaN"),
    entry("GaussianNB", taught("GaussianNB", CLASSES, four(0, 1), **UNIT)),
    entry(
        "GaussianNB, a label changes",
        labelled("GaussianNB", CLASSES, moved(1.0), **UNIT),
        LABEL,
        samples=4_000,
    ),
    entry(
        "GaussianNB, a label changes, bounds away from 0",
        labelled("GaussianNB", CLASSES, moved(11.0), bounds=(10, 11)),
        LABEL,
        samples=10_000,
    ),
    entry(
        "GaussianNB, a class seen once",
        labelled("GaussianNB", CLASSES, last_of_its_class(), **UNIT),
        RARE,
    ),
    entry(
        "LogisticRegression, data_norm=1",
        taught("LogisticRegression", LINE, four(-1, 1), data_norm=1.0),
    ),
    entry(
        "LogisticRegression, data_norm=100, no intercept",
        taught("LogisticRegression", LINE, far_record(100.0), data_norm=100.0, fit_intercept=False),
        samples=16_000,
    ),
    entry(
        "LogisticRegression, a class seen once",
        labelled("LogisticRegression", LINE, last_of_its_class(), data_norm=1.0),
        RARE,
    ),
    entry(
        "LinearRegression, bounds_X=(-1, 1), no intercept",
        regression(four(-1, 1, width=2), -1, intercept=False),
    ),
    entry(
        "LinearRegression, bounds_X=(0, 1), no intercept",
        regression(near_the_origin(), 0, intercept=False),
    ),
    entry("LinearRegression, bounds_X=(0, 1)", regression(near_the_origin(), 0, intercept=True)),
    entry(
        "KMeans, cluster_centers_",
        untaught("KMeans", learned("cluster_centers_"), one_far(), **UNIT, n_clusters=2),
        "a cluster without records",
        samples=8_000,
    ),
    entry("KMeans, inertia_", untaught("KMeans", unexplained, one_far(), **UNIT, n_clusters=2)),
    entry(
        "PCA",
        untaught(
            "PCA",
            learned("components_", "explained_variance_"),
            four(-0.7, 0.7, width=2),
            n_components=1,
            centered=True,
            data_norm=1.0,
        ),
    ),
    entry(
        "DecisionTreeClassifier", labelled("DecisionTreeClassifier", told, one_of_a_leaf(), **TREE)
    ),
    entry(
        "RandomForestClassifier, a label changes",
        labelled("RandomForestClassifier", told, one_relabelled(), **TREE, n_estimators=2),
        LABEL,
        samples=6_000,
    ),
    entry(
        "RandomForestClassifier, one record more",
        labelled("RandomForestClassifier", told, one_more(), **TREE, n_estimators=3),
        "one record more",
    ),
)
