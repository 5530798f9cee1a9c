"""The error recursion: how many guesses can be right under a whole trade-off curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from dpaudit.architecture import Claim
from dpaudit.results import Finding
from dpaudit.training.counted_guesses import count_finding
from dpaudit.training.trade_off import least_wrong

_SLACK = 1e-9  # relative: more than all rounding errors of a recursion together
# A recursion that has not refuted within some thirty deviations of the count ends as not refuting.
_DEVIATIONS = 30.0
_LEAST_STEPS = 200


@dataclass(frozen=True, slots=True)
class ErrorRecursion:
    """Refutes by the recursion of Mahloujifar, Melis and Chaudhuri (2024), for any profile."""

    name: str = "error recursion"
    source: str = "Mahloujifar, Melis and Chaudhuri 2024"

    def refutes(
        self, claim: Claim, *, canaries: int, guesses: int, right: int, alpha: float
    ) -> bool:
        """Whether so many right guesses refute the claim with error at most alpha."""
        if right > guesses:
            return False
        return impossible(
            least_wrong(claim), canaries=canaries, guesses=guesses, right=right, chance=alpha
        )


def impossible(
    curve: Callable[[float], float],
    *,
    canaries: int,
    guesses: int,
    right: int,
    chance: float,
) -> bool:
    """Whether no mechanism on this curve has `right` right guesses or more with this chance.

    Let `R` be the number of right guesses and take a canary at random. `likely` is the least
    probability that it is guessed right and `R >= i`, `unlikely` that it is guessed wrong and
    `R >= i - 1` after exchanging its bit; both go down from `i = right` to 0. The curve forces a
    share of wrong guesses on every level, and all shares together are at most `guesses / canaries`
    (section 11 of docs/mathematics.md; Mahloujifar, Melis and Chaudhuri 2024, algorithm 3).

    >>> from dpaudit.claims import PureDP
    >>> curve = least_wrong(PureDP(0.0))  # fair coins: 8 or more of 10 with probability .0547
    >>> [impossible(curve, canaries=10, guesses=10, right=8, chance=p) for p in (0.05, 0.06)]
    [False, True]
    """
    likely, unlikely = chance * right / canaries, chance * (guesses - right) / canaries
    most = guesses / canaries * (1.0 + _SLACK)
    steps = _LEAST_STEPS + math.ceil(_DEVIATIONS * math.sqrt(guesses))
    for i in range(right - 1, max(-1, right - 1 - steps), -1):
        raised = max(unlikely, curve(likely))
        likely = min(1.0, likely + i / (guesses - i) * (raised - unlikely))
        unlikely = raised
        if likely + unlikely > most:
            return True
    return False


def error_recursion(
    scores: npt.ArrayLike, bits: npt.ArrayLike, claim: Claim, alpha: float = 0.05
) -> Finding:
    """What the recursion says of a claim after one run, whatever the canaries do to each other.

    For a Gaussian claim the bound is on mu: written as an epsilon it holds only if the curve is
    Gaussian. For `(epsilon, delta)` it is an epsilon at the claim's delta. zCDP and Rényi claims
    are tested by the profile that they imply.

    >>> import numpy as np
    >>> from dpaudit.claims import GaussianDP
    >>> rng = np.random.default_rng(1)
    >>> bits = rng.random(1000) < 0.5
    >>> finding = error_recursion(rng.normal(size=1000) + 2.0 * bits, bits, GaussianDP(1.0))
    >>> finding.refuted, finding.guesses
    (True, 128)
    """
    return count_finding(ErrorRecursion(), scores, bits, claim, alpha)
