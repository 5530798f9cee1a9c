"""The MMD tester accuses mechanisms exactly on their claim with probability at most alpha.

Null: every run refutes with probability at most alpha = 0.1, independently. Of 100 runs more than
28 then do so with probability below 1e-7, for each of nine tests. Alternative: a tester that
refutes with probability 0.4 is caught with probability 0.99. The last test shows that a tester
which takes the estimate for the bound is caught. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counts import most_accusations, power

from dpaudit.claims import ApproxDP, Claim, GaussianDP, PureDP
from dpaudit.testers import MMDTester
from dpaudit.testing import TightPair, tight_pairs

RUNS, ALPHA, DRAWS = 100, 0.1, 600


def test_the_stated_power() -> None:
    assert most_accusations(RUNS, ALPHA) == 28
    assert power(RUNS, ALPHA, 0.4) >= 0.99


def refuted(
    tester: MMDTester, claim: Claim, draw: Callable[[int], tuple[Any, Any]], runs: int = RUNS
) -> int:
    """How many of the runs refute the claim."""
    count = 0
    for run in range(runs):
        outputs, neighbour_outputs = draw(run)
        generator = np.random.default_rng([1, run])
        bound = tester.lower_bound(outputs, neighbour_outputs, claim, alpha=ALPHA, rng=generator)
        count += bound > tester.threshold(claim)
    return count


def drawn_from(pair: TightPair) -> Callable[[int], tuple[Any, Any]]:
    def draw(run: int) -> tuple[Any, Any]:
        generator = np.random.default_rng([0, run])
        return pair.data(DRAWS, generator), pair.neighbour(DRAWS - 100, generator)

    return draw


@pytest.mark.parametrize(
    ("tester", "claim", "place"),
    [
        (MMDTester(), PureDP(0.01), 0),
        (MMDTester(), PureDP(0.1), 0),
        (MMDTester(), PureDP(1.0), 0),
        (MMDTester(), PureDP(0.01), 1),
        (MMDTester(), PureDP(0.1), 1),
        (MMDTester(), PureDP(1.0), 1),
        (MMDTester(kernel="laplacian", estimator="linear"), ApproxDP(1.0, 0.2), 0),
        (MMDTester(), GaussianDP(1.0), 0),
    ],
    ids=[
        *("bits-0.01", "bits-0.1", "bits-1", "laplace-0.01", "laplace-0.1", "laplace-1"),
        *("four-points", "gaussian"),
    ],
)
def test_a_mechanism_on_its_claim_is_rarely_refuted(
    tester: MMDTester, claim: Claim, place: int
) -> None:
    pair = tight_pairs(claim, draws=DRAWS)[place]
    assert refuted(tester, claim, drawn_from(pair)) <= most_accusations(RUNS, ALPHA)


def test_randomized_response_in_one_of_three_columns_of_words_is_rarely_refuted() -> None:
    """Choosing the column, the bandwidth and the blocks costs nothing: others are bounded."""
    (pair, *_) = tight_pairs(PureDP(1.0), draws=DRAWS)

    def draw(run: int) -> tuple[Any, Any]:
        generator = np.random.default_rng([0, run])

        def rows(bits: Any) -> list[tuple[float, str, int]]:
            noise = generator.normal(size=len(bits))
            return [(x, "no" if bit else "yes", 3) for x, bit in zip(noise, bits, strict=True)]

        return rows(pair.data(DRAWS, generator)), rows(pair.neighbour(DRAWS, generator))

    assert refuted(MMDTester(), PureDP(1.0), draw) <= most_accusations(RUNS, ALPHA)


def test_the_estimate_without_a_bound_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimate accuses about half of the time: of 200 runs more than 45 with certainty."""

    def estimate(values: Any, alpha: float, **settings: Any) -> float:
        return float(np.mean(values))

    monkeypatch.setattr("dpaudit.testers.mmd.mean_lower", estimate)
    (pair, *_) = tight_pairs(PureDP(1.0), draws=DRAWS)
    count = refuted(MMDTester(bandwidth=0.1), PureDP(1.0), drawn_from(pair), runs=200)
    assert count > most_accusations(200, ALPHA)
