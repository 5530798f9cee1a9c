"""Mechanisms are loaded by name, and a wrong name says what is wrong."""

import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import load_mechanism


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


SOURCE = """
from dataclasses import dataclass
from beside import SHIFT

def release(data, size, rng):
    return data[0] + SHIFT + 0 * rng.normal(size=size)

@dataclass(frozen=True)
class Release:
    shift: float = 10.0
    def __call__(self, data, size):
        return [data[0] + self.shift] * size

class Group:
    inner = Release()

LIMIT = 3

def single(data, rng):
    return data[0] + SHIFT
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "releases_for_test.py").write_text(SOURCE)
    (tmp_path / "beside.py").write_text("SHIFT = 10.0\n")
    (tmp_path / "broken_for_test.py").write_text("import no_such_package_at_all\n")
    (tmp_path / "math.py").write_text("def release(data, size):\n    return [42] * size\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before: Mapping[str, Any] = dict(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - set(before):
        del sys.modules[name]


@pytest.mark.parametrize("place", ["releases_for_test", "releases_for_test.py", "{folder}"])
@pytest.mark.parametrize("attribute", ["release", "Release", "Group.inner"])
def test_a_mechanism_is_loaded_by_name(folder: Path, place: str, attribute: str) -> None:
    place = place.format(folder=folder / "releases_for_test.py")
    mechanism = load_mechanism(f"{place}:{attribute}")
    assert mechanism.name == ("release" if attribute == "release" else "Release")
    np.testing.assert_array_equal(mechanism.draw([1.0], 3, rng()), [11.0] * 3)


def test_a_file_loaded_twice_is_one_module(folder: Path) -> None:
    first, second = (load_mechanism("releases_for_test.py:release") for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "target",
    [
        "releases_for_test:release",
        "releases_for_test.py:Release",
        "one_at_a_time(releases_for_test.py:single)",
        "one_at_a_time(releases_for_test:single)",
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mechanism_keeps_the_text_it_was_found_by(target: str) -> None:
    mechanism = load_mechanism(target)
    assert mechanism.target == target
    np.testing.assert_array_equal(mechanism.draw([1.0], 2, rng()), [11.0, 11.0])


@pytest.mark.usefixtures("folder")
def test_a_file_does_not_replace_a_module_of_the_same_name() -> None:
    mechanism = load_mechanism("math.py:release")
    np.testing.assert_array_equal(mechanism.draw([1.0], 2, rng()), [42, 42])
    assert sys.modules["math"] is math


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("release", r"named module:function or file\.py:function, got 'release'"),
        ("one_at_a_time(release)", r"named module:function or file\.py:function, got 'release'"),
        (":release", r"named module:function"),
        ("releases_for_test:", r"named module:function"),
        ("no_such_module:release", r"no module 'no_such_module' .*name it: path/to/file\.py"),
        ("no_such.module:release", r"no module 'no_such'"),
        ("releases_for_test.deeper:x", r"no module 'releases_for_test\.deeper'"),
        ("no_such_file.py:release", r"no file 'no_such_file\.py'"),
        ("releases_for_test:relaese", r"has no attribute 'relaese'\. Did you mean release"),
        ("releases_for_test:Group.iner", r"Group has no attribute 'iner'\. Did you mean inner\?"),
        ("releases_for_test:LIMIT", r"releases_for_test:LIMIT is not callable: it is 3"),
    ],
)
def test_a_wrong_name_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(InvalidMechanism, match=message):
        load_mechanism(text)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("place", ["broken_for_test", "broken_for_test.py"])
def test_a_module_that_cannot_be_imported_says_why(place: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package_at_all") as caught:
        load_mechanism(f"{place}:release")
    assert "while importing" in caught.value.__notes__[0]
    assert "broken_for_test" not in sys.modules
