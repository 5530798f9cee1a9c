"""The number of right guesses against a binomial tail, with what delta may add to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpaudit.architecture import Claim
from dpaudit.claims import point_of
from dpaudit.errors import UnsupportedClaim
from dpaudit.results import Finding
from dpaudit.training.counted_guesses import count_finding

_SLACK = 1e-9  # relative: more than the errors of the binomial tails


@dataclass(frozen=True, slots=True)
class RightGuesses:
    """Refutes `(epsilon, delta)` by the tail of Steinke, Nasr and Jagielski (2023)."""

    name: str = "right guesses"
    source: str = "Steinke, Nasr and Jagielski 2023"

    def refutes(
        self, claim: Claim, *, canaries: int, guesses: int, right: int, alpha: float
    ) -> bool:
        """Whether so many right guesses refute the claim with error at most alpha."""
        if right > guesses:
            return False
        epsilon, delta = _point(claim)
        tail = tail_bound(epsilon, delta, canaries=canaries, guesses=guesses, right=right)
        return tail <= alpha


def tail_bound(epsilon: float, delta: float, *, canaries: int, guesses: int, right: int) -> float:
    """The most probability of `right` right guesses or more under `(epsilon, delta)`.

    `P(B >= v) + 2 m delta max_i P(v - i <= B < v) / i` with `B` binomial, of as many trials as
    guesses and chance `e^epsilon / (1 + e^epsilon)`, and `m` the number of canaries (Steinke, Nasr
    and Jagielski 2023, theorem 5.2).

    >>> print(round(tail_bound(0.0, 0.0, canaries=10, guesses=10, right=8), 4))
    0.0547
    """
    from scipy.special import expit
    from scipy.stats import binom

    chance = float(expit(epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if delta > 0.0 and right > 0:
        below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, chance))
        tail += 2.0 * canaries * delta * float((below / np.arange(1, right + 1)).max())
    return min(1.0, tail * (1.0 + _SLACK))


def right_guesses(
    scores: npt.ArrayLike, bits: npt.ArrayLike, claim: Claim, alpha: float = 0.05
) -> Finding:
    """What the number of right guesses says of an `(epsilon, delta)` claim after one run.

    >>> import numpy as np
    >>> from dpaudit.claims import ApproxDP
    >>> rng = np.random.default_rng(1)
    >>> bits = rng.random(1000) < 0.5
    >>> finding = right_guesses(rng.normal(size=1000) + 2.0 * bits, bits, ApproxDP(1.0, 1e-5))
    >>> finding.refuted
    True
    """
    _point(claim)
    return count_finding(RightGuesses(), scores, bits, claim, alpha)


def _point(claim: Claim) -> tuple[float, float]:
    if point := point_of(claim):
        return point
    raise UnsupportedClaim(
        f"a count of right guesses says nothing about {claim}. Use error_recursion, or the"
        " (epsilon, delta) that the claim implies."
    )
