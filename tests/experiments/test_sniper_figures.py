"""DP-Sniper on its suite: every row has a case, and a run certifies what is there to certify."""

import dataclasses
from types import ModuleType

from scripts import imported

figures = imported("sniper_figures")


def test_every_row_of_the_suite_has_a_case(figures: ModuleType) -> None:
    assert [shot.row for shot in figures.SHOTS] == list(figures.ROWS)
    assert figures.theirs("SVT1") == ([], 0.0858, 0.0878)


def test_a_run_is_summed_up_beside_theirs(figures: ModuleType) -> None:
    shot = dataclasses.replace(
        next(shot for shot in figures.SHOTS if shot.row == "NoisyHist2"), draws=20_000
    )
    outcome = figures.run(figures.Task(cell=shot, entropy=1))
    row = figures.summary(shot, [outcome, figures.Outcome(data=-1.0, neighbour=2.0)])
    assert 3.0 < outcome.data < row.true_epsilon
    assert (row.runs, row.lowest, row.highest) == (2, 0.0, outcome.data)
    assert (row.their_lowest, row.their_highest) == (4.54, 4.63)
