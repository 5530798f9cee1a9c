"""The experiment on sample sizes runs, at the smallest sizes. Its figures are not tested here."""

import dataclasses
import doctest
import importlib
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scripts import imported, written

sample_size = imported("sample_size")


def setting_of(sample_size: ModuleType, label: str, *, draws: int) -> Any:
    found = next(one for one in sample_size.settings() if one.label.startswith(f"{label} "))
    return dataclasses.replace(found, draws=draws)


def outcome_of(sample_size: ModuleType, label: str, *, draws: int) -> Any:
    setting = setting_of(sample_size, label, draws=draws)
    return sample_size.run(sample_size.Task(cell=setting, entropy=8))


def whole_table(sample_size: ModuleType, folder: Path) -> Path:
    """A CSV with every line, as if every run had found its bug with the seventh pair."""
    outcome = sample_size.Outcome(found=True, trials=7, draws=300, epsilon_lower=1.25)
    missed = sample_size.Outcome(found=False, trials=50, draws=900, epsilon_lower=0.5)
    rows = [
        sample_size.summary(setting, [missed if setting.draws == 100 else outcome] * 10)
        for setting in sample_size.settings()
    ]
    return written(rows, folder, "sample_size")


def test_settings_have_seeds_of_their_own(sample_size: ModuleType) -> None:
    settings = sample_size.settings()
    assert len({setting.label for setting in settings}) == len(settings)
    assert [setting.place for setting in settings] == list(range(len(settings)))
    assert sum(setting.fixed for setting in settings) == (4 + 5) * 6
    assert sum(not setting.fixed for setting in settings) == 3 * (5 + 3)


def test_the_renyi_tester_is_not_asked_about_a_delta(sample_size: ModuleType) -> None:
    asked = {one.mechanism for one in sample_size.settings() if one.tester == "renyi"}
    assert asked == {"SVT4"}


def test_a_rehearsal_is_a_part_of_the_whole(sample_size: ModuleType) -> None:
    quick = sample_size.STUDY.quick
    assert set(quick) < set(sample_size.settings())
    assert {setting.mechanism for setting in quick} == {"NonDPGaussian1", "SVT4"}


def test_the_doctests_pass(sample_size: ModuleType) -> None:
    assert doctest.testmod(sample_size) == (0, 2)
    assert doctest.testmod(importlib.import_module("sample_size_figure")) == (0, 1)


def test_the_exact_epsilon_of_gaussian_noise_leaves_delta(sample_size: ModuleType) -> None:
    """`N(0, 2)` exceeds `e^epsilon` times `N(1/2, 1)` outside of an interval, by 0.01 in all."""
    epsilon = sample_size.exact_epsilon("NonDPGaussian1")
    # log p - log q = 3/8 x^2 - x/2 + 1/8 - log 2 = epsilon
    low, high = sorted(np.roots([3 / 8, -1 / 2, 1 / 8 - math.log(2) - epsilon]))
    wide, narrow = stats.norm(0, 2), stats.norm(1 / 2, 1)
    wide_outside, narrow_outside = (law.cdf(low) + law.sf(high) for law in (wide, narrow))
    assert wide_outside - math.exp(epsilon) * narrow_outside == pytest.approx(0.01, rel=1e-4)


def test_the_exact_epsilon_of_the_sparse_vector_is_below_that_of_all_pairs(
    sample_size: ModuleType,
) -> None:
    assert 1.69 < sample_size.exact_epsilon("SVT4") < 1.75


def test_an_epsilon_of_0_holds_at_a_large_delta(sample_size: ModuleType) -> None:
    masses = sample_size.Masses(data=np.array([0.6, 0.4]), neighbour=np.array([0.5, 0.5]))
    assert sample_size.least_epsilon(masses, 0.1) == 0.0
    assert sample_size.least_epsilon(masses, 0.05) > 0.0


