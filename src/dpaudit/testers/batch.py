"""Batch testers: all samples at once, one direction, one divergence.

A batch tester is any object with the two methods of `BatchTester`. The testers of this room have
two more (`Examiner`), so that an audit can also state a bound in the claim's own parameter and
refuse settings under which the test could never fire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dpaudit.bounds import round_down, round_up
from dpaudit.claims import Claim
from dpaudit.errors import Underpowered
from dpaudit.guessing import Samples


@runtime_checkable
class BatchTester(Protocol):
    """A test of one divergence between two samples, in one direction.

    The claim is refuted where `lower_bound` exceeds `threshold`.
    """

    __slots__ = ()

    def lower_bound(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> float:
        """A bound that exceeds the divergence with probability at most `alpha`; -inf if none."""

    def threshold(self, claim: Claim) -> float:
        """The largest divergence that the claim allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a test certified, in the tester's divergence and in the claim's own parameter.

    Each is too high with probability at most `alpha`, and so is the verdict together with
    `strength_lower`, which is None for a claim without a parameter.
    """

    lower_bound: float
    strength_lower: float | None


@runtime_checkable
class Examiner(BatchTester, Protocol):
    """A batch tester that also bounds the claim's own parameter, and knows how far it can reach.

    The testers of this room are made of it: what they examine is also their lower bound.
    """

    __slots__ = ()

    def lower_bound(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> float:
        return self.examine(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng).lower_bound

    def examine(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> Finding:
        """Test the outputs against the neighbour's, in this direction."""

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What so many draws would certify if the two sides could be told apart at a glance."""


def refuse_if_powerless(
    tester: Examiner, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float
) -> None:
    """Raise `Underpowered` where even sides that differ at a glance would not refute the claim."""
    best = tester.best(claim, draws, neighbour_draws, alpha=alpha)
    if best.lower_bound > tester.threshold(claim):
        return
    reach = ""
    if best.strength_lower is not None:
        symbol = getattr(claim, "symbol", "strength")
        most = round_down(max(best.strength_lower, 0.0), 3)
        reach = f" The most it could certify so is {symbol} >= {most:.3g}."
    raise Underpowered(
        f"{tester} can never refute {claim} with {draws} and {neighbour_draws} samples at "
        f"alpha = {round_up(alpha, 3):.3g} in one direction, whatever the outputs.{reach} Give "
        "more samples, a larger alpha, or another tester."
    )
