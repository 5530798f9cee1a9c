"""Benchmarks and experiments are scripts: their folders are made importable for a test."""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    ROOT / "experiments",
    ROOT / "experiments" / "inside",
    ROOT / "experiments" / "libraries",
    ROOT / "experiments" / "training",
    ROOT / "benchmarks",
)


@pytest.fixture(name="scripts")
def importable_scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make siblings importable by name, as a script's folder is, and forget them again."""
    before = set(sys.modules)
    for folder in FOLDERS:
        monkeypatch.syspath_prepend(str(folder))
    yield
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).parent in FOLDERS:
            del sys.modules[name]


def imported(module: str) -> Any:
    """A fixture that imports a script."""

    @pytest.fixture
    def load(scripts: None) -> ModuleType:
        return importlib.import_module(module)

    return load


def read(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(rows: Sequence[Any], folder: Path, name: str) -> Path:
    """The CSV of a whole table with these rows."""
    path = importlib.import_module("tables").save(rows, folder=folder, name=name, complete=True)
    assert isinstance(path, Path)
    return path
