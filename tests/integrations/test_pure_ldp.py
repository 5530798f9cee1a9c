"""Clients of pure-ldp: the right are not refuted, smaller claims are.

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

pytest.importorskip("pure_ldp", reason="pure-ldp is not installed")
direct = import_module("pure_ldp.frequency_oracles.direct_encoding")
unary = import_module("pure_ldp.frequency_oracles.unary_encoding")
histogram = import_module("pure_ldp.frequency_oracles.histogram_encoding")
hashing = import_module("pure_ldp.frequency_oracles.local_hashing")


def clients(epsilon: float) -> list[Any]:
    return [
        direct.DEClient(epsilon, 3),
        unary.UEClient(epsilon, 3, use_oue=True),
        histogram.HEClient(epsilon, 3),
    ]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_client_keeps_its_claim(which: int) -> None:
    assert not dpaudit.audit(clients(1.0)[which], samples=1_500, rng=1).refuted


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_smaller_claim_is_refuted(which: int) -> None:
    client = clients(4.0)[which]
    assert dpaudit.audit(client, dpaudit.PureDP(0.05), samples=10_000, rng=1).refuted


def test_a_client_that_hashes_its_item_reports() -> None:
    """Its hash is given texts, which not every release of xxhash takes."""
    client = hashing.FastLHClient(2.0, 3, k=2)
    assert not dpaudit.audit(client, samples=500, rng=1).refuted


def test_items_have_to_be_known() -> None:
    named = direct.DEClient(1.0, 2, index_mapper={"a": 0, "b": 1}.__getitem__)
    subject = dpaudit.integrations.from_pure_ldp(named, records=dpaudit.categories("a", "b"))
    assert not dpaudit.audit(subject, samples=500, rng=1).refuted
    named.d = None
    with pytest.raises(InvalidMechanism, match="DEClient does not say how many items there are"):
        dpaudit.integrations.from_pure_ldp(named)
    with pytest.raises(InvalidMechanism, match=r"a client with privatise and epsilon, got 3"):
        dpaudit.integrations.from_pure_ldp(3)
