"""Client functions of multi-freq-ldpy: the right are not refuted, smaller claims are."""

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
