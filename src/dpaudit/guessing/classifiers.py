"""Guessers of the batch testers, by name or the user's own, and the outputs they learn from.

An event must not depend on the outputs that certify it, and neither may the table it is written in.
So the outputs to learn from are encoded first, and those held out are read with the columns and
words known by then: a word that is new among them is only "a new word". (Encoded in one go, the
words of one side would have the lower codes, which alone tells the sides apart.)
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from dpaudit.architecture import Guesser
from dpaudit.arrays import Floats, Index
from dpaudit.guessing.guessers import MAX_LOG_ODDS, BalancedLinear, Remembering
from dpaudit.guessing.network import Neural
from dpaudit.guessing.rows import LabelledRows
from dpaudit.guessing.trees import BalancedBoosted
from dpaudit.outputs import NONE, Encoder, Outputs, Table, checked, joined

_MAX_WORDS = 64  # of a column that get a 0/1 column of their own

Samples: TypeAlias = npt.NDArray[Any] | Sequence[Any]


@runtime_checkable
class ProbabilityClassifier(Protocol):
    """A user's own classifier: scikit-learn's two methods."""

    def fit(self, rows: Floats, labels: npt.NDArray[np.int64], /) -> object:
        """Learn rows of numbers with labels 0 (the neighbour's outputs) and 1 (the data's)."""

    def predict_proba(self, rows: Floats, /) -> npt.NDArray[Any]:
        """The probabilities of the labels, one row each."""


Classifier: TypeAlias = Literal["auto", "linear", "boosted", "neural"] | ProbabilityClassifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How much of a sample is learned from: a share of it, and at most `most` outputs a side.

    >>> Share(training=0.4, most=1000).held_out(100), Share(training=0.4, most=10).held_out(100)
    (60, 90)
    """

    training: float
    most: int

    def held_out(self, draws: int) -> int:
        """How many of the outputs of one side are left to certify with."""
        return draws - self._learned(draws)

    def part(
        self, outputs: Samples, neighbour_outputs: Samples, rng: np.random.Generator
    ) -> tuple[LabelledRows, LabelledRows]:
        """Part the outputs of both sides at random: those to learn from, and those held out.

        >>> share = Share(training=0.5, most=1000)
        >>> learn, held_out = share.part(["a", "b"] * 50, ["c"] * 10, np.random.default_rng(0))
        >>> len(learn.table), int(held_out.labels.sum()), int((~held_out.labels).sum())
        (55, 50, 5)
        """
        first, second = _sample(outputs, "outputs"), _sample(neighbour_outputs, "neighbour_outputs")
        draws = len(first), len(second)
        pool = _pooled(first, second)
        orders = rng.permutation(draws[0]), draws[0] + rng.permutation(draws[1])
        cuts = [self._learned(size) for size in draws]
        learned = np.concatenate([order[:cut] for order, cut in zip(orders, cuts, strict=True)])
        held = np.concatenate([order[cut:] for order, cut in zip(orders, cuts, strict=True)])
        learned, encoder = rng.permutation(learned), Encoder()
        known = encoder.encode(_chosen(pool, learned))
        held_out = as_known(encoder.encode(_chosen(pool, held)), known)
        return LabelledRows.of(known, learned < draws[0]), LabelledRows.of(
            held_out, held < draws[0]
        )

    def _learned(self, draws: int) -> int:
        return min(max(1, int(draws * self.training)), self.most)