@pytest.mark.parametrize("tester", ["betting", "histogram", "hockey-stick"])
def test_a_bound_on_the_fixed_pair_is_above_the_claim_and_below_the_truth(
    sample_size: ModuleType, tester: str
) -> None:
    """Null: the claim is refuted, and the bound above the truth with at most 0.05 (a fixed seed).

    Both held for 28 of 28 other seeds with each tester.
    Alternative: a tester that finds nothing, or a truth for another delta; caught.
    """
    outcome = outcome_of(sample_size, f"NonDPGaussian1 fixed pair {tester}", draws=2_000)
    assert (outcome.found, outcome.trials) == (True, 1)
    assert 1.0 < outcome.epsilon_lower < sample_size.exact_epsilon("NonDPGaussian1")


def test_bets_search_until_they_refute(sample_size: ModuleType) -> None:
    """Null: the search refutes within its draws; held for 28 of 28 other seeds.

    Alternative: it goes on to the end of its draws; caught always.
    """
    outcome = outcome_of(sample_size, "NonDPGaussian1 auto betting", draws=100)
    assert outcome.found
    assert outcome.trials <= 50
    assert outcome.draws < 2 * 50 * 100


def test_what_is_not_found_counts_as_fifty_trials(sample_size: ModuleType) -> None:
    """Null: 60 draws a trial are too few for this tester; held for 28 of 28 other seeds.

    Alternative: the trials made are not all counted; caught always.
    """
    outcome = outcome_of(sample_size, "NonDPGaussian1 gp hockey-stick", draws=60)
    assert (outcome.found, outcome.trials) == (False, 50)


def test_a_line_has_bounds_or_trials(sample_size: ModuleType) -> None:
    outcomes = [
        sample_size.Outcome(found=found, trials=trials, draws=100, epsilon_lower=bound)
        for found, trials, bound in ((True, 4, 1.5), (False, 50, 0.5))
    ]
    setting = setting_of(sample_size, "SVT4 fixed pair mmd", draws=1_000)
    fixed = sample_size.summary(setting, outcomes)
    assert (fixed.mean_epsilon, fixed.least_epsilon, fixed.largest_epsilon) == (1.0, 0.5, 1.5)
    assert fixed.exact_epsilon == sample_size.exact_epsilon("SVT4")
    assert (fixed.found, fixed.mean_draws, fixed.mean_trials) == (1, 100.0, None)
    searched = sample_size.summary(setting_of(sample_size, "SVT4 gp betting", draws=9), outcomes)
    assert (searched.mean_trials, searched.mean_epsilon) == (27.0, None)
    assert searched.exact_epsilon is None


def test_the_figure_is_drawn_the_same_again(sample_size: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = whole_table(sample_size, tmp_path)
    drawn = sample_size.draw(path).read_text(encoding="utf-8")
    wanted = [*sample_size.TESTERS, "exact", "never", "betting, auto", "hockey-stick, gp"]
    assert [word for word in wanted if f">{word}<" not in drawn] == []
    assert sample_size.draw(path).read_text(encoding="utf-8") == drawn


def test_the_documentation_gets_epsilons_and_trials(
    sample_size: ModuleType, tmp_path: Path
) -> None:
    whole_table(sample_size, tmp_path)
    script = importlib.import_module("fill_tables")
    marked = "<!-- table: sample_size -->\n<!-- end -->"
    head, _, *rows = script.filled(marked, tmp_path).splitlines()[1:-1]
    assert head.endswith("| 100 | 300 | 1,000 | 3,000 | 10,000 | 30,000 | 100,000 | 500,000 |")
    assert len(rows) == 4 + 5 + 2 * 3
    start = "| NonDPGaussian1 | fixed pair | betting | epsilon (exact: "
    assert rows[0].startswith(start)
    assert rows[0].endswith("|  |  | 1.25 | 1.25 | 1.25 | 1.25 | 1.25 | 1.25 |")
    assert rows[9] == (
        "| NonDPGaussian1 | gp | hockey-stick | trials | never | 7.0 | 7.0 | 7.0 | 7.0 |  |  |  |"
    )
