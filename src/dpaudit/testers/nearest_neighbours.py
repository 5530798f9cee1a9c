"""A nearest-neighbour auditor: the errors of a classifier, in a box below the trade-off curve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.claims import Claim
from dpaudit.guessing import Guesser, LabelledRows, Share, learn
from dpaudit.testers.event_bound import Curve, allowed, curve_finding, exp
from dpaudit.testers.event_choice import ranked, strongest
from dpaudit.testers.tester import Finding, HeldOutTester, Method, Parts, Rng

_PILOT_SHARE = 0.5  # of the training outputs, by which the others are judged to find the level
_NEIGHBOURS_PER_ROOT = 10  # neighbours asked, in square roots of the training outputs
_DISTANCES_AT_ONCE = 4e6


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestNeighbours(HeldOutTester):
    """Classify outputs by their nearest neighbours, and compare its errors with what is allowed.

    The data are guessed where at least a certain share of the nearest training outputs is theirs.
    Both error rates are counted on fresh outputs. The box around them has the half-width
    `sqrt(log(4/alpha) / 2n)` of Hoeffding; where it lies below the claim's trade-off curve, the
    claim is refuted. Every claim with a profile is tested.

    - `neighbours`: how many are asked; by default ten square roots of the number of training
      outputs, as in the authors' code, and at most half of them.

    Coordinates are compared as they are, by Euclid's distance; a word is a coordinate of 0 or 1.
    Half of the outputs learn, at most 10 000 a side. Where this differs from the authors' code:

    - They drop a part of one side's training outputs and ask for a majority. Asking all of them for
      another share gives the same classifier in the limit, and works at shares near 0 and 1, too.
    - The share comes from a trial of this classifier within the training outputs, not from kernel
      densities, because outputs need not be vectors of numbers.
    - The box makes no allowance for the distance between this classifier and the best, which a
      refutation does not need.

    Source: Askin, Dette, Dunsche, Kutta, Lu, Wei and Zikas 2025, "General-purpose f-DP estimation
    and auditing in a black-box setting" (BayBox); Lu et al. 2024, "Eureka: a general framework for
    black-box differential privacy estimators".

    >>> from dpaudit.claims import GaussianDP
    >>> rng = np.random.default_rng(0)
    >>> ones, zeros = 1.0 + rng.normal(size=5_000), rng.normal(size=5_000)
    >>> finding = NearestNeighbours().examine(ones, zeros, GaussianDP(0.5), alpha=0.05, rng=rng)
    >>> finding.lower_bound > 0.0, 0.5 < finding.strength_lower < 1.0
    (True, True)
    """

    neighbours: int | None = None
    method: ClassVar[Method] = Method(
        source="Askin et al. 2025, BayBox; Lu et al. 2024, Eureka", guarantee="exact"
    )
    _share = Share(training=0.5, most=10_000)

    def __post_init__(self) -> None:
        wanted = self.neighbours
        whole = isinstance(wanted, int) and not isinstance(wanted, bool)
        if wanted is not None and not (whole and wanted >= 1):
            raise ValueError(f"neighbours must be a whole number >= 1, got {wanted!r}.")

    def threshold(self, claim: Claim) -> float:
        """The claim's delta; 0 for a profile, of which the excess is bounded."""
        return allowed(claim)

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        learned, held_out = parts
        draws, neighbour_draws = map(len, held_out.sides)
        widths = half_width(draws, alpha), half_width(neighbour_draws, alpha)
        level = self._level(learned, claim, widths, rng)
        guesses = self._learned(learned, rng).log_odds(held_out.table) > level
        hits, neighbour_hits = (
            int(np.count_nonzero(guesses & side)) for side in (held_out.labels, ~held_out.labels)
        )
        box = error_box(hits / draws, neighbour_hits / neighbour_draws, widths)
        return curve_finding(claim, box)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What is certified if no guess is wrong."""
        n, m = self._share.held_out(draws), self._share.held_out(neighbour_draws)
        return curve_finding(
            claim, error_box(1.0, 0.0, (half_width(n, alpha), half_width(m, alpha)))
        )

    def _level(
        self, learned: LabelledRows, claim: Claim, widths: tuple[float, float], rng: Rng
    ) -> float:
        """The log-odds from which to guess the data, by a trial within the training outputs.

        It is that at which the box is expected to refute the most.
        """
        first, rest = learned.parted(_PILOT_SHARE)
        seen = rest.labels.astype(np.float64)
        events = ranked(self._learned(first, rng).log_odds(rest.table), seen, 1.0 - seen)
        p = np.maximum(events.hits / events.hits[-1] - widths[0], 0.0)
        q = np.minimum(events.neighbour_hits / events.neighbour_hits[-1] + widths[1], 1.0)

        def expected(epsilon: float) -> Floats:
            return np.asarray(np.maximum(p - exp(epsilon) * q, 1.0 - q - exp(epsilon) * (1.0 - p)))

        return float(events.thresholds[strongest(claim, expected)[1]])

    def _learned(self, rows: LabelledRows, rng: Rng) -> Guesser:
        return learn(NeighbourVotes(self.neighbours), rows, device=None, rng=rng)


def half_width(draws: int, alpha: float) -> float:
    """By how much an error rate may be off: `sqrt(log(4/alpha) / 2n)`.

    >>> print(round(half_width(1000, 0.05), 4))
    0.0468
    """
    return math.sqrt(math.log(4.0 / alpha) / (2.0 * max(draws, 1)))


def error_box(hit_rate: float, neighbour_rate: float, widths: tuple[float, float]) -> Curve:
    """The corner of the box around both error rates that lies nearest to the trade-off curve.

    It bounds the event "guessed to be the data's" and the opposite event, since a claim holds in
    both directions: together they say all that the corner says of a trade-off curve.

    >>> error_box(0.75, 0.25, (0.125, 0.125)).events
    ((0.625, 0.375), (0.625, 0.375))
    """
    p, q = max(hit_rate - widths[0], 0.0), min(neighbour_rate + widths[1], 1.0)
    return Curve(events=((p, q), (1.0 - q, 1.0 - p)))


class NeighbourVotes:
    """The share of the data's outputs among the nearest neighbours, for scikit-learn's methods.

    >>> votes = NeighbourVotes(3)
    >>> votes.fit(np.arange(10.0)[:, None], np.arange(10) // 5)
    >>> votes.predict_proba(np.array([[4.6], [40.0]]))[:, 1].round(2).tolist()
    [0.67, 1.0]
    """

    def __init__(self, neighbours: int | None) -> None:
        self._wanted = neighbours

    def fit(self, rows: Floats, labels: npt.NDArray[np.int64]) -> None:
        """Remember the rows; in one dimension in their order."""
        size = len(rows)
        wanted = self._wanted
        if wanted is None:
            wanted = min(_NEIGHBOURS_PER_ROOT * math.ceil(math.sqrt(size)), size // 2)
        odd = wanted + 1 - wanted % 2  # a vote without ties
        self._asked = min(max(odd, 1), size - 1 + size % 2)
        if rows.shape[1] == 1:
            order = np.argsort(rows[:, 0], kind="stable")
            ordered = rows[order, 0]
            self._middles = ordered[: size - self._asked] / 2.0 + ordered[self._asked :] / 2.0
            self._sums = np.concatenate([[0], np.cumsum(labels[order])])
            return
        self._rows, self._labels = rows, labels

    def predict_proba(self, rows: Floats) -> npt.NDArray[Any]:
        """The shares of both sides among the nearest neighbours of each row."""
        if rows.shape[1] == 1:
            # The nearest are a run in order; it starts behind all whose end is nearer than itself.
            start = np.searchsorted(self._middles, rows[:, 0], side="right")
            votes = self._sums[start + self._asked] - self._sums[start]
        else:
            distinct, index = np.unique(rows, axis=0, return_inverse=True)
            votes = np.concatenate([np.empty(0), *self._votes(distinct)])[index.reshape(-1)]
        data = votes / self._asked
        return np.column_stack([1.0 - data, data])

    def _votes(self, rows: Floats) -> Iterator[Floats]:
        from scipy.spatial.distance import cdist

        size = max(int(_DISTANCES_AT_ONCE / len(self._rows)), 1)
        for start in range(0, len(rows), size):
            distances = cdist(rows[start : start + size], self._rows, "sqeuclidean")
            near = np.argpartition(distances, self._asked - 1, axis=1)[:, : self._asked]
            yield self._labels[near].sum(axis=1).astype(np.float64)
