"""Guesses at the bits of canaries, from their scores alone, the surest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.errors import InvalidSamples

# Equally sure canaries are taken in an order of our own, so that the order of the arrays says
# nothing: somebody may have listed all canaries that are in before those that are out.
_SEED_OF_TIES = 6_283_185


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """A guess for every canary that has a score, the surest first.

    `order` holds the places of the canaries and `said_in` what is guessed of them.
    """

    order: Index
    said_in: Labels

    def right(self, bits: Labels) -> Labels:
        """Which guesses are right, in the order of the guesses."""
        return np.asarray(bits[self.order] == self.said_in)


def guess(scores: npt.ArrayLike) -> Guesses:
    """Guess that a canary is in if its score lies above the median, else that it is out.

    The farther its rank is from the middle, the surer is the guess. Ranks need no scale: neither a
    heavy tail nor an infinite score changes what the others count for. Equal scores share their
    mean rank, so they get the same guess. A canary whose score is NaN gets none.

    >>> guesses = guess([0.1, 9.0, 0.3, 0.2, float("nan"), float("-inf")])
    >>> sorted(guesses.order[:2].tolist()), sorted(guesses.order.tolist())
    ([1, 5], [0, 1, 2, 3, 5])
    >>> guesses.said_in[guesses.order == 1].tolist()
    [True]
    """
    values = checked_scores(scores)
    places = np.flatnonzero(~np.isnan(values))
    if len(places) == 0:
        return Guesses(order=places, said_in=np.zeros(0, dtype=np.bool_))
    _, group, sizes = np.unique(values[places], return_inverse=True, return_counts=True)
    after = np.cumsum(sizes)
    twice_rank = (2 * after - sizes - 1)[group]  # twice the mean rank of equal scores: whole
    from_middle = twice_rank - (len(places) - 1)
    shuffled = np.random.default_rng(_SEED_OF_TIES).permutation(len(places))
    surest = shuffled[np.argsort(-np.abs(from_middle[shuffled]), kind="stable")]
    return Guesses(order=places[surest], said_in=from_middle[surest] > 0)


def right_by_sureness(scores: npt.ArrayLike, bits: npt.ArrayLike) -> Labels:
    """Which guesses are right, the surest first.

    >>> right_by_sureness([0.1, 3.0, 0.3], [False, True, True]).tolist()
    [True, True, False]
    """
    values = checked_scores(scores)
    return guess(values).right(checked_bits(bits, len(values)))


def checked_scores(scores: npt.ArrayLike) -> Floats:
    """The scores as one row of floats; infinities and NaN may be among them."""
    values = np.asarray(scores)
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "fiub":
        raise InvalidSamples(
            f"scores must be one row of numbers, one for each canary, got an array of shape"
            f" {values.shape} and type {values.dtype}. Larger must mean more likely in."
        )
    return values.astype(np.float64)


def checked_bits(bits: npt.ArrayLike, canaries: int) -> Labels:
    """The bits as one row of booleans, one for each canary."""
    values = np.asarray(bits)
    if values.dtype != np.bool_ or values.shape != (canaries,):
        raise InvalidSamples(
            f"bits must be {canaries} booleans, one for each score, got an array of shape"
            f" {values.shape} and type {values.dtype}. True means that the canary was in."
        )
    return values
