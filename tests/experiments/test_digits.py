"""The kept scores of digits can be read without Opacus, and say what the table says."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "experiments" / "training" / "digits.py"


@pytest.fixture
def digits(scripts: None, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec: Any = importlib.util.spec_from_file_location("digits", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "digits", module)
    spec.loader.exec_module(module)
    return module


def test_every_bug_has_kept_runs_with_their_claim(digits: ModuleType) -> None:
    assert [bug.place for bug in digits.BUGS] == list(range(len(digits.BUGS)))
    for bug in digits.BUGS:
        found, claim = digits.load(digits.path_of(bug, 1_000, 0, digits.RESULTS))
        assert found["bits"].dtype == np.bool_
        assert {found[name].shape for name in ("bits", *digits.SCORES)} == {(1_000,)}
        assert 0 < claim.delta(1.0) < 1


def test_halved_noise_doubles_the_shift(digits: ModuleType) -> None:
    """Six standard errors of a shift from 3,000 canaries are about 0.3."""
    shifts = []
    for bug in digits.BUGS[:2]:
        paths = [digits.path_of(bug, 1_000, turn, digits.RESULTS) for turn in range(3)]
        shifts.append(digits.line_of(bug, paths, 1_000).shift)
    right = np.sqrt(60) / 9
    assert shifts == pytest.approx([right, 2 * right], abs=0.3)


def test_the_area_counts_equal_scores_half(digits: ModuleType) -> None:
    bits = np.array([True, False, True, False])
    assert digits.area(np.array([3.0, 1.0, 2.0, 2.0]), bits) == 3.5 / 4
