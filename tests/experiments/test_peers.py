"""The peers' suite runs, at the smallest sizes, and reads their figures right."""

import dataclasses
import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scripts import imported

from dpaudit.mechanism import as_mechanism

peers = imported("peers")


def test_every_row_of_the_suite_is_measured_with_every_size(peers: ModuleType) -> None:
    cells = peers.measures()
    assert len({cell.label for cell in cells}) == len(cells) == 15 * 2
    assert [cell.place for cell in cells] == list(range(30))


def test_their_figures_are_read_right(peers: ModuleType) -> None:
    assert peers.theirs("PrefixSum") == (1.0, 0.432, 0.577)
    assert peers.theirs("SVT1") == (0.0878, None, 0.0858)
    assert math.isinf(peers.theirs("NoisyMax4")[0])


def test_every_mechanism_takes_its_two_inputs(peers: ModuleType) -> None:
    for mechanism, data, neighbour in peers.ROWS.values():
        for side in (data, neighbour):
            drawn = as_mechanism(mechanism).draw(np.array(side), 5, np.random.default_rng(1))
            assert len(drawn) == 5


def test_the_inputs_of_rappor_have_the_loss_of_the_suite(peers: ModuleType) -> None:
    for row in ("Rappor", "OneTimeRappor"):
        mechanism, data, neighbour = peers.ROWS[row]
        assert mechanism.loss(data[0], neighbour[0]) == pytest.approx(
            peers.theirs(row)[0], abs=5e-5
        )


def test_one_run_certifies_no_more_than_is_true(peers: ModuleType) -> None:
    """Null: the bound is above the true 0.1 with probability at most 0.1 (a fixed seed).

    Held for 28 of 28 other seeds. Alternative: a bound that is too high in half of all runs, caught
    with power 0.5; tests/statistical asks more of the bounds.
    """
    cell = next(cell for cell in peers.measures() if cell.row == "Laplace")
    small = dataclasses.replace(cell, samples=20_000)
    outcome = peers.run(peers.Task(cell=small, entropy=5))
    assert 0.0 <= outcome.epsilon_lower <= 0.1


def test_the_median_of_the_runs_is_what_is_compared(peers: ModuleType) -> None:
    cell = next(cell for cell in peers.measures() if cell.row == "PrefixSum")
    bounds = (0.5, 0.7, 1.2)
    row = peers.summary(
        cell, [peers.Outcome(epsilon_lower=bound, rule="whole, linear") for bound in bounds]
    )
    assert (row.lowest, row.median, row.highest, row.above_true) == (0.5, 0.7, 1.2, 1)
    assert row.beats_best
    assert row.beats_200m


def test_the_figure_names_every_row(peers: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outcomes = [peers.Outcome(epsilon_lower=0.3, rule="whole, linear")] * 3
    rows = [peers.summary(cell, outcomes) for cell in peers.measures()]
    tables = importlib.import_module("tables")
    tables.save(rows, folder=tmp_path, name="peers", complete=True)
    assert peers.study_main(peers.STUDY, ["--figure-only", "--results", str(tmp_path)]) == 0
    drawn = (tmp_path / "peers.svg").read_text(encoding="utf-8")
    assert [row for row in peers.ROWS if f">{row}<" not in drawn] == []