class OwnClassifier:
    """A user's classifier: it sees numbers, and a 0/1 column for every frequent word."""

    def __init__(self, classifier: ProbabilityClassifier) -> None:
        self._model = copy.deepcopy(classifier)  # the one that was given stays as it is

    def fit(self, seen: LabelledRows) -> None:
        """Learn from single draws."""
        self._words = _frequent_words(seen.table)
        self._model.fit(self._matrix(seen.table), seen.labels.astype(np.int64))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every row."""
        given = np.asarray(self._model.predict_proba(self._matrix(table)), dtype=np.float64)
        if given.shape != (len(table), 2) or not np.all((given >= 0.0) & (given <= 1.0)):
            raise ValueError(
                f"{type(self._model).__name__}.predict_proba must give {len(table)} rows of two "
                f"probabilities, for labels 0 and 1, got shape {given.shape}. Train on both labels "
                "and give numbers in [0, 1]."
            )
        return np.asarray(np.clip(logit(given[:, 1]), -MAX_LOG_ODDS, MAX_LOG_ODDS))

    def _matrix(self, table: Table) -> Floats:
        indicators = [
            table.codes()[:, [column]] == words for column, words in enumerate(self._words)
        ]
        return np.hstack([table.numbers, *indicators]).astype(np.float64)


class _Silent:
    """Says nothing: for outputs such as (), which all look the same."""

    def fit(self, seen: LabelledRows) -> None:
        pass

    def log_odds(self, table: Table) -> Floats:
        return np.zeros(len(table))


def learn(
    classifier: Classifier, train: LabelledRows, *, device: str | None, rng: np.random.Generator
) -> Guesser:
    """Train a classifier, by name or the user's own, on labelled draws."""
    if classifier == "auto":
        classifier = "linear" if train.table.columns == 1 else "boosted"
    guesser: Guesser
    if train.table.columns == 0:
        guesser = _Silent()
    elif classifier == "neural":
        guesser = Neural(device=device, seed=int(rng.integers(2**32)))
    elif isinstance(classifier, str):
        guesser = Remembering(BalancedLinear() if classifier == "linear" else BalancedBoosted())
    else:
        guesser = OwnClassifier(classifier)
    guesser.fit(train)
    return guesser


def check_classifier(classifier: object) -> None:
    """Refuse what is neither a known name nor a classifier."""
    names = ("auto", "linear", "boosted", "neural")
    if isinstance(classifier, str) and classifier in names:
        return
    if isinstance(classifier, ProbabilityClassifier) and not isinstance(classifier, type):
        return
    raise ValueError(
        f"classifier must be one of {', '.join(map(repr, names))}, or an object with fit and "
        f"predict_proba, got {classifier!r}."
    )


def as_known(table: Table, known: Table) -> Table:
    """Read a table as if only the columns and words of another were known."""
    return table.as_known(np.maximum(known.codes().max(axis=0, initial=-1), NONE))


def in_pairs(outputs: Samples, neighbour_outputs: Samples, *, most: int) -> Table:
    """Up to `most` pairs in the order given: the data's outputs in even rows, the others in odd.

    The rows of the first pairs tell outputs apart as if no further pairs had been given.

    >>> in_pairs([1.0, 2.0, 9.0], [3.0, 4.0], most=100).numbers.ravel().tolist()
    [1.0, 3.0, 2.0, 4.0]
    """
    first, second = _sample(outputs, "outputs"), _sample(neighbour_outputs, "neighbour_outputs")
    pairs = min(len(first), len(second), most)
    order = np.arange(2 * pairs).reshape(2, pairs).T.ravel()
    return Encoder().encode(_chosen(_pooled(first[:pairs], second[:pairs]), order))


def _sample(outputs: Samples, name: str) -> Outputs:
    """Check one side's outputs: at least two, so that one is learned from and one is held out."""
    if not hasattr(outputs, "__len__"):
        raise TypeError(f"{name} must be an array or a list, got {type(outputs).__name__}.")
    if len(outputs) < 2:
        raise ValueError(
            f"{name} must hold at least 2 outputs, one to learn from and one to test, "
            f"got {len(outputs)}."
        )
    return checked(outputs, len(outputs), name)


def _pooled(first: Outputs, second: Outputs) -> Outputs:
    """Both sides below each other; a single column is a plain array."""
    sides = [first, second]
    if {one.shape[1:] for one in sides if isinstance(one, np.ndarray)} == {(), (1,)}:
        sides = [np.reshape(one, len(one)) for one in sides]
    return joined(sides)


def _chosen(pool: Outputs, index: Index) -> Outputs:
    return pool[index] if isinstance(pool, np.ndarray) else [pool[i] for i in index.tolist()]


def _frequent_words(table: Table) -> list[npt.NDArray[np.int64]]:
    """The most frequent codes of each column."""
    if table.atoms is None:
        return [np.empty(0, dtype=np.int64)] * table.columns
    counts = [np.bincount(codes[codes >= 0]) for codes in table.atoms.T]
    return [
        np.sort(np.argsort(-count, kind="stable")[: min(_MAX_WORDS, np.count_nonzero(count))])
        for count in counts
    ]
