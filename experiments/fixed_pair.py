"""One tester on one pair of datasets, until its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from table2 import ALPHA, TESTERS
from verdicts import Ended, ended

from dpaudit import BettingTester
from dpaudit.claims import Claim
from dpaudit.neighbours import Pair
from dpaudit.search import as_finder
from dpaudit.testers import Trials


def look(
    mechanism: Callable[..., object],
    claim: Claim,
    pair: Pair | tuple[Sequence[float], Sequence[float]],
    tester: str,
    *,
    draws: int,
    entropy: int,
) -> Ended:
    """Test a claim with `draws` draws of either side; bets end when it is refuted.

    >>> tell = lambda data, size, rng: rng.normal(loc=9.0 * len(data), size=size)
    >>> from dpaudit import PureDP
    >>> for name in ("betting", "hockey-stick"):
    ...     found = look(tell, PureDP(1.0), ([1.0], []), name, draws=500, entropy=1)
    ...     print(found.refuted, found.draws < 1_000)
    True True
    True False
    """
    batch, _ = TESTERS[tester]
    chosen: Any = BettingTester() if batch is None else Trials(batch, count=1)
    finder = as_finder([pair], "auto", np.random.default_rng(0))
    return ended(mechanism, claim, finder, chosen, alpha=ALPHA, samples=2 * draws, entropy=entropy)
