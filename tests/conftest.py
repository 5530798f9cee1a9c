"""Every run tries the same examples: a failure of the gate is a failure of the code.

`HYPOTHESIS_PROFILE=nightly` tries ten times as many, other ones every night (`make test-nightly`).

And what several files of tests are given.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from projects import Project

pytest_plugins = ["pytester"]  # runs of pytest inside a test

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],  # measures the machine, not the code
)
settings.register_profile(
    "nightly", settings.get_profile("ci"), derandomize=False, max_examples=600
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def _loaded() -> None:
    """Runs of pytest in this process forget what they load: what they need comes before them."""
    import dpaudit
    import dpaudit.report
    from dpaudit.zoo import LaplaceCount

    for name in dpaudit.__all__:
        getattr(dpaudit, name)
    near = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=2)
    dpaudit.audit(LaplaceCount(1.0), dpaudit.PureDP(1.0), near, samples=5_000, rng=7)


@pytest.fixture
def project(_loaded: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A folder of tests, whose runs have our plugin and no others, installed or not."""
    from projects import Project

    import _dpaudit_pytest

    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONPATH", str(Path(_dpaudit_pytest.__file__).parent))
    monkeypatch.setenv("COLUMNS", "80")
    return Project(pytester)
