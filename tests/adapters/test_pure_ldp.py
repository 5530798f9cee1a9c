"""Clients of pure-ldp: the right are not refuted, smaller claims are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import dpaudit
from dpaudit.mechanism import InvalidMechanism

pytest.importorskip("pure_ldp", reason="pure-ldp is not installed")
direct = import_module("pure_ldp.frequency_oracles.direct_encoding")
unary = import_module("pure_ldp.frequency_oracles.unary_encoding")
hashing = import_module("pure_ldp.frequency_oracles.local_hashing")


def clients(epsilon: float) -> list[Any]:
    return [
        direct.DEClient(epsilon, 3),
        unary.UEClient(epsilon, 3, use_oue=True),
        hashing.LHClient(epsilon, 3, use_olh=True),
    ]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_client_keeps_its_claim(which: int) -> None:
    assert not dpaudit.audit(clients(1.0)[which], samples=1_500, rng=1).refuted


@pytest.mark.parametrize("which", [0, 1])
def test_a_smaller_claim_is_refuted(which: int) -> None:
    client = clients(4.0)[which]
    assert dpaudit.audit(client, dpaudit.PureDP(0.05), samples=10_000, rng=1).refuted


def test_items_have_to_be_known() -> None:
    client = hashing.LHClient(1.0, None)
    with pytest.raises(InvalidMechanism, match="LHClient does not say how many items there are"):
        dpaudit.from_pure_ldp(client)
    named = dpaudit.from_pure_ldp(client, records=dpaudit.categories("a", "b"))
    assert not dpaudit.audit(named, samples=500, rng=1).refuted
    with pytest.raises(InvalidMechanism, match=r"a client with privatise and epsilon, got 3"):
        dpaudit.from_pure_ldp(3)
