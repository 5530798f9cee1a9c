"""Errors of the user's code come with the user's frames; errors of ours keep all of theirs."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.mechanism import UserFramesFirst

PAIR = [([1.0], [0.0])]
CODE = """
import dpaudit

def broken(data, size, rng):
    return deeper(data)

def deeper(data):
    raise KeyError("age")

def test_broken():
    dpaudit.assert_private(broken, dpaudit.PureDP(1.0), [([1.0], [0.0])], samples=500)
"""


def broken(data: Any, *_: Any) -> Any:
    return deeper(data)


def deeper(data: Any) -> Any:
    return np.linalg.inv(np.zeros((2, 2)))


def with_a_helper_of_ours(data: Any, rng: np.random.Generator) -> Any:
    return dpaudit.one_at_a_time(broken)(data, 1, rng)


def audited(mechanism: Callable[..., Any]) -> object:
    return dpaudit.audit(mechanism, dpaudit.PureDP(1.0), PAIR, samples=500, rng=1)


def measured(mechanism: Callable[..., Any]) -> object:
    return dpaudit.measure_epsilon(mechanism, [1.0], [0.0], samples=1_000)


def frames_of(run: Callable[..., object], mechanism: Callable[..., Any]) -> list[str]:
    """The functions in the traceback, those of numpy left out."""
    with pytest.raises(np.linalg.LinAlgError) as caught:
        run(mechanism)
    found = traceback.extract_tb(caught.value.__traceback__)
    assert "numpy" in found[-1].filename
    names = [frame.name for frame in found if "numpy" not in frame.filename]
    assert names[0] == "frames_of"
    return names[1:]


@pytest.mark.parametrize("run", [audited, measured])
def test_the_user_sees_their_own_frames(
    run: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DPAUDIT_TRACEBACK", raising=False)
    assert frames_of(run, broken) == [run.__name__, "broken", "deeper"]
    monkeypatch.setenv("DPAUDIT_TRACEBACK", "full")
    names = frames_of(run, broken)
    assert names[0] == run.__name__
    assert names[-2:] == ["broken", "deeper"]
    assert len(names) > 6


def test_an_error_in_another_process_names_its_frames() -> None:
    with pytest.raises(np.linalg.LinAlgError) as caught:
        dpaudit.audit(broken, dpaudit.PureDP(1.0), PAIR, samples=500, isolate=True)
    (note,) = [note for note in caught.value.__notes__ if "another process" in note]
    assert "return deeper(data)" in note
    assert "dpaudit/mechanism" not in note
    assert [frame.name for frame in traceback.extract_tb(caught.tb)] == [
        "test_an_error_in_another_process_names_its_frames"
    ]


def test_frames_of_ours_between_those_of_the_user_are_left_out() -> None:
    once = dpaudit.one_at_a_time(with_a_helper_of_ours)
    assert frames_of(audited, once) == ["audited", "with_a_helper_of_ours", "broken", "deeper"]


def test_an_error_of_ours_keeps_its_frames() -> None:
    def short(data: Any, size: int) -> list[int]:
        return [0]

    with pytest.raises(dpaudit.errors.InvalidOutput) as caught:
        audited(short)
    files = {Path(frame.filename).name for frame in traceback.extract_tb(caught.tb)}
    assert {"audit.py", "calling.py"} <= files
    with pytest.raises(ZeroDivisionError) as other, UserFramesFirst():
        _ = 1 / 0  # not called by us
    assert traceback.extract_tb(other.tb)[-1].name == "test_an_error_of_ours_keeps_its_frames"


def test_pytest_and_the_command_line_show_the_user_s_code(tmp_path: Path) -> None:
    (tmp_path / "test_frames.py").write_text(CODE)
    options = ("--claim", "eps=1", "--pair", "[[1],[0]]", "--seed", "1")
    for command in (
        ["pytest", "-q", "-p", "no:cacheprovider", "test_frames.py"],
        ["dpaudit", "audit", "test_frames.py:broken", *options],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        shown = done.stdout + done.stderr
        assert "return deeper(data)" in shown
        assert "KeyError: 'age'" in shown
        assert "while drawing" in shown
        assert str(Path(dpaudit.__file__).parent) not in shown
