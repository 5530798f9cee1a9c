"""Client functions of multi-freq-ldpy: the right are not refuted, smaller claims are.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. A typical smaller claim is 0.05-DP for unary encoding with epsilon 4: guesses on
a pair are right with probability 0.74, where the claim allows 0.512. A refutation takes about 17
nats, that is 3,176 right guesses of 5,000: the power is above 0.9999 (a binomial tail).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import dpaudit
from dpaudit.errors import InvalidMechanism

pytest.importorskip("multi_freq_ldpy", reason="multi-freq-ldpy is not installed")
grr = import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
ue = import_module("multi_freq_ldpy.pure_frequency_oracles.UE")
lh = import_module("multi_freq_ldpy.pure_frequency_oracles.LH")

CLIENTS = [pytest.param(grr.GRR_Client, id="GRR"), pytest.param(ue.UE_Client, id="UE")]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_keeps_its_claim(client: Any) -> None:
    subject = dpaudit.integrations.from_multi_freq_ldpy(client, k=3, epsilon=1.0)
    assert not dpaudit.audit(subject, samples=1_500, rng=1).refuted


@pytest.mark.parametrize("client", CLIENTS)
def test_a_smaller_claim_is_refuted(client: Any) -> None:
    subject = dpaudit.integrations.from_multi_freq_ldpy(client, k=3, epsilon=4.0)
    assert dpaudit.audit(subject, dpaudit.PureDP(0.05), samples=10_000, rng=1).refuted


def test_a_client_that_hashes_its_value_reports() -> None:
    """Its hash is given texts, which not every release of xxhash takes."""
    subject = dpaudit.integrations.from_multi_freq_ldpy(lh.LH_Client, k=3, epsilon=1.0)
    assert not dpaudit.audit(subject, samples=500, rng=1).refuted


def test_a_client_is_a_function() -> None:
    wrong: Any = 3
    with pytest.raises(InvalidMechanism, match=r"a function such as GRR_Client, got 3"):
        dpaudit.integrations.from_multi_freq_ldpy(wrong, k=3, epsilon=1.0)
