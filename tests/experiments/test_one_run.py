"""The study of one run: mechanisms lie on their claims, and its figures hold at a small size."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import ks_1samp, norm
from scripts import imported, read

study = imported("one_run")
leaks = imported("leaks")


def test_every_mechanism_meets_every_test_with_seeds_of_its_own(study: ModuleType) -> None:
    cells = study.honest()
    assert len({cell.label for cell in cells}) == len(cells) == 9 * (4 + 3)
    assert len({cell.place for cell in cells}) == len(cells)


def test_the_losses_of_dependent_canaries_are_those_of_gaussian_noise(leaks: ModuleType) -> None:
    """The losses, with the sign of the right answer, are `N(mu^2/2, mu^2)`, one for each run.

    Null: exact; the largest distance of 4,000 normal values is above 0.045 with probability 1e-7.
    """
    rng = np.random.default_rng(1)
    for leak in (leaks.Shared(1.5), leaks.Tail(1.5, 0.5), leaks.Tail(1.5, 0.05)):
        bits = rng.random(4_000) < 0.5
        scores = np.array([leak(bits[k : k + 1], rng)[0] for k in range(4_000)])
        seen = np.where(bits, scores, -scores)
        assert ks_1samp(seen, norm(1.5**2 / 2, 1.5).cdf).statistic < 0.045


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_canaries_are_revealed_with_probability_delta(leaks: ModuleType, share: float) -> None:
    """Null: 3,000 runs of 10 canaries; the share revealed errs by 7 deviations at most."""
    rng = np.random.default_rng(2)
    leak = leaks.Revealed(1.0, 0.05, share)
    named = [np.isinf(leak(np.ones(10, dtype=np.bool_), rng)).mean() for _ in range(3_000)]
    assert np.mean(named) == pytest.approx(0.05, abs=7.0 * np.std(named) / np.sqrt(3_000))


@pytest.mark.parametrize("test", ["error recursion", "right guesses", "stopped wealth", "3 runs"])
def test_a_truth_on_its_claim_is_judged(study: ModuleType, test: str) -> None:
    """Null: 0.05 a run (a fixed seed). Alternative: a test that accuses in 0.99 of the runs."""
    cell = study.Honest(place=0, mechanism="Shared", canaries=200, test=test)
    assert not study.judge(study.Task(cell=cell, entropy=5)).refuted


def test_a_line_says_how_many_are_allowed(study: ModuleType) -> None:
    judged = [study.Judged(refuted=k == 0, bound_wrong=k == 0) for k in range(1_000)]
    row = study.accused(study.honest()[0], judged)
    assert (row.runs, row.wrong, row.share, row.allowed) == (1_000, 1, 0.001, 73)


def test_the_power_is_written(study: ModuleType, tmp_path: Path) -> None:
    small = dataclasses.replace(
        study.POWER, quick=[study.Truth(place=0, mu=2.0, canaries=300)], quick_runs=2
    )
    options = ["--quick", "--workers", "1", "--results", str(tmp_path)]
    assert study.study_main(small, options) == 0
    (line,) = read(tmp_path / "one_run_power.csv")
    assert 0.0 < float(line["mu_lower"]) < 2.0
    assert float(line["epsilon_if_gaussian"]) < float(line["epsilon"])
    assert study.main(["neither"]) == 2
