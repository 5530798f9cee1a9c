"""What an audit finds, and within how many draws.

Power, not validity: a failure means that a change made the bets weaker. The seeds are fixed, and
`samples` counts all draws, also those kept for certifying. Each docstring says for how many of 20
or 40 other seeds the same assertion held when its number of draws was chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import GaussianDP, PureDP, Verdict
from dpaudit.neighbours import pairs
from dpaudit.zoo import SVT1, SVT3, SVT4, SVT5, SVT6, LaplaceCount, RandomizedResponse

ANSWERS = pairs([([1] * 5 + [0] * 5, [0] * 5 + [1] * 5)])
ONE_RECORD = pairs([([1.0], [])])


@pytest.mark.parametrize("mechanism", [SVT3(1.0), SVT4(1.0), SVT5(1.0), SVT6(1.0)], ids=str)
def test_broken_sparse_vectors_are_refuted(mechanism: Any) -> None:
    """SVT3: 40 of 40 seeds. The others: 20 of 20, also with half of the draws."""
    audit = dpaudit.audit(mechanism, PureDP(1.0), ANSWERS, rng=1, samples=100_000)
    assert audit.verdict is Verdict.REFUTED


def test_a_rare_certain_leak_is_refuted() -> None:
    """20 of 20 seeds."""
    audit = dpaudit.audit(SVT5(0.01), PureDP(0.01), ANSWERS, rng=1, samples=100_000)
    assert audit.verdict is Verdict.REFUTED
    assert audit.epsilon_lower is not None
    assert audit.epsilon_lower >= 0.01


def test_the_correct_sparse_vector_is_not_refuted() -> None:
    """Null: it is refuted with probability at most 1e-6. The four broken ones above all are."""
    audit = dpaudit.audit(SVT1(1.0), PureDP(1.0), ANSWERS, rng=1, samples=1_000_000)
    assert audit.verdict is Verdict.NOT_REFUTED


def test_the_bound_on_a_correct_laplace_mechanism_is_sharp() -> None:
    """40 of 40 seeds; the bound may exceed 1 for one seed in twenty, by alpha."""
    audit = dpaudit.audit(
        LaplaceCount(1.0), PureDP(1.0), ONE_RECORD, alpha=0.05, rng=1, samples=200_000
    )
    assert audit.verdict is Verdict.NOT_REFUTED  # a false accusation would give the bound too
    assert audit.epsilon_lower is not None
    assert 0.95 <= audit.epsilon_lower <= 1.0


def test_the_bound_on_randomized_response_is_sharp() -> None:
    """At least 2.9 for 20 of 20 seeds, above 3 for one of them: alpha allows one in twenty."""
    bits = pairs([([0], [1])])
    audit = dpaudit.audit(
        RandomizedResponse(3.0), PureDP(3.0), bits, alpha=0.05, rng=2, samples=200_000
    )
    assert audit.verdict is Verdict.NOT_REFUTED  # a false accusation would give the bound too
    assert audit.epsilon_lower is not None
    assert 2.9 <= audit.epsilon_lower <= 3.0


def test_gaussian_noise_a_tenth_too_small_is_refuted() -> None:
    """20 of 20 seeds."""

    def count(data: Any, size: int, rng: np.random.Generator) -> Any:
        return len(data) + rng.normal(scale=0.9, size=size)

    audit = dpaudit.audit(count, GaussianDP(1.0), ONE_RECORD, rng=1, samples=50_000)
    assert audit.verdict is Verdict.REFUTED
