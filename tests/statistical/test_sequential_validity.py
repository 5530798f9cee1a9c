"""Exact sequential testers accuse mechanisms exactly on their claim with probability at most alpha.

Null: every run accuses with probability at most alpha = 0.1, independently; of 100 runs more than
28 then do so with probability below 1e-7. Alternative: a tester that accuses with probability 0.4
is caught with probability 0.99. The last test shows that a tester which allows too little
is caught. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
from counts import most_accusations, power

from dpaudit.claims import Claim, PureDP
from dpaudit.testers import SequentialMMD

RUNS, ALPHA, PAIRS = 100, 0.1, 300
CLAIM = PureDP(1.0)


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 28
    assert power(RUNS, ALPHA, 0.4) >= 0.99


def accusations(claim: Claim) -> int:
    """Randomized response with words for bits, exactly `CLAIM`.

    Words are as unlike as outputs can be, so its MMD is `sqrt(2)` times the total variation, just
    what the claim allows: the payoffs of the best witness have mean 0.
    """
    chance = np.exp(1.0) / (1.0 + np.exp(1.0))
    count = 0
    for run in range(RUNS):
        rng = np.random.default_rng([3, run])
        x, y = (
            ["yes" if bit else "no" for bit in rng.random(PAIRS) < p] for p in (chance, 1 - chance)
        )
        count += SequentialMMD().pairs_until_accused(x, y, claim, alpha=ALPHA, rng=rng) is not None
    return count


def test_randomized_response_of_words_is_rarely_accused() -> None:
    assert accusations(CLAIM) <= most_accusations(RUNS, ALPHA)


def test_a_tester_that_allows_too_little_would_be_caught() -> None:
    """It accuses all runs if it allows what a tenth of the epsilon does."""
    assert accusations(PureDP(0.1)) > most_accusations(RUNS, ALPHA)
