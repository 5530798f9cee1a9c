"""Progress under pytest: on a terminal, below what pytest writes and past its capture."""

from __future__ import annotations

import fcntl
import io
import os
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import pytest

import _dpaudit_pytest
import dpaudit
from dpaudit.report import followed
from dpaudit.testing import watched_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")

BELOW = re.compile("\x1b\\[J\x1bD\x1b\\[A\x1b7\x1b\\[B\r(.*?)\x1b8")
ERASED = "\x1b[J"
TESTS = """
import dpaudit

PAIR = [([1.0], [0.0])]


def test_output():
    print("not for the terminal")

    def noisy(data, size, rng):
        return data[0] + rng.laplace(size=size)

    dpaudit.assert_private(noisy, dpaudit.PureDP(1.0), PAIR, samples=2_000)


def test_inside(capfd):
    def noisy(data, rng):
        return data[0] + rng.laplace()

    dpaudit.assert_private(noisy, dpaudit.PureDP(1.0), PAIR, inside=True, transcripts=4)
    assert capfd.readouterr() == ("", "")
"""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, TextIO]]:
    """Both ends of a pseudo-terminal: what reads it, and a file that writes to it."""
    for name in ("CI", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    reader, writer = os.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    with open(writer, "w", encoding="utf-8") as file:
        yield reader, file
    os.close(reader)


def test_pytest_shows_a_line_below_its_own(terminal: tuple[int, TextIO], tmp_path: Path) -> None:
    (tmp_path / "test_noise.py").write_text(TESTS)
    reader, file = terminal
    command = ("-m", "pytest", "-p", "_dpaudit_pytest", "-p", "no:cacheprovider")
    settings = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.Popen(
        [sys.executable, *command, f"--rootdir={tmp_path}", "test_noise.py"],
        cwd=tmp_path,
        stdout=file,
        env=os.environ | settings,
    )
    written, ended = b"", False
    while not ended:
        ended = run.poll() is not None  # and then what is left is read
        while select.select([reader], [], [], 0.1)[0]:
            written += os.read(reader, 65536)
    text = written.decode()
    assert run.returncode == 0, text
    shown = BELOW.findall(text)
    assert any(" of 2000 draws, " in line for line in shown)
    assert any(" of 4 transcripts, " in line for line in shown)
    assert max(map(len, shown)) < 60
    own = BELOW.sub("", text)
    assert own.count(ERASED) == 2  # after each audit
    plain = re.sub("\x1b\\[[0-9;]*m", "", own.replace(ERASED, ""))
    assert "test_noise.py ..  " in plain
    assert "\x1b" not in plain
    assert "not for the terminal" not in plain


def test_a_terminal_that_is_watched(
    terminal: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reader, file = terminal
    monkeypatch.setattr(sys, "stdout", file)
    found = watched_terminal()
    assert found is not None
    assert os.ttyname(found.fileno()) == os.ttyname(file.fileno())
    with followed(None, "epsilon", below=found) as told:
        assert told is not None  # and nothing is written before there is something to tell
    found.write("end")
    found.close()
    assert os.read(reader, 100) == b"end"
    for name, value in (("CI", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert watched_terminal() is None
    with (tmp_path / "log").open("w") as log:
        for elsewhere in (log, io.StringIO(), None):
            monkeypatch.setattr(sys, "stdout", elsewhere)
            assert watched_terminal() is None


@pytest.mark.parametrize(
    ("changes", "watches"),
    [
        ({}, True),
        ({"workerinput": {}}, False),  # a worker of xdist
        ({"plugins": ("logging",)}, False),  # -p no:terminal
        ({"plugins": ("terminal",)}, True),  # -p no:logging
        ({"getini": lambda name: name == "log_cli"}, False),
        ({"getoption": {"log_cli_level": "INFO"}.get}, False),
    ],
)
def test_pytest_asks_for_a_terminal_where_it_writes_alone(
    changes: dict[str, Any], watches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_dpaudit_pytest, "watched_terminal", lambda: "a terminal")
    known: dict[str, Any] = {"getini": lambda _: False, "getoption": lambda _: None, **changes}
    plugins = known.pop("plugins", ("terminal", "logging"))
    manager = SimpleNamespace(hasplugin=plugins.__contains__)
    config: Any = SimpleNamespace(pluginmanager=manager, **known)
    assert (_dpaudit_pytest._terminal(config) is not None) == watches


@pytest.mark.parametrize("inside", [False, True])
def test_an_assertion_tells_its_progress_to_whom_it_is_told(inside: bool) -> None:
    told: list[object] = []
    limits: dict[str, Any] = {"transcripts": 4} if inside else {"samples": 400}

    def noisy(data: Any, size: int, rng: Any) -> Any:
        return data[0] + rng.laplace(size=size)

    check: Any = dpaudit.assert_private
    asked = (noisy, dpaudit.PureDP(1.0), [([1.0], [0.0])])
    for progress in (told.append, False):
        check(*asked, inside=inside, fail_on="refuted", progress=progress, rng=1, **limits)
    assert type(told[0]).__name__ == ("InsideProgress" if inside else "Progress")
    with pytest.raises(TypeError, match="progress must be a function"):
        check(*asked, inside=inside, progress="yes", **limits)
