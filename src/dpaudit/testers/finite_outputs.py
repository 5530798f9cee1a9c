"""Finite outputs: the probability of every output on both sides, and the share of broken pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpaudit.architecture import Relation
from dpaudit.bounds import proportion_lower, proportion_upper
from dpaudit.claims import Claim
from dpaudit.guessing import Share
from dpaudit.mechanism import as_mechanism
from dpaudit.testers.event_bound import allowed, curve_finding, exact, of_cells
from dpaudit.testers.histogram import Partition, whole
from dpaudit.testers.tester import Finding, HeldOutTester, Method, Parts, Rng

_PAIR_ALPHA = 0.01  # the chance that a pair which keeps the claim is counted as broken


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteOutputs(HeldOutTester):
    """Bound the probability of every output, for mechanisms with few different outputs.

    A fifth of the outputs shows which ones there are; those that hardly repeat share one cell. On
    the others the probabilities of all cells are bounded as by Clopper and Pearson, at once, and
    the claim is compared with the sum of `max(0, P(output) - e^epsilon Q(output))` at every
    epsilon. Outputs that never repeat show nothing.

    `share_broken` bounds the share of random pairs of datasets that break the claim.

    Source: Dixit, Jha, Raskhodnikova and Thakurta 2013, "Testing the Lipschitz property over
    product distributions with applications to data privacy". Their own test of the Lipschitz
    property, with its number of queries, is left out: here probabilities are counted, and pairs
    drawn one by one.

    >>> from dpaudit.claims import PureDP
    >>> rng = np.random.default_rng(0)
    >>> yes, no = ["yes"] * 900 + ["no"] * 100, ["yes"] * 100 + ["no"] * 900
    >>> found = FiniteOutputs().examine(yes, no, PureDP(1.0), alpha=0.05, rng=rng)
    >>> found.lower_bound > 0.0, 1.0 < found.strength_lower < 2.2  # log(9) = 2.197
    (True, True)
    """

    method: ClassVar[Method] = Method(
        source="Dixit, Jha, Raskhodnikova and Thakurta 2013", guarantee="exact"
    )
    _share = Share(training=0.2, most=20_000)

    def threshold(self, claim: Claim) -> float:
        """The claim's delta; 0 for a profile, of which the excess is bounded."""
        return allowed(claim)

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        learned, held_out = parts
        cells = Partition(learned.table, whole)
        hits, neighbour_hits = cells.counts(held_out)
        share = alpha / (2 * cells.count)
        lower = proportion_lower(hits, int(hits.sum()), share)
        upper = proportion_upper(neighbour_hits, int(neighbour_hits.sum()), share)
        return curve_finding(claim, of_cells(lower, upper))

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What is certified if one output is all of one side and never comes on the other."""
        n, m = self._share.held_out(draws), self._share.held_out(neighbour_draws)
        return curve_finding(claim, exact(np.array([n]), n, np.array([0]), m, alpha=alpha))

    def share_broken(
        self,
        mechanism: Callable[..., Any],
        claim: Claim,
        neighbours: Relation,
        *,
        pairs: int,
        draws: int,
        alpha: float,
        rng: np.random.Generator | int | None = None,
    ) -> float:
        """At least this share of the relation's random pairs breaks the claim.

        It is too high with probability at most `alpha`. Each pair is tested with `draws` outputs a
        side; one that keeps the claim is counted as broken with a chance of 0.01 at most, which is
        taken off.

        >>> import dpaudit
        >>> def tells(data, size, rng):  # whether there is a record above 1/2
        ...     return (rng.random(size) < (0.9 if sum(data) > 0.5 else 0.5)).astype(float)
        >>> neighbours = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=1)
        >>> share = FiniteOutputs().share_broken(
        ...     tells, dpaudit.PureDP(0.3), neighbours, pairs=50, draws=400, alpha=0.05, rng=0
        ... )
        >>> 0.2 < share < 0.6
        True
        """
        generator = np.random.default_rng(rng)
        draw = as_mechanism(mechanism).draw
        broken = 0
        for _ in range(pairs):
            pair = neighbours.random_pair(generator)
            data, neighbour = (draw(each, draws, generator) for each in (pair.data, pair.neighbour))
            found = max(
                self.lower_bound(one, other, claim, alpha=_PAIR_ALPHA / 2, rng=generator)
                for one, other in ((data, neighbour), (neighbour, data))
            )
            broken += found > self.threshold(claim)
        seen = proportion_lower(broken, pairs, alpha)
        return max(0.0, (seen - _PAIR_ALPHA) / (1.0 - _PAIR_ALPHA))
