"""Peers' bounds on the same canaries: what they get, what is counted, and the table."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scripts import imported, read, written

peers = imported("training_peers")


def source_named(peers: ModuleType, label: str) -> Any:
    return next(each for each in peers.sources() if each.label == label)


def test_every_source_has_seeds_of_its_own_and_scores_for_each_canary(peers: ModuleType) -> None:
    sources = peers.sources()
    assert [each.place for each in sources] == list(range(11))
    assert len({each.label for each in sources}) == 11
    for source in sources:
        given = peers.scores_of(peers.Task(source=source, turn=0))
        assert given.scores.shape == given.bits.shape == (source.canaries,)
        assert np.isfinite(given.scores).all()


def test_kept_trainings_have_the_claim_of_their_accountant(peers: ModuleType) -> None:
    task = peers.Task(source=source_named(peers, "digits, correct, 1000"), turn=0)
    given = peers.scores_of(task)
    assert given.mu == pytest.approx(1.344, abs=0.001)
    assert given.epsilon == pytest.approx(6.19, abs=0.01)


def test_slow_peers_are_asked_in_the_first_runs_only(peers: ModuleType) -> None:
    source = source_named(peers, "mu 1, 1000")
    early, late = (peers.bounds_of(peers.Task(source=source, turn=turn)) for turn in (0, 60))
    asked = {peer.name for peer in peers.PEERS if peer.installed}
    assert set(early.epsilons) == asked
    assert asked - set(late.epsilons) == {p.name for p in peers.PEERS if p.slow and p.installed}
    assert early.claimed == late.claimed == pytest.approx(4.377, abs=0.001)


def test_a_bound_at_the_claim_or_above_is_an_accusation(peers: ModuleType) -> None:
    runs = [
        peers.Bounds(claimed=2.0, epsilons={"right guesses": epsilon})
        for epsilon in (1.0, 1.5, None, 2.0, 3.0)
    ]
    (line,) = peers.lines_of(source_named(peers, "Shared, mu 1, 1000"), runs)
    assert (line.runs, line.stopped, line.epsilon, line.accused) == (5, 1, 1.75, 2)
    assert line.assumes == "nothing"


def test_the_table_has_a_row_for_each_peer(peers: ModuleType, tmp_path: Path) -> None:
    script = importlib.import_module("fill_tables")
    runs = [peers.Bounds(claimed=4.377, epsilons={"right guesses": 1.0, "stopped wealth": 1.239})]
    sources = [source_named(peers, label) for label in ("mu 1, 1000", "Shared, mu 1, 1000")]
    written([line for each in sources for line in peers.lines_of(each, runs)], tmp_path, "t")
    (tmp_path / "t.csv").rename(tmp_path / "training_peers.csv")
    text = script.filled("<!-- table: training_peers -->\n<!-- end -->", tmp_path)
    assert "| mu 1, 1,000 canaries (true: 4.38) | accused: mu 1, 1,000 canaries |" in text
    assert "| stopped wealth | nothing | 1.23 | 0 of 1 | 0 of 1 |" in text


def test_a_rehearsal_asks_every_peer_about_every_source(peers: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("jax_privacy", reason="jax-privacy is not installed")
    arguments = ["--quick", "--workers", "1", "--results", str(tmp_path)]
    assert peers.main(arguments) == 0
    lines = read(tmp_path / "training_peers.csv")
    asked = [peer for peer in peers.PEERS if peer.installed]
    assert len(lines) == len(asked) * len(peers.sources(quick=True))
    assert {line["peer"] for line in lines} >= {"jax_privacy, epsilon_one_run", "error recursion"}
    assert not list(tmp_path.glob("*.jsonl"))
