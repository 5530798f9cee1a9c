"""Experiments are scripts: their folders are made importable for a test."""

from pathlib import Path

import pytest
from scripts import FOLDERS, importable_scripts

__all__ = ["importable_scripts"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip them all where there are none: the source distribution has tests but no experiments."""
    if all(folder.exists() for folder in FOLDERS):
        return
    lacking = pytest.mark.skip(reason="the source distribution has tests but no experiments")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(lacking)
