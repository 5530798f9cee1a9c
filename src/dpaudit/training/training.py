"""What is audited: a training with canaries in or out of it, and a score for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.architecture import Claim
from dpaudit.arrays import Counts, Floats, Labels
from dpaudit.errors import InvalidOutput, WrongLength
from dpaudit.mechanism import name_of, name_with_parameters
from dpaudit.results import Null
from dpaudit.training.canaries import Canaries

ADD_OR_REMOVE = "add or remove one canary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A training with canaries, its claim, and a score for each canary: high means "it was in".

    `run(bits, rng)` trains once with the canaries whose bit is true and gives one score for each
    canary. The code that scores sees the released model, never the bits. `claim` is that of one
    run, for the `neighbours` named in words. `noise` is the standard deviation of the score of a
    canary that is out, if the construction makes it known, else None. `assume` is the null that
    the construction supports where the training is correct: advice, because only a test can say
    under which null it refutes. `what` says what the canaries are.
    """

    name: str
    claim: Claim
    canaries: Canaries
    run: Callable[[Labels, np.random.Generator], Floats]
    what: str
    noise: float | None = None
    assume: Null = Null.ANY_MECHANISM
    neighbours: str = ADD_OR_REMOVE

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.claim}; {self.neighbours} of {self.canaries.count} ({self.what})"
        )


def of_loop(
    train: Callable[[Any, np.random.Generator], Any],
    *,
    insert: Callable[[Counts], Any],
    score: Callable[[Any], Any],
    canaries: Canaries,
    claim: Claim,
    noise: float | None = None,
    what: str = "canaries of a loop",
    assume: Null = Null.ANY_MECHANISM,
    name: str | None = None,
) -> Training:
    """Describe any training of yours by three functions.

    `insert(included)` gives the data with these canaries, by number; `train(data, rng)` trains and
    returns what is released; `score(released)` gives one score for each canary, in or out. The
    claim is what you promise about one run when one canary is added or removed.

    A mean with Gaussian noise, with one canary for each coordinate:

    >>> import dpaudit
    >>> from dpaudit.training import canaries
    >>> plan = canaries(1000, rng=7)
    >>> training = of_loop(
    ...     lambda rows, rng: rows.sum(axis=0) + rng.normal(size=1000),
    ...     insert=lambda included: np.eye(1000)[included],
    ...     score=lambda released: released,
    ...     canaries=plan,
    ...     claim=dpaudit.GaussianDP(1.0),
    ...     noise=1.0,
    ...     name="sums",
    ... )
    >>> print(training)
    sums: 1-GDP; add or remove one canary of 1000 (canaries of a loop)
    >>> scores = training.run(plan.bits, np.random.default_rng(1))
    >>> round(float(scores[plan.bits].mean() - scores[~plan.bits].mean()), 1)
    1.0

    A generator of synthetic data is a loop too: `train` fits it and returns the released table, and
    `score` looks for each canary there. This one repeats its records, noisy and shuffled:

    >>> people = np.random.default_rng(0).normal(size=(50, 8))
    >>> marks = 5.0 * np.random.default_rng(2).normal(size=(20, 8))
    >>> def fit(rows, rng):
    ...     return rng.permutation(rows + rng.normal(size=rows.shape))
    >>> def nearness(table):
    ...     return -np.linalg.norm(marks[:, None] - table, axis=2).min(axis=1)
    >>> few = canaries(20, rng=7)
    >>> copies = of_loop(
    ...     fit,
    ...     insert=lambda included: np.concatenate([people, marks[included]]),
    ...     score=nearness,
    ...     canaries=few,
    ...     claim=dpaudit.ApproxDP(1.0, 1e-5),
    ... )
    >>> found = copies.run(few.bits, np.random.default_rng(1))
    >>> bool(found[few.bits].min() > found[~few.bits].max())
    True
    """
    run = _Loop(train=train, insert=insert, score=score)
    return Training(
        name=name_with_parameters(train) if name is None else name,
        claim=claim,
        canaries=canaries,
        run=run,
        what=what,
        noise=noise,
        assume=assume,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loop:
    """Insert, train, score. Only the first of the three learns what is in."""

    train: Callable[[Any, np.random.Generator], Any]
    insert: Callable[[Counts], Any]
    score: Callable[[Any], Any]

    def __call__(self, bits: Labels, rng: np.random.Generator) -> Floats:
        included = np.flatnonzero(bits)
        try:
            released = self.train(self.insert(included), rng)
            scores = self.score(released)
        except Exception as error:
            error.add_note(
                f"while training with {len(included)} of {len(bits)} canaries in "
                f"{name_of(self.train)}"
            )
            raise
        return finite_scores(scores, len(bits))


def finite_scores(scores: Any, count: int) -> Floats:
    """One finite number for each canary, as a vector of floats.

    >>> finite_scores([1, 2.5], 2).tolist()
    [1.0, 2.5]
    """
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (count,):
        raise WrongLength(
            f"a score must be given for each of {count} canaries, in or out, got an array of shape "
            f"{found.shape}."
        )
    if not np.isfinite(found).all():
        raise InvalidOutput(
            f"scores must be finite numbers, got {found[~np.isfinite(found)][0]} for canary "
            f"{int(np.flatnonzero(~np.isfinite(found))[0])}. Did the training diverge?"
        )
    return found
