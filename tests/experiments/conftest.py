"""Experiments are scripts: their folders are made importable for a test."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "experiments", ROOT / "experiments" / "libraries", ROOT / "benchmarks")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip them all where there are none: the source distribution has tests but no experiments."""
    if all(folder.exists() for folder in FOLDERS):
        return
    lacking = pytest.mark.skip(reason="the source distribution has tests but no experiments")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(lacking)


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make siblings importable by name, as a script's folder is, and forget them again."""
    before = set(sys.modules)
    for folder in FOLDERS:
        monkeypatch.syspath_prepend(str(folder))
    yield
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).parent in FOLDERS:
            del sys.modules[name]
