"""The sequential testers' figures: every published one has a case, and a run accuses."""

from types import ModuleType

from scripts import imported

figures = imported("sequential_figures")


def test_every_published_figure_has_a_case(figures: ModuleType) -> None:
    cells = figures.cases()
    assert [cell.place for cell in cells] == list(range(len(cells)))
    assert len({cell.label for cell in cells}) == len(cells)
    by_tester = {
        tester: [cell.published_pairs for cell in cells if cell.tester == tester]
        for tester in figures.TESTERS
    }
    assert by_tester["sequential MMD"] == [264, 562, 331, 920]
    assert by_tester["sequential MMD, wide"] == [264, 562, 331, 920]
    assert by_tester["APT"] == [59, 68, None, 86, 114, None, 198, 1466]


def test_a_run_accuses_and_is_summed_up(figures: ModuleType) -> None:
    case = next(cell for cell in figures.cases() if cell.tester == "APT")
    outcome = figures.run(figures.Task(cell=case, entropy=1))
    assert 50 <= outcome.pairs < 500
    row = figures.summary(case, [outcome, figures.Outcome(pairs=None)])
    assert (row.runs, row.accused, row.mean_pairs) == (2, 1, outcome.pairs)
    assert row.standard_error is None
    assert figures.summary(case, [figures.Outcome(pairs=None)]).mean_pairs is None
