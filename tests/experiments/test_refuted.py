"""When bugs in trainings of digits are refuted: steps are observed right, and lines add up."""

from __future__ import annotations

import dataclasses
import importlib
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts import imported, read, written

refuted = imported("refuted")
digit_steps = imported("digit_steps")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
]


@pytest.fixture
def opacus() -> None:
    pytest.importorskip("opacus", reason="opacus is not installed")


def bug_named(refuted: ModuleType, name: str) -> Any:
    return next(bug for bug in refuted.BUGS if bug.name == name)


def cell_named(refuted: ModuleType, label: str) -> Any:
    return next(cell for cell in refuted.cells() if cell.label == label)


@pytest.mark.usefixtures("opacus")
@pytest.mark.parametrize(
    ("name", "way", "moved"),
    [
        ("none", "a batch", 1.0),
        ("none", "one large record", 0.5),  # the canary beside the record that stays where it was
        ("microbatches clipped together", "one large record", 1.0),  # it takes the record's place
        ("averaged gradient clipped", "one large record", 1.0),
        ("fixed order", "order of an epoch", 1.0),
    ],
)
def test_without_noise_a_step_shows_how_far_the_canary_moves_it(
    refuted: ModuleType, digit_steps: ModuleType, name: str, way: str, moved: float
) -> None:
    bug = dataclasses.replace(bug_named(refuted, name), optimizer="silent")
    seen = list(islice(digit_steps.observed(bug, way, 3), 12))
    assert {inserted for _, inserted in seen} == {True, False}
    for along, inserted in seen:
        assert along == pytest.approx(moved * inserted, abs=1e-3)


@pytest.mark.usefixtures("opacus")
def test_the_bettor_finds_noise_that_comes_again_within_100_steps(refuted: ModuleType) -> None:
    """The alternative is exact: differences of observations show the coin, without noise."""
    cell = cell_named(refuted, "same noise every step, a batch")
    found = refuted.steps_until(dataclasses.replace(cell, most=100), 0)
    assert found.strict is not None
    assert found.loose is not None
    assert found.loose < found.strict <= 100


@pytest.mark.usefixtures("opacus")
def test_a_right_training_is_not_refuted_step_by_step(refuted: ModuleType) -> None:
    """Null: exact; each way of looking errs at alpha 1e-6."""
    for way in ("a batch", "one large record", "order of an epoch"):
        cell = dataclasses.replace(cell_named(refuted, f"none, {way}"), most=30)
        assert refuted.steps_until(cell, 0).strict is None


@pytest.mark.usefixtures("opacus")
def test_a_rehearsal_writes_a_line_for_each_way_and_goes_on_where_it_stood(
    refuted: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--quick", "--results", str(tmp_path)]
    assert refuted.main([*arguments, "--rows", "a batch"]) == 0
    assert refuted.main(arguments) == 0
    assert capsys.readouterr().out.count("same noise every step, a batch, 10, 0:") == 1
    lines = read(tmp_path / "refuted.csv")
    assert {f"{line['bug']}, {line['seen']}" for line in lines} == set(refuted.QUICK)
    assert not list(tmp_path.glob("*.jsonl"))
    assert [line["strict"] for line in lines[:2]] == ["0", "1"]  # none, and the score made for it


def test_canaries_of_one_training_are_audited_from_what_is_kept(refuted: ModuleType) -> None:
    found = refuted.canaries_until(cell_named(refuted, "no noise, final weights"), 0)
    assert found.loose < found.strict < 1_000
    assert found.refuted
    assert 4.0 < found.epsilon < 6.0  # perfect guesses of 1,000 canaries reach 5.8 at most


def test_a_line_counts_audits_that_did_not_refute_as_the_slowest(refuted: ModuleType) -> None:
    cell = cell_named(refuted, "noise halved, final weights")
    runs = [
        refuted.Outcome(loose=loose, strict=strict, refuted=False, epsilon=2.0)
        for loose, strict in ((10, None), (30, 200), (20, None))
    ]
    line = refuted.line_of(cell, runs)
    assert (line.loose, line.loose_draws, line.strict, line.strict_draws) == (3, 20, 1, None)
    assert (line.slowest, line.whatever, line.epsilon) == (None, 0, 2.0)


def test_the_table_has_a_row_for_each_line(refuted: ModuleType, tmp_path: Path) -> None:
    script = importlib.import_module("fill_tables")
    cells = [cell_named(refuted, f"{name}, final weights") for name in ("none", "no noise")]
    run = refuted.Outcome(loose=12, strict=None, refuted=None, epsilon=1.239)
    rows = [refuted.line_of(cell, [run]) for cell in cells]
    written(rows, tmp_path, "refuted")
    text = script.filled("<!-- table: training_refuted -->\n<!-- end -->", tmp_path)
    assert "| none | final weights | 1,000 canaries | 1 of 1, after 12 | 0 of 1 | 0 of 1 |" in text
    assert "| 1.23 | - |" in text
