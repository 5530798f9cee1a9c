"""From a refuting pair to the plainest one that still refutes, certified on fresh samples.

A candidate is kept if an event, chosen on some of its draws, breaks the claim on others. That only
steers the search: what is shown in the end is certified anew, on draws that had no say in anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.auditing.arguments import check_arguments, check_budget, check_floats, entropy_of
from dpaudit.auditing.budget import FITTING_SECONDS, Budget
from dpaudit.auditing.certify import FOR_CHOOSING, Suspect, certify, certify_on_draws, suspect
from dpaudit.auditing.rounds import Rounds
from dpaudit.auditing.shrink_steps import plainer
from dpaudit.claims import Claim, most_likely
from dpaudit.domains import shown
from dpaudit.events import plainest_event
from dpaudit.mechanism import Mechanism, OnError, with_errors
from dpaudit.neighbours import Pair, Structured, fitted
from dpaudit.outputs import Encoder, FloatView, Outputs
from dpaudit.results import Counterexample

_LOOKS = (300, 1_500, 7_500)  # draws of either side; more only where fewer leave it open
_ALPHA = 1e-3  # of one look: whether a candidate is kept, not whether it is shown
_LEAST = 8_000  # draws that are worth beginning with
_MOST, _MOST_CERTIFYING = 120_000, 40_000  # draws in all, and of these for the certificate
_TIME = 0.85  # of the seconds, for the search; the rest is for the certificate


def shrink(
    mechanism: Callable[..., object] | Mechanism,
    claim: Claim,
    pair: Pair | tuple[Any, Any],
    neighbours: Structured,
    *,
    alpha: float = 1e-6,
    samples: int | None = None,
    seconds: float | None = None,
    rng: np.random.Generator | int | None = None,
    floats: FloatView = "real",
    on_error: OnError = "output",
) -> Counterexample | None:
    """The plainest pair found that still breaks a claim, with an event certified on fresh samples.

    Starting from a pair that breaks it: fewer records, equal records, zeros, edges and round
    numbers, as long as an event still breaks the claim. None if no event does in the end, not even
    on the pair given. The bounds of the event hold with probability at least `1 - alpha`. With
    `floats="bits"` an event may be about how floats are rounded. `on_error` is that of
    `dpaudit.audit`.

    >>> import numpy as np, dpaudit
    >>> def clipped_sum(data, size, rng):
    ...     return np.clip(data, -1, 1).sum() + rng.laplace(size=size)
    >>> found = dpaudit.shrink(
    ...     clipped_sum,
    ...     dpaudit.PureDP(1.0),
    ...     ([0.3, 0.93, -0.2], [0.3, -0.88, -0.2]),
    ...     dpaudit.replace_one(dpaudit.floats(-1, 1)),
    ...     rng=7,
    ... )
    >>> print(found.pair)
    data=[1.0], neighbour=[-1.0]
    """
    check_arguments(claim, alpha, None)
    check_budget(samples, seconds)
    check_floats(floats)
    start = pair if isinstance(pair, Pair) else Pair(*pair)
    if not isinstance(neighbours, Structured):
        raise TypeError(
            f"shrink needs a relation such as replace_one(floats(0, 1)), got {shown(neighbours)}."
        )
    found = fitted(neighbours, start, what="the pair to shrink")
    shrinker = Shrinker(
        with_errors(mechanism, on_error),
        claim,
        neighbours,
        alpha=float(alpha),
        budget=Budget(_MOST if samples is None else int(samples), seconds),
        entropy=entropy_of(rng),
        floats=floats,
    )
    return shrinker.certify(shrinker.plainest(found))


def simplest(
    found: Counterexample,
    mechanism: Mechanism,
    claim: Claim,
    neighbours: Any,
    *,
    budget: Budget,
    entropy: int,
    floats: FloatView = "real",
) -> Counterexample | None:
    """A plainer counterexample than the one found; None if there is none, or no budget for it."""
    if not isinstance(neighbours, Structured):
        return None
    shrinker = Shrinker(
        mechanism,
        claim,
        neighbours,
        alpha=found.alpha,
        budget=budget,
        entropy=entropy,
        floats=floats,
    )
    pair = shrinker.plainest(found.pair)
    return None if pair is found.pair else shrinker.certify(pair)


class Shrinker:
    """Makes a refuting pair plainer, with what is left of a budget."""

    def __init__(
        self,
        mechanism: Mechanism,
        claim: Claim,
        relation: Structured,
        *,
        alpha: float,
        budget: Budget,
        entropy: int,
        floats: FloatView,
    ) -> None:
        self._mechanism = mechanism
        self._claim = claim
        self._relation = relation
        self._alpha = alpha
        self._budget = budget
        self._entropy = entropy
        self._floats = floats
        left = max(budget.affordable(), 0)
        self._certifying = min(left // 3, _MOST_CERTIFYING)
        self._end = budget.spent + min(left, _MOST) - self._certifying
        self._enough = left >= _LEAST
        self._looks = 0

    def plainest(self, pair: Pair) -> Pair:
        """Take the first plainer pair that still refutes, and again, until none does."""
        if not self._enough:
            return pair
        rejected: set[str] = set()
        while True:
            for candidate in plainer(self._relation, pair):
                key = candidate.key()
                if key in rejected:
                    continue
                if self._budget.spent >= self._end or self._budget.timely(1, of=key, by=_TIME) == 0:
                    return pair
                if self._refutes(candidate):
                    pair = candidate
                    break
                rejected.add(key)
            else:
                return pair

    def certify(self, pair: Pair) -> Counterexample | None:
        """An event that breaks the claim on a pair, on fresh samples; None if there is none."""
        choosing = int(self._certifying * FOR_CHOOSING) // 2
        seen = self._draw(pair, choosing)
        if min(map(len, seen)) == 0:
            return None
        found = certify_on_draws(
            self._suspect(pair, seen),
            self._mechanism,
            draws=self._certifying // 2 - choosing,
            alpha=self._alpha,
            budget=self._budget,
            seed=(self._entropy, 7),
            choose=plainest_event,
        )
        return found if found is not None and found.breaks(self._claim) else None

    def _refutes(self, pair: Pair) -> bool:
        """Whether an event breaks the claim on this pair, as far as a few draws can tell."""
        for size in _LOOKS:
            if self._budget.spent + 2 * size > self._end:
                return False
            chosen, held_out = self._draw(pair, size // 2), self._draw(pair, size - size // 2)
            if min(map(len, (*chosen, *held_out))) == 0:
                return False
            seen = self._suspect(pair, chosen)
            found = certify(
                replace(seen, sample=seen.sample.thinned(self._budget.steps(FITTING_SECONDS))),
                enumerate(held_out),
                draws=size,
                alpha=_ALPHA,
                seed=(),
            )
            assert found is not None
            if found.breaks(self._claim):
                return True
            if found.likely.rate <= most_likely(self._claim.delta, found.unlikely.rate):
                return False
        return False

    def _suspect(self, pair: Pair, seen: tuple[Outputs, Outputs]) -> Suspect:
        return suspect(pair, self._claim, seen, self._rng(), encoder=Encoder(floats=self._floats))

    def _draw(self, pair: Pair, size: int) -> tuple[Outputs, Outputs]:
        fresh = Rounds(
            mechanism=self._mechanism,
            pair=pair,
            draws=size,
            budget=self._budget,
            seed=(self._entropy, 6, self._looks),
            at_least=1,
            by=_TIME,
        )
        self._looks += 1
        return fresh.joined()

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(
            np.random.SeedSequence(self._entropy, spawn_key=(8, self._looks))
        )
