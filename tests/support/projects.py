"""A project with tests, and runs of pytest on it that have our plugin and no others."""

import re
from pathlib import Path
from typing import Any

import pytest

import _dpaudit_pytest
import dpaudit

# The same counts for every seed and with every version of numpy: it has no noise.
NOISELESS = """
import dpaudit

def count(data, size):
    return [len(data)] * size

def test_count():
    near = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)
    dpaudit.assert_private(count, dpaudit.PureDP(1.0), near)
"""
BROKEN = """
import numpy as np
import dpaudit

def clipped_sum(data, size, rng):
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)

def test_sum():
    near = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=3)
    dpaudit.assert_private(clipped_sum, dpaudit.PureDP(1.0), near)
"""
ON_CLAIM = """
import dpaudit
from dpaudit.mechanisms import RandomizedResponse

def test_answers():
    mechanism = RandomizedResponse(1.0)
    dpaudit.assert_private(mechanism, dpaudit.PureDP(1.0), [([1], [0])], samples=200)
"""


class Project:
    """A folder of tests."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self.path = pytester.path

    def write(self, *, ini: str = "", conftest: str = "", **tests: str) -> None:
        """Write test files, as `test_name=source`, and the settings."""
        self._pytester.makeini(f"[pytest]\n{ini}\n")
        if conftest:
            self._pytester.makeconftest(conftest)
        self._pytester.makepyfile(**tests)

    def run(self, *options: str, **settings: Any) -> pytest.RunResult:
        """Run pytest in this process."""
        return self._pytester.runpytest_inprocess(
            *("-p", "no:cacheprovider"), *options, plugins=[_dpaudit_pytest], **settings
        )

    def run_apart(self, *options: str) -> pytest.RunResult:
        """Run pytest in a process of its own."""
        return self._pytester.runpytest_subprocess(
            *("-p", "_dpaudit_pytest", "-p", "no:cacheprovider"), *options
        )

    def saved(self, folder: str = "audits") -> dict[str, dpaudit.Audit]:
        """The audits that runs saved, by test and number of the assertion."""
        files = sorted((self.path / folder).glob("*.json"))
        return {file.stem.rpartition("-")[0]: dpaudit.load(file) for file in files}

    def kept(self) -> list[Path]:
        """What is kept for the next run."""
        return sorted((self.path / ".dpaudit" / "kept").iterdir())


def lines_between(result: pytest.RunResult, first: str, last: str) -> list[str]:
    """The lines between two that begin so, with no figure that measures the machine."""
    lines = [re.sub(r"\b\d+\.\d s$", "T s", line.rstrip()) for line in result.outlines]
    start = next(number for number, line in enumerate(lines) if line.startswith(first))
    rest = lines[start + 1 :]
    return rest[: next(number for number, line in enumerate(rest) if line.startswith(last))]
