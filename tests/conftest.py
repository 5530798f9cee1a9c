"""Every run tries the same examples: a failure of the gate is a failure of the code.

`HYPOTHESIS_PROFILE=nightly` tries ten times as many, other ones every night (`make test-nightly`).

And what several files of tests are given.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from projects import Project

pytest_plugins = ["pytester"]  # runs of pytest inside a test

# Where one of the first two is set, pytest shortens nothing; by the others our plugin annotates.
SET_BY_CI = ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE")

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=45,
    suppress_health_check=[HealthCheck.too_slow],  # measures the machine, not the code
)
settings.register_profile(
    "nightly", settings.get_profile("ci"), derandomize=False, max_examples=600
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the night what says again, in more places, what the gate asks in one."""
    if os.environ.get("HYPOTHESIS_PROFILE") != "nightly":
        for item in items:
            if item.get_closest_marker("nightly"):
                item.add_marker(pytest.mark.skip(reason="run by make test-nightly"))


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
    for name in SET_BY_CI:
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)
