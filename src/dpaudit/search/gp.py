"""The finder "gp": a Gaussian-process bandit over pairs.

A Gaussian process models the score of a pair. The finder proposes the candidate with the highest
upper confidence bound (Srinivas et al. 2010). Pairs that have no score yet count with the score
that the model expects, so that a batch does not crowd in one place (GP-BUCB: Desautels, Krause and
Burdick 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.arrays import Counts, Floats
from dpaudit.domains import canonical, explorable
from dpaudit.neighbours import ABSENT, Pair, QueryAnswers, Slot, Structured, is_shared
from dpaudit.search.evolve import Mutations
from dpaudit.search.finder import Memory, RelationFinder, fingerprint
from dpaudit.search.spread import SpreadFinder

FRESH_CANDIDATES = 12  # from anywhere in the relation
CHANGED_CANDIDATES = 12  # changes of the best pairs, and in every round of the best candidates
MAX_PARENTS = 4  # pairs that are changed at a time
CLIMBING_ROUNDS = 3
CONFIDENCE = 2.0  # standard deviations above the mean
SCORE_VARIANCE = 0.01  # of a score told once, where the best is 1; it falls with every telling
MIN_FITTED_PAIRS = 8  # before the scales are fitted
REFIT_GROWTH = 1.5  # the scales are fitted again when the scored pairs have grown by this factor
MAX_FITTED_PAIRS = 96  # that a fit of the scales looks at
MAX_FIT_STEPS = 50  # of a fit of the scales
MAX_CACHED_ROWS = 1024

MAX_COORDINATES = 16  # of a record; more are averaged in stretches
MAX_PLACED_SLOTS = 12  # laid out one by one, where every slot has a meaning of its own
MAX_DIFFERING_SLOTS = 4  # laid out one by one, where only a few differ
SIZE, DIFFERENCE, REST = range(3)  # the groups of columns, each with its own scale

# The logarithms of the variance, the length scales of the three groups, and the noise; the best
# score is 1. A variance far below that would expect nothing of unknown pairs and stall the search.
START, LOWEST, HIGHEST = np.log(
    [[0.25, 1.0, 0.5, 1.0, 0.01], [0.05, 0.2, 0.15, 0.2, 1e-4], [4.0, 20.0, 20.0, 20.0, 0.1]]
)


class GaussianProcessFinder(RelationFinder):
    """Proposes the pair that may score highest, by a model of all scores so far.

    It suits scores that change smoothly with the records, and is worth its time where the mechanism
    is slow. Until a pair has scored above 0 there is nothing to model, and it fills the space
    evenly; so it does for relations whose pairs cannot be taken apart.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> relation = replace_one(floats(0, 1), max_records=3)
    >>> finder = GaussianProcessFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """

    def prepare(self) -> None:
        self._spread = SpreadFinder(self.relation, self.rng, self.memory)
        self._bandit: Bandit | None = None
        if self.structured is not None:
            self._bandit = Bandit(self.structured, self.rng, self.memory)

    def ask(self) -> Pair | None:
        if self._bandit is not None and self.memory.best_score > 0.0:
            fresh = [self._spread.propose() for _ in range(FRESH_CANDIDATES)]
            pair = self._bandit.most_promising(fresh)
            if pair is not None and self.memory.meet(pair):
                return pair
        return self._spread.ask()


class Bandit:
    """Ranks pairs by the upper confidence bound of a Gaussian process."""

    def __init__(self, relation: Structured, rng: np.random.Generator, memory: Memory) -> None:
        self._memory = memory
        self._mutations = Mutations(relation, rng)
        self._features = Features(relation)
        self.model = Surrogate(self._features.groups)
        self._fitted = 0  # scored pairs when the scales were last fitted
        self._rows: dict[str, Floats | None] = {}

    def most_promising(self, fresh: list[Pair]) -> Pair | None:
        """The new pair with the highest bound, climbing from fresh pairs and the best scored."""
        if not self.learn():
            return None
        best = [one.pair for one in self._memory.best(MAX_PARENTS)]
        rated = self._rated([*fresh, *self._changes(best)])
        for _ in range(CLIMBING_ROUNDS):
            rated.sort(key=lambda one: -one[0])
            rated += self._rated(self._changes([pair for _, pair in rated[:MAX_PARENTS]]))
        return max(rated, key=lambda one: one[0])[1] if rated else None

    def learn(self) -> bool:
        """Bring the model up to date; false if there is nothing to learn from."""
        found = [(one, self._row(one.fingerprint, one.pair)) for one in self._memory.scored]
        usable = [(one, row) for one, row in found if row is not None]
        if not usable:
            return False
        best = self._memory.best_score
        rows = np.array([row for _, row in usable])
        scores = np.array([one.score / best for one, _ in usable])
        variances = np.array([SCORE_VARIANCE / one.times for one, _ in usable])
        if len(usable) >= max(MIN_FITTED_PAIRS, REFIT_GROWTH * self._fitted):
            self._fitted = len(usable)
            some = _best_and_latest(scores)
            self.model.fit_scales(rows[some], scores[some], variances[some])
        self.model.learn(rows, scores, variances)
        waiting = [self._row(fingerprint(pair), pair) for pair in self._memory.awaited]
        if awaited := [row for row in waiting if row is not None]:
            expected, _ = self.model.predict(np.array(awaited))
            self.model.learn(
                np.vstack([rows, *awaited]),
                np.concatenate([scores, expected]),
                np.concatenate([variances, np.full(len(awaited), SCORE_VARIANCE)]),
            )
        return True

    def _changes(self, parents: list[Pair]) -> list[Pair]:
        """Changes of these pairs, in turn."""
        laid = [slots for pair in parents if (slots := self._mutations.slots(pair)) is not None]
        turns = range(CHANGED_CANDIDATES if laid else 0)
        found = [self._mutations.changed(laid[turn % len(laid)]) for turn in turns]
        return [pair for pair in found if pair is not None]

    def _rated(self, candidates: list[Pair]) -> list[tuple[float, Pair]]:
        """The new ones among the candidates, each with its upper confidence bound."""
        new = [pair for pair in candidates if self._memory.is_new(pair)]
        laid = [(pair, slots) for pair in new if (slots := self._mutations.slots(pair)) is not None]
        if not laid:
            return []
        rows = np.array([self._features.row(slots) for _, slots in laid])
        means, deviations = self.model.predict(rows)
        bounds = (means + CONFIDENCE * deviations).tolist()
        return [(bound, pair) for bound, (pair, _) in zip(bounds, laid, strict=True)]

    def _row(self, mark: str, pair: Pair) -> Floats | None:
        """The features of a pair; None if it is not of the relation."""
        if len(self._rows) > MAX_CACHED_ROWS:
            self._rows.clear()
        if mark not in self._rows:
            slots = self._mutations.slots(pair)
            self._rows[mark] = None if slots is None else self._features.row(slots)
        return self._rows[mark]


def _best_and_latest(scores: Floats) -> Counts:
    """The places of the scores that a fit looks at, in their order."""
    best = np.argsort(-scores, kind="stable")[: MAX_FITTED_PAIRS // 2]
    return np.union1d(best, np.arange(len(scores))[-MAX_FITTED_PAIRS // 2 :])


class Features:
    """A pair as numbers in [0, 1], equally many for every pair of the relation.

    The slots that differ are laid out side by side. The order of the shared records seldom
    matters, so these are summed up: how many different ones there are, their mean, their least and
    their greatest coordinates. Query answers keep their places instead, as each answers its own
    query.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> features = Features(replace_one(floats(0, 1), max_records=2))
    >>> features.row([Slot(1.0, 0.25)]).tolist()[:7]
    [0.5, 0.5, 0.0, 1.0, 1.0, 1.0, 0.25]
    """

    def __init__(self, relation: Structured) -> None:
        self._domain = explorable(relation.domain)
        self._most = relation.most_slots
        self._placed = isinstance(relation, QueryAnswers)
        laid_out = MAX_PLACED_SLOTS if self._placed else MAX_DIFFERING_SLOTS
        self._laid_out = min(self._most, laid_out)
        self._width = len(self._coordinates(self._domain.edges()[0]))
        self._step = 2 + 2 * self._width
        columns = [3, self._laid_out * self._step, 1 + 3 * self._width]
        self.groups = np.repeat([SIZE, DIFFERENCE, REST], columns)
        self._rest = sum(columns[:2])  # where the columns of the shared records begin

    def row(self, slots: Sequence[Slot]) -> Floats:
        """The numbers of the pair with these slots."""
        apart = [place for place, slot in enumerate(slots) if self._placed or not is_shared(slot)]
        shown = apart[: self._laid_out]
        row = np.zeros(len(self.groups))
        row[0] = sum(slot.data is not ABSENT for slot in slots) / self._most
        row[1] = sum(slot.neighbour is not ABSENT for slot in slots) / self._most
        row[2] = shown[0] / self._most if shown else 0.0
        for turn, place in enumerate(shown):
            start = 3 + turn * self._step
            present = [float(side is not ABSENT) for side in slots[place]]
            coordinates = map(self._coordinates, slots[place])
            row[start : start + self._step] = np.concatenate([present, *coordinates])
        rest = [slot.data for place, slot in enumerate(slots) if place not in shown]
        if rest:
            row[self._rest :] = self._summed_up(rest)
        return row

    def _summed_up(self, records: Sequence[Any]) -> Floats:
        table = np.array(list(map(self._coordinates, records)))
        different = len(set(map(canonical, records))) / self._most
        return np.concatenate([[different], table.mean(0), table.min(0), table.max(0)])

    def _coordinates(self, record: Any) -> Floats:
        if record is ABSENT:
            return np.zeros(self._width)
        found = np.asarray(self._domain.coordinates(record), dtype=np.float64)
        if len(found) <= MAX_COORDINATES:
            return found
        return np.array([part.mean() for part in np.array_split(found, MAX_COORDINATES)])


class Surrogate:
    """Predicts scores of rows by a Gaussian process (Matern 5/2) of scikit-learn.

    The columns of a group share a length scale: a few hundred scores could not teach one for each.

    >>> model = Surrogate(groups=np.array([0, 1, 2]))
    >>> rows = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> model.learn(rows, scores=np.array([0.0, 1.0]), variances=np.full(2, 0.01))
    >>> means, deviations = model.predict(np.array([[0.0, 0.9, 0.0], [1.0, 0.5, 1.0]]))
    >>> bool(means[0] > means[1]), bool(deviations[0] < deviations[1])
    (True, True)
    """

    def __init__(self, groups: Counts) -> None:
        self.scales: Floats = START.copy()  # logarithms
        self._groups = groups
        self._model: Any = None

    def fit_scales(self, rows: Floats, scores: Floats, variances: Floats) -> None:
        """Find the scales under which these scores are likeliest."""
        from scipy.optimize import Bounds, minimize

        self.learn(rows, scores, variances)
        likelihood = self._model.log_marginal_likelihood

        def loss(scales: Floats) -> float:
            return -float(likelihood(self._by_column(scales), clone_kernel=False))

        found = minimize(
            loss,
            np.clip(self.scales, LOWEST, HIGHEST),
            method="Nelder-Mead",
            bounds=Bounds(LOWEST, HIGHEST),
            options={"maxfev": MAX_FIT_STEPS, "disp": False},
        )
        self.scales = np.asarray(found.x, dtype=np.float64)

    def learn(self, rows: Floats, scores: Floats, variances: Floats) -> None:
        """Know these scores, each with its variance, and nothing else."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        kernel = ConstantKernel() * Matern(np.ones(len(self._groups)), nu=2.5) + WhiteKernel()
        kernel = kernel.clone_with_theta(self._by_column(self.scales))
        self._model = GaussianProcessRegressor(kernel, alpha=variances, optimizer=None)
        self._model.fit(rows, scores)

    def predict(self, rows: Floats) -> tuple[Floats, Floats]:
        """The expected scores and their standard deviations, without the noise of a telling."""
        means, deviations = self._model.predict(rows, return_std=True)
        variances = deviations**2 - np.exp(self.scales[-1])
        return means, np.sqrt(np.maximum(variances, 0.0))

    def _by_column(self, scales: Floats) -> Floats:
        """One length scale for each column, as scikit-learn wants them."""
        return np.concatenate([scales[:1], scales[1:-1][self._groups], scales[-1:]])
